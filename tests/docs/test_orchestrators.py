"""The tasks for Airflow and Dagster on the page "CI/CD, Airflow and Dagster", with stand-ins for both packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from glacierbase import GlacierbaseError
from glacierbase.errors import LockHeld, MigrationFailed
from tests.docs.pages import DOCS, blocks
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

FILES = {
    block.marker.removeprefix("file "): block.text
    for block in blocks(DOCS / "guides" / "ci-and-airflow.md", "python")
    if block.marker.startswith("file ")
}
ENVIRONMENTS = "environments: {dev: {}, prod: {protected: true}}\n"


def loaded(name: str, file: str) -> ModuleType:
    """Return a file of the page as a module."""
    module = ModuleType(name)
    exec(compile(FILES[file], file, "exec"), module.__dict__)
    return module


@pytest.fixture
def worlds(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> dict[str, World]:
    """The catalogs `shop` and `web` of one project, each with its engine in memory, and one migration each."""
    worlds = {name: World(project) for name in ("shop", "web")}
    for name, world in worlds.items():
        world.variables, world.environment = ENVIRONMENTS, "prod"
        world.target(name)
        project.file("0001_a.sql", "CREATE TABLE t (a INT)", name)

    def load_targets(_root: Path, chosen: Any, *_: Any) -> list[Any]:
        assert {environment for _, environment in chosen} == {"prod"}
        return [worlds[file.name].target(file.name) for file, _ in chosen]

    monkeypatch.setattr("glacierbase.project.each.load_targets", load_targets)
    return worlds


@pytest.fixture
def lake(worlds: dict[str, World], project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that both examples import, on the project of this test."""
    module = loaded("lake", "lake.py")
    monkeypatch.setattr(module, "ROOT", str(project.root))
    monkeypatch.setitem(sys.modules, "lake", module)
    return module


@pytest.fixture
def airflow_tasks(lake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], Any]]:
    """The tasks of the DAG, by their ids."""
    tasks: dict[str, Callable[[], Any]] = {}

    def override(function: Callable[[str], Any], task_id: str) -> Callable[[str], None]:
        return lambda catalog: tasks.update({task_id: lambda: function(catalog)})

    def task(**options: Any) -> Callable[[Any], Any]:
        assert options["retries"] == 3
        return lambda function: SimpleNamespace(override=lambda task_id: override(function, task_id))

    give(monkeypatch, "airflow.sdk", dag=lambda **_: lambda function: function, task=task)
    give(monkeypatch, "airflow.sdk.exceptions", AirflowFailException=type("AirflowFailException", (Exception,), {}))
    loaded("migrate_lake", "dags/migrate_lake.py")
    return tasks


@pytest.fixture
def dagster_tasks(lake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], Any]]:
    """The ops of the job, by their names."""
    tasks: dict[str, Callable[[], Any]] = {}

    def op(name: str) -> Callable[[Any], Any]:
        return lambda function: lambda: tasks.update({name: function})

    class Told(Exception):
        def __init__(self, *_: object, **options: Any) -> None:
            super().__init__(*_)
            self.options = options

    give(
        monkeypatch, "dagster",
        op=op, job=lambda function: function(), Definitions=SimpleNamespace, OpDefinition=object,
        Failure=type("Failure", (Told,), {}), RetryRequested=type("RetryRequested", (Told,), {}),
    )  # fmt: skip
    loaded("definitions", "definitions.py")
    return tasks


def give(monkeypatch: pytest.MonkeyPatch, name: str, **contents: Any) -> None:
    """Make a module that can be imported, with its parents."""
    for parent in [name.rpartition(".")[0], name]:
        if parent:
            module = sys.modules.get(parent) or ModuleType(parent)
            monkeypatch.setitem(sys.modules, parent, module)
    vars(sys.modules[name]).update(contents)


@pytest.fixture(params=["airflow_tasks", "dagster_tasks"])
def tasks(request: pytest.FixtureRequest) -> dict[str, Callable[[], Any]]:
    """The tasks of one of the orchestrators."""
    found: dict[str, Callable[[], Any]] = request.getfixturevalue(request.param)
    return found


def test_there_is_a_task_for_each_catalog_and_it_applies_that_catalog(
    tasks: dict[str, Callable[[], Any]], worlds: dict[str, World]
) -> None:
    """A task returns the versions that it applied; the other catalog has no history then."""
    assert list(tasks) == ["migrate_shop", "migrate_web"]
    assert tasks["migrate_shop"]() == ["0001"]
    assert [event.state for event in worlds["shop"].tables.histories["shop"]][-1] == "applied"
    assert worlds["web"].tables.histories == {}
    assert tasks["migrate_shop"]() == []
    assert tasks["migrate_web"]() == ["0001"]


def test_a_failed_statement_is_not_retried(tasks: dict[str, Callable[[], Any]], project: ProjectFolder) -> None:
    """The error of the task names code, message and next step."""
    project.file("0002_b.sql", "INSERT INTO nowhere VALUES (1)", "shop")
    with pytest.raises(Exception, match=r"MigrationFailed\('STATEMENT_FAILED', .*glacierbase migrate") as caught:
        tasks["migrate_shop"]()
    assert type(caught.value).__name__ in ("AirflowFailException", "Failure")
    assert isinstance(caught.value.__cause__, MigrationFailed)
    assert getattr(caught.value, "options", {"allow_retries": False}) == {"allow_retries": False}


def test_a_held_lock_is_retried(
    tasks: dict[str, Callable[[], Any]], lake: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow retries what is raised; Dagster retries what asks for it."""

    def held(*_: Any) -> None:
        raise LockHeld("LOCK_HELD", "another run holds the lock")

    monkeypatch.setattr(lake, "migrate", held)
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the classes are those of the stand-ins)
        tasks["migrate_shop"]()
    assert isinstance(caught.value, GlacierbaseError) or type(caught.value).__name__ == "RetryRequested"
