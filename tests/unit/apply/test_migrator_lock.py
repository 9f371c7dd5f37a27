"""The lock while `migrate` runs, on the fakes: held, waited for, taken over, renewed and lost."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.lock import Heartbeat, Lock
from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.apply.unlock import unlock
from glacierbase.errors import LockHeld, LockLost, NeedsRepair, StatementRefused
from glacierbase.history.lockrow import lease_of
from glacierbase.model.migration import Event, State
from glacierbase.secrets import register
from tests.support.clock import Clock
from tests.support.fakes import MemoryStore, lost_answer
from tests.support.world import World, held_row, wait_until


def test_a_lock_that_is_held_stops_the_run_naming_its_holder(world: World, clock: Clock) -> None:
    """The run fails at once by default, and after the given time with a timeout."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    row = held_row("stranger")
    world.tables.histories["shop"], world.tables.locks["shop"] = [], row
    with pytest.raises(LockHeld) as caught:
        world.migrate()
    assert "run stranger of bob on elsewhere (pid 7)" in caught.value.message
    assert caught.value.data["owner"] == "stranger"
    assert clock.now == 0
    with pytest.raises(LockHeld):
        world.migrate(lock_timeout=1.2)
    assert clock.now == pytest.approx(1.2)
    assert world.events == []
    assert world.tables.locks["shop"] == row


def test_a_run_that_begins_between_two_reads_of_another_is_running_and_not_unknown(world: World) -> None:
    """The lock was read before that run began, and the history after it."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    begun, looked = threading.Event(), threading.Event()
    runner = threading.Thread(target=world.migrate)

    def run_meanwhile(verb: str) -> None:
        world.store_before = lambda verb: None
        runner.start()
        assert begun.wait(60)

    world.break_at("CREATE", lambda _: (begun.set(), looked.wait(60)))
    world.store_before = lambda verb: run_meanwhile(verb) if verb == "read_history" else None
    [record] = world.state.history.records.values()
    looked.set()
    runner.join()
    assert record.state is State.RUNNING
    assert world.kinds == [("started", "1"), ("applied", "1")]


def test_a_waiting_run_goes_on_when_the_lock_is_released(world: World, clock: Clock) -> None:
    """The run reads the history after it acquires the lock."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.tables.histories["shop"], world.tables.locks["shop"] = [], held_row("stranger")

    def release() -> None:
        world.tables.locks["shop"] = replace(held_row("stranger"), owner="", beat=1)

    clock.at = [(0.5, release)]
    assert len(world.migrate(lock_timeout=30).applied) == 1
    assert world.events[0].fence == 6


@pytest.mark.parametrize(
    ("ended", "machine", "lease", "at_once"),
    [
        (61, "this", "60s", True),
        (61, "another", "1s", False),
        (700, "another", "60s", True),
    ],
)
def test_a_lease_that_ended_more_than_a_lease_ago_is_taken_over_and_recorded(
    world: World, clock: Clock, ended: int, machine: str, lease: str, at_once: bool
) -> None:
    """With the same clock at once; otherwise after a lease without a renewal, or long after the lease expired."""
    world.variables = f"store: {{lockLease: {lease}}}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.tables.histories["shop"] = []
    world.tables.locks["shop"] = overdue_row(ended, machine)
    world.migrate()
    assert world.kinds[0] == ("taken_over", None)
    assert json.loads(world.events[0].details or "")["former_owner"] == "dead"
    assert world.values() == []
    assert (clock.now < 1) == at_once


@pytest.mark.parametrize("ago", [1, 30, 59])
@pytest.mark.parametrize("machine", ["this", "another"])
def test_a_lease_that_is_over_for_less_than_another_lease_is_not_taken_over(
    world: World, machine: str, ago: int
) -> None:
    """Where the lease is the proof, its holder may still start a statement: it counts from when it sent the renewal."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.tables.histories["shop"] = []
    row = world.tables.locks["shop"] = overdue_row(ago, machine)
    with pytest.raises(LockHeld):
        world.migrate()
    assert (world.tables.locks["shop"], world.events) == (row, [])


def overdue_row(seconds_ago: int, machine: str) -> Any:
    """Return the lock of a run whose lease expired so many seconds ago by this machine's clock."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip() if machine == "this" else "another"
    row = held_row("dead")
    holder = json.dumps({**json.loads(row.holder), "boot_id": boot})
    return replace(row, expires_at=datetime.now(timezone.utc) - timedelta(seconds=seconds_ago), holder=holder)


def test_a_living_run_whose_clock_is_leases_behind_keeps_its_lock(world: World, clock: Clock) -> None:
    """The watched run renews its lease; a read-only command shows its statement as running, with a warning."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    del world.events[1:]
    world.tables.locks["shop"] = replace(overdue_row(150, "another"), fence=1, head_sequence=1)
    state = world.state
    assert [record.state for record in state.history.records.values()] == [State.RUNNING]
    assert any("by this machine's clock" in warning for warning in state.warnings)

    def renew(verb: str) -> None:
        if verb == "read_lock":
            row = world.tables.locks["shop"]
            world.tables.locks["shop"] = replace(row, beat=row.beat + 1)

    world.store_before = renew
    with pytest.raises(LockHeld):
        world.migrate()


def test_a_holder_with_a_longer_lease_keeps_its_lock_as_long(world: World, clock: Clock) -> None:
    """The row has the holder's lease: a run with a shorter lease waits for the longer one."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    row = held_row("slow")
    holder = json.dumps({**json.loads(row.holder), "lease_seconds": 3600})
    world.tables.histories["shop"], world.tables.locks["shop"] = [], replace(row, holder=holder)
    with pytest.raises(LockHeld):
        world.migrate(lock_timeout=2.5)
    assert clock.now == pytest.approx(2.5)
    assert world.tables.locks["shop"].owner == "slow"
    for nonsense in ("3600", True, -1, 10**12, None):
        world.tables.locks["shop"] = replace(row, holder=json.dumps({"host": "x", "lease_seconds": nonsense}))
        assert lease_of(world.tables.locks["shop"], 1.0) == 1.0


def test_the_lock_row_has_the_lease_of_its_holder(world: World) -> None:
    """A run with another lease waits for this one."""
    world.variables = "store: {lockLease: 90s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    seen: list[Any] = []
    world.break_at("CREATE", lambda sql: seen.append(json.loads(world.tables.locks["shop"].holder or "")))
    world.migrate()
    assert seen[0]["lease_seconds"] == 90


def test_a_row_without_a_renewal_for_a_lease_is_taken_over_at_any_expiry(world: World, clock: Clock) -> None:
    """The row was seen unchanged for a lease, by the clock of the waiting run."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.tables.histories["shop"] = []
    world.tables.locks["shop"] = replace(held_row("dead"), expires_at=datetime.now(timezone.utc) + timedelta(hours=9))
    world.migrate(lock_timeout=60)
    assert world.kinds[0] == ("taken_over", None)


def test_a_run_that_lost_the_lock_runs_nothing_more(world: World) -> None:
    """The proof after the append fails; the run then appends only `interrupted`, under its old fence."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")

    def steal(*_: object) -> None:
        world.tables.locks["shop"] = replace(held_row("thief"), fence=2)

    world.break_at("CREATE", steal)
    with pytest.raises(LockLost) as caught:
        world.migrate()
    assert "thief" in caught.value.message
    assert world.values() == []
    assert world.kinds == [("started", "1"), ("statement_done", "1"), ("interrupted", "1")]
    assert world.tables.locks["shop"].owner == "thief"


@pytest.mark.parametrize("error", [StatementRefused("Exists", "t exists"), lost_answer])
def test_a_statement_that_fails_in_a_run_that_lost_the_lock_is_a_lost_lock(error: Any, world: World) -> None:
    """The run that took the lock may have caused it, and goes on with the file: this one must not be continued from here."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")

    def fail(*_: object) -> None:
        unlock(world.target(), "by mistake", force=True)
        if callable(error):
            error()
        raise error

    world.break_at("CREATE", fail)
    progress = Progress()
    with pytest.raises(LockLost) as caught:
        world.migrator().migrate(Selection(), progress)
    assert (caught.value.code, progress.failed) == ("LOCK_LOST", None)
    assert "STATEMENT_FAILED" not in str(caught.value)
    [record] = world.state.history.records.values()
    assert record.state is State.UNKNOWN  # What the run recorded afterwards does not count.


@pytest.mark.parametrize("number", [1, 2])
def test_a_lock_that_is_taken_as_the_announcement_is_appended_stops_the_statement(world: World, number: int) -> None:
    """The proof comes after the append: a taker that read the history before it does not know of the statement."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    appended: list[str] = []

    def steal(verb: str) -> None:
        if verb == "append answered":
            appended.append(verb)
            if len(appended) == number:
                world.tables.locks["shop"] = replace(held_row("thief"), fence=2)

    world.store_before = steal
    with pytest.raises(LockLost):
        world.migrate()
    assert world.engine.rows("SELECT name FROM sqlite_master") == [("t",)][: number - 1]
    assert world.kinds == [*[("started", "1"), ("statement_done", "1")][:number], ("interrupted", "1")]
    assert number == 1 or world.values() == []


def test_without_the_proof_a_stopped_holder_would_run_a_second_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the proof a stopped holder runs a statement twice, which shows that the test above can fail."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")

    def steal(*_: object) -> None:
        world.tables.locks["shop"] = replace(held_row("thief"), fence=2)

    monkeypatch.setattr(Lock, "prove", lambda self: None)
    world.break_at("CREATE", steal)
    with pytest.raises(LockLost):  # Seen at the end alone.
        world.migrate()
    assert world.values() == [1]


def test_the_heartbeat_renews_the_lease_while_a_statement_runs(world: World) -> None:
    """The heartbeat renews three times in a lease, and writes the last acknowledged event."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    seen: list[Any] = []

    def slow(*_: object) -> None:
        wait_until(lambda: world.tables.locks["shop"].beat >= 3)
        seen.append(world.tables.locks["shop"])

    world.break_at("CREATE", slow)
    world.migrate()
    assert (seen[0].head_fence, seen[0].head_sequence) == (1, 1)
    assert seen[0].expires_at - seen[0].acquired_at >= timedelta(seconds=2)  # A lease after the third renewal began.
    free = world.tables.locks["shop"]
    assert (free.owner, free.head_sequence) == ("", 2)


def test_a_holder_whose_heartbeat_alone_is_stuck_is_taken_over_and_runs_nothing_more(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder is silent for more than its lease while its statement runs; the next run reads an unknown outcome."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    found: list[str] = []

    def take_over(*_: object) -> None:
        with pytest.raises(NeedsRepair) as caught:
            world.migrate(lock_timeout=60)
        found.append(caught.value.code)

    monkeypatch.setattr(Heartbeat, "_beat", lambda heartbeat, _: heartbeat._stopped.wait())
    world.break_at("CREATE", take_over)
    with pytest.raises(LockLost):
        world.migrate()
    assert found == ["OUTCOME_UNKNOWN"]
    assert world.values() == []
    # No run with a newer fence has written: what this run had done counts without a repair.
    assert world.kinds == [("started", "1"), ("statement_done", "1"), ("interrupted", "1")]
    world.migrate()
    assert world.values() == [1]


@pytest.mark.parametrize("holder", ["no JSON", "[1]", "5", '"text"', "null", '{"lease_seconds": NaN}', "[" * 100_000])
def test_a_lock_whose_holder_is_unreadable_is_held_and_can_be_unlocked(world: World, holder: str) -> None:
    """The holder's lease counts all the same, and no command ends in a traceback."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    world.tables.locks["shop"] = replace(held_row("stranger"), holder=holder, expires_at=later)
    assert len(world.migrator().plan(Selection()).pending) == 1
    for refused in (world.migrate, lambda: unlock(world.target(), "a test")):
        with pytest.raises(LockHeld):
            refused()
    assert unlock(world.target(), "a test", force=True)
    world.migrate()
    assert world.values() == [1]


def test_a_heartbeat_survives_any_exception_of_its_store(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The next renewal may succeed; the exception is logged as a warning, with secrets masked."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    register("canary-of-the-heart")
    failed: list[str] = []

    def fail_once(verb: str) -> None:
        if verb == "compare_and_set" and "heartbeat" in threading.current_thread().name and not failed:
            failed.append(verb)
            raise ZeroDivisionError("canary-of-the-heart")

    world.store_before = fail_once
    world.break_at("CREATE", lambda _: wait_until(lambda: world.tables.locks["shop"].beat >= 2))
    world.migrate()
    assert failed
    assert "could not be renewed: ***" in caplog.text
    assert "canary" not in caplog.text


def test_the_lock_row_names_the_engine_before_it_works(world: World) -> None:
    """A run that takes over waits for the end of both processes; the engine is ready only after the lock is acquired."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    world.engine.process = {"engine_pid": 4711, "engine_pid_started": "12"}
    seen: list[Any] = []

    def open_late(*_: object) -> Any:
        while not world.tables.locks["shop"].owner:
            time.sleep(0.01)
        return world.engine

    world.break_at("INSERT", lambda _: seen.append(json.loads(world.tables.locks["shop"].holder or "")))
    Migrator(replace(world.target(), open_executor=open_late)).migrate(Selection(), Progress())
    assert seen[0]["engine_pid"] == 4711


class Snapshot(MemoryStore):
    """A session under snapshot isolation: it does not see what was committed after its first read of the history."""

    first: tuple[Event, ...] | None = None

    def read_history(self) -> tuple[Event, ...]:
        self.first = self.first if self.first is not None else super().read_history()
        return self.first


def test_the_history_is_read_under_the_lock_by_a_store_that_was_opened_for_it(world: World) -> None:
    """An older session may never see what the last lock holder committed."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    done: list[str] = []

    def run_another_meanwhile(verb: str) -> None:
        if verb == "compare_and_set" and not done:
            done.append(verb)
            world.migrate()

    late = replace(world.target(), open_store=lambda *_: Snapshot(world.tables, "shop", run_another_meanwhile))
    with suppress(LockHeld):
        Migrator(late).migrate(Selection(), Progress(), lock_timeout=60)
    assert world.values() == [1]
