"""Statements that only Snowflake has: its clauses of ALTER TABLE, files in stages, ALTER SESSION.

https://docs.snowflake.com/en/sql-reference/sql/alter-table, https://docs.snowflake.com/en/sql-reference/sql/alter-iceberg-table
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glacierbase.sql.alter import (
    CONSTRAINTS,
    Alteration,
    Clauses,
    altered_columns,
    cluster,
    declared_columns,
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
    cursor.skip_all()
    return ParsedStatement("other")


def session(cursor: Cursor) -> ParsedStatement:
    """Read ALTER SESSION after ALTER."""
    cursor.expect("SESSION")
    operation = "reset" if cursor.take("UNSET") else "set"
    if operation == "set":
        cursor.expect("SET")
    cursor.skip_to(";")
    return ParsedStatement(operation, session=SessionEffect.SET)


def _add(alteration: Alteration) -> None:
    cursor = alteration.cursor
    if cursor.word() in CONSTRAINTS and not is_about_columns(cursor):
        alteration.parts.append(constraint(cursor, "add_constraint"))
    elif is_about_columns(cursor):
        alteration.parts += _columns(alteration)
    else:
        other(alteration)


def _columns(alteration: Alteration) -> Iterator[Part]:
    """Yield the columns of ADD, each with or without COLUMN and IF NOT EXISTS before it."""
    cursor = alteration.cursor
    while True:
        if cursor.word(1) not in ("", ".", ",") and cursor.word(2) not in ("", ",", ";"):
            cursor.take("COLUMN")
        if if_not_exists(cursor):
            alteration.options = replace(alteration.options, if_not_exists=True)
        if cursor.word() == "(":
            yield from declared_columns(cursor, "add_column")
        else:
            yield column(cursor, "add_column")
        if not cursor.take(","):
            return


def _drop(alteration: Alteration) -> None:
    cursor, place = alteration.cursor, alteration.cursor.place()
    if cursor.take("CLUSTERING", "KEY"):
        alteration.parts.append(Fields("cluster_by", place, ()))
    elif cursor.word() in CONSTRAINTS and not is_about_columns(cursor):
        alteration.parts.append(dropped_constraint(alteration, place))
    elif is_about_columns(cursor):
        alteration.parts += _dropped_columns(alteration)
    else:
        other(alteration)


def _dropped_columns(alteration: Alteration) -> Iterator[Part]:
    cursor = alteration.cursor
    while True:
        if cursor.word(1) not in ("", ",", ";"):
            cursor.take("COLUMN")
        if if_exists(cursor):
            alteration.options = replace(alteration.options, if_exists=True)
        yield dropped_column(cursor)
        if not cursor.take(","):
            return


def _swap(alteration: Alteration) -> None:
    alteration.cursor.expect("WITH")
    alteration.operation = "other"
    alteration.targets.append(alteration.cursor.table())


def _alter(alteration: Alteration) -> None:
    cursor = alteration.cursor
    if cursor.word() in CONSTRAINTS and not is_about_columns(cursor):
        other(alteration)
        return
    enclosed = cursor.take("(")
    alteration.parts += altered_columns(cursor)
    if enclosed:
        cursor.expect(")")


def _set(alteration: Alteration) -> None:
    cursor = alteration.cursor
    if cursor.word(1) != "=":
        other(alteration)
        return
    alteration.operation = "set_properties"
    while cursor.word() not in ("", ";"):
        alteration.parts.append(_property(cursor))
        cursor.take(",")


def _property(cursor: Cursor) -> Property:
    """Read `KEY = value`, whose value is a literal, a word, or parentheses."""
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


def _unset(alteration: Alteration) -> None:
    cursor = alteration.cursor
    if cursor.word() in ("TAG", "CONTACT") and cursor.word(1) not in ("", ",", ";"):
        other(alteration)
        return
    alteration.operation = "unset_properties"
    while cursor.word() not in ("", ";"):
        alteration.parts.append(Property("unset_properties", cursor.place(), cursor.next()))
        cursor.take(",")


def _refresh(alteration: Alteration) -> None:
    other(alteration)
    alteration.operation = "refresh"


CLAUSES: Clauses = {
    "ADD": _add, "DROP": _drop, "RENAME": rename, "SWAP": _swap, "ALTER": _alter, "MODIFY": _alter, "SET": _set,
    "UNSET": _unset, "CLUSTER": cluster, "REFRESH": _refresh, "SUSPEND": other, "RESUME": other, "RECLUSTER": other,
    "CONVERT": other,
}  # fmt: skip
