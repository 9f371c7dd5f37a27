"""Statements that show on the copy whether a view can be read, and whether a table can be read and written."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from glacierbase.declared.render import literal, table_name
from glacierbase.model.names import name_parts, spark_identifier
from glacierbase.model.shape import Column, Shape

# What a trial does, in the order in which trials of a table run. A view is only read.
SELECT, INSERT, DELETE = "SELECT", "INSERT", "DELETE"
# Two rows are in one file: a DELETE of one of them has to write deletes or rewrite the file.
SETTINGS = ("SET spark.sql.leafNodeDefaultParallelism=1",)
# By the start of a type: a value as text, which is cast to the type. The digit tells the rows apart.
_VALUES = {
    "boolean": "true",
    "int": "{}",
    "bigint": "{}",
    "float": "{}",
    "double": "{}",
    "decimal": "0",
    "string": "{}",
    "date": "2020-01-01",
    "timestamp": "2020-01-01 00:00:00",
    "timestamp_ntz": "2020-01-01 00:00:00",
}
_UUID = "00000000-0000-0000-0000-000000000000"
_COMPARED = ("int", "bigint", "string")
_FIXED = re.compile(r"fixed\((\d+)\)")
# Properties by which writers load a class, or a key, that the copy does not have.
_OUTSIDE = frozenset({"write.location-provider.impl", "encryption.key-id"})
# A name on which nothing depends. Others may be reserved, or equal to another name but for their case.
_PLAIN = re.compile(r"[a-z][a-z0-9_]*")
_READS_NUMBERS = "write."


@dataclass(frozen=True, slots=True)
class Trial:
    """A statement on a table or a view.

    Attributes:
        name: of the table or the view, as the history records names.
        sql: does not depend on what the table contains.
    """

    name: str
    action: str
    sql: str


def view_trial(view: str) -> Trial:
    """Return the trial of a view: it is analysed, and no row is read."""
    return Trial(view, SELECT, f"SELECT * FROM {table_name(view)} LIMIT 0")


def table_trials(shape: Shape) -> Iterator[Trial]:
    """Yield the trials of a table; none that writes where the copy lacks what writers need, or a value of a required column.

    Another format than Iceberg may refuse rows and deletes by design: constraints, columns that are generated, files.
    """
    name = table_name(shape.table)
    yield Trial(shape.table, SELECT, f"SELECT * FROM {name} LIMIT 1")
    if shape.format != "iceberg" or _OUTSIDE.intersection(shape.properties):
        return
    if (rows := _rows(shape)) is not None:
        yield Trial(shape.table, INSERT, f"INSERT INTO {name} SELECT * FROM {rows}")
    yield Trial(shape.table, DELETE, f"DELETE FROM {name} WHERE {_one_row(shape)}")


def kind_of(shape: Shape) -> Hashable:
    """Return a value that is equal for tables on which the engine refuses the same statements."""
    columns = frozenset((column.type, column.required, _special(column.name)) for column in shape.columns)
    partitioning = tuple(field.transform for field in shape.partitioning)
    sorting = tuple(field.transform for field in shape.sorting)
    properties = frozenset((key, _value_of(key, value)) for key, value in shape.properties.items() if key != "comment")
    return columns, partitioning, sorting, properties, shape.format_version


def may_differ(before: Shape | None, after: Shape) -> bool:
    """Return whether the engine may refuse a statement on a table after a change that it did not refuse before."""
    if before is None or kind_of(before) != kind_of(after):
        return True
    return not {column.id for column in before.columns} <= {column.id for column in after.columns}


def _special(name: str) -> str:
    parts = name_parts(name)
    return "" if all(map(_PLAIN.fullmatch, parts)) else name


def _value_of(key: str, value: str) -> str:
    return value if key.startswith(_READS_NUMBERS) or not value.isdecimal() else "number"


def _rows(shape: Shape) -> str | None:
    """Return two rows as a table with the names of the columns; None if the value of a column is not known."""
    inside = _children(shape.columns)
    top = inside.get((), [])
    rows = [[_value(column, inside, number) or "" for column in top] for number in (0, 1)]
    if not all(map(all, rows)):
        return None
    names = ", ".join(spark_identifier(name_parts(column.name)[-1]) for column in top)
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    return f"VALUES {values} AS rows({names})"


def _children(columns: Sequence[Column]) -> Mapping[tuple[str, ...], list[Column]]:
    """Return columns and fields by the path of the column or field around them."""
    inside: dict[tuple[str, ...], list[Column]] = {}
    for column in columns:
        inside.setdefault(tuple(name_parts(column.name)[:-1]), []).append(column)
    return inside


def _value(column: Column, inside: Mapping[tuple[str, ...], list[Column]], number: int) -> str | None:
    """Return a value of a column as SQL; NULL where it may be null and has no value of a simple type."""
    word = re.split(r"[<(]", column.type, maxsplit=1)[0]
    if word in _VALUES:
        return f"CAST('{_VALUES[word].format(number)}' AS {column.type})"
    if not column.required:
        return "NULL"
    if word == "struct":
        path = tuple(name_parts(column.name))
        fields = [(name_parts(field.name)[-1], _value(field, inside, number)) for field in inside.get(path, ())]
        pairs = [f"{literal(name)}, {value}" for name, value in fields if value is not None]
        return f"named_struct({', '.join(pairs)})" if len(pairs) == len(fields) else None
    if fixed := _FIXED.fullmatch(column.type):
        return f"CAST('{'0' * int(fixed[1])}' AS binary)"
    return {"uuid": f"'{_UUID}'", "binary": "X''", "array": "array()", "map": "map()"}.get(word)


def _one_row(shape: Shape) -> str:
    """Return the condition of a DELETE: one of the two rows where files of deletes are written, else no row."""
    sources = {field.source for field in shape.partitioning}
    compared = (column for column in shape.columns if column.type in _COMPARED and column.name not in sources)
    column = next((column for column in compared if len(name_parts(column.name)) == 1), None)
    if column is None or "merge-on-read" not in shape.properties.values():
        return "false"
    return f"{table_name(column.name)} = CAST('1' AS {column.type})"
