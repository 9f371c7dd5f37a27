"""The types that Spark's statements declare, as trees, with the names of fields as written.

https://spark.apache.org/docs/latest/sql-ref-datatypes.html
"""

from __future__ import annotations

from dataclasses import dataclass

from glacierbase.sql.column_types import canonical, type_cursor
from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SPARK


@dataclass(frozen=True, slots=True)
class TypeTree:
    """A type.

    Attributes:
        name: in one spelling: `bigint`, `decimal`, `struct`.
        parameters: the numbers in its parentheses; of a decimal, always precision and scale.
        fields: the fields of a struct, the element of an array, key and value of a map.
    """

    name: str
    parameters: tuple[int, ...] = ()
    fields: tuple[TypeField, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeField:
    """A field directly inside a type."""

    name: str
    type: TypeTree
    required: bool = False
    comment: str | None = None


def type_tree(text: str) -> TypeTree:
    """Return the tree of a declared type.

    Raises:
        UnsupportedClause: the type has a form that is not supported.
    """
    cursor = type_cursor(text, SPARK.name)
    tree = _read(cursor)
    if cursor.word() or cursor.unread:
        raise UnsupportedClause(f"the type {text}")
    return tree


def _read(cursor: Cursor) -> TypeTree:
    word = cursor.next()
    if not word.isidentifier():
        raise UnsupportedClause(f"{word or 'the end'} where a type is expected")
    if cursor.take("<"):
        return TypeTree(word.lower(), (), _fields(cursor, word))
    name, parameters = canonical(word, _numbers(cursor))
    return TypeTree(name, tuple(map(int, parameters)))


def _numbers(cursor: Cursor) -> tuple[str, ...]:
    numbers: list[str] = []
    if not cursor.take("("):
        return ()
    while not numbers or cursor.take(","):
        word = cursor.next()
        if not (word.isascii() and word.isdigit()):
            raise UnsupportedClause(f"{word or 'the end'} where a length is expected")
        numbers.append(word)
    cursor.expect(")")
    return tuple(numbers)


def _fields(cursor: Cursor, word: str) -> tuple[TypeField, ...]:
    """Read what is between the angles of a struct, an array or a map."""
    if word == "ARRAY":
        fields = [TypeField("element", _read(cursor))]
    elif word == "MAP":
        key = TypeField("key", _read(cursor), required=True)
        cursor.expect(",")
        fields = [key, TypeField("value", _read(cursor))]
    elif word == "STRUCT":
        fields = [_field(cursor)]
        while cursor.take(","):
            fields.append(_field(cursor))
    else:
        raise UnsupportedClause(f"{word}<")
    cursor.expect(">")
    return tuple(fields)


def _field(cursor: Cursor) -> TypeField:
    name = cursor.table().parts
    if len(name) > 1:
        raise UnsupportedClause(f"{'.'.join(name)} where the name of a field is expected")
    cursor.take(":")
    tree, required = _read(cursor), cursor.take("NOT", "NULL")
    return TypeField(name[0], tree, required, cursor.string() if cursor.take("COMMENT") else None)
