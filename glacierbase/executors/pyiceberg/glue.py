"""PyIceberg's Glue catalog, which loads no code that a table names."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog import METADATA_LOCATION
from pyiceberg.catalog.glue import GlueCatalog as _GlueCatalog

from glacierbase.executors.pyiceberg.guard import Guarded
from glacierbase.executors.pyiceberg.metadata import REFUSED


class GlueCatalog(Guarded, _GlueCatalog):  # type: ignore[misc]
    """A catalog whose properties all come from the catalog file."""

    def _convert_glue_to_iceberg(self, glue_table: Any) -> Any:
        try:
            return super()._convert_glue_to_iceberg(glue_table)
        except REFUSED:
            identifier = (glue_table["DatabaseName"], glue_table["Name"])
            return self.kept_table(identifier, glue_table["Parameters"][METADATA_LOCATION])

    def _get_glue_table(self, *arguments: Any, **named: Any) -> Any:
        """Note the account and the region that answer. A profile of AWS or the environment may choose them."""
        answer = super()._get_glue_table(*arguments, **named)
        self.server = f"{answer.get('CatalogId', '')} {self.glue.meta.region_name}"
        return answer
