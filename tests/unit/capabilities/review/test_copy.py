"""The configuration of the throw-away copy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.capabilities.review.copy import copy_of, may_be_set
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.model.catalog import Catalog
from tests.support.project_folder import ProjectFolder, only_catalog

CANARY = "canary-4711"
CATALOG = f"""\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.master: spark://cluster:7077
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,com.acme.Listener
      spark.sql.defaultCatalog: lake
      spark.sql.ansi.enabled: false
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: https://catalog.example.com/{CANARY}
      spark.sql.catalog.lake.token: ${{secret:CANARY}}
      spark.sql.catalog.lake.io-impl: org.apache.iceberg.aws.s3.S3FileIO
      spark.sql.catalog.lake.table-default.format-version: 2
      spark.sql.catalog.old: com.acme.Catalog
      spark.sql.catalog.old.password: ${{secret:CANARY}}
      spark.hadoop.fs.s3a.secret.key: ${{secret:CANARY}}
      spark.driver.extraJavaOptions: -javaagent:{CANARY}.jar
      spark.driver.extraClassPath: /opt/{CANARY}
      spark.jars: /opt/{CANARY}.jar
      spark.jars.repositories: https://{CANARY}.example.com
      spark.extraListeners: com.acme.Listener
      spark.plugins: com.acme.Plugin
    dependencies: ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", "com.acme:{CANARY}:1.0.0"]
"""


@pytest.fixture
def catalog(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog with credentials, addresses and classes of its own."""
    monkeypatch.setenv("CANARY", CANARY)
    project.catalog(CATALOG)
    return only_catalog(project.root)


def test_no_credential_address_or_class_of_the_catalog_is_in_the_copy(catalog: Catalog) -> None:
    """The copy holds only listed keys; `repr` hides the configuration, so it is compared as a whole."""
    copy = copy_of(catalog).catalog
    assert CANARY not in f"{copy.spark_conf} {copy.dependencies} {copy.connection} {copy.digests}"
    assert copy.spark_conf == {
        "spark.master": "local[2]",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
        "spark.sql.catalog.lake.warehouse": "memory://copy",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.catalog.lake.table-default.format-version": "2",
    }


def test_only_jars_of_the_table_format_are_loaded(catalog: Catalog) -> None:
    """A branch may name any jar in its catalog file; one of another publisher could hold any code."""
    assert copy_of(catalog).catalog.dependencies == ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",)


def test_jars_that_spark_resolves_itself_are_loaded_too(catalog: Catalog) -> None:
    """Iceberg's runtime in `spark.jars.packages` is a dependency of the copy; an artifact that brings others is not."""
    runtime = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0"
    packages = f"com.acme:x:1,org.apache.iceberg:iceberg-open-api:1.12.0, {runtime}, {runtime}:evil"
    conf = {**catalog.spark_conf, "spark.jars.packages": packages}
    assert copy_of(replace(catalog, spark_conf=conf)).catalog.dependencies[1:] == (runtime,)


def test_what_the_copy_lacks_is_said(catalog: Catalog) -> None:
    """Catalogs and extensions that are left out are named."""
    copy = copy_of(catalog)
    assert copy.names == ("lake",)
    assert [each for each in copy.left_out if "old" in each or "com.acme.Listener" in each] == list(copy.left_out)
    assert len(copy.left_out) == 2


def test_a_catalog_without_iceberg_has_no_copy(catalog: Catalog) -> None:
    """The copy of a catalog on Delta without Delta's jar has no names: nothing can be replayed on it."""
    delta = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
    assert copy_of(replace(catalog, spark_conf=delta)).names == ()


def test_a_catalog_on_delta_is_copied_with_its_jar(catalog: Catalog) -> None:
    """Delta's catalog, extension and jar are kept; its log is written by the interface that the copy's files have."""
    conf = {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,com.acme.Listener",
        "spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.4.0,io.delta:delta-sharing:1,io.delta.x:delta-spark_4:1",
    }
    copy = copy_of(replace(catalog, spark_conf=conf, dependencies=()))
    assert (copy.names, copy.absent) == (("spark_catalog",), ())
    assert copy.catalog.dependencies == ("io.delta:delta-spark_4.1_2.13:4.4.0",)
    assert copy.catalog.spark_conf["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"
    assert copy.catalog.spark_conf["spark.delta.logStore.class"] == "io.delta.storage.LocalLogStore"
    assert copy.left_out == ("the extension com.acme.Listener is not loaded",)


def test_a_catalog_on_hudi_is_copied_with_its_bundle(catalog: Catalog) -> None:
    """Hudi starts no server of its own; other artifacts of its publisher are not loaded."""
    conf = {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.kryo.registrator": "com.acme.Registrator",
        "hoodie.embed.timeline.server": "true",
    }
    bundle = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
    copy = copy_of(
        replace(catalog, spark_conf=conf, dependencies=(bundle, "org.apache.hudi:hudi-utilities_2.12:1.2.0"))
    )
    assert (copy.names, copy.left_out, copy.catalog.dependencies) == (("spark_catalog",), (), (bundle,))
    assert copy.catalog.spark_conf["hoodie.embed.timeline.server"] == "false"
    assert copy.catalog.spark_conf["spark.kryo.registrator"] == "org.apache.spark.HoodieSparkKryoRegistrar"


@pytest.mark.parametrize(
    ("session_catalog", "names"),
    [
        ("org.apache.spark.sql.delta.catalog.DeltaCatalog", ("spark_catalog",)),
        ("org.apache.spark.sql.hudi.catalog.HoodieCatalog", ()),
    ],
)
def test_a_store_that_only_pyiceberg_opens_is_not_in_the_copy(
    catalog: Catalog, session_catalog: str, names: tuple[str, ...]
) -> None:
    """Without a jar of Iceberg, Spark has no class for the catalog of history and lock, and its tables are not the user's."""
    conf = {
        "spark.sql.catalog.spark_catalog": session_catalog,
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
    }
    delta = replace(catalog, spark_conf=conf, dependencies=("io.delta:delta-spark_4.1_2.13:4.4.0",))
    copy = copy_of(delta)
    assert copy.names == names
    assert len(copy.left_out) == (not names)
    assert not any("catalog lake" in sentence for sentence in copy.left_out)
    assert "lake" in copy_of(replace(delta, dependencies=(*delta.dependencies, *catalog.dependencies))).names


def test_a_catalog_file_without_catalogs_is_copied_with_the_one_of_spark(catalog: Catalog) -> None:
    """Beside a catalog of Iceberg, tables of Spark's own may be those of a metastore: an unknown one is no error."""
    assert copy_of(replace(catalog, spark_conf={})).names == ("spark_catalog",)
    assert "spark_catalog" in copy_of(catalog).absent


@pytest.mark.parametrize("key", ["spark.sql.catalog.x", "spark.hadoop.fs.s3.impl", "fs.file.impl", "spark.jars", ""])
def test_a_setting_that_leads_elsewhere_is_not_kept(key: str) -> None:
    """Keys are kept by an exact list and one prefix."""
    assert not may_be_set(key)


def test_references_are_placeholders_in_the_copy(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """`review` resolves no reference, so that a kept key cannot carry a secret into the copy."""
    monkeypatch.setenv("CANARY", CANARY)
    project.catalog(CATALOG.replace("spark.sql.defaultCatalog: lake", "spark.sql.defaultCatalog: ${env:CANARY}"))
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    copy = copy_of(file.for_environment("default", project.root, resolve=False))
    assert copy.catalog.spark_conf["spark.sql.defaultCatalog"] == "env_CANARY"
