"""Clauses that several statements share: properties, transforms, partition specifications, words of existence."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.parts import Place, Property, SortField, Transform

_AFTER_STORAGE = (
    "", ";", "(", "AS", "CLUSTER", "CLUSTERED", "COMMENT", "DEFAULT", "FROM", "LOCATION", "OPTIONS", "PARTITIONED", "SELECT",
    "TABLE", "TBLPROPERTIES", "USING", "VALUES", "WITH",
)  # fmt: skip


def if_exists(cursor: Cursor) -> bool:
    """Move past IF EXISTS; return whether it was there."""
    return cursor.take("IF", "EXISTS")


def if_not_exists(cursor: Cursor) -> bool:
    """Move past IF NOT EXISTS; return whether it was there."""
    return cursor.take("IF", "NOT", "EXISTS") or cursor.take("IF", "!", "EXISTS")


def properties(cursor: Cursor, operation: str) -> Iterator[Property]:
    """Yield the properties of a list in parentheses, with values or without."""
    cursor.expect("(")
    while not cursor.take(")"):
        place = cursor.place()
        key = property_key(cursor)
        cursor.take("=")
        if cursor.word() in (",", ")"):
            yield Property(operation, place, key)
        else:
            yield Property(operation, place, key, *property_value(cursor))
        if cursor.word() != ")":
            cursor.expect(",")


def property_key(cursor: Cursor) -> str:
    """Move past the key of a property: a string, or words between dots, dashes and colons."""
    if cursor.is_string():
        return cursor.string()
    start = cursor.position
    cursor.path()
    while cursor.take_any("-", ":", "."):
        cursor.path()
    return cursor.text_since(start).replace("`", "")


def property_value(cursor: Cursor) -> tuple[str, Place]:
    """Move past the value of a property, and return it without quotes, with its place."""
    place = cursor.place()
    if cursor.is_string() and cursor.word(1) in (",", ")", "", ";"):
        return cursor.string(), place
    start = cursor.position
    cursor.skip_to(",", ")", ";")
    return cursor.text_since(start), place


def transform(cursor: Cursor) -> Transform:
    """Move past a transform, `bucket(16, id)`, or a column."""
    start = cursor.position
    path = cursor.path()
    if cursor.word() != "(":
        return Transform(cursor.text_since(start), "", (".".join(path),))
    cursor.next()
    arguments: list[str] = []
    while not cursor.take(")"):
        arguments.append(_argument(cursor))
        if cursor.word() != ")":
            cursor.expect(",")
    return Transform(cursor.text_since(start), path[-1].lower(), tuple(arguments))


def _argument(cursor: Cursor) -> str:
    start = cursor.position
    if cursor.is_string():
        return cursor.string()
    parts = cursor.path()
    if cursor.word() in (",", ")"):
        return ".".join(parts)
    cursor.skip_item()
    return cursor.text_since(start)


def sort_fields(cursor: Cursor) -> Iterator[SortField]:
    """Yield the fields of an order, in parentheses or not."""
    enclosed = cursor.take("(")
    while True:
        field = transform(cursor)
        direction = cursor.take_any("ASC", "DESC").lower()
        nulls = cursor.take_any("FIRST", "LAST").lower() if cursor.take("NULLS") else ""
        yield SortField(field, direction, nulls)
        if not cursor.take(","):
            break
    if enclosed:
        cursor.expect(")")


def listed_paths(cursor: Cursor) -> tuple[str, ...]:
    """Move past columns between commas, in parentheses or not."""
    enclosed = cursor.take("(")
    found = [".".join(cursor.path())]
    while cursor.take(","):
        found.append(".".join(cursor.path()))
    if enclosed:
        cursor.expect(")")
    return tuple(found)


def partition(cursor: Cursor) -> str | None:
    """Move past `PARTITION (…)`, and return its text; None where there is none."""
    if cursor.word() != "PARTITION" or cursor.word(1) != "(":
        return None
    cursor.next()
    return cursor.parentheses()


def storage(cursor: Cursor) -> None:
    """Move past Hive's ROW FORMAT … and STORED AS …, up to the next clause or the query."""
    while True:
        if cursor.take("STORED", "AS") or cursor.take("STORED", "BY") or cursor.take("NULL", "DEFINED", "AS"):
            cursor.next()
        elif cursor.take("WITH", "SERDEPROPERTIES"):
            cursor.parentheses()
        elif cursor.word() in _AFTER_STORAGE:
            return
        else:
            cursor.next()


def version(cursor: Cursor) -> bool:
    """Move past `[FOR] VERSION AS OF` and its kin, before the version; return whether they were there."""
    ahead = int(cursor.word() == "FOR")
    if cursor.word(ahead) not in ("VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME"):
        return False
    cursor.take("FOR")
    cursor.next()
    cursor.expect("AS", "OF")
    return True


def check_end(cursor: Cursor) -> None:
    """Raise `NotUnderstood` unless the statement ends here."""
    while cursor.take(";"):
        pass
    if cursor.word():
        raise NotUnderstood(f"{cursor.word()} where the end is expected")
