"""The files of a plan, as `pending` and `plan` list them, and the values that identify where the catalog file leads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from glacierbase.apply.plan import Plan, Planned
from glacierbase.apply.results import (
    HistoryHead,
    PendingFile,
    PlaceValue,
    PlannedFile,
    PlannedStatement,
    PlanOptions,
    PlanResult,
)
from glacierbase.executors.direct.files import DIRECT, FileEngine
from glacierbase.history.records import History
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.allows import allows_of
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.catalog import Catalog
from glacierbase.record.live import LiveTables
from glacierbase.secrets import is_secret, mask


def pending_files(plan: Plan) -> tuple[PendingFile, ...]:
    """Return the files that would run, without their statements."""
    return tuple(map(_pending_file, plan.pending, plan.files))


def plan_result(target: CatalogRun, plan: Plan) -> PlanResult:
    """Return the plan with the statements that would run, and all that must not have changed when `migrate --plan` applies it."""
    selection, engines = plan.selection, target.file_engines()
    return PlanResult(
        target.catalog.name,
        target.catalog.environment,
        warnings=plan.warnings,
        plan=tuple(_planned_file(*file, engines.of(file[1])) for file in zip(plan.pending, plan.files, strict=True)),
        options=PlanOptions(selection.to, selection.only, selection.reason, tuple(selection.out_of_order or ())),
        jumped_over=plan.jumped_over,
        head=_head(plan.history),
        tool_version=target.run.tool_version,
        plan_required=target.catalog.plan_required,
        place=tuple(PlaceValue(key, _digest(value)) for key, value in place(target.catalog).items()),
    )


def with_found_engines(target: CatalogRun, result: PlanResult, files: Sequence[Compiled]) -> PlanResult:
    """Return a plan with the engines that its files will need, by the tables as they are now: `plan_result` reads none.

    A table that cannot be read, or is not there yet, leaves the choice as it is.
    """
    engines = target.file_engines()
    if engines.opener() is None:
        return result
    direct = [compiled for planned, compiled in zip(result.plan, files, strict=True) if planned.engine == DIRECT]
    names = {whole for compiled in direct for named in compiled.named for _, whole in named.names if whole}
    with LiveTables(target.catalog) as tables:
        reasons = tables.why_not_direct(sorted(names))

    def with_engine(planned: PlannedFile, compiled: Compiled) -> PlannedFile:
        why = next(_reasons(planned, compiled, reasons), None) if planned.engine == DIRECT else None
        engine = engines.instead(why) if why else None
        return replace(planned, engine=engine.name, needs_engine=engine.why) if engine else planned

    return replace(result, plan=tuple(map(with_engine, result.plan, files)))


def _reasons(planned: PlannedFile, compiled: Compiled, reasons: Mapping[str, str]) -> Iterator[str]:
    for number, named in enumerate(compiled.named, start=1):
        for recorded, whole in named.names:
            if whole and whole in reasons and number >= planned.resumes_at:
                yield f"statement {number}: {recorded}: {reasons[whole]}"


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _head(history: History) -> HistoryHead | None:
    head = history.head
    return HistoryHead(head.fence, head.sequence, head.run_id) if head else None


def _pending_file(planned: Planned, compiled: Compiled) -> PendingFile:
    migration = planned.migration
    return PendingFile(
        version=migration.version or None,
        name=migration.identity.get("name"),
        description=migration.description,
        author=migration.author,
        path=migration.location,
        statements=len(compiled.statements),
        resumes_at=planned.resumes_at,
        waiting=planned.waiting,
    )


def _planned_file(planned: Planned, compiled: Compiled, engine: FileEngine) -> PlannedFile:
    migration = planned.migration
    allows = allows_of(compiled.statements)
    return PlannedFile(
        version=migration.version or None,
        name=migration.identity.get("name"),
        description=migration.description,
        author=migration.author,
        path=migration.location,
        resumes_at=planned.resumes_at,
        statements=tuple(
            PlannedStatement(
                statement.index,
                statement.line,
                statement.text,
                statement.checksum,
                tuple(allow for allow in allows if allow.statement_index == statement.index),
            )
            for statement in compiled.statements
            if statement.index >= planned.resumes_at
        ),
        checksum=migration.checksum,
        rendered_checksum=compiled.checksum,
        engine=engine.name,
        needs_engine=engine.why,
        waiting=planned.waiting,
    )


# Settings of Spark that locate tables; none that only affect how, by whom, or on which machines they are read.
_OF_SPARK = re.compile(
    r"spark\.remote|spark\.sql\.(defaultCatalog|warehouse\.dir)"
    r"|spark\.hadoop\.(fs\.defaultFS|hive\.metastore\.(uris|warehouse\.dir)|javax\.jdo\.option\.ConnectionURL)"
    r"|spark\.sql\.catalog\.[^.]+(\.(type|catalog-impl|uri|url|warehouse|prefix|ref|default-namespace|table-prefix"
    r"|glue\.(id|account-id|endpoint)|client\.region|s3\.endpoint|dynamodb\.(endpoint|table-name)))?"
)
_OF_SNOWFLAKE = frozenset({"account", "host", "port", "region", "database", "schema", "connection_name"})
_LOGIN = re.compile(r"(?<=://)[^/?#\s@]*@")
_PARAMETER = re.compile(r"(?P<before>[?&;])(?P<name>[^=?&;]+)=[^&;]*")
_USER = re.compile(r"(?i)user(name|_id)?|login")


def place(catalog: Catalog) -> dict[str, str]:
    """Return the values that identify the place of a catalog, by their keys, without secrets and users."""
    return {key: _without_login(mask(value)) for key, value in _values(catalog)}


def _values(catalog: Catalog) -> Iterator[tuple[str, str]]:
    yield "store.catalog", catalog.store.catalog
    if catalog.store.folder is not None:  # Without its path: each checkout has another.
        yield "store.type", catalog.store.type
    if aws := catalog.store.aws:
        yield "store.type", catalog.store.type
        yield from (
            (f"store.{key}", value) for key, value in (("region", aws.region), ("endpoint", aws.endpoint)) if value
        )
    yield "store.namespace", catalog.store.namespace
    yield from ((key, value) for key, value in sorted(catalog.spark_conf.items()) if _OF_SPARK.fullmatch(key))
    for key, value in sorted(catalog.connection.items()):
        if key in _OF_SNOWFLAKE:
            yield f"connection.{key}", str(value)
    for key, value in sorted(catalog.conf.items()):
        if not is_secret(key):
            yield f"conf.{key}", str(value)


def _without_login(address: str) -> str:
    """Return an address without its user, password and token: a plan may be made with another login."""
    return _PARAMETER.sub(_kept, _LOGIN.sub("", address))


def _kept(parameter: re.Match[str]) -> str:
    name = parameter["name"]
    return "" if is_secret(name) or _USER.fullmatch(name) else parameter[0]
