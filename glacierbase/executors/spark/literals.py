"""Values and names written into SQL of our own. Spark's parameters would do, were it not for extensions whose parser loses
them: Delta's (4.4.0 on Spark 4.1) refuses every `?` as unbound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from glacierbase.model.names import name_parts, spark_identifier

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Value = str | int | datetime | None


def bound(sql: str, parameters: Sequence[Value]) -> str:
    """`sql` with each `?` as the literal of its parameter."""
    parts = sql.split("?")
    literals = [*map(_literal, parameters), ""]
    return "".join(part + literal for part, literal in zip(parts, literals, strict=True))


def quoted_name(name: str) -> str:
    """Return a table's name, as the history keeps it, as an identifier: each part in backticks."""
    return ".".join(map(spark_identifier, name_parts(name)))


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):  # As a number: no client's time zone comes into it.
        return f"timestamp_micros({(value - _EPOCH) // timedelta(microseconds=1)})"
    if isinstance(value, int):
        return str(value)
    # Bytes in hexadecimal mean the same whatever the session says of escapes, quotes and `${…}`.
    return f"CAST(X'{value.encode().hex()}' AS STRING)"
