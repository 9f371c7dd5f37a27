"""Read one statement: choose the grammar by its first words.

The first words of a statement name its operation and the tables that it changes, and each clause of an ALTER has its own function.
sqlglot leaves all forms of Iceberg, Delta and Hudi opaque, has no scripts and no procedures, takes 70 to 100 ms to import, and
recurses; it could only determine what a query reads, which `queries` does from the same tokens in linear time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace

from glacierbase.errors import MigrationFileError
from glacierbase.sql import changes, maintenance, objects, session, snowflake
from glacierbase.sql.cursor import Cursor, UnsupportedClause, check_end
from glacierbase.sql.dialects import SNOWFLAKE, SPARK, dialect_of
from glacierbase.sql.scripts import Script
from glacierbase.sql.statement import (
    EVERY_MOVE,
    InnerStatement,
    ParsedStatement,
    Place,
    SessionEffect,
    not_understood,
)
from glacierbase.sql.subjects import subject_of

_Grammar = Callable[[Cursor], ParsedStatement]
_QUERY_STARTS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE")


def read_statement(sql: str, dialect: str) -> ParsedStatement:
    """Implement `glacierbase.sql.read`."""
    dialect_of(dialect)
    try:
        cursor = Cursor(sql, dialect)
        if cursor.holds_template():
            raise UnsupportedClause("a template that is not rendered")
        return read_words(cursor)
    except UnsupportedClause as why:
        return not_understood(str(why))
    except MigrationFileError as error:
        return not_understood(error.message)


def read_words(cursor: Cursor) -> ParsedStatement:
    """Read a statement that begins here and ends with the tokens; it may be marked as not understood."""
    subject = subject_of(copy(cursor)) if cursor.dialect is SNOWFLAKE else None
    try:
        if place := cursor.joined():
            raise UnsupportedClause(f"another statement begins in line {place.line}, column {place.column}")
        parsed = _understood(cursor)
    except UnsupportedClause as why:
        parsed = not_understood(str(why))
    return replace(parsed, subject=subject) if subject else parsed


def _understood(cursor: Cursor) -> ParsedStatement:
    """Read a statement.

    Raises:
        UnsupportedClause: its operation or its tables cannot be determined.
    """
    while cursor.take(";"):
        pass
    word = cursor.word()
    if _starts_script(cursor):
        return _ended(Script(cursor, read_words).parsed(), cursor)
    if cursor.dialect.name not in _HEADS and word not in cursor.dialect.heads:
        raise UnsupportedClause(f"a statement of {cursor.dialect.name} that begins with {word or 'nothing'}")
    if word in _QUERY_STARTS:
        return changes.query(cursor)
    if cursor.dialect is SPARK and (cursor.take("SET", "TAG", "ON") or cursor.take("UNSET", "TAG", "ON")):
        return _ended(objects.tag(cursor), cursor)
    grammar = _HEADS.get(cursor.dialect.name, _SHARED).get(word)
    if grammar is None:
        raise UnsupportedClause(f"a statement that begins with {word or 'nothing'}")
    cursor.next()
    return _ended(grammar(cursor), cursor)


def _ended(parsed: ParsedStatement, cursor: Cursor) -> ParsedStatement:
    check_end(cursor)
    return replace(parsed, unread=tuple(cursor.unread)) if cursor.unread else parsed


def _starts_script(cursor: Cursor) -> bool:
    facts, words = cursor.dialect, (cursor.word(), cursor.word(1))
    if facts.labels and words[1] == ":":
        return cursor.word(2) in facts.blocks
    return words[0] in facts.scripts and words[1] not in facts.transactions | {"", "TRANSACTION"}


def _explain(cursor: Cursor) -> ParsedStatement:
    """Read EXPLAIN after that word. `EXPLAIN EXECUTE IMMEDIATE` executes, and is not understood."""
    if cursor.take("USING"):  # Snowflake's format.
        cursor.next()
    cursor.take_any("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL")
    if cursor.word() in ("EXPLAIN", "EXECUTE") or _starts_script(cursor):
        raise UnsupportedClause(f"EXPLAIN {cursor.word()}")
    return ParsedStatement("explain", (), _understood(cursor).sources)


def _execute(cursor: Cursor) -> ParsedStatement:
    """Read EXECUTE IMMEDIATE after EXECUTE: it does what the statement, or the script, in its literal does."""
    cursor.expect("IMMEDIATE")
    opening, place = cursor.word(), cursor.place()
    text = cursor.string() if cursor.is_string() else None
    if text is None or cursor.word() not in ("", ";", "INTO", "USING"):
        raise UnsupportedClause("EXECUTE IMMEDIATE of text that is not a literal")
    cursor.skip_to(";")
    try:
        within = Cursor(text, cursor.dialect.name, Place(place.line, place.column + len(opening)))
    except MigrationFileError as error:
        raise UnsupportedClause(error.message) from error
    first = within.place()
    parsed = read_words(within)
    inner = parsed.inner or (InnerStatement(text.strip(), parsed, first),)
    if not parsed.understood:
        return not_understood(parsed.why, inner)
    is_clean = parsed.session is SessionEffect.NONE
    session, moves = (SessionEffect.NONE, frozenset[str]()) if is_clean else (SessionEffect.UNKNOWN, EVERY_MOVE)
    return ParsedStatement("script", parsed.targets, parsed.sources, session=session, moves=moves, inner=inner)


_SHARED: Mapping[str, _Grammar] = {
    "CREATE": objects.create, "DROP": objects.drop, "ALTER": objects.alter, "COMMENT": objects.comment,
    "INSERT": changes.insert, "UPDATE": changes.update, "DELETE": changes.delete, "MERGE": changes.merge,
    "UNDROP": objects.undrop, "TRUNCATE": changes.truncate, "COPY": changes.copy, "CALL": maintenance.call, "EXPLAIN": _explain,
    "USE": session.use, "SET": session.set_, "SHOW": session.show, "DESCRIBE": session.describe, "DESC": session.describe,
    "GRANT": session.grant, "REVOKE": session.revoke, "BEGIN": session.transaction, "START": session.transaction,
    "COMMIT": session.transaction, "ROLLBACK": session.transaction, "EXECUTE": _execute,
}  # fmt: skip
_SPARK: Mapping[str, _Grammar] = {
    "REPLACE": objects.replaced, "LOAD": changes.load,
    "OPTIMIZE": maintenance.optimize, "REORG": maintenance.reorg, "VACUUM": maintenance.vacuum,
    "RESTORE": maintenance.restore, "ANALYZE": maintenance.analyze, "REFRESH": maintenance.refresh,
    "CACHE": maintenance.cache, "UNCACHE": maintenance.uncache, "CLEAR": maintenance.clear, "MSCK": maintenance.repair,
    "FSCK": maintenance.repair_files,    "REPAIR": maintenance.repair, "CONVERT": maintenance.convert,
    "GENERATE": maintenance.generate,
    "RESET": session.reset, "ADD": session.add_resource, "LIST": session.list_resources, "DECLARE": session.declare,
}  # fmt: skip
_SNOWFLAKE: Mapping[str, _Grammar] = {
    "UNSET": session.reset, "PUT": snowflake.files, "GET": snowflake.files,
    "LIST": snowflake.files, "LS": snowflake.files, "REMOVE": snowflake.files, "RM": snowflake.files,
}  # fmt: skip
_HEADS: Mapping[str, Mapping[str, _Grammar]] = {
    SPARK.name: {**_SHARED, **_SPARK},
    SNOWFLAKE.name: {**_SHARED, **_SNOWFLAKE},
}
