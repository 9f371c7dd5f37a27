"""What a catalog file shows of the formats of its tables: their versions, and the properties of new tables."""

from __future__ import annotations

import re

from glacierbase.model.catalog import Catalog
from glacierbase.sql.qualified import DECLARED, DEFAULT_CATALOG

_JARS = {
    name: re.compile(rf"[^:]+:{part}[^:]*:(?P<version>[0-9][^:]*)")
    for name, part in (("iceberg", "iceberg-spark-runtime"), ("delta", "delta-spark"), ("hudi", "hudi-spark"))
}
_DEFAULT = re.compile(
    r"spark\.databricks\.delta\.properties\.defaults\.(?P<delta>.+)"
    r"|spark\.sql\.catalog\.(?P<catalog>[^.]+)\.table-(?:default|override)\.(?P<iceberg>.+)"
)
# Parts of class names that identify the format of a catalog's tables.
_FORMATS = {"iceberg": "iceberg", "delta": "delta", "hudi": "hudi", "hoodie": "hudi"}


def formats(catalog: Catalog) -> dict[str, str]:
    """Return the format of the tables in each Spark catalog; empty if its class implies none."""
    declared = ((match[1], value) for key, value in catalog.spark_conf.items() if (match := DECLARED.fullmatch(key)))
    return {name: _format(value) for name, value in declared}


def default_catalog(catalog: Catalog) -> str:
    """Return the default catalog of Spark."""
    return catalog.spark_conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG)


def versions(catalog: Catalog) -> dict[str, str]:
    """Return the versions of the formats whose jars the catalog file names."""
    pairs = (
        (name, pattern.fullmatch(dependency)) for dependency in catalog.dependencies for name, pattern in _JARS.items()
    )
    return {name: match["version"] for name, match in pairs if match}


def defaults(catalog: Catalog, of: str | None = None) -> dict[str, str]:
    """Return the properties that the engine gives to new tables.

    Args:
        of: the Spark catalog of the tables; None for any one.
    """
    pairs = ((_DEFAULT.fullmatch(key), value) for key, value in catalog.spark_conf.items())
    return {
        f"delta.{match['delta']}" if match["delta"] else match["iceberg"]: value
        for match, value in pairs
        if match and (of is None or match["catalog"] in (None, of))
    }


def _format(implementation: str) -> str:
    return next((name for part, name in _FORMATS.items() if part in implementation.lower()), "")
