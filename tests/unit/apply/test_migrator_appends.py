"""Appends to the history that fail, hang or lose their answer while `migrate` runs, on the fakes."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from glacierbase.apply.evidence import Decision
from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.apply.repair import repair
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import (
    EngineUnavailable,
    LockLost,
    NeedsRepair,
)
from glacierbase.model.migration import State
from glacierbase.stores.bounded import BoundedStore
from tests.support.clock import Clock
from tests.support.fakes import MemoryStore, lost_answer
from tests.support.world import World, held_row, once


def test_a_lost_answer_of_an_append_is_looked_up(world: World) -> None:
    """The append had arrived: it is not written twice, and the run continues."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.store_before = once("append answered", lost_answer)
    world.migrate()
    assert [event.sequence for event in world.events] == [1, 2, 3]


def test_an_append_that_did_not_arrive_is_repeated_while_the_lock_is_held(world: World) -> None:
    """The append had not arrived: it is written again."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.store_before = once("append", lost_answer)
    world.migrate()
    assert [event.sequence for event in world.events] == [1, 2]


def test_a_history_that_cannot_be_written_stops_the_run_before_the_statement(world: World, clock: Clock) -> None:
    """No statement runs that is not announced. The history is complete, so that there is nothing to repair."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.store_before = lambda verb: lost_answer() if verb == "append" else None
    with pytest.raises(
        EngineUnavailable, match=r"shop: history and lock in .* cannot be used: the connection was reset"
    ) as caught:
        world.migrate()
    assert (caught.value.code, caught.value.exit_code) == ("STORE_UNAVAILABLE", 5)
    assert world.state.lock.owner == ""
    assert world.events == []
    assert world.engine.rows("SELECT name FROM sqlite_master") == []
    world.store_before = lambda verb: None
    world.migrate()
    assert [event.sequence for event in world.events] == [1, 2]


def test_an_announcement_that_the_history_may_hold_has_to_be_looked_up(world: World, clock: Clock) -> None:
    """The history cannot be read after it refused the event."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    refused: list[str] = []

    def outage(verb: str) -> None:
        if verb == "append":
            refused.append(verb)
        if refused:
            lost_answer()

    world.store_before = outage
    with pytest.raises(NeedsRepair, match="it may lack the event 'started'") as caught:
        world.migrate()
    assert caught.value.code == "HISTORY_NOT_WRITTEN"
    assert caught.value.hint.endswith("`glacierbase migrate`")
    assert world.engine.rows("SELECT name FROM sqlite_master") == []


@pytest.mark.parametrize("answered", ["append", "append answered"])
def test_an_outage_shorter_than_a_lease_loses_nothing(world: World, clock: Clock, answered: str) -> None:
    """Each event is recorded once, and each statement ran once."""
    world.variables = "store: {lockLease: 60s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    until: list[float] = []

    def outage(verb: str) -> None:
        if verb == answered and len(world.events) >= 2 and not until:
            until.append(clock.now + 1)
        if until and clock.now < until[0]:
            lost_answer()

    world.store_before = outage
    world.migrate()
    assert until
    assert world.values() == [1, 2]
    assert sorted({event.sequence for event in world.events}) == [1, 2, 3, 4] or len(world.events) == 4
    state = world.state
    assert [record.state for record in state.history.records.values()] == [State.APPLIED]


def test_giving_up_a_run_prints_the_command_that_records_what_ran(world: World, clock: Clock) -> None:
    """The command, as printed, completes the history: the statement is not run again."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    world.store_before = lambda verb: lost_answer() if verb == "append" and len(world.events) >= 2 else None
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert (caught.value.code, caught.value.data["statement_index"]) == ("HISTORY_NOT_WRITTEN", 2)
    world.store_before = lambda verb: None
    command = shlex.split(caught.value.hint.partition("`")[2].rpartition("`")[0])
    assert command[:5] == ["glacierbase", "repair", "1", "--as", "done"]
    assert command[-2] == "--reason"
    decision = Decision(Resolution(command[4]), command[6])
    repair(world.target(), [int(command[2])], decision)
    world.migrate()
    assert world.values() == [1, 2]


def test_an_outage_in_which_no_connection_opens_loses_nothing(world: World, clock: Clock) -> None:
    """A refused login after a lost answer is part of the outage, and the append is retried."""
    world.variables = "store: {lockLease: 60s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    until: list[float] = []

    def is_out() -> bool:
        return bool(until) and clock.now < until[0]

    def outage(verb: str) -> None:
        if verb == "append" and world.events and not until:
            until.append(clock.now + 1)
        if is_out():
            lost_answer()

    def log_in() -> MemoryStore:
        if is_out():
            raise EngineUnavailable("SNOWFLAKE_UNAVAILABLE", "no session")
        return MemoryStore(world.tables, "shop", outage)

    target = replace(world.target(), open_store=lambda _, engine: BoundedStore(log_in, engine.cancelled))
    Migrator(target).migrate(Selection(), Progress())
    assert until
    assert world.values() == [1]
    assert [event.sequence for event in world.events] == [1, 2, 3]


def test_the_error_about_an_unreadable_history_does_not_claim_a_missing_event(world: World, clock: Clock) -> None:
    """The append took effect and its answer was lost: the `repair` would settle the next statement, which never ran."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    broken: list[str] = []

    def outage(verb: str) -> None:
        if verb == "append answered" and len(world.events) >= 2:
            broken.append(verb)
        if broken:
            lost_answer()

    world.store_before = outage
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert ("statement_done", "1") in world.kinds
    assert "it may lack the event 'statement_done'" in caught.value.message
    assert "run `glacierbase show 1`: only if it does not show" in caught.value.hint


@pytest.mark.parametrize(("sql", "outcome"), [("SELECT 1", "applied"), ("INSERT INTO missing VALUES (1)", "failed")])
def test_a_run_that_loses_its_lock_in_an_append_records_the_outcome(world: World, sql: str, outcome: str) -> None:
    """Only this run has the outcome of the last statement; without the record, a person has to find it out."""
    world.file("1_a.sql", f"CREATE TABLE t (a INT); {sql}")

    def steal() -> None:
        world.tables.locks["shop"] = replace(held_row("thief"), fence=2)
        lost_answer()

    stolen = once("append", steal)
    world.store_before = lambda verb: stolen(verb) if len(world.events) == 2 else None
    with pytest.raises(LockLost):
        world.migrate()
    assert world.kinds == [("started", "1"), ("statement_done", "1"), (outcome, "1")]


def test_a_run_without_its_lock_appends_once_more(world: World, clock: Clock) -> None:
    """Only a lock holder repeats an append until the lease is over: another run may have the lock."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    appends: list[str] = []

    def steal(verb: str) -> None:
        if verb == "append":
            appends.append(verb)
            world.tables.locks["shop"] = replace(held_row("thief"), fence=2)
            lost_answer()

    world.store_before = steal
    with pytest.raises(LockLost):
        world.migrate()
    assert len(appends) == 2
    assert world.events == []
