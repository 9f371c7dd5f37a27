"""`blame` on a real Iceberg table that was changed after its last record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.types import StringType

from glacierbase.capabilities.tables import blame
from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables
from tests.unit.capabilities.tables.test_drift import CREATE, create


def lines(tables: RecordedTables, table: str = "lake.a.t") -> dict[str, tuple[str | None, str, bool]]:
    """Return version, type and whether it is from outside, of each column."""
    [entry] = tables.run("blame", table, "--format", "json").document["catalogs"]
    return {
        each["name"]: (each["version"], each["type"], each["outside"])
        for each in entry["lines"]
        if each["kind"] == "column"
    }


def test_a_column_added_past_the_migrations_is_not_from_one(project: ProjectFolder) -> None:
    """A column by hand is seen before another file touches the table; what a migration made keeps its line."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    with tables.client.load_table("a.t").update_schema() as update:
        update.add_column("legacy", StringType())
    assert lines(tables) == {
        "id": ("1", "bigint", False), "name": ("1", "string", False), "legacy": (None, "string", True),
    }  # fmt: skip
    assert "not from a migration" in tables.run("blame", "lake.a.t.legacy").stdout


def test_what_no_migration_made_has_a_next_step_until_a_file_has_found_it(project: ProjectFolder) -> None:
    """The step is `drift` for that table, also of a dropped one. What a later file recorded is no drift any more."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    step = "`glacierbase drift --table lake.a.t"
    assert step not in tables.run("blame", "t").stdout
    with tables.client.load_table("a.t").update_schema() as update:
        update.add_column("legacy", StringType())
    assert step in tables.run("blame", "t").stdout
    assert step not in tables.run("blame", "t.id").stdout
    tables.client.drop_table("a.t")
    assert step in tables.run("blame", "t").stdout


def test_a_table_that_was_made_anew_by_hand_is_from_no_migration(project: ProjectFolder) -> None:
    """The columns of the new table have the same names and ids as those that the migration made, and other rows."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    tables.client.drop_table("a.t")
    create(tables.client)
    assert lines(tables) == {"id": (None, "bigint", True), "name": (None, "string", True)}
    assert "not from a migration" in tables.run("blame", "lake.a.t.id").stdout


def test_after_a_file_without_a_record_nobody_is_named(project: ProjectFolder) -> None:
    """The file may have made the change."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    add = "ALTER TABLE lake.a.t ADD COLUMN legacy string"

    def change(_: object) -> None:
        with tables.client.load_table("a.t").update_schema() as update:
            update.add_column("legacy", StringType())

    tables.apply("2_add.sql", add, change, is_recorded=False)
    assert lines(tables)["legacy"] == (None, "string", False)
    shown = tables.run("blame", "lake.a.t.legacy").stdout
    assert "not from a migration" not in shown
    assert "not recorded" in shown


def test_after_a_run_that_was_lost_nobody_is_named(project: ProjectFolder) -> None:
    """The run had begun a statement, which may have made the change. The record is said to be outdated."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")

    def change(_: object) -> None:
        with tables.client.load_table("a.t").update_schema() as update:
            update.add_column("legacy", StringType())

    tables.apply("2_add.sql", "ALTER TABLE lake.a.t ADD COLUMN legacy string", change, is_lost=True)
    assert lines(tables)["legacy"] == (None, "string", False)
    for command in ("blame", "schema"):
        shown = tables.run(command, "lake.a.t").stdout
        assert "not recorded: 2 changed it and left no record" in shown
        assert "next: `glacierbase show 2" in shown
    drifted = tables.run("drift", "--format", "json")
    assert drifted.code == 0
    assert [each["class"] for each in drifted.entry()["drifts"]] == ["not recorded"]


def test_a_table_dropped_past_the_migrations_says_so(project: ProjectFolder) -> None:
    """`blame` names the drop, and that no migration made it."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    tables.client.drop_table("a.t")
    assert "dropped: not from a migration" in tables.run("blame", "lake.a.t").stdout


def test_a_migration_that_begins_while_the_table_is_read_is_not_taken_for_a_change_by_hand(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history is read again where the table is not as its record."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    read, runs = blame.with_changes_since, [1]

    def change(_: object) -> None:
        with tables.client.load_table("a.t").update_schema() as update:
            update.add_column("later", StringType())

    def meanwhile(*arguments: Any, **options: Any) -> Any:
        for run in runs:
            runs.remove(run)
            tables.apply("2_add.sql", "ALTER TABLE lake.a.t ADD COLUMN later string", change, "lake.a.t")
        return read(*arguments, **options)

    monkeypatch.setattr(blame, "with_changes_since", meanwhile)
    assert lines(tables)["later"] == (None, "string", False)


def test_a_catalog_that_does_not_answer_leaves_the_record(project: ProjectFolder) -> None:
    """A warning says that the table was not read."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    Path(tables.client.load_table("a.t").metadata_location.removeprefix("file://")).write_text("")
    shown = tables.run("blame", "lake.a.t")
    assert shown.code == 0
    assert "was not read, so what follows is its record" in shown.stdout
    assert "bigint" in shown.stdout
