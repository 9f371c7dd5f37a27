"""A run that is stopped, interrupted, or kept waiting by a store, on the fakes."""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any

import pytest

from glacierbase.apply.lock import Lock
from glacierbase.errors import (
    EngineUnavailable,
    Interrupted,
)
from glacierbase.run.held import HeldLocks
from glacierbase.run.waiting import Caller
from glacierbase.stores.bounded import BoundedStore
from tests.support.fakes import MemoryStore
from tests.support.world import World, wait_until


def test_a_stop_ends_the_run_before_its_next_statement(world: World) -> None:
    """What ran is recorded, the lock is free, and the next run continues there."""
    cancel = threading.Event()
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    world.break_at("VALUES (1)", lambda sql: cancel.set())
    with pytest.raises(Interrupted):
        world.migrate(cancelled=cancel.is_set)
    assert world.kinds[-2:] == [("statement_done", "1"), ("interrupted", "1")]
    assert world.values() == [1]
    assert world.tables.locks["shop"].owner == ""
    assert world.migrate().applied[0].resumed_at == 3
    assert world.values() == [1, 2]


def test_a_stop_between_files_leaves_the_next_one_pending(world: World) -> None:
    """No event announces the file that did not run."""
    cancel = threading.Event()
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    world.break_at("CREATE", lambda sql: cancel.set())
    with pytest.raises(Interrupted):
        world.migrate(cancelled=cancel.is_set)
    assert world.kinds == [("started", "1"), ("applied", "1")]
    assert [file.version for file in world.migrate().applied] == ["2"]


@pytest.mark.parametrize(
    ("verb", "number"), [("compare_and_set", 1), ("compare_and_set", 2), ("append", 2), ("read_lock", 3)]
)
def test_an_interrupted_caller_leaves_no_lock_and_no_heartbeat(world: World, verb: str, number: int) -> None:
    """After KeyboardInterrupt in a notebook the process continues, also while the lock is acquired or released."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    calls: list[str] = []

    def interrupt(called: str) -> None:
        calls.append(called)
        if called == verb and calls.count(verb) == number:
            _thread.interrupt_main()
            time.sleep(0.5)

    world.store_before = interrupt
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    wait_until(lambda: (world.tables.locks["shop"].fence, world.tables.locks["shop"].owner) == (1, ""))
    wait_until(lambda: all(thread.name != "glacierbase-heartbeat" for thread in threading.enumerate()))


@pytest.mark.parametrize(("of", "name"), [(Lock, "_hold"), (Lock, "acquire"), (HeldLocks, "add")])
def test_an_interrupt_right_after_the_lock_was_acquired_releases_it(
    world: World, monkeypatch: pytest.MonkeyPatch, of: type, name: str
) -> None:
    """The heartbeat has not started yet; the process continues, and would keep the next run waiting for two leases."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    unpatched = getattr(of, name)
    calls: list[str] = []

    def interrupted(*arguments: Any) -> None:
        unpatched(*arguments)
        calls.append(name)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(of, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    assert (world.tables.locks["shop"].fence, world.tables.locks["shop"].owner) == (1, "")
    world.migrate()


def test_a_release_that_is_interrupted_is_repeated(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C arrives while the thread that frees the lock is started, at the end of a successful run."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    started: list[Caller] = []

    def start() -> Caller:
        started.append(Caller())
        if len(started) == 1:
            raise KeyboardInterrupt
        return started[-1]

    monkeypatch.setattr("glacierbase.apply.lock.Caller", start)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    assert world.tables.locks["shop"].owner == ""
    started[0].end()


def test_a_store_that_does_not_open_leaves_no_thread() -> None:
    """A program that retries keeps its number of threads."""

    def refuse() -> MemoryStore:
        raise EngineUnavailable("SNOWFLAKE_UNAVAILABLE", "no session")

    before = set(threading.enumerate())
    for _ in range(10):
        with pytest.raises(EngineUnavailable):
            BoundedStore(refuse)
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_a_store_that_hangs_does_not_keep_a_run_that_is_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renewal without an answer delays neither the next append nor the release."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    hung, go_on = threading.Event(), threading.Event()

    def hang(verb: str) -> None:
        if verb == "compare_and_set" and "heartbeat" in threading.current_thread().name:
            hung.set()
            go_on.wait(60)

    world.store_before = hang
    world.break_at("CREATE", lambda sql: hung.wait(60))
    began = time.monotonic()
    world.migrate()
    assert time.monotonic() - began < 30
    go_on.set()
    assert world.tables.locks["shop"].owner == ""


def test_a_stopped_run_does_not_wait_for_a_store_that_hangs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One signal ends the run in bounded time, before it acquired the lock."""
    monkeypatch.setattr("glacierbase.stores.bounded.CANCELLED_SECONDS", 0.5)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    go_on, cancel = threading.Event(), threading.Event()
    world.store_before = lambda verb: (cancel.set(), go_on.wait(60)) if verb == "read_history" else None
    with pytest.raises(EngineUnavailable) as caught:
        world.migrate(cancelled=cancel.is_set)
    go_on.set()
    assert "did not answer before the run was stopped" in caught.value.message
