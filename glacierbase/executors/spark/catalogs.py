"""Close the catalogs of a session: each new session loads its own, and Spark closes none of them.

Tested on Spark 4.1 with Iceberg 1.12. Where another version stores its catalogs elsewhere, nothing is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any


def close_catalogs(spark: Any) -> None:
    """Close the Iceberg catalogs that a classic session has loaded, and their connections. Never raises.

    Args:
        spark: a session that `newSession()` made, and so shares its catalogs with no other. It cannot use them afterwards.
    """
    with suppress(Exception):  # Private in another version, or the JVM has ended.
        for catalog in _loaded(spark):
            with suppress(Exception):  # Not a catalog of Iceberg, or one without `close`.
                _without_cache(catalog.icebergCatalog()).close()


def share_catalogs(spark: Any, other: Any, names: Iterable[str]) -> None:
    """Let a session use the catalogs of another one, with all that is in their memory."""
    manager = spark._jsparkSession.sessionState().catalogManager()
    catalogs = _field(other._jsparkSession.sessionState().catalogManager(), "catalogs")
    for name in names:
        catalogs.put(name, manager.catalog(name))


def _loaded(spark: Any) -> Iterator[Any]:
    """Yield the catalogs that a statement has used. The methods of the catalog manager would load the others."""
    found = _field(spark._jsparkSession.sessionState().catalogManager(), "catalogs").valuesIterator()
    while found.hasNext():
        yield found.next()


def _without_cache(catalog: Any) -> Any:
    """Return the catalog that a CachingCatalog wraps; a CachingCatalog has no `close`."""
    while catalog.getClass().getName() == "org.apache.iceberg.CachingCatalog":
        catalog = _field(catalog, "catalog")
    return catalog


def _field(instance: Any, name: str) -> Any:
    field = instance.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(instance)
