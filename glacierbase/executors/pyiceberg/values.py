"""The values of one column of a table, file after file, through PyIceberg."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from glacierbase.errors import ConfigurationError

_UUID_BYTES = "fixed_size_binary[16]"


def texts(array: Any, column: str) -> Sequence[str | None]:
    """Return the values of an Arrow array as text: a number in digits, a UUID with its dashes.

    Args:
        column: its name, for the message.

    Raises:
        ConfigurationError: `NOT_IDS`: lists, structs, maps, and bytes that are not UTF-8.
    """
    array = getattr(array, "storage", array)
    if str(array.type) == _UUID_BYTES:
        return [None if value is None else str(UUID(bytes=value)) for value in array.to_pylist()]
    try:
        values: Sequence[str | None] = array.cast("string").to_pylist()
    except (ValueError, NotImplementedError) as error:
        raise not_ids(f"the column {column} is of type {array.type}: its values are no text and no numbers") from error
    return values


def not_ids(why: str) -> ConfigurationError:
    """Return the error for a column whose values cannot be a part of a key."""
    return ConfigurationError("NOT_IDS", why, "name a column of numbers or short texts with --column")


def values_of(table: Any, column: str, most: int) -> Iterator[Sequence[str | None]]:
    """Return the first values of a column of a table that PyIceberg has just loaded, in batches.

    One file after the other is read: a scan of PyIceberg begins all files at the same time.

    Raises:
        ConfigurationError: `STORE_NOT_ICEBERG`: the table has deletes that PyIceberg does not apply. The iterator raises `NOT_IDS`.
    """
    scan = table.scan(selected_fields=(column,))
    try:
        files = list(scan.plan_files())
    except (NotImplementedError, ValueError) as error:
        what = f"PyIceberg cannot read {'.'.join(table.name())}: {error}"
        raise ConfigurationError("STORE_NOT_ICEBERG", what, "read the table through the catalog's engine") from error
    return _values(table, scan.projection(), files, column, most)


def _values(table: Any, schema: Any, files: Sequence[Any], column: str, most: int) -> Iterator[Sequence[str | None]]:
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    for file in files:
        reader = ArrowScan(table.metadata, table.io, schema, AlwaysTrue(), limit=most)
        for batch in reader.to_record_batches([file]):
            most -= len(batch)
            yield texts(batch.column(0), column)
        if most <= 0:
            return
