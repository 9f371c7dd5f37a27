"""The tables of a database as Snowflake lists them, and the shape of a table from the rows of DESCRIBE TABLE."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from glacierbase.executors import ListedTable
from glacierbase.model.shape import Column, Shape

# The first of its columns. https://docs.snowflake.com/en/sql-reference/sql/desc-table
_COLUMNS = ("name", "type", "kind", "null?", "default", "primary key", "unique key", "check", "expression", "comment")
# https://docs.snowflake.com/en/sql-reference/info-schema/tables
_KINDS = {"BASE TABLE": "table", "VIEW": "view"}
LIST_TABLES = (
    "SELECT table_catalog, table_schema, table_name, table_type FROM {0}.INFORMATION_SCHEMA.TABLES"
    " WHERE table_schema <> 'INFORMATION_SCHEMA' AND table_type <> 'VIEW' UNION ALL"
    " SELECT table_catalog, table_schema, table_name, 'VIEW' FROM {0}.INFORMATION_SCHEMA.VIEWS"
    " WHERE table_schema <> 'INFORMATION_SCHEMA'"
)


# https://docs.snowflake.com/en/sql-reference/info-schema/views
VIEW_TEXT = "SELECT view_definition FROM {}.INFORMATION_SCHEMA.VIEWS WHERE table_schema = ? AND table_name = ?"
_NAME_PART = r'"(?:[^"]|"")+"|[\w$]+'
_CREATE_VIEW = re.compile(
    rf"(?is)\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?P<words>(?:(?:SECURE|RECURSIVE)\s+)*)VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rf"(?:{_NAME_PART})(?:\s*\.\s*(?:{_NAME_PART}))*"
)


def listed_tables(rows: Iterable[Sequence[Any]]) -> list[ListedTable]:
    """Return the tables and views in rows of `LIST_TABLES`, without temporary ones."""
    return [
        ListedTable(".".join(_written(str(part)) for part in name), _KINDS.get(str(kind), str(kind).lower()))
        for *name, kind in rows
        if "TEMPORARY" not in str(kind)
    ]


def unquoted_parts(name: str) -> list[str]:
    """Return the parts of a name that `listed_tables` returned, as Snowflake stores them."""
    return [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in re.findall(_NAME_PART, name)]


def view_statements(view: str, text: str | None) -> tuple[str, ...]:
    """Return the statement that creates a view or replaces it; none where its text is not readable.

    Args:
        text: the statement that created it, as `VIEW_TEXT` returns it.
    """
    begin = _CREATE_VIEW.match(text or "")
    if begin is None or text is None:
        return ()
    words = " ".join(["CREATE OR REPLACE", *begin["words"].upper().split(), "VIEW"])
    return (f"{words} {view}{text[begin.end() :].rstrip().removesuffix(';')}",)


def shape_of(table: str, described: Iterable[Sequence[Any]]) -> Shape:
    """Return the shape of a table: its columns, and its primary key as the identifiers.

    Snowflake shows no ids of columns and tables, and properties only with further requests.
    """
    rows = [dict(zip(_COLUMNS, row, strict=False)) for row in described]
    columns = tuple(map(_column, rows))
    keys = tuple(column.name for column, row in zip(columns, rows, strict=True) if row.get("primary key") == "Y")
    return Shape(table, None, "snowflake", None, columns, identifiers=keys)


def _column(row: dict[str, Any]) -> Column:
    default = row.get("default")
    return Column(
        id=None,
        name=_written(str(row["name"])),
        type=str(row["type"]),
        required=row.get("null?") == "N",
        comment=row.get("comment") or None,
        default=None if default is None else json.dumps(str(default)),
    )


def _written(name: str) -> str:
    """Return a name as SQL writes it, in quotes if it needs them."""
    return name if name.isidentifier() and name == name.upper() else '"{}"'.format(name.replace('"', '""'))
