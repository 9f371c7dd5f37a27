"""Derive the state of each version of files and history: pending, applied, changed, missing and so on. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from glacierbase.history.details import details_of
from glacierbase.history.records import SETTLED, History, Record
from glacierbase.history.squashes import resolve_squashes
from glacierbase.model.migration import Event, EventType, Migration, Squashed, State
from glacierbase.model.result import RecordedRepair, Status


def make_status(migrations: Sequence[Migration], history: History) -> tuple[Status, ...]:
    """Return the status of every version of files and history, in order of version."""
    migrations = resolve_squashes(migrations, history).migrations
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
    # Inside a transaction, it is not the statement after the last completed one.
    is_named = record.last.event in (EventType.FAILED, EventType.UNKNOWN)
    return record.last.statement_index if is_named else record.statements_done + 1


def newest_number(migrations: Sequence[Migration]) -> int:
    """Return the highest version number of the files; -1 without files."""
    return migrations[-1].number if migrations else -1


def _status(
    migration: Migration | None, record: Record | None, migrations: Sequence[Migration], history: History
) -> Status:
    state = _state(migration, record, migrations, history)
    if record is None:
        assert migration is not None
        return Status(
            version=migration.version,
            description=migration.description,
            author=migration.author,
            path=migration.location,
            state=state,
            headers=dict(migration.headers),
            replaces=_replaced(migration.squashes),
        )
    source = migration or record.started
    return Status(
        version=migration.version if migration else record.version,
        description=source.description,
        author=source.author,
        path=migration.location if migration else record.started.path,
        state=state,
        statements_done=record.statements_done,
        statements_total=record.statements_total,
        applied_at=record.applied_at,
        run_id=record.outcome.run_id,
        error_message=record.last.error_message,
        applied_by=record.applied_by,
        repaired=_repaired(record.repair) if record.repair else None,
        stopped_at=statement_at_stop(record),
        headers=dict(migration.headers if migration else details_of(record.started).headers),
        replaces=_replaced(record.squashes),
    )


def _replaced(squashes: Sequence[Squashed]) -> tuple[str, ...]:
    """Return the versions below a squash that it replaces."""
    versions = tuple(dict.fromkeys(squashed.version for squashed in squashes))
    return versions[:-1]


def _repaired(event: Event) -> RecordedRepair:
    details = details_of(event)
    return RecordedRepair(
        resolution=details.resolution,
        at=event.recorded_at,
        run_id=event.run_id,
        os_user=event.os_user,
        host=event.host,
        principal=event.principal,
        ci_actor=details.ci_actor,
        reason=event.reason,
    )


def _state(
    migration: Migration | None, record: Record | None, migrations: Sequence[Migration], history: History
) -> State:
    if record is None:
        late = migration is not None and is_late(migration, history)
        return State.OUT_OF_ORDER if late else State.PENDING
    if record.state in (State.UNKNOWN, State.RUNNING):
        return record.state
    if migration is None:
        if record.is_removed:
            return record.state
        return State.AHEAD if record.number > newest_number(migrations) else State.MISSING
    if record.state in SETTLED and record.last.checksum != migration.checksum:
        return State.CHANGED
    return record.state
