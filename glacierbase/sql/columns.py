"""Declarations of columns, in CREATE TABLE, ADD COLUMNS, REPLACE COLUMNS and Hive's CHANGE COLUMN.

https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-alter-table.html, https://iceberg.apache.org/docs/latest/spark-ddl/,
https://docs.snowflake.com/en/sql-reference/sql/create-table
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.parts import Column, Constraint, Part

# What may follow the type of a column; the end of it is the next comma.
OPTIONS = frozenset(
    {
        "NOT", "NULL", "COMMENT", "DEFAULT", "GENERATED", "PRIMARY", "UNIQUE", "CHECK", "CONSTRAINT", "REFERENCES",
        "FOREIGN", "COLLATE", "IDENTITY", "AUTOINCREMENT", "START", "MASKING", "WITH", "TAG", "PROJECTION", "AS",
        "ORDER", "NOORDER", "FIRST", "AFTER", "ENFORCED", "RELY",
    }
)  # fmt: skip
# Two words that begin a clause of CREATE, ADD or DROP that is about no column; an empty second word stands for any.
_NO_COLUMN = frozenset(
    {
        ("CONSTRAINT", ""), ("PRIMARY", "KEY"), ("FOREIGN", "KEY"), ("UNIQUE", "("), ("CHECK", "("), ("PARTITION", "FIELD"),
        ("PARTITION", "("), ("ROW", "ACCESS"), ("ALL", "ROW"), ("SEARCH", "OPTIMIZATION"), ("CLUSTERING", "KEY"),
        ("IDENTIFIER", "FIELDS"), ("AGGREGATION", "POLICY"), ("JOIN", "POLICY"), ("DATA", "METRIC"), ("STORAGE", "LIFECYCLE"),
    }
)  # fmt: skip


_ENDS = ("", ",", ")", ";")


def is_about_columns(cursor: Cursor) -> bool:
    """Return whether the clause that begins here is about a column; else it is about a constraint, a partition and so on."""
    word, following = cursor.word(), cursor.word(1)
    return (word, following) not in _NO_COLUMN and (word, "") not in _NO_COLUMN


def column_list(cursor: Cursor, operation: str) -> Iterator[Part]:
    """Yield the columns and constraints of a list in parentheses."""
    cursor.expect("(")
    while not cursor.take(")"):
        if is_about_columns(cursor):
            yield column(cursor, operation)
        else:
            yield constraint(cursor, "add_constraint")
        if cursor.word() != ")":
            cursor.expect(",")


def constraint(cursor: Cursor, operation: str) -> Constraint:
    """Move past a constraint up to the next comma, closing parenthesis or semicolon of the same depth."""
    place, name = cursor.place(), None
    if cursor.take("CONSTRAINT"):
        name = cursor.path()[0]
    start = cursor.position
    cursor.skip_to(",", ")", ";")
    return Constraint(operation, place, name, cursor.text_since(start))


def column(cursor: Cursor, operation: str) -> Column:
    """Move past the declaration of a column."""
    place, name = cursor.place(), cursor.table()
    cursor.take(":")
    found: dict[str, str | bool] = {}
    spelling = column_type(cursor) if cursor.word() not in OPTIONS or cursor.word() in _ENDS else None
    while cursor.word() not in _ENDS:
        _option(cursor, found)
    return Column(
        operation, place, name.parts, spelling or None, nullable=not found.get("required"), default=_text(found, "default"),
        generated=_text(found, "generated"), comment=_text(found, "comment"), position=_text(found, "position"), key=name.key,
        primary_key=bool(found.get("primary_key")),
    )  # fmt: skip


def column_type(cursor: Cursor) -> str:
    """Move past a type, and return its text."""
    start = cursor.position
    while cursor.word() not in _ENDS and (cursor.position == start or cursor.word() not in OPTIONS):
        if cursor.word() == "(":
            cursor.parentheses()
        elif cursor.word() == "<":
            _angles(cursor)
        else:
            cursor.next()
    return cursor.text_since(start)


def position(cursor: Cursor) -> str | None:
    """Move past FIRST or AFTER and a name, and return them; None where there is neither."""
    if cursor.take("FIRST"):
        return "first"
    return f"after {'.'.join(cursor.path())}" if cursor.take("AFTER") else None


def expression(cursor: Cursor, *ends: str) -> str:
    """Move past an expression that ends before one of these words, or where the clause ends, and return its text."""
    start = cursor.position
    cursor.skip_to(",", ")", ";", *ends)
    return cursor.text_since(start)


def _angles(cursor: Cursor) -> None:
    depth = 0
    while word := cursor.next():
        depth += (word == "<") - (word == ">")
        if not depth:
            return
    raise NotUnderstood("< that nothing closes")


def _text(found: Mapping[str, str | bool], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) else None


def _option(cursor: Cursor, found: dict[str, str | bool]) -> None:
    """Move past one option of a column."""
    word = cursor.next()
    if word in _READ:
        _READ[word](cursor, found)
    elif word in ("FIRST", "AFTER"):
        found["position"] = "first" if word == "FIRST" else f"after {'.'.join(cursor.path())}"
    elif word not in OPTIONS and cursor.dialect == "spark":
        raise NotUnderstood(f"{word} in a column")
    else:
        cursor.skip_to(",", ")", ";", *OPTIONS)


def _not_null(cursor: Cursor, found: dict[str, str | bool]) -> None:
    if cursor.take_any("ENFORCED", "DEFERRABLE"):
        return
    cursor.expect("NULL")
    found["required"] = True


def _primary_key(cursor: Cursor, found: dict[str, str | bool]) -> None:
    cursor.expect("KEY")
    found["primary_key"] = True


def _comment(cursor: Cursor, found: dict[str, str | bool]) -> None:
    found["comment"] = cursor.string()


def _default(cursor: Cursor, found: dict[str, str | bool]) -> None:
    found["default"] = expression(cursor, *(OPTIONS - {"NULL", "AS"}))


def _generated(cursor: Cursor, found: dict[str, str | bool]) -> None:
    cursor.skip_to("AS")
    cursor.expect("AS")
    found["generated"] = expression(cursor, *OPTIONS)


_READ: Mapping[str, Callable[[Cursor, dict[str, str | bool]], None]] = {
    "NOT": _not_null,
    "PRIMARY": _primary_key,
    "COMMENT": _comment,
    "DEFAULT": _default,
    "GENERATED": _generated,
}
