"""The tables and views of an engine, and which of them the files and the history of a catalog manage."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from glacierbase.capabilities.adopt.table_results import LiveTable, Standing
from glacierbase.executors import ListedTable
from glacierbase.history.records import History
from glacierbase.history.target import OpenCatalog
from glacierbase.model.names import name_parts
from glacierbase.record.live import Listing, LiveTables
from glacierbase.record.tables import FileTables, TableChoice, is_own_table, tables_of_others
from glacierbase.record.timeline import timelines
from glacierbase.sql.qualified import name_key, why_unmanaged
from glacierbase.stores.origin import TableOrigin
from glacierbase.stores.tables import is_own_name

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ManagedNames:
    """The tables that a catalog manages, by their `name_key`.

    Attributes:
        recorded: those of its history.
        declared: those of its files.
        of_others: those of other histories in the same namespace, and the catalog of each.
    """

    recorded: frozenset[_Key]
    declared: frozenset[_Key]
    of_others: dict[_Key, str]

    @classmethod
    def of(cls, opened: OpenCatalog, history: History) -> ManagedNames:
        """Return the tables of a history and of the files of its catalog."""
        target = opened.target
        catalog, known = target.catalog, timelines(history)
        recorded = [timeline.table for timeline in known if timeline.shape]
        recorded += FileTables.of(catalog, history).never_recorded(known)
        statements = (named for compiled in target.compile(target.migrations) for named in compiled.named)
        declared = (whole for named in statements for _, whole in named.names if whole)
        return cls(
            frozenset(name_key(catalog, name) for name in recorded),
            frozenset(name_key(catalog, name) for name in declared),
            dict(tables_of_others(opened)),
        )

    def standing(self, key: _Key) -> tuple[Standing, str | None]:
        """Return the state of a table, and more about it."""
        if key in self.recorded:
            return Standing.RECORDED, None
        if key in self.of_others:
            return Standing.RECORDED, f"by catalog {self.of_others[key]}"
        return (Standing.DECLARED if key in self.declared else Standing.NEW), None


def live_tables(
    opened: OpenCatalog, history: History, live: LiveTables, choice: TableChoice
) -> tuple[Sequence[LiveTable], Listing]:
    """Return the chosen tables and views with their states, in order of name, and the listing that they are from.

    History and lock tables are left out, also those of other projects.
    """
    listing, catalog = live.listed(choice.may_match_in), opened.target.catalog
    by_name = {listed.name: listed for listed in listing.tables if not is_own_table(catalog, listed.name)}
    for name in _of_other_projects(list(by_name), live):
        del by_name[name]
    chosen = (by_name[name] for name in choice.among(sorted(by_name)))
    return tuple(_with_standing(opened, chosen, ManagedNames.of(opened, history))), listing


def _of_other_projects(names: Sequence[str], live: LiveTables) -> Collection[str]:
    """Return the histories and locks of other projects: those of the tables whose properties name a catalog of glacierbase.

    Only tables with such a name are read; one that cannot be read is none.
    """
    readings = live.read(name for name in names if is_own_name(name_parts(name.casefold())[-1]))
    return {
        name for name, reading in readings.items() if reading.shape and TableOrigin.is_marked(reading.shape.properties)
    }


def _with_standing(opened: OpenCatalog, tables: Iterator[ListedTable], managed: ManagedNames) -> Iterator[LiveTable]:
    catalog = opened.target.catalog
    for listed in tables:
        if reason := why_unmanaged(catalog, listed.name):
            yield LiveTable(listed.name, listed.kind, Standing.UNMANAGED, reason)
        else:
            state, reason = managed.standing(name_key(catalog, listed.name))
            yield LiveTable(listed.name, listed.kind, state, reason)
