"""The tables that the files of a catalog change, by their qualified names; select tables by patterns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from glacierbase.errors import ConfigurationError
from glacierbase.history.records import History
from glacierbase.history.target import OpenCatalog
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import State
from glacierbase.model.names import matches, name_parts
from glacierbase.model.text import did_you_mean, first_of
from glacierbase.record.shapes import table_records
from glacierbase.record.timeline import Timeline
from glacierbase.sql.qualified import name_key, qualified
from glacierbase.sql.targets import table_names
from glacierbase.stores.tables import is_own_name

# States in which a statement may be changing the tables of a version.
_IN_FLIGHT = frozenset({State.RUNNING, State.UNKNOWN})
T = TypeVar("T")

# A message names at most this many recorded tables.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class FileTables:
    """The tables of the files of one history.

    Attributes:
        by_version: by the number of a version.
        in_flight: the tables that a statement may be changing; None where it may be any.
    """

    by_version: Mapping[int, tuple[str, ...]]
    in_flight: frozenset[str] | None

    @classmethod
    def of(cls, catalog: Catalog, history: History) -> FileTables:
        """Return the tables of a history."""
        # A name may depend on a statement of its file; the record of the table has the qualified name.
        records = (record for event in history.events for record in table_records(event))
        whole = {record.table: record.after.table for record in records if record.after}

        def names(written: str | None) -> tuple[str, ...]:
            return tuple(dict.fromkeys(whole.get(name) or qualified(catalog, name) for name in table_names(written)))

        by_version = {record.number: names(record.started.tables) for record in history.versions}
        busy = [record for record in history.records.values() if record.state in _IN_FLIGHT]
        if any(record.started.tables is None for record in busy):
            return cls(by_version, None)
        return cls(by_version, frozenset(name for record in busy for name in names(record.started.tables)))

    def never_recorded(self, known: Iterable[Timeline]) -> Sequence[str]:
        """Return the tables that have no record, in order of name."""
        recorded = {moment.shape.table for timeline in known for moment in timeline.moments if moment.shape}
        return sorted({name for names in self.by_version.values() for name in names} - recorded)

    def is_changing(self, table: str) -> bool:
        """Return whether a statement may be changing a table."""
        return self.in_flight is None or table in self.in_flight


def is_own_table(catalog: Catalog, name: str) -> bool:
    """Return whether a table is a history or a lock, also of another catalog of the project."""
    parts = name_parts(name.casefold())
    return ".".join(parts[1:-1]) == catalog.store.namespace.casefold() and is_own_name(parts[-1])


def tables_of_others(opened: OpenCatalog) -> Mapping[tuple[str, ...], str]:
    """Return the catalog in whose history a table is, of the other histories in the same namespace, by the table's `name_key`."""
    catalog = opened.target.catalog
    return {
        name_key(catalog, name): other
        for other, events in opened.store.read_other_histories().items()
        for name in dict.fromkeys(name for event in events for name in table_names(event.tables))
    }


class TableChoice:
    """The patterns by which a caller selects tables; without a pattern, all tables. Each catalog's history is matched in turn."""

    def __init__(
        self, patterns: Collection[str] = (), missing: str = "no migration in the history changed a table that matches"
    ) -> None:
        """Args:
        missing: begins the message of the error for a pattern that matches no table.
        """
        self._missing = missing
        for pattern in patterns:
            check_not_empty("the pattern of tables", pattern)
        self._patterns = tuple(patterns)
        self._known: dict[str, None] = {}

    def includes(self, table: str) -> bool:
        """Return whether a table is chosen."""
        return not self._patterns or any(matches(table, pattern) for pattern in self._patterns)

    def may_match_in(self, namespace: str) -> bool:
        """Return whether a pattern may match a table in a namespace, or in one inside it."""
        begin = f"{namespace}.".casefold()
        fixed = (re.split(r"[*?\[]", pattern.casefold(), maxsplit=1)[0] for pattern in self._patterns)
        return not self._patterns or any(text.startswith(begin) or begin.startswith(text) for text in fixed)

    def among(self, names: Iterable[str]) -> Sequence[str]:
        """Return those of the names that are chosen."""
        known = list(names)
        self._known.update(dict.fromkeys(known))
        return [name for name in known if self.includes(name)]

    def of(self, known: Iterable[Timeline], others: Iterable[str] = ()) -> Sequence[Timeline]:
        """Return the timelines of the chosen tables.

        Args:
            others: names of tables that files changed and that have no timeline.
        """
        timelines = list(known)
        self.among([*(timeline.table for timeline in timelines), *others])
        return [timeline for timeline in timelines if self.includes(timeline.table)]

    def check(self, chosen: T) -> T:
        """Return the chosen value.

        Raises:
            ConfigurationError: `UNKNOWN_TABLE`: a pattern matches no table in the histories that were read.
        """
        for pattern in self._patterns:
            if not any(matches(table, pattern) for table in self._known):
                what = f"{self._missing} {pattern}"
                hint = did_you_mean(pattern, self._known, self._named())
                raise ConfigurationError("UNKNOWN_TABLE", what, hint, table=pattern)
        return chosen

    def _named(self) -> str:
        names = sorted(self._known)
        if names:
            return f"the tables are {first_of(names, _MOST_NAMED)}"
        return f"no table is recorded; `{command('import', 'tables', '--list')}` lists those that exist"
