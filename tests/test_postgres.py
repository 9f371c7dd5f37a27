"""On a JDBC catalog in PostgreSQL: both clients with the same address, user and password."""

from __future__ import annotations

import uuid

import pytest

from tests.conftest import POSTGRES_PASSWORD, CatalogBed, ProjectFolder


def test_a_migration_runs_and_is_recorded_there(postgres: CatalogBed, project: ProjectFolder) -> None:
    """Through Spark and past it the history says the same."""
    namespace = f"g{uuid.uuid4().hex[:8]}"
    project.catalog(f"{postgres.text}store: {{namespace: {namespace}}}\n")
    project.file(
        "1_a.sql", f"CREATE TABLE lake.{namespace}.t (a INT) USING iceberg;\nINSERT INTO lake.{namespace}.t VALUES (1);"
    )
    assert len(project.ask("pending").entry()["pending"]) == 1
    done = project.run("migrate")
    assert done.code == 0, done.stderr
    assert POSTGRES_PASSWORD not in done.stdout + done.stderr
    assert postgres.rows(f"SELECT a FROM lake.{namespace}.t") == [(1,)]
    assert [row[0] for row in postgres.rows(f"SELECT event FROM lake.{namespace}.history_shop ORDER BY sequence")] == [
        "started", "statement_done", "applied",
    ]  # fmt: skip
    asked = project.run("pending")
    assert (asked.code, asked.stderr) == (0, "")
    project.catalog(f"{postgres.text}store: {{namespace: {namespace}, type: sql}}\n")
    assert project.ask("history").entry()["events"][-1]["event"] == "applied"


def test_a_wrong_password_is_one_clear_message(
    postgres: CatalogBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no Spark is started to find out."""
    monkeypatch.setenv("POSTGRES_PASSWORD", "canary-of-another")
    project.catalog(postgres.text)
    project.file("1_a.sql", "CREATE NAMESPACE lake.a")
    said = project.run("migrate")
    assert said.code == 5
    assert "password authentication failed" in said.stderr
    assert "canary" not in said.stderr
    assert "starting Spark" not in said.stderr
    assert "Traceback" not in said.stderr
