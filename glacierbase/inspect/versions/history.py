"""`history`: the events of a catalog, the outcomes of its migrations, or the changes of one column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from glacierbase.history.opening import Target
from glacierbase.history.state import current_state
from glacierbase.inspect.tables.column_changes import ColumnChange, change_table, changes_of
from glacierbase.inspect.tables.points import place_of
from glacierbase.inspect.versions.filters import Filters, places_about
from glacierbase.inspect.versions.outcomes import Outcome, event_table, outcome_table, outcomes
from glacierbase.model.migration import Event
from glacierbase.model.result import Result
from glacierbase.model.text import Line, counted


@dataclass(frozen=True, slots=True)
class HistoryResult(Result):
    """The events of a catalog that were asked for, in order.

    Attributes:
        outcomes: of the attempts to apply a migration.
        changes: of the column that was asked for; None where none was.
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


def history(target: Target, result: HistoryResult, filters: Filters) -> HistoryResult:
    """Return the events that are asked for, in order."""
    state = current_state(target)
    events = state.history.events
    result = replace(result, total=len(events), warnings=state.warnings)
    fits, changes = filters.fits, None
    if filters.table:
        table = filters.table.find(state.history)
        if table is None:
            return result
        places = places_about(table)
        if filters.column is not None:
            found = tuple(changes_of(table, filters.column, filters.fits))
            places, changes = frozenset(place for place, _ in found), tuple(change for _, change in found)
        fits = lambda event: place_of(event) in places and (changes is not None or filters.fits(event))  # noqa: E731
    kept = tuple(event for event in events if fits(event))
    return replace(result, events=kept, outcomes=outcomes(events, fits), changes=changes)
