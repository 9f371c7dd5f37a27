"""Which store a catalog has: past its engine where PyIceberg opens the catalog, through the engine's SQL elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol

from glacierbase.executors.engine import Engine
from glacierbase.model.catalog import Catalog
from glacierbase.stores import Store, iceberg
from glacierbase.stores.bounded import BoundedStore


class Closable(Store, Protocol):
    """A store with connections or sessions of its own."""

    def close(self) -> None: ...


def open_store(catalog: Catalog, engine: Engine) -> Store:
    """History and lock of `catalog`, until the engine is closed; starts it only where they live behind it.

    Raises:
        ConfigurationError: `store.type` says iceberg, and PyIceberg cannot open the catalog; or as the engine's start does.
        EngineUnavailable: as the engine's start does.
    """
    store = BoundedStore(_opener(catalog, engine), engine.cancelled)
    engine.at_close(store.close)
    return store


def _opener(catalog: Catalog, engine: Engine) -> Callable[[], Store]:
    if catalog.store.type == "iceberg" or (catalog.store.type == "auto" and _opens_without(catalog)):
        return lambda: _closed_with(engine, iceberg.open_store(catalog))
    from glacierbase.stores import sql

    executor = engine.start()
    return lambda: _closed_with(engine, sql.open_store(catalog, executor))


def _closed_with(engine: Engine, store: Closable) -> Store:
    engine.at_close(store.close)
    return store


def _opens_without(catalog: Catalog) -> bool:
    return iceberg.can_open(catalog) and all(map(find_spec, ("pyiceberg", "pyarrow")))
