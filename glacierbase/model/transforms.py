"""Iceberg's partition transforms: names, functions of Spark, types of columns, and the names that Iceberg gives to fields.

https://iceberg.apache.org/spec/#partition-transforms, https://iceberg.apache.org/docs/latest/spark-ddl/#partitioned-by
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WITH_WIDTH = re.compile(r"(\w+)\[([^\[\]]+)\]")
_TIMES = frozenset({"timestamp", "timestamp_ntz"})
_DATES = _TIMES | {"date"}
_VALUES = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "string", "char", "varchar", "binary"})


@dataclass(frozen=True, slots=True)
class IcebergTransform:
    """A transform for which Spark has a function.

    Attributes:
        name: in Iceberg's metadata.
        functions: Spark's names of it; glacierbase writes the first one. Empty for a column without a function.
        appended: what follows the column in the name that Iceberg gives to a field.
        accepts: the types of Spark that its column may have, as `sql.types` spells them; None for every type without fields.
    """

    name: str
    functions: tuple[str, ...]
    appended: str
    accepts: frozenset[str] | None = None
    has_width: bool = False
    is_time: bool = False


def _of_time(name: str, *others: str, accepts: frozenset[str] = _DATES) -> IcebergTransform:
    return IcebergTransform(name, (f"{name}s", name, *others), f"_{name}", accepts, is_time=True)


IDENTITY = IcebergTransform("identity", ("", "identity"), "")
# By the name in Iceberg's metadata.
TRANSFORMS = {
    transform.name: transform
    for transform in (
        IDENTITY,
        IcebergTransform("bucket", ("bucket",), "_bucket", _VALUES | _DATES, has_width=True),
        IcebergTransform("truncate", ("truncate",), "_trunc", _VALUES, has_width=True),
        _of_time("year"),
        _of_time("month"),
        _of_time("day", "date"),
        _of_time("hour", "date_hour", accepts=_TIMES),
    )
}
_BY_FUNCTION = {function: transform for transform in TRANSFORMS.values() for function in transform.functions}


def by_function(function: str) -> IcebergTransform | None:
    """Return the transform of a function of Spark in lower case; None for another function."""
    return _BY_FUNCTION.get(function)


def iceberg_name(function: str) -> str:
    """Return Iceberg's name for a function of Spark; of another function, its own."""
    known = _BY_FUNCTION.get(function)
    return known.name if known else function


def name_and_width(transform: str) -> tuple[str, str]:
    """Return `bucket` and `16` for the transform `bucket[16]`; an empty width for one without."""
    match = _WITH_WIDTH.fullmatch(transform)
    return (match[1], match[2]) if match else (transform, "")


def given_name(source: str, transform: str, *, with_width: bool) -> str:
    """Return the name that Iceberg gives to a partition field: of CREATE TABLE `id_bucket`, of ADD PARTITION FIELD `id_bucket_16`.

    https://github.com/apache/iceberg/blob/main/core/src/main/java/org/apache/iceberg/BaseUpdatePartitionSpec.java

    Args:
        source: the column.
        transform: as Iceberg spells it.
        with_width: whether ADD PARTITION FIELD adds it.
    """
    name, width = name_and_width(transform)
    appended = TRANSFORMS[name].appended if name in TRANSFORMS else f"_{name}"
    return f"{source}{appended}{f'_{width}' if with_width and width else ''}"
