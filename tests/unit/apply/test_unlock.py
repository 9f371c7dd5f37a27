"""`unlock`: which lock it frees, what it records, and what the former holder does then."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.apply.unlock import held_lock, unlock
from glacierbase.errors import LockHeld, LockLost
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.history.target import CatalogRun
from glacierbase.run.run import Run
from tests.support.beds import SnowBed
from tests.support.clock import Clock
from tests.support.fakes import MemoryStore
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


@pytest.fixture
def world(project: ProjectFolder, clock: Clock) -> World:
    """A project whose engine and tables are in memory, with a short lease: `unlock` watches a lock for one."""
    world = World(project)
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    return world


def hold(world: World, lease_left: float, **holder: Any) -> None:
    """Write a run of another machine into the lock row."""
    row = world.tables.locks["shop"]
    expires = datetime.now(timezone.utc) + timedelta(seconds=lease_left)
    holder = {"host": "ci-7", "pid": 4711, "os_user": "bob", "ci_url": "https://ci/7", **holder}
    world.tables.locks["shop"] = replace(
        row, owner="other", fence=row.fence + 1, expires_at=expires, acquired_at=expires, holder=json.dumps(holder)
    )


def test_a_free_lock_is_left_alone(world: World) -> None:
    """No event is recorded for a free lock."""
    before = list(world.events)
    assert held_lock(world.target()) is None
    assert unlock(world.target(), None) is None
    assert world.events == before


def test_a_lease_that_is_over_is_freed_and_recorded(world: World) -> None:
    """The event names the former holder and the reason."""
    hold(world, lease_left=-1)
    held = held_lock(world.target())
    assert held
    assert (held.is_over, held.row.owner) == (True, "other")
    unlock(world.target(), "its machine is gone")
    event = world.events[-1]
    assert (event.event, event.state, event.reason, event.fence) == ("unlocked", None, "its machine is gone", 3)
    said = json.loads(event.details or "")
    assert (said["former_owner"], said["former_process"]["host"]) == ("other", "ci-7")
    assert world.tables.locks["shop"].owner == ""


def test_a_run_that_may_be_alive_keeps_its_lock_unless_forced(world: World) -> None:
    """The message names the holder."""
    hold(world, lease_left=50)
    before = list(world.events)
    with pytest.raises(LockHeld) as caught:
        unlock(world.target(), None)
    assert "bob on ci-7" in caught.value.message
    assert "not visible from this machine" in caught.value.message
    assert "--force" in caught.value.hint
    assert world.events == before
    unlock(world.target(), None, force=True)
    assert world.events[-1].event == "unlocked"


def test_it_reports_whether_the_process_runs_where_that_is_visible(world: World) -> None:
    """On this machine it is visible; a process that has ended need not be waited for."""
    here = Run.here(world.project.root).holder({})
    hold(world, lease_left=50, **here)
    held = held_lock(world.target())
    assert held
    running = f"running on this machine: its process (pid {os.getpid()})"
    assert (held.is_over, held.evidence.partition("; ")[2]) == (False, running)
    engine = {"engine_pid": os.getpid(), "engine_pid_started": here["pid_started"]}
    hold(world, lease_left=50, **{**here, "pid_started": "0"}, **engine)
    held = held_lock(world.target())
    assert held
    assert held.evidence.endswith(f"running on this machine: its engine (pid {os.getpid()})")
    hold(world, lease_left=50, **{**here, "pid_started": "0"})
    held = held_lock(world.target())
    assert held
    assert (held.is_over, held.is_gone) == (True, True)


@pytest.mark.parametrize("ahead", [2, 180, 3600])
def test_a_clock_that_is_ahead_takes_no_lock_that_is_being_renewed(world: World, ahead: int) -> None:
    """`unlock` watches the row for a lease, as `migrate` does; the clocks of two machines prove nothing."""
    hold(world, lease_left=-ahead)

    def renew(verb: str) -> None:
        if verb == "read_lock":
            row = world.tables.locks["shop"]
            world.tables.locks["shop"] = replace(row, beat=row.beat + 1)

    before = list(world.events)
    world.store_before = renew
    # Ten minutes of difference between two clocks are not exceeded, by the documentation; then the lease is over.
    if ahead <= 600:
        with pytest.raises(LockHeld) as caught:
            unlock(world.target(), None)
        assert "renewed" in caught.value.message
        assert (world.events, world.tables.locks["shop"].owner) == (before, "other")
    else:
        assert unlock(world.target(), None)


def test_a_dead_run_is_freed_after_a_lease_of_watching_or_at_once_by_force(world: World, clock: Clock) -> None:
    """A person who knows that it has ended need not wait."""
    hold(world, lease_left=-3)
    assert unlock(world.target(), None)
    assert 1 <= clock.now < 10
    hold(world, lease_left=-3)
    watched = clock.now
    assert unlock(world.target(), None, force=True)
    assert clock.now == watched


def test_a_renewal_in_between_wins(world: World) -> None:
    """A renewal shows that the run is alive."""
    hold(world, lease_left=-1)

    def renew(verb: str) -> None:
        if verb == "compare_and_set":
            row = world.tables.locks["shop"]
            world.tables.locks["shop"] = replace(row, beat=row.beat + 1)

    world.store_before = renew
    with pytest.raises(LockHeld):
        unlock(world.target(), None)


def test_the_former_holder_runs_nothing_more_and_reports_it(world: World) -> None:
    """The former holder stops although its lease is not over."""
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")

    def force(sql: str) -> None:
        unlock(world.target(), "by mistake", force=True)

    world.break_at("VALUES (1)", force)
    with pytest.raises(LockLost) as caught:
        world.migrate()
    assert (caught.value.code, caught.value.exit_code) == ("LOCK_LOST", 4)
    assert world.values() == [1]
    [status] = [event for event in world.events if event.event == "unlocked"]
    assert status.reason == "by mistake"


def test_where_the_lease_is_the_proof_unlock_waits_until_it_is_over(world: World, clock: Clock) -> None:
    """The former holder checks its clock, not the row."""
    target = with_lease_as_proof(world, lease_seconds=0.5)
    hold(world, lease_left=50)
    unlock(target, None, force=True)
    assert clock.now == 0.5


def with_lease_as_proof(world: World, lease_seconds: float) -> CatalogRun:
    """Return a target whose store proves the lock by its lease."""
    target = world.target()
    catalog = replace(target.catalog, store=replace(target.catalog.store, lease_seconds=lease_seconds))
    store = MemoryStore(world.tables, "shop")
    store.proves_by_lease = True
    return replace(target, catalog=catalog, open_store=lambda *_: store)


def test_where_the_lease_is_the_proof_the_longer_lease_is_waited_for(world: World, clock: Clock) -> None:
    """The former holder uses its own lease, which the row has."""
    target = with_lease_as_proof(world, lease_seconds=0.1)
    hold(world, lease_left=50, lease_seconds=0.8)
    unlock(target, None, force=True)
    assert clock.now == 0.8


def test_interrupted_while_it_waits_it_frees_and_records_before_it_ends(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a run that is gone would hold the lock, and no event would explain it."""
    target = with_lease_as_proof(world, lease_seconds=60)
    hold(world, lease_left=50)

    def interrupt(_: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

    monkeypatch.setattr(clock, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        unlock(target, "a test", force=True)
    assert (world.events[-1].event, world.events[-1].reason) == ("unlocked", "a test")
    assert world.tables.locks["shop"].owner == ""


def test_a_holder_that_goes_on_by_its_lease_runs_nothing_twice(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder may start a statement while `unlock` waits; what it records then is read before another run begins."""
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    made = MemoryStore.__init__

    def proving_by_lease(self: MemoryStore, *arguments: Any) -> None:
        made(self, *arguments)
        self.proves_by_lease = True

    monkeypatch.setattr(MemoryStore, "__init__", proving_by_lease)
    free = threading.Event()
    monkeypatch.setattr(clock, "sleep", lambda _: free.wait(30))

    def force(verb: str) -> None:
        if verb == "append" and not forced:
            forced.append(threading.Thread(target=unlock, args=(world.target(), None), kwargs={"force": True}))
            holder = world.tables.locks["shop"].owner
            forced[0].start()
            while world.tables.locks["shop"].owner == holder:
                time.sleep(0.01)

    forced: list[threading.Thread] = []
    world.store_before = force
    with pytest.raises(LockLost):  # Raised at its end: its last events may not count.
        world.migrate()
    free.set()
    forced[0].join()
    assert world.migrate().applied == []
    assert world.values() == [1, 2]


def test_the_command_shows_the_holder_asks_and_releases_the_lock(emulated: SnowBed, project: ProjectFolder) -> None:
    """The exit code is 4 while the run may be alive; a confirmation or `--yes` is always required."""
    text = emulated.catalog_file(lease="60s")
    project.catalog(text)
    project.file("1_a.sql", "SELECT 1")
    assert run_here(project, "migrate").code == 0
    assert run_here(project, "unlock").stdout == "shop (default)\n  the lock is free\n"
    namespace = text.rpartition("namespace: ")[2].partition(",")[0]
    emulated.executor.open_session().execute(
        f"UPDATE DEMO.{namespace}.LOCK_SHOP SET OWNER = 'other', EXPIRES_AT = DATEADD(hour, 1, SYSDATE()), HOLDER = '{{}}'"
    )
    project.catalog(text.replace("60s", "1s"))  # `unlock --force` waits for a lease.
    asked = ask_here(project, "unlock")
    assert (asked.code, asked.document["error"]["code"]) == (2, "CONFIRMATION_MISSING")
    alive = ask_here(project, "unlock", "--yes")
    assert (alive.code, alive.document["error"]["code"]) == (4, "LOCK_HELD")
    freed = ask_here(project, "unlock", "--yes", "--force", "--reason", "a test")
    assert freed.code == 0, freed.stdout
    assert freed.entry()["released"]
    assert ask_here(project, "history").entry()["events"][-1]["event"] == "unlocked"
    assert (
        free_row(LockTerms("shop", "default", 1)).owner
        == emulated.rows(f"SELECT OWNER FROM DEMO.{namespace}.LOCK_SHOP")[0][0]
    )
