"""The clauses of ALTER TABLE that change columns: added, dropped, renamed, altered, replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glacierbase.sql.columns import column, column_list, column_type, expression, position
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.parts import AlterColumn, DropColumn, Part, Place, RenameColumn
from glacierbase.sql.statement import Name

_END = ("", ",", ")", ";")
# Words after the name of a column; any other is the new name in Hive's CHANGE COLUMN.
_ACTIONS = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", "SYNC", "UNSET", "DATA", "NOT")
# Those after which an action begins even if the name before is one of them: `ALTER COLUMN type TYPE int`.
_STARTS = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", ".")
_WITHOUT_WORD = (
    ("SYNC", "IDENTITY"), ("SET", "MASK"), ("DROP", "MASK"), ("SET", "TAGS"), ("UNSET", "TAGS"), ("SET", "TAG"), ("UNSET", "TAG"),
    ("SET", "MASKING"), ("UNSET", "MASKING"), ("SET", "PROJECTION"), ("UNSET", "PROJECTION"), ("UNSET", "COMMENT"),
)  # fmt: skip


def added(cursor: Cursor) -> Iterator[Part]:
    """Yield the columns of ADD COLUMNS."""
    if cursor.word() == "(":
        yield from column_list(cursor, "add_column")
        return
    yield column(cursor, "add_column")
    while cursor.take(","):
        yield column(cursor, "add_column")


def replaced(cursor: Cursor) -> Iterator[Part]:
    """Yield the columns of REPLACE COLUMNS."""
    if cursor.word() == "(":
        yield from column_list(cursor, "replace_columns")
        return
    yield column(cursor, "replace_columns")
    while cursor.take(","):
        yield column(cursor, "replace_columns")


def dropped(cursor: Cursor) -> Iterator[Part]:
    """Yield the columns of DROP COLUMNS."""
    enclosed = cursor.take("(")
    while True:
        yield dropped_column(cursor)
        if not cursor.take(","):
            break
    if enclosed:
        cursor.expect(")")


def dropped_column(cursor: Cursor) -> DropColumn:
    """Move past the name of a column that is dropped."""
    place, name = cursor.place(), cursor.table()
    return DropColumn("drop_column", place, name.parts, name.key)


def renamed(cursor: Cursor) -> RenameColumn:
    """Read RENAME COLUMN after these words."""
    place, old = cursor.place(), cursor.table()
    cursor.expect("TO")
    new = cursor.table()
    return RenameColumn("rename_column", place, old.parts, new.parts[-1], old.key, new.key[-1])


def altered(cursor: Cursor) -> Iterator[Part]:
    """Yield the changes of ALTER COLUMN and CHANGE COLUMN, of one column or more."""
    while True:
        if cursor.word() in ("COLUMN", "COLUMNS") and (cursor.word(1) not in _ACTIONS or cursor.word(2) in _STARTS):
            cursor.next()
        place, name = cursor.place(), cursor.table()
        if cursor.word() in _END:
            raise NotUnderstood("ALTER COLUMN without an action")
        if cursor.word() not in _ACTIONS:
            yield from _hive(cursor, name)
        while cursor.word() not in _END:
            yield replace(_action(cursor, place, name.parts), key=name.key)
        if not cursor.take(","):
            return


def _hive(cursor: Cursor, old: Name) -> Iterator[Part]:
    """Yield the changes of Hive's `CHANGE COLUMN name name type`, which repeats what it does not change."""
    new = column(cursor, "")
    change = AlterColumn("alter_column_type", new.place, old.parts, key=old.key)
    yield replace(change, type=new.type)
    if new.comment is not None:
        yield replace(change, operation="alter_column_comment", comment=new.comment)
    if new.position is not None:
        yield replace(change, operation="alter_column_position", position=new.position)
    if new.key[-1] != old.key[-1]:
        yield RenameColumn("rename_column", new.place, old.parts, new.path[-1], old.key, new.key[-1])


def _action(cursor: Cursor, place: Place, path: tuple[str, ...]) -> AlterColumn:
    if cursor.take("TYPE") or cursor.take("SET", "DATA", "TYPE") or cursor.take("DATA", "TYPE"):
        return AlterColumn("alter_column_type", place, path, type=_type(cursor))
    if cursor.take("COMMENT"):
        return AlterColumn("alter_column_comment", place, path, comment=cursor.string())
    if cursor.take("SET", "NOT", "NULL") or cursor.take("NOT", "NULL"):
        return AlterColumn("alter_column_nullability", place, path, nullable=False)
    if cursor.take("DROP", "NOT", "NULL"):
        return AlterColumn("alter_column_nullability", place, path, nullable=True)
    if cursor.take("SET", "DEFAULT"):
        return AlterColumn("alter_column_default", place, path, default=expression(cursor))
    if cursor.take("DROP", "DEFAULT"):
        return AlterColumn("alter_column_default", place, path)
    where = position(cursor)
    if where is not None:
        return AlterColumn("alter_column_position", place, path, position=where)
    return _without_word(cursor, place, path)


def _type(cursor: Cursor) -> str:
    found = column_type(cursor)
    if not found:
        raise NotUnderstood("TYPE without a type")
    return found


def _without_word(cursor: Cursor, place: Place, path: tuple[str, ...]) -> AlterColumn:
    """Move past an action that has no word of its own: a mask, tags, SYNC IDENTITY."""
    words = (cursor.word(), cursor.word(1))
    if words not in _WITHOUT_WORD:
        raise NotUnderstood(f"ALTER COLUMN … {words[0]}")
    cursor.skip_to(",", ")", ";")
    return AlterColumn("other", place, path)
