"""A small project on a real engine, for runs that break: what it inserts, and what a person would do to put it right."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from abc import ABC, abstractmethod
from typing import Any

from glacierbase import Project
from glacierbase.apply.results import RepairCase
from glacierbase.errors import LockLost, NeedsRepair
from tests.support.beds import LakeBed, SnowBed
from tests.support.project_folder import REPOSITORY, ProjectFolder

FINAL = [10, 11, 20, 30, 31]

# Where history and lock live, how many steps the path has there, and inside of which statements a run can end.
STEPS = {"snowflake": 34, "sql": 46, "iceberg": 48}
INSIDE = {"snowflake": (1, 2, 3, 5, 6), "sql": (1, 2, 3, 4, 5), "iceberg": (1, 2, 3, 4, 5)}


class Shop(ABC):
    """A project of three files on a table of its own, and an engine to look at it from."""

    slow: str  # A question that takes its time for the value.
    session: Any = None  # What this process itself works in, where starting an engine costs more than a moment.

    using = ""

    def __init__(self, bed: SnowBed | LakeBed, project: ProjectFolder, table: str, catalog: str) -> None:
        self._bed = bed
        self.project = project
        self.table = table
        project.catalog(catalog)
        bed.executor.open_session().execute(f"CREATE TABLE {table} (a INT){self.using}")

    @property
    def rows(self) -> list[int]:
        return sorted(row[0] for row in self._bed.rows(f"SELECT a FROM {self.table}"))

    def insert(self, value: int, at: str) -> str:
        """Statements take their time where a run is to end inside of one."""
        question = self.slow if at.startswith("inside") else "SELECT {}"
        return f"INSERT INTO {self.table} {question.format(value)}"

    def write_files(self, at: str) -> None:
        self.project.file("1_two.sql", f"{self.insert(10, at)};\n{self.insert(11, at)};")
        self.project.file("2_one.sql", f"{self.insert(20, at)};")
        self.project.file("3_two.sql", f"{self.insert(30, at)};\n{self.insert(31, at)};")

    def row_of(self, case: RepairCase) -> int:
        """What the statement in flight inserts."""
        assert case.statement_index is not None
        return int(case.version) * 10 + case.statement_index - 1

    @abstractmethod
    def may_run(self, case: RepairCase) -> bool: ...

    def start(self, at: str, name: str, whom: str = "python") -> subprocess.Popen[str]:
        """A run that sends itself a signal at a step."""
        self.write_files(at)
        command = [sys.executable, "-W", "ignore", "-m", "tests.crash.killed", str(self.project.root), at, name, whom]
        return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def load(self) -> Project:
        return Project.load(self.project.root)

    def finish(self) -> None:
        """Migrate until everything is applied, answering what is asked by looking at the table."""
        for _ in range(5):
            try:
                self.load().migrate(lock_timeout=60, spark=self.session)
                return
            except NeedsRepair:
                self.answer()
            except LockLost:  # On a machine too busy to renew a lease of a second.
                continue
        raise AssertionError("it never came to an end")

    def answer(self) -> None:
        """Say whether the statement in flight took effect, once nothing can come of it any more."""
        deadline = time.monotonic() + 60
        [case] = self.load().repair(spark=self.session)[0].cases
        while self.may_run(case):
            assert time.monotonic() < deadline
            time.sleep(0.2)
            [case] = self.load().repair(spark=self.session)[0].cases
        truth = "done" if self.row_of(case) in self.rows else "not-done"
        assert case.suggests in (truth, None)
        self.load().repair(
            [case.version], as_=truth, reason="the table was looked at", engine_stopped=True, spark=self.session
        )

    def check(self) -> None:
        """Each row is there once, and the lock is free or its holder seen to be dead."""
        assert self.rows == FINAL
        [result] = self.load().status(spark=self.session)
        assert [str(each.state) for each in result.migrations] == ["applied"] * 3
        if result.lock:  # It died with nothing left to do but the release.
            time.sleep(1)
            [freed] = self.load().unlock(spark=self.session)
            assert freed.released

    def check_history(self) -> None:
        """It tells of every run, without gap and without an event that came too late."""
        [history] = self.load().history(spark=self.session)
        sequences = [event.sequence for event in history.events]
        assert sequences == list(range(1, len(sequences) + 1))


class SnowShop(Shop):
    """On the Snowflake bed. The third file is a transaction, all or nothing."""

    slow = "/* takes 1 s */ SELECT {}"

    def __init__(self, snow: SnowBed, project: ProjectFolder) -> None:
        super().__init__(snow, project, f"{snow.schema()}.t", snow.catalog_file(lease="1s"))

    def write_files(self, at: str) -> None:
        super().write_files(at)
        both = f"{self.insert(30, at)};\n{self.insert(31, at)}"
        self.project.file("3_two.sql", f"BEGIN TRANSACTION;\n{both};\nCOMMIT;")

    def row_of(self, case: RepairCase) -> int:
        return 30 if int(case.version) == 3 else super().row_of(case)

    def may_run(self, case: RepairCase) -> bool:
        return "RUNNING" in "".join(case.evidence)


class SparkShop(Shop):
    """On Iceberg, with either store. The run starts its own JVM; what is done behind it happens in that of the test."""

    slow = "SELECT IF(java_method('java.lang.Thread', 'sleep', 1000L) = 'slept', 0, {})"
    using = " USING iceberg"

    def __init__(self, lake: LakeBed, project: ProjectFolder, store: str, lease: str = "5s") -> None:
        self.session = lake.spark
        namespace = f"k{uuid.uuid4().hex[:8]}"
        lake.executor.open_session().execute(f"CREATE NAMESPACE lake.{namespace}")
        options = f"store: {{type: {store}, namespace: {namespace}, lockLease: {lease}}}\n"
        super().__init__(lake, project, f"lake.{namespace}.t", lake.text + options)

    def may_run(self, case: RepairCase) -> bool:
        return case.may_run
