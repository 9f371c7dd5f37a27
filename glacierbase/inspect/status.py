"""`status`: the state of every version and repeatable of a catalog, with notes, from history and files; and the lock holder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glacierbase.errors import GlacierbaseError
from glacierbase.history.details import details_of
from glacierbase.history.items import Item, items
from glacierbase.history.lockrow import lock_holder
from glacierbase.history.records import History
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.inspect.results import StatusResult
from glacierbase.migrations.compiled import rendered_checksum
from glacierbase.model.migration import Event, EventType, Migration, State
from glacierbase.model.result import RecordedRepair, Status


def status(target: CatalogRun, result: StatusResult) -> StatusResult:
    """Return the state of every version and repeatable, and the lock holder."""
    state = current_state(target)
    known = list(statuses(target, state.history))
    return replace(
        result,
        migrations=tuple(status for item, status in known if not item.is_repeatable),
        lock=lock_holder(state.lock),
        repeatables=tuple(status for item, status in known if item.is_repeatable),
        warnings=(*state.warnings, *(item.error.message for item, _ in known if item.error)),
    )


def statuses(target: CatalogRun, history: History) -> Iterator[tuple[Item, Status]]:
    """Yield every item with its status, whose note says that it was repaired, or would render differently or not at all."""
    rendered: list[tuple[Migration, str | None]] = []
    notes: dict[str, str] = {}
    for file in target.repeatables:
        try:
            rendered.append((file, rendered_checksum(file, target.catalog, target.dialect)))
        except GlacierbaseError as error:
            rendered.append((file, None))
            notes[file.name] = _unrendered(error)
    for item in items(target.migrations, rendered, history).values():
        yield item, _status(item, notes.get(item.label) or _rendering_note(item, target))


def _status(item: Item, note: str) -> Status:
    """Args:
    note: about its rendering; empty where there is none.
    """
    record, source = item.record, item.source
    status = Status(
        version=item.version,
        name=item.name,
        description=source.description,
        author=source.author,
        path=item.path,
        state=item.state,
        headers=dict(source.headers if isinstance(source, Migration) else details_of(source).headers),
        note=note or None,
        # The last one is its own.
        replaces=tuple(dict.fromkeys(squashed.version for squashed in item.squashes))[:-1],
    )
    if record is None:
        return status
    repaired = _repaired(record.repair) if record.repair else None
    return replace(
        status,
        # The statements of a repeatable that is to run again are those of its former text.
        statements_done=0 if item.state is State.PENDING else record.statements_done,
        statements_total=None if item.state is State.PENDING else record.statements_total,
        applied_at=record.applied_at,
        run_id=record.outcome.run_id,
        engine=None if record.outcome.event == EventType.BASELINED else record.outcome.engine,
        error_message=record.last.error_message,
        applied_by=record.applied_by,
        repaired=repaired,
        stopped_at=record.stopped_at,
        waiting=record.waiting,
        note="; ".join(filter(None, (repaired.line() if repaired else "", note))) or None,
    )


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


def _rendering_note(item: Item, target: CatalogRun) -> str:
    # What a squash replaced, and the squash, are other texts.
    if item.is_repeatable or item.state is not State.APPLIED or item.replaced_by or not (item.file and item.record):
        return ""
    try:
        now = rendered_checksum(item.file, target.catalog, target.dialect)
        if item.record.last.rendered_checksum in (None, now):
            return ""
        target.compile([item.file])
    except GlacierbaseError as error:
        return _unrendered(error)
    return "a variable changed since: it would render differently today"


def _unrendered(error: GlacierbaseError) -> str:
    return f"no longer renders: {error.message}"
