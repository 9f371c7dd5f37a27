"""Jars: which Spark they are built for, and the record of what dependencies were resolved to."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.installed import spark_version
from glacierbase.executors.spark.jars import check_jars, record_jars, resolved_jars
from tests.support.catalog_files import RUNTIME
from tests.support.project_folder import ProjectFolder


@pytest.mark.parametrize(
    "jar",
    [
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
        "io.delta:delta-spark_4.0_2.13:4.0.0",
        "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.1.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.2_2.13:1.12.0",
    ],
)
@pytest.mark.parametrize("key", ["dependencies", "spark.jars.packages", "spark.jars", "spark.driver.extraClassPath"])
def test_a_jar_for_another_spark_is_refused(jar: str, key: str) -> None:
    """The jar is found under every key; it would fail in every statement with an obscure error."""
    with pytest.raises(ConfigurationError) as caught:
        check_jars({} if key == "dependencies" else {key: jar}, [jar] if key == "dependencies" else [], {})
    assert caught.value.code == "SPARK_VERSION_MISMATCH"
    assert spark_version() in caught.value.message
    assert 'set migrationExecutor.packages to ["pyspark==' in caught.value.hint  # The other catalogs keep their Spark.
    assert "`glacierbase env`" in caught.value.hint


OF_HERE = RUNTIME.rpartition(":")[0]
IN_SQLITE = {"spark.sql.catalog.lake.uri": "jdbc:sqlite:/lake/catalog.db"}
IN_POSTGRESQL = {"spark.sql.catalog.lake.uri": "jdbc:postgresql://database/lake"}
BESIDE_HUDI = IN_SQLITE | {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog"}


@pytest.mark.parametrize(
    "jar", [f"{OF_HERE}:1.10.0", f"{OF_HERE}:1.9.2", f"/jars/{OF_HERE.partition(':')[2]}-1.10.1.jar"]
)
def test_an_iceberg_that_leaves_reads_of_sqlite_open_is_refused(jar: str) -> None:
    """The message names the place. In PostgreSQL it works, and beside other tables Spark may never write to that catalog."""
    with pytest.raises(ConfigurationError) as caught:
        check_jars(IN_SQLITE, [jar], {jar: ("catalogs/shop.yaml", 12)})
    assert caught.value.code == "ICEBERG_TOO_OLD"
    assert caught.value.message.startswith("catalogs/shop.yaml, line 12: iceberg-spark-runtime-")
    assert "1.11.0 or newer" in str(caught.value.hint)
    for conf in (IN_POSTGRESQL, BESIDE_HUDI):
        check_jars(conf, [jar], {})


@pytest.mark.parametrize("version", ["1.11.0", "1.12.0", "1.100.0", "2.0.0", "10.1.0"])
def test_an_iceberg_that_closes_its_reads_is_accepted(version: str) -> None:
    """Versions are compared as numbers."""
    check_jars(IN_SQLITE, [f"{OF_HERE}:{version}"], {})


def test_it_is_refused_before_anything_starts(lake_project: ProjectFolder) -> None:
    """The exit code is 2, the message names the line of the catalog file, and no log of a JVM is written."""
    path = lake_project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("runtime-4.1_2.13", "runtime-3.5_2.13"))
    lake_project.file("1_a.sql", "SELECT 1")
    told = lake_project.run("migrate")
    where = "error: SPARK_VERSION_MISMATCH: catalogs/shop.yaml, line 12:"
    assert (told.code, told.stderr.partition(" org.")[0]) == (2, where)
    assert not (lake_project.root / ".glacierbase").exists()


def test_a_spark_home_without_spark_is_one_clear_message(lake_project: ProjectFolder, tmp_path: Path) -> None:
    """The message names SPARK_HOME and the remedy, and the warehouse is not created."""
    lake_project.file("1_a.sql", "SELECT 1")
    told = lake_project.run("migrate", environ={"SPARK_HOME": str(tmp_path)})
    assert told.code == 2
    assert f"error: SPARK_NOT_INSTALLED: SPARK_HOME is {tmp_path}, which holds no Spark" in told.stderr
    assert "unset SPARK_HOME" in told.stderr
    assert not (lake_project.root / "warehouse").exists()


def test_the_jars_that_fit_pass() -> None:
    """The sample's jars, and jars without a Spark version in their name, are accepted."""
    check_jars({}, [RUNTIME, "org.xerial:sqlite-jdbc:3.54.1.0", "org.apache.iceberg:iceberg-aws-bundle:1.12.0"], {})


def test_resolved_jars_are_remembered_until_a_file_or_a_coordinate_changes(cache: Path, tmp_path: Path) -> None:
    """Another repository also invalidates the record."""
    jar = tmp_path / "a b.jar"
    jar.touch()
    assert resolved_jars({}, ["g:a:1"]) is None
    record_jars({}, ["g:a:1"], [jar.as_uri()])
    assert resolved_jars({}, ["g:a:1"]) == [jar]
    assert resolved_jars({"spark.jars.repositories": "http://x"}, ["g:a:1"]) is None
    assert resolved_jars({}, ["g:a:2"]) is None
    jar.unlink()
    assert resolved_jars({}, ["g:a:1"]) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may have a read-only home."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/self")
    record_jars({}, ["g:a:1"], ["file:/a.jar"])
    assert resolved_jars({}, ["g:a:1"]) is None
