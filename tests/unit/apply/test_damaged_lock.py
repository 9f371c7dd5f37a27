"""A lock table that does not hold one row: what each command says of it, and how it becomes sound again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.apply.lock import Lock
from glacierbase.apply.unlock import held_lock, unlock
from glacierbase.errors import GlacierbaseError, Interrupted, LockHeld, LockLost, NeedsRepair
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.inspect.doctor import examine
from glacierbase.run.run import Run
from glacierbase.stores import LockRow
from tests.support.clock import Clock
from tests.support.fakes import MemoryStore
from tests.support.world import World, held_row, wait_until

REQUIRED = [field.name for field in fields(LockRow) if "None" not in str(field.type)]


def applied(world: World) -> World:
    """Apply one file, and leave a second one pending."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    return world


def history_check(world: World) -> Any:
    return next(check for check in examine(world.target()) if check.name == "history")


def test_a_deleted_row_is_reported_as_what_it_is_and_added_by_the_next_run(world: World) -> None:
    """The new row's fence is above all that any run was given; no other command writes it."""
    applied(world).tables.rows["shop"] = ()
    assert ["has no row" in warning for warning in world.state.warnings] == [True]
    assert "has no row" in history_check(world).detail
    held = unlock(world.target(), None)
    assert held
    assert "has no row" in held.evidence
    assert not held.is_freed
    assert world.tables.rows["shop"] == ()
    assert len(world.migrate().applied) == 1
    assert world.values() == [1]
    assert world.tables.locks["shop"].fence == world.events[-1].fence > 1000
    assert [event.sequence for event in world.events] == [1, 2, 3, 4]


def test_a_run_that_is_at_work_when_its_row_is_deleted_runs_nothing_more(world: World) -> None:
    """What it appends afterwards is under a lower fence, and ignored, although it has recorded nothing before."""
    applied(world)
    world.tables.locks["shop"] = replace(world.tables.locks["shop"], fence=6)  # Runs that found nothing to do.
    world.file("3_c.sql", "INSERT INTO t VALUES (2)")

    def delete(verb: str) -> None:
        if verb == "append":
            world.store_before = lambda verb: None
            world.tables.rows["shop"] = ()
            assert len(world.migrate().applied) == 2

    world.store_before = delete
    with pytest.raises(LockLost):
        world.migrate()
    assert world.values() == [1, 2]
    assert [str(record.state) for record in world.state.history.records.values()] == ["applied"] * 3
    assert world.migrate().applied == []


def prove_by_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        MemoryStore, "proves_by_lease", property(lambda store: True, lambda store, value: None), raising=False
    )


def test_where_the_lease_is_the_proof_an_added_row_is_not_taken_before_a_lease_is_over(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run whose row was deleted checks its lease and not the row."""
    applied(world)
    prove_by_lease(monkeypatch)
    for lost in (lambda: world.tables.rows.update(shop=()), lambda: world.tables.locks.clear()):
        lost()
        began = clock.now
        world.file(f"{len(world.events)}_c.sql", "INSERT INTO t VALUES (2)")
        world.migrate()
        assert clock.now - began >= 1


DAMAGES: dict[str, Callable[[LockRow], tuple[LockRow, ...]]] = {
    "twice the same": lambda row: (row, row),
    "two holders": lambda row: (replace(row, owner="a", fence=7), replace(row, owner="b", fence=7)),
    "a free one and an older one": lambda row: (row, replace(row, fence=0, head_fence=0, head_sequence=0)),
    **{f"no {name}": lambda row, name=name: (replace(row, **{name: None}),) for name in REQUIRED},  # type: ignore[misc]
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_table_stops_every_command_with_its_repair_which_makes_it_sound(
    damage: Callable[[LockRow], tuple[LockRow, ...]], world: World
) -> None:
    """No fence is given out twice, and what the history acknowledged is still known."""
    before = applied(world).tables.locks["shop"]
    world.tables.rows["shop"] = damage(before)
    for command in (world.migrate, lambda: world.state, lambda: unlock(world.target(), None)):
        with pytest.raises(NeedsRepair) as caught:
            command()
        assert caught.value.code == "LOCK_DAMAGED"
        assert "glacierbase unlock --rebuild --reason" in caught.value.hint
    assert history_check(world).error.code == "LOCK_DAMAGED"
    shown = held_lock(world.target(), rebuild=True)
    assert shown
    assert world.tables.rows["shop"] == damage(before)
    rebuilt = unlock(world.target(), "a copy was inserted", rebuild=True)
    assert rebuilt
    assert rebuilt.is_freed
    row = world.tables.locks["shop"]
    assert (row.owner, row.head_sequence, "shop" in world.tables.rows) == ("", 3, False)
    assert row.fence > max(each.fence or 0 for each in damage(before))
    assert (world.events[-1].event, world.events[-1].reason) == ("unlocked", "a copy was inserted")
    assert len(world.migrate().applied) == 1
    assert world.values() == [1]


def test_rebuilding_a_sound_table_is_unlocking_it(world: World) -> None:
    """A run that may be alive keeps its lock."""
    applied(world)
    assert unlock(world.target(), None, rebuild=True) is None
    world.tables.locks["shop"] = replace(held_row("stranger"), fence=1)
    with pytest.raises(LockHeld):
        unlock(world.target(), None, rebuild=True)
    assert world.tables.locks["shop"].owner == "stranger"


def test_where_the_lease_is_the_proof_a_rebuild_waits_for_the_longest_lease_of_all_rows(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that any of the rows names checks its own lease, also where another row has a higher fence."""
    row = applied(world).tables.locks["shop"]
    patient = replace(row, owner="patient", fence=6, holder=json.dumps({"host": "x", "lease_seconds": 400}))
    world.tables.rows["shop"] = (replace(row, owner="newest", fence=7), patient)
    prove_by_lease(monkeypatch)
    began = clock.now
    unlock(world.target(), "a copy was inserted", rebuild=True)
    assert 400 <= clock.now - began < 401


def test_a_holder_whose_table_gets_a_second_row_runs_nothing_more(world: World) -> None:
    """The holder cannot prove the lock; it records what it did, and ends with the error of a lost lock."""
    applied(world)
    world.file("3_c.sql", "INSERT INTO t VALUES (2)")

    def double(sql: str) -> None:
        row = world.tables.locks["shop"]
        world.tables.rows["shop"] = (row, replace(row, owner="", fence=0))

    world.break_at("VALUES (1)", double)
    with pytest.raises(LockLost) as caught:
        world.migrate()
    assert "holds 2 rows" in caught.value.message
    assert world.values() == [1]
    unlock(world.target(), "a test", rebuild=True)
    world.migrate()
    assert world.values() == [1, 2]


class Changing(MemoryStore):
    """A store in which no run ever acquires the lock: others change the row each time."""

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        return False


@pytest.mark.parametrize("seconds", [0, 1.5])
@pytest.mark.parametrize("owner", ["", "dead"])
def test_the_lock_timeout_ends_every_wait(owner: str, seconds: float, world: World, clock: Clock) -> None:
    """The timeout also ends the wait for a row that is free, or whose holder is dead, and that is never acquired."""
    target = applied(world).target()
    store = Changing(world.tables, "shop")
    past = datetime.now(timezone.utc) - timedelta(days=1)
    world.tables.locks["shop"] = replace(held_row(owner), expires_at=past, holder=json.dumps({"host": "x"}))
    lock = Lock(store, target.terms, Run.here(world.project.root), {})
    with pytest.raises(LockHeld):
        lock.acquire(None, 1, seconds, lambda: False)
    assert seconds <= clock.now < seconds + 10


def test_a_row_that_cannot_be_added_ends_the_wait_as_well(world: World) -> None:
    """Such as that of a table which another client drops again and again."""

    class Vanishing(MemoryStore):
        def replace_rows(self, seen: Any, new: LockRow) -> bool:
            return False

    lock = Lock(Vanishing(world.tables, "shop"), LockTerms("shop", "dev", 1), Run.here(world.project.root), {})
    with pytest.raises(LockHeld):
        lock.acquire(None, 1, 0, lambda: False)


def test_the_first_row_of_a_new_table_alone_has_the_fence_0(world: World) -> None:
    """As in all histories so far: the first run has the fence 1. A row in place of a lost one has no such fence."""
    assert free_row(LockTerms("shop", "dev", 60)).fence == 0
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.begin()
    delete_row(world)
    world.migrate()
    assert {event.fence for event in world.events} == {1001}


def test_a_fence_that_only_a_lost_row_showed_is_not_given_out_again(world: World, quick_polls: None) -> None:
    """Nothing is recorded under it yet, so the history does not show it."""
    applied(world)
    world.tables.locks["shop"] = replace(held_row("stranger"), fence=3000)

    def delete(verb: str) -> None:
        reads.append(verb)
        if reads.count("read_lock") == 4:  # Some after it began to wait.
            delete_row(world)
            reads.append("read_lock")

    reads: list[str] = []
    world.store_before = delete
    world.migrate(lock_timeout=30)
    assert world.events[-1].fence == 4001


@pytest.fixture
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glacierbase.apply.lock._POLL_SECONDS", 0.05)


class Waiting:
    """A run that has acquired the lock and is stopped at one point, and one that waits for the lock meanwhile."""

    def __init__(self, world: World, at: str) -> None:
        self._world = world
        self._threads: list[threading.Thread] = []
        self._free = threading.Event()
        self.outcomes: dict[str, str] = {}
        stopped, has_read = threading.Event(), threading.Event()

        def before(verb: str) -> None:
            if verb == "append" and not has_read.is_set():
                self._start("second", 30)
                time.sleep(0.5)  # It reads a history in which nothing is announced, and waits.
                has_read.set()
                if at == "append":
                    stopped.set()
                    self._free.wait(30)

        def inside(sql: str) -> None:
            stopped.set()
            self._free.wait(30)

        world.store_before = before
        if at != "append":
            world.break_at(at, inside)
        self._start("first", 0)
        assert stopped.wait(30)

    def _start(self, name: str, timeout: float) -> None:
        def run() -> None:
            try:
                self._world.migrate(lock_timeout=timeout)
                self.outcomes[name] = "done"
            except GlacierbaseError as error:
                self.outcomes[name] = error.code

        thread = threading.Thread(target=run)
        thread.start()
        self._threads.append(thread)

    def go_on(self) -> None:
        self._free.set()
        for thread in self._threads:
            thread.join(60)


def delete_row(world: World) -> None:
    del world.tables.locks["shop"]
    world.tables.rows["shop"] = ()


def test_a_row_deleted_in_a_first_run_lets_no_waiting_run_repeat_its_statement(world: World, quick_polls: None) -> None:
    """The history that the waiting run had read was empty; it must not get the fence 1 of the first run again."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    world.begin()
    runs = Waiting(world, at="VALUES (1)")
    delete_row(world)
    wait_until(lambda: "second" in runs.outcomes)
    runs.go_on()
    assert runs.outcomes["first"] == "LOCK_LOST"
    assert runs.outcomes["second"] == "OUTCOME_UNKNOWN"
    assert world.values() == [1]
    assert world.tables.locks["shop"].fence > 1000
    world.migrate()
    assert world.values() == [1, 2]


def test_where_the_lease_is_the_proof_a_row_deleted_while_a_run_waits_gives_no_second_holder(
    world: World, monkeypatch: pytest.MonkeyPatch, quick_polls: None
) -> None:
    """The run that adds the row, and a run that begins then, take it only after the lease of the run that lost it."""
    applied(world)
    prove_by_lease(monkeypatch)
    runs = Waiting(world, at="append")
    delete_row(world)
    wait_until(lambda: "shop" in world.tables.locks)
    began = time.monotonic()
    assert len(world.migrate(lock_timeout=30).applied) + (runs.outcomes.get("second") == "done") >= 1
    assert time.monotonic() - began >= 0.9
    runs.go_on()
    assert runs.outcomes["first"] == "LOCK_LOST"
    assert world.values() == [1]
    assert [str(record.state) for record in world.state.history.records.values()] == ["applied"] * 2


def test_a_wait_for_the_lease_of_a_lost_row_ends_when_the_run_is_cancelled(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait does not end by the lock's timeout: no other run is seen to hold the lock."""
    target = applied(world).target()
    prove_by_lease(monkeypatch)
    delete_row(world)
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) == 3

    lock = Lock(MemoryStore(world.tables, "shop"), replace(target.terms, lease_seconds=60), target.run, {})
    with pytest.raises(Interrupted):
        lock.acquire(None, 1, 0, cancelled)
    assert world.tables.locks["shop"].owner == ""


def test_a_run_whose_fence_another_run_recorded_under_runs_nothing(world: World, quick_polls: None) -> None:
    """Such as that of a row which was restored from a copy while the run waited."""
    applied(world)
    row = world.tables.locks["shop"]

    def restore(verb: str) -> None:
        if verb == "compare_and_set":
            world.store_before = lambda verb: None
            world.migrate()
            world.tables.locks["shop"] = row
            world.file("3_c.sql", "INSERT INTO t VALUES (2)")

    world.store_before = restore
    with pytest.raises(LockLost) as caught:
        world.migrate()
    assert "the history has its fence or a higher one" in caught.value.message
    assert world.values() == [1]
    assert len(world.migrate().applied) == 1
    assert world.values() == [1, 2]
