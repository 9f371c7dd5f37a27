"""Checks that hold on every server that keeps a catalog, whatever its protocol."""

from __future__ import annotations

from tests.support.beds import CatalogBed
from tests.support.project_folder import ProjectFolder


def describe(bed: CatalogBed, namespace: str, project: ProjectFolder, more: str = "") -> None:
    """Write the catalog file, and a migration that makes a table with one row."""
    project.catalog(f"{bed.text}store: {{namespace: {namespace}{more}}}\n")
    project.file(
        "1_a.sql", f"CREATE TABLE lake.{namespace}.t (a INT) USING iceberg;\nINSERT INTO lake.{namespace}.t VALUES (1);"
    )


def check_it_migrates(bed: CatalogBed, namespace: str, project: ProjectFolder, secret: str) -> None:
    """Check that Spark reads its effect and its events, and that no output has the secret."""
    done = project.run("migrate")
    assert done.code == 0, done.stderr
    assert secret not in done.stdout + done.stderr
    assert bed.rows(f"SELECT a FROM lake.{namespace}.t") == [(1,)]
    assert [row[0] for row in bed.rows(f"SELECT event FROM lake.{namespace}.history_shop ORDER BY sequence")] == [
        "started", "statement_done", "applied",
    ]  # fmt: skip


def check_spark_tells_it(bed: CatalogBed, namespace: str, project: ProjectFolder) -> None:
    """Check that the SQL store reads the history through Spark."""
    describe(bed, namespace, project, ", type: sql")
    assert project.ask("history").entry()["events"][-1]["event"] == "applied"


def check_refused(bed: CatalogBed, project: ProjectFolder, says: str) -> None:
    """Check that the refusal is one clear message, and that no Spark is started before it."""
    project.catalog(bed.text)
    project.file("1_a.sql", "CREATE NAMESPACE lake.a")
    said = project.run("migrate")
    assert said.code == 5
    assert says in said.stderr
    assert "canary" not in said.stderr
    assert "starting Spark" not in said.stderr
    assert "Traceback" not in said.stderr
