"""`history`: the events of a catalog that match the filters, the outcomes of its migrations, or the changes of one column."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from glacierbase.errors import ConfigurationError
from glacierbase.history.details import details_of
from glacierbase.history.records import late_events
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.model.arguments import check_not_empty, key_given
from glacierbase.model.command import command
from glacierbase.model.differences import Difference, compare
from glacierbase.model.migration import Event, EventType, Key
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.result import Result, user_of
from glacierbase.model.shape import Column, Shape
from glacierbase.model.text import Cell, Line, Mark, counted, did_you_mean, table
from glacierbase.record.lineage import LastChange
from glacierbase.record.live import LiveTables
from glacierbase.record.points import Place, place_of, since_given
from glacierbase.record.table_search import ChosenTable, TableSearch, version_events
from glacierbase.record.timeline import Moment, Timeline
from glacierbase.record.unrecorded import with_changes_since

_OUTCOMES = frozenset(
    kind.value
    for kind in (
        EventType.APPLIED,
        EventType.FAILED,
        EventType.INTERRUPTED,
        EventType.WAITING,
        EventType.UNKNOWN,
        EventType.BASELINED,
        EventType.REPAIRED,
    )
)


@dataclass(frozen=True, slots=True)
class HistoryResult(Result):
    """The requested events of a catalog, in order.

    Attributes:
        outcomes: the outcomes of the attempts to apply a migration.
        changes: the changes of the requested column; None if no column was requested.
        total: how many events the history has.
    """

    events: tuple[Event, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    changes: tuple[ColumnChange, ...] | None = None
    total: int = 0

    def lines(self) -> Sequence[Line]:
        if self.changes is not None:
            return change_table(self.changes) or [self._none("change")]
        return outcome_table(self.outcomes) or [self._none("outcome")]

    def event_lines(self) -> Sequence[Line]:
        """Return the text of every event."""
        return event_table(self.events) or [self._none("event")]

    def _none(self, what: str) -> str:
        if not self.total:
            return "no events: nothing was ever applied"
        if len(self.events) == self.total:
            return "no outcomes: no event is about a migration"
        return f"no {what} fits the options; the history has {counted(self.total, 'event')}"


def history(target: CatalogRun, result: HistoryResult, filters: Filters) -> HistoryResult:
    """Return the requested events, in order."""
    state = current_state(target)
    events = state.history.events
    result = replace(result, total=len(events), warnings=state.warnings)
    accepts, changes = filters.accepts, None
    if filters.table:
        table = filters.table.find(state.history)
        if table is None:
            return result
        places = places_about(table)
        if filters.column is not None:
            located = tuple(changes_of(table.name, _moments(target, table), filters.column, filters.accepts))
            places, changes = frozenset(place for place, _ in located), tuple(change for _, change in located)
        accepts = lambda event: place_of(event) in places and (changes is not None or filters.accepts(event))  # noqa: E731
    kept = tuple(event for event in events if accepts(event))
    return replace(result, events=kept, outcomes=outcomes(events, accepts), changes=changes)


@dataclass(frozen=True, slots=True)
class Filters:
    """The requested events: those that match every given filter; None matches all.

    Attributes:
        author: part of the author's name, in letters of either case.
        since: the oldest time.
        key: the version or repeatable.
    """

    table: TableSearch | None = None
    column: str | None = None
    author: str | None = None
    since: datetime | None = None
    key: Key | None = None

    @classmethod
    def given(
        cls, table: str | None, column: str | None, author: str | None, since: str | None, version: str | None
    ) -> Filters:
        """Return the filters that a caller gave.

        Raises:
            ConfigurationError: a value is empty or cannot be read, or a column has no table.
        """
        for name, value in (("column", column), ("author", author), ("since", since)):
            check_not_empty(name, value)
        if column is not None and table is None:
            raise ConfigurationError("USAGE", f"--column {column} without --table", "add --table NAME")
        return cls(
            None if table is None else TableSearch(table),
            column,
            author,
            None if since is None else since_given(since, datetime.now(timezone.utc)),
            None if version is None else key_given(version),
        )

    def accepts(self, event: Event) -> bool:
        """Return whether an event matches the author, the time and the version."""
        has_author = self.author is None or self.author.casefold() in (event.author or "").casefold()
        has_version = self.key is None or event.key == self.key
        is_recent = self.since is None or (event.recorded_at is not None and event.recorded_at >= self.since)
        return has_author and has_version and is_recent


def places_about(table: ChosenTable) -> frozenset[Place]:
    """Return the places of the events of all files that change a table, also under its former names while it had them.

    Files that change another table which had the name then, and has another one now, are left out, if they left no record of this
    one.
    """
    begins = {place_of(event.event): event.begin for event in version_events(table.history)}
    lives = table.lives

    def named(timelines: Iterable[Timeline]) -> Iterator[tuple[str, Place, Place]]:
        for timeline in timelines:
            for name, begin, end in _spans(timeline):
                yield name, begins.get(begin, begin), end

    others = [
        span
        for span in named(timeline for timeline in table.timelines if timeline not in lives)
        if span[0] == table.name
    ]
    former = [span for span in named(lives) if span[0] != table.name]
    names, by_name = table.written(table.name), {name: table.written(name) for name, _, _ in former}

    recorded = {moment.event.key for timeline in lives for moment in timeline.moments}

    def is_about(tables: frozenset[str], place: Place) -> bool:
        if tables & names and not any(begin <= place <= end for _, begin, end in others):
            return True
        return any(tables & by_name[name] and begin <= place <= end for name, begin, end in former)

    return frozenset(
        place_of(event.event)
        for event in version_events(table.history)
        if event.event.key in recorded or is_about(event.tables, place_of(event.event))
    )


_LAST = (sys.maxsize, sys.maxsize)


def _spans(timeline: Timeline) -> Iterator[tuple[str, Place, Place]]:
    """Yield each name of a table, with the places of the events from which and up to which it had the name."""
    moments = timeline.moments
    ends = (*(place_of(moment.event) for moment in moments[1:]), _LAST)
    for moment, end in zip(moments, ends, strict=True):
        if moment.shape:
            yield moment.shape.table, place_of(moment.event), end


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt to apply a migration, or of a command that settled it.

    Attributes:
        outcome: `started` where none is recorded yet; `repaired as edited: applied` with the state after a repair.
        run_by: user and host, and who started the CI job.
        name: of a repeatable, which has no version.
    """

    version: str | None
    outcome: str
    at: datetime | None
    author: str | None
    description: str | None
    run_by: str
    name: str | None = None


def outcomes(events: Sequence[Event], accepts: Callable[[Event], bool] = lambda _: True) -> tuple[Outcome, ...]:
    """Return the outcomes in the events of one catalog, in the order of the events.

    Events about the whole catalog, and those that a run wrote after it lost the lock, have no outcome. The last event of a file
    is one even if it is not an outcome: the attempt is running, or its outcome is unknown.

    Args:
        accepts: whether the filter accepts an event.
    """
    late = late_events(events)
    counted = [event for event in events if event.key is not None and (event.fence, event.sequence) not in late]
    last = {event.key: event for event in counted}
    chosen = (event for event in counted if event.event in _OUTCOMES or event is last[event.key])
    actors = ci_actors(events)
    return tuple(_outcome(event, actors.get(event.run_id)) for event in chosen if accepts(event))


def ci_actors(events: Sequence[Event]) -> dict[str, str]:
    """Return who started the CI job, for the runs that were part of one, by the run's id."""
    # Parsed only where it can be: the details of a started file are long.
    actors = ((event.run_id, details_of(event).ci_actor) for event in events if "ci_actor" in (event.details or ""))
    return {run_id: actor for run_id, actor in actors if actor}


def _outcome(event: Event, ci_actor: str | None) -> Outcome:
    return Outcome(
        version=event.version,
        name=event.name,
        outcome=_name(event),
        at=event.recorded_at,
        author=event.author,
        description=event.description,
        run_by=user_of(event.os_user, event.host, ci_actor),
    )


def _name(event: Event) -> str:
    if event.event not in _OUTCOMES:
        return EventType.STARTED.value
    if event.event != EventType.REPAIRED:
        return event.event
    resolution = details_of(event).resolution
    return f"{event.state}" if resolution == event.state else f"repaired as {resolution}: {event.state}"


def outcome_table(shown: Sequence[Outcome]) -> list[Line]:
    """Return a table with a row per outcome."""
    header = ("version", "outcome", "at", "author", "description", "run by")
    rows = [
        (
            outcome.version or outcome.name,
            Mark(outcome.outcome),
            outcome.at,
            outcome.author,
            outcome.description,
            outcome.run_by,
        )
        for outcome in shown
    ]
    return table(header, rows)


def event_table(events: Sequence[Event]) -> list[Line]:
    """Return a table with a row per event."""
    header = ("at", "event", "what", "version", "statement", "who", "run", "why")
    actors = ci_actors(events)
    return table(header, [_event_row(event, actors.get(event.run_id)) for event in events])


def statement_of(event: Event) -> str:
    """Return `2/3` for an event about statement 2 of 3; empty where it names none."""
    place = (event.statement_index, event.statement_total)
    return f"{event.statement_index}/{event.statement_total}" if None not in place else ""


def _event_row(event: Event, ci_actor: str | None) -> tuple[Cell, ...]:
    return (
        event.recorded_at,
        f"{event.fence}.{event.sequence}",
        Mark(event.event),
        event.label or None,
        statement_of(event),
        user_of(event.os_user, event.host, ci_actor),
        event.run_id[:8],
        event.error_message or event.reason,
    )


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A change of a column, or of a field inside it.

    Attributes:
        version, author, description: of the migration; None where no migration is known to have made the change.
        at: when it was recorded.
        outside: whether another client made it.
    """

    table: str
    version: str | None
    at: datetime | None
    author: str | None
    description: str | None
    outside: bool
    differences: tuple[Difference, ...]
    since: LastChange


def _moments(target: CatalogRun, table: ChosenTable) -> list[Sequence[Moment]]:
    """Return the moments of each life of a table, with those since its last record, where no engine is needed to read it."""
    with LiveTables(target.catalog) as tables:
        return [with_changes_since(tables, life.moments, is_whole=life.is_certain)[0] for life in table.lives]


def changes_of(
    table: str, lives: Sequence[Sequence[Moment]], column: str, accepts: Callable[[Event], bool]
) -> Iterator[tuple[Place, ColumnChange]]:
    """Yield the changes of a column, in order, through renames of the column and of its table, with the places of their events.

    All columns that ever had the name are followed, in the table that has its name now and in those that were dropped under it.

    Raises:
        ConfigurationError: `UNKNOWN_COLUMN`.
    """
    column = name_of(name_parts(column))  # As `blame` reads it.
    located = sorted(
        (change for moments in lives for change in _changes(moments, column)),
        key=lambda pair: place_of(pair[0].event),
    )
    if not located:
        names = dict.fromkeys(field.name for moments in lives for moment in moments for field in _columns(moment.shape))
        hint = did_you_mean(column, names, f"`{command('schema', table)}` shows what is recorded of the table")
        what = f"the records of {table} have no column {column}"
        raise ConfigurationError("UNKNOWN_COLUMN", what, hint, table=table, column=column)
    for moment, change in located:
        # The author and version of the change, which may not be those of the recording file.
        if accepts(replace(moment.event, author=change.since.author, version=change.since.version)):
            yield place_of(moment.event), change


def _changes(moments: Iterable[Moment], column: str) -> Iterator[tuple[Moment, ColumnChange]]:
    moments = tuple(moments)
    wanted = frozenset(
        _key(field) for moment in moments for field in _columns(moment.shape) if _is_in(field.name, column)
    )
    before: Shape | None = None
    for index, moment in enumerate(moments):
        shape = moment.shape
        if diff := _difference(before, shape, wanted):
            since = LastChange.of(moment, is_first=index == 0)
            name = shape.table if shape else before.table if before else ""
            blamed = (since.version, since.at, since.author, since.description)
            yield moment, ColumnChange(name, *blamed, since.is_outside, diff, since)
        before = shape


def _difference(before: Shape | None, after: Shape | None, wanted: frozenset[int | str]) -> tuple[Difference, ...]:
    """Return the differences of some columns."""
    whole = after or before
    if whole is None:
        return ()
    earlier, later = (
        replace(
            whole, partitioning=(), sorting=(), identifiers=(), properties={},
            columns=tuple(column for column in _columns(shape) if _key(column) in wanted),
        )
        for shape in (before, after)
    )  # fmt: skip
    changes = compare({whole.table: earlier}, {whole.table: later})
    return tuple(
        difference for change in changes for difference in change.diff if difference.what != "order of columns"
    )


def _columns(shape: Shape | None) -> tuple[Column, ...]:
    return shape.columns if shape else ()


def _key(column: Column) -> int | str:
    return column.name if column.id is None else column.id


def _is_in(name: str, column: str) -> bool:
    return f"{name.casefold()}.".startswith(f"{column.casefold()}.")


def change_table(changes: Sequence[ColumnChange]) -> list[Line]:
    """Return a table with a row per change."""
    rows = [
        (
            change.since.day,
            change.version or "-",
            Mark("; ".join(difference.line() for difference in change.differences)),
            change.author,
            change.since.why,
        )
        for change in changes
    ]
    return table(("since", "version", "change", "author", "why"), rows)
