"""The locks that a run holds: each run and each project has a collection, which a signal handler may read."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.project.project import Project
from glacierbase.run.run import Run
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


def test_a_lock_is_listed_while_its_run_holds_it(project: ProjectFolder) -> None:
    """The description names the catalog and the holder."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    target = world.target()
    seen: list[tuple[str, ...]] = []
    world.break_at("CREATE", lambda sql: seen.append(target.run.held.descriptions()))
    Migrator(target).migrate(Selection(), Progress())
    [[description]] = seen
    assert description.startswith(f"the lock of shop, held by run {target.run.id} of ")
    assert target.run.held.descriptions() == ()


def test_a_run_does_not_see_the_locks_of_another(project: ProjectFolder) -> None:
    """Two runs in one process, of two threads or two projects, do not share what they hold."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    other = Run.here(project.root)
    seen: list[tuple[str, ...]] = []
    world.break_at("CREATE", lambda sql: seen.append(other.held.descriptions()))
    world.migrate()
    assert seen == [()]


def test_two_projects_have_a_collection_each(lake_project: ProjectFolder) -> None:
    """The runs of a project list their locks in the collection of that project."""
    first, second = (Project.load(lake_project.root) for _ in range(2))
    assert first.held_locks is not second.held_locks


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda project: pickle.loads(pickle.dumps(project))])
def test_a_project_can_be_copied_and_passed_to_another_process(
    lake_project: ProjectFolder, copied: Callable[[Any], Any]
) -> None:
    """The copy works as the project does, and holds no lock."""
    lake_project.file("1_a.sql", "CREATE TABLE t (a INT)")
    loaded = Project.load(lake_project.root)
    read = copied(loaded)
    assert read.render() == loaded.render()
    assert read.held_locks is not loaded.held_locks
