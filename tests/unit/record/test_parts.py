"""The clauses of a statement, as `read` gives them to rules."""

from __future__ import annotations

import pytest

from glacierbase.declared.render import literal
from glacierbase.sql import read
from glacierbase.sql.statement import (
    AlterColumn,
    Argument,
    Call,
    ColumnClause,
    Condition,
    Constraint,
    DropColumn,
    Feature,
    Fields,
    Options,
    ParsedStatement,
    Part,
    PartitionClause,
    Place,
    Property,
    Reference,
    RenameColumn,
    SortClause,
    Transform,
    WriteOrder,
)


def parts(sql: str, dialect: str = "spark") -> tuple[Part, ...]:
    return read(sql, dialect).parts


def options(sql: str, dialect: str = "spark") -> Options:
    return read(sql, dialect).options


def test_an_added_column_has_path_type_and_options() -> None:
    """Names are without quotes, types and expressions as written, and places count from the start of the statement."""
    sql = """ALTER TABLE t ADD COLUMNS (
  `My col` decimal(10, 2) NOT NULL COMMENT 'it''s, ok' AFTER `b c`,
  a.`b`  struct<x: int, y: array<string>> DEFAULT (1 + f(2, 3)) FIRST)"""
    assert parts(sql) == (
        ColumnClause(
            "add_column", Place(2, 3), ("My col",), "decimal(10, 2)", nullable=False, comment="it's, ok", position="after b c",
            key=("my col",),
        ),
        ColumnClause(
            "add_column", Place(3, 3), ("a", "b"), "struct<x: int, y: array<string>>", default="(1 + f(2, 3))", position="first",
            key=("a", "b"),
        ),
    )  # fmt: skip


def test_a_created_table_has_columns_partitions_properties_and_options() -> None:
    """The clauses stand in the order of the text; what occurs once is an option."""
    sql = (
        "CREATE TABLE IF NOT EXISTS lake.t (id bigint, total int GENERATED ALWAYS AS (id * 2)) USING Iceberg"
        " PARTITIONED BY (bucket(16, id), days(at) , day) LOCATION 's3://b/t' COMMENT 'x' TBLPROPERTIES ('a' = 'b')"
    )
    statement = read(sql, "spark")
    columns = [part for part in statement.parts if isinstance(part, ColumnClause)]
    assert [(part.path, part.type, part.generated) for part in columns] == [
        (("id",), "bigint", None),
        (("total",), "int", "(id * 2)"),
    ]
    fields = [part.transform for part in statement.parts if isinstance(part, PartitionClause)]
    assert fields == [
        Transform("bucket(16, id)", "bucket", ("16", "id")),
        Transform("days(at)", "days", ("at",)),
        Transform("day", "", ("day",)),
    ]
    assert [part.key for part in statement.parts if isinstance(part, Property)] == ["a"]
    assert statement.options == Options("table", if_not_exists=True, using="iceberg", location="s3://b/t", comment="x")


def test_columns_are_dropped_renamed_and_altered_one_by_one() -> None:
    """Each part holds what changes, and nothing else."""
    assert parts("ALTER TABLE t DROP COLUMNS IF EXISTS (a, b.C)") == (
        DropColumn("drop_column", Place(1, 39), ("a",), ("a",)),
        DropColumn("drop_column", Place(1, 42), ("b", "C"), ("b", "c")),
    )
    [renamed] = parts("ALTER TABLE t RENAME COLUMN a.b TO C")
    assert renamed == RenameColumn("rename_column", Place(1, 29), ("a", "b"), "C", ("a", "b"), "c")
    assert parts(
        "ALTER TABLE t ALTER COLUMN a TYPE bigint, b.c COMMENT 'x', d DROP NOT NULL, e AFTER f, g SET DEFAULT 1"
    ) == (
        AlterColumn("alter_column_type", Place(1, 28), ("a",), type="bigint", key=("a",)),
        AlterColumn("alter_column_comment", Place(1, 43), ("b", "c"), comment="x", key=("b", "c")),
        AlterColumn("alter_column_nullability", Place(1, 60), ("d",), nullable=True, key=("d",)),
        AlterColumn("alter_column_position", Place(1, 77), ("e",), position="after f", key=("e",)),
        AlterColumn("alter_column_default", Place(1, 88), ("g",), default="1", key=("g",)),
    )


def test_snowflakes_names_keep_their_case_only_in_quotes() -> None:
    """`key` is the name as the engine compares it; `path` is the name as written."""
    [plain, quoted] = parts('ALTER TABLE t DROP COLUMN a, "a"', "snowflake")
    assert isinstance(plain, DropColumn)
    assert isinstance(quoted, DropColumn)
    assert (plain.path, plain.key, quoted.path, quoted.key) == (("a",), ("A",), ("a",), ("a",))


def test_a_property_has_the_places_of_its_key_and_its_value() -> None:
    """A key may be written without quotes, and a value may be a number."""
    found = parts(
        "ALTER TABLE t SET TBLPROPERTIES (\n'commit.retry.num-retries' = 'ten',\n  write.format = 3, 'k' 'v')"
    )
    assert found == (
        Property("set_properties", Place(2, 1), "commit.retry.num-retries", "ten", Place(2, 30)),
        Property("set_properties", Place(3, 3), "write.format", "3", Place(3, 18)),
        Property("set_properties", Place(3, 21), "k", "v", Place(3, 25)),
    )
    assert parts("ALTER TABLE t UNSET TBLPROPERTIES ('a')") == (Property("unset_properties", Place(1, 36), "a"),)


def test_partition_fields_and_orders_have_transforms() -> None:
    """Functions are in lower case, arguments without quotes."""
    [added] = parts("ALTER TABLE t ADD PARTITION FIELD Bucket(16, `a b`) AS shard")
    bucket = Transform("Bucket(16, `a b`)", "bucket", ("16", "a b"))
    assert added == PartitionClause("add_partition_field", Place(1, 19), bucket, "shard")
    [replaced] = parts("ALTER TABLE t REPLACE PARTITION FIELD days(at) WITH hours(at)")
    assert isinstance(replaced, PartitionClause)
    assert replaced.replaces == Transform("days(at)", "days", ("at",))
    assert parts("ALTER TABLE t WRITE LOCALLY ORDERED BY a DESC NULLS LAST, b") == (
        WriteOrder(
            "set_write_order", Place(1, 21),
            (SortClause(Transform("a", "", ("a",)), "desc", "last"), SortClause(Transform("b", "", ("b",)))), locally=True,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("SET IDENTIFIER FIELDS a, b.c", Fields("set_identifier_fields", Place(1, 19), ("a", "b.c"))),
        ("CLUSTER BY NONE", Fields("cluster_by", Place(1, 23), ())),
        ("DROP BRANCH IF EXISTS `x-1`", Reference("drop_branch", Place(1, 20), "x-1", if_exists=True)),
        (
            "REPLACE TAG x AS OF VERSION 12 RETAIN 3 DAYS",
            Reference(
                "create_tag", Place(1, 23), "x", or_replace=True, snapshot="12", creates=False, retain_ms=259_200_000
            ),
        ),
        ("ADD CONSTRAINT c CHECK (a > 0)", Constraint("add_constraint", Place(1, 19), "c", "CHECK (a > 0)")),
        ("DROP FEATURE x TRUNCATE HISTORY", Feature("other", Place(1, 20), "x", truncate_history=True)),
    ],
)
def test_a_clause_of_alter_table_is_one_value(sql: str, part: Part) -> None:
    """The place of a clause is that of the first word after the verb."""
    found = parts(f"ALTER TABLE t {sql}")
    assert found == (part,)


def test_a_call_has_its_procedure_and_arguments() -> None:
    """Texts are as written; a string literal has its value too."""
    sql = "CALL lake.system.rewrite_data_files('shop.t', strategy => 'sort', options => map('a', 'b'))"
    [called] = parts(sql)
    assert called == Call(
        "call", Place(1, 6), ("lake", "system", "rewrite_data_files"),
        (
            Argument(None, "'shop.t'", "shop.t"), Argument("strategy", "'sort'", "sort"),
            Argument("options", "map('a', 'b')", None),
        ),
    )  # fmt: skip
    assert isinstance(called, Call)
    assert called.argument("strategy") == Argument("strategy", "'sort'", "sort")
    assert called.argument("where") is None


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("DROP TABLE IF EXISTS t PURGE", Options("table", if_exists=True, purge=True)),
        ("DROP SCHEMA s CASCADE", Options("schema", cascade=True)),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", Options("view", or_replace=True)),
        ("DELETE FROM t", Options()),
        ("DELETE FROM t WHERE 1 = 0", Options(where=True, condition=Condition(holds=False, qualifiers=frozenset()))),
        ("UPDATE t SET a = (SELECT b FROM c WHERE d), t.e = 1", Options(columns=("a", "e"))),
        ("INSERT INTO t PARTITION (a = 1) (b, c) SELECT 1, 2", Options(partition="(a = 1)", columns=("b", "c"))),
        ("INSERT INTO t BY NAME SELECT 1 AS a", Options(by_name=True)),
        ("VACUUM t RETAIN 0 HOURS", Options(retain="0 HOURS")),
        ("ALTER TABLE t DROP COLUMN IF EXISTS a", Options("table", if_exists=True)),
        ("ALTER TABLE t SET LOCATION 's3://b'", Options("table", location="s3://b")),
    ],
)
def test_words_outside_of_clauses_are_options(sql: str, expected: Options) -> None:
    """What is absent is False or None."""
    assert options(sql) == expected


def test_a_name_has_the_forms_that_its_readers_need() -> None:
    """For people without quotes, for comparison as the engine does it, for the history with the quotes that it needs."""
    [name] = read("DROP TABLE Lake . `my.db`\n.`T`", "spark").targets
    assert (str(name), name.key, name.recorded) == ("Lake.my.db.T", ("lake", "my.db", "t"), "Lake.`my.db`.T")
    assert read("DROP TABLE t", "spark") == ParsedStatement(
        "drop_table", read("DROP TABLE t", "spark").targets, options=Options("table")
    )


@pytest.mark.parametrize(
    "text", ["a\nb", "it's", r"\n", "\x1b[2J", "\U0001f9ca", "${a}", "\0", "\u2028", r"100\%", "''", "\\"]
)
def test_a_text_that_was_written_as_a_string_is_read_as_it_was(text: str) -> None:
    """Escapes stand for characters; Spark's own are in its reference of string literals."""
    assert read(f"COMMENT ON TABLE lake.a.t IS {literal(text)}", "spark").options.comment == text


@pytest.mark.parametrize(
    ("written", "means"),
    [
        (r"'\u00e4\101'", "äA"),
        (r"'\ud83e\uddca'", "\U0001f9ca"),
        (r"'a\tb\q'", "a\tbq"),
        (r"'\%\_'", r"\%\_"),
    ],
)
def test_an_escape_means_what_it_means_in_spark(written: str, means: str) -> None:
    """By code, in pairs of surrogates, by letter."""
    assert read(f"COMMENT ON TABLE lake.a.t IS {written}", "spark").options.comment == means
