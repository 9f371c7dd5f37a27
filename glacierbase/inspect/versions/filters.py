"""Which part of a history is asked for: that of a table, of a column, of an author, since a time, of a version. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise

from glacierbase.errors import ConfigurationError
from glacierbase.inspect.tables.choice import Table, TableSearch
from glacierbase.inspect.tables.points import Place, place_of, since_given
from glacierbase.inspect.versions.touched import touches
from glacierbase.model.arguments import check_not_empty, version_given
from glacierbase.model.migration import Event


@dataclass(frozen=True, slots=True)
class Filters:
    """What is asked for; None for all. Every one given must fit.

    Attributes:
        author: part of the author's name, in letters of either case.
        since: the oldest time.
        number: of the version.
    """

    table: TableSearch | None = None
    column: str | None = None
    author: str | None = None
    since: datetime | None = None
    number: int | None = None

    @classmethod
    def given(
        cls, table: str | None, column: str | None, author: str | None, since: str | None, version: str | None
    ) -> Filters:
        """Return what a caller asks.

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
            None if version is None else version_given(version),
        )

    def fits(self, event: Event) -> bool:
        """Return whether an event has the author, the time and the version."""
        has_author = self.author is None or self.author.casefold() in (event.author or "").casefold()
        has_version = self.number is None or (event.version is not None and int(event.version) == self.number)
        is_recent = self.since is None or (event.recorded_at is not None and event.recorded_at >= self.since)
        return has_author and has_version and is_recent


def places_about(table: Table) -> frozenset[Place]:
    """Return the places of the events of all files that touch a table, also under the names that it had before."""
    names = table.written(table.name)
    former = [(table.written(name), begin, end) for name, begin, end in _former_names(table)]
    return frozenset(
        place_of(touch.event)
        for touch in touches(table.history)
        if touch.tables & names
        or any(touch.tables & names_ and begin <= place_of(touch.event) <= end for names_, begin, end in former)
    )


def _former_names(table: Table) -> Iterator[tuple[str, Place, Place]]:
    """Yield each name that the table had before this one, with the places of the events from which and up to which it had it."""
    for timeline in table.timelines:
        moments = [each for each in timeline.moments if each.shape]
        last = max(index for index, each in enumerate(moments) if each.shape and each.shape.table == table.name)
        for each, next_ in pairwise(moments[: last + 1]):
            if each.shape and each.shape.table != table.name:
                yield each.shape.table, place_of(each.event), place_of(next_.event)
