"""Which changes of a type Spark passes on to Iceberg.

https://github.com/apache/spark/blob/v4.1.0/sql/api/src/main/scala/org/apache/spark/sql/types/UpCastRule.scala
"""

from __future__ import annotations

from pyiceberg.types import (
    DateType,
    DecimalType,
    FixedType,
    IcebergType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

_NUMBERS = ("int", "long", "float", "double")
# The digits of whole numbers.
_DIGITS = {"int": 10, "long": 20}
_OTHERS = frozenset(
    (str(old), str(new))
    for old, new in (
        (DateType(), TimestamptzType()),
        (DateType(), TimestampType()),
        (TimestampType(), TimestamptzType()),
        (TimestamptzType(), TimestampType()),
        (LongType(), TimestamptzType()),
        (TimestamptzType(), LongType()),
    )
)


def spark_type(type_: IcebergType) -> str:
    """Return what distinguishes a type in Spark, which reads a UUID as a string and a fixed length as binary."""
    if isinstance(type_, UUIDType):
        return "string"
    return "binary" if isinstance(type_, FixedType) else str(type_)


def upcasts(old: IcebergType, new: IcebergType) -> bool:
    """Return whether Spark converts values without loss."""
    before, after = spark_type(old), spark_type(new)
    if before == after or (before, after) in _OTHERS:
        return True
    if isinstance(new, StringType):
        return bool(old.is_primitive)
    if isinstance(new, DecimalType):
        return _is_wider(new, old)
    if isinstance(old, DecimalType):
        return bool(old.scale == 0 and old.precision < _DIGITS.get(after, 0))
    return before in _NUMBERS and after in _NUMBERS and _NUMBERS.index(before) < _NUMBERS.index(after)


def _is_wider(new: DecimalType, old: IcebergType) -> bool:
    if isinstance(old, DecimalType):
        return bool(new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale)
    return bool(new.precision - new.scale >= _DIGITS.get(str(old), 99))
