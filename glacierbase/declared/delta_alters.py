"""Shapes of Delta tables as Spark SQL: the statements that turn one shape into another, and what they cannot express.

https://docs.delta.io/latest/delta-batch.html#update-table-schema, https://docs.delta.io/latest/delta-type-widening.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from glacierbase.declared.render import ColumnAlters, Written, literal, path, table_name
from glacierbase.formats.delta import CLUSTERED, CONSTRAINT, NOT_ALTERED
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, Shape

_FEATURE = "delta.feature."
_MAPPING, _WIDENING = "delta.columnMapping.mode", "delta.enableTypeWidening"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
# How many digits a decimal has before the point at least, to hold the values of an integer type.
_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def delta_alters(before: Shape, after: Shape) -> Written:
    """Return the statements that give a Delta table of the shape `before` the shape `after`.

    Columns are the same if their ids are; where a table has none, if their names are. The name of the table does not change.
    """
    old, new, unclear = _comparable(before, after)
    if unclear:
        return Written((), (unclear,))
    columns = ColumnAlters(old, new, _widens if _is_on(_WIDENING, before, after) else _lengthens)
    refused = tuple(_refused(columns, before, after))
    table = table_name(before.table)
    settings = _settings(before, after)
    texts = [
        *([f"SET TBLPROPERTIES ({settings})"] if settings else []),
        *_dropped_constraints(before, after),
        *(clause for clause in columns.clauses if clause not in refused),
        *_clustering(before, after),
        *_added_constraints(before, after),
        *_unset(before, after),
    ]
    statements = [f"ALTER TABLE {table} {text}" for text in texts]
    comments = [shape.properties.get("comment") or "" for shape in (before, after)]
    if comments[0] != comments[1]:
        statements.append(f"COMMENT ON TABLE {table} IS {literal(comments[1])}")
    needs = f"which needs the property {_MAPPING} = name"
    impossible = (*columns.impossible, *(f"{clause}, {needs}" for clause in refused), *_impossible(before, after))
    return Written(tuple(statements), impossible)


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


def _lengthens(before: str, after: str) -> bool:
    """Return whether Delta changes a type without type widening: a longer string."""
    lengths = [re.fullmatch(r"varchar\((\d+)\)", kind) for kind in (before, after)]
    is_longer = bool(lengths[0] and lengths[1] and int(lengths[0][1]) < int(lengths[1][1]))
    return is_longer or (lengths[0] is not None and after == "string")


def _widens(before: str, after: str) -> bool:
    """Return whether Delta changes a type where type widening is on."""
    if _lengthens(before, after) or (before, after) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    if old and new:
        scales = int(new[2]) - int(old[2])
        return before != after and 0 <= scales <= int(new[1]) - int(old[1])
    if before not in _INTEGERS:
        return False
    if new:
        return int(new[1]) - int(new[2]) >= _DIGITS[before]
    return after in _INTEGERS[_INTEGERS.index(before) + 1 :] or (after == "double" and before != "bigint")


def _refused(columns: ColumnAlters, before: Shape, after: Shape) -> Iterator[str]:
    """Yield the clauses that Delta refuses without column mapping."""
    if not _is_on(_MAPPING, before, after):
        yield from (clause for clause in columns.clauses if clause.startswith(("DROP COLUMN ", "RENAME COLUMN ")))


def _settings(before: Shape, after: Shape) -> str:
    """Return the properties to set; they are set first, because changes of columns need some of them."""
    old, new = before.properties, after.properties
    pairs = ((key, new[key]) for key in new if old.get(key) != new[key] and not NOT_ALTERED.fullmatch(key))
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in pairs)


def _unset(before: Shape, after: Shape) -> Iterator[str]:
    gone = [key for key in before.properties if key not in after.properties and not NOT_ALTERED.fullmatch(key)]
    if kept := [literal(key) for key in gone if not key.startswith(_FEATURE) and key != _MAPPING]:
        yield f"UNSET TBLPROPERTIES ({', '.join(kept)})"


def _clustering(before: Shape, after: Shape) -> Iterator[str]:
    if after.properties.get(CLUSTERED, "[]") != before.properties.get(CLUSTERED, "[]"):
        columns = json.loads(after.properties.get(CLUSTERED, "[]"))
        yield f"CLUSTER BY ({', '.join(path(name_of(parts)) for parts in columns)})" if columns else "CLUSTER BY NONE"


def _constraints(shape: Shape) -> Mapping[str, str]:
    return {
        key.removeprefix(CONSTRAINT): value for key, value in shape.properties.items() if key.startswith(CONSTRAINT)
    }


def _dropped_constraints(before: Shape, after: Shape) -> Iterator[str]:
    wanted = _constraints(after)
    for name, condition in _constraints(before).items():
        if wanted.get(name) != condition:
            yield f"DROP CONSTRAINT {path(name_of((name,)))}"


def _added_constraints(before: Shape, after: Shape) -> Iterator[str]:
    known = _constraints(before)
    for name, condition in _constraints(after).items():
        if known.get(name) != condition:
            yield f"ADD CONSTRAINT {path(name_of((name,)))} CHECK ({condition})"


def _impossible(before: Shape, after: Shape) -> Iterator[str]:
    if (after.format_version or 0) < (before.format_version or 0):
        yield f"the format version cannot go back from {before.format_version} to {after.format_version}"
    if before.format != after.format:
        yield f"the table cannot change from {before.format} to {after.format}"
    if [field.source for field in before.partitioning] != [field.source for field in after.partitioning]:
        yield "the partitioning of a Delta table cannot change"
    gone = [key for key in before.properties if key not in after.properties]
    for key in gone:
        if key.startswith(_FEATURE):
            yield f"the table feature {key.removeprefix(_FEATURE)} stays; DROP FEATURE is written by hand"
        elif key == _MAPPING:
            yield "column mapping stays: without it, the table is rewritten"
