"""`import tables` of views whose texts an engine shows: the files, and their order."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from glacierbase.errors import StatementRefused
from glacierbase.record.live import LiveTables
from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables
from tests.unit.capabilities.adopt.test_listing import create
from tests.unit.capabilities.adopt.test_tables import WHO

TEXTS = {
    "lake.a.totals": ("CREATE OR REPLACE VIEW lake.a.totals AS SELECT * FROM lake.a.orders JOIN lake.a.t ON true",),
    "lake.a.orders": ("USE `lake`.`a`", "CREATE OR REPLACE VIEW lake.a.orders AS SELECT id FROM t WHERE s = '{{ x }}'"),
    "lake.a.alone": ("USE `lake`.`a`", "CREATE OR REPLACE VIEW lake.a.alone AS SELECT * FROM totals"),
    "lake.a.hidden": (),
}


@pytest.fixture
def tables(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> RecordedTables:
    """A catalog with a table and four views, one of which an engine does not show."""
    tables = RecordedTables(project)
    create(tables.client, "a.t")
    with closing(sqlite3.connect(project.root / "warehouse" / "catalog.db")) as connection, connection:
        rows = [("lake", "a", name.rpartition(".")[2], "/nowhere.json", None, "VIEW") for name in TEXTS]
        connection.executemany("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?, ?)", rows)
    monkeypatch.setattr(LiveTables, "view_statements", lambda _, view: TEXTS[view])
    return tables


def folder(tables: RecordedTables) -> Path:
    return tables.project.root / "migrations" / "shop" / "repeatable"


def test_a_view_gets_a_file_that_runs_after_those_that_it_reads(tables: RecordedTables) -> None:
    """Names in its query are relative to USE, and a view of which there is no file is not named."""
    output = tables.run("import", "tables", "*", *WHO, "--format", "json")
    assert [each["path"].rpartition("/")[2] for each in output.entry()["files"]][1:] == [
        "a_alone.sql", "a_orders.sql", "a_totals.sql",
    ]  # fmt: skip
    after = {
        path.stem: [line for line in path.read_text().splitlines() if "MIGRATION_AFTER" in line]
        for path in folder(tables).iterdir()
    }
    assert after == {
        "a_alone": ["-- MIGRATION_AFTER: a_totals"],
        "a_orders": [],
        "a_totals": ["-- MIGRATION_AFTER: a_orders"],
    }
    text = (folder(tables) / "a_orders.sql").read_text()
    assert text.startswith("-- MIGRATION_DESCRIPTION: Create lake.a.orders\n-- MIGRATION_AUTHOR: Data Platform\n")
    assert "WHERE s = '{{ '{' }}{ x }}'" in text
    assert output.entry()["not_exact"] == [
        {"table": "lake.a.hidden", "what": "no file was written: the engine does not show its text"}
    ]


def test_a_dry_run_writes_no_file_of_a_view(tables: RecordedTables) -> None:
    """The paths are in the result."""
    output = tables.run("import", "tables", "lake.a.orders", *WHO, "--dry-run", "--format", "json")
    [file] = output.entry()["files"]
    assert (file["path"], file["statements"]) == ("migrations/shop/repeatable/a_orders.sql", 2)
    assert not folder(tables).exists()


def test_an_engine_that_does_not_start_leaves_the_files_of_tables(
    tables: RecordedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are read without the engine, and each view has the reason."""

    def refused(_: LiveTables, view: str) -> tuple[str, ...]:
        raise StatementRefused("NoEngine", f"{view} is not described")

    monkeypatch.setattr(LiveTables, "view_statements", refused)
    output = tables.run("import", "tables", "*", *WHO, "--format", "json")
    assert [each["table"] for each in output.entry()["files"]] == ["lake.a.t"]
    assert len(output.entry()["not_exact"]) == 4


def test_the_files_of_tables_are_recorded_beside_those_of_views(tables: RecordedTables) -> None:
    """The repeatables of the views are not recorded: they run once, and replace the views by the same ones."""
    output = tables.run(
        "import", "tables", "*", *WHO, "--baseline", "--reason", "they exist", "--yes", "--format", "json"
    )
    assert output.code == 0
    [table, *views] = output.entry()["files"]
    assert output.entry()["baselined"] == [Path(table["path"]).name.partition("_")[0]]
    pending = tables.run("pending", "--format", "json").entry()["pending"]
    assert sorted(file["name"] for file in pending) == sorted(Path(file["path"]).stem for file in views)
