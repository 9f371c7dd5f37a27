"""Statements that maintain tables: OPTIMIZE, VACUUM, RESTORE, ANALYZE, REFRESH, CACHE, MSCK REPAIR and their kin.

https://docs.delta.io/latest/optimizations-oss.html, https://docs.delta.io/latest/delta-utility.html,
https://spark.apache.org/docs/latest/sql-ref-syntax.html#auxiliary-statements
"""

from __future__ import annotations

from glacierbase.model.names import spark_identifier
from glacierbase.sql.clauses import check_end, if_exists, version
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.queries import Sources
from glacierbase.sql.statement import Name, Options, ParsedStatement, SessionEffect


def table_or_path(cursor: Cursor) -> Name:
    """Move past the name of a table, or its path in a string."""
    if not cursor.is_string():
        return cursor.table()
    path = cursor.string()
    return Name((path,), (path,), (spark_identifier(path),))


def optimize(cursor: Cursor) -> ParsedStatement:
    """Read OPTIMIZE after that word."""
    target = table_or_path(cursor)
    cursor.take("FULL")
    where = cursor.word() == "WHERE"
    if cursor.word() not in ("", ";", "WHERE", "ZORDER"):
        raise NotUnderstood(f"OPTIMIZE {target} {cursor.word()}")
    sources = Sources(cursor).rest().without(target)
    return ParsedStatement("optimize", (target,), sources, options=Options(where=where))


def reorg(cursor: Cursor) -> ParsedStatement:
    """Read REORG TABLE after REORG."""
    cursor.expect("TABLE")
    target = cursor.table()
    cursor.skip_to("APPLY")
    cursor.expect("APPLY")
    cursor.parentheses()
    return ParsedStatement("optimize", (target,))


def vacuum(cursor: Cursor) -> ParsedStatement:
    """Read VACUUM after that word."""
    target = table_or_path(cursor)
    retain, dry_run = None, False
    while cursor.word() not in ("", ";"):
        if cursor.take("RETAIN"):
            start = cursor.position
            cursor.skip_to("HOURS")
            cursor.expect("HOURS")
            retain = cursor.text_since(start)
        elif cursor.take("DRY", "RUN"):
            dry_run = True
        elif not cursor.take("USING", "INVENTORY") and not cursor.take_any("LITE", "FULL"):
            check_end(cursor)
        elif cursor.word(-1) == "INVENTORY":
            return ParsedStatement("vacuum", (target,), Sources(cursor).relation().without(target))
    return ParsedStatement("vacuum", (target,), options=Options(retain=retain, dry_run=dry_run))


def restore(cursor: Cursor) -> ParsedStatement:
    """Read RESTORE after that word."""
    cursor.take("TABLE")
    target = table_or_path(cursor)
    cursor.take("TO")
    if not version(cursor):
        raise NotUnderstood("RESTORE without a version")
    cursor.skip_to(";")
    return ParsedStatement("restore", (target,))


def analyze(cursor: Cursor) -> ParsedStatement:
    """Read ANALYZE after that word. ANALYZE TABLES is about a namespace."""
    if cursor.take("TABLES"):
        cursor.skip_to(";")
        return ParsedStatement("analyze")
    cursor.expect("TABLE")
    target = cursor.table()
    cursor.skip_to(";")
    return ParsedStatement("analyze", (target,))


def refresh(cursor: Cursor) -> ParsedStatement:
    """Read REFRESH after that word. REFRESH TABLE forgets what the session has cached, and changes nothing."""
    if cursor.take("FUNCTION"):
        cursor.table()
        return ParsedStatement("refresh")
    if cursor.take("MATERIALIZED", "VIEW") or cursor.take("STREAMING", "TABLE"):
        target = cursor.table()
        cursor.skip_to(";")
        return ParsedStatement("refresh", (target,), None)
    if cursor.take("INDEX"):
        cursor.skip_to("ON")
        cursor.expect("ON")
        return ParsedStatement("refresh", (cursor.table(),))
    if cursor.is_string():
        cursor.string()
        return ParsedStatement("refresh")
    if cursor.word(1) not in ("", ".", ";"):
        cursor.take("TABLE")
    if cursor.word(1) in ("", ".", ";") and "/" not in cursor.word():
        return ParsedStatement("refresh", (), (cursor.table(),))
    if cursor.word(1).isidentifier() and "/" not in cursor.word():
        raise NotUnderstood(f"REFRESH {cursor.word()}")
    cursor.skip_to(";")  # The text of a path without quotes.
    return ParsedStatement("refresh")


def cache(cursor: Cursor) -> ParsedStatement:
    """Read CACHE after that word."""
    cursor.take("LAZY")
    cursor.expect("TABLE")
    table = cursor.table()
    if cursor.take("OPTIONS"):
        cursor.parentheses()
    if cursor.word() in ("", ";"):
        return ParsedStatement("cache", (), (table,))
    cursor.take("AS")
    sources = Sources(cursor).query().without(table)
    return ParsedStatement("cache", (table,), sources, session=SessionEffect.UNKNOWN)  # A view that holds rows.


def uncache(cursor: Cursor) -> ParsedStatement:
    """Read UNCACHE TABLE after UNCACHE."""
    cursor.expect("TABLE")
    may_be_absent = if_exists(cursor)
    return ParsedStatement("uncache", (), (cursor.table(),), options=Options(if_exists=may_be_absent))


def clear(cursor: Cursor) -> ParsedStatement:
    """Read CLEAR CACHE after CLEAR."""
    cursor.expect("CACHE")
    return ParsedStatement("uncache")


def repair(cursor: Cursor) -> ParsedStatement:
    """Read MSCK REPAIR TABLE, and REPAIR TABLE, after the first word."""
    cursor.take("REPAIR")
    cursor.expect("TABLE")
    target = cursor.table()
    cursor.skip_to(";")
    return ParsedStatement("add_partition", (target,))


def repair_files(cursor: Cursor) -> ParsedStatement:
    """Read Databricks' FSCK REPAIR TABLE after FSCK."""
    cursor.expect("REPAIR", "TABLE")
    target = cursor.table()
    dry_run = cursor.take("DRY", "RUN")
    return ParsedStatement("other", (target,), options=Options(dry_run=dry_run))


def convert(cursor: Cursor) -> ParsedStatement:
    """Read CONVERT TO DELTA after CONVERT."""
    cursor.expect("TO", "DELTA")
    target = cursor.table()
    cursor.skip_to(";")
    return ParsedStatement("other", (target,))


def generate(cursor: Cursor) -> ParsedStatement:
    """Read GENERATE symlink_format_manifest FOR TABLE after GENERATE."""
    cursor.next()
    cursor.expect("FOR", "TABLE")
    target = table_or_path(cursor)
    return ParsedStatement("other", (target,))
