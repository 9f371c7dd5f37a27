"""Choose the store of a catalog: PyIceberg without the engine where it can open the catalog, else the engine's SQL."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol

from glacierbase.executors.engine import Engine
from glacierbase.model.catalog import Catalog
from glacierbase.stores import Store, iceberg
from glacierbase.stores.bounded import BoundedStore


class Closable(Store, Protocol):
    """A store that holds connections or sessions."""

    def close(self) -> None: ...


def open_store(catalog: Catalog, engine: Engine) -> Store:
    """Open the history and lock of `catalog`. The store is closed with the engine, which is started only if the store needs it.

    Raises:
        ConfigurationError: `store.type` is iceberg and PyIceberg cannot open the catalog; or as the engine's start does.
        EngineUnavailable: as the engine's start does.
    """
    store = BoundedStore(_opener(catalog, engine), engine.cancelled)
    engine.at_close(store.close)
    return store


def _opener(catalog: Catalog, engine: Engine) -> Callable[[], Store]:
    if opens_without_engine(catalog):
        return lambda: _closed_with(engine, iceberg.open_store(catalog))
    from glacierbase.stores import sql

    executor = engine.start()
    return lambda: _closed_with(engine, sql.open_store(catalog, executor))


def _closed_with(engine: Engine, store: Closable) -> Store:
    engine.at_close(store.close)
    return store


def opens_without_engine(catalog: Catalog) -> bool:
    """Return whether history and lock of the catalog are read without its engine."""
    if catalog.store.type != "auto":
        return catalog.store.type == "iceberg"
    return iceberg.can_open(catalog) and all(map(find_spec, ("pyiceberg", "pyarrow")))
