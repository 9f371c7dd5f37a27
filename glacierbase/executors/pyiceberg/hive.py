"""PyIceberg's Hive catalog, which loads no code that a table names."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog import METADATA_LOCATION
from pyiceberg.catalog.hive import HiveCatalog as _HiveCatalog

from glacierbase.executors.pyiceberg.guard import Guarded
from glacierbase.executors.pyiceberg.metadata import REFUSED

_WITH_CATALOG = 3


class HiveCatalog(Guarded, _HiveCatalog):  # type: ignore[misc]
    """A catalog whose properties all come from the catalog file."""

    def _convert_hive_into_iceberg(self, table: Any) -> Any:
        try:
            return super()._convert_hive_into_iceberg(table)
        except REFUSED:
            return self.kept_table((table.dbName, table.tableName), table.parameters[METADATA_LOCATION])

    def new_name(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Remove the catalog, as Iceberg's Hive catalog does: a name there has one namespace."""
        return parts[1:] if len(parts) == _WITH_CATALOG and parts[0].lower() == self.name.lower() else parts
