"""A catalog whose history is gone beside the tables of its files: nothing is pending without a word, and nothing runs twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from glacierbase import Project
from glacierbase.apply.lost import _created, check_not_lost
from glacierbase.errors import NeedsRepair
from glacierbase.history.state import read_state
from tests.support.beds import LakeBed
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables
from tests.support.world import World

ID = Schema(NestedField(1, "a", LongType()))


@pytest.fixture
def lost(lake: LakeBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ProjectFolder]:
    """A function that applies a file in a namespace of its own, and drops the tables of history and lock."""

    def make(store: str, create: str) -> ProjectFolder:
        monkeypatch.setenv("STORE", store)
        schema = f"lake.l{project.root.parent.name.replace('-', '_')[-20:]}_{store}"
        engine, _, _ = lake.text.partition("store:")
        name = f"g{schema[5:]}"
        project.catalog(f"{engine}store: {{catalog: lake, namespace: {name}, type: {store}}}\n")
        project.file(
            "1_a.sql",
            f"CREATE SCHEMA IF NOT EXISTS {schema}; {create.format(schema)}; INSERT INTO {schema}.t VALUES (1)",
        )
        assert Project.load(project.root).migrate(spark=lake.spark)[0].applied
        for table in ("history_shop", "lock_shop"):
            lake.rows(f"DROP TABLE lake.{name}.{table} PURGE")
        return project

    return make


@pytest.mark.parametrize("store", ["iceberg", "sql"])
def test_without_history_and_lock_the_first_table_of_the_files_stops_the_run(
    store: str, lost: Callable[[str, str], ProjectFolder], lake: LakeBed
) -> None:
    """The error names both remedies; a read-only command does not read the table, and neither writes anything."""
    project = lost(store, "CREATE TABLE {}.t (a INT) USING iceberg")
    loaded = Project.load(project.root)
    assert len(loaded.pending(spark=lake.spark)[0].pending) == 1
    with pytest.raises(NeedsRepair) as caught:
        loaded.migrate(spark=lake.spark)
    assert (caught.value.code, caught.value.exit_code) == ("HISTORY_LOST", 6)
    assert "exists already" in caught.value.message
    assert "restore" in caught.value.hint
    assert "glacierbase baseline --to 1" in caught.value.hint
    assert loaded.history(spark=lake.spark)[0].events == ()
    assert loaded.baseline("1", reason="adopted", spark=lake.spark)[0].baselined
    assert loaded.migrate(spark=lake.spark)[0].applied == ()


def test_a_file_that_creates_its_table_if_it_does_not_exist_runs_with_a_warning(
    lost: Callable[[str, str], ProjectFolder], lake: LakeBed
) -> None:
    """`CREATE TABLE IF NOT EXISTS` is for tables that exist; if the history was lost, the warning is the only sign."""
    project = lost("iceberg", "CREATE TABLE IF NOT EXISTS {}.t (a INT) USING iceberg")
    [result] = Project.load(project.root).migrate(spark=lake.spark)
    assert len(result.applied) == 1
    assert any("exists already" in warning for warning in result.warnings)


@pytest.mark.parametrize("damage", ["emptied", "deleted"])
def test_a_catalog_file_that_lost_its_tables_stops_the_run(damage: str, project: ProjectFolder) -> None:
    """The files of the history are still in the warehouse; no engine starts."""
    recorded, warehouse = RecordedTables(project), project.root / "warehouse"
    recorded.apply(
        "1_a.sql", "CREATE TABLE lake.a.t (a BIGINT)", lambda client: client.create_table("a.t", ID), "lake.a.t"
    )
    recorded.client.close()
    database = warehouse / "catalog.db"
    database.unlink()
    if damage == "emptied":
        database.touch()
    done = ask_here(project, "migrate")
    assert (done.code, done.document["error"]["code"]) == (6, "HISTORY_LOST")
    assert str(warehouse / "tables/glacierbase/history_shop") in done.document["error"]["hint"]
    assert not database.exists() or database.stat().st_size == 0


@pytest.mark.parametrize("before", ["DROP TABLE IF EXISTS t", "USE a", "ALTER TABLE t RENAME TO u"])
def test_files_that_make_room_for_their_tables_are_not_stopped(before: str, project: ProjectFolder) -> None:
    """What exists before them says nothing."""
    world = World(project)
    world.file("1_a.sql", f"{before}; CREATE TABLE t (a INT)")
    target = world.target()
    assert list(_created(target.compile(target.migrations))) == []


def test_a_run_that_meets_the_table_of_another_first_run_does_not_take_it_for_a_lost_history(
    project: ProjectFolder,
) -> None:
    """The other run creates the history after this run has opened the catalog."""
    recorded = RecordedTables(project)
    recorded.project.file("1_a.sql", "CREATE TABLE lake.a.t (a BIGINT)")
    target = recorded.target()
    with target.opened() as opened:
        assert not read_state(opened).history.events
        recorded.apply(
            "1_a.sql", "CREATE TABLE lake.a.t (a BIGINT)", lambda client: client.create_table("a.t", ID), "lake.a.t"
        )
        assert check_not_lost(opened, target.compile(target.migrations)) is None
