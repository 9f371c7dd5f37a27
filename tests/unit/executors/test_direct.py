"""Which files run directly: those whose statements are all plain, on tables whose catalog PyIceberg opens as Spark does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema

from glacierbase.executors.direct import plain
from glacierbase.executors.direct.files import FileEngine, FileEngines
from glacierbase.executors.pyiceberg.glue import GlueCatalog
from glacierbase.migrations.compiled import Compiled, compile_migration
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from glacierbase.run.run import tag_uuid
from tests.support.project_folder import ProjectFolder, migration, only_catalog

PLAIN = "ALTER TABLE lake.a.t SET TBLPROPERTIES ('a' = '1')"
LAKE = "spark.sql.catalog.lake"


@pytest.fixture
def catalog(iceberg_catalog: Catalog) -> Catalog:
    """A SQL catalog `lake` that allows files to run directly."""
    return replace(iceberg_catalog, is_direct=True)


def chosen(catalog: Catalog, sql: str, conf: Mapping[str, str | None] = {}, *, in_session: bool = False) -> FileEngine:
    """Return the engine of a file with this SQL, in the catalog with more settings of Spark."""
    settings = {**catalog.spark_conf, **conf}
    catalog = replace(catalog, spark_conf={key: value for key, value in settings.items() if value is not None})
    return FileEngines(catalog, in_session=in_session).of(compiled(catalog, sql))


def compiled(catalog: Catalog, sql: str) -> Compiled:
    """Return a file with this SQL."""
    file = Migration("0001", 1, "d", "a", "shop", "migrations/shop/0001_a.sql", migration(sql), "checksum")
    return compile_migration(file, catalog, "spark")


@pytest.mark.parametrize("sql", [PLAIN, "", f"{PLAIN};\nDROP TABLE IF EXISTS lake.a.u", "DROP TABLE a.t"])
def test_a_file_of_plain_statements_runs_directly(catalog: Catalog, sql: str) -> None:
    """A file without statements, too. A name without a catalog is in the default one."""
    assert chosen(catalog, sql, {"spark.sql.defaultCatalog": "lake"}) == FileEngine("direct")


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        (f"{PLAIN};\nINSERT INTO lake.a.t SELECT 1", "statement 2: insert needs the engine"),
        (f"USE lake.a;\n{PLAIN}", "statement 1: use needs the engine"),
        (f"SET spark.sql.ansi.enabled=false;\n{PLAIN}", "statement 1: set needs the engine"),
        ("DROP TABLE lake.a.t PURGE", "statement 1: PURGE deletes files"),
        ("DROP TABLE t", "statement 1: the name t does not begin with a catalog and a namespace"),
        ("DROP TABLE lake.t", "statement 1: the name lake.t does not begin with a catalog and a namespace"),
        ("DROP TABLE lake.a.`b.t`", "statement 1: a part of a name holds a dot"),
        ("DROP TABLE iceberg.`/data/t`", "statement 1: the name iceberg.`/data/t` does not begin with a catalog and"),
        ("DROP TABLE other.a.t", "statement 1: other is no catalog of the class"),
    ],
)  # fmt: skip
def test_a_file_with_another_statement_needs_spark(catalog: Catalog, sql: str, why: str) -> None:
    """The first statement that needs Spark is the reason."""
    conf = {"spark.sql.defaultCatalog": "lake", "spark.sql.catalog.other": "org.example.Catalog"}
    engine = chosen(catalog, sql, conf)
    assert engine.name == "spark"
    assert (engine.why or "").startswith(why)
    assert engine.text() == f"needs spark: {engine.why}"


@pytest.mark.parametrize(
    ("conf", "why"),
    [
        ({"spark.sql.caseSensitive": "true"}, "spark.sql.caseSensitive may change what a statement does"),
        ({"spark.sql.extensions": "org.example.Rules"}, "spark.sql.extensions is not org.apache.iceberg"),
        ({"spark.sql.extensions": None}, "spark.sql.extensions is not org.apache.iceberg"),
        ({f"{LAKE}.table-default.a": "1"}, f"PyIceberg does not support {LAKE}.table-default.a"),
        ({f"{LAKE}.table-override.write.parquet.row-group-size-bytes": "1"}, "PyIceberg does not support"),
        ({f"{LAKE}.io-impl": "org.example.Files"}, "PyIceberg cannot open the catalog lake: PyIceberg does not support io-impl"),
        ({f"{LAKE}.catalog-impl": "org.example.Catalog"}, "PyIceberg cannot open the catalog lake: it is"),
        ({LAKE: "org.apache.iceberg.spark.SparkSessionCatalog"}, "lake is no catalog of the class"),
    ],
)  # fmt: skip
def test_a_setting_that_pyiceberg_does_not_have_needs_spark(
    catalog: Catalog, conf: dict[str, str | None], why: str
) -> None:
    """A setting that does not concern the tables of history and lock may concern those of users."""
    assert (chosen(catalog, PLAIN, conf).why or "").startswith(f"statement 1: {why}")


def test_a_namespace_is_in_the_catalog_that_its_name_begins_with(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A namespace without one is in the default catalog."""
    monkeypatch.setitem(plain._PLAIN, "create_namespace", lambda _: None)
    conf = {"spark.sql.defaultCatalog": "lake", "spark.sql.catalog.other": "org.example.Catalog"}
    assert chosen(catalog, "CREATE NAMESPACE lake.a; CREATE NAMESPACE a", conf) == FileEngine("direct")
    why = "statement 1: other is no catalog of the class org.apache.iceberg.spark.SparkCatalog"
    assert chosen(catalog, "CREATE NAMESPACE other.a", conf) == FileEngine("spark", why)
    why = "statement 1: spark_catalog is no catalog of the class org.apache.iceberg.spark.SparkCatalog"
    assert chosen(catalog, "CREATE NAMESPACE a") == FileEngine("spark", why)


def test_a_package_that_is_not_installed_needs_spark(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the package."""
    monkeypatch.setattr("glacierbase.executors.direct.files.missing_package", lambda _: "pyarrow")
    assert chosen(catalog, PLAIN) == FileEngine("spark", "statement 1: pyarrow is not installed")


def test_only_a_catalog_file_that_allows_it_runs_files_directly(catalog: Catalog) -> None:
    """By default the engine runs all files, and no reason is shown. A session of the caller runs all files, too."""
    never = replace(catalog, is_direct=False)
    assert chosen(never, PLAIN) == FileEngine("spark")
    assert chosen(catalog, PLAIN, in_session=True) == FileEngine("spark")
    assert FileEngine("spark").text() == ""


def test_the_type_iceberg_runs_every_file_directly(project: ProjectFolder) -> None:
    """An executor without an engine has no other one beside it."""
    project.catalog(
        "migrationExecutor:\n  type: iceberg\n  conf:\n    name: lake\n"
        f"    properties: {{type: sql, uri: 'sqlite:///{project.root}/c.db', warehouse: 'file://{project.root}'}}\n"
    )
    catalog = only_catalog(project.root)
    assert chosen(catalog, "SELECT 1") == FileEngine("direct")
    assert FileEngines(catalog).opener() is None


CREATE = "CREATE TABLE lake.a.t (c INT)"


@pytest.mark.parametrize(
    ("before", "sql", "name"),
    [
        ("", CREATE, "lake.a.t"),
        ("INSERT INTO lake.a.u SELECT 1;", CREATE, "lake.a.t"),
        ("USE lake.a;", "DROP TABLE t", "lake.a.t"),
        ("USE lake.a;", "ALTER TABLE t RENAME TO u", "lake.a.t"),
        ("USE IDENTIFIER(x);", "DROP TABLE t", None),
        ("SET spark.sql.catalog.lake.uri = jdbc:sqlite:/elsewhere.db;", CREATE, None),
        ("", "INSERT INTO lake.a.t SELECT 1", None),
        ("", "DROP TABLE lake.a.t PURGE", None),
        ("", "DROP TABLE other.a.t", None),
        ("", "CREATE NAMESPACE lake.b", "lake.b"),
        ("USE lake;", "CREATE NAMESPACE b", None),
    ],
)
def test_a_plain_statement_of_any_file_has_a_name_that_proves_it(
    before: str, sql: str, name: str | None, catalog: Catalog
) -> None:
    """None where the name may mean another table, and where a table does not show the effect of the statement."""
    text = migration(f"{before}\n{sql}")
    file = Migration("0001", 1, "d", "a", "shop", "migrations/shop/0001_a.sql", text, "checksum")
    compiled = compile_migration(file, replace(catalog, is_direct=False), "spark")
    assert FileEngines(catalog).plain_name(compiled.named[-1], compiled.text) == name


def test_a_server_names_the_metadata_files_of_a_rest_catalog_only(catalog: Catalog) -> None:
    """A file that changes tables of two catalogs proves none of its commits."""
    rest = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": "http://localhost:1"}
    conf = catalog.spark_conf | {f"spark.sql.catalog.web{key}": value for key, value in rest.items()}
    catalog = replace(catalog, spark_conf=conf)
    engines = FileEngines(catalog)
    own, of_server, of_both = (
        compiled(catalog, sql)
        for sql in ("DROP TABLE lake.a.t", "DROP TABLE web.a.t", "DROP TABLE lake.a.t;\nDROP TABLE web.a.t")
    )
    assert {engines.of(file).name for file in (own, of_server, of_both)} == {"direct"}
    assert engines.names_metadata(own)
    assert not engines.names_metadata(of_server)
    assert not engines.names_metadata(of_both)


def test_glue_creates_a_table_whose_metadata_file_names_the_statement(tmp_path: Path) -> None:
    """PyIceberg names the first file of a table itself, and writes it."""
    made: list[Any] = []
    glue = GlueCatalog("lake", client=SimpleNamespace(create_table=lambda **table: made.append(table), exceptions=Any))
    glue._is_s3tables_database = lambda _: False
    glue.begin("a tag")
    glue.new_table(("a", "t"), Schema(), f"file://{tmp_path}/t", UNPARTITIONED_PARTITION_SPEC, {})
    location = made[0]["TableInput"]["Parameters"]["metadata_location"]
    assert tag_uuid("a tag") in location
    assert Path(location.removeprefix("file://")).exists()
