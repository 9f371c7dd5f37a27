"""Dependencies that were not resolved: the error names coordinate, file, line, and whether the repository answered.

The logs are those of Spark 4.1 with Ivy 2.5, shortened.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.errors import EngineUnavailable
from glacierbase.executors.spark.jars import explaining
from tests.support.project_folder import ProjectFolder, only_catalog

COORDINATE = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:9.9.9"
CATALOG = f"""\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.jars.packages: org.postgresql:postgresql:42.7.4,org.acme/other:1.0
    dependencies:
      - org.xerial:sqlite-jdbc:3.54.1.0
      - {COORDINATE}
"""
CENTRAL, SECOND = "https://maven.example/maven2", "https://repos.spark-packages.org"
ARTIFACT = "org/apache/iceberg/iceberg-spark-runtime-4.1_2.13/9.9.9/iceberg-spark-runtime-4.1_2.13-9.9.9"
SECOND_UNKNOWN = f"\tHost repos.spark-packages.org not found. url={SECOND}/{ARTIFACT}.pom\n"
TRIED = f"""\
        module not found: org.apache.iceberg#iceberg-spark-runtime-4.1_2.13;9.9.9

    ==== local-m2-cache: tried

      file:/home/ana/.m2/repository/{ARTIFACT}.pom

    ==== central: tried

      {CENTRAL}/{ARTIFACT}.pom

      -- artifact org.apache.iceberg#iceberg-spark-runtime-4.1_2.13;9.9.9!iceberg-spark-runtime-4.1_2.13.jar:

      {CENTRAL}/{ARTIFACT}.jar

    ==== spark-packages: tried

      {SECOND}/{ARTIFACT}.pom

"""
FAILED = """\
        :: org.apache.iceberg#iceberg-spark-runtime-4.1_2.13;9.9.9: not found
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: \
org.apache.iceberg#iceberg-spark-runtime-4.1_2.13;9.9.9: not found]
    at org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:539)
"""
REFUSED = f"\tServer access error at url {CENTRAL}/{ARTIFACT}.pom (java.net.ConnectException: Connection refused)\n"
UNKNOWN = f"\tHost maven.example not found. url={CENTRAL}/{ARTIFACT}.pom\n"
DENIED = f"\tCLIENT ERROR: Forbidden url={CENTRAL}/{ARTIFACT}.pom\n"


def explained(project: ProjectFolder, text: str) -> EngineUnavailable:
    """Return the error for a JVM that ended with this text in its log."""
    project.catalog(CATALOG)
    log = Path(project.root, "spark.log")
    log.write_text(text)
    stopped = EngineUnavailable("SPARK_DID_NOT_START", "Spark did not start: x", f"see {log}", log=str(log))
    with pytest.raises(EngineUnavailable) as caught, explaining(only_catalog(project.root)):
        raise stopped
    return caught.value


@pytest.mark.parametrize("noise", ["", SECOND_UNKNOWN])
def test_a_version_that_does_not_exist_was_not_found(noise: str, project: ProjectFolder) -> None:
    """Spark's second repository does not answer in many networks, which explains nothing."""
    error = explained(project, noise + TRIED + FAILED)
    assert (error.code, error.exit_code) == ("SPARK_DID_NOT_START", 5)
    where = "maven.example" if noise else "maven.example, repos.spark-packages.org"
    assert error.lines == (f"catalogs/shop.yaml, line 9: {COORDINATE}: not found in {where}", "Spark did not start")
    assert error.hint.startswith("correct group, artifact or version; see ")
    assert (error.data["path"], error.data["line"], error.data["reachable"]) == ("catalogs/shop.yaml", 9, True)
    assert error.data["coordinates"] == [COORDINATE]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (REFUSED, "java.net.ConnectException: Connection refused"),
        (UNKNOWN, "unknown host"),
        (DENIED, "Forbidden"),
    ],
)
def test_without_a_network_the_repository_was_not_reachable(answer: str, why: str, project: ProjectFolder) -> None:
    """Nothing is said about the coordinate, which may be right."""
    error = explained(project, f":::: ERRORS\n{answer}{SECOND_UNKNOWN}{TRIED}{FAILED}")
    assert error.lines[0] == f"catalogs/shop.yaml, line 9: {COORDINATE}: not reachable: maven.example ({why})"
    assert error.hint.startswith("check network and proxy")
    assert error.data["reachable"] is False


def test_each_missing_dependency_has_its_line(project: ProjectFolder) -> None:
    """A missing dependency of `spark.jars.packages`, or of another dependency, has its line."""
    last = """\
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.acme#other;1.0: not found, \
unresolved dependency: org.deep#down;2.0: not found, download failed: org.postgresql#postgresql;42.7.4!postgresql.jar]
"""
    error = explained(project, TRIED + last)
    assert [line.partition(": not found")[0] for line in error.lines[:-1]] == [
        "catalogs/shop.yaml, line 6: org.acme:other:1.0",
        "catalogs/shop.yaml, required by one of its dependencies: org.deep:down:2.0",
        "catalogs/shop.yaml, line 6: org.postgresql:postgresql:42.7.4",
    ]


def test_a_jvm_that_ended_for_another_reason_is_reported_as_before(project: ProjectFolder) -> None:
    """A log without a missing dependency changes nothing."""
    error = explained(project, "Error: Could not create the Java Virtual Machine.\n")
    assert error.message == "Spark did not start: x"
