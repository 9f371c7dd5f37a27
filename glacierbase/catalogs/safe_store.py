"""Which catalogs of Spark cannot hold a lock, and what to write where a catalog file names no other."""

from __future__ import annotations

from collections.abc import Mapping

from glacierbase.catalogs.declared_catalogs import DELTA, HADOOP, HUDI

# Values of `store.type`, and the names of these catalogs in messages.
EMBEDDED = "embedded"
DYNAMODB = "dynamodb"
# The types of stores that are in a catalog of the engine.
IN_CATALOG = ("auto", "iceberg", "sql")
SHARED_STORE = (
    "for several machines declare an Iceberg catalog in sparkConf, of type rest, glue, hive, or jdbc on PostgreSQL or MySQL, "
    "and write `store: {catalog: NAME}`"
)
CHOICES = f"for one machine write `store: {{type: {EMBEDDED}}}`; on AWS `store: {{type: {DYNAMODB}, table: NAME}}`; {SHARED_STORE}"


def renaming_kind(conf: Mapping[str, str], name: str) -> str | None:
    """Return the kind of a catalog that commits by renaming a file; None for any other."""
    key = f"spark.sql.catalog.{name}"
    implementation = conf.get(key, "")
    if implementation == DELTA:
        return "Delta's catalog of files"
    named = conf.get(f"{key}.catalog-impl") or conf.get(f"{key}.type", "")
    is_hadoop = named == HADOOP or named.lower() == "hadoop"
    return "an Iceberg Hadoop catalog" if implementation.startswith("org.apache.iceberg.spark.") and is_hadoop else None


def why_unsafe(conf: Mapping[str, str], name: str, *, is_chosen: bool) -> str | None:
    """Return why history and lock cannot be in a catalog; None where they can.

    Args:
        is_chosen: whether `store.catalog` names it. Then one that commits by renaming, which is almost safe, is only warned of.
    """
    if conf.get(f"spark.sql.catalog.{name}") == HUDI:
        return "Hudi's catalog, in which two updates of a row can both succeed"
    kind = None if is_chosen else renaming_kind(conf, name)
    return f"{kind}, which commits by renaming a file" if kind else None
