"""A catalog of PyIceberg, opened with the settings of the catalog file."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.run.installed import pip_install
from glacierbase.stores.iceberg.properties import Opening

# By the kind of a catalog, which is also the name of its module.
_CLASSES = {"rest": "RestCatalog", "glue": "GlueCatalog", "hive": "HiveCatalog", "sql": "SqlCatalog"}
# The extras that install packages which PyIceberg does not require itself.
_EXTRAS = {"boto3": "glue", "thrift": "hive", "psycopg2": "postgres", "google": "gcs", "azure": "azure"}


def open_catalog(opening: Opening) -> Any:
    """Open a catalog. The caller closes it.

    Raises:
        ConfigurationError: a package that it requires is not installed.
    """
    module = opening.kind
    try:
        catalog_class = getattr(import_module(f"{__package__}.{module}"), _CLASSES[module])
        return catalog_class(opening.name, **opening.properties)
    except ImportError as error:
        raise not_installed(error) from error


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
