"""No reader of types fails at a wrong type: each says that it is not supported, or reads it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from glacierbase.capabilities.load.declared import examine
from glacierbase.declared.known import known_type
from glacierbase.declared.known_tables import KnownTables
from glacierbase.executors.direct.ddl.types import iceberg_type
from glacierbase.executors.direct.plain_types import why_no_plain_type
from glacierbase.migrations.worker import Chain
from glacierbase.sql import read
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.types import normalised, type_tree, types_of
from tests.support.rules import FACTS_OF, codes, compiled

_VALID = [
    "int", "decimal(10, 2)", "varchar(20)", "array<int>", "map<int, string>", "map<string, array<map<int, date>>>",
    "struct<a: int, b: string NOT NULL COMMENT 'b, c>'>", "struct<a: struct<b: array<decimal(3)>>>", "timestamp_ntz",
    "double precision",
    "char(3) COLLATE UTF8_LCASE", "interval day to second", "variant", "NUMBER(38, 0)", "OBJECT(a INT, b VARCHAR)",
    "VECTOR(FLOAT, 3)",
]  # fmt: skip
_WRONG = [
    "map<int,string,int>", "map<int>", "map<>", "array<int,int>", "array<>", "array<int,>", "map<int,,int>",
    "struct<>", "struct<a>",
    "struct<a:>", "struct<:int>", "struct<a int b int>", "array", "map", "struct", "array<", "array<int",
    "array<int>>", ">", "<", "<int>",
    "int<int>", "decimal", "decimal()", "decimal(,)", "decimal(10,2,3)", "decimal(2,10)", "decimal(x)",
    "decimal(10 2)", "decimal(10",
    "decimal(-1)", "decimal(\u00b2)", "decimal(\u0663)", "varchar", "varchar()", "varchar(0)", "int(3)", "''", "'int'",
    "`int`", "``", '""',
    "array<'a'>", "struct<``:int>", "struct<a.b:int>", "struct<a:int COMMENT>", "struct<a:int NOT>", "map<int string>",
    "array<array>", "1",
    "decimal(" + "9" * 5000 + ")", "varchar(" + "9" * 5000 + ")", "array<" * 1200 + "int" + ">" * 1200,
    "array<" * 1200, "struct<a:" * 1200,
    "map<int," * 400 + "int" + ">" * 400, "decimal(" * 1200, ">" * 1200, "null", "not null", "int int", "int, int",
    "array<int>(3)",
]  # fmt: skip
_SIGNS = [
    "<",
    ">",
    ",",
    "(",
    ")",
    ":",
    "int",
    "map",
    "array",
    "struct",
    "decimal",
    "a",
    "3",
    "'c'",
    "COMMENT",
    "NOT",
    "`b`",
]


def _mutated(count: int) -> Iterator[str]:
    """Yield types with a token that is missing, twice, or another one."""
    chance = random.Random(20261128)
    for _ in range(count):
        parts = (
            chance.choice(_VALID)
            .replace("<", " < ")
            .replace(">", " > ")
            .replace(",", " , ")
            .replace("(", " ( ")
            .split(" ")
        )
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(parts) + 1)
            parts[at : at + chance.randint(0, 1)] = [chance.choice(_SIGNS)] * chance.randint(0, 2)
        yield " ".join(parts)


ALL = [*_VALID, *_WRONG, *_mutated(800)]


def _converted(text: str) -> object:
    return None if why_no_plain_type(text) else iceberg_type(text, iter(range(10_000)).__next__)


READERS: dict[str, Callable[[str], object]] = {
    "types_of, Spark": lambda text: types_of(text, "spark"),
    "types_of, Snowflake": lambda text: types_of(text, "snowflake"),
    "normalised, Spark": lambda text: normalised(text, "spark"),
    "normalised, Snowflake": lambda text: normalised(text, "snowflake"),
    "type_tree": type_tree,
    "iceberg_type": _converted,
    "known_type": known_type,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_wrong_type_is_read_or_not_supported(reader: Callable[[str], object]) -> None:
    """Any other exception is a crash of the command that reads the type."""
    failed = []
    for text in ALL:
        try:
            reader(text)
        except UnsupportedClause:
            pass
        except Exception as error:
            failed.append((text[:60], repr(error)[:80]))
    assert failed == []


@pytest.mark.parametrize(
    "text", ["map<int,string,int>", "map<int>", "array<int,int>", "array<>", "array<int", "int<int>"]
)
@pytest.mark.parametrize("reader", ["types_of, Spark", "normalised, Spark", "type_tree"])
def test_a_type_with_another_number_of_types_inside_is_not_supported(reader: str, text: str) -> None:
    """An array has one, a map two, and only these and a struct have any."""
    with pytest.raises(UnsupportedClause):
        READERS[reader](text)


def _statements(text: str) -> str:
    """Return statements in which a type is declared in each way."""
    return (
        f"CREATE TABLE lake.a.n (id int, c {text}, d {text} NOT NULL) USING iceberg PARTITIONED BY (c, bucket(4, d));\n"
        f"ALTER TABLE lake.a.n ADD COLUMN e {text};\nALTER TABLE lake.a.n ALTER COLUMN c TYPE {text};\n"
        f"ALTER TABLE lake.a.n REPLACE COLUMNS (c {text}, d int);\nALTER TABLE lake.a.n SET IDENTIFIER FIELDS c;"
    )


_SPLIT = [
    text for text in [*_VALID, *_WRONG, *_mutated(60)] if "'" not in text.replace("''", "") or text.count("'") % 2 == 0
]


@pytest.mark.parametrize("engine", ["iceberg", "delta", "hudi", "snowflake"])
def test_lint_reads_files_with_wrong_types(engine: str) -> None:
    """No rule fails; a built-in rule that fails ends the command."""
    for text in _SPLIT:
        assert isinstance(codes(_statements(text), facts=FACTS_OF[engine]), list)


def test_the_layout_of_tables_with_wrong_types_is_explained() -> None:
    """The command explains the keys of what it knows, and says what it does not know."""
    conf = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}
    of_catalog = {"conf": conf, "dependencies": [], "name": "lake", "environment": "dev"}
    facts = {**of_catalog, "every_table": True, "is_last": True}
    for text in _SPLIT:
        assert examine(compiled(_statements(text)), facts, Chain()) is not None


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
def test_what_statements_declare_is_followed(dialect: str) -> None:
    """A column of a wrong type is known by its text."""
    for text in _SPLIT:
        tables = KnownTables()
        for sql in _statements(text).split(";\n"):
            tables.follow(read(sql, dialect))
