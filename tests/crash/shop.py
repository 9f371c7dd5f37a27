"""A small project on a real engine for runs that break: what it inserts, and how an operator would repair it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase import Project
from glacierbase.apply.results import RepairCase
from glacierbase.errors import ConfigurationError, LockHeld, LockLost, NeedsRepair, TableNotFound
from glacierbase.history.records import fold
from glacierbase.model.migration import Event
from glacierbase.record.live import TableShapes
from glacierbase.record.shapes import ChangeOrigin, table_records
from glacierbase.record.timeline import timelines
from tests.support.beds import DynamoBed, LakeBed, SnowBed
from tests.support.project_folder import REPOSITORY, ProjectFolder, only_catalog

FINAL = [10, 11, 20, 30, 31]
_MILLISECOND = timedelta(milliseconds=1)

# By store: the number of steps of the path, and the statements inside of which a run can end.
STEPS = {"snowflake": 34, "repeatable": 34, "dynamodb": 34, "sql": 46, "iceberg": 48}
INSIDE = {
    **dict.fromkeys(("snowflake", "repeatable", "dynamodb"), (1, 2, 3, 5, 6)),
    **dict.fromkeys(("sql", "iceberg"), (1, 2, 3, 4, 5)),
}


class Shop(ABC):
    """A project of three files on a new table, and an engine to read the table with.

    Attributes:
        asked: how often a person had to decide.
    """

    slow: str  # A query that returns the value after a second.
    session: Any = None  # The session for runs in this process, where an engine is slow to start.

    using = ""

    def __init__(self, bed: SnowBed | LakeBed, project: ProjectFolder, table: str, catalog: str) -> None:
        self._bed = bed
        self.project = project
        self.table = table
        self.asked = 0
        self._catalog = catalog
        project.catalog(catalog)
        bed.executor.open_session().execute(f"CREATE TABLE {table} (a INT){self.using}")

    def set_lease(self, lease: str) -> None:
        """Change the lease of later runs."""
        self.project.catalog(re.sub(r"lockLease: \w+", f"lockLease: {lease}", self._catalog))

    @abstractmethod
    def end_lease(self) -> None:
        """Let nobody wait for the lease of a killed run."""

    @property
    def rows(self) -> list[int]:
        return sorted(row[0] for row in self._bed.rows(f"SELECT a FROM {self.table}"))

    def insert(self, value: int, at: str) -> str:
        """Return an INSERT of the value; it takes a second where a run ends inside of a statement."""
        question = self.slow if at.startswith("inside") else "SELECT {}"
        return f"INSERT INTO {self.table} {question.format(value)}"

    def write_files(self, at: str) -> None:
        self.project.file("1_two.sql", f"{self.insert(10, at)};\n{self.insert(11, at)};")
        self.project.file("2_one.sql", f"{self.insert(20, at)};")
        self.project.file("3_two.sql", f"{self.insert(30, at)};\n{self.insert(31, at)};")

    def row_of(self, case: RepairCase) -> int:
        """Return the value that the statement in flight inserts."""
        assert case.statement_index is not None
        return int(case.version or "") * 10 + case.statement_index - 1

    @abstractmethod
    def may_run(self, case: RepairCase) -> bool: ...

    def start(self, at: str, name: str, whom: str = "python") -> subprocess.Popen[str]:
        """Start a run that sends itself a signal at a step."""
        self.write_files(at)
        command = [sys.executable, "-W", "ignore", "-m", "tests.crash.killed", str(self.project.root), at, name, whom]
        return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def load(self) -> Project:
        return Project.load(self.project.root)

    def finish(self) -> None:
        """Migrate until everything is applied, and repair by what the table holds."""
        has_ended = False
        for _ in range(6):
            try:
                self.load().migrate(lock_timeout=60, spark=self.session)
                return
            except NeedsRepair:
                if has_ended:
                    self.answer()
                else:  # Once its engine has ended, the next run may settle the statement.
                    self.wait_for_engine()
                has_ended = not has_ended
            except LockLost:  # On a machine too busy to renew a lease of a second.
                continue
        raise AssertionError("it never came to an end")

    def wait_for_engine(self) -> None:
        """Wait until the statement in flight cannot take effect any more."""
        deadline = time.monotonic() + 60
        while self.may_run(self.load().repair(spark=self.session)[0].cases[0]):
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def answer(self) -> None:
        """Repair the statement in flight as done or not done."""
        self.asked += 1
        [case] = self.load().repair(spark=self.session)[0].cases
        truth = "done" if self.row_of(case) in self.rows else "not-done"
        assert case.suggests in (truth, None)
        self.load().repair(
            [case.label], as_=truth, reason="the table was looked at", engine_stopped=True, spark=self.session
        )

    def check(self) -> None:
        """Check that each row is there once, and that the lock is free or its holder is dead."""
        assert self.rows == FINAL
        [result] = self.load().status(spark=self.session)
        assert [str(each.state) for each in result.all_statuses] == ["applied"] * 3
        if result.lock:  # The run died before the release, its last step.
            self.set_lease("1s")
            assert self.unlocked()

    def unlocked(self) -> bool:
        """Release the lock of a killed run. The JVM of a killed Python ends a moment later, and until then the lock is held."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(LockHeld):
                return self.load().unlock(spark=self.session)[0].released
            time.sleep(0.2)
        return False

    def check_history(self) -> int:
        """Check that the history has no gap and no event under an old fence. Return how many outcomes were open in between."""
        [history] = self.load().history(spark=self.session)
        sequences = [event.sequence for event in history.events]
        assert sequences == list(range(1, len(sequences) + 1))
        self.check_records(history.events)
        return [event.event for event in history.events].count("repaired")

    def check_records(self, events: Sequence[Event]) -> None:
        """Check that the records say what is true: the table had its one column before the first file, and no file changed it."""
        [timeline] = timelines(fold(events))
        [moment] = timeline.moments
        assert moment.shape
        assert [column.name.lower() for column in moment.shape.columns] == ["a"]
        assert moment.origin is not ChangeOrigin.MIGRATION
        [last] = [event for event in events if event.event == "applied"][-1:] or events[-1:]
        assert [each.table for each in table_records(last)] == [self.table]

    def check_who(self) -> None:
        """Check that no file and nobody else is said to have changed the table, at any moment. No file may have begun yet."""
        with suppress(ConfigurationError):
            [found] = self.load().blame(self.table, spark=self.session)
            assert [each for each in found.lines_ if each.version or (each.outside and not each.since.is_first)] == []
        [drifted] = self.load().drift(spark=self.session)
        assert drifted.drifts == ()


class SnowShop(Shop):
    """A shop on the Snowflake bed. The third file is one transaction."""

    slow = "/* takes 1 s */ SELECT {}"

    def __init__(self, snow: SnowBed, project: ProjectFolder, lease: str) -> None:
        super().__init__(snow, project, f"{snow.schema()}.t", snow.catalog_file(lease=lease))

    last = "3_two.sql"

    def write_files(self, at: str) -> None:
        super().write_files(at)
        both = f"{self.insert(30, at)};\n{self.insert(31, at)}"
        self.project.file(self.last, f"BEGIN TRANSACTION;\n{both};\nCOMMIT;")

    def row_of(self, case: RepairCase) -> int:
        return 30 if case.is_repeatable or case.number == 3 else super().row_of(case)

    def may_run(self, case: RepairCase) -> bool:
        return "RUNNING" in "".join(case.evidence)

    def end_lease(self) -> None:
        """The holder's engine is elsewhere: no machine shows that it has ended. The tables may not exist yet."""
        namespace = self._catalog.rpartition("namespace: ")[2].partition(",")[0]
        shorter = """REPLACE(HOLDER, '"lease_seconds": 60.0', '"lease_seconds": 1.0')"""
        over = f"SET EXPIRES_AT = DATEADD(hour, -1, SYSDATE()), HOLDER = {shorter} WHERE OWNER <> ''"
        with suppress(TableNotFound):
            self._bed.executor.open_session().execute(
                f"UPDATE {self._bed.catalog.store.catalog}.{namespace}.LOCK_SHOP {over}"
            )


class RepeatableShop(SnowShop):
    """The same, with a repeatable in place of the third file. It is not safe to run twice: a resumed one must not do so."""

    last = "repeatable/two.sql"

    def write_files(self, at: str) -> None:
        super().write_files(at)
        (self.project.root / "migrations/shop/3_two.sql").unlink()


class DynamoShop(SnowShop):
    """The same, with history and lock in DynamoDB."""

    def __init__(self, bed: DynamoBed, project: ProjectFolder, lease: str) -> None:
        super().__init__(bed, project, lease)
        self._address = bed.address

    def end_lease(self) -> None:
        """The holder's engine is elsewhere, as in `SnowShop`. The table may not exist yet."""
        from tests.support.dynamodb import client  # Other environments have no boto3.

        table = only_catalog(self.project.root).store.namespace
        key = {"catalog_name": {"S": "shop"}, "entry": {"S": "lock"}}
        with suppress(client(self._address).exceptions.ResourceNotFoundException):
            lock = client(self._address).get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
            if lock and lock["owner"]["S"]:
                past = datetime.now(timezone.utc) - timedelta(hours=1)
                holder = lock["holder"]["S"].replace('"lease_seconds": 60.0', '"lease_seconds": 1.0')
                over = {"expires_at": {"S": past.isoformat()}, "holder": {"S": holder}}
                client(self._address).put_item(TableName=table, Item={**lock, **over})


class SparkShop(Shop):
    """A shop on Iceberg, with either store. The run starts a JVM; repairs and checks use the JVM of the test."""

    slow = "SELECT IF(java_method('java.lang.Thread', 'sleep', 1000L) = 'slept', 0, {})"
    using = " USING iceberg"

    def __init__(self, lake: LakeBed, project: ProjectFolder, store: str, lease: str) -> None:
        self.session = lake.spark
        namespace = f"k{uuid.uuid4().hex[:8]}"
        lake.executor.open_session().execute(f"CREATE NAMESPACE lake.{namespace}")
        options = f"store: {{type: {store}, namespace: {namespace}, lockLease: {lease}}}\n"
        super().__init__(lake, project, f"lake.{namespace}.t", lake.text + options)

    def may_run(self, case: RepairCase) -> bool:
        return case.may_run

    def check_records(self, events: Sequence[Event]) -> None:
        """Check also that each recorded shape is the one that the table had at that event, by the log of its metadata."""
        super().check_records(events)
        with closing(TableShapes(only_catalog(self.project.root))) as shapes:
            past = shapes.past(self.table, None)
        assert past
        had = {each.shape.metadata_location: index for index, each in enumerate(past.versions)}
        for event in events:
            for record in table_records(event):
                assert record.after
                assert event.recorded_at
                index = had[record.after.metadata_location]
                assert record.after == past.versions[index].shape
                # Clocks of the two processes are read in milliseconds.
                assert past.versions[index].at <= event.recorded_at + _MILLISECOND
                assert all(event.recorded_at <= each.at + _MILLISECOND for each in past.versions[index + 1 : index + 2])

    def end_lease(self) -> None:
        """A repair waits for a lease until a late commit is impossible."""
        self.set_lease("5s")
