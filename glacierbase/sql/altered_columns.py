"""What one ALTER TABLE does to the columns of its table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from glacierbase.sql.column_lists import (
    Column,
    column_name,
    is_about_columns,
    read_column,
    read_columns,
    types_of,
)
from glacierbase.sql.column_types import read_type
from glacierbase.sql.cursor import Cursor, NotUnderstood

# Clauses that change neither a column's name nor its type.
_HARMLESS = frozenset(
    {
        "SET", "UNSET", "WRITE", "CLUSTER", "RECLUSTER", "SUSPEND", "RESUME", "RECOVER", "REFRESH", "CREATE", "ENABLE",
        "DISABLE", "COMPACT",
    }
)  # fmt: skip
_OBJECTS = ("COLUMN", "COLUMNS")

Columns = dict[str, Column]


def alter_columns(columns: Columns, cursor: Cursor) -> Columns:
    """Return the columns after the clause that begins here, after the name of the table.

    Raises:
        NotUnderstood: the clause has a form that is not supported, or is about a column that is not declared.
    """
    word = cursor.next()
    if word in _HARMLESS:
        return columns
    if word not in _CLAUSES:
        raise NotUnderstood(f"ALTER TABLE … {word}")
    return _CLAUSES[word](columns, cursor)


def _add(columns: Columns, cursor: Cursor) -> Columns:
    _take_if_exists(cursor)
    if not is_about_columns(cursor):
        return columns
    cursor.take_any(*_OBJECTS)
    _take_if_exists(cursor)
    for column in _listed(cursor):
        columns.setdefault(column.name, column)
    return columns


def _listed(cursor: Cursor) -> Iterator[Column]:
    if cursor.word() == "(":
        yield from read_columns(cursor)
        return
    yield read_column(cursor)
    while cursor.take(","):
        cursor.take_any(*_OBJECTS)
        _take_if_exists(cursor)
        yield read_column(cursor)


def _drop(columns: Columns, cursor: Cursor) -> Columns:
    if not is_about_columns(cursor) or (
        cursor.word() in ("BRANCH", "TAG", "FEATURE") and cursor.word(1) not in ("", ",")
    ):
        return columns
    cursor.take_any(*_OBJECTS)
    may_be_absent = _take_if_exists(cursor)
    if cursor.word() == "PARTITION":
        return columns
    cursor.take("(")
    names = [column_name(cursor)]
    while cursor.take(","):
        cursor.take_any(*_OBJECTS)
        names.append(column_name(cursor))
    for name in names:
        if not may_be_absent:
            _declared(columns, name)
        columns.pop(name, None)
    return columns


def _rename(columns: Columns, cursor: Cursor) -> Columns:
    cursor.expect("COLUMN")
    _take_if_exists(cursor)
    old = _declared(columns, column_name(cursor))
    cursor.expect("TO")
    new = column_name(cursor)
    return {(new if name == old.name else name): _renamed(each, old, new) for name, each in columns.items()}


def _renamed(column: Column, old: Column, new: str) -> Column:
    return Column(new, column.types) if column is old else column


def _alter(columns: Columns, cursor: Cursor) -> Columns:
    """Follow `ALTER COLUMN a TYPE t`, and Snowflake's list of such clauses."""
    cursor.take("(")
    while cursor.word():
        cursor.take_any(*_OBJECTS)
        parts = cursor.names()
        if cursor.take("TYPE") or cursor.take("SET", "DATA", "TYPE") or cursor.take("DATA", "TYPE"):
            if len(parts) > 1:
                raise NotUnderstood(f"the nested field {'.'.join(parts)}")
            _declared(columns, parts[0])
            columns[parts[0]] = Column(parts[0], _types(cursor))
        cursor.skip_item()
        if not cursor.take(","):
            break
    return columns


def _types(cursor: Cursor) -> tuple[str, ...]:
    start = cursor.position
    read_type(cursor)
    return types_of(cursor.text_since(start), cursor.dialect)


def _change(columns: Columns, cursor: Cursor) -> Columns:
    """Follow `CHANGE COLUMN a b t`, Hive's form, and `CHANGE COLUMN a TYPE t`."""
    if cursor.word() in _OBJECTS and cursor.word(2) in ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", "."):
        return _alter(columns, cursor)
    cursor.take_any(*_OBJECTS)
    old = _declared(columns, column_name(cursor))
    new = read_column(cursor)
    return {(new.name if name == old.name else name): (new if each is old else each) for name, each in columns.items()}


def _replace(columns: Columns, cursor: Cursor) -> Columns:
    if not cursor.take("COLUMNS"):
        return columns
    return {column.name: column for column in read_columns(cursor)}


def _take_if_exists(cursor: Cursor) -> bool:
    return cursor.take("IF", "NOT", "EXISTS") or cursor.take("IF", "EXISTS")


def _declared(columns: Columns, name: str) -> Column:
    if name not in columns:
        raise NotUnderstood(f"the column {name} is altered and nowhere declared")
    return columns[name]


_CLAUSES: Mapping[str, Callable[[Columns, Cursor], Columns]] = {
    "ADD": _add,
    "DROP": _drop,
    "RENAME": _rename,
    "ALTER": _alter,
    "MODIFY": _alter,
    "CHANGE": _change,
    "REPLACE": _replace,
}
