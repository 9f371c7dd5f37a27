"""The changes of one column, through its renames and those of its table. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from glacierbase.errors import ConfigurationError
from glacierbase.history.timeline import Moment
from glacierbase.inspect.tables.choice import Table
from glacierbase.inspect.tables.points import Place, place_of
from glacierbase.inspect.tables.since import Since
from glacierbase.model.command import command
from glacierbase.model.differences import Difference, compare
from glacierbase.model.migration import Event
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, Shape
from glacierbase.model.spelling import did_you_mean
from glacierbase.model.text import Line, Mark, table


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A change of a column, or of a field inside it.

    Attributes:
        version, author, description: of the migration; None where no migration is known to have made the change.
        at: when it was recorded.
        outside: whether it came from outside.
    """

    table: str
    version: str | None
    at: datetime | None
    author: str | None
    description: str | None
    outside: bool
    differences: tuple[Difference, ...]
    since: Since


def changes_of(table: Table, column: str, fits: Callable[[Event], bool]) -> Iterator[tuple[Place, ColumnChange]]:
    """Yield the changes of a column, in order, through renames of the column and of its table, with the places of their events.

    All columns that ever had the name are followed, in each table that had the name of the table.

    Raises:
        ConfigurationError: `UNKNOWN_COLUMN`.
    """
    column = name_of(name_parts(column))  # As `blame` reads it.
    found = sorted(
        (change for timeline in table.timelines for change in _changes(timeline.moments, column)),
        key=lambda each: place_of(each[0].event),
    )
    if not found:
        names = dict.fromkeys(
            each.name for timeline in table.timelines for moment in timeline.moments for each in _columns(moment.shape)
        )
        hint = did_you_mean(column, names, f"`{command('schema', table.name)}` shows what is recorded of the table")
        what = f"the records of {table.name} have no column {column}"
        raise ConfigurationError("UNKNOWN_COLUMN", what, hint, table=table.name, column=column)
    for moment, change in found:
        if fits(_blamed(moment.event, change.since)):
            yield place_of(moment.event), change


def _blamed(event: Event, since: Since) -> Event:
    """Return the event, without author and version where its migration did not make the change."""
    return replace(event, author=since.author, version=since.version)


def _changes(moments: Iterable[Moment], column: str) -> Iterator[tuple[Moment, ColumnChange]]:
    moments = tuple(moments)
    wanted = frozenset(_key(each) for moment in moments for each in _columns(moment.shape) if _is_in(each.name, column))
    before: Shape | None = None
    for index, moment in enumerate(moments):
        shape = moment.shape
        if diff := _difference(before, shape, wanted):
            since = Since.of(moment, is_first=index == 0)
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
            columns=tuple(each for each in _columns(shape) if _key(each) in wanted),
        )
        for shape in (before, after)
    )  # fmt: skip
    changes = compare({whole.table: earlier}, {whole.table: later})
    return tuple(each for change in changes for each in change.diff if each.what != "order of columns")


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
            each.since.day,
            each.version or "-",
            Mark("; ".join(one.line() for one in each.differences)),
            each.author,
            each.since.why,
        )
        for each in changes
    ]
    return table(("since", "version", "change", "author", "why"), rows)
