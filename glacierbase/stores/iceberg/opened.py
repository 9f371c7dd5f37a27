"""A catalog of PyIceberg, opened with the settings of the catalog file."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.stores.iceberg.properties import Opening

# By the kind of a catalog, which is also the name of its module.
_CLASSES = {"rest": "RestCatalog", "glue": "GlueCatalog", "hive": "HiveCatalog", "sql": "SqlCatalog"}
# The extras that install packages which PyIceberg does not require itself.
_EXTRAS = {"boto3": "pyiceberg[glue]", "thrift": "pyiceberg[hive]", "psycopg2": "pyiceberg[sql-postgres]"}


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
        missing = (error.name or "pyiceberg").partition(".")[0]
        raise ConfigurationError(
            "PYICEBERG_NOT_INSTALLED",
            f"{missing} is not installed in this Python",
            f"pip install '{_EXTRAS.get(missing, 'glacierbase[iceberg]')}'",
        ) from error
