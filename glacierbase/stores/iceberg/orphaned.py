"""The files of a history that the catalog does not list, because its database was deleted, emptied or replaced."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from glacierbase.errors import ConfigurationError
from glacierbase.executors.pyiceberg.properties import store_opening
from glacierbase.model.catalog import Catalog
from glacierbase.stores.origin import COPY
from glacierbase.stores.tables import history_name


def orphaned_history(catalog: Catalog) -> Path | None:
    """Return the folder of the history table of a catalog whose database is a file on this machine; None without events.

    Call this for a catalog that has no history table or an empty one. A run that ended while it created the tables leaves
    metadata but no events.
    """
    try:
        arguments = store_opening(catalog)
    except ConfigurationError:
        return None
    place = urlsplit(arguments.properties["warehouse"]) if arguments.file else None
    if place is None or place.scheme not in ("", "file"):
        return None
    warehouse = catalog.store.folder or Path(unquote(place.path))
    name = history_name(catalog.name)
    folders = (warehouse / catalog.store.namespace).glob(f"{name}*")
    histories = (folder for folder in sorted(folders) if COPY.sub("", folder.name) == name)
    return next((folder for folder in histories if any(folder.glob("data/**/*.parquet"))), None)
