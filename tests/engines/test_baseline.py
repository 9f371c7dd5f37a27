"""`baseline`: tables that are there already are adopted, once they are seen to be."""

from __future__ import annotations

import json

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFailed
from tests.support.beds import LakeBed
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
    """In one append; what comes behind it is pending."""
    session = world.engine.open_session()
    session.execute("CREATE TABLE a (x INT)")
    session.execute("CREATE TABLE b (x INT)")
    files = baseline(world.migrator(), 2, "made by hand in 2024")
    assert [prepared.migration.version for prepared in files] == ["1", "2"]
    assert [(event.event, event.state, event.version) for event in world.events] == [
        ("baselined", "applied", "1"),
        ("baselined", "applied", "2"),
    ]
    assert world.tables.appends == 1
    assert {event.reason for event in world.events} == {"made by hand in 2024"}
    assert len(json.loads(world.events[0].details or "")["statement_checksums"]) == 3
    assert [file.version for file in world.migrate().applied] == ["3"]
    assert baseline(world.migrator(), 3, "again") == ()


def test_each_table_that_is_not_there_is_named_and_nothing_is_recorded(world: World) -> None:
    """What is created and dropped, or renamed, counts as it is in the end."""
    world.engine.open_session().execute("CREATE TABLE a (x INT)")
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(world.migrator(), 3, "made by hand")
    assert (caught.value.code, caught.value.data["missing"]) == ("BASELINE_REFUSED", ["b", "c"])
    assert world.events == []


def test_a_file_that_was_begun_is_repaired_first(world: World) -> None:
    """It did something here."""
    world.file("1_a.sql", "CREATE TABLE a (x INT);\nINSERT INTO missing VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(world.migrator(), 2, "made by hand")
    assert "glacierbase repair 1" in caught.value.hint


def test_a_version_that_no_file_has_is_refused(world: World) -> None:
    """A typo must not adopt more or less than was meant."""
    with pytest.raises(ConfigurationError) as caught:
        baseline(world.migrator(), 7, "made by hand")
    assert caught.value.code == "UNKNOWN_VERSION"


@pytest.mark.long
def test_on_iceberg_by_the_command_line(lake_project: ProjectFolder, lake: LakeBed) -> None:
    """A table and a view; a name that USE makes whole; asking before."""
    create = "CREATE TABLE t (a INT) USING iceberg"
    view = "CREATE OR REPLACE VIEW lake.adopted.v AS SELECT a FROM lake.adopted.t"
    lake_project.catalog(lake.text)
    lake_project.file("1_t.sql", f"CREATE NAMESPACE IF NOT EXISTS lake.adopted;\nUSE lake.adopted;\n{create};")
    lake_project.file("2_v.sql", f"{view};")
    arguments = ("baseline", "--to", "2", "--reason", "made by hand", "--yes")
    refused = lake_project.ask(*arguments)
    assert (refused.code, refused.document["error"]["missing"]) == (3, ["t", "lake.adopted.v"])
    session = lake.executor.open_session()
    for sql in ("CREATE NAMESPACE lake.adopted", "USE lake.adopted", create, view):
        session.execute(sql)
    assert lake_project.ask(*arguments[:-1]).document["error"]["code"] == "CONFIRMATION_MISSING"
    done = lake_project.ask(*arguments)
    assert done.code == 0, done.stdout
    assert [file["version"] for file in done.entry()["baselined"]] == ["1", "2"]
    assert "nothing to do" in lake_project.run("migrate").stdout
