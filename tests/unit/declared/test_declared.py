"""The tables that files declare together: followed from CREATE to DROP, or not known, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from glacierbase.declared.declared import Declared, DeclaredTables, declared_tables
from glacierbase.declared.trees import ColumnTree
from glacierbase.migrations.statements import split_statements
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.file import FileStatement, named
from glacierbase.sql.statement import Name, ParsedStatement
from glacierbase.sql.types import normalised, types_of


def declared(*files: str, dialect: str = "spark") -> DeclaredTables:
    """Return what files with these texts declare."""

    def names(parsed: ParsedStatement, uses: Sequence[FileStatement]) -> list[Name]:
        last = uses[-1].statement.text if uses else ""
        above = tuple(last.split()[-1].split(".")) if uses and "ROLE" not in last else ()
        return [
            Name(*((*above[: 3 - len(each.key)], *parts) for parts in (each.parts, each.key, each.written)))
            for each in parsed.targets
        ]

    numbered = [
        (str(number), named(split_statements(text, dialect), dialect)) for number, text in enumerate(files, start=1)
    ]
    return declared_tables(numbered, dialect, names)


def tables(*files: str, dialect: str = "spark") -> dict[str, Declared]:
    """Return the tables that files with these texts declare, by name."""
    return {table.name: table for table in declared(*files, dialect=dialect).tables.values()}


def known_columns(found: Declared) -> dict[str, ColumnTree]:
    return dict((found.known and found.known.columns) or {})


def columns(*files: str, dialect: str = "spark", table: str = "t") -> dict[str, str] | str:
    """Return the declared type of each column of a table, or why they are not known."""
    found = tables(*files, dialect=dialect)[table]
    if found.known is None or found.known.columns is None:
        return found.why or "not declared"
    return {name: types_of(column.spelling, dialect)[0] for name, column in found.known.columns.items()}


SPARK = {
    "INT": "int", "INTEGER": "int", "BIGINT": "bigint", "LONG": "bigint", "SMALLINT": "smallint", "BYTE": "tinyint",
    "REAL": "float", "DOUBLE": "double", "DECIMAL": "decimal(10,0)", "DEC(12)": "decimal(12,0)",
    "numeric ( 12 , 2 )": "decimal(12,2)", "STRING": "string", "VARCHAR(10)": "varchar(10)", "CHARACTER(3)": "char(3)",
    "TIMESTAMP": "timestamp", "TIMESTAMP_LTZ": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz", "VARIANT": "variant",
    "ARRAY<INT>": "array<int>", "MAP<STRING, ARRAY<LONG>>": "map<string,array<bigint>>",
    "STRUCT<a: INT, `B c`: STRUCT<d: DEC(3,1)>>": "struct<a:int,b c:struct<d:decimal(3,1)>>",
    "STRUCT<a INT NOT NULL COMMENT 'x > y', b STRING>": "struct<a:int,b:string>",
}  # fmt: skip
SNOWFLAKE = {
    "INT": "NUMBER(38,0)", "BYTEINT": "NUMBER(38,0)", "NUMBER": "NUMBER(38,0)", "DECIMAL(10)": "NUMBER(10,0)",
    "NUMERIC(10, 2)": "NUMBER(10,2)", "DOUBLE PRECISION": "FLOAT", "REAL": "FLOAT", "STRING": "VARCHAR", "TEXT": "VARCHAR",
    "VARCHAR(16777216)": "VARCHAR", "VARCHAR(20)": "VARCHAR(20)", "CHAR": "VARCHAR(1)", "CHAR VARYING(5)": "VARCHAR(5)",
    "BOOLEAN": "BOOLEAN", "DATETIME": "TIMESTAMP_NTZ(9)", "TIMESTAMP": "TIMESTAMP_NTZ(9)", "TIMESTAMP_TZ(3)": "TIMESTAMP_TZ(3)",
    "TIMESTAMPLTZ": "TIMESTAMP_LTZ(9)", "TIME": "TIME(9)", "VARBINARY": "BINARY", "BINARY(8388608)": "BINARY",
    "VARIANT": "VARIANT",
}  # fmt: skip
CASES = [("spark", *each) for each in SPARK.items()] + [("snowflake", *each) for each in SNOWFLAKE.items()]


@pytest.mark.parametrize(("dialect", "written", "expected"), CASES)
def test_a_type_has_one_spelling(dialect: str, written: str, expected: str) -> None:
    """The engine's spelling of the same type is the same."""
    assert normalised(written, dialect) == expected
    assert normalised(expected, dialect) == expected
    assert columns(f"CREATE TABLE t (c {written} NOT NULL COMMENT 'a, b)')", dialect=dialect) == {
        "c" if dialect == "spark" else "C": expected
    }


@pytest.mark.parametrize(
    "written", ["", "INTERVAL DAY TO SECOND", "STRUCT<a: INT, ... 3 more fields>", "INT(", "<", "VECTOR(FLOAT, 3)"]
)
def test_a_type_that_is_not_understood_is_an_error(written: str) -> None:
    """A type that is not understood is never compared as if it were another type."""
    with pytest.raises(UnsupportedClause):
        normalised(written, "spark")


def test_a_format_may_store_a_wider_type() -> None:
    """Iceberg has neither small integers nor bounded strings."""
    table = tables("CREATE TABLE t (a SMALLINT, b VARCHAR(9), c ARRAY<STRUCT<d: BYTE>>, e INT)")["t"]
    assert [types_of(column.spelling, "spark") for column in known_columns(table).values()] == [
        ("smallint", "int"), ("varchar(9)", "string"), ("array<struct<d:tinyint>>", "array<struct<d:int>>"), ("int",),
    ]  # fmt: skip


def test_the_meaning_of_timestamp_is_a_parameter_of_snowflake() -> None:
    """A type that names its time zone has one spelling."""
    table = tables("CREATE TABLE t (a TIMESTAMP(3), b TIMESTAMP_NTZ)", dialect="snowflake")["t"]
    assert [types_of(column.spelling, "snowflake") for column in known_columns(table).values()] == [
        ("TIMESTAMP_NTZ(3)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_TZ(3)"), ("TIMESTAMP_NTZ(9)",),
    ]  # fmt: skip


def test_a_create_statement_declares_its_columns() -> None:
    """Comments, constraints, quoted names, options and the columns of Hive's partitions included."""
    sql = """CREATE TABLE IF NOT EXISTS lake.s.`T` ( -- the table
        id BIGINT NOT NULL COMMENT 'a, (b', /* x, */ `Order, no` INT DEFAULT (1 + f(2, 3)),
        CONSTRAINT pk PRIMARY KEY (id), total DECIMAL(12, 2) GENERATED ALWAYS AS (id * 2), check STRING)
        USING parquet PARTITIONED BY (day DATE COMMENT 'p', bucket(4, id), id) TBLPROPERTIES ('a' = 'b')"""
    assert columns(sql, table="lake.s.T") == {
        "id": "bigint", "order, no": "int", "total": "decimal(12,2)", "check": "string", "day": "date",
    }  # fmt: skip


def test_snowflakes_names_are_in_capitals_unless_they_are_quoted() -> None:
    """As the engine reports them."""
    sql = 'CREATE OR REPLACE TRANSIENT TABLE db.s.t (id INT AUTOINCREMENT START 1 INCREMENT 1, "Mixed ""x" TEXT, UNIQUE (id))'
    assert columns(sql, dialect="snowflake", table="db.s.t") == {"ID": "NUMBER(38,0)", 'Mixed "x': "VARCHAR"}


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        ("ADD COLUMN c STRING AFTER a", {"a": "int", "c": "string", "b": "string"}),
        ("ADD COLUMNS (c STRING COMMENT 'x', `D` DATE)", {"a": "int", "b": "string", "c": "string", "d": "date"}),
        ("ADD COLUMN IF NOT EXISTS a STRING", {"a": "int", "b": "string"}),
        ("DROP COLUMN b", {"a": "int"}),
        ("DROP COLUMNS (a, b)", {}),
        ("DROP COLUMN IF EXISTS nothing", {"a": "int", "b": "string"}),
        ("RENAME COLUMN a TO Z", {"z": "int", "b": "string"}),
        ("ALTER COLUMN a TYPE bigint", {"a": "bigint", "b": "string"}),
        ("ALTER COLUMN a SET NOT NULL", {"a": "int", "b": "string"}),
        ("ALTER COLUMN a COMMENT 'type bigint'", {"a": "int", "b": "string"}),
        ("ALTER COLUMN b FIRST", {"b": "string", "a": "int"}),
        ("CHANGE COLUMN a TYPE bigint", {"a": "bigint", "b": "string"}),
        ("CHANGE COLUMN a z bigint COMMENT 'x'", {"z": "bigint", "b": "string"}),
        ("REPLACE COLUMNS (z DATE)", {"z": "date"}),
        ("ADD PARTITION FIELD bucket(4, a)", {"a": "int", "b": "string"}),
        ("REPLACE PARTITION FIELD a WITH b", {"a": "int", "b": "string"}),
        ("DROP PARTITION FIELD a", {"a": "int", "b": "string"}),
        ("ADD IF NOT EXISTS PARTITION (a = 1)", {"a": "int", "b": "string"}),
        ("DROP IF EXISTS PARTITION (a = 1)", {"a": "int", "b": "string"}),
        ("ADD CONSTRAINT c CHECK (a > 0)", {"a": "int", "b": "string"}),
        ("SET TBLPROPERTIES ('x' = 'y')", {"a": "int", "b": "string"}),
        ("WRITE ORDERED BY a", {"a": "int", "b": "string"}),
        ("CREATE BRANCH x", {"a": "int", "b": "string"}),
        ("DROP TAG x", {"a": "int", "b": "string"}),
        ("SET IDENTIFIER FIELDS a", {"a": "int", "b": "string"}),
        ("DROP IDENTIFIER FIELDS a", {"a": "int", "b": "string"}),
        ("ALTER COLUMN b.c TYPE bigint", {"a": "int", "b": "string"}),  # Refused: b is no struct.
        ("ALTER COLUMN a AFTER nothing", "not declared"),
        ("RENAME COLUMN nothing TO b", "not declared"),
        ("SET LOCATION 's3://x'", {"a": "int", "b": "string"}),
        ("DO SOMETHING", "version 2, statement 1: it is not understood (ALTER TABLE … DO) may have changed it"),
    ],
)
def test_an_alter_statement_of_spark_is_followed_or_gives_the_reason(alter: str, expected: object) -> None:
    """The name of the table may be written in another case."""
    assert columns("CREATE TABLE t (a INT, b STRING)", f"ALTER TABLE `T` {alter}") == expected


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        ("ADD c TEXT, COLUMN d DATE DEFAULT CURRENT_DATE()", {"A": "NUMBER(38,0)", "b": "VARCHAR", "C": "VARCHAR", "D": "DATE"}),
        ('DROP COLUMN a, "b"', {}),
        ("MODIFY COLUMN a SET DATA TYPE NUMBER(10), COLUMN a DROP NOT NULL", {"A": "NUMBER(10,0)", "b": "VARCHAR"}),
        ('ALTER (a TYPE DATE, "b" COMMENT $$x$$)', {"A": "DATE", "b": "VARCHAR"}),
        ("ADD ROW ACCESS POLICY p ON (a)", {"A": "NUMBER(38,0)", "b": "VARCHAR"}),
        ("MODIFY COLUMN a SET MASKING POLICY p", {"A": "NUMBER(38,0)", "b": "VARCHAR"}),
        ("MODIFY a NUMBER(12)", {"A": "NUMBER(12,0)", "b": "VARCHAR"}),
        ("DROP PRIMARY KEY", {"A": "NUMBER(38,0)", "b": "VARCHAR"}),
        ("CLUSTER BY (a)", {"A": "NUMBER(38,0)", "b": "VARCHAR"}),
        ("SWAP WITH other", "version 2, statement 1: other may have changed it"),
    ],
)  # fmt: skip
def test_an_alter_statement_of_snowflake_is_followed_or_gives_the_reason(alter: str, expected: object) -> None:
    """Several clauses in one statement included."""
    found = columns('CREATE TABLE t (a INT, "b" TEXT)', f"ALTER TABLE IF EXISTS t {alter}", dialect="snowflake")
    assert found == expected


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("CREATE TABLE t AS SELECT 1 AS a", "not declared"),
        ("CREATE TABLE t USING iceberg AS SELECT 1 AS a", "not declared"),
        ("CREATE TABLE t LIKE other", "a copy of other"),
        ("CREATE TABLE t USING delta LOCATION '/x'", "not declared"),
        ("CREATE VIEW t AS SELECT 1", "a view"),
        ("CREATE TABLE t (a INT); ALTER TABLE @x ADD COLUMN b INT", "version 1, statement 2: it is not understood"),
        ("CREATE TABLE t (a INT); DROP TABLE 'x'", "version 1, statement 2: it is not understood"),
        ("CREATE TABLE t (a INT", "the end where , is expected"),
        ("CREATE TABLE t (a STRUCT<b", "< that nothing closes"),
        (
            "CREATE TABLE t (a INT); BEGIN ALTER TABLE t ADD COLUMN b INT; END",
            "version 1, statement 2: script may have changed it",
        ),
    ],
)
def test_columns_that_cannot_be_derived_are_not_guessed(sql: str, why: str) -> None:
    """The table is still one that must exist."""
    assert str(columns(sql)).startswith(why)


def test_a_statement_that_is_not_understood_is_named() -> None:
    """A statement that is not understood is named, also where it is about no table that the files declare."""
    assert declared("CREATE TABLE t (a INT);\nFROBNICATE x").not_understood == [
        ("1", "version 1, statement 2 is not understood: a statement that begins with FROBNICATE")
    ]


def test_a_nested_field_is_followed() -> None:
    """Fields are added, placed, altered, renamed and dropped inside a column, an array and a map."""
    found = tables(
        "CREATE TABLE t (s STRUCT<a: INT NOT NULL COMMENT 'x', b: ARRAY<STRUCT<c: INT>>>, m MAP<STRING, STRUCT<d: INT>>)",
        "ALTER TABLE t ADD COLUMN s.z DATE FIRST; ALTER TABLE t ADD COLUMN s.b.element.e INT;"
        "ALTER TABLE t ALTER COLUMN s.b.element.c TYPE bigint; ALTER TABLE t RENAME COLUMN m.value.d TO f;"
        "ALTER TABLE t ALTER COLUMN m.key COMMENT 'k'",
    )["t"]

    def shown(column: ColumnTree) -> object:
        inside = {name: shown(each) for name, each in (column.fields or {}).items()}
        return inside or (column.type, column.required, column.comment)

    assert {name: shown(each) for name, each in known_columns(found).items()} == {
        "s": {
            "z": ("date", False, None), "a": ("int", True, "x"),
            "b": {"element": {"c": ("bigint", False, None), "e": ("int", False, None)}},
        },
        "m": {"key": ("string", True, "k"), "value": {"f": ("int", False, None)}},
    }  # fmt: skip
    assert list(known_columns(found)["s"].fields or ()) == ["z", "a", "b"]


def test_snowflakes_own_kinds_of_tables_are_not_compared() -> None:
    """The engine adds columns or maps types."""
    assert "iceberg table" in columns("CREATE ICEBERG TABLE t (a INT)", dialect="snowflake")
    assert columns("CREATE TABLE t CLONE other", dialect="snowflake") == "a copy of other"
    # A transaction is no script.
    assert columns("CREATE TABLE t (a INT); BEGIN; COMMIT", dialect="snowflake") == {"A": "NUMBER(38,0)"}


def test_tables_are_followed_by_their_names() -> None:
    """A second CREATE IF NOT EXISTS changes nothing, a replaced one everything; a dropped table is none."""
    found = tables(
        "CREATE TABLE a (x INT); CREATE TABLE b (x INT); CREATE TABLE c (x INT)",
        "CREATE TABLE IF NOT EXISTS A (y INT); CREATE OR REPLACE TABLE b (y INT); DROP TABLE IF EXISTS c",
        "ALTER TABLE b RENAME TO d; ALTER TABLE d ADD COLUMN z INT",
    )
    assert {name: list(known_columns(table)) for name, table in found.items()} == {"a": ["x"], "d": ["y", "z"]}
    assert [table.versions for table in found.values()] == [("1", "2"), ("2", "3")]


def test_a_name_may_begin_with_a_digit() -> None:
    """Spark accepts it without quotes."""
    assert columns("CREATE TABLE 2024_orders (1st INT)", table="2024_orders") == {"1st": "int"}


def test_a_name_means_what_the_use_before_it_says() -> None:
    """The name's table is the same under its qualified name; USE ends with its file."""
    found = declared(
        "USE lake.a; CREATE TABLE t (x INT)",
        "USE lake.b; CREATE TABLE t (x INT); CREATE TABLE lake.a.u (x INT)",
        "USE lake.a; ALTER TABLE t ADD COLUMN y INT; ALTER TABLE lake.a.u ADD COLUMN y INT",
        "ALTER TABLE lake.b.t ADD COLUMN z INT",
    ).tables
    assert {".".join(key): (table.name, table.uses, list(known_columns(table))) for key, table in found.items()} == {
        "lake.a.t": ("t", ("USE lake.a",), ["x", "y"]),
        "lake.b.t": ("t", ("USE lake.b",), ["x", "z"]),
        "lake.a.u": ("lake.a.u", ("USE lake.b",), ["x", "y"]),
    }
    role = tables("USE ROLE a; CREATE TABLE t (x INT)", "ALTER TABLE t ADD y INT", dialect="snowflake")["t"]
    assert (list(known_columns(role)), role.uses) == (["X", "Y"], ("USE ROLE a",))


def test_the_primary_key_of_a_table_is_followed() -> None:
    """On Snowflake it identifies the rows, wherever it is declared."""
    option = "CREATE TABLE t (a INT PRIMARY KEY, b INT)"
    for files in ([option], ["CREATE TABLE t (a INT, b INT, CONSTRAINT k PRIMARY KEY (A))"], ["CREATE TABLE t (a INT)",
                  "ALTER TABLE t ADD PRIMARY KEY (a)"]):  # fmt: skip
        known = tables(*files, dialect="snowflake")["t"].known
        assert known is not None
        assert known.identifiers == (("A",),)
    dropped = tables(option, "ALTER TABLE t DROP PRIMARY KEY", dialect="snowflake")["t"].known
    assert dropped is not None
    assert dropped.identifiers == ()
