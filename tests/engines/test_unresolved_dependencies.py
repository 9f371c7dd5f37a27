"""Dependencies that cannot be resolved, with Spark's own resolver: what the error says, and that nothing was created."""

from __future__ import annotations

import pytest

from tests.support.project_folder import Output, ProjectFolder

pytestmark = pytest.mark.spark

# The resolver runs in the JVM of spark-submit; nothing listens on the discard port.
NO_NETWORK = {"SPARK_SUBMIT_OPTS": "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"}


def migrated(project: ProjectFolder, version: str, **environ: str) -> Output:
    """Run `migrate` with a version of Iceberg that is in no cache."""
    path = project.root / "catalogs" / "shop.yaml"
    path.write_text(path.read_text().replace("2.13:1.12.0", f"2.13:{version}"))
    project.file("1_a.sql", "CREATE NAMESPACE lake.a")
    done = project.ask("migrate", environ=environ)
    assert (done.code, done.document["error"]["code"]) == (5, "SPARK_DID_NOT_START")
    assert (done.document["error"]["path"], done.document["error"]["line"]) == ("catalogs/shop.yaml", 12)
    assert done.entry()["not_run"] == ["1"]
    assert not (project.root / "warehouse" / "tables").exists()
    return done


def test_a_version_that_does_not_exist_is_not_found(lake_project: ProjectFolder) -> None:
    """The repository answered."""
    error = migrated(lake_project, "9.9.9").document["error"]
    assert ":9.9.9: not found in " in error["message"]
    assert (error["reachable"], error["coordinates"]) == (
        True,
        ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:9.9.9"],
    )
    assert "correct group, artifact or version" in error["hint"]


def test_without_a_network_the_repository_is_not_reachable(lake_project: ProjectFolder) -> None:
    """The coordinate may be right."""
    error = migrated(lake_project, "9.9.8", **NO_NETWORK).document["error"]
    assert ":9.9.8: not reachable: " in error["message"]
    assert "Connection refused" in error["message"]
    assert error["reachable"] is False
    assert "check network and proxy" in error["hint"]
