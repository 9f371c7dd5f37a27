"""The tables that the files of a history touch, under their whole names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from glacierbase.history.records import History
from glacierbase.history.shapes import table_records
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import State
from glacierbase.sql.qualified import qualified
from glacierbase.sql.targets import table_names

# A statement may be changing the tables of such a version.
_IN_FLIGHT = frozenset({State.RUNNING, State.UNKNOWN})


@dataclass(frozen=True, slots=True)
class FileTables:
    """The tables of the files of one history.

    Attributes:
        by_version: by the number of a version.
        in_flight: those that a statement may be changing; None where it may be changing any.
    """

    by_version: Mapping[int, tuple[str, ...]]
    in_flight: frozenset[str] | None

    @classmethod
    def of(cls, catalog: Catalog, history: History) -> FileTables:
        """Return the tables of a history."""
        # A name may depend on a statement of its file; the record of the table has the whole one.
        records = (each for event in history.events for each in table_records(event))
        whole = {each.table: each.after.table for each in records if each.after}

        def names(written: str | None) -> tuple[str, ...]:
            return tuple(dict.fromkeys(whole.get(name) or qualified(catalog, name) for name in table_names(written)))

        found = {number: names(record.started.tables) for number, record in history.records.items()}
        busy = {number: record for number, record in history.records.items() if record.state in _IN_FLIGHT}
        if any(record.started.tables is None for record in busy.values()):
            return cls(found, None)
        return cls(found, frozenset(name for number in busy for name in found[number]))

    def is_changing(self, table: str) -> bool:
        """Return whether a statement may be changing a table."""
        return self.in_flight is None or table in self.in_flight
