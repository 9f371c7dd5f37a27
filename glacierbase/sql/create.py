"""CREATE and REPLACE of tables and views, in Spark, Delta, Hudi and Snowflake, and declarations of columns.

ADD COLUMNS, REPLACE COLUMNS and Hive's CHANGE COLUMN also declare columns.

https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-create-table.html, https://docs.delta.io/latest/delta-utility.html,
https://iceberg.apache.org/docs/latest/spark-ddl/, https://docs.snowflake.com/en/sql-reference/sql/create-table
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from glacierbase.sql.cursor import (
    Cursor,
    UnsupportedClause,
    if_not_exists,
    listed_paths,
    properties,
    storage,
    transform,
    version,
)
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.queries import QUERY_WORDS, Sources
from glacierbase.sql.selects import select
from glacierbase.sql.statement import (
    ColumnClause,
    Constraint,
    Fields,
    Name,
    Options,
    ParsedStatement,
    Part,
    PartitionClause,
    Property,
    Query,
    Transform,
)


@dataclass(slots=True)
class Creation:
    """The parts of a CREATE that have been read.

    Attributes:
        sources: the tables that it copies or reads; None where a name is computed.
        as_query: whether a query fills the table.
        clauses: the first words of its clauses.
    """

    target: Name
    options: Options
    parts: list[Part] = field(default_factory=list)
    sources: tuple[Name, ...] | None = ()
    as_query: bool = False
    query: Query | None = None
    clauses: list[str] = field(default_factory=list)

    def parsed(self, operation: str) -> ParsedStatement:
        parts = tuple(self.parts)
        return ParsedStatement(operation, (self.target,), self.sources, parts, self.options, query=self.query)


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
        raise UnsupportedClause("a view without a query")
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
    if word in creation.clauses or word in _UNREAD or (word == "WITH" and cursor.word(1) == "ROW"):
        cursor.note(f"the clause {word}")
    creation.clauses.append(word)
    if word in clauses:
        clauses[word](cursor, creation)
    elif cursor.take("WITH", "ROW", "FILTER"):
        cursor.table()
        cursor.expect("ON")
        cursor.parentheses()
    elif _starts_query(cursor) or (word in ("WITH", "TABLE", "(") and cursor.dialect is SPARK):
        _query(cursor, creation)
    elif cursor.dialect is SPARK:
        raise UnsupportedClause(f"{word} in CREATE TABLE")
    elif cursor.word(1) == "=" and cursor.word(2)[:1].isalnum():
        place, _, value_place = cursor.place(), cursor.take(word, "="), cursor.place()
        creation.parts.append(Property("create_table", place, word, cursor.next(), value_place))
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
    creation.as_query, start = True, cursor.position
    sources = Sources(cursor).query()
    creation.sources = sources.without(creation.target)
    creation.query = select(cursor.part(start), reads_target=sources.reads(creation.target))


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
    if cursor.take("SHALLOW", "CLONE"):
        creation.options = replace(creation.options, shallow=True)
    elif not cursor.take("DEEP", "CLONE"):
        cursor.expect("CLONE")
    source = cursor.table()
    creation.sources = (source,) if source.key != creation.target.key else ()
    if version(cursor):
        cursor.skip_to("TBLPROPERTIES", "LOCATION", ";")
    elif cursor.word() in ("AT", "BEFORE") and cursor.word(1) == "(":
        cursor.next()
        cursor.parentheses()


def _partitioned(cursor: Cursor, creation: Creation) -> None:
    """Read `PARTITIONED BY (…)`: transforms, columns, and declarations of columns, `(day date)`."""
    cursor.next()
    cursor.expect("BY")
    for _ in cursor.items():
        place = cursor.place()
        if cursor.word(1) in (",", ")", "(", "."):
            creation.parts.append(PartitionClause("create_table", place, transform(cursor)))
        else:
            declared = column(cursor, "create_table")
            field = Transform(f"`{declared.path[-1]}`", "", declared.path)
            creation.parts += [declared, PartitionClause("create_table", place, field)]


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
        raise UnsupportedClause("a location that is no string")


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

# Clauses that are read past.
_UNREAD = ("CLUSTERED", "OPTIONS", "ROW", "STORED", "DEFAULT", "CLONE", "SHALLOW", "DEEP", "LIKE")
# Words that may follow the type of a column, up to the next comma.
OPTIONS = frozenset(
    {
        "NOT", "NULL", "COMMENT", "DEFAULT", "GENERATED", "PRIMARY", "UNIQUE", "CHECK", "CONSTRAINT", "REFERENCES",
        "FOREIGN", "COLLATE", "IDENTITY", "AUTOINCREMENT", "START", "MASKING", "WITH", "TAG", "PROJECTION", "AS",
        "ORDER", "NOORDER", "FIRST", "AFTER", "ENFORCED", "RELY",
    }
)  # fmt: skip
# The first two words of clauses of CREATE, ADD or DROP that are not about columns; an empty second word matches any.
_NO_COLUMN = frozenset(
    {
        ("CONSTRAINT", ""), ("PRIMARY", "KEY"), ("FOREIGN", "KEY"), ("UNIQUE", "("), ("CHECK", "("), ("PARTITION", "FIELD"),
        ("PARTITION", "("), ("ROW", "ACCESS"), ("ALL", "ROW"), ("SEARCH", "OPTIMIZATION"), ("CLUSTERING", "KEY"),
        ("IDENTIFIER", "FIELDS"), ("AGGREGATION", "POLICY"), ("JOIN", "POLICY"), ("DATA", "METRIC"), ("STORAGE", "LIFECYCLE"),
    }
)  # fmt: skip


_ENDS = ("", ",", ")", ";")


def is_about_columns(cursor: Cursor) -> bool:
    """Return whether the clause that begins here is about a column, not about a constraint, a partition and so on."""
    word, following = cursor.word(), cursor.word(1)
    return (word, following) not in _NO_COLUMN and (word, "") not in _NO_COLUMN


def column_list(cursor: Cursor, operation: str) -> Iterator[Part]:
    """Yield the columns and constraints of a list in parentheses."""
    for _ in cursor.items():
        if is_about_columns(cursor):
            yield column(cursor, operation)
        else:
            yield constraint(cursor, "add_constraint")


def constraint(cursor: Cursor, operation: str) -> Constraint:
    """Read a constraint up to the next comma, closing parenthesis or semicolon of the same depth."""
    place, name = cursor.place(), None
    if cursor.take("CONSTRAINT"):
        name = cursor.path()[0]
    start = cursor.position
    cursor.skip_to(",", ")", ";")
    return Constraint(operation, place, name, cursor.text_since(start))


def column(cursor: Cursor, operation: str) -> ColumnClause:
    """Read the declaration of a column."""
    place, name = cursor.place(), cursor.table()
    if cursor.take(":"):
        cursor.note("a colon after the name of a column")
    options: dict[str, str | bool] = {}
    spelling = column_type(cursor) if cursor.word() not in OPTIONS or cursor.word() in _ENDS else None
    while cursor.word() not in _ENDS:
        _option(cursor, options)
    return ColumnClause(
        operation, place, name.parts, spelling or None, nullable=not options.get("required"), default=_text(options, "default"),
        generated=_text(options, "generated"), comment=_text(options, "comment"), position=_text(options, "position"), key=name.key,
        primary_key=bool(options.get("primary_key")),
    )  # fmt: skip


# The words of a type after its first one; UNSIGNED is MySQL's, which a rule of `lint` names.
_IN_TYPES = frozenset(
    {
        "PRECISION", "VARYING", "WITH", "WITHOUT", "LOCAL", "TIME", "ZONE", "TO", "YEAR", "MONTH", "DAY", "HOUR", "MINUTE",
        "SECOND", "UNSIGNED",
    }
)  # fmt: skip


def column_type(cursor: Cursor) -> str:
    """Move past a type, and return its text."""
    start = cursor.position
    while cursor.word() not in _ENDS and (cursor.position == start or cursor.word() not in OPTIONS):
        if cursor.word() == "(":
            cursor.parentheses()
        elif cursor.word() == "<":
            _angles(cursor)
        elif cursor.position == start or cursor.word() in _IN_TYPES or cursor.take("."):
            cursor.next()
        else:
            raise UnsupportedClause(f"{cursor.word()} after a type")
    return cursor.text_since(start)


def position(cursor: Cursor) -> str | None:
    """Read FIRST or AFTER and a name; return None where there is neither."""
    if cursor.take("FIRST"):
        return "first"
    if not cursor.take("AFTER"):
        return None
    path = cursor.path()
    if len(path) > 1 and cursor.dialect is SPARK:
        raise UnsupportedClause("a dot in the name after AFTER")
    return f"after {'.'.join(path)}"


def expression(cursor: Cursor, *ends: str) -> str:
    """Read an expression up to one of these words or the end of the clause, and return its text."""
    start = cursor.position
    cursor.skip_to(",", ")", ";", *ends)
    return cursor.text_since(start)


def _angles(cursor: Cursor) -> None:
    depth = 0
    while word := cursor.next():
        depth += (word == "<") - (word == ">")
        if not depth:
            return
    raise UnsupportedClause("< that nothing closes")


def _text(options: Mapping[str, str | bool], key: str) -> str | None:
    value = options.get(key)
    return value if isinstance(value, str) else None


def _option(cursor: Cursor, options: dict[str, str | bool]) -> None:
    """Read one option of a column into `options`."""
    word = cursor.next()
    if word in options or word not in (*_READ, "FIRST", "AFTER"):
        cursor.note(f"the option {word} of a column")
    options[word] = True
    if word in _READ:
        _READ[word](cursor, options)
    elif word in ("FIRST", "AFTER"):
        options["position"] = "first" if word == "FIRST" else f"after {'.'.join(cursor.path())}"
    elif word not in OPTIONS and cursor.dialect is SPARK:
        raise UnsupportedClause(f"{word} in a column")
    else:
        cursor.skip_to(",", ")", ";", *OPTIONS)


def _not_null(cursor: Cursor, options: dict[str, str | bool]) -> None:
    if cursor.take_any("ENFORCED", "DEFERRABLE"):
        cursor.note("the option NOT of a column")
        return
    cursor.expect("NULL")
    options["required"] = True


def _primary_key(cursor: Cursor, options: dict[str, str | bool]) -> None:
    cursor.expect("KEY")
    options["primary_key"] = True


def _column_comment(cursor: Cursor, options: dict[str, str | bool]) -> None:
    options["comment"] = cursor.string()


def _default(cursor: Cursor, options: dict[str, str | bool]) -> None:
    options["default"] = expression(cursor, *(OPTIONS - {"NULL", "AS"}))


def _generated(cursor: Cursor, options: dict[str, str | bool]) -> None:
    cursor.skip_to("AS")
    cursor.expect("AS")
    options["generated"] = expression(cursor, *OPTIONS)


_READ: Mapping[str, Callable[[Cursor, dict[str, str | bool]], None]] = {
    "NOT": _not_null,
    "PRIMARY": _primary_key,
    "COMMENT": _column_comment,
    "DEFAULT": _default,
    "GENERATED": _generated,
}
