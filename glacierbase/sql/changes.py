"""Statements on rows: INSERT, UPDATE, DELETE, MERGE, TRUNCATE, COPY, LOAD DATA; and queries.

https://spark.apache.org/docs/latest/sql-ref-syntax.html#dml-statements, https://docs.snowflake.com/en/sql-reference/sql/insert-multi-table
"""

from __future__ import annotations

from glacierbase.sql.conditions import condition
from glacierbase.sql.cursor import Cursor, UnsupportedClause, check_end, if_exists, partition, storage
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.queries import QUERY_WORDS, Sources
from glacierbase.sql.selects import select
from glacierbase.sql.statement import Condition, MergeClause, Name, Options, ParsedStatement

_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE")


def query(cursor: Cursor) -> ParsedStatement:
    """Read a query, or a statement that begins like one: `WITH … INSERT`, `FROM … INSERT …`."""
    sources = Sources(cursor)
    if cursor.word() == "WITH":
        sources.definitions()
        if cursor.word() in _CHANGES:
            return _CHANGE[cursor.next()](cursor, sources)
    if cursor.word() == "FROM":
        sources.start()
        if sources.until("INSERT"):
            return _inserts(cursor, sources)
    sources.query()
    check_end(cursor)
    return ParsedStatement("select", (), sources.without())


def _inserts(cursor: Cursor, sources: Sources) -> ParsedStatement:
    """Read one or more `INSERT … SELECT …` after the FROM that they share."""
    targets: list[Name] = []
    operation = ""
    while cursor.take("INSERT"):
        operation, target, _ = _insert_target(cursor, sources)
        targets += target
        sources.until("INSERT")
    check_end(cursor)
    if len(targets) > 1:
        operation = "insert_multi"
    return ParsedStatement(operation, _unique(targets), sources.without(*targets))


def insert(cursor: Cursor, sources: Sources | None = None) -> ParsedStatement:
    """Read INSERT after that word."""
    if cursor.dialect is SNOWFLAKE and (cursor.word() in ("ALL", "FIRST") or cursor.word(1) in ("ALL", "FIRST")):
        return _insert_all(cursor)
    sources = sources or Sources(cursor)
    operation, targets, options = _insert_target(cursor, sources)
    start = cursor.position
    sources.query()
    read = select(cursor.part(start), reads_target=any(map(sources.reads, targets)))
    check_end(cursor)
    return ParsedStatement(operation, targets, sources.without(*targets), options=options, query=read)


def _insert_all(cursor: Cursor) -> ParsedStatement:
    """Read Snowflake's `INSERT ALL WHEN … INTO … SELECT …`."""
    targets: list[Name] = []
    sources = Sources(cursor)
    while sources.until("INTO", "SELECT") and cursor.take("INTO"):
        targets.append(cursor.table())
    sources.query()
    check_end(cursor)
    return ParsedStatement("insert_multi", _unique(targets), sources.without(*targets))


def _insert_target(cursor: Cursor, sources: Sources) -> tuple[str, tuple[Name, ...], Options]:
    """Move past the target of an INSERT and the clauses before its query."""
    evolves = cursor.take("WITH", "SCHEMA", "EVOLUTION")
    overwrites = cursor.take("OVERWRITE")
    cursor.take("INTO")
    operation = "insert_overwrite" if overwrites else "insert"
    if overwrites and (cursor.take("LOCAL", "DIRECTORY") or (cursor.word() == "DIRECTORY" and _is_directory(cursor))):
        cursor.take("DIRECTORY")
        return operation, (), _directory(cursor)
    if cursor.word(1) not in ("", ".", "(", ";", "VALUES", "SELECT"):
        cursor.take("TABLE")
    target = cursor.table()
    if cursor.take("WITH", "("):  # Options of the writer.
        cursor.skip_to(")")
        cursor.expect(")")
        evolves = True  # An option may be `mergeSchema`.
    if_exists_not = False
    spec = partition(cursor)
    if spec:
        if_exists_not = cursor.take("IF", "NOT", "EXISTS")
    cursor.take("AS")
    if cursor.word() not in QUERY_WORDS | {"(", "BY", "REPLACE", "DEFAULT"}:
        cursor.name()  # An alias.
    columns = _columns(cursor)
    by_name = cursor.take("BY", "NAME")
    if cursor.take("REPLACE"):
        return "insert_overwrite", (target,), _replaced(cursor, sources, spec)
    cursor.take("DEFAULT")
    options = Options(by_name=by_name, columns=columns, partition=spec, if_not_exists=if_exists_not, evolves=evolves)
    return operation, (target,), options


def _replaced(cursor: Cursor, sources: Sources, spec: str | None) -> Options:
    """Move past `REPLACE WHERE condition` or `REPLACE USING (…)`, which come before the query."""
    start = cursor.position + 1
    if cursor.take("USING"):
        cursor.parentheses()
        return Options(where=True, partition=spec)
    if not cursor.take("WHERE") or not sources.until(*QUERY_WORDS):
        raise UnsupportedClause("REPLACE in an INSERT")
    return Options(where=True, condition=condition(cursor.part(start)), partition=spec)


def _columns(cursor: Cursor) -> tuple[str, ...]:
    """Move past the columns that an INSERT lists, but not past a query in parentheses."""
    ahead = 1
    while cursor.word(ahead) == "(":
        ahead += 1
    if cursor.word() != "(" or (cursor.word(ahead) in QUERY_WORDS and cursor.word(ahead + 1) not in (",", ")")):
        return ()
    cursor.next()
    columns = [".".join(cursor.path())]
    while cursor.take(","):
        columns.append(".".join(cursor.path()))
    cursor.expect(")")
    return tuple(columns)


def _is_directory(cursor: Cursor) -> bool:
    """Return whether DIRECTORY is not the name of a table."""
    return cursor.word(1) not in QUERY_WORDS | {"", ".", "(", "BY", "PARTITION"}


def _directory(cursor: Cursor) -> Options:
    location = cursor.string() if cursor.is_string() else None
    if cursor.take("USING"):
        cursor.path()
        if cursor.take("OPTIONS"):
            cursor.parentheses()
    else:
        storage(cursor)
    return Options(kind="directory", location=location)


def update(cursor: Cursor, sources: Sources | None = None) -> ParsedStatement:
    """Read UPDATE after that word."""
    target = cursor.table()
    return _rows("update", cursor, target, sources or Sources(cursor))


def delete(cursor: Cursor, sources: Sources | None = None) -> ParsedStatement:
    """Read DELETE after that word."""
    cursor.expect("FROM")
    target = cursor.table()
    return _rows("delete", cursor, target, sources or Sources(cursor))


def _rows(operation: str, cursor: Cursor, target: Name, sources: Sources) -> ParsedStatement:
    """Read the rest of an UPDATE or DELETE. Snowflake joins other tables by FROM or USING."""
    columns = _assigned(cursor.part_to_end()) if operation == "update" else ()
    if sources.until("USING", "WHERE") and cursor.take("USING"):
        sources.relations()
        sources.until("WHERE")
    where, start = cursor.word() == "WHERE", cursor.position + 1
    sources.rest()
    decided = condition(cursor.part(start)) if where else None
    check_end(cursor)
    options = Options(where=where, condition=decided, columns=columns)
    return ParsedStatement(operation, (target,), sources.without(target), options=options)


def _assigned(cursor: Cursor) -> tuple[str, ...]:
    """Return the columns that SET assigns, as the engine compares them."""
    columns: list[str] = []
    is_next = cursor.skip_to("SET")
    while is_next:
        cursor.next()
        try:
            columns.append(cursor.names()[-1])
        except UnsupportedClause:  # Of `SET (a, b) = …`, what it assigns is not determined.
            return ()
        is_next = cursor.skip_to(",", "WHERE", "FROM", ";") and cursor.word() == ","
    return tuple(columns)


def merge(cursor: Cursor, sources: Sources | None = None) -> ParsedStatement:
    """Read MERGE after that word."""
    sources = sources or Sources(cursor)
    evolves = cursor.take("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    target = cursor.table()
    start = cursor.position
    if not cursor.skip_to("USING"):
        raise UnsupportedClause("MERGE without USING")
    given = cursor.part(start)
    given.take("AS")
    alias = given.name() if len(given.words()) == 1 else target.key[-1]
    cursor.next()
    clauses = cursor.part_to_end()
    sources.relation()
    check_end(cursor)
    try:
        matches, parts = _merge_clauses(clauses)
    except UnsupportedClause:
        matches, parts = None, ()
    options = Options(evolves=evolves, condition=matches, alias=alias)
    return ParsedStatement("merge", (target,), sources.without(target), parts, options)


def _merge_clauses(cursor: Cursor) -> tuple[Condition | None, tuple[MergeClause, ...]]:
    """Return the condition after ON, and the WHEN clauses, from the cursor after USING."""
    cursor.skip_to("ON")
    cursor.expect("ON")
    start = cursor.position
    _skip_cases(cursor, "WHEN")
    matches, parts = condition(cursor.part(start)), []
    while cursor.word() == "WHEN":
        parts.append(_merge_clause(cursor))
        _skip_cases(cursor, "WHEN")
    return matches, tuple(parts)


def _merge_clause(cursor: Cursor) -> MergeClause:
    place = cursor.place()
    cursor.expect("WHEN")
    rows = "not matched" if cursor.take("NOT") else "matched"
    cursor.expect("MATCHED")
    rows += " by source" if cursor.take("BY", "SOURCE") else ""
    cursor.take("BY", "TARGET")
    start = cursor.position + 1
    only = cursor.take("AND")
    _skip_cases(cursor, "THEN")
    decided = condition(cursor.part(start)) if only else None
    cursor.expect("THEN")
    return MergeClause("merge", place, rows, cursor.next().lower(), decided)


def _skip_cases(cursor: Cursor, word: str) -> None:
    """Move to the next `word` of the same depth outside of CASE … END."""
    while cursor.skip_to(word, "CASE") and cursor.take("CASE"):
        depth = 1
        while depth and cursor.skip_to("CASE", "END"):
            depth += 1 if cursor.next() == "CASE" else -1


def truncate(cursor: Cursor) -> ParsedStatement:
    """Read TRUNCATE after that word."""
    if not cursor.take("MATERIALIZED", "VIEW"):
        cursor.take("TABLE")
    may_be_absent = if_exists(cursor)
    target = cursor.table()
    spec = partition(cursor)
    check_end(cursor)
    return ParsedStatement("truncate", (target,), options=Options(partition=spec, if_exists=may_be_absent))


def load(cursor: Cursor) -> ParsedStatement:
    """Read Hive's LOAD DATA after LOAD."""
    cursor.expect("DATA")
    cursor.take("LOCAL")
    cursor.expect("INPATH")
    location = cursor.string()
    cursor.take("OVERWRITE")
    cursor.expect("INTO", "TABLE")
    target = cursor.table()
    spec = partition(cursor)
    check_end(cursor)
    return ParsedStatement("copy", (target,), options=Options(location=location, partition=spec))


def copy(cursor: Cursor) -> ParsedStatement:
    """Read COPY INTO after COPY. A copy into a stage or a location changes no table."""
    cursor.take("FILES")
    cursor.expect("INTO")
    sources = Sources(cursor)
    if cursor.word() == "@" or cursor.is_string():
        targets: tuple[Name, ...] = ()
    else:
        targets = (cursor.table(),)
    sources.rest()
    check_end(cursor)
    return ParsedStatement("copy", targets, sources.without(*targets))


def _unique(names: list[Name]) -> tuple[Name, ...]:
    return tuple({name.key: name for name in names}.values())


_CHANGE = {"INSERT": insert, "UPDATE": update, "DELETE": delete, "MERGE": merge}
