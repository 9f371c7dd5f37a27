"""Read the content of the page of `report` for one catalog, from one read of its history and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from glacierbase.capabilities.tables.drift import DriftResult, Unread, drift_in
from glacierbase.capabilities.tables.report.results import (
    PageResult,
    ReportedChange,
    ReportedEvent,
    ReportedMigration,
    ReportedPart,
    ReportedSince,
    ReportedTable,
    UnmanagedTable,
)
from glacierbase.errors import GlacierbaseError
from glacierbase.history.items import Item
from glacierbase.history.state import CatalogState, read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.inspect.history import ci_actors, statement_of
from glacierbase.inspect.show import MadeChange, made_by_version, next_of, shown_run, statements_of
from glacierbase.inspect.status import statuses
from glacierbase.model.differences import compare
from glacierbase.model.migration import Event, Key, State
from glacierbase.model.result import Status, user_of
from glacierbase.model.shape import Shape
from glacierbase.model.text import first_of
from glacierbase.record.lineage import LastChange, PartOrigin, how_it_was, trace
from glacierbase.record.live import LiveTables
from glacierbase.record.tables import TableChoice
from glacierbase.record.timeline import Moment, Timeline, timelines

_SETTLED = frozenset({State.APPLIED, State.ABANDONED, State.AHEAD})


def page_of(target: CatalogRun, result: PageResult) -> PageResult:
    """Return the page's content for a catalog. Writes nothing; starts an engine only where history and lock need it."""
    with target.opened() as opened:
        state = read_state(opened)
        known = timelines(state.history)
        result = _with_drift(opened, state, known, result)
    # The page shows the name of a repeatable where it shows a version.
    known_items = [(item, replace(status, version=status.label)) for item, status in statuses(target, state.history)]
    return replace(
        result,
        warnings=(*state.warnings, *result.warnings),
        read_at=datetime.now(timezone.utc),
        migrations=tuple(_migrations(target, state, known, known_items)),
        tables=tuple(sorted(_tables(known), key=lambda table: table.name)),
        pending=tuple(item.label for item, _ in known_items if item.state not in _SETTLED),
    )


def _with_drift(opened: OpenCatalog, state: CatalogState, known: Sequence[Timeline], result: PageResult) -> PageResult:
    catalog = opened.target.catalog
    empty = DriftResult(catalog.name, catalog.environment)
    try:
        with LiveTables(catalog) as tables:
            compared = drift_in(opened, state, known, tables, empty, TableChoice())
            broken = [unread for unread in compared.unread if tables.is_near(unread.table)]
    except GlacierbaseError as error:  # The page is written without the comparison.
        why = error.message
        return replace(result, drift_unknown=why, warnings=(f"no table was compared with its record: {why}",))
    return replace(
        result,
        warnings=tuple(_not_compared(broken)),
        drifts=compared.drifts,
        drift_compared=compared.compared,
        unmanaged=tuple(UnmanagedTable(name, compared.reasons.get(name, "")) for name in compared.unmanaged),
        unread=compared.unread,
        drift_next=compared.next,
    )


def _not_compared(unread: Iterable[Unread]) -> Iterator[str]:
    """Yield a warning for each reason why tables were not read."""
    tables: dict[str, list[str]] = {}
    for unread_table in unread:
        tables.setdefault(unread_table.why, []).append(unread_table.table)
    for why, names in tables.items():
        yield f"{first_of(names, 1)} could not be compared with the record: {why}"


def _migrations(
    target: CatalogRun, state: CatalogState, known: Sequence[Timeline], known_items: Iterable[tuple[Item, Status]]
) -> Iterator[ReportedMigration]:
    made = made_by_version(state.history, known)
    events: dict[Key | None, list[Event]] = {}
    for event in state.history.events:
        events.setdefault(event.key, []).append(event)
    actors = ci_actors(state.history.events)
    for item, status in known_items:
        reported_events = tuple(_event(event, actors) for event in events.get(item.key, ()))
        yield _migration(target, item, status, reported_events, made.get(item.key, ()))


def _migration(
    target: CatalogRun, item: Item, status: Status, events: tuple[ReportedEvent, ...], made: tuple[MadeChange, ...]
) -> ReportedMigration:
    run = shown_run(item.record) if item.record else None
    try:
        statements, allows = statements_of(target, item.key, item.record)
    except GlacierbaseError as error:  # A file that does not render has no statements.
        status = replace(status, note="; ".join(filter(None, (status.note, error.message))))
        statements, allows = (), ()
    return ReportedMigration(status, run, statements, allows, events, next_of(target, item), made)


def _event(event: Event, actors: Mapping[str, str]) -> ReportedEvent:
    return ReportedEvent(
        at=event.recorded_at,
        event=event.event,
        statement=statement_of(event),
        user=user_of(event.os_user, event.host, actors.get(event.run_id)),
        run_id=event.run_id,
        why=event.error_message or event.reason,
    )


def _tables(known: Iterable[Timeline]) -> Iterator[ReportedTable]:
    """Yield a table for each name: the one that exists, or was dropped last, with the changes of earlier ones."""
    by_name: dict[str, list[Timeline]] = {}
    for timeline in known:
        by_name.setdefault(timeline.table, []).append(timeline)
    for named in by_name.values():
        *earlier, last = map(_table, sorted(named, key=lambda timeline: timeline.shape is not None))
        before = (change for table in reversed(earlier) for change in table.changes)
        yield replace(last, changes=(*last.changes, *before))


def _table(timeline: Timeline) -> ReportedTable:
    moments = timeline.moments
    shapes = [moment.shape for moment in moments if moment.shape]
    names = dict.fromkeys(shape.table for shape in shapes)
    return ReportedTable(
        name=timeline.table,
        comment=shapes[-1].properties.get("comment", "") if shapes else "",
        former_names=tuple(name for name in names if name != timeline.table),
        dropped=None if timeline.shape else _since(LastChange.of(moments[-1])),
        not_recorded=tuple(dict.fromkeys(event.label for event in timeline.unrecorded)),
        parts=tuple(map(_part, trace(moments if timeline.shape else moments[:-1]))),
        changes=tuple(_changes(moments))[::-1],
    )


def _changes(moments: Sequence[Moment]) -> Iterator[ReportedChange]:
    before: Shape | None = None
    for index, moment in enumerate(moments):
        shapes = [{shape.table: shape} if shape else {} for shape in (before, moment.shape)]
        since = _since(LastChange.of(moment, is_first=index == 0))
        yield from (ReportedChange(since, change.change, change.diff) for change in compare(*shapes))
        before = moment.shape


def _part(origin: PartOrigin) -> ReportedPart:
    part = origin.part
    was = how_it_was(origin.change, origin.former_names)
    comment, _ = part.facts.get("comment", (None, ""))
    return ReportedPart(part.kind, part.name, part.text, part.required, str(comment or ""), was, _since(origin.since))


def _since(since: LastChange) -> ReportedSince:
    return ReportedSince(since.version or since.seen_by, since.day, since.author, since.why)
