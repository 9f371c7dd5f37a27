"""The result of `migrate`: each pending version is applied, failed or not run."""

from __future__ import annotations

import pytest

from glacierbase.apply.migrator import migrate
from glacierbase.apply.plan import Selection
from glacierbase.apply.results import MigrateResult
from glacierbase.errors import OutcomeUnknown, StatementRefused
from glacierbase.output.documents import text_document
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project with three files, whose engine and tables are in memory."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "INSERT INTO t VALUES (2)")
    world.file("3_c.sql", "INSERT INTO t VALUES (3)")
    return world


def result(world: World) -> MigrateResult:
    return migrate(world.target(), MigrateResult("shop", "default"), selection=Selection())


@pytest.mark.parametrize("kind", [StatementRefused, OutcomeUnknown])
def test_the_version_that_stops_a_run_is_not_listed_as_not_run(world: World, kind: type[StatementRefused]) -> None:
    """JSON and text name it once, as the failed one."""

    def stop(_: str) -> None:
        raise kind("X", "no")

    world.break_at("VALUES (2)", stop)
    done = result(world)
    entry = done.to_dict()
    assert [each["version"] for each in entry["applied"]] == ["1"]
    assert (entry["failed"]["version"], entry["not_run"]) == ("2", ["3"])
    text = text_document([done])
    assert text.splitlines()[-1].split() == ["not", "run", "3"]
    assert text.count("2_b.sql") == 1
