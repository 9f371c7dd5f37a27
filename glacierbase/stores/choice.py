"""Which store a catalog has: past its engine where PyIceberg opens the catalog, through the engine's SQL elsewhere."""

from __future__ import annotations

from importlib.util import find_spec

from glacierbase.catalog import Catalog
from glacierbase.engine import Engine
from glacierbase.stores import Store, iceberg


def open_store(catalog: Catalog, engine: Engine) -> Store:
    """History and lock of `catalog`, until the engine is closed; starts it only where they live behind it.

    Raises:
        ConfigurationError: `store.type` says iceberg, and PyIceberg cannot open the catalog; or as the engine's start does.
        EngineUnavailable: as the engine's start does.
    """
    if catalog.store.type == "iceberg" or (catalog.store.type == "auto" and _opens_without(catalog)):
        store = iceberg.open_store(catalog)
        engine.at_close(store.close)
        return store
    from glacierbase.stores import sql

    opened = sql.open_store(catalog, engine.start())
    engine.at_close(opened.close)
    return opened


def _opens_without(catalog: Catalog) -> bool:
    return iceberg.can_open(catalog) and all(map(find_spec, ("pyiceberg", "pyarrow")))
