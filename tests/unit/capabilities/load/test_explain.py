"""`layout explain`: the template of a table as recorded or declared, and of a migration's tables in every environment."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import LongType, NestedField, TimestamptzType

from tests.support.program import Output, run_here
from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables

CATALOG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.defaultCatalog: lake
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.uri: ${secret:NOT_SET}
      spark.sql.catalog.hot: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.hot.table-default.write.data.path: s3://hot/all
    dependencies: ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"]
environments: {dev: {variables: {buckets: 4}}, test: {variables: {buckets: 4}}, prod: {variables: {buckets: 16}}}
"""
CREATE = (
    "USE lake.sales;\nCREATE TABLE orders (id BIGINT, ts TIMESTAMP) USING iceberg"
    " PARTITIONED BY (days(ts), bucket({{ variables.buckets }}, id))"
)
USAGE = 2


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    """A project with two migrations of one table."""
    project.catalog(CATALOG)
    project.file("0001_orders.sql", CREATE)
    project.file(
        "0002_hash.sql",
        "ALTER TABLE sales.orders SET TBLPROPERTIES ('write.object-storage.enabled'='true');"
        "\nALTER TABLE sales.unknown ADD COLUMN a INT",
    )
    return project


def explained(project: ProjectFolder, *arguments: str) -> Output:
    return run_here(project, "layout", "explain", *arguments)


def templates(project: ProjectFolder, *arguments: str) -> list[dict[str, Any]]:
    """Return the templates as JSON."""
    output = explained(project, *arguments, "--format", "json")
    assert output.code == 0, output.stderr
    return list(output.entry()["templates"])


def test_a_migration_is_explained_in_every_environment_and_contacts_nothing(
    shop: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is rendered in the sandbox, references stay unresolved, USE completes names, equal environments are shown once."""
    monkeypatch.setattr("glacierbase.migrations.compiled.compile_migration", None)
    monkeypatch.setattr("glacierbase.history.target.CatalogRun.opened", None)
    found = templates(shop, "1")
    assert [(keys["table"], keys["environment"]) for keys in found] == [
        ("lake.sales.orders", "dev"), ("lake.sales.orders", "test"), ("lake.sales.orders", "prod"),
    ]  # fmt: skip
    [constant, day, bucket, _] = found[-1]["segments"]
    assert constant["kind"] == "constant"
    assert (day["kind"], day["text"], day["source"]) == ("time", "ts_day={ts_day}", "partition field day(ts)")
    assert (bucket["kind"], bucket["source"]) == ("low-entropy", "partition field bucket(16, id)")
    assert found[-1]["example"].startswith("data/ts_day=2026-11-24/id_bucket=7/")
    assert found[-1]["notes"] == ["44 % of the numbers of bucket(16, id) begin with 1"]
    assert (found[-1]["format"], found[-1]["version"], found[-1]["basis"]) == ("iceberg", "1.12.0", "declared")
    text = explained(shop, "1").stdout
    assert "lake.sales.orders in dev, test\n" in text
    assert "lake.sales.orders in prod\n" in text
    assert text.count("partition field bucket(4, id)") == 1


def test_a_migration_shows_the_tables_that_it_changes_with_what_earlier_ones_declare(shop: ProjectFolder) -> None:
    """A table that no earlier file creates has a reason in place of a template."""
    by_path = templates(shop, "shop/0002_hash.sql", "--env", "dev")
    assert by_path == templates(shop, str(shop.root / "migrations/shop/0002_hash.sql"), "--env", "dev")
    [orders, unknown] = by_path
    assert [segment["kind"] for segment in orders["segments"]][:5] == ["constant", *["hashed"] * 4]
    assert (unknown["table"], unknown["segments"]) == ("lake.sales.unknown", [])
    assert unknown["why"] == "no migration up to this one creates it"
    assert "no template: no migration up to this one creates it" in explained(shop, "2").stdout


def test_a_file_that_is_absent_or_changes_no_table_is_an_error(shop: ProjectFolder) -> None:
    shop.file("0003_read.sql", "SELECT 1")
    absent = explained(shop, "9")
    assert absent.code == USAGE
    assert "UNKNOWN_VERSION: there is no migration 9" in absent.stderr
    folder = explained(shop, "migrations/shop")
    assert "UNKNOWN_VERSION: there is no migration migrations/shop" in folder.stderr
    nothing = explained(shop, "0003")
    assert nothing.code == USAGE
    assert "NO_TABLE: migrations/shop/0003_read.sql creates or changes no table" in nothing.stderr
    assert "next: `glacierbase render 0003" in nothing.stderr


def test_an_environment_of_no_catalog_is_an_error_with_those_that_exist(shop: ProjectFolder) -> None:
    unknown = explained(shop, "1", "--env", "nope")
    assert unknown.code == USAGE
    assert "UNKNOWN_ENVIRONMENT: no catalog has an environment nope\nnext: there are: " in unknown.stderr
    assert "prod" in unknown.stderr


# What a statement creates: the format, and the template; none where its keys are not known.
FORMATS = {
    "CREATE TABLE d.a (a INT, dt DATE) USING delta PARTITIONED BY (dt)": ("delta", "dt={dt}/{file}"),
    "CREATE TABLE spark_catalog.d.b (a INT, dt DATE) USING parquet PARTITIONED BY (dt)": ("hive", "dt={dt}/{file}"),
    "CREATE TABLE d.c (a INT, dt DATE) USING parquet PARTITIONED BY (dt)": ("iceberg", "data/dt={dt}/{file}"),
    "CREATE TABLE d.d AS SELECT 1 AS a": ("iceberg", "data/{file}"),
    "CREATE TABLE hot.d.d (a INT)": ("iceberg", "all/{file}"),
    "CREATE TABLE d.e LIKE d.other": (None, ""),
    "CREATE TABLE d.f (a INT) USING jdbc": ("jdbc", ""),
}


def test_the_format_is_that_of_the_catalog_or_after_using(project: ProjectFolder) -> None:
    project.catalog(CATALOG)
    project.file("1_a.sql", ";\n".join(FORMATS))
    found = templates(project, "1", "--env", "dev")
    assert [(keys["format"], keys["text"]) for keys in found] == list(FORMATS.values())
    assert [bool(keys["why"]) for keys in found] == [not text for _, text in FORMATS.values()]


def test_keys_of_snowflake_are_not_modelled(project: ProjectFolder) -> None:
    connection = "{account: a, user: u, database: D, schema: S}"
    project.catalog(f"migrationExecutor: {{type: snowflake, conf: {{connection: {connection}}}}}\n")
    project.file("1_a.sql", "CREATE TABLE t (a INT)")
    [keys] = templates(project, "1")
    assert (keys["format"], keys["segments"], keys["why"]) == (
        "snowflake", [], "keys of tables of snowflake are not modelled",
    )  # fmt: skip


def recorded(project: ProjectFolder) -> RecordedTables:
    """Return a project whose history has a record of a table with a day partition."""
    tables = RecordedTables(project)
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "ts", TimestamptzType()))
    day = PartitionSpec(PartitionField(2, 1000, DayTransform(), "day_of_ts"))

    def create(client: SqlCatalog) -> None:
        client.create_table("a.t", schema, partition_spec=day, properties={"write.data.path": "s3://hot/all"})

    sql = "CREATE TABLE lake.a.t (id bigint, ts timestamp) USING iceberg PARTITIONED BY (days(ts))"
    tables.apply("1_make.sql", sql, create, "lake.a.t")
    return tables


def test_a_table_is_explained_as_recorded_else_as_declared(project: ProjectFolder) -> None:
    """The output says which; an unknown name is an error that suggests a known one."""
    tables = recorded(project)
    [keys] = templates(project, "a.T")
    assert (keys["table"], keys["basis"], keys["text"]) == ("lake.a.t", "recorded", "all/day_of_ts={day_of_ts}/{file}")
    assert "iceberg 1.12.0, as recorded in the history" in explained(project, "t").stdout
    tables.project.file("2_new.sql", "CREATE TABLE lake.a.events (id BIGINT, ts TIMESTAMP) USING iceberg")
    [keys] = templates(project, "events")
    assert (keys["table"], keys["basis"], keys["text"]) == ("lake.a.events", "declared", "data/{file}")
    assert "iceberg 1.12.0, as the files declare it" in explained(project, "events").stdout
    unknown = explained(project, "evnts")
    assert unknown.code == USAGE
    assert "UNKNOWN_TABLE: no migration in the history or in the files changed a table evnts" in unknown.stderr
    assert "did you mean events?" in unknown.stderr
