"""What an operation needs of the catalog file is known from the two texts, before a statement of the file takes effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.catalogs.needs import unmet
from glacierbase.errors import MigrationFileError
from glacierbase.migrations.compiled import compile_migration
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.world import World

_ICEBERG = "spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_DELTA = "spark.sql.extensions: 'com.acme.Masks, io.delta.sql.DeltaSparkSessionExtension'"
_LAKE = "spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog"
_SESSION = "spark.sql.catalog.spark_catalog: org.apache.spark.sql.delta.catalog.DeltaCatalog"
_HUDI = "spark.sql.catalog.spark_catalog: org.apache.spark.sql.hudi.catalog.HoodieCatalog"
_ICEBERG_SESSION = "spark.sql.catalog.spark_catalog: org.apache.iceberg.spark.SparkSessionCatalog"
_TYPE = "spark.sql.catalog.lake.type: "
# Each configuration, and what it lacks.
CONFIGURATIONS = {
    "REST with extensions": ((_LAKE, _ICEBERG, f"{_TYPE}rest"), "migrate"),
    "REST without": ((_LAKE, f"{_TYPE}rest"), "extensions migrate"),
    "REST with others": ((_LAKE, f"{_TYPE}rest", "spark.sql.extensions: com.acme.Masks"), "extensions migrate"),
    "REST beside a session": ((_LAKE, _ICEBERG, f"{_TYPE}rest", _ICEBERG_SESSION), ""),
    "JDBC with views": ((_LAKE, _ICEBERG, f"{_TYPE}jdbc", "spark.sql.catalog.lake.jdbc.schema-version: v1"), "v3 migrate"),
    "JDBC of version 0": ((_LAKE, _ICEBERG, f"{_TYPE}jdbc"), "V1 v3 migrate"),
    "JDBC of version 0 without extensions": ((_LAKE, f"{_TYPE}jdbc"), "extensions V1 v3 migrate"),
    "JDBC with tables of version 3": (
        (_LAKE, _ICEBERG, f"{_TYPE}jdbc", "spark.sql.catalog.lake.table-default.format-version: 3"), "V1 migrate",
    ),
    "Hadoop": ((_LAKE, _ICEBERG, f"{_TYPE}hadoop"), "Hadoop v3 migrate"),
    "a class": ((_LAKE, _ICEBERG, "spark.sql.catalog.lake.catalog-impl: com.acme.Catalog"), "migrate"),
    "no type": ((_LAKE, _ICEBERG), "type"),
    "a metastore": ((_LAKE, _ICEBERG, "spark.hadoop.hive.metastore.uris: thrift://a:9083"), "migrate"),
    "Connect": ((_LAKE, "spark.remote: sc://a:15002"), ""),
    "Spark 3": ((_LAKE, f"{_TYPE}rest"), "extensions call migrate"),
    "Spark 4.0": ((_LAKE, _ICEBERG, f"{_TYPE}rest"), "migrate script"),
    "Spark 4.0 with scripts": ((_LAKE, _ICEBERG, f"{_TYPE}rest", "spark.sql.scripting.enabled: true"), "migrate"),
    "Delta": ((_SESSION, _DELTA), "defaults mapping"),
    "Delta without": ((_SESSION, _ICEBERG), "delta defaults mapping"),
    "Delta with defaults": (
        (_SESSION, _DELTA, "spark.databricks.delta.properties.defaults.feature.allowColumnDefaults: supported"), "mapping",
    ),
    "Delta with mapping": (
        (_SESSION, _DELTA, "spark.databricks.delta.properties.defaults.columnMapping.mode: name"), "defaults",
    ),
    "Hudi": ((_HUDI,), "evolution"), "Hudi with": ((_HUDI, "hoodie.schema.on.read.enable: true"), ""),
    "Hudi off": ((_HUDI, "hoodie.schema.on.read.enable: false"), "evolution"),
}  # fmt: skip
# Each statement in the catalog `lake`, and what it needs beside a type.
OF_ICEBERG = {
    "CREATE NAMESPACE lake.a": "", "CREATE TABLE lake.a.t (id bigint) USING iceberg": "", "DROP TABLE lake.a.t": "",
    "ALTER TABLE lake.a.t ADD COLUMN b int": "", "INSERT INTO lake.a.t VALUES (1)": "",
    "DELETE FROM lake.a.t WHERE id = 1": "",
    "MERGE INTO lake.a.t USING u ON t.id = u.id WHEN MATCHED THEN DELETE": "",
    "ALTER TABLE lake.a.t SET TBLPROPERTIES ('a'='b')": "",
    "CALL lake.system.expire_snapshots('a.t')": "call",
    "ALTER TABLE lake.a.t ADD PARTITION FIELD days(at)": "extensions",
    "ALTER TABLE lake.a.t DROP PARTITION FIELD a": "extensions",
    "ALTER TABLE lake.a.t REPLACE PARTITION FIELD a WITH b": "extensions",
    "ALTER TABLE lake.a.t WRITE ORDERED BY id": "extensions",
    "ALTER TABLE lake.a.t WRITE LOCALLY ORDERED BY id": "extensions",
    "ALTER TABLE lake.a.t WRITE UNORDERED": "extensions",
    "ALTER TABLE lake.a.t WRITE DISTRIBUTED BY PARTITION": "extensions",
    "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS id": "extensions",
    "ALTER TABLE lake.a.t DROP IDENTIFIER FIELDS id": "extensions",
    "ALTER TABLE lake.a.t CREATE BRANCH b": "extensions",
    "ALTER TABLE lake.a.t CREATE OR REPLACE TAG g": "extensions", "ALTER TABLE lake.a.t DROP BRANCH b": "extensions",
    "ALTER TABLE lake.a.t REPLACE BRANCH b": "extensions", "ALTER TABLE lake.a.t DROP TAG g": "extensions",
    "CREATE VIEW lake.a.v AS SELECT 1 AS a": "extensions V1 Hadoop",
    "CREATE OR REPLACE VIEW lake.a.v AS SELECT 1 AS a": "extensions V1 Hadoop",
    "ALTER VIEW lake.a.v SET TBLPROPERTIES ('a'='b')": "extensions V1 Hadoop", "DROP VIEW lake.a.v": "extensions V1",
    "CREATE TEMPORARY VIEW v AS SELECT 1 AS a": "", "USE lake.a; ALTER TABLE t WRITE UNORDERED": "extensions",
    "BEGIN ALTER TABLE lake.a.t CREATE TAG g; END": "extensions script",
    "BEGIN INSERT INTO lake.a.t VALUES (1); END": "script",
    "SET spark.sql.scripting.enabled=true; BEGIN INSERT INTO lake.a.t VALUES (1); END": "",
    "CALL lake.system.migrate('a.t')": "call migrate", "CALL lake.system.snapshot('spark_catalog.a.t', 'lake.a.t')": "call",
    "CREATE TABLE lake.a.t (v variant) USING iceberg": "v3",
    "CREATE TABLE lake.a.t (v array<struct<b: variant>>) USING iceberg TBLPROPERTIES ('format-version'='2')": "v3",
    "CREATE TABLE lake.a.t (v variant) USING iceberg TBLPROPERTIES ('format-version'='3')": "",
    "CREATE TABLE lake.a.t (variant int) USING iceberg": "", "ALTER TABLE lake.a.t ADD COLUMN v variant": "",
}  # fmt: skip
# Each statement on a table of Delta in the session's catalog, and what it needs.
OF_DELTA = {
    "CREATE TABLE d.t (id bigint) USING delta": "", "ALTER TABLE d.t ADD COLUMN a int": "", "DROP TABLE d.t": "",
    "INSERT INTO d.t VALUES (1)": "delta", "UPDATE d.t SET a = 2": "delta", "DELETE FROM d.t WHERE id = 5": "delta",
    "MERGE INTO d.t USING u ON t.id = u.id WHEN MATCHED THEN DELETE": "delta", "OPTIMIZE d.t": "delta",
    "VACUUM d.t": "delta",
    "RESTORE TABLE d.t TO VERSION AS OF 1": "delta", "ALTER TABLE d.t ADD CONSTRAINT c CHECK (id > 0)": "delta",
    "ALTER TABLE d.t CLUSTER BY (id)": "delta", "CREATE TABLE d.t (id bigint DEFAULT 1) USING delta": "defaults",
    "CREATE TABLE d.u SHALLOW CLONE d.t": "delta", "CONVERT TO DELTA d.t": "delta", "REORG TABLE d.t APPLY (PURGE)": "delta",
    "GENERATE symlink_format_manifest FOR TABLE d.t": "delta", "ALTER TABLE d.t DROP CONSTRAINT IF EXISTS c": "delta",
    "ALTER TABLE d.t\nDROP FEATURE deletionVectors": "delta", "ALTER TABLE d.t ALTER COLUMN id SYNC IDENTITY": "delta",
    "CREATE TABLE d.t (id int) USING delta CLUSTER BY (id)": "delta",
    "CREATE TABLE d.t (id int DEFAULT 1) USING parquet": "", "CREATE TABLE d.t (`a b` int) USING parquet": "",
    "CREATE TABLE d.t (`a b` int) USING delta": "mapping", "CREATE TABLE d.t (a array<struct<`b=`: int>>) USING delta": "mapping",
    "CREATE TABLE d.t (`a b` int) USING delta TBLPROPERTIES ('delta.columnMapping.mode'='name')": "",
    "CREATE TABLE d.t (`a-b` int COMMENT 'a b') USING delta": "",
    "SET spark.databricks.delta.properties.defaults.feature.allowColumnDefaults=supported;"
    "CREATE TABLE d.t (id bigint DEFAULT 1) USING delta": "",
    "CREATE TABLE d.t (id bigint DEFAULT 1) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults'='supported')": "",
}  # fmt: skip
# Each statement on a table of Hudi in the session's catalog, and what it needs.
OF_HUDI = {
    "ALTER TABLE d.t RENAME COLUMN a TO b": "evolution", "ALTER TABLE d.t DROP COLUMN a": "evolution",
    "ALTER TABLE d.t ALTER COLUMN a AFTER b": "evolution", "ALTER TABLE d.t ALTER COLUMN a TYPE bigint": "evolution",
    "ALTER TABLE d.t ADD COLUMN b int": "", "ALTER TABLE d.t RENAME TO d.u": "",
    "SET hoodie.schema.on.read.enable=true; ALTER TABLE d.t DROP COLUMN a": "",
}  # fmt: skip
_STATEMENTS = {"Delta": OF_DELTA, "Hudi": OF_HUDI}
_CASES = [
    (name, sql, needs) for name in CONFIGURATIONS for sql, needs in _STATEMENTS.get(name.split()[0], OF_ICEBERG).items()
]


def text(*conf: str, dependencies: str = "") -> str:
    lines = "".join(f"      {line}\n" for line in conf)
    jars = f"    dependencies: [{dependencies}]\n" if dependencies else ""
    return f"migrationExecutor:\n  type: spark\n  conf:\n    sparkConf:\n{lines}{jars}store: {{type: embedded}}\n"


def jars_of(name: str) -> str:
    jar = {"Spark 3": "3.5_2.12:1.12.0", "Spark 4": "4.0_2.13:1.11.0"}.get(name[: len("Spark 3")])
    return f"'org.apache.iceberg:iceberg-spark-runtime-{jar}'" if jar else ""


def error_of(sql: str, catalog: Catalog) -> MigrationFileError | None:
    path = "migrations/shop/1_a.sql"
    file = Migration("1", "a", "d", "a", Path("1_a.sql"), path, sql, "v1:sha256:0")
    return unmet(compile_migration(file, catalog, "spark"), catalog)


def test_each_operation_is_refused_in_each_configuration_that_lacks_what_it_needs(project: ProjectFolder) -> None:
    """Every other configuration accepts the operation; one without a type accepts no statement that names the catalog."""
    wrong = []
    for name, (conf, lacks) in CONFIGURATIONS.items():
        project.catalog(text(*conf, dependencies=jars_of(name)))
        catalog = only_catalog(project.root)
        for sql, needs in ((sql, needs) for case, sql, needs in _CASES if case == name):
            names_lake = "lake" in sql
            missing = not set(needs.split()).isdisjoint(lacks.split()) or (lacks == "type" and names_lake)
            error = error_of(sql, catalog)
            if (error is not None) != missing:
                wrong.append((name, sql, error))
    assert wrong == []
    assert len(_CASES) > 300


@pytest.mark.parametrize(
    ("name", "sql", "what", "hint"),
    [
        ("REST without", "ALTER TABLE lake.a.t WRITE UNORDERED", "Iceberg's SQL extensions", "IcebergSparkSessionExtensions"),
        ("JDBC of version 0", "DROP VIEW lake.a.v", "a JDBC catalog with views", "lake.jdbc.schema-version` to `V1`"),
        ("Hadoop", "CREATE VIEW lake.a.v AS SELECT 1 AS a", "a Hadoop catalog is not", "another type"),
        ("no type", "DROP TABLE lake.a.t", "a type of the catalog", "`spark.sql.catalog.lake.type`"),
        ("Delta without", "OPTIMIZE d.t", "Delta's SQL extension", "io.delta.sql.DeltaSparkSessionExtension"),
        ("Delta", "CREATE TABLE d.t (id bigint DEFAULT 1) USING delta", "allows defaults", "TBLPROPERTIES ('delta.feature"),
        ("Delta", "CREATE TABLE d.t (`a b` bigint) USING delta", "column mapping", "('delta.columnMapping.mode' = 'name')"),
        ("Hadoop", "CREATE TABLE lake.a.t (v variant) USING iceberg", "format version 3", "lake.table-default.format-version"),
        ("Hadoop", "CALL lake.system.migrate('a.t')", "session catalog", "iceberg.spark.SparkSessionCatalog`; or call `snapshot`"),
        ("Spark 4.0", "BEGIN DROP TABLE lake.a.t; END", "scripts", "`spark.sql.scripting.enabled` to `true`"),
        ("Hudi", "ALTER TABLE d.t DROP COLUMN a", "schema on read", "SET hoodie.schema.on.read.enable=true above"),
    ],
)  # fmt: skip
def test_the_error_says_what_is_lacking_and_where(
    project: ProjectFolder, name: str, sql: str, what: str, hint: str
) -> None:
    """The place is that of the statement in the file."""
    project.catalog(text(*CONFIGURATIONS[name][0], dependencies=jars_of(name)))
    error = error_of(f"SELECT 1;\n  {sql}", only_catalog(project.root))
    assert error
    assert error.code == "NEEDS_CONFIGURATION"
    assert "migrations/shop/1_a.sql, line 2, column 3: this statement needs " in error.message
    assert what in error.message
    assert hint in error.hint


def test_validate_refuses_a_file_that_needs_what_the_catalog_file_lacks(project: ProjectFolder) -> None:
    """Two statements would take effect before the engine refuses the third."""
    project.catalog(text(_LAKE, f"{_TYPE}rest", "spark.sql.catalog.lake.uri: http://127.0.0.1:1"))
    project.file("0001_a.sql", "DROP TABLE lake.a.t;\nDROP TABLE lake.a.u;\nALTER TABLE lake.a.v CREATE BRANCH b;")
    done = run_here(project, "validate")
    assert done.code == 3
    assert "NEEDS_CONFIGURATION: migrations/shop/0001_a.sql, line 6, column 1" in done.stderr


def test_only_the_statements_that_are_to_run_are_refused(project: ProjectFolder) -> None:
    """What is done in another way, such as by hand, needs nothing any more."""
    project.catalog(text(*CONFIGURATIONS["REST without"][0]))
    catalog = only_catalog(project.root)
    file = Migration(
        "1", "a", "d", "a", Path("1_a.sql"), "1_a.sql", "ALTER TABLE lake.a.t WRITE UNORDERED; SELECT 1", "v1:sha256:0"
    )
    compiled = compile_migration(file, catalog, "spark")
    assert unmet(compiled, catalog) is not None
    assert unmet(compiled, catalog, resumes_at=2) is None


def test_migrate_refuses_it_before_anything_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is recorded. The catalog of these tests has no settings of Spark, so that a check that refuses replaces the check."""
    refused = MigrationFileError(
        "NEEDS_CONFIGURATION", "migrations/a/1_a.sql, line 1: this statement needs it", "set it"
    )
    monkeypatch.setattr("glacierbase.catalogs.needs.unmet", lambda *_: refused)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    with pytest.raises(MigrationFileError, match="needs it"):
        world.migrate()
    assert world.kinds == []
