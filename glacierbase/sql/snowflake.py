"""What only Snowflake has: its clauses of ALTER TABLE, files in stages, ALTER SESSION.

https://docs.snowflake.com/en/sql-reference/sql/alter-table, https://docs.snowflake.com/en/sql-reference/sql/alter-iceberg-table
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glacierbase.sql.alter import (
    CONSTRAINTS,
    Alteration,
    Clauses,
    added_columns,
    altered_columns,
    cluster,
    dropped_column,
    dropped_constraint,
    other,
    rename,
)
from glacierbase.sql.create import column, constraint, is_about_columns
from glacierbase.sql.cursor import Cursor, if_exists, if_not_exists
from glacierbase.sql.statement import Fields, ParsedStatement, Part, Property, SessionEffect


def files(cursor: Cursor) -> ParsedStatement:
    """Read PUT, GET, LIST and REMOVE, which work on files in stages, after that word."""
    while cursor.word():
        cursor.next()
    return ParsedStatement("other")


def session(cursor: Cursor) -> ParsedStatement:
    """Read ALTER SESSION after ALTER."""
    cursor.expect("SESSION")
    operation = "reset" if cursor.take("UNSET") else "set"
    if operation == "set":
        cursor.expect("SET")
    cursor.skip_to(";")
    return ParsedStatement(operation, session=SessionEffect.SET)


def _add(found: Alteration) -> None:
    cursor = found.cursor
    if cursor.word() in CONSTRAINTS and not is_about_columns(cursor):
        found.parts.append(constraint(cursor, "add_constraint"))
    elif is_about_columns(cursor):
        found.parts += _columns(found)
    else:
        other(found)


def _columns(found: Alteration) -> Iterator[Part]:
    """Yield the columns of ADD; COLUMN and IF NOT EXISTS may stand before each."""
    cursor = found.cursor
    while True:
        if cursor.word(1) not in ("", ".", ",") and cursor.word(2) not in ("", ",", ";"):
            cursor.take("COLUMN")
        if if_not_exists(cursor):
            found.options = replace(found.options, if_not_exists=True)
        if cursor.word() == "(":
            yield from added_columns(cursor)
        else:
            yield column(cursor, "add_column")
        if not cursor.take(","):
            return


def _drop(found: Alteration) -> None:
    cursor, place = found.cursor, found.cursor.place()
    if cursor.take("CLUSTERING", "KEY"):
        found.parts.append(Fields("cluster_by", place, ()))
    elif cursor.word() in CONSTRAINTS and not is_about_columns(cursor):
        found.parts.append(dropped_constraint(found, place))
    elif is_about_columns(cursor):
        found.parts += _dropped_columns(found)
    else:
        other(found)


def _dropped_columns(found: Alteration) -> Iterator[Part]:
    cursor = found.cursor
    while True:
        if cursor.word(1) not in ("", ",", ";"):
            cursor.take("COLUMN")
        if if_exists(cursor):
            found.options = replace(found.options, if_exists=True)
        yield dropped_column(cursor)
        if not cursor.take(","):
            return


def _swap(found: Alteration) -> None:
    found.cursor.expect("WITH")
    found.operation = "other"
    found.targets.append(found.cursor.table())


def _alter(found: Alteration) -> None:
    cursor = found.cursor
    if cursor.word() in CONSTRAINTS and not is_about_columns(cursor):
        other(found)
        return
    enclosed = cursor.take("(")
    found.parts += altered_columns(cursor)
    if enclosed:
        cursor.expect(")")


def _set(found: Alteration) -> None:
    cursor = found.cursor
    if cursor.word(1) != "=":
        other(found)
        return
    found.operation = "set_properties"
    while cursor.word() not in ("", ";"):
        found.parts.append(_property(cursor))
        cursor.take(",")


def _property(cursor: Cursor) -> Property:
    """Move past `KEY = value`, whose value is a literal, a word, or parentheses."""
    place, key = cursor.place(), cursor.next()
    cursor.expect("=")
    value_place = cursor.place()
    if cursor.word() == "(":
        value = cursor.parentheses()
    elif cursor.is_string():
        value = cursor.string()
    else:
        value = cursor.text()
        cursor.next()
    return Property("set_properties", place, key, value, value_place)


def _unset(found: Alteration) -> None:
    cursor = found.cursor
    if cursor.word() in ("TAG", "CONTACT") and cursor.word(1) not in ("", ",", ";"):
        other(found)
        return
    found.operation = "unset_properties"
    while cursor.word() not in ("", ";"):
        found.parts.append(Property("unset_properties", cursor.place(), cursor.next()))
        cursor.take(",")


def _refresh(found: Alteration) -> None:
    other(found)
    found.operation = "refresh"


CLAUSES: Clauses = {
    "ADD": _add, "DROP": _drop, "RENAME": rename, "SWAP": _swap, "ALTER": _alter, "MODIFY": _alter, "SET": _set,
    "UNSET": _unset, "CLUSTER": cluster, "REFRESH": _refresh, "SUSPEND": other, "RESUME": other, "RECLUSTER": other,
    "CONVERT": other,
}  # fmt: skip
