"""PyIceberg's Hive catalog, which loads no code that a table names."""

from __future__ import annotations

from pyiceberg.catalog.hive import HiveCatalog as _HiveCatalog

from glacierbase.executors.iceberg.guard import Guarded


class HiveCatalog(Guarded, _HiveCatalog):  # type: ignore[misc]
    """A catalog whose properties all come from the catalog file."""
