"""The history as tables: in short, the outcome of each attempt to apply a migration; and event by event. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from glacierbase.history.details import details_of
from glacierbase.history.records import late_events
from glacierbase.model.migration import Event, EventType
from glacierbase.model.result import user_of
from glacierbase.model.text import Cell, Line, Mark, table

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
        outcome: `started` where none is recorded yet; `repaired as edited: applied` with the state after a repair.
        run_by: user and host, and who started the CI job.
    """

    version: str
    outcome: str
    at: datetime | None
    author: str | None
    description: str | None
    run_by: str


def outcomes(events: Sequence[Event], fits: Callable[[Event], bool] = lambda _: True) -> tuple[Outcome, ...]:
    """Return the outcomes in the events of one catalog, in the order of the events.

    Events without a version, and those that a run wrote after it had lost the lock, have no outcome. The last event of a version
    is one also if it is no outcome: the attempt is running, or its outcome is unknown.

    Args:
        fits: whether the outcome that an event is, is asked for.
    """
    late = late_events(events)
    counted = [event for event in events if event.version and (event.fence, event.sequence) not in late]
    last = {event.version: event for event in counted}
    chosen = (event for event in counted if event.event in _OUTCOMES or event is last[event.version])
    actors = ci_actors(events)
    return tuple(_outcome(event, actors.get(event.run_id)) for event in chosen if fits(event))


def ci_actors(events: Sequence[Event]) -> dict[str, str]:
    """Return who started the CI job, for the runs that were part of one, by the run's id."""
    # Parsed only where it can be: the details of a started file are long.
    found = ((event.run_id, details_of(event).ci_actor) for event in events if "ci_actor" in (event.details or ""))
    return {run_id: actor for run_id, actor in found if actor}


def _outcome(event: Event, ci_actor: str | None) -> Outcome:
    return Outcome(
        version=event.version or "",
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


def outcome_table(found: Sequence[Outcome]) -> list[Line]:
    """Return a table with a row per outcome."""
    header = ("version", "outcome", "at", "author", "description", "run by")
    rows = [(each.version, Mark(each.outcome), each.at, each.author, each.description, each.run_by) for each in found]
    return table(header, rows)


def event_table(events: Sequence[Event]) -> list[Line]:
    """Return a table with a row per event."""
    header = ("at", "event", "what", "version", "statement", "who", "run", "why")
    actors = ci_actors(events)
    return table(header, [_event_row(event, actors.get(event.run_id)) for event in events])


def statement_of(event: Event) -> str:
    """Return which statement of how many an event is about; empty where it does not say."""
    place = (event.statement_index, event.statement_total)
    return f"{event.statement_index}/{event.statement_total}" if None not in place else ""


def _event_row(event: Event, ci_actor: str | None) -> tuple[Cell, ...]:
    return (
        event.recorded_at,
        f"{event.fence}.{event.sequence}",
        Mark(event.event),
        event.version,
        statement_of(event),
        user_of(event.os_user, event.host, ci_actor),
        event.run_id[:8],
        event.error_message or event.reason,
    )
