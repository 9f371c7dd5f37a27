"""CREATE and REPLACE of tables and views, of Spark, Delta, Hudi and Snowflake.

https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-create-table.html, https://docs.delta.io/latest/delta-utility.html,
https://docs.snowflake.com/en/sql-reference/sql/create-table
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from glacierbase.sql.clauses import (
    if_not_exists,
    listed_paths,
    properties,
    storage,
    transform,
    version,
)
from glacierbase.sql.columns import column, column_list
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.parts import Fields, Part, PartitionField, Transform
from glacierbase.sql.queries import QUERY_WORDS, Sources
from glacierbase.sql.statement import Name, Options, ParsedStatement


@dataclass(slots=True)
class Creation:
    """What is read of a CREATE so far.

    Attributes:
        sources: the tables that it copies or reads; None where a name is computed.
        as_query: whether a query fills it.
    """

    target: Name
    options: Options
    parts: list[Part] = field(default_factory=list)
    sources: tuple[Name, ...] | None = ()
    as_query: bool = False

    def parsed(self, operation: str) -> ParsedStatement:
        return ParsedStatement(operation, (self.target,), self.sources, tuple(self.parts), self.options)


def create_table(cursor: Cursor, options: Options) -> ParsedStatement:
    """Read CREATE TABLE after the word TABLE."""
    creation = _head(cursor, options)
    if cursor.word() == "(" and cursor.word(1) not in QUERY_WORDS - {"TABLE", "MAP", "REDUCE"}:
        creation.parts += column_list(cursor, "create_table")
    while cursor.word() not in ("", ";"):
        _read_clause(cursor, creation)
    as_query = "create_table_as" if creation.as_query else "create_table"
    return creation.parsed("replace_table" if options.or_replace else as_query)


def create_view(cursor: Cursor, options: Options) -> ParsedStatement:
    """Read CREATE VIEW after the word VIEW."""
    creation = _head(cursor, options)
    if cursor.word() == "(":
        creation.parts += column_list(cursor, "create_view")
    while not _starts_query(cursor) and cursor.word() not in ("", ";"):
        _read_view_clause(cursor, creation)
    if cursor.word() not in ("", ";"):
        _query(cursor, creation)
    elif creation.options.using is None:
        raise NotUnderstood("a view without a query")
    return creation.parsed("replace_view" if options.or_replace else "create_view")


def _head(cursor: Cursor, options: Options) -> Creation:
    """Move past the name, and IF NOT EXISTS on either side of it: Snowflake allows both."""
    exists = if_not_exists(cursor)
    target = cursor.table()
    exists = if_not_exists(cursor) or exists
    return Creation(target, replace(options, if_not_exists=exists))


def _starts_query(cursor: Cursor) -> bool:
    return cursor.word() == "AS" or (cursor.word() in ("SELECT", "FROM", "VALUES"))


def _read_clause(cursor: Cursor, creation: Creation) -> None:
    word, clauses = cursor.word(), _CLAUSES[cursor.dialect]
    if word in clauses:
        clauses[word](cursor, creation)
    elif cursor.take("WITH", "ROW", "FILTER"):
        cursor.table()
        cursor.expect("ON")
        cursor.parentheses()
    elif _starts_query(cursor) or (word in ("WITH", "TABLE", "(") and cursor.dialect == "spark"):
        _query(cursor, creation)
    elif cursor.dialect == "spark":
        raise NotUnderstood(f"{word} in CREATE TABLE")
    else:
        cursor.parentheses() if word == "(" else cursor.next()


def _read_view_clause(cursor: Cursor, creation: Creation) -> None:
    """Move past a clause of a view; vendors have many of them, and none names a table before AS."""
    word, clauses = cursor.word(), _CLAUSES[cursor.dialect]
    if word in clauses and word in ("COMMENT", "TBLPROPERTIES", "USING", "COPY"):
        clauses[word](cursor, creation)
    elif word == "(":
        cursor.parentheses()
    else:
        cursor.next()


def _query(cursor: Cursor, creation: Creation) -> None:
    cursor.take("AS")
    creation.as_query = True
    creation.sources = Sources(cursor).query().without(creation.target)


def _using(cursor: Cursor, creation: Creation) -> None:
    cursor.next()
    if cursor.dialect == "snowflake" and cursor.word() == "(":
        creation.as_query, creation.sources = True, None  # REFRESH USING (…) of a dynamic table.
        cursor.parentheses()
        return
    if cursor.dialect == "snowflake" and cursor.take("TEMPLATE"):
        creation.as_query = True
        creation.sources = Sources(cursor).rest().without(creation.target)
        return
    creation.options = replace(creation.options, using=".".join(cursor.path()).lower())


def _like(cursor: Cursor, creation: Creation) -> None:
    cursor.next()
    source = cursor.table()
    creation.sources = (source,) if source.key != creation.target.key else ()


def _clone(cursor: Cursor, creation: Creation) -> None:
    if not cursor.take("SHALLOW", "CLONE") and not cursor.take("DEEP", "CLONE"):
        cursor.expect("CLONE")
    source = cursor.table()
    creation.sources = (source,) if source.key != creation.target.key else ()
    if version(cursor):
        cursor.skip_to("TBLPROPERTIES", "LOCATION", ";")
    elif cursor.word() in ("AT", "BEFORE") and cursor.word(1) == "(":
        cursor.next()
        cursor.parentheses()


def _partitioned(cursor: Cursor, creation: Creation) -> None:
    """Read `PARTITIONED BY (…)`: transforms, columns, and columns that are declared here, `(day date)`."""
    cursor.next()
    cursor.expect("BY", "(")
    while not cursor.take(")"):
        place = cursor.place()
        if cursor.word(1) in (",", ")", "(", "."):
            creation.parts.append(PartitionField("create_table", place, transform(cursor)))
        else:
            declared = column(cursor, "create_table")
            field = Transform(f"`{declared.path[-1]}`", "", declared.path)
            creation.parts += [declared, PartitionField("create_table", place, field)]
        if cursor.word() != ")":
            cursor.expect(",")


def _clustered(cursor: Cursor, _: Creation) -> None:
    """Move past Hive's `CLUSTERED BY (…) [SORTED BY (…)] INTO n BUCKETS`, which is about files."""
    cursor.next()
    cursor.expect("BY")
    cursor.parentheses()
    if cursor.take("SORTED", "BY"):
        cursor.parentheses()
    cursor.expect("INTO")
    cursor.next()
    cursor.expect("BUCKETS")


def _cluster(cursor: Cursor, creation: Creation) -> None:
    place = cursor.place()
    cursor.next()
    if cursor.dialect == "snowflake" and not cursor.take("BY"):
        return
    cursor.take("BY")
    creation.parts.append(Fields("cluster_by", place, cluster_fields(cursor)))


def cluster_fields(cursor: Cursor) -> tuple[str, ...]:
    """Move past the columns of CLUSTER BY, AUTO or NONE, and return the columns."""
    if cursor.take_any("AUTO", "NONE"):
        return ()
    if cursor.dialect == "snowflake":
        cursor.take("LINEAR")
        return (cursor.parentheses(),) if cursor.word() == "(" else listed_paths(cursor)
    return () if cursor.take("(", ")") else listed_paths(cursor)


def _comment(cursor: Cursor, creation: Creation) -> None:
    cursor.next()
    cursor.take("=")
    if cursor.is_string():
        creation.options = replace(creation.options, comment=cursor.string())


def _location(cursor: Cursor, creation: Creation) -> None:
    cursor.next()
    cursor.take("=")
    if cursor.is_string():
        creation.options = replace(creation.options, location=cursor.string())
    elif cursor.dialect == "spark":
        raise NotUnderstood("a location that is no string")


def _properties(cursor: Cursor, creation: Creation) -> None:
    cursor.next()
    creation.parts += properties(cursor, "create_table")


def _options(cursor: Cursor, _: Creation) -> None:
    cursor.next()
    cursor.parentheses()


def _storage(cursor: Cursor, _: Creation) -> None:
    storage(cursor)


def _collation(cursor: Cursor, _: Creation) -> None:
    cursor.next()
    cursor.expect("COLLATION")
    cursor.next()


def _grants(cursor: Cursor, creation: Creation) -> None:
    cursor.next()
    if cursor.take("GRANTS"):
        creation.options = replace(creation.options, copy_grants=True)


_SHARED: Mapping[str, Callable[[Cursor, Creation], None]] = {
    "USING": _using, "LIKE": _like, "CLONE": _clone, "CLUSTER": _cluster, "COMMENT": _comment, "LOCATION": _location,
    "COPY": _grants,
}  # fmt: skip
_CLAUSES: Mapping[str, Mapping[str, Callable[[Cursor, Creation], None]]] = {
    "snowflake": _SHARED,
    "spark": {
        **_SHARED, "SHALLOW": _clone, "DEEP": _clone, "PARTITIONED": _partitioned, "CLUSTERED": _clustered,
        "TBLPROPERTIES": _properties, "OPTIONS": _options, "ROW": _storage, "STORED": _storage, "DEFAULT": _collation,
    },
}  # fmt: skip
