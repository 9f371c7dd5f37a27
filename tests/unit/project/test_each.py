"""What a command's target gets from the caller."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.errors import Interrupted
from glacierbase.executors import Executor
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project in memory with one file that is pending."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.target()  # Writes the catalog file.
    return world


def test_the_engine_is_opened_with_the_callers_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a session, the engine is opened with None."""
    sessions: list[Any] = []

    def open_executor(_catalog: object, _run: object, spark: Any) -> Executor:
        sessions.append(spark)
        return world.engine

    target = replace(world.target(), open_executor=open_executor)
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: [target])
    session = object()
    Project.load(world.project.root).migrate(spark=session)
    Project.load(world.project.root).doctor()
    assert sessions == [session, None]


def test_a_cancelled_command_runs_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flag of the caller stops the run before its first statement, and the second catalog is not tried."""
    targets = [world.target(), world.target()]
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: targets)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Interrupted) as caught:
        Project.load(world.project.root).migrate(cancel=cancel)
    assert len(caught.value.results) == 1
    assert world.events == []
