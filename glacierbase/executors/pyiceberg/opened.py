"""A catalog of PyIceberg, opened with the settings of the catalog file."""

from __future__ import annotations

import sys
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from glacierbase.errors import ConfigurationError
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.properties import PyIcebergSettings
from glacierbase.run.installed import pip_install

# By the kind of a catalog, which is also the name of its module.
_CLASSES = {"rest": "RestCatalog", "glue": "GlueCatalog", "hive": "HiveCatalog", "sql": "SqlCatalog"}
# The extras that install packages which PyIceberg does not require itself.
_EXTRAS = {"boto3": "glue", "thrift": "hive", "psycopg2": "postgres", "google": "gcs", "azure": "azure"}
# Open catalogs, by their settings: another connection has the same token, answer of the server, and kept files.
_OPENED: WeakValueDictionary[Any, Any] = WeakValueDictionary()
# A seventh of the time in which PyIceberg is imported: a reader of its own configuration file, and one of filters that are text.
_DEFERRED = ("strictyaml", "pyiceberg.expressions.parser")
# The limit of the waits of one request to a busy server: a third of the default lease, the time from one renewal to the next.
WAIT_SECONDS = 20.0


def open_catalog(opening: PyIcebergSettings, wait_seconds: float = WAIT_SECONDS) -> Any:
    """Open a catalog, or another connection to one that is open. The caller closes it.

    Args:
        wait_seconds: the limit of the waits of one request to a busy server, of a REST catalog or a store of files.

    Raises:
        ConfigurationError: a package that it requires is not installed.
        EngineError: the login failed, or the server did not answer.
    """
    module = opening.kind
    key = module, opening.name, frozenset(opening.properties.items())
    with mapped():
        try:
            if (first := _OPENED.get(key)) is not None and not first.is_closed:
                return first.another(opening.properties, wait_seconds)
            _defer()
            catalog_class = getattr(import_module(f"{__package__}.{module}"), _CLASSES[module])
            waits = {"wait_seconds": wait_seconds} if module == "rest" else {}
            catalog = catalog_class(opening.name, **waits, **opening.properties)
        except ImportError as error:
            raise not_installed(error) from error
    catalog.wait_seconds = wait_seconds
    _OPENED[key] = catalog
    return catalog


class _Deferred(ModuleType):
    """A module that is imported when an attribute of it is first used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def _defer() -> None:
    """Let PyIceberg's import of modules that few commands use be the import of nothing."""
    for name in _DEFERRED:
        if name not in sys.modules and (spec := find_spec(name)):
            sys.modules[name] = module = _Deferred(name)
            module.__spec__ = spec


def file_access(opening: PyIcebergSettings, table: tuple[str, ...]) -> str:
    """Return through what the files of a catalog are read and written, and why.

    Args:
        table: a table of a REST catalog, whose server says with each table how its files are reached.
    """
    from pyiceberg.exceptions import NoSuchTableError

    with closing(open_catalog(opening)) as catalog, mapped():
        if opening.kind != "rest":
            location = opening.properties["warehouse"]
            return str(catalog._load_file_io(location=location).way(location))
        try:
            loaded = catalog.load_table(table)
        except NoSuchTableError:
            return "as the catalog's server says with each table"
        return str(loaded.io.way(loaded.location()))


def not_installed(error: ImportError) -> ConfigurationError:
    """Return the error for a package that is not installed."""
    # PyIceberg raises some of them without a name from those that have it.
    name = error.name or getattr(error.__cause__, "name", None) or "pyiceberg"
    missing = name.partition(".")[0]
    return ConfigurationError(
        "PYICEBERG_NOT_INSTALLED",
        f"{missing} is not installed in this Python",
        pip_install(_EXTRAS.get(missing, "iceberg")),
    )
