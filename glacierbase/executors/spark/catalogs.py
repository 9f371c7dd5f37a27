"""Closing what a session's catalogs hold open: each new session makes its own, and Spark closes none of them.

Run on Spark 4.1 with Iceberg 1.12; where another version keeps its catalogs elsewhere, nothing is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any


def close_catalogs(spark: Any) -> None:
    """Close the Iceberg catalogs that a classic session has loaded, with their connections. Never raises, loads none.

    Args:
        spark: a session that `newSession()` made: it shares its catalogs with no other. It can use them no more.
    """
    with suppress(Exception):  # What is private in another version, or a JVM that is gone.
        for catalog in _loaded(spark):
            with suppress(Exception):  # Not Iceberg's, or nothing that can be closed.
                _behind_cache(catalog.icebergCatalog()).close()


def _loaded(spark: Any) -> Iterator[Any]:
    """Those that a statement has used: the manager's own methods would load the others."""
    found = _field(spark._jsparkSession.sessionState().catalogManager(), "catalogs").valuesIterator()
    while found.hasNext():
        yield found.next()


def _behind_cache(catalog: Any) -> Any:
    """The catalog itself, where one with a cache stands before it, which has no `close`."""
    while catalog.getClass().getName() == "org.apache.iceberg.CachingCatalog":
        catalog = _field(catalog, "catalog")
    return catalog


def _field(thing: Any, name: str) -> Any:
    field = thing.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(thing)
