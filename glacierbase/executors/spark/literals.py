"""Values and names as SQL text, for the history and lock tables.

Spark's own parameters are not used, because some extensions lose them: Delta 4.4.0 on Spark 4.1 refuses every `?` as unbound.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from glacierbase.model.names import name_parts, spark_identifier

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Value = str | int | datetime | None


def bound(sql: str, parameters: Sequence[Value]) -> str:
    """Return `sql` with each `?` replaced by the literal of its parameter."""
    parts = sql.split("?")
    literals = [*map(_literal, parameters), ""]
    return "".join(part + literal for part, literal in zip(parts, literals, strict=True))


def quoted_name(name: str) -> str:
    """Return a table's name, as the history keeps it, as an identifier: each part in backticks."""
    return ".".join(map(spark_identifier, name_parts(name)))


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):  # As a number, which does not depend on the session's time zone.
        return f"timestamp_micros({(value - _EPOCH) // timedelta(microseconds=1)})"
    if isinstance(value, int):
        return str(value)
    # Hexadecimal bytes do not depend on the session's settings for escapes, quotes and `${…}`.
    return f"CAST(X'{value.encode().hex()}' AS STRING)"
