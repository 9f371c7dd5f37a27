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


def make_repeatable_status(files: Sequence[tuple[Migration, str | None]], history: History) -> tuple[Status, ...]:
    """Return the status of every repeatable: of the files in their order, then of those that have none.

    Args:
        files: each with the checksum of its rendered text; None where it does not render.
    """
    known = [(file, rendered, history.repeatables.get(file.name)) for file, rendered in files]
    gone = [history.repeatables[name] for name in sorted(history.repeatables.keys() - {file.name for file, _ in files})]
    return (
        *(_status_of(file, record, _repeatable_state(rendered, record)) for file, rendered, record in known),
        *(_status_of(None, record, state_without_file(record)) for record in gone),
    )


def _repeatable_state(rendered: str | None, record: Record | None) -> State:
    return State.PENDING if record is None or is_outdated(rendered, record) else record.state


def state_without_file(record: Record) -> State:
    """Return the state of a repeatable whose file is gone."""
    is_open = record.state in (State.UNKNOWN, State.RUNNING)
    return record.state if is_open or record.is_removed else State.MISSING


def is_outdated(rendered: str | None, record: Record) -> bool:
    """Return whether a repeatable is to run again although it is applied or was abandoned, by the checksum of its rendered text.

    What was made may be gone where its file had been deleted on purpose.
    """
    is_other = rendered is not None and record.last.rendered_checksum != rendered
    return record.state in SETTLED and (is_other or record.is_removed)


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
    return _status_of(migration, record, _state(migration, record, migrations, history))


def _status_of(migration: Migration | None, record: Record | None, state: State) -> Status:
    if record is None:
        assert migration is not None
        return Status(
            version=migration.version or None,
            name=migration.identity.get("name"),
            description=migration.description,
            author=migration.author,
            path=migration.location,
            state=state,
            headers=dict(migration.headers),
            replaces=_replaced(migration.squashes),
        )
    source = migration or record.started
    return Status(
        version=(migration or record).version or None,
        name=record.name or None,
        description=source.description,
        author=source.author,
        path=migration.location if migration else record.started.path,
        state=state,
        # The statements of a repeatable that is to run again are those of its former text.
        statements_done=0 if state is State.PENDING else record.statements_done,
        statements_total=None if state is State.PENDING else record.statements_total,
        applied_at=record.applied_at,
        run_id=record.outcome.run_id,
        engine=None if record.outcome.event == EventType.BASELINED else record.outcome.engine,
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
