"""Statements that change no table: USE, SET, SHOW, DESCRIBE, GRANT, transactions and the like."""

from __future__ import annotations

import re
from copy import copy

from glacierbase.sql.cursor import Cursor, UnsupportedClause, check_end, partition
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.maintenance import table_or_path
from glacierbase.sql.queries import Sources
from glacierbase.sql.statement import EVERY_MOVE, Name, Options, ParsedStatement, SessionEffect

_KINDS = {
    **dict.fromkeys(("CATALOG", "DATABASE"), "catalog"),
    **dict.fromkeys(("NAMESPACE", "SCHEMA"), "namespace"),
    **{word: word.lower() for word in ("ROLE", "WAREHOUSE", "SECONDARY")},
}
_SPARK_KINDS = {**_KINDS, "DATABASE": "namespace"}
# The words that may occur in an expression of constant value; functions are not among them.
_CONSTANT_WORDS = frozenset({"NULL", "TRUE", "FALSE", "DATE", "TIMESTAMP", "INTERVAL", "AND", "OR", "NOT"})

# Spark computes others, such as DATE 'today': https://spark.apache.org/docs/latest/sql-ref-literals.html#datetime-literal
_INSTANT = re.compile(r"\s*[+-]?\d")


def use(cursor: Cursor) -> ParsedStatement:
    """Read USE after that word.

    https://docs.snowflake.com/en/sql-reference/sql/use, https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-usedb.html
    """
    kinds = _SPARK_KINDS if cursor.dialect is SPARK else _KINDS
    kind = kinds[cursor.next()] if cursor.word() in kinds and cursor.word(1) not in ("", ".", ";") else ""
    if kind == "secondary":
        cursor.expect("ROLES")
    return _selection(cursor, kind)


def _selection(cursor: Cursor, kind: str) -> ParsedStatement:
    selected: Name | None = None
    if not _is_computed(cursor):
        selected = cursor.table() if not cursor.is_string() else _named(cursor.string())
    if selected is None or kind == "secondary":  # A computed name, or a list of roles.
        cursor.skip_to(";")
    if cursor.dialect is SNOWFLAKE and not kind and selected:
        kind = "namespace" if len(selected.parts) > 1 else "catalog"
    effect = SessionEffect.SET if selected else SessionEffect.UNKNOWN
    return ParsedStatement(
        "use", options=Options(kind), session=effect, selected=selected, moves=_moved(kind, selected)
    )


def _moved(kind: str, selected: Name | None) -> frozenset[str]:
    """Return what USE may change: a selected catalog has its own current namespace, and a qualified name selects both."""
    if kind not in ("", "catalog", "namespace"):
        return frozenset()
    is_namespace = kind == "namespace" and selected is not None and len(selected.parts) == 1
    return frozenset({"namespace"}) if is_namespace else EVERY_MOVE


def _is_computed(cursor: Cursor) -> bool:
    return (cursor.word() == "IDENTIFIER" and cursor.word(1) == "(") or cursor.word()[:1] == "$"


def _named(text: str) -> Name:
    return Name((text,), (text.lower(),), (text,))


def set_(cursor: Cursor) -> ParsedStatement:
    """Read SET after that word; `SET VAR`, and SET on Snowflake, hold expressions."""
    if cursor.word() == "CATALOG" and cursor.word(1) not in (".", "="):
        cursor.next()
        return _selection(cursor, "catalog")
    if cursor.word() in ("VAR", "VARIABLE") or cursor.dialect is SNOWFLAKE:
        return _assignment("set", cursor)
    start = cursor.position
    cursor.skip_all()
    text = cursor.text_since(start)
    if not re.search(r"=|(?i:\ATIME\s+ZONE\b)", text):
        return ParsedStatement("set")  # It shows settings.
    of_machine = re.match(r"(?i)TIME\s+ZONE\s+LOCAL\b", text)
    effect = SessionEffect.UNKNOWN if of_machine else SessionEffect.SET
    return ParsedStatement("set", session=effect, moves=_moved_by_setting(text))


def _moved_by_setting(text: str) -> frozenset[str]:
    """Return what a setting of Spark such as `spark.sql.defaultCatalog` may move."""
    return EVERY_MOVE if "catalog" in text.lower() else frozenset()


def _assignment(operation: str, cursor: Cursor, *words: str) -> ParsedStatement:
    """Read up to a value, which follows `=` or one of the words, and then the value: an expression or a query."""
    ahead = copy(cursor)
    ahead.skip_others(frozenset({"=", *words}))
    ahead.next()
    effect = SessionEffect.SET if _is_constant(ahead) else SessionEffect.UNKNOWN
    return ParsedStatement(operation, (), Sources(cursor).rest().without(), session=effect)


def _is_constant(cursor: Cursor) -> bool:
    """Return whether the rest is empty or a value that does not depend on when it is computed."""
    while word := cursor.word():
        is_name = word[0] in ("_", "`", '"') or word[0].isalpha()
        if is_name and not cursor.is_string() and word not in _CONSTANT_WORDS:
            return False
        cursor.next()
        if word in ("DATE", "TIMESTAMP") and cursor.is_string() and not _INSTANT.match(cursor.string()):
            return False
    return True


def reset(cursor: Cursor) -> ParsedStatement:
    """Read RESET of Spark, or UNSET of Snowflake, after that word."""
    start = cursor.position
    cursor.skip_all()
    moves = _moved_by_setting(cursor.text_since(start)) if cursor.dialect is SPARK else frozenset[str]()
    return ParsedStatement("reset", session=SessionEffect.SET, moves=moves)


def show(cursor: Cursor) -> ParsedStatement:
    """Read SHOW after that word."""
    sources: tuple[Name, ...] | None = ()
    if cursor.dialect is not SPARK:
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
    if cursor.dialect is not SPARK:
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
    """Read ADD JAR and the like after ADD; the rest is a path."""
    if not cursor.take_any("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES"):
        raise UnsupportedClause(f"ADD {cursor.word()}")
    cursor.skip_all()
    return ParsedStatement("add_resource", session=SessionEffect.SET)


def list_resources(cursor: Cursor) -> ParsedStatement:
    """Read LIST JARS and the like after LIST."""
    cursor.skip_all()
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
    return _assignment("other", cursor, "DEFAULT")
