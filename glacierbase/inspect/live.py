"""The shapes that tables have now, read without an engine, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from glacierbase.errors import GlacierbaseError, OutcomeUnknown
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import Shape
from glacierbase.run.waiting import Caller, result
from glacierbase.stores.shapes import TableShapes

# Each reader has connections of its own, and reads at least so many tables.
_READERS, _TABLES_EACH = 4, 4
# After so many failures in a row the catalog is taken to be unreachable.
_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """A table as it was read.

    Attributes:
        shape: None where there is no such table.
        unread: why it was not read; None where it was.
    """

    shape: Shape | None = None
    unread: str | None = None


def read_tables(catalog: Catalog, tables: Sequence[str]) -> Mapping[str, Reading]:
    """Read tables by the names that the history records. Contacts their catalogs, and starts no engine."""
    with closing(TableShapes(catalog)) as shapes:
        near = [table for table in tables if not shapes.needs_engine(table)]
    found = dict.fromkeys(tables, Reading(unread="only its engine reads it"))
    readers = min(_READERS, -(-len(near) // _TABLES_EACH))
    waiting = [_begin(catalog, near[number::readers]) for number in range(readers)]
    for wait in waiting:
        found.update(wait())
    return found


def _begin(catalog: Catalog, tables: Sequence[str]) -> Callable[[], Mapping[str, Reading]]:
    """Begin to read in a thread; return what waits for the result. Each read inside has a time limit of its own."""
    caller = Caller()
    answer = caller.submit(lambda: dict(_read(catalog, tables)))
    caller.end()
    return lambda: result(answer, float("inf"))


def _read(catalog: Catalog, tables: Sequence[str]) -> Iterator[tuple[str, Reading]]:
    """Yield each table. Once the catalog is unreachable, the others are not read."""
    failures = 0
    with closing(TableShapes(catalog)) as reader:
        for number, table in enumerate(tables):
            try:
                yield table, Reading(reader.read(table))
                failures = 0
            except GlacierbaseError as error:
                yield table, Reading(unread=error.message)
                failures += _weight(error)
                if failures >= _FAILURES:
                    yield from ((each, Reading(unread=error.message)) for each in tables[number + 1 :])
                    return


def _weight(error: GlacierbaseError) -> int:
    """Return how many failures an error counts as: an answer counts as none, and a wait to the time limit as all."""
    if not isinstance(error, OutcomeUnknown):
        return 0
    return _FAILURES if error.error_class == "NoAnswer" else 1
