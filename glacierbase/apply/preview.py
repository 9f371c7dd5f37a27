"""The files of a plan, as `pending` and `plan` list them."""

from __future__ import annotations

import hashlib

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
from glacierbase.catalogs.place import place
from glacierbase.executors.direct import FileEngine
from glacierbase.history.opening import Target
from glacierbase.history.records import History
from glacierbase.migrations.allows import allows_of
from glacierbase.migrations.compiled import Compiled


def pending_files(plan: Plan) -> tuple[PendingFile, ...]:
    """Return the files that would run, without their statements."""
    return tuple(map(_pending_file, plan.pending, plan.files))


def plan_result(target: Target, plan: Plan) -> PlanResult:
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
    )
