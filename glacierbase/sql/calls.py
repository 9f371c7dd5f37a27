"""CALL: the procedures of Iceberg and Hudi, and the table that each changes or reads.

https://iceberg.apache.org/docs/latest/spark-procedures/, https://hudi.apache.org/docs/procedures
"""

from __future__ import annotations

import re

from glacierbase.errors import MigrationFileError
from glacierbase.sql.clauses import check_end
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.parts import Argument, Call
from glacierbase.sql.statement import Name, ParsedStatement, SessionEffect

# Of Iceberg, by the names of the first arguments. `table` is changed, except where a procedure only reads it.
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
# Of Hudi; their first argument is `table`.
_HUDI_READERS = re.compile(r"(?:show|stats|validate|export|commits_compare|query|sync_validate|help)(?:_.*)?")
_HUDI = re.compile(
    r"(?:(?:run|rollback_to|create_savepoint|delete_savepoint|create_metadata|delete_metadata|init_metadata|repair|upgrade_table"
    r"|downgrade_table|archive|delete_marker|drop_partition|truncate_table|delete_fs|delete_commit|partition_stats|hive_sync"
    r"|clean|hdfs_parquet_import|set_audit_lock)(?:_?[a-z_]*))"
)
_HUDI_COPIES = ("copy_to_table", "copy_to_temp_view")
# These make a temporary view of what the table holds at that moment.
_VIEW_MAKERS = ("create_changelog_view", "copy_to_temp_view")


def call(cursor: Cursor) -> ParsedStatement:
    """Read CALL after that word."""
    place, name = cursor.place(), cursor.table()
    cursor.expect("(")
    arguments: list[Argument] = []
    while not cursor.take(")"):
        arguments.append(_argument(cursor))
        if cursor.word() != ")":
            cursor.expect(",")
    check_end(cursor)
    part = Call("call", place, name.parts, tuple(arguments))
    changed, read = _tables(part, cursor.dialect)
    makes_view = name.parts[-1].lower() in _VIEW_MAKERS
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


def _tables(called: Call, dialect: str) -> _Tables:
    """Return the tables that a procedure changes, and those that it reads."""
    *_, space, procedure = ("", *(part.lower() for part in called.procedure))
    if dialect != "spark":
        raise NotUnderstood("what a procedure changes is in its body")
    if space == "system" and procedure in _ICEBERG:
        return _iceberg(called, procedure, dialect)
    if not space and (_HUDI_READERS.fullmatch(procedure) or _HUDI.fullmatch(procedure) or procedure in _HUDI_COPIES):
        return _hudi(called, procedure, dialect)
    raise NotUnderstood(f"what the procedure {procedure} changes is not known")


def _iceberg(called: Call, procedure: str, dialect: str) -> _Tables:
    order = _ICEBERG[procedure]
    table = _table(called, "table", order, dialect)
    if table is None:
        raise NotUnderstood("a procedure without its table")
    source = _table(called, "source_table", order, dialect) if len(order) > 1 else None
    if procedure in _READERS:
        return (), (table,)
    return (table,), (source,) if source else ()


def _hudi(called: Call, procedure: str, dialect: str) -> _Tables:
    table = _table(called, "table", ("table",), dialect)
    if table is None:
        if called.argument("path"):
            raise NotUnderstood("a table that is named by its path")
        return (), ()
    if procedure in _HUDI_COPIES:
        new = _table(called, "new_table", (), dialect) or _table(called, "view_name", (), dialect)
        return (new,) if new else (), (table,)
    return ((), (table,)) if _HUDI_READERS.fullmatch(procedure) else ((table,), ())


def _table(called: Call, name: str, order: tuple[str, ...], dialect: str) -> Name | None:
    """Return the table in an argument by its name, or by its position where all before it are positional."""
    argument = called.argument(name)
    if argument is None and name in order:
        at = order.index(name)
        positional = [each for each in called.arguments if each.name is None]
        argument = positional[at] if at < len(positional) else None
    if argument is None:
        return None
    if argument.string is None:
        raise NotUnderstood(f"the argument {name} is no string")
    return _name(argument.string, dialect)


def _name(text: str, dialect: str) -> Name:
    try:
        cursor = Cursor(text, dialect)
    except MigrationFileError as error:
        raise NotUnderstood(error.message) from error
    name = cursor.table()
    check_end(cursor)
    return name
