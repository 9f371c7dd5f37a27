"""A catalog that was cloned, restored or moved: what the commands say, and that the original stays usable."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from glacierbase.stores import origin
from glacierbase.stores.iceberg import IcebergStore
from tests.support.program import run_here
from tests.support.project_folder import Output, ProjectFolder

CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties:
      type: sql
      uri: sqlite:///${projectRoot}/${environment}.db
      warehouse: file://${projectRoot}/warehouse
environments: {staging: {}, loadtest: {}}
"""
REASON = ("--reason", "cloned for the load test", "--yes")


@pytest.fixture
def cloned(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A project whose environment `staging` has a history, and `loadtest` a copy of its database."""
    monkeypatch.setattr(origin, "_KEPT", "2")
    monkeypatch.setattr(IcebergStore, "compacts_every", 4)
    project.catalog(CATALOG)
    project.file(
        "1_a.sql", "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (id int); ALTER TABLE lake.a.t ADD COLUMN b int"
    )
    run(project, "migrate", "staging")
    shutil.copyfile(project.root / "staging.db", project.root / "loadtest.db")
    return project


def run(project: ProjectFolder, command: str, environment: str, *more: str) -> Output:
    """Run a command that succeeds."""
    done = run_here(project, *command.split(), "--env", environment, *more)
    assert done.code == 0, done
    return done


def grow(project: ProjectFolder, environment: str) -> Output:
    """Apply a file with as many statements as lead to a compaction, and to more commits than former metadata files are kept."""
    statements = ";".join(f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('n'='{number}')" for number in range(5))
    project.file("2_b.sql", statements)
    return run(project, "migrate", environment)


def test_what_runs_in_a_cloned_environment_leaves_the_first_one_usable(cloned: ProjectFolder) -> None:
    """The guide's recipe: copy the database, accept the history, and go on; each environment then migrates by itself."""
    run(cloned, "repair --environment-was staging", "loadtest", *REASON)
    assert "another catalog" not in grow(cloned, "loadtest").stdout
    for command in ("status", "migrate", "unlock --rebuild", "status"):
        done = run(cloned, command, "staging", *(REASON if "unlock" in command else ()))
        assert "another catalog" not in done.stdout + done.stderr
    assert "applied" in run(cloned, "history", "loadtest").stdout


def test_a_moved_or_restored_catalog_is_named_until_it_is_accepted(cloned: ProjectFolder) -> None:
    """A clone with the name of its environment runs, deletes nothing, and prints the command that gives it files of its own."""
    original = cloned.root / "staging.db"
    moved = CATALOG.replace("${environment}.db", "moved.db")
    original.rename(cloned.root / "moved.db")
    cloned.catalog(moved)
    before = {path: path.read_bytes() for path in files(cloned)}
    warned = grow(cloned, "staging").stdout
    hint = "glacierbase repair --environment-was staging --reason '…' --env staging"
    assert f"made in another catalog (sql sqlite:{original} lake glacierbase.history_shop)" in warned
    assert hint in warned
    assert hint in run(cloned, "doctor", "staging").stdout
    assert all(path.exists() and path.read_bytes() == content for path, content in before.items())
    run(cloned, "repair --environment-was staging", "staging", "--reason", "the database was moved", "--yes")
    assert "another catalog" not in run(cloned, "status", "staging").stdout


def files(project: ProjectFolder) -> list[Path]:
    """Return the files of history and lock."""
    return [path for path in (project.root / "warehouse" / "glacierbase").rglob("*") if path.is_file()]


def test_a_clone_that_cannot_get_files_of_its_own_keeps_those_that_it_shares(
    cloned: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the server moves no table, the history is accepted, and no file is ever deleted."""
    before = {path: path.read_bytes() for path in files(cloned)}
    monkeypatch.setattr(IcebergStore, "_place", lambda *_: "nowhere:/")
    run(cloned, "repair --environment-was staging", "loadtest", *REASON)
    assert "another catalog" not in grow(cloned, "loadtest").stdout
    assert all(path.exists() and path.read_bytes() == content for path, content in before.items())
    run(cloned, "migrate", "staging")
