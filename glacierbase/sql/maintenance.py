"""Maintenance of tables: OPTIMIZE, VACUUM, REFRESH, CACHE and the like; CALL of the procedures of Iceberg and Hudi.

https://docs.delta.io/latest/optimizations-oss.html, https://docs.delta.io/latest/delta-utility.html,
https://spark.apache.org/docs/latest/sql-ref-syntax.html#auxiliary-statements,
https://iceberg.apache.org/docs/latest/spark-procedures/, https://hudi.apache.org/docs/procedures
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from glacierbase.errors import MigrationFileError
from glacierbase.model.names import spark_identifier
from glacierbase.sql.cursor import Cursor, UnsupportedClause, check_end, if_exists, version
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.queries import Sources
from glacierbase.sql.statement import Argument, Call, Name, Options, ParsedStatement, SessionEffect


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
        raise UnsupportedClause(f"OPTIMIZE {target} {cursor.word()}")
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
        raise UnsupportedClause("RESTORE without a version")
    cursor.skip_to(";")
    return ParsedStatement("restore", (target,))


def analyze(cursor: Cursor) -> ParsedStatement:
    """Read ANALYZE after that word. ANALYZE TABLES names a namespace."""
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
        raise UnsupportedClause(f"REFRESH {cursor.word()}")
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


# Procedures of Iceberg, with the names of their first arguments. `table` is changed, except by `_READERS`.
_ICEBERG = {
    "snapshot": ("source_table", "table"),
    "add_files": ("table", "source_table"),
    **dict.fromkeys(
        (
            "rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot", "cherrypick_snapshot", "publish_changes",
            "fast_forward", "expire_snapshots", "remove_orphan_files", "rewrite_data_files", "rewrite_manifests",
            "rewrite_position_delete_files", "migrate", "register_table", "ancestors_of", "create_changelog_view",
            "compute_table_stats", "compute_partition_stats", "rewrite_table_path",
        ),
        ("table",),
    ),
}  # fmt: skip
_READERS = ("ancestors_of", "create_changelog_view", "rewrite_table_path")
# Procedures of Hudi; their first argument is `table`.
_HUDI_READERS = re.compile(r"(?:show|stats|validate|export|commits_compare|query|sync_validate|help)(?:_.*)?")
_HUDI = re.compile(
    r"(?:(?:run|rollback_to|create_savepoint|delete_savepoint|create_metadata|delete_metadata|init_metadata|repair|upgrade_table"
    r"|downgrade_table|archive|delete_marker|drop_partition|truncate_table|delete_fs|delete_commit|partition_stats|hive_sync"
    r"|clean|hdfs_parquet_import|set_audit_lock)(?:_?[a-z_]*))"
)
_HUDI_COPIES = ("copy_to_table", "copy_to_temp_view")
# Procedures that create a temporary view of the table's present rows.
_VIEW_MAKERS = ("create_changelog_view", "copy_to_temp_view")


def is_action(procedure: Sequence[str]) -> bool:
    """Return whether a procedure with this name is one of glacierbase (`sql.actions`), known or not."""
    return len(procedure) == 2 and procedure[0].lower() == "glacierbase"


def call_part(cursor: Cursor) -> Call:
    """Read the procedure and its arguments, to the end of the statement, after CALL."""
    place, name = cursor.place(), cursor.table()
    cursor.expect("(")
    arguments: list[Argument] = []
    while not cursor.take(")"):
        arguments.append(_argument(cursor))
        if cursor.word() != ")":
            cursor.expect(",")
    check_end(cursor)
    return Call("call", place, name.parts, tuple(arguments))


def call(cursor: Cursor) -> ParsedStatement:
    """Read CALL after that word."""
    part = call_part(cursor)
    if cursor.dialect is not SPARK:
        raise UnsupportedClause("what a procedure changes is in its body")
    changed, read = _tables(part)
    makes_view = part.name in _VIEW_MAKERS
    return ParsedStatement(
        "call", changed, read, (part,), session=SessionEffect.UNKNOWN if makes_view else SessionEffect.NONE
    )


def _argument(cursor: Cursor) -> Argument:
    name = None
    if cursor.word(1) == "=" and cursor.word(2) == ">":
        name = cursor.path()[0].lower()
        cursor.take("=", ">")
    start = cursor.position
    value = cursor.string() if cursor.is_string() and cursor.word(1) in (",", ")") else None
    cursor.skip_item()
    return Argument(name, cursor.text_since(start), value)


_Tables = tuple[tuple[Name, ...], tuple[Name, ...] | None]


def _tables(called: Call) -> _Tables:
    """Return the tables that a procedure changes, and the tables that it reads."""
    *_, space, procedure = ("", *(part.lower() for part in called.procedure))
    if space == "system" and procedure in _ICEBERG:
        return _iceberg(called, procedure)
    if is_action(called.procedure):
        table = _table(called, "table", ())
        return (table,) if table else (), ()
    if not space and (_HUDI_READERS.fullmatch(procedure) or _HUDI.fullmatch(procedure) or procedure in _HUDI_COPIES):
        return _hudi(called, procedure)
    raise UnsupportedClause(f"what the procedure {procedure} changes is not known")


def _iceberg(called: Call, procedure: str) -> _Tables:
    order = _ICEBERG[procedure]
    table = _table(called, "table", order)
    if table is None:
        raise UnsupportedClause("a procedure without its table")
    source = _table(called, "source_table", order) if len(order) > 1 else None
    if procedure in _READERS:
        return (), (table,)
    return (table,), (source,) if source else ()


def _hudi(called: Call, procedure: str) -> _Tables:
    table = _table(called, "table", ("table",))
    if table is None:
        if called.argument("path"):
            raise UnsupportedClause("a table that is named by its path")
        return (), ()
    if procedure in _HUDI_COPIES:
        new = _table(called, "new_table", ()) or _table(called, "view_name", ())
        return (new,) if new else (), (table,)
    return ((), (table,)) if _HUDI_READERS.fullmatch(procedure) else ((table,), ())


def _table(called: Call, name: str, order: tuple[str, ...]) -> Name | None:
    """Return the table in a named argument, or in the positional argument of the same place in `order`."""
    argument = called.argument(name)
    if argument is None and name in order:
        at = order.index(name)
        positional = [argument for argument in called.arguments if argument.name is None]
        argument = positional[at] if at < len(positional) else None
    if argument is None:
        return None
    if argument.string is None:
        raise UnsupportedClause(f"the argument {name} is no string")
    return _name(argument.string)


def _name(text: str) -> Name:
    try:
        cursor = Cursor(text, SPARK.name)
    except MigrationFileError as error:
        raise UnsupportedClause(error.message) from error
    name = cursor.table()
    check_end(cursor)
    return name
