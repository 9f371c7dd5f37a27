"""Which statements run without an engine, with the same result as in Spark, and why the others do not. Imports no PyIceberg."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from glacierbase.executors.iceberg.plain_tables import (
    why_no_plain_namespace,
    why_no_plain_rename,
    why_no_plain_table,
)
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.statement import ParsedStatement

# Returns why a statement of one operation is not plain; None where it is.
_Check: TypeAlias = Callable[[ParsedStatement], str | None]


def why_not_plain(statement: ParsedStatement) -> str | None:
    """Return why a statement needs Spark, as a clause; None for one that runs without it."""
    if not statement.understood:
        return statement.why
    if statement.unread:
        return statement.unread[0]
    for operation in dict.fromkeys([statement.operation, *(part.operation for part in statement.parts)]):
        if operation == "several":
            continue
        check = (_ON_NAMESPACES if statement.namespace else _PLAIN).get(operation)
        if check is None:
            return f"{operation} needs the engine"
        if why := check(statement):
            return why
    return None


def why_not_plain_file(statements: Iterable[str]) -> str | None:
    """Return why the statements of a file are not all plain, by the first that is not; None where they are."""
    return next(filter(None, (why_not_plain(read(sql, SPARK.name)) for sql in statements)), None)


def _always(_: ParsedStatement) -> str | None:
    return None


def _purge(statement: ParsedStatement) -> str | None:
    return "PURGE deletes files" if statement.options.purge else None


_PLAIN: Mapping[str, _Check] = {
    "set_properties": _always,
    "unset_properties": _always,
    "create_table": why_no_plain_table,
    "drop_table": _purge,
    "rename_table": why_no_plain_rename,
    "replace_table": why_no_plain_table,
}
_ON_NAMESPACES: Mapping[str, _Check] = dict.fromkeys(
    ("create_namespace", "alter_namespace", "drop_namespace", "comment_on"), why_no_plain_namespace
)
