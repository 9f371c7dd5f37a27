"""`unlock`: whose lock it frees, what that is recorded as, and what its former holder does then."""

from __future__ import annotations

import _thread
import json
import threading
import time
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from glacierbase.apply.lock import Terms, free_row
from glacierbase.apply.migrator import Migrator
from glacierbase.apply.unlock import look, unlock
from glacierbase.errors import LockHeld, LockLost
from glacierbase.run.run import Run
from tests.support.beds import SnowBed
from tests.support.fakes import MemoryStore
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project whose engine and tables are in memory."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    return world


def hold(world: World, lease_left: float, **holder: Any) -> None:
    """Put another machine's run into the lock."""
    row = world.tables.locks["shop"]
    expires = world.migrator()._open_store(world.migrator().catalog, None).now() + timedelta(seconds=lease_left)
    holder = {"host": "ci-7", "pid": 4711, "os_user": "bob", "ci_url": "https://ci/7", **holder}
    world.tables.locks["shop"] = replace(
        row, owner="other", fence=row.fence + 1, expires_at=expires, acquired_at=expires, holder=json.dumps(holder)
    )


def test_a_free_lock_is_left_alone(world: World) -> None:
    """No event is recorded for a free lock."""
    before = list(world.events)
    assert look(world.migrator()) is None
    assert unlock(world.migrator(), None) is None
    assert world.events == before


def test_a_lease_that_is_over_is_freed_and_recorded(world: World) -> None:
    """With the name of whoever was in it, and why."""
    hold(world, lease_left=-1)
    held = look(world.migrator())
    assert held
    assert (held.is_over, held.row.owner) == (True, "other")
    unlock(world.migrator(), "its machine is gone")
    event = world.events[-1]
    assert (event.event, event.state, event.reason, event.fence) == ("unlocked", None, "its machine is gone", 3)
    said = json.loads(event.details or "")
    assert (said["owner"], said["holder"]["host"]) == ("other", "ci-7")
    assert world.tables.locks["shop"].owner == ""


def test_a_run_that_may_be_alive_keeps_its_lock_unless_forced(world: World) -> None:
    """The message says whose it is."""
    hold(world, lease_left=50)
    before = list(world.events)
    with pytest.raises(LockHeld) as caught:
        unlock(world.migrator(), None)
    assert "bob on ci-7" in caught.value.message
    assert "cannot be seen from here" in caught.value.message
    assert "--force" in caught.value.hint
    assert world.events == before
    unlock(world.migrator(), None, force=True)
    assert world.events[-1].event == "unlocked"


def test_it_says_whether_the_process_runs_where_that_can_be_seen(world: World) -> None:
    """On this machine; one that has ended need not be waited for."""
    here = Run.here(world.project.root).holder({})
    hold(world, lease_left=50, **here)
    held = look(world.migrator())
    assert held
    assert (held.is_over, "its process runs on this machine" in held.says) == (False, True)
    hold(world, lease_left=50, **{**here, "pid_started": "0"})
    held = look(world.migrator())
    assert held
    assert (held.is_over, held.is_gone) == (True, True)


def test_a_renewal_in_between_wins(world: World) -> None:
    """Then the run is alive after all."""
    hold(world, lease_left=-1)

    def renew(verb: str) -> None:
        if verb == "compare_and_set":
            row = world.tables.locks["shop"]
            world.tables.locks["shop"] = replace(row, beat=row.beat + 1)

    world.store_before = renew
    with pytest.raises(LockHeld):
        unlock(world.migrator(), None)


def test_the_former_holder_runs_nothing_more_and_says_so(world: World) -> None:
    """Whatever it believes of its lease."""
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")

    def force(sql: str) -> None:
        unlock(world.migrator(), "by mistake", force=True)

    world.break_at("VALUES (1)", force)
    with pytest.raises(LockLost) as caught:
        world.migrate()
    assert (caught.value.code, caught.value.exit_code) == ("LOCK_LOST", 4)
    assert world.values() == [1]
    [status] = [event for event in world.events if event.event == "unlocked"]
    assert status.reason == "by mistake"


def test_where_the_lease_is_the_proof_nobody_else_begins_before_it_is_over(world: World) -> None:
    """The former holder looks at its clock, not at the row."""
    migrator = world.migrator()
    migrator.catalog = replace(migrator.catalog, store=replace(migrator.catalog.store, lease_seconds=0.5))
    make_lease_the_proof(migrator)
    hold(world, lease_left=50)
    started = time.monotonic()
    unlock(migrator, None, force=True)
    assert time.monotonic() - started >= 0.5


def make_lease_the_proof(migrator: Migrator) -> None:
    store = migrator._open_store(migrator.catalog, None)
    store._store.proves_by_lease = True
    migrator._open_store = lambda *_: store


def test_where_the_lease_is_the_proof_the_longer_lease_is_waited_for(world: World) -> None:
    """The former holder goes by its own, which the row has."""
    migrator = world.migrator()
    migrator.catalog = replace(migrator.catalog, store=replace(migrator.catalog.store, lease_seconds=0.1))
    make_lease_the_proof(migrator)
    hold(world, lease_left=50, lease_seconds=0.8)
    started = time.monotonic()
    unlock(migrator, None, force=True)
    assert time.monotonic() - started >= 0.8


def test_interrupted_while_it_waits_it_frees_and_records_before_it_ends(world: World) -> None:
    """Left as it is, the lock would be held by a run that is gone, and no event would say why."""
    migrator = world.migrator()
    migrator.catalog = replace(migrator.catalog, store=replace(migrator.catalog.store, lease_seconds=0.5))
    make_lease_the_proof(migrator)
    hold(world, lease_left=50)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        unlock(migrator, "a test", force=True)
    assert (world.events[-1].event, world.events[-1].reason) == ("unlocked", "a test")
    assert world.tables.locks["shop"].owner == ""


def test_a_holder_that_goes_on_by_its_lease_runs_nothing_twice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may begin a statement while `unlock` waits; what it tells then is read before anybody else begins."""
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    made = MemoryStore.__init__

    def proving_by_lease(self: MemoryStore, *arguments: Any) -> None:
        made(self, *arguments)
        self.proves_by_lease = True

    monkeypatch.setattr(MemoryStore, "__init__", proving_by_lease)
    free = threading.Event()
    monkeypatch.setattr("glacierbase.apply.unlock.time", SimpleNamespace(sleep=lambda _: free.wait(30)))

    def force(verb: str) -> None:
        if verb == "append" and not forced:
            forced.append(threading.Thread(target=unlock, args=(world.migrator(), None), kwargs={"force": True}))
            holder = world.tables.locks["shop"].owner
            forced[0].start()
            while world.tables.locks["shop"].owner == holder:
                time.sleep(0.01)

    forced: list[threading.Thread] = []
    world.store_before = force
    with pytest.raises(LockLost):  # It says so at its end: what it appended last may not count.
        world.migrate()
    free.set()
    forced[0].join()
    assert world.migrate().applied == []
    assert world.values() == [1, 2]


def test_on_the_command_line_it_shows_asks_and_frees(emulated: SnowBed, project: ProjectFolder) -> None:
    """Exit 4 while the run may be alive; a yes or `--yes` always."""
    text = emulated.catalog_file(lease="1s")
    project.catalog(text)
    project.file("1_a.sql", "SELECT 1")
    assert project.run("migrate").code == 0
    assert project.run("unlock").stdout == "shop (default)\n  the lock is free\n"
    namespace = text.rpartition("namespace: ")[2].partition(",")[0]
    emulated.executor.open_session().execute(
        f"UPDATE DEMO.{namespace}.LOCK_SHOP SET OWNER = 'other', EXPIRES_AT = DATEADD(hour, 1, SYSDATE()), HOLDER = '{{}}'"
    )
    asked = project.ask("unlock")
    assert (asked.code, asked.document["error"]["code"]) == (2, "CONFIRMATION_MISSING")
    alive = project.ask("unlock", "--yes")
    assert (alive.code, alive.document["error"]["code"]) == (4, "LOCK_HELD")
    freed = project.ask("unlock", "--yes", "--force", "--reason", "a test")
    assert freed.code == 0, freed.stdout
    assert freed.entry()["released"]
    assert project.ask("history").entry()["events"][-1]["event"] == "unlocked"
    assert (
        free_row(Terms("shop", "default", 1)).owner
        == emulated.rows(f"SELECT OWNER FROM DEMO.{namespace}.LOCK_SHOP")[0][0]
    )
