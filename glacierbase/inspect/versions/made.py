"""What the runs of one version did to tables, by their records, and what they found that no migration did. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from glacierbase.history.records import History
from glacierbase.history.shapes import Origin
from glacierbase.history.timeline import Moment, Timeline, records_in, timelines
from glacierbase.inspect.tables.points import place_of
from glacierbase.model.differences import Change, Difference, compare
from glacierbase.model.text import Line, Verbatim

_FOUND = {
    Origin.OUTSIDE: "found before it, not from a migration",
    Origin.DURING: "while it ran, not by it",
    Origin.BASELINE: "found at baseline",
    Origin.NOT_RECORDED: "found before it, not recorded",
}


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
    return _in_order(
        (change for each in timelines(history) for _, change in changes_in(each.moments, number)),
        history,
        number,
    )


def made_by_each(history: History, known: Iterable[Timeline]) -> dict[int, tuple[MadeChange, ...]]:
    """Return for every version that ran what `made_by` returns.

    Args:
        known: the timelines of the history.
    """
    made: dict[int, list[MadeChange]] = {number: [] for number in history.records}
    for each in known:
        for number, change in changes_in(each.moments):
            made.setdefault(number, []).append(change)
    return {number: _in_order(changes, history, number) for number, changes in made.items()}


def changes_in(moments: Sequence[Moment], only: int | None = None) -> Iterator[tuple[int, MadeChange]]:
    """Yield what happened to a table at each of its moments, with the number of the version that recorded it.

    Args:
        only: the number of the version that is asked for; default all.
    """
    before = None
    for moment in moments:
        earlier, before = before, moment.shape
        number = int(moment.event.version or 0)
        if only is None or number == only:
            shapes = [{shape.table: shape} if shape else {} for shape in (earlier, moment.shape)]
            for change in compare(*shapes):
                yield number, MadeChange(change.table, change.change, moment.origin, change.diff)


def change_lines(changes: Sequence[MadeChange]) -> Iterator[Line]:
    """Yield the changes as lines of text."""
    for each in changes:
        found = _FOUND.get(each.origin)
        if each.unread is not None:
            yield from ("", f"table {each.table}: not recorded: {each.unread}")
        else:
            yield from ("", f"table {each.table}: {each.change}{f' ({found})' if found else ''}")
            yield from (Verbatim(f"  {difference.line()}") for difference in each.diff)


def _in_order(made: Iterable[MadeChange], history: History, number: int) -> tuple[MadeChange, ...]:
    return (*sorted(made, key=lambda each: each.origin is Origin.MIGRATION), *_unread(history, number))


def _unread(history: History, number: int) -> Iterator[MadeChange]:
    """Yield the tables that the newest run of a version could not read."""
    record = history.records.get(number)
    if record is not None and place_of(record.outcome) not in history.late:
        for each in records_in(history, record.outcome):
            if each.unread is not None:
                yield MadeChange(each.table, None, Origin.NOT_RECORDED, unread=each.unread)
