"""Where each version of files and history is: pending, applied, changed, missing and so on. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from glacierbase.history.records import SETTLED, History, Record
from glacierbase.model.migration import EventType, Migration, State
from glacierbase.model.result import Status


def make_status(migrations: Sequence[Migration], history: History) -> tuple[Status, ...]:
    """Return the status of every version of files and history, in order of version."""
    files = {migration.number: migration for migration in migrations}
    numbers = sorted({*files, *history.records})
    return tuple(_status(files.get(n), history.records.get(n), migrations, history) for n in numbers)


def is_late(migration: Migration, history: History) -> bool:
    """Return whether the file was never started nor jumped over, and is below a version that was started."""
    was_started = migration.number in history.records or migration.number in history.jumped_over
    return not was_started and migration.number < history.newest


def is_settled(migration: Migration, history: History) -> bool:
    """Return whether the version is applied or abandoned."""
    record = history.records.get(migration.number)
    return record is not None and record.state in SETTLED


def statement_at_stop(record: Record) -> int | None:
    """Return the statement that failed, is running, or has an unknown outcome; else None."""
    if record.state not in (State.FAILED, State.RUNNING, State.UNKNOWN):
        return None
    # Inside a transaction it is not the one after the last that is done.
    is_named = record.last.event in (EventType.FAILED, EventType.UNKNOWN)
    return record.last.statement_index if is_named else record.statements_done + 1


def newest_number(migrations: Sequence[Migration]) -> int:
    """Return the highest version number of the files; -1 where there is no file."""
    return migrations[-1].number if migrations else -1


def _status(
    migration: Migration | None, record: Record | None, migrations: Sequence[Migration], history: History
) -> Status:
    source = migration or (record.started if record else None)
    assert source is not None
    last = record.last if record else None
    return Status(
        version=migration.version if migration else record.version if record else "",
        description=source.description,
        author=source.author,
        path=migration.location if migration else record.started.path if record else None,
        state=_state(migration, record, migrations, history),
        statements_done=record.statements_done if record else 0,
        statements_total=record.statements_total if record else None,
        applied_at=record.applied_at if record else None,
        run_id=last.run_id if last else None,
        error_message=last.error_message if last else None,
        stopped_at=statement_at_stop(record) if record else None,
    )


def _state(
    migration: Migration | None, record: Record | None, migrations: Sequence[Migration], history: History
) -> State:
    if record is None:
        late = migration is not None and is_late(migration, history)
        return State.OUT_OF_ORDER if late else State.PENDING
    if migration is None:
        if record.is_removed:
            return record.state
        ahead = record.number > newest_number(migrations) and record.state in SETTLED
        return State.AHEAD if ahead else State.MISSING
    if record.state in SETTLED and record.last.checksum != migration.checksum:
        return State.CHANGED
    return record.state
