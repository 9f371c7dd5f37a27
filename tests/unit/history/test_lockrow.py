"""The row of a lock table: whether its holder counts as dead, and by which clock."""

from __future__ import annotations

import time
from dataclasses import astuple, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.history.lockrow import HolderWatch, LockTerms, describe_holder, free_row, holder_values, living_fence
from glacierbase.stores.sql import SYNTAX, SqlStore
from tests.support.fakes import MemoryStore, MemoryTables
from tests.support.project_folder import ProjectFolder, only_catalog

LEASE = 0.3


def test_a_jump_of_the_time_of_day_kills_no_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A waiting run whose time of day is corrected has not watched the row for a lease."""
    day = [time.time()]
    monkeypatch.setattr(time, "time", lambda: day[0])
    tables = MemoryTables()
    store = MemoryStore(tables, "shop")
    later = datetime.now(timezone.utc) + timedelta(days=1)
    row = replace(free_row(LockTerms("shop", "dev", 60)), owner="other", fence=1, expires_at=later)
    watch = HolderWatch(60, store)
    assert not watch.is_dead(row)
    day[0] += 3600
    assert not watch.is_dead(row)


class Server:
    """A session whose server has one lock row and a clock that differs from this machine's by hours."""

    ahead = timedelta(hours=5)

    def __init__(self) -> None:
        self.row = free_row(LockTerms("shop", "dev", LEASE))

    def now(self) -> datetime:
        return datetime.now(timezone.utc) + self.ahead

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        assert "SYSDATE" in sql
        values = [micros(value) if isinstance(value, datetime) else value for value in astuple(self.row)]
        return [(*values, micros(self.now()))]


def micros(instant: datetime) -> int:
    return (instant - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def test_leases_expire_by_the_servers_clock(project: ProjectFolder) -> None:
    """A wrong local clock neither ends a valid lease nor keeps an expired one."""
    connection = "{account: a, database: LAKE}"
    project.catalog(f"migrationExecutor: {{type: snowflake, conf: {{connection: {connection}}}}}\n")
    server = Server()
    store = SqlStore(only_catalog(project.root), server, SYNTAX["snowflake"])  # type: ignore[arg-type]
    for left, living in ((timedelta(seconds=1), 7), (timedelta(seconds=-LEASE - 1), None)):
        server.row = replace(server.row, owner="other", fence=7, expires_at=server.now() + left, holder="{}")
        row = store.read_lock()
        assert abs(store.now() - server.now()) < timedelta(seconds=0.2)
        assert living_fence(row, LEASE, store) == living


def test_a_holder_is_described_with_its_person_its_machine_and_its_lease() -> None:
    """The text is part of messages and warnings."""
    at = datetime(2026, 11, 20, 12, 3, 11, tzinfo=timezone.utc)
    row = replace(
        free_row(LockTerms("shop", "dev", 60)), owner="3f2a", acquired_at=at, expires_at=at + timedelta(seconds=60),
        holder='{"host": "ci-7", "pid": 4711, "os_user": "alice", "ci_url": "https://ci/7"}',
    )  # fmt: skip
    described = describe_holder(row)
    assert described.startswith("held by run 3f2a of alice on ci-7 (pid 4711), since 2026-11-20 12:03:11 UTC (")
    assert described.endswith(" ago), lease until 2026-11-20 12:04:11 UTC, https://ci/7")
    assert holder_values(row).line() == described.replace("held by", "lock:")
