"""Which events are about which tables. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from glacierbase.history.records import History
from glacierbase.history.timeline import ENDS, records_in
from glacierbase.inspect.tables.points import Place, Point, place_of, reached
from glacierbase.model.migration import Event, EventType
from glacierbase.sql.targets import table_names


@dataclass(frozen=True, slots=True)
class Touch:
    """An event of a version.

    Attributes:
        tables: those that the file of the version touches, as it was when it was last started.
        begin: the place of the event that started it.
    """

    event: Event
    tables: frozenset[str]
    begin: Place


def touches(history: History) -> Iterator[Touch]:
    """Yield the events of all versions, in order, without those of runs that had lost the lock."""
    files: dict[int, tuple[frozenset[str], Place]] = {}
    for event in history.events:
        if event.version is None or place_of(event) in history.late:
            continue
        number = int(event.version)
        if event.event in (EventType.STARTED, EventType.BASELINED) or number not in files:
            files[number] = frozenset(table_names(event.tables)), place_of(event)
        yield Touch(event, *files[number])


def touched_tables(history: History) -> list[str]:
    """Return the names of all tables that files touch, in the order of the files."""
    return list(dict.fromkeys(table for touch in touches(history) for table in sorted(touch.tables)))


def gaps(history: History, names: Collection[str], point: Point | None) -> tuple[str, ...]:
    """Return the versions that touched a table and recorded nothing of it, after the last record before a point.

    One whose run has not ended, or was lost, is such a version.

    Args:
        names: all that the table had, as files wrote them.
    """
    found: dict[str, None] = {}
    started: dict[str, None] = {}
    is_reached = reached(point, history)
    for touch in touches(history):
        event = touch.event
        if not touch.tables.intersection(names):
            continue
        if event.event == EventType.STARTED and is_reached(event):
            started[event.version or ""] = None
        elif event.event in ENDS and event.event != EventType.UNKNOWN:
            started.pop(event.version or "", None)
        if event.event in ENDS and is_reached(event):
            if any(each.unread is None for each in records_in(history, event, names)):
                found.clear()
            else:
                found[event.version or ""] = None
    return tuple(found | started)
