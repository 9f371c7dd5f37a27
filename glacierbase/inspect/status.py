"""`status`: the state of every version of a catalog, with notes, from history and files; and the lock holder."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.errors import GlacierbaseError
from glacierbase.history.lockrow import lock_holder
from glacierbase.history.opening import Target
from glacierbase.history.records import History, Record
from glacierbase.history.squashes import resolve_squashes
from glacierbase.history.state import CatalogState, current_state
from glacierbase.history.status import make_status
from glacierbase.inspect.results import StatusResult
from glacierbase.migrations.compiled import rendered_checksum
from glacierbase.model.migration import Migration, State
from glacierbase.model.result import Status


def status(target: Target, result: StatusResult) -> StatusResult:
    """Return the state of every version, and the lock holder."""
    state = current_state(target)
    errors = resolve_squashes(target.migrations, state.history).errors
    warnings = (*state.warnings, *(error.message for error in errors))
    return replace(result, migrations=statuses(target, state), lock=lock_holder(state.lock), warnings=warnings)


def statuses(target: Target, state: CatalogState) -> tuple[Status, ...]:
    """Return the status of every version, with a note where it was repaired, or would render differently today."""
    files = {migration.number: migration for migration in target.migrations}
    known = make_status(target.migrations, state.history)
    return tuple(_with_note(status, files.get(int(status.version)), state.history, target) for status in known)


def _with_note(status: Status, migration: Migration | None, history: History, target: Target) -> Status:
    repaired = status.repaired.line() if status.repaired else ""
    record = history.records.get(int(status.version))
    rendering = _rendering_note(migration, record, target) if status.state is State.APPLIED else ""
    return replace(status, note="; ".join(filter(None, (repaired, rendering))) or None)


def _rendering_note(migration: Migration | None, record: Record | None, target: Target) -> str:
    # In place of files with other checksums, a squash runs nowhere.
    if migration is None or record is None or migration.checksum != record.last.checksum:
        return ""
    try:
        if record.last.rendered_checksum in (None, rendered_checksum(migration, target.catalog)):
            return ""
        target.compile([migration])
    except GlacierbaseError as error:
        return f"no longer renders: {error.message}"
    return "a variable changed since: it would render differently today"
