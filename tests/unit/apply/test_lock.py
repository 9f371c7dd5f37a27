"""The lock of one run: proof by lease and by row, renewal, release."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from glacierbase.apply.lock import Lock
from glacierbase.errors import CommitConflict, EngineError, LockLost, OutcomeUnknown
from glacierbase.history.lockrow import LockTerms, free_row, holder_of, lease_of
from glacierbase.run.run import Run
from glacierbase.stores import LockRow
from glacierbase.stores.bounded import BoundedStore
from glacierbase.stores.tables import settle
from tests.support.fakes import MemoryStore, MemoryTables, lost_answer
from tests.support.world import wait_until

LEASE = 0.3


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.here(tmp_path)


def held(run: Run, proves_by_lease: bool) -> tuple[Lock, list[str]]:
    """Return a lock that `run` holds, and the verbs that its store was called with."""
    verbs: list[str] = []
    store = MemoryStore(MemoryTables(), "shop", verbs.append)
    store.proves_by_lease = proves_by_lease
    terms = LockTerms("shop", "dev", LEASE)
    store.create(free_row(terms))
    lock = Lock(store, terms, run, {})
    lock.acquire(None, 0, 0, lambda: False)
    verbs.clear()
    return lock, verbs


def test_a_lease_that_was_renewed_in_time_proves_the_lock_without_a_request(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease that was not renewed in time proves nothing, whichever run holds the lock."""
    clock = [1000.0]
    monkeypatch.setattr(time, "clock_gettime", lambda which: clock[0])
    monkeypatch.setattr(time, "time", lambda: clock[0])
    lock, verbs = held(run, proves_by_lease=True)
    clock[0] += 0.9 * LEASE
    lock.prove()
    assert verbs == []
    clock[0] += 0.2 * LEASE
    with pytest.raises(LockLost):
        lock.prove()
    lock.renew_if_expired()
    lock.prove()
    assert verbs == ["compare_and_set"]


def test_a_lease_proves_nothing_once_its_heartbeat_has_seen_another_holder(run: Run) -> None:
    """`unlock --force` took the lock: what is left of the lease is no proof."""
    tables = MemoryTables()
    store = MemoryStore(tables, "shop")
    store.proves_by_lease = True
    terms = LockTerms("shop", "dev", 3)
    store.create(free_row(terms))
    lock = Lock(store, terms, run, {})
    lock.acquire(None, 0, 0, lambda: False)
    tables.locks["shop"] = replace(lock.row, owner="other", fence=2)
    lock.prove()
    lock.start_heartbeat(lambda: store)
    began = time.monotonic()
    wait_until(lambda: not lock.is_leased)
    assert time.monotonic() - began < 2  # The heartbeat beats after one second, and the lease ends after three.
    with pytest.raises(LockLost):
        lock.prove()


@pytest.mark.parametrize("clock", ["since boot", "of the day"])
def test_a_lease_runs_out_while_the_machine_sleeps(run: Run, monkeypatch: pytest.MonkeyPatch, clock: str) -> None:
    """A suspended machine's monotonic clock stops; so does a paused virtual machine's clock since boot."""
    day, booted = [1000.0], [1000.0]
    clocks = {time.CLOCK_BOOTTIME: booted, time.CLOCK_MONOTONIC: [1000.0]}
    monkeypatch.setattr(time, "clock_gettime", lambda which: clocks[which][0])
    monkeypatch.setattr(time, "time", lambda: day[0])
    lock, _ = held(run, proves_by_lease=True)
    lock.prove()
    (booted if clock == "since boot" else day)[0] += 2 * LEASE
    with pytest.raises(LockLost):
        lock.prove()


class AnswerLostAndTaken(MemoryStore):
    """A store whose change has no answer, so that it reads the row; another run takes a free row before that."""

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        def change() -> bool:
            MemoryStore.compare_and_set(self, expected, new)
            row = self._tables.locks["shop"]
            if not row.owner:
                MemoryStore.compare_and_set(self, row, replace(row, owner="other", fence=row.fence + 1))
            return False

        return settle(change, self.read_lock, expected, new)


def test_a_lock_that_is_freed_and_taken_again_at_once_was_not_lost(run: Run) -> None:
    """A lock is lost if it was taken before the row acknowledged all that this run recorded."""
    for taken in (False, True):
        tables = MemoryTables()
        store = AnswerLostAndTaken(tables, "shop")
        store.create(free_row(LockTerms("shop", "dev", LEASE)))
        lock = Lock(store, LockTerms("shop", "dev", LEASE), run, {})
        lock.acquire(None, 0, 0, lambda: False)
        lock.acknowledge(1, 3)
        if taken:
            tables.locks["shop"] = replace(lock.row, owner="other", fence=2)
        with pytest.raises(LockLost) if taken else nullcontext():
            lock.finish()
        assert tables.locks["shop"].owner == "other"


@pytest.mark.parametrize(("error", "tries"), [(OutcomeUnknown, 1), (CommitConflict, 5)])
def test_a_change_that_times_out_is_not_repeated(
    error: type[EngineError], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five time-outs of 30 seconds would outlast every lease; a conflict shows that the catalog answers."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    free = free_row(LockTerms("shop", "dev", LEASE))

    def change() -> bool:
        clock[0] += 30
        raise error("Timeout", "timed out")

    with pytest.raises(error):
        settle(change, lambda: free, free, replace(free, owner="a", fence=1))
    assert clock[0] == tries * 30


class AnswerLost(MemoryStore):
    """A store whose answer to a change is lost: the row shows the outcome."""

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        return settle(lambda: super(AnswerLost, self).compare_and_set(expected, new), self.read_lock, expected, new)


def test_a_renewal_of_the_heartbeat_is_not_taken_for_the_one_that_names_the_engine(run: Run) -> None:
    """Both threads write one owner, fence and beat: without its engine in the row, the holder seems gone."""
    tables = MemoryTables()
    store = AnswerLost(tables, "shop")
    store.create(free_row(LockTerms("shop", "dev", LEASE)))
    lock = Lock(store, LockTerms("shop", "dev", LEASE), run, {})
    lock.acquire(None, 0, 0, lambda: False)
    tables.locks["shop"] = replace(lock.row, beat=lock.row.beat + 1)
    lock.name_engine({"engine_pid": 4711})
    assert holder_of(tables.locks["shop"])["engine_pid"] == 4711


def test_an_engine_without_a_process_costs_no_write(run: Run) -> None:
    """No run waits for the end of a server: its name is in the row after the next renewal."""
    tables = MemoryTables()
    store = MemoryStore(tables, "shop")
    store.create(free_row(LockTerms("shop", "dev", LEASE)))
    lock = Lock(store, LockTerms("shop", "dev", LEASE), run, {})
    lock.acquire(None, 0, 0, lambda: False)
    lock.name_engine({"application": "sc://server"})
    assert "application" not in holder_of(tables.locks["shop"])
    lock._renew(store)
    assert holder_of(tables.locks["shop"])["application"] == "sc://server"


def test_a_taker_by_force_keeps_the_former_holders_longer_lease_in_the_row(run: Run) -> None:
    """`unlock` waits for that lease to end; a third run must not take over before that."""
    tables = MemoryTables()
    store = MemoryStore(tables, "shop")
    free = free_row(LockTerms("shop", "dev", 60))
    tables.locks["shop"] = replace(free, owner="other", fence=1, holder='{"lease_seconds": 3600}')
    lock = Lock(store, LockTerms("shop", "dev", 60), run, {})
    assert lock.seize(tables.locks["shop"], 1)
    assert lease_of(tables.locks["shop"], 60) == 3600
    lock.renew_if_expired()
    lock._renew(store)
    assert lease_of(tables.locks["shop"], 60) == 60


class Clocked(MemoryStore):
    """A store that has the server's time after it has read the lock."""

    has_clock = True
    offset = timedelta(0)

    def read_lock(self) -> LockRow | None:
        row = super().read_lock()
        self.offset = timedelta(hours=5)
        return row

    def now(self) -> datetime:
        return super().now() - self.offset


def test_a_store_that_was_opened_again_still_has_the_servers_time() -> None:
    """A renewal by this machine's clock would let others take over a valid lease, or wait for hours."""
    lost: list[str] = []
    tables = MemoryTables()
    store = BoundedStore(lambda: Clocked(tables, "shop", lambda _: lost_answer() if lost else None))
    store.read_lock()
    lost.append("connection")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            store.read_lock()
    assert datetime.now(timezone.utc) - store.now() > timedelta(hours=4)
    store.close()


def test_without_a_proof_by_lease_the_row_is_read(run: Run) -> None:
    """A read is cheap there, and detects a lock that was taken by force."""
    lock, verbs = held(run, proves_by_lease=False)
    lock.prove()
    assert verbs == ["read_lock"]
