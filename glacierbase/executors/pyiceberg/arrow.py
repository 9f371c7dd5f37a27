"""The columns of an Arrow or Parquet file, as Iceberg would have them."""

from __future__ import annotations

from pathlib import Path

from glacierbase.errors import StatementRefused
from glacierbase.executors.pyiceberg.opened import not_installed
from glacierbase.executors.pyiceberg.shape import columns_of
from glacierbase.model.shape import Column


def columns_of_file(path: Path) -> tuple[Column, ...]:
    """Return the columns by the schema of a file, without ids. No row is read.

    Raises:
        ConfigurationError: `PYICEBERG_NOT_INSTALLED`.
        StatementRefused: the file is damaged, or has a type that Iceberg lacks.
        OSError: it cannot be read.
    """
    try:
        from pyarrow import ArrowInvalid, ipc, parquet
        from pyiceberg.catalog import Catalog
    except ImportError as error:
        raise not_installed(error) from error
    try:
        with path.open("rb") as file:
            is_parquet = path.suffix.lower() == ".parquet"
            schema = parquet.read_schema(file) if is_parquet else ipc.open_file(file).schema
        return columns_of(Catalog._convert_schema_if_needed(schema))
    except (ArrowInvalid, TypeError, ValueError) as error:
        raise StatementRefused(type(error).__name__, str(error).partition("\n")[0]) from error
