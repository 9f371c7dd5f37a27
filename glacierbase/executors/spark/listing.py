"""The tables and views of a catalog as Spark lists them, and the statements that create a view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile

from glacierbase.declared.render import literal
from glacierbase.errors import StatementRefused
from glacierbase.executors import ListedTable, Row
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.sql import read

# The begin of the query in the statement that Spark prints for a view. It does not escape the comments of columns before that.
_QUERY = re.compile(r"\nAS\s+")
# Properties of a view that engines set themselves.
_OF_ENGINES = re.compile(
    r"view\..*|format-version|location|provider|comment|owner|transient_lastDdlTime|(?:create_)?engine_version|spark\..*"
    r"|queryColumnNames"
)
_PLACE = "View Catalog and Namespace"
_PARTS = 3

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


def view_statements(query: Query, view: str) -> tuple[str, ...]:
    """Return the statements that create a view or replace it; none where its query cannot be told from its comments.

    Args:
        query: as for `listed_tables`.
        view: its qualified name.
    """
    name = _identifier(name_parts(view))
    described = [[str(value or "") for value in row] for row in query(f"DESCRIBE TABLE EXTENDED {name}")]
    columns = list(takewhile(lambda row: row[0] and not row[0].startswith("# "), described))
    details = {row[0]: row[1] for row in described[len(columns) :]}
    properties = {str(key): str(value) for key, value in query(f"SHOW TBLPROPERTIES {name}")}
    comment = properties.get("comment") or details.get("Comment", "")
    printed = str(query(f"SHOW CREATE TABLE {name}")[0][0])
    begin = _QUERY.search(printed)
    texts = (comment, *(row[2] for row in columns), *properties, *properties.values())
    if begin is None or any(map(_QUERY.search, texts)):
        return ()
    statement = _create_view(name, columns, comment, properties) + printed[begin.end() :].strip()
    sources = read(statement, "spark").sources
    if sources is not None and all(len(source.parts) >= _PARTS for source in sources):
        return (statement,)
    # Names in the query are relative to where the view was created.
    place = details.get(_PLACE)
    return (f"USE {_identifier(name_parts(place))}", statement) if place else (statement,)


def _create_view(name: str, columns: Sequence[Sequence[str]], comment: str, properties: Mapping[str, str]) -> str:
    """Return the statement up to its query.

    Args:
        columns: name, type and comment of each.
    """
    declared = (
        spark_identifier(column) + (f" COMMENT {literal(about)}" if about else "") for column, _, about in columns
    )
    pairs = (
        f"{literal(key)} = {literal(value)}" for key, value in properties.items() if not _OF_ENGINES.fullmatch(key)
    )
    between = ",\n  "
    lines = [f"CREATE OR REPLACE VIEW {name} (\n  {between.join(declared)}\n)"]
    lines += [f"COMMENT {literal(comment)}"] if comment else []
    lines += [f"TBLPROPERTIES (\n  {text}\n)"] if (text := between.join(pairs)) else []
    return "\n".join([*lines, "AS\n"])
