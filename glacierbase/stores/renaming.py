"""Catalogs that commit by renaming a file: history and lock should be in another one."""

from __future__ import annotations

from glacierbase.model.catalog import Catalog

_ICEBERG = "org.apache.iceberg.spark."
_HADOOP = "org.apache.iceberg.hadoop.HadoopCatalog"
_DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def renaming_warnings(catalog: Catalog) -> tuple[str, ...]:
    """Return a warning where the catalog of history and lock commits by looking whether a file exists, then renaming one.

    Between the two, on file systems that replace an existing file, another run can commit as well.
    """
    kind = _renaming(catalog)
    if kind is None:
        return ()
    return (
        f"history and lock are in {catalog.store.catalog}, {kind}, which commits by renaming a file: two runs that start"
        " within milliseconds could both acquire the lock; name another Iceberg catalog, of type rest, glue, hive or jdbc,"
        f" with `store: {{catalog: NAME}}` in catalogs/{catalog.file.name}",
    )


def _renaming(catalog: Catalog) -> str | None:
    """Return what kind of catalog commits by renaming, or None where the store's does not."""
    key = f"spark.sql.catalog.{catalog.store.catalog}"
    implementation = catalog.spark_conf.get(key, "")
    if implementation == _DELTA:
        return "Delta's catalog of files"
    named = catalog.spark_conf.get(f"{key}.catalog-impl") or catalog.spark_conf.get(f"{key}.type", "")
    if implementation.startswith(_ICEBERG) and (named == _HADOOP or named.lower() == "hadoop"):
        return "an Iceberg Hadoop catalog"
    return None
