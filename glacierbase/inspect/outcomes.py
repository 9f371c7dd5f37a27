"""The history in short: the outcome of each attempt to apply a migration. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from glacierbase.history.records import late_events
from glacierbase.model.migration import Event, EventType, State
from glacierbase.model.text import Line, Mark, table

_OUTCOMES = frozenset(
    kind.value
    for kind in (
        EventType.APPLIED,
        EventType.FAILED,
        EventType.INTERRUPTED,
        EventType.UNKNOWN,
        EventType.BASELINED,
        EventType.REPAIRED,
    )
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt to apply a migration, or of a command that settled it.

    Attributes:
        outcome: `started` where none is recorded yet, `repaired: STATE` with the state that `repair` recorded.
        run_by: user and host.
    """

    version: str
    outcome: str
    at: datetime | None
    author: str | None
    description: str | None
    run_by: str


def outcomes(events: Sequence[Event]) -> tuple[Outcome, ...]:
    """Return the outcomes in the events of one catalog, in the order of the events.

    Events without a version, and those that a run wrote after it had lost the lock, have no outcome. The last event of a version
    is one also if it is no outcome: the attempt is running, or its outcome is unknown.
    """
    late = late_events(events)
    counted = [event for event in events if event.version and (event.fence, event.sequence) not in late]
    last = {event.version: event for event in counted}
    return tuple(_outcome(event) for event in counted if event.event in _OUTCOMES or event is last[event.version])


def _outcome(event: Event) -> Outcome:
    return Outcome(
        version=event.version or "",
        outcome=_name(event),
        at=event.recorded_at,
        author=event.author,
        description=event.description,
        run_by=f"{event.os_user}@{event.host}",
    )


def _name(event: Event) -> str:
    if event.event not in _OUTCOMES:
        return EventType.STARTED.value
    if event.event != EventType.REPAIRED:
        return event.event
    return State.ABANDONED.value if event.state == State.ABANDONED else f"repaired: {event.state}"


def outcome_table(found: Sequence[Outcome]) -> list[Line]:
    """Return a table with a row per outcome."""
    header = ("version", "outcome", "at", "author", "description", "run by")
    rows = [(each.version, Mark(each.outcome), each.at, each.author, each.description, each.run_by) for each in found]
    return table(header, rows)
