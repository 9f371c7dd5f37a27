"""Branches and tags of Iceberg tables. https://iceberg.apache.org/docs/latest/spark-ddl/#branching-and-tagging-ddl"""

from __future__ import annotations

from glacierbase.sql.clauses import if_exists, if_not_exists
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.parts import Reference


def created(cursor: Cursor, *, or_replace: bool) -> Reference:
    """Read CREATE or REPLACE after that word."""
    place, kind = cursor.place(), _kind(cursor)
    absent_only = if_not_exists(cursor)
    name = ".".join(cursor.path())
    snapshot = retain = None
    if cursor.take("AS", "OF", "VERSION"):
        snapshot = cursor.next()
    start = cursor.position
    if cursor.word() in ("RETAIN", "WITH"):
        cursor.skip_to(";")
        retain = cursor.text_since(start)
    return Reference(f"create_{kind}", place, name, or_replace, False, absent_only, snapshot, retain)


def dropped(cursor: Cursor) -> Reference:
    """Read DROP after that word."""
    place, kind = cursor.place(), _kind(cursor)
    may_be_absent = if_exists(cursor)
    return Reference(f"drop_{kind}", place, ".".join(cursor.path()), if_exists=may_be_absent)


def _kind(cursor: Cursor) -> str:
    word = cursor.next()
    if word not in ("BRANCH", "TAG"):
        raise NotUnderstood(f"{word or 'the end'} where BRANCH or TAG is expected")
    return word.lower()
