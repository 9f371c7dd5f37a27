"""The files of a plan, as `pending` and `plan` list them, and as a person confirms them."""

from __future__ import annotations

from glacierbase.apply.plan import Plan, Planned, Selection
from glacierbase.apply.results import PendingFile, PlannedFile, PlannedStatement
from glacierbase.errors import ConfigurationError
from glacierbase.history.opening import Target
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.command import command


def pending_files(target: Target, plan: Plan) -> tuple[PendingFile, ...]:
    """Return the files that would run, without their statements."""
    return tuple(map(_pending_file, plan.pending, target.compile(plan.migrations)))


def planned_files(target: Target, plan: Plan) -> tuple[PlannedFile, ...]:
    """Return the files that would run, with the statements that would."""
    return tuple(map(_planned_file, plan.pending, target.compile(plan.migrations)))


def check_confirmed(target: Target, plan: Plan, selection: Selection) -> None:
    """Refuse a file that was not confirmed, or not as it is now.

    Raises:
        ConfigurationError: for the first one.
    """
    if selection.confirmed is None:
        return
    here = (target.catalog.name, target.catalog.environment)
    results = (result for result in selection.confirmed if (result.catalog, result.environment) == here)
    confirmed = {file for result in results for file in result.plan}
    for file in planned_files(target, plan):
        if file not in confirmed:
            raise ConfigurationError(
                "NOT_CONFIRMED",
                f"{file.path}: what would run now is not in the plan that was confirmed; nothing ran",
                f"`{command('migrate')}` shows the plan as it is now",
            )


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
