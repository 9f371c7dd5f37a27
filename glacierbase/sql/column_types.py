"""Column types in one spelling, so that a declared type can be compared with the type that an engine reports.

Spark: https://spark.apache.org/docs/latest/sql-ref-datatypes.html. Iceberg stores bytes and shorts as integers, and chars and
varchars as strings: https://iceberg.apache.org/docs/latest/spark-getting-started/#type-compatibility.
Snowflake: https://docs.snowflake.com/en/sql-reference/intro-summary-data-types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from glacierbase.errors import MigrationFileError
from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE, SPARK

# Types of several words: the first word with the words that may follow.
_FOLLOWING = {
    "DOUBLE": ("PRECISION",),
    "CHAR": ("VARYING",),
    "CHARACTER": ("VARYING",),
    "NCHAR": ("VARYING",),
}
_SPARK = {
    "INTEGER": "int", "LONG": "bigint", "SHORT": "smallint", "BYTE": "tinyint", "REAL": "float", "DEC": "decimal",
    "NUMERIC": "decimal", "CHARACTER": "char", "TIMESTAMP_LTZ": "timestamp",
}  # fmt: skip
# Types that a table format may store instead.
_STORED = {"tinyint": "int", "smallint": "int", "char": "string", "varchar": "string"}
_SNOWFLAKE = {
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), "NUMBER"),
    **dict.fromkeys(("FLOAT4", "FLOAT8", "DOUBLE", "DOUBLE PRECISION", "REAL"), "FLOAT"),
    **dict.fromkeys(
        ("STRING", "TEXT", "NVARCHAR", "NVARCHAR2", "CHAR VARYING", "CHARACTER VARYING", "NCHAR VARYING"), "VARCHAR"
    ),
    "VARBINARY": "BINARY",
    "DATETIME": "TIMESTAMP_NTZ",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "TIMESTAMPNTZ": "TIMESTAMP_NTZ",
    "TIMESTAMPLTZ": "TIMESTAMP_LTZ",
    "TIMESTAMPTZ": "TIMESTAMP_TZ",
}
# The names of the fields inside a type; a struct declares them.
_INSIDE: Mapping[str, tuple[str, ...]] = {"STRUCT": (), "ARRAY": ("element",), "MAP": ("key", "value")}
_INTEGERS = ("INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "BYTEINT")
_ONE_CHARACTER = ("CHAR", "CHARACTER", "NCHAR")
# The lengths that Snowflake reports for a type without a length, now and before its limits were raised.
_LONGEST = {"VARCHAR": ("16777216", "134217728"), "BINARY": ("8388608", "67108864")}
_DEFAULTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    SPARK.name: {"decimal": ("10", "0")},
    SNOWFLAKE.name: {
        "NUMBER": ("38", "0"), "TIME": ("9",), "TIMESTAMP_NTZ": ("9",), "TIMESTAMP_LTZ": ("9",), "TIMESTAMP_TZ": ("9",),
    },
}  # fmt: skip


# How many types are inside of a type; a struct has any number, and no other type has any.
_TYPES_INSIDE = {"ARRAY": 1, "MAP": 2}
# Deeper types are not supported, so that no reader of types recurses deeper.
_MOST_DEPTH = 100
# No length has more digits.
_MOST_DIGITS = 9


def type_cursor(text: str, dialect: str) -> Cursor:
    """Return a cursor over the text of a type. Every reader of types begins here.

    Raises:
        UnsupportedClause: the text has no tokens, its angles do not match, a type has another number of types inside, it is nested
            too deeply, or a length is no number of some digits.
    """
    try:
        cursor = Cursor(text, dialect)
    except MigrationFileError as error:
        raise UnsupportedClause(error.message) from error
    words = cursor.words()
    if "(" in words or "<" in words or ">" in words:
        _check_form(words)
    return cursor


def _check_form(words: Sequence[str]) -> None:
    """Raise `UnsupportedClause` unless the angles and lengths of a type have a form that its readers expect."""
    inside: list[list[str]] = []  # Of each open angle, the word before it, and a comma for each one inside.
    depth, before = 0, ""
    for word in words:
        depth += (word == "(") - (word == ")")
        if word == "<":
            inside.append([before])
        elif word == ">":
            kind, *commas = inside.pop() if inside else [""]
            is_empty = before in ("<", ",") and kind != "STRUCT"
            if (
                kind not in ("STRUCT", *_TYPES_INSIDE)
                or is_empty
                or len(commas) + 1 != _TYPES_INSIDE.get(kind, len(commas) + 1)
            ):
                raise UnsupportedClause(f"the types inside {kind or 'nothing'}")
        elif word == "," and inside and not depth:
            inside[-1].append(word)
        elif depth and word[0].isdigit() and not (word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS):
            raise UnsupportedClause("a length that is no number")
        if len(inside) + depth > _MOST_DEPTH:
            raise UnsupportedClause("a type that is nested too deeply")
        before = word
    if inside:
        raise UnsupportedClause("< that nothing closes")


def read_type(cursor: Cursor, *, stored: bool = False) -> str:
    """Move past a type, and return it in one spelling.

    Args:
        stored: return the type as a table format without small integers and bounded strings stores it.

    Raises:
        UnsupportedClause: the type has a form that is not supported.
    """
    word = cursor.next()
    if not word.isidentifier():
        raise UnsupportedClause(f"{word or 'the end'} where a type is expected")
    while cursor.word() in _FOLLOWING.get(word, ()):
        word = f"{word} {cursor.next()}"
    if cursor.word() == "<":
        return _nested(cursor, word, stored)
    parameters = _parameters(cursor)
    if cursor.dialect is SNOWFLAKE:
        return _with_parameters(SNOWFLAKE.name, *_snowflake(word, parameters))
    if cursor.dialect is not SPARK:
        return _with_parameters(cursor.dialect.name, word.lower(), parameters)
    name, parameters = canonical(word, parameters)
    if stored and name in _STORED:
        return _STORED[name]
    return f"{name}({','.join(parameters)})" if parameters else name


def normalised(text: str, dialect: str) -> str:
    """Return a type that an engine reports in the spelling of `read_type`.

    Raises:
        UnsupportedClause: the type has a form that is not supported.
    """
    cursor = type_cursor(text, dialect)
    spelling = read_type(cursor)
    if cursor.word() and not cursor.take("COLLATE"):
        raise UnsupportedClause(f"the type {text}")
    return spelling


def types_of(text: str, dialect: str) -> tuple[str, ...]:
    """Return the spellings in which an engine may report a declared type.

    A parameter of account, user and session decides the meaning of TIMESTAMP on Snowflake.
    https://docs.snowflake.com/en/sql-reference/parameters#timestamp-type-mapping

    Raises:
        UnsupportedClause: the type has a form that is not supported.
    """
    declared = type_cursor(text, dialect)
    read_type(declared)
    if declared.word():
        raise UnsupportedClause(f"the type {text}")
    if dialect == SNOWFLAKE.name and Cursor(text, dialect).word() == "TIMESTAMP":
        spelling = read_type(Cursor(text, dialect))
        return tuple(spelling.replace("_NTZ", f"_{kind}") for kind in ("NTZ", "LTZ", "TZ"))
    both = (read_type(Cursor(text, dialect), stored=stored) for stored in (False, True))
    return tuple(dict.fromkeys(both))


def canonical(word: str, parameters: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the name of a simple type of Spark in one spelling, and its parameters with those that it does not write."""
    name = _SPARK.get(word, word.lower())
    return name, _all_parameters(SPARK.name, name, parameters)


class Field(NamedTuple):
    """A field directly inside a type, as declared."""

    name: str
    type: str
    required: bool
    comment: str | None


def fields_of(text: str) -> tuple[Field, ...]:
    """Return the fields of a struct of Spark, the element of an array, or key and value of a map; none of another type.

    Raises:
        UnsupportedClause: the type has a form that is not supported.
    """
    cursor, fields = type_cursor(text, SPARK.name), list[Field]()
    kind = cursor.next()
    names = _INSIDE.get(kind)
    if names is None or not cursor.take("<"):
        return ()
    while not cursor.take(">"):
        name = names[len(fields)] if names else _field_name(cursor)
        start = cursor.position
        read_type(cursor)
        fields.append(Field(name, cursor.text_since(start), *_field_options(cursor)))
        if name == "key" and names:  # A key is never null.
            fields[-1] = fields[-1]._replace(required=True)
        if cursor.word() != ">":
            cursor.expect(",")
    return tuple(fields)


def _nested(cursor: Cursor, word: str, stored: bool) -> str:
    """Return a type with types inside: `array<int>`, `map<string,int>`, `struct<a:int,b:string>`."""
    cursor.expect("<")
    inside: list[str] = []
    while not cursor.take(">"):
        field = f"{_field_name(cursor)}:" if word == "STRUCT" else ""
        inside.append(field + read_type(cursor, stored=stored))
        _field_options(cursor)
        if cursor.word() != ">":
            cursor.expect(",")
    return f"{word.lower()}<{','.join(inside)}>"


def _field_name(cursor: Cursor) -> str:
    """Move past the name of a field and its colon. Spark reports a name such as `a b` without its quotes."""
    words = 0
    while cursor.word(words) not in (":", ",", "<", ">", ""):
        words += 1
    if cursor.word(words) == ":" and words > 1:
        start = cursor.position
        for _ in range(words):
            cursor.next()
        name = cursor.text_since(start).lower()
    else:
        name = cursor.name()
    cursor.take(":")
    return name


def _field_options(cursor: Cursor) -> tuple[bool, str | None]:
    """Move past the options of a field; return whether it refuses nulls, and its comment."""
    required = cursor.take("NOT", "NULL")
    return required, cursor.string() if cursor.take("COMMENT") else None


def _parameters(cursor: Cursor) -> tuple[str, ...]:
    parameters: list[str] = []
    if not cursor.take("("):
        return ()
    while not cursor.take(")"):
        word = cursor.next()
        if not word.isdigit():
            raise UnsupportedClause(f"{word or 'the end'} where a length is expected")
        parameters.append(word)
        cursor.take(",")
    return tuple(parameters)


def _snowflake(word: str, parameters: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    if word in _INTEGERS:
        return "NUMBER", ()
    if word in _ONE_CHARACTER:
        return "VARCHAR", parameters or ("1",)
    name = _SNOWFLAKE.get(word, word)
    if name == "FLOAT" or (name in _LONGEST and parameters and parameters[0] in _LONGEST[name]):
        return name, ()
    return name, parameters


def _with_parameters(dialect: str, name: str, parameters: tuple[str, ...]) -> str:
    whole = _all_parameters(dialect, name, parameters)
    return f"{name}({','.join(whole)})" if whole else name


def _all_parameters(dialect: str, name: str, parameters: tuple[str, ...]) -> tuple[str, ...]:
    defaults = _DEFAULTS.get(dialect, {}).get(name, ())
    return (*parameters, *defaults[len(parameters) :])
