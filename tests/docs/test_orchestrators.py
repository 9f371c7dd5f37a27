"""The tasks for Airflow, Dagster and Prefect on the page "CI/CD, Airflow and Dagster", with stand-ins for the packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from glacierbase import GlacierbaseError
from glacierbase.errors import EngineUnavailable, HistoryDisagrees, LockHeld, MigrationFailed
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
def lake_module(worlds: dict[str, World], project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that both examples import, on the project of this test."""
    module = loaded("lake", "lake.py")
    monkeypatch.setattr(module, "ROOT", str(project.root))
    monkeypatch.setitem(sys.modules, "lake", module)
    return module


class Airflow:
    """What the DAGs of the page made: what its tasks do and what its sensors check, by their ids."""

    def __init__(self, lake_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tasks: dict[str, Callable[[], Any]] = {}
        self.sensors: dict[str, Callable[[], Any]] = {}
        airflow = self

        class BaseOperator:
            def __init__(self, *, task_id: str, **options: Any) -> None:
                assert options["retries"] == 3
                airflow.tasks[task_id] = lambda: self.execute({})  # type: ignore[attr-defined]

        class BaseSensorOperator:
            def __init__(self, *, task_id: str, **options: Any) -> None:
                assert options["mode"] == "reschedule"
                airflow.sensors[task_id] = lambda: self.poke({})  # type: ignore[attr-defined]

        give(
            monkeypatch, "airflow.sdk",
            dag=lambda **_: lambda function: function, BaseOperator=BaseOperator, BaseSensorOperator=BaseSensorOperator,
        )  # fmt: skip
        give(monkeypatch, "airflow.sdk.exceptions", AirflowFailException=type("AirflowFailException", (Exception,), {}))
        self.operators = loaded("lake_operators", "dags/lake_operators.py")
        monkeypatch.setitem(sys.modules, "lake_operators", self.operators)
        loaded("migrate_lake", "dags/migrate_lake.py")


@pytest.fixture
def airflow(lake_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Airflow:
    """The operators and sensors of the page."""
    return Airflow(lake_module, monkeypatch)


@pytest.fixture
def airflow_tasks(airflow: Airflow) -> dict[str, Callable[[], Any]]:
    """The tasks of the DAG that migrates, by their ids."""
    return airflow.tasks


@pytest.fixture
def prefect_flows(lake_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module with the flow of the page."""

    def task(**options: Any) -> Callable[[Any], Any]:
        assert options["retries"] == 3
        assert options["retry_condition_fn"].__name__ == "is_retried"
        return lambda function: function

    give(monkeypatch, "prefect", flow=lambda function: function, task=task, serve=None)
    return loaded("flows", "flows.py")


@pytest.fixture
def prefect_tasks(prefect_flows: ModuleType, lake_module: ModuleType) -> dict[str, Callable[[], Any]]:
    """The runs of the flow for each catalog."""
    return {f"migrate_{name}": partial(prefect_flows.migrate_catalog, name) for name in lake_module.catalogs()}


@pytest.fixture
def dagster_tasks(lake_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], Any]]:
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


@pytest.fixture(params=["airflow_tasks", "dagster_tasks", "prefect_tasks"])
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
    with pytest.raises(Exception, match=r"nowhere") as caught:
        tasks["migrate_shop"]()
    assert "STATEMENT_FAILED" in repr(caught.value)
    assert "glacierbase migrate" in repr(caught.value)
    assert type(caught.value).__name__ in ("AirflowFailException", "Failure", "MigrationFailed")
    assert MigrationFailed in (type(caught.value), type(caught.value.__cause__))
    assert getattr(caught.value, "options", {"allow_retries": False}) == {"allow_retries": False}


def test_a_held_lock_is_retried(
    tasks: dict[str, Callable[[], Any]], lake_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow retries what is raised; Dagster retries what asks for it."""

    def held(*_: Any) -> None:
        raise LockHeld("LOCK_HELD", "another run holds the lock")

    monkeypatch.setattr(lake_module, "migrate", held)
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the classes are those of the stand-ins)
        tasks["migrate_shop"]()
    assert isinstance(caught.value, GlacierbaseError) or type(caught.value).__name__ == "RetryRequested"


@pytest.mark.parametrize(
    ("error", "is_retried"), [(LockHeld, True), (EngineUnavailable, True), (MigrationFailed, False)]
)
def test_prefect_retries_what_may_succeed_later(
    error: type[GlacierbaseError], is_retried: bool, prefect_flows: ModuleType
) -> None:
    """The condition reads the exception in the state of the failed run."""
    state = SimpleNamespace(result=lambda raise_on_failure: error("A_CODE", "no"))
    assert prefect_flows.is_retried(None, None, state) == is_retried
    assert not prefect_flows.is_retried(None, None, SimpleNamespace(result=lambda raise_on_failure: ValueError()))


def test_the_sensor_waits_until_nothing_is_pending(airflow: Airflow, project: ProjectFolder) -> None:
    """The sensor is about one catalog; a later file is waited for, too."""
    assert list(airflow.sensors) == ["wait_for_shop", "wait_for_web"]
    assert airflow.sensors["wait_for_shop"]() is False
    airflow.tasks["migrate_shop"]()
    assert airflow.sensors["wait_for_shop"]() is True
    assert airflow.sensors["wait_for_web"]() is False
    project.file("0002_b.sql", "CREATE TABLE u (a INT)", "shop")
    assert airflow.sensors["wait_for_shop"]() is False


def test_the_sensor_waits_until_a_version_is_applied(airflow: Airflow) -> None:
    """Another pending version does not matter, and a version without a file is not applied."""
    first, second = (
        airflow.operators.AppliedSensor(task_id=version, catalog="shop", version=version, mode="reschedule")
        for version in ("0001", "0002")
    )
    assert first.poke({}) is False
    airflow.tasks["migrate_shop"]()
    assert (first.poke({}), second.poke({})) == (True, False)


@pytest.mark.parametrize(("error", "fails"), [(EngineUnavailable, False), (HistoryDisagrees, True)])
def test_the_sensor_waits_for_a_catalog_that_is_away_and_fails_on_other_errors(
    error: type[GlacierbaseError],
    fails: bool,
    airflow: Airflow,
    lake_module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A catalog that is unreachable for some minutes ends no job; an edited file needs a person."""

    def refuse(*_: Any) -> None:
        raise error("A_CODE", "no")

    monkeypatch.setattr(lake_module, "is_applied", refuse)
    if fails:
        with pytest.raises(Exception, match="A_CODE"):
            airflow.sensors["wait_for_shop"]()
    else:
        assert airflow.sensors["wait_for_shop"]() is False
