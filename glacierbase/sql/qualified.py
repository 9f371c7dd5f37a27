"""The qualified names of tables. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from glacierbase.model.catalog import Catalog
from glacierbase.model.names import completed_like, name_of, name_parts
from glacierbase.sql.dialects import dialect_of

DEFAULT_CATALOG = "spark_catalog"
# The key of `sparkConf` that declares a catalog.
DECLARED = re.compile(r"spark\.sql\.catalog\.([^.]+)")


def qualified(catalog: Catalog, table: str) -> str:
    """Return the name of a table with its catalog in Spark, as a new session resolves it; unchanged in other dialects.

    A path has one name, however its format and its end are written.

    Args:
        table: its name as the history records names.
    """
    parts, conf = name_parts(table), catalog.spark_conf
    if not dialect_of(catalog.dialect).names_follow_conf or not parts:
        return table
    if is_path(parts):
        return name_of((parts[0].lower(), parts[1].rstrip("/") or "/"))
    if len(parts) > 1 and is_catalog(catalog, parts[0]):
        return name_of(parts)
    default = conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG)
    if default == DEFAULT_CATALOG and len(parts) > 2:
        return name_of(
            parts
        )  # It has namespaces of one level: the first part is a catalog of the session or of the server.
    if default == DEFAULT_CATALOG and len(parts) == 1:
        parts = ["default", *parts]
    return name_of((default, *parts))


def qualified_namespace(catalog: Catalog, namespace: str) -> str:
    """Return the name of a namespace with its catalog in Spark, as a new session resolves it.

    Args:
        namespace: its name as the history records names.
    """
    parts = name_parts(namespace)
    return name_of(parts if is_catalog(catalog, parts[0]) else (beginning(catalog)[0], *parts))


def whole_name(catalog: Catalog, table: str) -> str:
    """Return the name of a table as a new session completes it: outside of Spark, with database and schema of the connection."""
    name = qualified(catalog, table)
    return name if dialect_of(catalog.dialect).names_follow_conf else completed_like(name, beginning(catalog))


def beginning(catalog: Catalog) -> tuple[str, str, str]:
    """Return the first parts of a qualified name, which a shorter name lacks, and an empty last part."""
    conf, connection = catalog.spark_conf, catalog.connection
    if dialect_of(catalog.dialect).names_follow_conf:
        return conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG), "default", ""
    database, schema = connection.get("database") or catalog.store.catalog, connection.get("schema") or "PUBLIC"
    return str(database), str(schema), ""


def name_key(catalog: Catalog, table: str) -> tuple[str, ...]:
    """Return what two names of one table have in common: the parts of the qualified name, in lower case."""
    return tuple(part.casefold() for part in name_parts(whole_name(catalog, table)))


def why_unmanaged(catalog: Catalog, table: str) -> str | None:
    """Return why the catalog file leaves a table to others; None for one that migrations manage."""
    return catalog.management.why_unmanaged(whole_name(catalog, table))


def place_of(catalog: Catalog, table: str) -> tuple[str, str] | None:
    """Return the catalog (of Snowflake, the database) and the namespace of a table; None for a path.

    Args:
        table: its qualified name.
    """
    if is_path(name_parts(table)):
        return None
    parts = name_parts(whole_name(catalog, table))
    return (parts[0], ".".join(parts[1:-1])) if len(parts) > 2 else None


def first_namespace(catalog: Catalog, name: str) -> str:
    """Return the namespace that is the current one when a catalog of Spark becomes the current one."""
    given = catalog.spark_conf.get(f"spark.sql.catalog.{name}.default-namespace", "")
    return "default" if name == DEFAULT_CATALOG else given


def is_catalog(catalog: Catalog, name: str) -> bool:
    """Return whether Spark has a catalog of this name."""
    return f"spark.sql.catalog.{name}" in catalog.spark_conf or name == DEFAULT_CATALOG


def is_path(parts: Sequence[str]) -> bool:
    """Return whether the parts of a name are a format and the path of a table: delta.`/data/t`."""
    return len(parts) == 2 and "/" in parts[1]
