"""The tables and views of a catalog as Spark lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from glacierbase.errors import StatementRefused
from glacierbase.executors import ListedTable, Row
from glacierbase.model.names import name_of, name_parts, spark_identifier

Query = Callable[[str], Sequence[Row]]


def listed_tables(query: Query, catalog: str) -> Iterator[ListedTable]:
    """Yield the tables and views of a catalog, a namespace after the other.

    Args:
        query: returns the rows of a statement.

    Raises:
        EngineError: Spark does not list them.
    """
    levels: list[tuple[str, ...]] = [()]
    while levels:
        above = levels.pop()
        if above:
            yield from _in_namespace(query, (catalog, *above))
        namespaces = _namespaces(query, (catalog, *above))
        levels += sorted((inside for inside in namespaces if inside[:-1] == above), reverse=True)


def _namespaces(query: Query, path: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the namespaces inside a catalog or a namespace; none where it can have none."""
    try:
        rows = query(f"SHOW NAMESPACES IN {_identifier(path)}")
    except StatementRefused:
        if len(path) == 1:
            raise
        return []
    return [tuple(name_parts(str(row[0]))) for row in rows]


def _in_namespace(query: Query, path: Sequence[str]) -> Iterator[ListedTable]:
    """Yield what a namespace holds. Spark lists the views of its session catalog among the tables, too."""
    try:
        views = _names(query(f"SHOW VIEWS IN {_identifier(path)}"))
    except StatementRefused:  # The catalog has no views.
        views = []
    for name in _names(query(f"SHOW TABLES IN {_identifier(path)}")):
        if name not in views:
            yield ListedTable(name_of((*path, name)))
    for name in views:
        yield ListedTable(name_of((*path, name)), "view")


def _names(rows: Sequence[Row]) -> list[str]:
    """Return the names in rows of namespace, name, and whether it is temporary."""
    return [str(row[1]) for row in rows if not row[2]]


def _identifier(path: Sequence[str]) -> str:
    return ".".join(map(spark_identifier, path))
