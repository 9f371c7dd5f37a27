"""The transforms of partition and sort fields, with the columns that they read."""

from __future__ import annotations

from typing import Any, TypeAlias

from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)

from glacierbase.executors.direct.ddl.commit import illegal, invalid
from glacierbase.sql import statement as sql

Bound: TypeAlias = tuple[int, Transform[Any, Any]]
_WITHOUT_WIDTH: dict[str, Transform[Any, Any]] = {
    "": IdentityTransform(),
    "identity": IdentityTransform(),
    "year": YearTransform(),
    "month": MonthTransform(),
    "day": DayTransform(),
    "hour": HourTransform(),
}


def bound(schema: Schema, clause: sql.Transform, *, case_sensitive: bool) -> Bound:
    """Return the id of the column that a transform reads, and the transform.

    Raises:
        StatementRefused: there is no such column, or the transform does not accept its values.
    """
    transform = _transform(clause)
    [name] = clause.columns
    field_id = field_named(schema, name, case_sensitive=case_sensitive)
    if field_id is None:
        raise invalid(f"Cannot find field '{name}' in {schema.as_struct()}")
    type_ = schema.find_type(field_id)
    if not isinstance(transform, IdentityTransform) and not transform.can_transform(type_):
        raise invalid(f"Cannot bind: {transform} cannot transform {type_} values from '{name}'")
    return field_id, transform


def field_named(schema: Schema, name: str, *, case_sensitive: bool = True) -> int | None:
    """Return the id of a field by its path with dots; None if there is none."""
    try:
        return int(schema.find_field(name, case_sensitive).field_id)
    except ValueError:
        return None


def _transform(clause: sql.Transform) -> Transform[Any, Any]:
    function = sql.ICEBERG_TRANSFORMS.get(clause.function, clause.function)
    if function in _WITHOUT_WIDTH:
        return _WITHOUT_WIDTH[function]
    [width] = clause.widths
    if int(width) == 0:
        raise illegal(f"Unsupported width for transform: {clause.text}")
    return BucketTransform(int(width)) if function == "bucket" else TruncateTransform(int(width))
