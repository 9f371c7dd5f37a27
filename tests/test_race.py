"""Eight processes that want the same thing at the same moment: one does it, the others see so."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from glacierbase import Project
from tests.conftest import REMOTE, REPOSITORY, LakeBed, ProjectFolder, RemoteLake, SnowBed

RACERS = 8


class Racers:
    """The eight, each with an engine that is up."""

    def __init__(self) -> None:
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "tests.raced"],
                cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for _ in range(RACERS)
        ]  # fmt: skip

    def ask(self, project: Path, seconds: str) -> list[dict[str, Any]]:
        """Tell all of them, then listen to all of them."""
        for process in self.processes:
            assert process.stdin
            process.stdin.write(f"{project} {seconds}\n")
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self.processes if process.stdout]

    def __enter__(self) -> Racers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.communicate(timeout=60)


class Course:
    """Projects on one engine, each with a place of its own for history and lock."""

    def __init__(self, bed: Any, folder: Path) -> None:
        self._bed = bed
        self._folder = folder
        self._spark = bed.spark if isinstance(bed, LakeBed) else None

    def project(self) -> tuple[ProjectFolder, str]:
        """A new one, and the name of a schema of its own that does not exist yet."""
        name = f"r{uuid.uuid4().hex[:8]}"
        project = ProjectFolder(self._folder / name)
        if isinstance(self._bed, SnowBed):
            project.catalog(self._bed.catalog_file())
            return project, f"{self._bed.catalog.store.catalog}.{name}"
        remote = isinstance(self._bed, RemoteLake)
        text = self._remote_text() if remote else f"{self._bed.text}store: {{namespace: s{name}}}\n"
        project.catalog(text.replace("NAMESPACE", f"s{name}"))
        return project, f"lake.{name}"

    def _remote_text(self) -> str:
        text = REMOTE.replace("ADDRESS", self._bed.catalog.spark_conf["spark.remote"])
        return text.replace("store: {catalog: lake}", "store: {catalog: lake, namespace: NAMESPACE}")

    def rows(self, table: str) -> list[int]:
        session = self._bed.executor.open_session()
        return sorted(row[0] for row in session.query(f"SELECT a FROM {table}"))

    def events(self, project: ProjectFolder) -> Any:
        return Project.load(project.root).history(spark=self._spark)[0].events


@pytest.mark.parametrize("store", ["lake", "remote_lake", "emulated"])
@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.full)])
def test_of_eight_processes_one_applies_and_the_others_name_it_or_find_nothing_to_do(
    rounds: int, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """From no tables at all, and from tables that are there; with and without waiting. Each row is there exactly once."""
    course = Course(request.getfixturevalue(store), tmp_path)
    with Racers() as racers:
        for number in range(rounds):
            run_round(course, racers, number, "" if store == "emulated" else " USING iceberg")


def run_round(course: Course, racers: Racers, number: int, using: str) -> None:
    project, schema = course.project()
    create = f"CREATE SCHEMA {schema};\nCREATE TABLE {schema}.t (a INT){using};"
    project.file("1_create.sql", f"{create}\nINSERT INTO {schema}.t VALUES (1);")
    project.file("2_fill.sql", f"INSERT INTO {schema}.t VALUES (2);\nINSERT INTO {schema}.t VALUES (3);")
    if number == 0:
        racers.ask(project.root, "ready?")
    pids, waits = {process.pid for process in racers.processes}, number % 2 == 1
    check(racers.ask(project.root, "300" if waits else "0"), ["1", "2"], pids, waits)
    project.file("3_more.sql", f"INSERT INTO {schema}.t VALUES (4);")
    check(racers.ask(project.root, "300" if waits else "0"), ["3"], pids, waits)
    assert course.rows(f"{schema}.t") == [1, 2, 3, 4]
    events = course.events(project)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    # One holder at any time: a fence belongs to one run, and none goes back.
    holders = [(event.fence, event.run_id) for event in events]
    assert len(set(holders)) == len({fence for fence, _ in holders}) == 2
    assert holders == sorted(holders)


def check(answers: list[dict[str, Any]], versions: list[str], pids: set[int], waits: bool) -> None:
    assert [answer["applied"] for answer in answers if answer["applied"]] == [versions]
    errors = [answer for answer in answers if answer["error"]]
    assert [answer for answer in errors if waits or answer["error"] != "LOCK_HELD"] == []
    assert {answer["pid"] for answer in errors} <= pids
