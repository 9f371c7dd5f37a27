"""Which types of Spark become the same type of Iceberg without an engine. Imports no PyIceberg."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.types import TypeTree, type_tree

_SIMPLE = frozenset(
    {
        "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz", "string",
        "binary",
    }
)  # fmt: skip
_BOUNDED = frozenset({"char", "varchar"})
_MOST_DIGITS = 38
# PyIceberg does not read metadata whose JSON is nested 200 levels deep; a struct takes three of them.
MOST_DEPTH = 20


def why_no_plain_type(text: str | None) -> str | None:
    """Return why a declared type needs Spark; None for one that Iceberg stores as Spark does."""
    if text is None:
        return "a column without a type"
    try:
        tree = type_tree(text)
    except UnsupportedClause:
        return f"the type {text}"
    return next(_reasons(tree), None)


def _reasons(tree: TypeTree, depth: int = 0) -> Iterator[str]:
    if depth > MOST_DEPTH:
        yield f"a type that is nested more than {MOST_DEPTH} levels deep"
        return
    names = [field.name.casefold() for field in tree.fields]
    if len(set(names)) < len(names):
        yield "two fields of one name"
    elif not tree.fields and not _is_plain(tree):
        yield f"the type {tree.name}"
    for field in tree.fields:
        yield from _reasons(field.type, depth + 1)


def _is_plain(tree: TypeTree) -> bool:
    match tree.name, tree.parameters:
        case "decimal", (precision, scale):
            return 1 <= precision <= _MOST_DIGITS and scale <= precision
        case name, (length,) if name in _BOUNDED:
            return length > 0
        case name, ():
            return name in _SIMPLE
    return False
