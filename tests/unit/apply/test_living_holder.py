"""A run whose process is proven to run on this machine is alive, however late the clock of a command is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.apply.unlock import held_lock, unlock
from glacierbase.errors import GlacierbaseError, LockHeld, NeedsRepair
from glacierbase.model.migration import State
from glacierbase.run.processes import is_running, this_process
from tests.support.clock import Clock
from tests.support.world import World, held_row

LATE = (1, 59, 61, 3_600, 86_400 * 400)


@pytest.fixture
def world(project: Any, clock: Clock) -> World:
    """A run that is inside its only statement holds the lock."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    del world.events[1:]
    return world


def hold(world: World, seconds_ago: int, **changes: Any) -> None:
    """Let this process hold the lock, with a lease that ended so many seconds ago by the clock of this command."""
    holder = json.dumps({**this_process(), "os_user": "bob", **changes})
    expires = datetime.now(timezone.utc) - timedelta(seconds=seconds_ago)
    row = replace(held_row("other"), fence=1, head_sequence=1, expires_at=expires, holder=holder)
    world.tables.locks["shop"] = row


def refused(command: Callable[[], object]) -> GlacierbaseError:
    with pytest.raises(GlacierbaseError) as caught:
        command()
    return caught.value


@pytest.mark.parametrize("seconds_ago", LATE)
def test_a_living_run_keeps_its_lock_however_late_the_clock_is(world: World, clock: Clock, seconds_ago: int) -> None:
    """The statement is running, `migrate` and `unlock` exit with 4 at once, and nothing is changed."""
    hold(world, seconds_ago)
    before = (list(world.events), world.tables.locks["shop"])
    assert [record.state for record in world.state.history.records.values()] == [State.RUNNING]
    assert world.state.warnings == ()
    for command in (world.migrate, lambda: unlock(world.target(), None)):
        error = refused(command)
        assert (type(error), error.exit_code) == (LockHeld, 4)
    held = held_lock(world.target())
    assert held
    assert (held.is_over, held.is_gone) == (False, False)
    assert "the run is alive; running on this machine" in held.evidence
    assert clock.now == 0
    assert before == (world.events, world.tables.locks["shop"])


NO_PROOF = [
    {"boot_id": "another"}, {"pid_namespace": "another"}, {"host": "another"}, {"pid_started": "1"}, {"pid_started": "***"},
    {"pid_started": None}, {"pid": None}, {"pid": "1"}, {"pid": 2**40},
]  # fmt: skip


@pytest.mark.parametrize("changes", NO_PROOF, ids=str)
def test_less_than_boot_process_and_start_proves_nothing(world: World, changes: dict[str, Any]) -> None:
    """A process with the same id may be another one: the clock decides, and the statement is unknown."""
    assert is_running(this_process())
    assert not is_running({**this_process(), **changes})
    hold(world, 86_400, **changes)
    assert [record.state for record in world.state.history.records.values()] == [State.UNKNOWN]
    assert isinstance(refused(world.migrate), NeedsRepair)


def test_a_living_process_that_does_not_renew_for_a_whole_lease_is_taken_over(world: World, clock: Clock) -> None:
    """A clock that nobody sets measures the watch: a stopped process does not block the lock for ever."""
    hold(world, 3_600)
    with pytest.raises(NeedsRepair):
        world.migrate(lock_timeout=200)
    assert clock.now > 60
