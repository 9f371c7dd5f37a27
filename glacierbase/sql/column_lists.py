"""The columns in `CREATE TABLE t (…)`, and in the `ALTER TABLE` clauses that change columns, of Spark and Snowflake.

Grammar: https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-alter-table.html,
https://iceberg.apache.org/docs/latest/spark-ddl/, https://docs.snowflake.com/en/sql-reference/sql/create-table and alter-table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glacierbase.sql.column_types import read_type
from glacierbase.sql.cursor import Cursor, NotUnderstood

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


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column.

    Attributes:
        name: as the engine compares it.
        types: the spellings that the engine may report; the first one is the declared type.
    """

    name: str
    types: tuple[str, ...]


def read_columns(cursor: Cursor) -> Iterator[Column]:
    """Yield the columns of a list in parentheses, which begins here.

    Raises:
        NotUnderstood: a column has a form that is not supported.
    """
    cursor.expect("(")
    while not cursor.take(")"):
        if is_about_columns(cursor):
            yield read_column(cursor)
        cursor.skip_item()
        if cursor.word() != ")":
            cursor.expect(",")


def read_column(cursor: Cursor) -> Column:
    """Move past the name, the type and the options of a column, and return it.

    Raises:
        NotUnderstood: it is nested, or has a form that is not supported.
    """
    name = column_name(cursor)
    start = cursor.position
    read_type(cursor)
    text = cursor.text_since(start)
    if cursor.word() not in ("", ",", ")") and cursor.word() not in OPTIONS:
        raise NotUnderstood(f"{cursor.word()} after the type of column {name}")
    cursor.skip_item()
    return Column(name, types_of(text, cursor.dialect))


def types_of(text: str, dialect: str) -> tuple[str, ...]:
    """Return the spellings in which an engine may report a declared type.

    Which of its types Snowflake means by TIMESTAMP is a parameter of account, user and session.
    https://docs.snowflake.com/en/sql-reference/parameters#timestamp-type-mapping
    """
    if dialect == "snowflake" and Cursor(text, dialect).word() == "TIMESTAMP":
        declared = read_type(Cursor(text, dialect))
        return tuple(declared.replace("_NTZ", f"_{kind}") for kind in ("NTZ", "LTZ", "TZ"))
    both = (read_type(Cursor(text, dialect), stored=stored) for stored in (False, True))
    return tuple(dict.fromkeys(both))


def column_name(cursor: Cursor) -> str:
    """Move past the name of a column, and return it.

    Raises:
        NotUnderstood: it is the name of a nested field.
    """
    parts = cursor.names()
    if len(parts) > 1:
        raise NotUnderstood(f"the nested field {'.'.join(parts)}")
    return parts[0]


def is_about_columns(cursor: Cursor) -> bool:
    """Return whether the clause that begins here is about a column; else it is about a constraint, a partition and so on."""
    word, following = cursor.word(), cursor.word(1)
    return (word, following) not in _NO_COLUMN and (word, "") not in _NO_COLUMN


def partition_columns(cursor: Cursor) -> Iterator[Column]:
    """Yield the columns that a `PARTITIONED BY` in the rest of the statement declares: `(day date)`, but not `(day)`."""
    while cursor.word():
        if not cursor.take("PARTITIONED", "BY", "("):
            cursor.next()
            continue
        while not cursor.take(")"):
            if cursor.word(1) not in (",", ")", "("):
                yield read_column(cursor)
            cursor.skip_item()
            if cursor.word() != ")":
                cursor.expect(",")
