"""`new --to-match`: the statements that lead from the recorded tables to wanted ones."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables

CREATE = "CREATE TABLE lake.a.t (id bigint NOT NULL, name string, total int, home struct<city: string>) USING iceberg"
HOME = StructType(NestedField(5, "city", StringType()))


@pytest.fixture
def tables(project: ProjectFolder) -> RecordedTables:
    """The table `lake.a.t`, made and recorded by version 1."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    return tables


def create(client: SqlCatalog, name: str = "a.t") -> object:
    columns = (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType(), doc="of the customer"),
        NestedField(3, "total", IntegerType()),
        NestedField(4, "home", HOME),
    )
    return client.create_table(name, Schema(*columns), properties={"format-version": "2", "x": "1"})


def write(tables: RecordedTables, *arguments: str) -> tuple[int, str, list[str]]:
    """Run `new`; return the exit code, the error or the result, and the statements of the file."""
    output = tables.run("new", "as wanted", "--author", "me", "--to-match", *arguments)
    files = sorted((tables.project.root / "migrations" / "shop").glob("*_as_wanted.sql"))
    sql = files[0].read_text().split("\n\n", 1)[1] if files else ""
    return output.code, output.stderr + output.stdout, [line.rstrip(";") for line in sql.splitlines() if line]


def wanted(tables: RecordedTables, name: str, content: str) -> str:
    path = tables.project.root / name
    path.write_text(content)
    return str(path)


def test_the_create_statement_of_a_wanted_table_becomes_alters(tables: RecordedTables) -> None:
    """A column of a wider type, one with another comment, new ones in their places, and a partition field."""
    sql = (
        "CREATE TABLE lake.a.t (id bigint NOT NULL, name string COMMENT 'of the buyer', userId string, total bigint,"
        " home struct<city: string, zip: int>) USING iceberg PARTITIONED BY (bucket(8, id)) TBLPROPERTIES ('y' = '2');"
    )
    code, _, statements = write(tables, wanted(tables, "t.sql", sql))
    assert code == 0
    assert statements == [
        "ALTER TABLE lake.a.t ALTER COLUMN `name` COMMENT 'of the buyer'",
        "ALTER TABLE lake.a.t ALTER COLUMN `total` TYPE bigint",
        "ALTER TABLE lake.a.t ADD COLUMN `userId` string",
        "ALTER TABLE lake.a.t ADD COLUMN `home`.`zip` int",
        "ALTER TABLE lake.a.t ALTER COLUMN `userId` AFTER `name`",
        "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(8, `id`) AS `id_bucket`",
        "ALTER TABLE lake.a.t SET TBLPROPERTIES ('y' = '2')",
    ]


def test_a_table_that_does_not_exist_is_created(tables: RecordedTables) -> None:
    """The statement is complete, and the recorded table of the other name stays."""
    sql = "CREATE TABLE lake.a.other (id bigint) USING iceberg"
    code, _, statements = write(tables, wanted(tables, "t.sql", sql))
    assert code == 0
    assert statements[0] == "CREATE TABLE lake.a.other ("
    assert not any("lake.a.t" in statement for statement in statements)


def test_a_column_that_is_missing_is_never_dropped_or_renamed_by_a_guess(tables: RecordedTables) -> None:
    """The error names it; a named rename writes one statement."""
    sql = wanted(tables, "t.sql", CREATE.replace("name string", "label string COMMENT 'of the customer'"))
    code, error, statements = write(tables, sql)
    assert (code, statements) == (2, [])
    assert "name would be dropped, with its values" in error
    code, _, statements = write(tables, sql, "--rename", "name:label")
    assert code == 0
    assert statements == ["ALTER TABLE lake.a.t RENAME COLUMN `name` TO `label`"]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("total int", "total string", "total cannot change from int to string"),
        ("name string", "name string NOT NULL", "name cannot begin to refuse nulls"),
    ],
)
def test_an_impossible_step_is_refused_by_name(tables: RecordedTables, old: str, new: str, why: str) -> None:
    """Nothing is written."""
    code, error, statements = write(tables, wanted(tables, "t.sql", CREATE.replace(old, new)))
    assert (code, statements) == (2, [])
    assert why in error


def test_a_table_as_wanted_needs_no_migration(tables: RecordedTables) -> None:
    """No file is written, and the exit code is 0."""
    sql = CREATE.replace("name string", "name string COMMENT 'of the customer'")
    code, text, statements = write(tables, wanted(tables, "t.sql", sql))
    assert (code, statements) == (0, [])
    assert "the recorded tables match" in text


def test_a_parquet_file_states_names_and_types_alone(tables: RecordedTables) -> None:
    """Comments, required columns, properties and partitioning stay."""
    schema = pyarrow.schema(
        [
            ("id", pyarrow.int64()),
            ("name", pyarrow.string()),
            ("total", pyarrow.int64()),
            ("home", pyarrow.struct([("city", pyarrow.string())])),
            ("at", pyarrow.timestamp("us", "UTC")),
        ]
    )
    path = tables.project.root / "wanted.parquet"
    parquet.write_table(schema.empty_table(), path)
    code, _, statements = write(tables, str(path), "--table", "lake.a.t")
    assert code == 0
    assert statements == [
        "ALTER TABLE lake.a.t ALTER COLUMN `total` TYPE bigint",
        "ALTER TABLE lake.a.t ADD COLUMN `at` timestamp_ltz",
    ]


def test_a_json_schema_tells_no_width_and_no_order(tables: RecordedTables) -> None:
    """A column of int is an integer; a new object becomes a struct."""
    schema = {
        "type": "object",
        "properties": {
            "total": {"type": "integer"},
            "name": {"type": ["string", "null"]},
            "id": {"type": "integer"},
            "home": {"$ref": "#/$defs/home"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "$defs": {"home": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}}},
    }
    code, _, statements = write(tables, wanted(tables, "t.json", json.dumps(schema)), "--table", "t")
    assert code == 0
    assert statements == [
        "ALTER TABLE lake.a.t ADD COLUMN `home`.`zip` bigint",
        "ALTER TABLE lake.a.t ADD COLUMN `tags` array<string>",
    ]


def test_the_statements_start_where_pending_files_end(tables: RecordedTables) -> None:
    """A column that a pending file adds is not added again, and a table that one creates is altered."""
    add = "ALTER TABLE lake.a.t ADD COLUMN country string; CREATE TABLE lake.a.new (id bigint) USING iceberg"
    tables.project.file("2_pending.sql", add)
    tables.project.file("3_more.sql", "ALTER TABLE lake.a.t ALTER COLUMN total TYPE bigint; DELETE FROM lake.a.t")
    sql = (
        CREATE.replace("total int", "total bigint").replace("USING iceberg", "").removesuffix(") ")
        + ", country string, device string) USING iceberg; CREATE TABLE lake.a.new (id bigint, at timestamp) USING iceberg"
    ).replace("name string", "name string COMMENT 'of the customer'")
    code, error, statements = write(tables, wanted(tables, "t.sql", sql))
    assert code == 2, statements
    assert "3_more.sql:" in error
    tables.project.file(
        "3_more.sql", "ALTER TABLE lake.a.t ALTER COLUMN total TYPE bigint; CREATE VIEW lake.a.v AS SELECT 1"
    )
    code, error, statements = write(tables, wanted(tables, "t.sql", sql))
    assert code == 0, error
    assert statements == [
        "ALTER TABLE lake.a.t ADD COLUMN `device` string",
        "ALTER TABLE lake.a.new ADD COLUMN `at` timestamp_ltz",
    ]


@pytest.mark.parametrize(
    ("pending", "why"),
    [
        ("INSERT INTO lake.a.t VALUES (1)", "insert needs the engine"),
        ("CALL lake.system.anything('a.t')", "what the procedure anything changes is not known"),
        ("USE lake.a", "use needs the engine"),
        ("ALTER TABLE lake.a.t DROP COLUMN nope", "nope"),
    ],
)
def test_a_pending_file_of_unknown_effect_is_applied_first(tables: RecordedTables, pending: str, why: str) -> None:
    """The error names the version, the table and the reason, and the hint is the command."""
    tables.project.file("2_pending.sql", pending)
    code, error, statements = write(tables, wanted(tables, "t.sql", CREATE.replace("total int", "total bigint")))
    assert (code, statements) == (2, [])
    assert "NOT_MATCHABLE: 1 pending version may change lake.a.t: 2" in error
    assert why in error
    assert "apply them first: `glacierbase migrate" in error


def test_columns_exchange_their_names(tables: RecordedTables) -> None:
    """All renames happen at once: each old name is one of the record, each new one is one of the source."""
    sql = CREATE.replace("name string", "Total string COMMENT 'of the customer'").replace("total int", "Name int")
    code, error, statements = write(
        tables, wanted(tables, "t.sql", sql), "--rename", "name:Total", "--rename", "total:Name"
    )
    assert code == 0, error
    assert statements == [
        "ALTER TABLE lake.a.t RENAME COLUMN `name` TO `renamed_1`",
        "ALTER TABLE lake.a.t RENAME COLUMN `total` TO `Name`",
        "ALTER TABLE lake.a.t RENAME COLUMN `renamed_1` TO `Total`",
    ]


def test_a_rename_is_about_one_table(tables: RecordedTables) -> None:
    """A source with two tables needs the name of one."""
    sql = CREATE + "; CREATE TABLE lake.a.other (id bigint) USING iceberg"
    code, error, statements = write(tables, wanted(tables, "t.sql", sql), "--rename", "name:label")
    assert (code, statements) == (2, [])
    assert "--rename is about one table, and " in error


@pytest.mark.parametrize(
    ("name", "first"),
    [("lake.a.t", "ALTER TABLE lake.a.t ADD COLUMN `at` date"), ("lake.a.other", "CREATE TABLE lake.a.other (")],
)
def test_a_place_of_files_is_left_to_a_person(tables: RecordedTables, name: str, first: str) -> None:
    """Another environment that got the statement would write there too: a warning names it."""
    columns = "id bigint NOT NULL, name string COMMENT 'of the customer', total int, home struct<city: string>, at date"
    sql = f"CREATE TABLE {name} ({columns}) USING iceberg TBLPROPERTIES ('write.data.path' = 's3://b/x')"
    code, error, statements = write(tables, wanted(tables, "t.sql", sql))
    assert code == 0, error
    assert statements[0] == first
    assert not any("s3://" in statement for statement in statements)
    assert f"{name}: the property write.data.path says where files are" in error


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("t.json", "{", "Expecting"),
        ("t.json", '{"properties": {"a": {"$ref": "#/properties/a"}}}', "leads to itself"),
        ("t.json", '{"properties": {"a": {"type": ["string", "integer"]}}}', "which no column has"),
        ("t.json", '{"properties": {"a": {"$ref": "https://example.com/a"}}}', "not inside the file"),
        ("t.parquet", "no parquet", "arquet"),
        ("t.txt", "", "its name ends in none of"),
        ("t.sql", "SELECT 1", "select"),
    ],
)
def test_what_is_no_schema_is_refused(tables: RecordedTables, name: str, content: str, why: str) -> None:
    """One message says why."""
    code, error, statements = write(tables, wanted(tables, name, content), "--table", "lake.a.t")
    assert (code, statements) == (2, [])
    assert "NOT_A_SCHEMA" in error
    assert why in error


def test_a_file_that_is_no_text_is_refused(tables: RecordedTables) -> None:
    """The message names the file."""
    path = tables.project.root / "t.sql"
    path.write_bytes(b"CREATE TABLE lake.a.t (id bigint COMMENT '\xff')")
    code, error, statements = write(tables, str(path))
    assert (code, statements) == (2, [])
    assert "t.sql: it is not UTF-8" in error


CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: sql, uri: "sqlite:///${projectRoot}/${environment}.db", warehouse: "file://${projectRoot}/${environment}"}
environments:
  dev: {variables: {ns: sales_dev}}
  prod: {variables: {ns: sales}}
defaultEnvironment: dev
"""
MAKE = """\
CREATE NAMESPACE lake.{{ variables.ns }};
CREATE TABLE lake.{{ variables.ns }}.orders (id BIGINT NOT NULL, name STRING) USING iceberg;
"""
MORE = """\
ALTER TABLE lake.{{ variables.ns }}.orders ADD COLUMN country STRING AFTER id;
ALTER TABLE lake.{{ variables.ns }}.orders SET TBLPROPERTIES ('a' = '1');
ALTER TABLE lake.{{ variables.ns }}.orders WRITE ORDERED BY id DESC;
"""


def test_the_record_of_another_environment_is_a_source(project: ProjectFolder) -> None:
    """The tables are equal after the file has run; it has the names by which earlier files render in each environment."""
    project.catalog(CATALOG)
    project.file("0001_make.sql", MAKE)
    for environment in ("dev", "prod"):
        assert project.ask("migrate", "--env", environment, "--yes").code == 0
    ahead = project.file("0002_more.sql", MORE)
    assert project.ask("migrate", "--env", "prod", "--yes").code == 0
    ahead.unlink()
    written = project.ask("new", "catch up", "--author", "me", "--to-match", "env:prod", "--env", "dev")
    [path] = written.document["catalogs"][0]["files"]
    assert "lake.{{ variables.ns }}.orders ADD COLUMN `country` string" in Path(path).read_text()
    assert project.ask("migrate", "--env", "dev", "--yes").code == 0
    [compared] = project.ask("compare", "dev", "prod").document["catalogs"]
    assert [(table["verdict"], table["differences"]) for table in compared["tables"]] == [("equal", [])]
    again = project.ask("new", "catch up", "--author", "me", "--to-match", "env:prod", "--env", "dev")
    assert again.document["catalogs"][0]["unchanged"] == "env:prod"


def test_what_variables_explain_stays_and_the_source_runs_nothing(project: ProjectFolder) -> None:
    """The number of buckets and a column of prod alone differ by design; the file of another branch is followed elsewhere."""
    buckets = {"sales_dev": "sales_dev, buckets: 10", "sales}": "sales, buckets: 100}"}
    text = CATALOG
    for old, new in buckets.items():
        text = text.replace(old, new)
    project.catalog(text)
    project.file(
        "0001_make.sql", MAKE.replace("iceberg;", "iceberg PARTITIONED BY (bucket({{ variables.buckets }}, id));")
    )
    project.file(
        "0002_audit.sql",
        "{% if environment == 'prod' %}ALTER TABLE lake.{{ variables.ns }}.orders ADD COLUMN audited BOOLEAN{% endif %}",
    )
    for environment in ("dev", "prod"):
        assert project.ask("migrate", "--env", environment, "--yes").code == 0
    ahead = project.file("0003_more.sql", MORE.splitlines()[0])
    assert project.ask("migrate", "--env", "prod", "--yes").code == 0
    ahead.unlink()
    written = project.ask("new", "catch up", "--author", "me", "--to-match", "env:prod", "--env", "dev").entry()
    [path] = written["files"]
    assert Path(path).name == "0004_catch_up.sql"  # 0003 is in the history of prod.
    assert Path(path).read_text().split("\n\n", 1)[1].splitlines() == [
        "{% if environment != 'prod' %}",
        "ALTER TABLE lake.{{ variables.ns }}.orders ADD COLUMN `country` string;",
        "ALTER TABLE lake.{{ variables.ns }}.orders ALTER COLUMN `country` AFTER `id`;",
        "{% endif %}",
    ]
    assert "lake.sales_dev.orders: partitioning differs by variables, and is left as it is" in written["warnings"]
