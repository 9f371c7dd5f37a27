"""The files of a history that the catalog on this machine does not know: its database is gone, empty or another one."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from glacierbase.errors import ConfigurationError
from glacierbase.model.catalog import Catalog
from glacierbase.stores.iceberg.properties import opening
from glacierbase.stores.tables import history_name


def left_behind(catalog: Catalog) -> Path | None:
    """Return the folder of the catalog's history table, where the catalog is a file on this machine; None without events.

    Call it for a catalog that has no such table, or an empty one. A run that ended while it created the tables leaves metadata, and
    no events.
    """
    try:
        found = opening(catalog)
    except ConfigurationError:
        return None
    place = urlsplit(found.properties["warehouse"]) if found.file else None
    if place is None or place.scheme not in ("", "file"):
        return None
    folder = Path(unquote(place.path)) / catalog.store.namespace / history_name(catalog.name)
    return folder if any(folder.glob("data/**/*.parquet")) else None
