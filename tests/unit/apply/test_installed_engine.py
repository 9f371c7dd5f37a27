"""An installed engine that does not fit the catalog file is an error before anything is written."""

from __future__ import annotations

import pytest

from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.errors import ConfigurationError
from tests.support.catalog_files import RUNTIME
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

HOOK = "hooks: {beforeMigrate: [touch, ran]}\n"


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project with one pending file."""
    world = World(project)
    world.file("0001_a.sql", "CREATE TABLE t (a INT)")
    return world


def for_another_spark(world: World) -> None:
    """Name a runtime jar of Spark 3.5 in the catalog file."""
    jar = RUNTIME.replace("4.1_", "3.5_")
    world.variables += (
        f"{HOOK}environments: {{default: {{migrationExecutor: {{conf: {{dependencies: ['{jar}']}}}}}}}}\n"
    )


@pytest.mark.parametrize("is_first", [True, False])
def test_jars_of_another_spark_are_refused_before_the_lock_is_taken(is_first: bool, world: World) -> None:
    """No table is created, the row of the lock is not touched, no hook runs, and the engine is not started."""
    if not is_first:
        world.migrate()
        world.file("0002_b.sql", "CREATE TABLE u (a INT)")
    for_another_spark(world)
    verbs: list[str] = []
    world.store_before = verbs.append
    before = dict(world.tables.locks), list(world.events)
    with pytest.raises(ConfigurationError) as caught:
        world.migrate()
    assert caught.value.code == "SPARK_VERSION_MISMATCH"
    assert caught.value.unstated == "nothing ran"
    assert set(verbs) == {"read_history", "read_lock", *(["read_other_histories"] if is_first else [])}
    assert (dict(world.tables.locks), list(world.events)) == before
    assert not (world.project.root / "ran").exists()


def test_jars_of_another_spark_are_no_error_where_nothing_starts(world: World) -> None:
    """Nothing is pending, the caller passes a session, or Spark runs on a server."""
    world.migrate()
    for_another_spark(world)
    world.migrate()
    world.file("0002_b.sql", "CREATE TABLE u (a INT)")
    world.migrate(spark=object())
    world.file("0003_c.sql", "CREATE TABLE v (a INT)")
    target = world.target()
    target.catalog.spark_conf["spark.remote"] = "sc://spark:15002"  # type: ignore[index]
    Migrator(target).migrate(Selection(), Progress())
    assert world.values("v") == []
