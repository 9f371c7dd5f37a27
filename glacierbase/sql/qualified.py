"""The whole names of tables. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, name_parts
from glacierbase.sql.dialects import dialect_of

DEFAULT_CATALOG = "spark_catalog"


def qualified(catalog: Catalog, table: str) -> str:
    """Return the name of a table with its catalog in Spark, as a new session resolves it; unchanged in other dialects.

    Args:
        table: its name as the history records names.
    """
    parts, conf = name_parts(table), catalog.spark_conf
    if not dialect_of(catalog.dialect).names_follow_conf or not parts or is_path(parts):
        return table
    if len(parts) > 1 and is_catalog(catalog, parts[0]):
        return name_of(parts)
    default = conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG)
    if len(parts) == 1 and default == DEFAULT_CATALOG:
        parts = ["default", *parts]
    return name_of((default, *parts))


def is_catalog(catalog: Catalog, name: str) -> bool:
    """Return whether Spark has a catalog of this name."""
    return f"spark.sql.catalog.{name}" in catalog.spark_conf or name == DEFAULT_CATALOG


def is_path(parts: Sequence[str]) -> bool:
    """Return whether the parts of a name are a format and the path of a table: delta.`/data/t`."""
    return len(parts) == 2 and "/" in parts[1]
