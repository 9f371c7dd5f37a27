"""The changes that create a table of Delta, and those between two of its shapes.

https://docs.delta.io/latest/delta-batch.html#update-table-schema
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from glacierbase.declared.between_columns import ColumnChanges, new_table, other_table
from glacierbase.declared.change_sql import clause_of
from glacierbase.declared.widening import is_lengthening, is_widening_of_delta
from glacierbase.formats.delta import CLUSTERED, CONSTRAINT, DELTA, NOT_ALTERED, NOT_CREATED, clustering_of
from glacierbase.model.changes import (
    Change,
    ClusteringSet,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    DefaultSet,
    PropertiesSet,
    PropertiesUnset,
    TableCreated,
    Unknown,
)
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Column, Shape

_FEATURE = "delta.feature."
_MAPPING, _WIDENING = "delta.columnMapping.mode", "delta.enableTypeWidening"


def creation(shape: Shape) -> Iterator[Change]:
    kept = (key for key in shape.properties if key in ("comment", CLUSTERED) or _is_listed(key))
    listed = {key: shape.properties[key] for key in kept}
    yield TableCreated(new_table(replace(shape, format_version=None, properties=listed)))
    for column in shape.columns:
        if column.default is not None:
            yield DefaultSet(tuple(name_parts(column.name)), column.default)
    yield from (ConstraintAdded(name, condition) for name, condition in _constraints(shape).items())


def _is_listed(key: str) -> bool:
    """Return whether CREATE TABLE lists a property."""
    return key not in NOT_CREATED and not key.startswith(CONSTRAINT)


def alteration(before: Shape, after: Shape) -> Iterator[Change]:
    old, new, unclear = _comparable(before, after)
    if unclear:
        yield Unknown(unclear)
        return
    widens = is_widening_of_delta if _is_on(_WIDENING, before, after) else is_lengthening
    columns = ColumnChanges(old, new, DELTA.name, widens)
    is_mapped = _is_on(_MAPPING, before, after)
    if settings := tuple(_settings(before, after)):
        yield PropertiesSet(settings)
    constraints, wanted = _constraints(before), _constraints(after)
    yield from (ConstraintDropped(name) for name in constraints if constraints[name] != wanted.get(name))
    for change in columns.changes:
        if is_mapped or not isinstance(change, ColumnDropped | ColumnRenamed):
            yield change
        else:
            yield Unknown(f"{clause_of(change)}, which needs the property {_MAPPING} = name")
    if after.properties.get(CLUSTERED, "[]") != before.properties.get(CLUSTERED, "[]"):
        yield ClusteringSet(tuple(clustering_of(after.properties.get(CLUSTERED, ""))))
    for name, condition in wanted.items():
        if constraints.get(name) != condition:
            yield ConstraintAdded(name, condition)
    lost = [key for key in before.properties if key not in after.properties and not NOT_ALTERED.fullmatch(key)]
    if kept := tuple(key for key in lost if not key.startswith(_FEATURE) and key != _MAPPING):
        yield PropertiesUnset(kept)
    comments = [shape.properties.get("comment") or "" for shape in (before, after)]
    if comments[0] != comments[1]:
        yield PropertiesSet((("comment", comments[1]),))
    yield from map(Unknown, (*columns.impossible, *_impossible(before, after)))


def _comparable(before: Shape, after: Shape) -> tuple[Sequence[Column], Sequence[Column], str]:
    """Return the columns of both shapes with ids that can be compared, and why they cannot."""
    tops = [[column for column in shape.columns if len(name_parts(column.name)) == 1] for shape in (before, after)]
    if all(column.id is not None for columns in tops for column in columns):
        numbers: dict[tuple[int | None, str], int] = {}
        return _with_ids(before.columns, numbers), _with_ids(after.columns, numbers), ""
    old, new = ([replace(column, id=None) for column in shape.columns] for shape in (before, after))
    names = [{column.name for column in columns} for columns in (old, new)]
    had_ids = any(column.id is not None for columns in tops for column in columns)
    if had_ids and names[0] - names[1] and names[1] - names[0]:
        why = "was read once without the ids of its columns: a renamed column cannot be told from a dropped one"
        return old, new, f"{before.table} {why}"
    return old, new, ""


def _with_ids(columns: Iterable[Column], numbers: dict[tuple[int | None, str], int]) -> list[Column]:
    """Return columns with ids for the elements of arrays and maps, which have none in Delta.

    Args:
        numbers: the ids, by the id of the column around and the name.
    """
    ids: dict[tuple[str, ...], int] = {}
    made = []
    for column in columns:
        *above, name = name_parts(column.name)
        key = (ids.get(tuple(above)), name)
        number = column.id if column.id is not None else numbers.setdefault(key, -1 - len(numbers))
        ids[(*above, name)] = number
        made.append(replace(column, id=number))
    return made


def _is_on(key: str, *shapes: Shape) -> bool:
    """Return whether a property is set before the columns change."""
    return any(shape.properties.get(key, "none") not in ("none", "false") for shape in shapes)


def _settings(before: Shape, after: Shape) -> Iterator[tuple[str, str]]:
    """Yield the properties to set; they are set first, because changes of columns need some of them."""
    for key, value in after.properties.items():
        if before.properties.get(key) != value and not NOT_ALTERED.fullmatch(key):
            yield key, value


def _constraints(shape: Shape) -> Mapping[str, str]:
    return {
        key.removeprefix(CONSTRAINT): value for key, value in shape.properties.items() if key.startswith(CONSTRAINT)
    }


def _impossible(before: Shape, after: Shape) -> Iterator[str]:
    yield from other_table(before, after)
    if [field.source for field in before.partitioning] != [field.source for field in after.partitioning]:
        yield "the partitioning of a Delta table cannot change"
    for key in before.properties:
        if key in after.properties:
            continue
        if key.startswith(_FEATURE):
            yield f"the table feature {key.removeprefix(_FEATURE)} stays; DROP FEATURE is written by hand"
        elif key == _MAPPING:
            yield "column mapping stays: without it, the table is rewritten"
