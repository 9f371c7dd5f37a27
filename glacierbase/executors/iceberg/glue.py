"""PyIceberg's Glue catalog, which loads no code that a table names."""

from __future__ import annotations

from pyiceberg.catalog.glue import GlueCatalog as _GlueCatalog

from glacierbase.executors.iceberg.guard import Guarded


class GlueCatalog(Guarded, _GlueCatalog):  # type: ignore[misc]
    """A catalog whose properties all come from the catalog file."""
