"""The files of a plan, as `pending` and `plan` list them."""

from __future__ import annotations

from glacierbase.apply.plan import Plan, Planned
from glacierbase.apply.results import PendingFile, PlannedFile, PlannedStatement
from glacierbase.history.opening import Target
from glacierbase.migrations.compiled import Compiled


def pending_files(target: Target, plan: Plan) -> tuple[PendingFile, ...]:
    """Return the files that would run, without their statements."""
    return tuple(map(_pending_file, plan.pending, target.compile(plan.migrations)))


def planned_files(target: Target, plan: Plan) -> tuple[PlannedFile, ...]:
    """Return the files that would run, with the statements that would."""
    return tuple(map(_planned_file, plan.pending, target.compile(plan.migrations)))


def _pending_file(planned: Planned, compiled: Compiled) -> PendingFile:
    migration = planned.migration
    return PendingFile(
        version=migration.version,
        description=migration.description,
        author=migration.author,
        path=migration.location,
        statements=len(compiled.statements),
        resumes_at=planned.resumes_at,
    )


def _planned_file(planned: Planned, compiled: Compiled) -> PlannedFile:
    migration = planned.migration
    return PlannedFile(
        version=migration.version,
        description=migration.description,
        author=migration.author,
        path=migration.location,
        resumes_at=planned.resumes_at,
        statements=tuple(
            PlannedStatement(statement.index, statement.line, statement.text)
            for statement in compiled.statements
            if statement.index >= planned.resumes_at
        ),
    )
