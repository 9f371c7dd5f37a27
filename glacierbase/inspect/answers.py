"""The values that the questions answer with, from plan, history and files."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.apply.lock import holder_of, is_held
from glacierbase.apply.migrator import Migrator, View
from glacierbase.apply.plan import Plan, Planned, make_status
from glacierbase.apply.results import PendingFile, PlannedFile, PlannedStatement
from glacierbase.errors import GlacierbaseError
from glacierbase.history.records import History, Record
from glacierbase.inspect.results import ShownStatement
from glacierbase.migrations.compiled import Prepared, prepare
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Migration, State
from glacierbase.model.result import LockHolder, Status
from glacierbase.stores import LockRow

_NEXT = {
    State.PENDING: "`glacierbase migrate` applies it",
    State.RUNNING: "a run is at work on it",
    State.FAILED: "remove the cause and run `glacierbase migrate` again; or `glacierbase repair VERSION --as done` (somebody"
    " completed the statement by hand), `--as abandoned` (it ends here, the fix is a new file); or correct the statements"
    " that are not done",
    State.INTERRUPTED: "run `glacierbase migrate` again: it goes on where the run stopped",
    State.UNKNOWN: "`glacierbase repair VERSION` shows what the engine remembers of it; nothing runs until that is settled",
    State.CHANGED: "restore the file, and put the change into a new migration; or `glacierbase repair VERSION --as edited`",
    State.MISSING: "restore the file from git; or `glacierbase repair VERSION --as removed`",
    State.AHEAD: "this is an older checkout; pull",
    State.OUT_OF_ORDER: "give it a newer version (`git mv`), or run it with --allow-out-of-order",
}


def pending_files(migrator: Migrator, plan: Plan) -> tuple[PendingFile, ...]:
    """The lines of `pending`."""
    prepared = migrator.prepare(planned.migration for planned in plan.pending)
    return tuple(_pending_file(planned, prepared[planned.migration.number]) for planned in plan.pending)


def _pending_file(planned: Planned, prepared: Prepared) -> PendingFile:
    migration = planned.migration
    return PendingFile(
        version=migration.version,
        description=migration.description,
        author=migration.author,
        path=migration.location,
        statements=len(prepared.statements),
        resumes_at=planned.resumes_at,
    )


def planned_files(migrator: Migrator, plan: Plan) -> tuple[PlannedFile, ...]:
    """The files of `plan`, with the statements that would run."""
    prepared = migrator.prepare(planned.migration for planned in plan.pending)
    return tuple(_planned_file(planned, prepared[planned.migration.number]) for planned in plan.pending)


def _planned_file(planned: Planned, prepared: Prepared) -> PlannedFile:
    migration = planned.migration
    return PlannedFile(
        version=migration.version,
        description=migration.description,
        author=migration.author,
        path=migration.location,
        resumes_at=planned.resumes_at,
        statements=tuple(
            PlannedStatement(statement.index, statement.line, statement.text)
            for statement in prepared.statements
            if statement.index >= planned.resumes_at
        ),
    )


def statuses(migrator: Migrator, view: View) -> tuple[Status, ...]:
    """Where every version stands, with a note where an applied file would render otherwise today."""
    files = {migration.number: migration for migration in migrator.migrations}
    found = make_status(migrator.migrations, view.history)
    return tuple(_with_note(status, files.get(int(status.version)), view.history, migrator) for status in found)


def _with_note(status: Status, migration: Migration | None, history: History, migrator: Migrator) -> Status:
    record = history.records.get(int(status.version))
    if migration is None or record is None or status.state is not State.APPLIED:
        return status
    try:
        now = prepare(migration, migrator.catalog, migrator.dialect).checksum
    except GlacierbaseError as error:
        return replace(status, note=f"no longer renders: {error.message}")
    if record.last.rendered_checksum in (None, now):
        return status
    return replace(status, note="a variable changed since: it would render otherwise today")


def lock_holder(row: LockRow | None) -> LockHolder | None:
    """Who holds the lock, if anybody does."""
    if row is None or not is_held(row):
        return None
    holder = holder_of(row)
    return LockHolder(
        owner=row.owner,
        host=holder.get("host"),
        pid=holder.get("pid"),
        os_user=holder.get("os_user"),
        ci_url=holder.get("ci_url"),
        acquired_at=row.acquired_at,
        expires_at=row.expires_at,
    )


def next_step(status: Status) -> str:
    """What a person would do now about a version in this state; empty when there is nothing to do."""
    return _NEXT.get(status.state, "").replace("VERSION", status.version)


def shown_statements(migrator: Migrator, number: int, history: History) -> tuple[ShownStatement, ...]:
    """The statements of a version: as the history recorded them when it was started, else as the file has them."""
    record = history.records.get(number)
    if record and record.started.rendered_sql is not None:
        found = split_statements(record.started.rendered_sql, migrator.dialect)
    else:
        migration = next((each for each in migrator.migrations if each.number == number), None)
        found = prepare(migration, migrator.catalog, migrator.dialect).statements if migration else ()
    return tuple(ShownStatement(each.index, each.line, _state_of(each.index, record), each.text) for each in found)


def _state_of(index: int, record: Record | None) -> str:
    if record is None:
        return State.PENDING.value
    if index <= record.statements_done:
        return "done"
    at_stop = index == record.statements_done + 1
    stopped = record.state in (State.FAILED, State.UNKNOWN, State.RUNNING)
    return record.state.value if at_stop and stopped else State.PENDING.value
