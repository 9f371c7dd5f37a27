"""What a catalog file shows of the formats of its tables: their versions, and the properties of new tables."""

from __future__ import annotations

import re

from glacierbase.formats import FORMATS
from glacierbase.model.catalog import Catalog
from glacierbase.sql.qualified import DECLARED, DEFAULT_CATALOG

_JARS = {known.name: re.compile(rf"[^:]+:{known.jar}[^:]*:(?P<version>[0-9][^:]*)") for known in FORMATS.values()}
_DEFAULTS = {known.defaults_prefix: re.compile(known.defaults) for known in FORMATS.values() if known.defaults}


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
    return {
        prefix + match["key"]: value
        for key, value in catalog.spark_conf.items()
        for prefix, pattern in _DEFAULTS.items()
        if (match := pattern.fullmatch(key)) and (of is None or match.groupdict().get("catalog") in (None, of))
    }


def _format(implementation: str) -> str:
    words = implementation.lower()
    return next((name for name, known in FORMATS.items() if any(word in words for word in known.words)), "")
