"""The values that the read-only commands return, from history and files."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.errors import GlacierbaseError
from glacierbase.history.opening import Target
from glacierbase.history.records import History, Record
from glacierbase.history.state import CatalogState
from glacierbase.history.status import make_status
from glacierbase.inspect.results import ShownStatement
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Migration, State
from glacierbase.model.result import Status

_NEXT = {
    State.PENDING: "`glacierbase migrate` applies it",
    State.RUNNING: "a run is applying it",
    State.FAILED: "remove the cause and run `glacierbase migrate` again; or `glacierbase repair VERSION --as done` (somebody"
    " completed the statement by hand), `--as abandoned` (the file ends here, the fix is a new one); or correct the statements"
    " that are not done",
    State.INTERRUPTED: "run `glacierbase migrate` again: it continues where the run stopped",
    State.UNKNOWN: "`glacierbase repair VERSION` shows the evidence of the engine; nothing runs until that is settled",
    State.CHANGED: "restore the file, and put the change into a new migration; or `glacierbase repair VERSION --as edited`",
    State.MISSING: "`glacierbase pending` prints what restores the file; or `glacierbase repair VERSION --as removed`",
    State.AHEAD: "`glacierbase pending` says whether this is an older checkout, or what restores the file",
    State.OUT_OF_ORDER: "give it a newer version (`git mv`), or run it with --allow-out-of-order",
}


def statuses(target: Target, state: CatalogState) -> tuple[Status, ...]:
    """Return the status of every version, with a note where an applied file would render differently today."""
    files = {migration.number: migration for migration in target.migrations}
    found = make_status(target.migrations, state.history)
    return tuple(_with_note(status, files.get(int(status.version)), state.history, target) for status in found)


def _with_note(status: Status, migration: Migration | None, history: History, target: Target) -> Status:
    record = history.records.get(int(status.version))
    if migration is None or record is None or status.state is not State.APPLIED:
        return status
    try:
        [compiled] = target.compile([migration])
    except GlacierbaseError as error:
        return replace(status, note=f"no longer renders: {error.message}")
    if record.last.rendered_checksum in (None, compiled.checksum):
        return status
    return replace(status, note="a variable changed since: it would render differently today")


def next_step(status: Status) -> str:
    """Return the next step for a version in this state; empty when there is nothing to do."""
    return _NEXT.get(status.state, "").replace("VERSION", status.version)


def statements_of(target: Target, number: int, history: History) -> tuple[ShownStatement, ...]:
    """Return the statements of a version: as recorded when it was started, else those of the file."""
    record = history.records.get(number)
    if record and record.started.rendered_sql is not None:
        found = split_statements(record.started.rendered_sql, target.dialect)
    else:
        files = target.compile([each for each in target.migrations if each.number == number])
        found = files[0].statements if files else ()
    return tuple(ShownStatement(each.index, each.line, _state_of(each.index, record), each.text) for each in found)


def _state_of(index: int, record: Record | None) -> str:
    if record is None:
        return State.PENDING.value
    if index <= record.statements_done:
        return "done"
    at_stop = index == record.statements_done + 1
    stopped = record.state in (State.FAILED, State.UNKNOWN, State.RUNNING)
    return record.state.value if at_stop and stopped else State.PENDING.value
