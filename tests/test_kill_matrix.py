"""Killed or stopped at every step of the path: whatever a person then says truthfully, each effect is there exactly once.

Every step is before or behind something that leaves the process: a write of the store or a statement; or inside a statement.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.errors import NeedsRepair
from tests.conftest import REPOSITORY, ProjectFolder, SnowBed

# Rows by the file and step that inserts them; the transaction is all or nothing.
ROWS = {1: (10, 11), 2: (20,), 3: (30, 31)}
STEPS = 30
STATEMENTS = 7


class Shop:
    """A project of three files, the last of them a transaction, on a table of its own."""

    def __init__(self, snow: SnowBed, project: ProjectFolder) -> None:
        self.snow = snow
        self.table = f"{snow.schema()}.t"
        self.root = project.root
        project.catalog(snow.catalog_file(lease="1s"))
        snow.executor.open_session().execute(f"CREATE TABLE {self.table} (a INT)")
        self.project = project

    def write_files(self, at: str) -> None:
        """Statements take their time where a run is killed inside of one."""
        insert = f"INSERT INTO {self.table} {'/* takes 1 s */ ' if at.startswith('inside') else ''}SELECT"
        self.project.file("1_two.sql", f"{insert} 10;\n{insert} 11;")
        self.project.file("2_one.sql", f"{insert} 20;")
        self.project.file("3_transaction.sql", f"BEGIN TRANSACTION;\n{insert} 30;\n{insert} 31;\nCOMMIT;")

    @property
    def rows(self) -> list[int]:
        return sorted(row[0] for row in self.snow.rows(f"SELECT a FROM {self.table}"))

    def start(self, at: str, name: str) -> subprocess.Popen[str]:
        """A run that sends itself a signal at a step."""
        self.write_files(at)
        command = [sys.executable, "-W", "ignore", "-m", "tests.killed", str(self.root), at, name]
        return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self) -> None:
        """Migrate until everything is applied, answering what is asked by looking at the table."""
        for _ in range(5):
            try:
                Project.load(self.root).migrate(lock_timeout=30)
                return
            except NeedsRepair:
                self.answer()
        raise AssertionError("it never came to an end")

    def answer(self) -> None:
        """Say whether the statement in flight took effect, once nothing can come of it any more."""
        project = Project.load(self.root)
        [case] = project.repair()[0].cases
        while "RUNNING" in "".join(case.evidence):
            time.sleep(0.2)
            [case] = project.repair()[0].cases
        assert case.statement_index is not None
        expected = ROWS[int(case.version)]
        row = expected[case.statement_index - 1] if int(case.version) < 3 else expected[0]
        truth = "done" if row in self.rows else "not-done"
        project.repair([case.version], as_=truth, reason="the table was looked at", engine_stopped=True)


@pytest.fixture
def shop(emulated: SnowBed, project: ProjectFolder) -> Shop:
    """A fresh one."""
    return Shop(emulated, project)


def test_the_path_has_as_many_steps_as_the_matrix(shop: Shop) -> None:
    """None is left out when one is added."""
    run = shop.start("0", "SIGKILL")
    stdout, stderr = run.communicate(timeout=120)
    assert (run.returncode, stdout.strip()) == (0, str(STEPS)), stderr


SAMPLE = [*map(str, range(1, STEPS + 1, 4)), "inside:2", "inside:6"]
ALL = [*map(str, range(1, STEPS + 1)), *(f"inside:{number}" for number in (1, 2, 3, 5, 6))]


@pytest.mark.parametrize("at", [pytest.param(at, marks=[] if at in SAMPLE else [pytest.mark.full]) for at in ALL])
def test_killed_at_any_step_each_effect_is_there_once_in_the_end(at: str, shop: Shop) -> None:
    """And the history tells of every run that wrote to it."""
    run = shop.start(at, "SIGKILL")
    stderr = run.communicate(timeout=120)[1]
    assert run.returncode == -signal.SIGKILL, stderr
    shop.finish()
    assert shop.rows == [10, 11, 20, 30, 31]
    [result] = Project.load(shop.root).status()
    assert [str(each.state) for each in result.migrations] == ["applied"] * 3
    if result.lock:  # It died with nothing left to do but the release: its lease is over by now.
        time.sleep(1)
        [freed] = Project.load(shop.root).unlock()
        assert freed.released
    [history] = Project.load(shop.root).history()
    sequences = [event.sequence for event in history.events]
    assert sequences == list(range(1, len(sequences) + 1))


# Between an append and its proof, a proof and its statement, and behind the last statement.
STOPS = ["6", "11", "16", "inside:5"]


@pytest.mark.parametrize("at", [pytest.param(at, marks=[] if at in STOPS else [pytest.mark.full]) for at in ALL])
def test_stopped_past_its_lease_a_run_leaves_the_rest_to_the_one_that_took_over(at: str, shop: Shop) -> None:
    """Continued, it runs no further statement, tells at most that it was interrupted, and exits with 4."""
    run = shop.start(at, "SIGSTOP")
    stat = Path(f"/proc/{run.pid}/stat")
    deadline = time.monotonic() + 60
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    project = Project.load(shop.root)
    try:
        project.migrate(lock_timeout=30)
    except NeedsRepair:  # It may have begun a statement: nobody can say what comes of it before it goes on.
        run.send_signal(signal.SIGCONT)
        run.communicate(timeout=120)
        assert run.returncode == 4
        shop.finish()
    else:
        assert shop.rows == [10, 11, 20, 30, 31]
        run.send_signal(signal.SIGCONT)
        stderr = run.communicate(timeout=120)[1]
        # Before it had the lock there was nothing that it could lose.
        assert run.returncode == (0 if at.isdigit() and int(at) <= 3 else 4), stderr
    assert shop.rows == [10, 11, 20, 30, 31]
    assert [str(each.state) for each in project.status()[0].migrations] == ["applied"] * 3
