"""PyIceberg's Hive catalog, which loads no code that a table names."""

from __future__ import annotations

from pyiceberg.catalog.hive import HiveCatalog as _HiveCatalog

from glacierbase.executors.iceberg.guard import Guarded

_WITH_CATALOG = 3


class HiveCatalog(Guarded, _HiveCatalog):  # type: ignore[misc]
    """A catalog whose properties all come from the catalog file."""

    def new_name(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Remove the catalog, as Iceberg's Hive catalog does: a name there has one namespace."""
        return parts[1:] if len(parts) == _WITH_CATALOG and parts[0].lower() == self.name.lower() else parts
