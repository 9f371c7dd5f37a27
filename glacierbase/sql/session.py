"""Statements that change no table: USE, SET, SHOW, DESCRIBE, GRANT, transactions and their kin."""

from __future__ import annotations

from glacierbase.sql.clauses import check_end, partition
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.maintenance import table_or_path
from glacierbase.sql.queries import Sources
from glacierbase.sql.statement import Name, ParsedStatement


def use(cursor: Cursor) -> ParsedStatement:
    """Read USE after that word."""
    cursor.skip_to(";")
    return ParsedStatement("use")


def set_(cursor: Cursor) -> ParsedStatement:
    """Read SET after that word; only `SET VAR` holds expressions."""
    if cursor.word() == "CATALOG" and cursor.word(1) not in (".", "="):
        cursor.skip_to(";")
        return ParsedStatement("use")
    if cursor.word() in ("VAR", "VARIABLE") or cursor.dialect == "snowflake":
        return ParsedStatement("set", (), Sources(cursor).rest().without())
    _skip_all(cursor)
    return ParsedStatement("set")


def reset(cursor: Cursor) -> ParsedStatement:
    """Read RESET after that word."""
    _skip_all(cursor)
    return ParsedStatement("reset")


def _skip_all(cursor: Cursor) -> None:
    """Move to the end; a value may be any text."""
    while cursor.word():
        cursor.next()


def show(cursor: Cursor) -> ParsedStatement:
    """Read SHOW after that word."""
    sources: tuple[Name, ...] | None = ()
    if cursor.dialect == "snowflake":
        sources = None
    elif cursor.take("CREATE", "TABLE") or cursor.take("PARTITIONS") or cursor.take("TBLPROPERTIES"):
        sources = (cursor.table(),)
    elif cursor.take("COLUMNS") and cursor.take_any("IN", "FROM"):
        sources = (_columns_of(cursor),)
    elif cursor.take("TABLE", "EXTENDED"):
        sources = _extended(cursor)
    elif cursor.take("INDEXES") and cursor.take_any("IN", "FROM"):
        sources = (cursor.table(),)
    cursor.skip_to(";")
    return ParsedStatement("show", (), sources)


def _extended(cursor: Cursor) -> tuple[Name, ...]:
    """Move past `[IN namespace] LIKE 'name' [PARTITION (…)]`; with a partition, the string is the name of a table."""
    space = cursor.table() if cursor.take_any("IN", "FROM") else Name((), (), ())
    cursor.take("LIKE")
    table = cursor.string() if cursor.is_string() else ""
    if not table or partition(cursor) is None:
        return ()
    return (Name((*space.parts, table), (*space.key, table.lower()), (*space.written, table)),)


def _columns_of(cursor: Cursor) -> Name:
    table = cursor.table()
    if not cursor.take_any("IN", "FROM"):
        return table
    space = cursor.table()
    if table.key[:-1] == space.key:
        return table
    return Name(space.parts + table.parts, space.key + table.key, space.written + table.written)


def describe(cursor: Cursor) -> ParsedStatement:
    """Read DESCRIBE after that word."""
    if cursor.dialect == "snowflake":
        cursor.skip_to(";")
        return ParsedStatement("describe", (), None)
    if cursor.word(1) not in ("", ".", ";") and cursor.take_any(
        "FUNCTION", "PROCEDURE", "DATABASE", "SCHEMA", "NAMESPACE", "CATALOG"
    ):
        cursor.skip_to(";")
        return ParsedStatement("describe")
    if cursor.take("QUERY") or cursor.word() in ("SELECT", "WITH", "FROM", "VALUES", "("):
        return ParsedStatement("describe", (), Sources(cursor).query().without())
    for words in (("TABLE", "HISTORY"), ("EXTENDED", "FORMATTED", "DETAIL")):
        if cursor.word(1) not in ("", ".", ";"):
            cursor.take_any(*words)
    table = table_or_path(cursor)
    cursor.skip_to(";")
    return ParsedStatement("describe", (), (table,))


def add_resource(cursor: Cursor) -> ParsedStatement:
    """Read ADD JAR and its kin after ADD; the rest is a path."""
    if not cursor.take_any("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES"):
        raise NotUnderstood(f"ADD {cursor.word()}")
    _skip_all(cursor)
    return ParsedStatement("add_resource")


def list_resources(cursor: Cursor) -> ParsedStatement:
    """Read LIST JARS and its kin after LIST."""
    _skip_all(cursor)
    return ParsedStatement("other")


def grant(cursor: Cursor) -> ParsedStatement:
    """Read GRANT after that word."""
    cursor.skip_to(";")
    return ParsedStatement("grant", (), None)


def revoke(cursor: Cursor) -> ParsedStatement:
    """Read REVOKE after that word."""
    cursor.skip_to(";")
    return ParsedStatement("revoke", (), None)


def transaction(cursor: Cursor) -> ParsedStatement:
    """Read COMMIT, ROLLBACK and START TRANSACTION after the first word."""
    cursor.take_any("TRANSACTION", "WORK")
    if cursor.take("NAME"):
        cursor.name()
    check_end(cursor)
    return ParsedStatement("transaction")


def declare(cursor: Cursor) -> ParsedStatement:
    """Read Spark's DECLARE VARIABLE after DECLARE."""
    return ParsedStatement("other", (), Sources(cursor).rest().without())
