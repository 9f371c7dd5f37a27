"""The files that `rekey plan` writes for tables that PyIceberg reads; no engine starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import BinaryType, LongType, NestedField, StringType, TimestampType

from glacierbase.capabilities.rekey.iceberg import with_field_names
from glacierbase.model.shape import PartitionField as Field
from glacierbase.model.shape import Shape
from glacierbase.record.template_names import varying_names
from glacierbase.sql.actions import action_call
from tests.support.program import run_here
from tests.support.project_folder import Output, ProjectFolder

CONF = """\
migrationExecutor:
  type: spark
  conf:
    dependencies: ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"]
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: jdbc
      spark.sql.catalog.lake.uri: jdbc:sqlite:FOLDER/lake.db
      spark.sql.catalog.lake.jdbc.schema-version: V1
      spark.sql.catalog.lake.warehouse: file://FOLDER/tables
"""
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "ts", TimestampType()),
    NestedField(3, "raw", BinaryType()),
    NestedField(4, "it's `a` name", StringType()),
)
BY_DAY = PartitionSpec(PartitionField(2, 1000, DayTransform(), "ts_day"))


class Lake:
    """A project with a catalog of Iceberg."""

    def __init__(self, project: ProjectFolder, more: str = "") -> None:
        self.project = project
        project.catalog(CONF.replace("FOLDER", str(project.root)) + more)
        self.catalog = SqlCatalog(
            "lake", uri=f"sqlite:///{project.root}/lake.db", warehouse=f"file://{project.root}/tables"
        )

    def table(self, name: str, spec: PartitionSpec = BY_DAY, **properties: str) -> None:
        self.catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
        self.catalog.create_table(name, SCHEMA, partition_spec=spec, properties=properties)

    def plan(self, table: str, to: str = "object-storage", *more: str) -> Output:
        return run_here(self.project, "rekey", "plan", table, "--to", to, "--author", "Ada", *more)

    def files(self) -> list[str]:
        return [path.read_text() for path in sorted(self.folder.glob("*.sql"))]

    @property
    def folder(self) -> Path:
        return self.project.root / "migrations" / "shop"

    def call(self, number: int) -> Any:
        """Return the call of an action in the file of this number."""
        return action_call(re.sub(r"--.*\n", "", self.files()[number - 1]).strip(), "spark")


@pytest.fixture
def lake(project: ProjectFolder) -> Lake:
    return Lake(project)


def test_a_plan_prints_the_keys_before_and_after_and_writes_a_file_for_each_phase(lake: Lake) -> None:
    """The ranges are those of the first partition field."""
    lake.table("web.events")
    output = lake.plan("lake.web.events")
    assert output.code == 0, output
    assert [line.strip() for line in output.stdout.splitlines()[1:3]] == [
        "keys now:    data/ts_day={ts_day}/{file}",
        "keys after:  data/{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}/ts_day={ts_day}/{file}",
    ]
    assert "ALTER TABLE lake.web.events SET TBLPROPERTIES ('write.object-storage.enabled' = 'true');" in lake.files()[0]
    assert (lake.call(2).name, lake.call(3).name) == ("rekey_backfill", "rekey_validate")
    assert lake.call(2).arguments == {
        "table": "lake.web.events", "ranges": "days(`ts`) AS `ts_day`", "bytes_per_range": "107374182400"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "ranges"),
    [
        (PartitionSpec(), None),
        (PartitionSpec(PartitionField(3, 1000, TruncateTransform(4), "raw_trunc")), None),
        (
            PartitionSpec(
                PartitionField(3, 1000, IdentityTransform(), "raw"), PartitionField(1, 1001, IdentityTransform(), "id")
            ),
            "`id` AS `id`",
        ),
        (
            PartitionSpec(PartitionField(4, 1000, TruncateTransform(2), "it's `a` part")),
            "truncate(2, `it's ``a`` name`) AS `it's ``a`` part`",
        ),
    ],
)
def test_the_ranges_are_those_of_a_field_whose_values_spark_reads_back_from_text(
    lake: Lake, spec: PartitionSpec, ranges: str | None
) -> None:
    """A binary value is none. Without a field, the whole table is one range."""
    lake.table("web.events", spec)
    assert lake.plan("lake.web.events").code == 0
    assert lake.call(2).arguments.get("ranges") == ranges


def test_a_hostile_name_stays_a_name(lake: Lake) -> None:
    """Quotes and template marks reach neither the statement nor the template."""
    lake.table("web.{{ 7 * 7 }}'; DROP TABLE x --")
    output = lake.plan("lake.web.`{{ 7 * 7 }}'; DROP TABLE x --`")
    assert output.code == 0, output
    rendered = run_here(lake.project, "render", "2").stdout
    assert "7 * 7" in rendered
    assert "49" not in rendered


def test_the_files_name_the_table_of_each_environment(project: ProjectFolder) -> None:
    """The statement, and the argument of each action."""
    lake = Lake(project, "variables: {ns: live}\nenvironments: {prod: {variables: {ns: prod_web}}, dev: {}}\n")
    lake.table("prod_web.events")
    output = lake.plan("lake.prod_web.events", "object-storage", "--env", "prod")
    assert output.code == 0, output
    for environment, name in (("prod", "prod_web"), ("dev", "live")):
        rendered = run_here(project, "render", "--format", "json")
        texts = [
            file["sql"]
            for entry in rendered.document["catalogs"]
            if environment in entry["environments"]
            for file in entry["files"]
        ]
        assert [f"lake.{name}.events" in text for text in texts] == [True] * 3, texts


def test_a_template_mark_in_a_name_that_varies_stays_a_name(project: ProjectFolder) -> None:
    """One part is the value of a variable, another one has the marks of an expression."""
    variables = "variables: {ns: live}\nenvironments: {prod: {variables: {ns: prod_web}}, dev: {}}\n"
    project.catalog(CONF.replace("FOLDER", str(project.root)) + variables)
    names = varying_names(project.root, "shop", ["lake.prod_web.`{{ 7 * 7 }}`"])
    assert names == {"lake.prod_web.`{{ 7 * 7 }}`": "lake.{{ variables.ns }}.`{{ '{' }}{ 7 * 7 }}`"}


@pytest.mark.parametrize(
    ("table", "properties", "to", "code", "why"),
    [
        ("lake.web.none", {}, "object-storage", 2, "there is no table"),
        ("lake.web.events", {"write.object-storage.enabled": "true"}, "object-storage", 2, "the keys .* stay"),
        ("lake.web.events", {"write.location-provider.impl": "my.Own"}, "object-storage", 2, "decides the keys"),
        (
            "lake.web.events",
            {"write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": "false"},
            "ALTER TABLE lake.web.events ADD PARTITION FIELD id", 2, "do not show its partition fields",
        ),
        ("lake.web.events", {}, "ALTER TABLE lake.web.events SET TBLPROPERTIES (", 2, "is not an ALTER TABLE"),
    ],
)  # fmt: skip
def test_what_cannot_be_rekeyed_is_refused(
    lake: Lake, table: str, properties: dict[str, str], to: str, code: int, why: str
) -> None:
    """No file is written."""
    lake.table("web.events", **properties)
    output = lake.plan(table, to)
    assert output.code == code, output
    assert re.search(why, output.stderr)
    assert not lake.folder.exists() or lake.files() == []


def test_a_catalog_without_an_engine_has_no_rekey(project: ProjectFolder) -> None:
    """Actions need Spark: the check of the files that would be written says so."""
    lake = Lake(project)
    lake.table("web.events")
    project.catalog(
        "migrationExecutor:\n  type: iceberg\n  conf:\n    name: lake\n    properties: {type: sql,"
        f" uri: 'sqlite:///{project.root}/lake.db', warehouse: 'file://{project.root}/tables'}}\n"
    )
    output = lake.plan("lake.web.events")
    assert (output.code, "needs an engine" in output.stderr) == (3, True), output
    assert lake.files() == []


def test_fields_that_spark_shows_as_expressions_have_the_names_that_iceberg_gives() -> None:
    """Spark describes the fields of a table without their names; those of PyIceberg are kept."""
    shown = (("days(ts)", "ts", "day"), ("bucket(16, id)", "id", "bucket[16]"), ("own", "id", "truncate[4]"))
    fields = tuple(Field(None, *field) for field in (*shown, ("id", "id", "identity")))
    shape = Shape("lake.web.events", None, "iceberg", None, partitioning=fields, columns=())
    names = [field.name for field in with_field_names(shape).partitioning]
    assert names == ["ts_day", "id_bucket", "own", "id"]
