"""`status`: the state of every version and repeatable of a catalog, with notes, from history and files; and the lock holder."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.errors import GlacierbaseError
from glacierbase.history.lockrow import lock_holder
from glacierbase.history.records import History, Record
from glacierbase.history.squashes import resolve_squashes
from glacierbase.history.state import CatalogState, current_state
from glacierbase.history.status import make_repeatable_status, make_status
from glacierbase.history.target import Target
from glacierbase.inspect.results import StatusResult
from glacierbase.migrations.compiled import rendered_checksum
from glacierbase.model.migration import Migration, State
from glacierbase.model.result import Status


def status(target: Target, result: StatusResult) -> StatusResult:
    """Return the state of every version and repeatable, and the lock holder."""
    state = current_state(target)
    errors = resolve_squashes(target.migrations, state.history).errors
    return replace(
        result,
        migrations=statuses(target, state),
        lock=lock_holder(state.lock),
        repeatables=repeatable_statuses(target, state),
        warnings=(*state.warnings, *(error.message for error in errors)),
    )


def statuses(target: Target, state: CatalogState) -> tuple[Status, ...]:
    """Return the status of every version, with a note where it was repaired, or would render differently today."""
    files = {migration.number: migration for migration in target.migrations}
    known = make_status(target.migrations, state.history)
    return tuple(_with_note(status, files.get(status.number), state.history, target) for status in known)


def repeatable_statuses(target: Target, state: CatalogState) -> tuple[Status, ...]:
    """Return the status of every repeatable, with a note where it was repaired, or does not render."""
    rendered: list[tuple[Migration, str | None]] = []
    broken: dict[str, str] = {}
    for file in target.repeatables:
        try:
            rendered.append((file, rendered_checksum(file, target.catalog, target.dialect)))
        except GlacierbaseError as error:
            rendered.append((file, None))
            broken[file.name] = _unrendered(error)
    known = make_repeatable_status(rendered, state.history)
    return tuple(replace(status, note=_note(status, broken.get(status.label, ""))) for status in known)


def _with_note(status: Status, migration: Migration | None, history: History, target: Target) -> Status:
    record = history.records.get(status.number)
    rendering = _rendering_note(migration, record, target) if status.state is State.APPLIED else ""
    return replace(status, note=_note(status, rendering))


def _note(status: Status, rendering: str) -> str | None:
    repaired = status.repaired.line() if status.repaired else ""
    return "; ".join(filter(None, (repaired, rendering))) or None


def _rendering_note(migration: Migration | None, record: Record | None, target: Target) -> str:
    # In place of files with other checksums, a squash runs nowhere.
    if migration is None or record is None or migration.checksum != record.last.checksum:
        return ""
    try:
        if record.last.rendered_checksum in (None, rendered_checksum(migration, target.catalog, target.dialect)):
            return ""
        target.compile([migration])
    except GlacierbaseError as error:
        return _unrendered(error)
    return "a variable changed since: it would render differently today"


def _unrendered(error: GlacierbaseError) -> str:
    return f"no longer renders: {error.message}"
