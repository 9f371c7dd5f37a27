"""The transforms of partition and sort fields, with the columns that they read."""

from __future__ import annotations

from typing import Any, TypeAlias

from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, Transform, parse_transform

from glacierbase.executors.direct.ddl.commit import illegal, invalid
from glacierbase.sql import statement as sql

Bound: TypeAlias = tuple[int, Transform[Any, Any]]


def bound(schema: Schema, clause: sql.Transform, *, case_sensitive: bool) -> Bound:
    """Return the id of the column that a transform reads, and the transform.

    Raises:
        StatementRefused: there is no such column, or the transform does not accept its values.
    """
    if "0" in clause.widths:
        raise illegal(f"Unsupported width for transform: {clause.text}")
    transform: Transform[Any, Any] = parse_transform(clause.iceberg)
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
