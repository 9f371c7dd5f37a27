"""Column types: as trees, and in one spelling, so that a declared type can be compared with the type that an engine reports.

Spark: https://spark.apache.org/docs/latest/sql-ref-datatypes.html. Iceberg stores bytes and shorts as integers, and chars and
varchars as strings: https://iceberg.apache.org/docs/latest/spark-getting-started/#type-compatibility.
Snowflake: https://docs.snowflake.com/en/sql-reference/intro-summary-data-types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
# The names of the fields inside a type that declares none.
_INSIDE: Mapping[str, tuple[str, ...]] = {"ARRAY": ("element",), "MAP": ("key", "value")}
_INTEGERS = ("INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "BYTEINT")
_ONE_CHARACTER = ("CHAR", "CHARACTER", "NCHAR")
# The lengths that Snowflake reports for a type without a length, now and before its limits were raised.
_LONGEST = {"VARCHAR": (16777216, 134217728), "BINARY": (8388608, 67108864)}
_DEFAULTS: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    SPARK.name: {"decimal": (10, 0)},
    SNOWFLAKE.name: {
        "NUMBER": (38, 0), "TIME": (9,), "TIMESTAMP_NTZ": (9,), "TIMESTAMP_LTZ": (9,), "TIMESTAMP_TZ": (9,),
    },
}  # fmt: skip


# Deeper types are not supported, so that no reader of types recurses deeper.
_MOST_DEPTH = 100
# No length has more digits.
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class TypeTree:
    """A type.

    Attributes:
        name: in one spelling: `bigint`, `decimal`, `struct`; `NUMBER`.
        parameters: the numbers in its parentheses, also those that the text leaves out: of a decimal, always precision and scale.
        fields: the fields of a struct, the element of an array, key and value of a map.
    """

    name: str
    parameters: tuple[int, ...] = ()
    fields: tuple[TypeField, ...] = ()

    def spelling(self, *, stored: bool = False) -> str:
        """Return the type in one spelling: `decimal(10,2)`, `array<int>`, `map<string,int>`, `struct<a:int,b:string>`.

        Args:
            stored: as a table format without small integers and bounded strings stores it.
        """
        if self.fields or self.name == "struct":
            names = (f"{field.name.lower()}:" if self.name == "struct" else "" for field in self.fields)
            inside = (name + field.type.spelling(stored=stored) for name, field in zip(names, self.fields, strict=True))
            return f"{self.name}<{','.join(inside)}>"
        if stored and self.name in _STORED:
            return _STORED[self.name]
        return f"{self.name}({','.join(map(str, self.parameters))})" if self.parameters else self.name


@dataclass(frozen=True, slots=True)
class TypeField:
    """A field directly inside a type.

    Attributes:
        name: as written.
        text: the type as written.
    """

    name: str
    type: TypeTree
    text: str
    required: bool = False
    comment: str | None = None


def type_tree(text: str, dialect: str = SPARK.name) -> TypeTree:
    """Return the tree of a declared type.

    Raises:
        UnsupportedClause: the type has a form that is not supported, or something follows it.
    """
    cursor = _cursor(text, dialect)
    tree = _read(cursor)
    if cursor.word() or cursor.unread:
        raise UnsupportedClause(f"the type {text}")
    return tree


def normalised(text: str, dialect: str) -> str:
    """Return the spelling of a type that an engine reports. It may have a collation, which is left out.

    Raises:
        UnsupportedClause: the type has a form that is not supported.
    """
    cursor = _cursor(text, dialect)
    spelling = _read(cursor, is_report=True).spelling()
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
    tree = type_tree(text, dialect)
    if dialect == SNOWFLAKE.name and Cursor(text, dialect).word() == "TIMESTAMP":
        return tuple(tree.spelling().replace("_NTZ", f"_{kind}") for kind in ("NTZ", "LTZ", "TZ"))
    if dialect == SPARK.name:
        return tuple(dict.fromkeys((tree.spelling(), tree.spelling(stored=True))))
    return (tree.spelling(),)


def _cursor(text: str, dialect: str) -> Cursor:
    """Return a cursor over the text of a type.

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
                kind not in ("STRUCT", *_INSIDE)
                or is_empty
                or len(commas) + 1 != len(_INSIDE.get(kind, (kind, *commas)))
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


def _read(cursor: Cursor, *, is_report: bool = False) -> TypeTree:
    word = cursor.next()
    if not word.isidentifier():
        raise UnsupportedClause(f"{word or 'the end'} where a type is expected")
    while cursor.word() in _FOLLOWING.get(word, ()):
        word = f"{word} {cursor.next()}"
    if cursor.take("<"):
        return TypeTree(word.lower(), (), _fields(cursor, word, is_report=is_report))
    name, parameters = _simple(cursor.dialect.name, word, _numbers(cursor))
    defaults = _DEFAULTS.get(cursor.dialect.name, {}).get(name, ())
    return TypeTree(name, (*parameters, *defaults[len(parameters) :]))


def _simple(dialect: str, word: str, parameters: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Return name and parameters of a type without types inside, in one spelling."""
    if dialect != SNOWFLAKE.name:
        return (_SPARK.get(word, word.lower()) if dialect == SPARK.name else word.lower()), parameters
    if word in _INTEGERS:
        return "NUMBER", ()
    if word in _ONE_CHARACTER:
        return "VARCHAR", parameters or (1,)
    name = _SNOWFLAKE.get(word, word)
    if name == "FLOAT" or (name in _LONGEST and parameters and parameters[0] in _LONGEST[name]):
        return name, ()
    return name, parameters


def _numbers(cursor: Cursor) -> tuple[int, ...]:
    numbers: list[int] = []
    if not cursor.take("("):
        return ()
    while not numbers or cursor.take(","):
        word = cursor.next()
        if not (word.isascii() and word.isdigit()):
            raise UnsupportedClause(f"{word or 'the end'} where a length is expected")
        numbers.append(int(word))
    cursor.expect(")")
    return tuple(numbers)


def _fields(cursor: Cursor, word: str, *, is_report: bool) -> tuple[TypeField, ...]:
    """Read what is between the angles of a struct, an array or a map."""
    if word != "STRUCT" and word not in _INSIDE:
        raise UnsupportedClause(f"{word}<")
    fields: list[TypeField] = []
    while not cursor.take(">"):
        if fields:
            cursor.expect(",")
        name = _field_name(cursor, is_report=is_report) if word == "STRUCT" else _INSIDE[word][len(fields)]
        start = cursor.position
        tree, text = _read(cursor, is_report=is_report), cursor.text_since(start)
        required = name == "key" if word == "MAP" else word == "STRUCT" and cursor.take("NOT", "NULL")
        comment = cursor.string() if word == "STRUCT" and cursor.take("COMMENT") else None
        fields.append(TypeField(name, tree, text, required, comment))
    return tuple(fields)


def _field_name(cursor: Cursor, *, is_report: bool) -> str:
    """Move past the name of a field and its colon. Spark reports a name such as `a b` without its quotes."""
    words = 0
    while cursor.word(words) not in (":", ",", "<", ">", ""):
        words += 1
    if is_report and cursor.word(words) == ":" and words > 1:
        start = cursor.position
        for _ in range(words):
            cursor.next()
        name = cursor.text_since(start)
    else:
        name, *more = cursor.table().parts
        if more:
            raise UnsupportedClause(f"{'.'.join((name, *more))} where the name of a field is expected")
    cursor.take(":")
    return name
