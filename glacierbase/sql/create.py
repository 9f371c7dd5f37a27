"""CREATE and REPLACE of tables and views, of Spark, Delta, Hudi and Snowflake, and declarations of columns.

Columns are declared by ADD COLUMNS, REPLACE COLUMNS and Hive's CHANGE COLUMN, too.

https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-create-table.html, https://docs.delta.io/latest/delta-utility.html,
https://iceberg.apache.org/docs/latest/spark-ddl/, https://docs.snowflake.com/en/sql-reference/sql/create-table
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from glacierbase.sql.cursor import (
    Cursor,
    NotUnderstood,
    if_not_exists,
    listed_paths,
    properties,
    storage,
    transform,
    version,
)
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.queries import QUERY_WORDS, Sources
from glacierbase.sql.statement import (
    Column,
    Constraint,
    Fields,
    Name,
    Options,
    ParsedStatement,
    Part,
    PartitionField,
    Transform,
)


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
    word, clauses = cursor.word(), _CLAUSES.get(cursor.dialect.name, _SHARED)
    if word in clauses:
        clauses[word](cursor, creation)
    elif cursor.take("WITH", "ROW", "FILTER"):
        cursor.table()
        cursor.expect("ON")
        cursor.parentheses()
    elif _starts_query(cursor) or (word in ("WITH", "TABLE", "(") and cursor.dialect is SPARK):
        _query(cursor, creation)
    elif cursor.dialect is SPARK:
        raise NotUnderstood(f"{word} in CREATE TABLE")
    else:
        cursor.parentheses() if word == "(" else cursor.next()


def _read_view_clause(cursor: Cursor, creation: Creation) -> None:
    """Move past a clause of a view; vendors have many of them, and none names a table before AS."""
    word, clauses = cursor.word(), _CLAUSES.get(cursor.dialect.name, _SHARED)
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
    if cursor.dialect is SNOWFLAKE and cursor.word() == "(":
        creation.as_query, creation.sources = True, None  # REFRESH USING (…) of a dynamic table.
        cursor.parentheses()
        return
    if cursor.dialect is SNOWFLAKE and cursor.take("TEMPLATE"):
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
    if cursor.dialect is SNOWFLAKE and not cursor.take("BY"):
        return
    cursor.take("BY")
    creation.parts.append(Fields("cluster_by", place, cluster_fields(cursor)))


def cluster_fields(cursor: Cursor) -> tuple[str, ...]:
    """Move past the columns of CLUSTER BY, AUTO or NONE, and return the columns."""
    if cursor.take_any("AUTO", "NONE"):
        return ()
    if cursor.dialect is SNOWFLAKE:
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
    elif cursor.dialect is SPARK:
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
    SPARK.name: {
        **_SHARED, "SHALLOW": _clone, "DEEP": _clone, "PARTITIONED": _partitioned, "CLUSTERED": _clustered,
        "TBLPROPERTIES": _properties, "OPTIONS": _options, "ROW": _storage, "STORED": _storage, "DEFAULT": _collation,
    },
}  # fmt: skip


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
    elif word not in OPTIONS and cursor.dialect is SPARK:
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


def _column_comment(cursor: Cursor, found: dict[str, str | bool]) -> None:
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
    "COMMENT": _column_comment,
    "DEFAULT": _default,
    "GENERATED": _generated,
}
