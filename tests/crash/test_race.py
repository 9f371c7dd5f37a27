"""Processes that migrate the same catalog at the same moment: one applies, the others see that it does or did."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.history.records import fold
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.record.timeline import timelines
from tests.support.beds import LakeBed, SnowBed
from tests.support.project_folder import REPOSITORY, ProjectFolder, only_catalog


class Racers:
    """A number of processes, each with a running engine."""

    def __init__(self, count: int) -> None:
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "tests.crash.raced"],
                cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for _ in range(count)
        ]  # fmt: skip

    def ask(self, project: Path, seconds: str, stores: tuple[str, ...]) -> list[dict[str, Any]]:
        """Send the project to all processes, each with the next of the stores; return all answers."""
        for process, store in zip(self.processes, cycle(stores), strict=False):
            assert process.stdin
            process.stdin.write(f"{project} {seconds} {store}\n")
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self.processes if process.stdout]

    def end(self) -> None:
        for process in self.processes:
            process.communicate(timeout=60)


class Course:
    """Projects on one engine, each with its own namespace for history and lock."""

    def __init__(self, bed: Any, folder: Path) -> None:
        self._bed = bed
        self._folder = folder
        self._spark = bed.spark if isinstance(bed, LakeBed) else None

    def project(self) -> tuple[ProjectFolder, str]:
        """Return a new project, and the name of a schema that does not exist yet."""
        name = f"r{uuid.uuid4().hex[:8]}"
        project = ProjectFolder(self._folder / name)
        if isinstance(self._bed, SnowBed):
            project.catalog(self._bed.catalog_file())
            return project, f"{self._bed.catalog.store.catalog}.{name}"
        engine, _, _ = self._bed.text.partition("store:")
        project.catalog(f"{engine}store: {{catalog: lake, namespace: s{name}, type: '${{env:STORE}}'}}\n")
        return project, f"lake.{name}"

    def rows(self, table: str) -> list[int]:
        with closing(self._bed.executor.open_session()) as session:
            return sorted(row[0] for row in session.query(f"SELECT a FROM {table}"))

    def execute(self, sql: str) -> None:
        with closing(self._bed.executor.open_session()) as session:
            session.execute(sql)

    def lock(self, project: ProjectFolder) -> str:
        store = only_catalog(project.root).store
        return f"{store.catalog}.{store.namespace}.lock_shop"

    def events(self, project: ProjectFolder) -> Any:
        return Project.load(project.root).history(spark=self._spark)[0].events


@pytest.fixture(scope="module")
def stable() -> Iterator[dict[str, Racers]]:
    """The racers by engine: they run from their first race on, and those of one engine at a time fit into a machine."""
    made: dict[str, Racers] = {}
    yield made
    for racers in made.values():
        racers.end()


@pytest.fixture
def racers(request: pytest.FixtureRequest, stable: dict[str, Racers]) -> Racers:
    """Racers for the engine of the fixture that the parameter names: four for two rounds, eight for many."""
    request.getfixturevalue(request.param)  # The fixture sets the environment variables of its catalog file.
    if request.param not in stable:
        while stable:
            stable.popitem()[1].end()
        stable[request.param] = Racers(4 if request.node.callspec.params["rounds"] == 2 else 8)
    return stable[request.param]


# Some use PyIceberg, some the engine, for the same lock.
MIXED = ("iceberg", "sql")


@pytest.mark.parametrize("rounds", [2, 20])
@pytest.mark.parametrize(
    ("racers", "stores"),
    [
        ("lake", MIXED),
        ("lake", ("iceberg",)),
        ("lake", ("sql",)),
        ("web", MIXED),
        ("postgres", MIXED),
        ("remote_lake", ("sql",)),
        ("emulated", ("sql",)),
        ("emulated_dynamodb", ("dynamodb",)),
    ],
    indirect=["racers"],
    ids=["mixed", "iceberg", "sql", "rest", "postgres", "connect", "snowflake", "dynamodb"],
)
def test_of_many_processes_one_applies_and_the_others_name_it_or_find_nothing_to_do(
    rounds: int, stores: tuple[str, ...], racers: Racers, tmp_path: Path, request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The first round creates the tables, with and without waiting for the lock. Each row is there exactly once."""
    monkeypatch.setenv("STORE", stores[0])
    bed = request.node.callspec.params["racers"]
    course = Course(request.getfixturevalue(bed), tmp_path)
    for number in range(rounds):
        run_round(course, racers, number, stores, "" if bed.startswith("emulated") else " USING iceberg")


def run_round(course: Course, racers: Racers, number: int, stores: tuple[str, ...], using: str) -> None:
    project, schema = course.project()
    create = f"CREATE SCHEMA {schema};\nCREATE TABLE {schema}.t (a INT){using};"
    project.file("1_create.sql", f"{create}\nINSERT INTO {schema}.t VALUES (1);")
    project.file("2_fill.sql", f"INSERT INTO {schema}.t VALUES (2);\nINSERT INTO {schema}.t VALUES (3);")
    if number == 0:
        racers.ask(project.root, "ready?", stores)
    pids, waits = {process.pid for process in racers.processes}, number % 2 == 1
    check(racers.ask(project.root, "300" if waits else "0", stores), ["1", "2"], pids, waits)
    project.file("3_more.sql", f"INSERT INTO {schema}.t VALUES (4);")
    check(racers.ask(project.root, "300" if waits else "0", stores), ["3"], pids, waits)
    assert course.rows(f"{schema}.t") == [1, 2, 3, 4]
    project.file("repeatable/one.sql", f"INSERT INTO {schema}.t VALUES (5);")
    check(racers.ask(project.root, "300" if waits else "0", stores), ["one"], pids, waits)
    project.file("repeatable/one.sql", f"INSERT INTO {schema}.t VALUES (6);")
    check(racers.ask(project.root, "300" if waits else "0", stores), ["one"], pids, waits)
    assert course.rows(f"{schema}.t") == [1, 2, 3, 4, 5, 6]
    events = course.events(project)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    # One holder at any time: a fence belongs to one run, and fences only grow.
    holders = [(event.fence, event.run_id) for event in events]
    assert len(set(holders)) == len({fence for fence, _ in holders}) == 4
    assert holders == sorted(holders)
    # The processes that lost have recorded nothing, and nobody took what the winner did for a change by hand.
    [table] = timelines(fold(events))
    assert [(each.event.version, each.origin) for each in table.moments] == [("1", ChangeOrigin.MIGRATION)]
    assert table.is_certain


@pytest.mark.parametrize("rounds", [2, 20])
@pytest.mark.parametrize(
    ("racers", "stores"),
    [("lake", MIXED), *(("lake", (store,)) for store in MIXED)],
    indirect=["racers"],
    ids=["mixed", "iceberg", "sql"],
)
def test_many_processes_repair_a_damaged_lock_table_and_one_applies(
    rounds: int, stores: tuple[str, ...], racers: Racers, tmp_path: Path, lake: LakeBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock's row is deleted, then there are several; each time all processes find that at the same moment."""
    monkeypatch.setenv("STORE", stores[0])
    course = Course(lake, tmp_path)
    project, schema = course.project()
    using = f"CREATE SCHEMA {schema};\nCREATE TABLE {schema}.t (a INT) USING iceberg;"
    project.file("1_create.sql", f"{using}\nINSERT INTO {schema}.t VALUES (1);")
    racers.ask(project.root, "ready?", stores)
    check(racers.ask(project.root, "300", stores), ["1"], set(), waits=True)
    expected, lock = [1], course.lock(project)
    for number in range(rounds):
        course.execute(f"DELETE FROM {lock}")
        expected += [10 * number + 11, 10 * number + 12]
        project.file(f"{expected[-2]}_more.sql", f"INSERT INTO {schema}.t VALUES ({expected[-2]});")
        answers = racers.ask(project.root, "300", stores)
        check(answers, [str(expected[-2])], set(), waits=True)
        course.execute(f"INSERT INTO {lock} SELECT * FROM {lock}")
        project.file(f"{expected[-1]}_more.sql", f"INSERT INTO {schema}.t VALUES ({expected[-1]});")
        assert {answer["error"] for answer in racers.ask(project.root, "300", stores)} == {"LOCK_DAMAGED"}
        for _ in range(5):  # Those that disturb each other find several rows once more.
            answers = racers.ask(project.root, "rebuild", stores)
            assert {answer["error"] for answer in answers} <= {None, "LOCK_HELD", "LOCK_LOST", "LOCK_DAMAGED"}
            if len(lake.rows(f"SELECT * FROM {lock}")) == 1:
                break
        check(racers.ask(project.root, "300", stores), [str(expected[-1])], set(), waits=True)
    assert course.rows(f"{schema}.t") == expected
    events = course.events(project)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    holders = [(event.fence, event.run_id) for event in events]
    assert len(set(holders)) == len({fence for fence, _ in holders})


def check(answers: list[dict[str, Any]], versions: list[str], pids: set[int], waits: bool) -> None:
    assert [answer["applied"] for answer in answers if answer["applied"]] == [versions]
    errors = [answer for answer in answers if answer["error"]]
    assert [answer for answer in errors if waits or answer["error"] != "LOCK_HELD"] == []
    assert {answer["pid"] for answer in errors} <= pids
