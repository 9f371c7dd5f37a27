"""Who besides the migrator may change the tables, for each namespace of them. `doctor` shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from glacierbase.executors import type_of
from glacierbase.history.state import read_history
from glacierbase.history.target import OpenCatalog
from glacierbase.model.access import NamespaceAccess
from glacierbase.record.tables import FileTables
from glacierbase.sql.qualified import place_of
from glacierbase.stores.iceberg.probe import namespace_access


def namespaces_access(opened: OpenCatalog) -> Iterator[NamespaceAccess]:
    """Yield what the catalog shows for each namespace of recorded tables, and for that of history and lock."""
    catalog = opened.target.catalog
    for (name, namespace), tables in _places(opened).items():
        access = type_of(catalog).access(opened.engine.start(), name, namespace, tables)
        yield access or namespace_access(catalog, name, namespace)


def _places(opened: OpenCatalog) -> dict[tuple[str, str], Collection[str]]:
    """Return the recorded tables by catalog and namespace, that of history and lock first."""
    catalog, store = opened.target.catalog, opened.store
    history = read_history(catalog, store, store.read_lock()).history
    names = dict.fromkeys(name for names in FileTables.of(catalog, history).by_version.values() for name in names)
    places: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    if catalog.store.is_in_catalog:
        places[catalog.store.catalog, catalog.store.namespace] = []
    for name in names:
        if place := place_of(catalog, name):
            places[place].append(name)
    return dict(places)
