"""Killed at every step of the path: whatever a person then says truthfully, each effect is there exactly once.

Every step is before or behind something that leaves the process: a write of the store or a statement; or inside a statement.
"""

from __future__ import annotations

import subprocess
import sys
import time

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
        insert = f"INSERT INTO {self.table} /* takes 1 s */ SELECT"
        project.file("1_two.sql", f"{insert} 10;\n{insert} 11;")
        project.file("2_one.sql", f"{insert} 20;")
        project.file("3_transaction.sql", f"BEGIN TRANSACTION;\n{insert} 30;\n{insert} 31;\nCOMMIT;")

    @property
    def rows(self) -> list[int]:
        return sorted(row[0] for row in self.snow.rows(f"SELECT a FROM {self.table}"))

    def migrate_and_die(self, at: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "-m", "tests.killed", str(self.root), at]
        return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)

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
    done = shop.migrate_and_die("0")
    assert (done.returncode, done.stdout.strip()) == (0, str(STEPS)), done.stderr


SAMPLE = [*map(str, range(1, STEPS + 1, 4)), "inside:2", "inside:6"]
ALL = [*map(str, range(1, STEPS + 1)), *(f"inside:{number}" for number in (1, 2, 3, 5, 6))]


@pytest.mark.parametrize("at", [pytest.param(at, marks=[] if at in SAMPLE else [pytest.mark.full]) for at in ALL])
def test_killed_at_any_step_each_effect_is_there_once_in_the_end(at: str, shop: Shop) -> None:
    """And the history tells of every run that wrote to it."""
    died = shop.migrate_and_die(at)
    assert died.returncode == -9, died.stderr
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
