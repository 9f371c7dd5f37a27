"""The shape of a table from the rows of Snowflake's DESCRIBE TABLE."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from glacierbase.model.shape import Column, Shape

# The first of its columns. https://docs.snowflake.com/en/sql-reference/sql/desc-table
_COLUMNS = ("name", "type", "kind", "null?", "default", "primary key", "unique key", "check", "expression", "comment")


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
