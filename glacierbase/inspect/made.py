"""What the runs of one version did to tables, by their records, and what they found that no migration did. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glacierbase.history.records import History
from glacierbase.history.timeline import Moment, Origin, records_in, timelines
from glacierbase.inspect.points import place_of
from glacierbase.model.differences import Change, Difference, compare
from glacierbase.model.text import Line, Verbatim

_FOUND = {Origin.OUTSIDE: "found before it, not from a migration", Origin.NOT_RECORDED: "found before it, not recorded"}


@dataclass(frozen=True, slots=True)
class MadeChange:
    """What happened to a table.

    Attributes:
        table: its name afterwards; that before, if it was dropped.
        change: None where the table could not be read.
        origin: `migration` where the version did it; else it was found when the version ran.
        unread: why the table could not be read; None where it was.
    """

    table: str
    change: Change | None
    origin: Origin
    diff: tuple[Difference, ...] = ()
    unread: str | None = None


def made_by(history: History, number: int) -> tuple[MadeChange, ...]:
    """Return what happened to tables in the runs of a version: found changes first."""
    made = [each for timeline in timelines(history) for each in _of(timeline.moments, number)]
    return (*sorted(made, key=lambda each: each.origin is Origin.MIGRATION), *_unread(history, number))


def change_lines(changes: Sequence[MadeChange]) -> Iterator[Line]:
    """Yield the changes as lines of text."""
    for each in changes:
        found = _FOUND.get(each.origin)
        if each.unread is not None:
            yield from ("", f"table {each.table}: not recorded: {each.unread}")
        else:
            yield from ("", f"table {each.table}: {each.change}{f' ({found})' if found else ''}")
            yield from (Verbatim(f"  {difference.line()}") for difference in each.diff)


def _of(moments: Sequence[Moment], number: int) -> Iterator[MadeChange]:
    before = None
    for moment in moments:
        earlier, before = before, moment.shape
        if moment.event.version is not None and int(moment.event.version) == number:
            shapes = [{shape.table: shape} if shape else {} for shape in (earlier, moment.shape)]
            for change in compare(*shapes):
                yield MadeChange(change.table, change.change, moment.origin, change.diff)


def _unread(history: History, number: int) -> Iterator[MadeChange]:
    """Yield the tables that the newest run of a version could not read."""
    record = history.records.get(number)
    if record is not None and place_of(record.outcome) not in history.late:
        for each in records_in(history, record.outcome):
            if each.unread is not None:
                yield MadeChange(each.table, None, Origin.NOT_RECORDED, unread=each.unread)
