"""What the column `details` of the history table holds: one typed value, stored as a JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from glacierbase.history.checked import checked, optional, texts
from glacierbase.history.damaged import damaged
from glacierbase.migrations.allows import Allow
from glacierbase.model.accepted import DeclaredDifference
from glacierbase.model.migration import Event, Squashed, version_number
from glacierbase.model.session import RecordedSession, SessionContext
from glacierbase.model.tableversion import TableVersion
from glacierbase.secrets import masked


@dataclass(frozen=True, slots=True)
class FormerHolder:
    """The run that a lock was taken from: its id, its fence, and its process as the lock row described it."""

    owner: str
    fence: int
    process: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Details:
    """What an event records beyond the other columns. Each kind of event uses some of the fields.

    Attributes:
        statement_checksums: of all statements of the file, in order (started, baselined).
        process: of the run and its engine, as `Run.holder` describes them (started).
        headers: of the file, those that the catalog file lists (started, baselined).
        allows: findings of `lint` that comments of the file allow (started, baselined).
        ci_actor: who started the CI job of the run (each event that has details).
        squashes: the files that the file replaces, where it is a squash (started, baselined).
        jumped_over: versions that a run with `--only` passed by (started).
        plan: the digest of the plan file that the run applied (started).
        differences: accepted ones between tables as declared and as they exist (baselined).
        former_holder: the run that the lock was taken from (taken_over, unlocked).
        resolution: the value of `repair --as` (repaired).
        engine_stopped: whether a person vouched that the lost run's engine has stopped (repaired).
        environment_was: the former name of the environment (repaired).
        before: the version of the table of the announced statement, before it (started, statement_done).
        session: the session at the announcement of a statement (started, statement_done).
        tables: the records of the tables that the file changes, as `glacierbase.history.shapes` writes and reads it
            (applied, failed, interrupted, unknown, repaired, baselined).
        read_fence: the newest fence that a run had read before its first append (the first event of each run).
    """

    statement_checksums: tuple[str, ...] | None = None
    process: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    allows: tuple[Allow, ...] = ()
    squashes: tuple[Squashed, ...] = ()
    ci_actor: str | None = None
    jumped_over: tuple[str, ...] = ()
    plan: str | None = None
    differences: tuple[DeclaredDifference, ...] = ()
    former_holder: FormerHolder | None = None
    resolution: str | None = None
    engine_stopped: bool = False
    environment_was: str | None = None
    before: TableVersion | None = None
    session: RecordedSession | None = None
    tables: tuple[Mapping[str, object], ...] = ()
    read_fence: int | None = None

    @property
    def application(self) -> str | None:
        """The engine's name for the application that ran the file, where the engine has one."""
        application = self.process.get("application")
        return application if isinstance(application, str) else None

    @property
    def has_query_tags(self) -> bool:
        """Whether the engine keeps a log in which each statement carries its tag."""
        return "query_tag" in self.process


NO_DETAILS = Details()
# What is recorded of a table's version.
_VERSION: Mapping[str, type[Any]] = {"table": str, "uuid": str, "metadata": str, "sequence": int}


def details_of(event: Event) -> Details:
    """Read the column `details` of an event. Unknown keys, which a later version may write, are ignored.

    Raises:
        NeedsRepair: the column holds no JSON object, or a known key has a value of the wrong type.
    """
    if not event.details:
        return NO_DETAILS
    try:
        return _from_document(json.loads(event.details))
    except (ValueError, RecursionError) as error:
        raise damaged(event, "details", f"not readable: {error or 'too deeply nested'}") from error


def to_json(details: Details) -> str | None:
    """Return the text of the column, with secrets masked; None where there is nothing to store."""
    document = _to_document(details)
    return json.dumps(masked(document)) if document else None


def _to_document(details: Details) -> dict[str, object]:
    former, before = details.former_holder, details.before
    document = {
        "statement_checksums": None if details.statement_checksums is None else list(details.statement_checksums),
        "process": dict(details.process) or None,
        "headers": dict(details.headers) or None,
        "allows": [asdict(allow) for allow in details.allows] or None,
        "squashes": [[each.version, each.checksum, each.is_squash] for each in details.squashes] or None,
        "jumped_over": list(details.jumped_over) or None,
        "plan": details.plan,
        "differences": [asdict(difference) for difference in details.differences] or None,
        "owner": former.owner if former else None,
        "fence": former.fence if former else None,
        "holder": dict(former.process) if former else None,
        "as": details.resolution,
        "engine_stopped": details.engine_stopped or None,
        "environment_was": details.environment_was,
        "ci_actor": details.ci_actor,
        "before": {key: getattr(before, key) for key in _VERSION} if before else None,
        "session": _session_document(details.session) if details.session else None,
        "tables": [dict(each) for each in details.tables] or None,
        "behind": details.read_fence,
    }
    return {key: value for key, value in document.items() if value is not None}


def _session_document(session: RecordedSession) -> dict[str, object]:
    document = {**asdict(session.context), "statements": list(session.statements)}
    return {key: value for key, value in document.items() if value}


def _from_document(document: object) -> Details:
    values = checked(document, dict, "the document")
    found: dict[str, Any] = {}
    for key, value in values.items():
        if key in _READERS and value is not None:
            name, kind, read = _READERS[key]
            found[name] = read(checked(value, kind, key))
    return Details(former_holder=_former_holder(values), **found)


def _tables(value: object) -> tuple[Mapping[str, object], ...]:
    """Return what is recorded of tables, unchecked: it decides nothing about a run, so only what reads it refuses it."""
    found = value if isinstance(value, list) else [value]
    return tuple(each if isinstance(each, dict) else {} for each in found)


def _allows(values: list[object]) -> tuple[Allow, ...]:
    found = [checked(value, dict, "allows") for value in values]
    return tuple(
        Allow(
            statement_index=checked(each.get("statement_index"), int, "allows"),
            code=checked(each.get("code"), str, "allows"),
            reason=checked(each.get("reason"), str, "allows"),
        )
        for each in found
    )


def _differences(values: list[object]) -> tuple[DeclaredDifference, ...]:
    return tuple(_difference(checked(value, dict, "differences")) for value in values)


def _difference(values: Mapping[str, object]) -> DeclaredDifference:
    declared, actual = (optional(values, key, str) for key in ("declared", "actual"))
    return DeclaredDifference(
        table=checked(values.get("table"), str, "differences"),
        column=checked(values.get("column"), str, "differences"),
        declared=declared,
        actual=actual,
        # Former versions compared only columns and their types, and wrote no `what`.
        what=optional(values, "what", str) or ("column" if declared is None or actual is None else "type"),
    )


def _former_holder(values: Mapping[str, object]) -> FormerHolder | None:
    owner, fence = optional(values, "owner", str), optional(values, "fence", int)
    if owner is None or fence is None:
        return None
    return FormerHolder(owner, fence, optional(values, "holder", dict) or {})


def _headers(values: Mapping[str, object]) -> dict[str, str]:
    return {name: checked(value, str, "headers") for name, value in values.items()}


def _table_version(values: Mapping[str, object]) -> TableVersion:
    """Return the version of a table, without what only a look at the table itself shows."""
    return TableVersion(**{key: checked(values.get(key), kind, f"before.{key}") for key, kind in _VERSION.items()})


def _session(values: Mapping[str, object]) -> RecordedSession:
    context = SessionContext(**{name: optional(values, name, str) for name in ("catalog", "namespace", "role")})
    indexes = optional(values, "statements", list) or []
    return RecordedSession(context, tuple(checked(index, int, "session.statements") for index in indexes))


def _versions(values: list[object]) -> tuple[str, ...]:
    versions = texts(values, "jumped_over")
    for version in versions:
        if version_number(version) is None:
            raise ValueError(f"jumped_over: {version!r} is not a version")
    return versions


def _squashes(values: list[object]) -> tuple[Squashed, ...]:
    found = []
    for value in values:
        match value:
            case [str(version), str(checksum), bool(is_squash)] if version_number(version) is not None:
                found.append(Squashed(version, checksum, is_squash))
            case _:
                raise ValueError(f"squashes: {value!r} is not a version, a checksum and a mark")
    return tuple(found)


def _as_it_is(value: object) -> object:
    return value


# By key: the field of `Details`, the type of the value, and what reads it. A key without a value is absent, or null.
_READERS: Mapping[str, tuple[str, type[Any], Callable[[Any], object]]] = {
    "statement_checksums": ("statement_checksums", list, lambda values: texts(values, "statement_checksums")),
    "process": ("process", dict, _as_it_is),
    "headers": ("headers", dict, _headers),
    "allows": ("allows", list, _allows),
    "squashes": ("squashes", list, _squashes),
    "ci_actor": ("ci_actor", str, _as_it_is),
    "jumped_over": ("jumped_over", list, _versions),
    "plan": ("plan", str, _as_it_is),
    "differences": ("differences", list, _differences),
    "as": ("resolution", str, _as_it_is),
    "engine_stopped": ("engine_stopped", bool, _as_it_is),
    "environment_was": ("environment_was", str, _as_it_is),
    "before": ("before", dict, _table_version),
    "session": ("session", dict, _session),
    "tables": ("tables", object, _tables),
    "behind": ("read_fence", int, _as_it_is),
}
