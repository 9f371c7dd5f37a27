"""`baseline` records migrations as applied whose tables exist already; each table is looked up first."""

from __future__ import annotations

import json

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFailed
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project whose engine and tables are in memory, and three files."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE a (x INT);\nCREATE TABLE scratch (x INT);\nDROP TABLE scratch;")
    world.file("2_b.sql", "CREATE TABLE old (x INT);\nALTER TABLE old RENAME TO b;")
    world.file("3_c.sql", "CREATE TABLE c (x INT)")
    return world


def test_what_is_there_is_recorded_as_applied_and_nothing_runs(world: World) -> None:
    """One append records both; a later version stays pending."""
    session = world.engine.open_session()
    session.execute("CREATE TABLE a (x INT)")
    session.execute("CREATE TABLE b (x INT)")
    files = baseline(world.target(), 2, "made by hand in 2024")
    assert [prepared.migration.version for prepared in files] == ["1", "2"]
    assert [(event.event, event.state, event.version) for event in world.events] == [
        ("baselined", "applied", "1"),
        ("baselined", "applied", "2"),
    ]
    assert world.tables.appends == 1
    assert {event.reason for event in world.events} == {"made by hand in 2024"}
    assert len(json.loads(world.events[0].details or "")["statement_checksums"]) == 3
    assert [file.version for file in world.migrate().applied] == ["3"]
    assert baseline(world.target(), 3, "again") == ()


def test_each_table_that_is_not_there_is_named_and_nothing_is_recorded(world: World) -> None:
    """A table that the files drop again is not looked up; a renamed one is, by its last name."""
    world.engine.open_session().execute("CREATE TABLE a (x INT)")
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(world.target(), 3, "made by hand")
    assert (caught.value.code, caught.value.data["missing"]) == ("BASELINE_REFUSED", ["b", "c"])
    assert world.events == []


def test_a_file_that_was_begun_is_repaired_first(world: World) -> None:
    """The file has already changed something in this environment."""
    world.file("1_a.sql", "CREATE TABLE a (x INT);\nINSERT INTO missing VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(world.target(), 2, "made by hand")
    assert "glacierbase repair 1" in caught.value.hint


def test_a_version_that_no_file_has_is_refused(world: World) -> None:
    """A typing error must not adopt more or fewer files than intended."""
    with pytest.raises(ConfigurationError) as caught:
        baseline(world.target(), 7, "made by hand")
    assert caught.value.code == "UNKNOWN_VERSION"
