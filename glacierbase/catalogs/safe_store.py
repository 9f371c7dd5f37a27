"""Which catalogs of Spark cannot hold a lock, and what to write where a catalog file names no other."""

from __future__ import annotations

from collections.abc import Mapping

from glacierbase.catalogs.declared_catalogs import HADOOP
from glacierbase.formats import FORMATS, ICEBERG

# Values of `store.type`, and the names of these catalogs in messages.
EMBEDDED = "embedded"
DYNAMODB = "dynamodb"
# The types of stores that are in a catalog of the engine.
IN_CATALOG = ("auto", "iceberg", "sql")
SHARED_STORE = (
    "for several machines declare an Iceberg catalog in sparkConf, of type rest, glue, hive, or jdbc on PostgreSQL or MySQL, "
    "and write `store: {catalog: NAME}`"
)
_BY_CLASS = {known.catalogs[0]: known for known in FORMATS.values()}
CHOICES = f"for one machine write `store: {{type: {EMBEDDED}}}`; on AWS `store: {{type: {DYNAMODB}, table: NAME}}`; {SHARED_STORE}"


def renaming_kind(conf: Mapping[str, str], name: str) -> str | None:
    """Return the kind of a catalog that commits by renaming a file; None for any other."""
    key = f"spark.sql.catalog.{name}"
    implementation = conf.get(key, "")
    if (known := _BY_CLASS.get(implementation)) and known.renames:
        return known.renames
    named = conf.get(f"{key}.catalog-impl") or conf.get(f"{key}.type", "")
    is_hadoop = named == HADOOP or named.lower() == "hadoop"
    return "an Iceberg Hadoop catalog" if implementation.startswith(ICEBERG.package) and is_hadoop else None


def why_unsafe(conf: Mapping[str, str], name: str, *, is_chosen: bool) -> str | None:
    """Return why history and lock cannot be in a catalog; None where they can.

    Args:
        is_chosen: whether `store.catalog` names it. Then one that commits by renaming, which is almost safe, is only warned of.
    """
    known = _BY_CLASS.get(conf.get(f"spark.sql.catalog.{name}", ""))
    if known and known.unsafe:
        return known.unsafe
    kind = None if is_chosen else renaming_kind(conf, name)
    return f"{kind}, which commits by renaming a file" if kind else None
