"""`repair`, `baseline` and `unlock` that are interrupted say what is recorded."""

from __future__ import annotations

import _thread
import signal
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.apply.evidence import Decision
from glacierbase.apply.repair import accept_environment, repair
from glacierbase.apply.transitions import Resolution
from glacierbase.apply.unlock import unlock
from glacierbase.errors import NeedsRepair, Stopped
from tests.support.fakes import lost_answer
from tests.support.lakes import Lakes, printed_commands
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

Change = Callable[[], object]


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project whose engine and tables are in memory, with one file whose outcome is unknown."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.break_at("CREATE", lost_answer)
    with pytest.raises(NeedsRepair):
        world.migrate()
    return world


def repairing(world: World) -> tuple[Change, str]:
    decision = Decision(Resolution.DONE, "seen")
    return lambda: repair(world.target(), [1], decision), "recorded: version 1 as done"


def accepting(world: World) -> tuple[Change, str]:
    world.environment = "prod"
    return (
        lambda: accept_environment(world.target(), "default", "renamed"),
        "recorded: the history of environment default is that of prod from now on",
    )


def baselining(world: World) -> tuple[Change, str]:
    world.tables.histories.clear()
    world.tables.locks.clear()
    world.engine.open_session().execute("CREATE TABLE t (a INT)")
    return lambda: baseline(world.target(), 1, "old"), "recorded as applied: 1"


def is_free(world: World) -> bool:
    row = world.tables.locks.get("shop")
    return row is None or row.owner == ""


CHANGES = [repairing, accepting, baselining]


def interrupt(*_: object) -> None:
    """Send what Ctrl-C sends, and give the main thread time to receive it."""
    _thread.interrupt_main()
    time.sleep(0.1)


def interrupting(world: World, verb: str) -> None:
    """Interrupt the command at its first call of a verb of the store, once."""
    called: list[str] = []

    def before(name: str) -> None:
        if name == verb and not called:
            called.append(name)
            interrupt()

    world.store_before = before


@pytest.mark.parametrize("verb", ["append", "append answered"])
@pytest.mark.parametrize("arrange", CHANGES)
def test_interrupted_in_its_append_it_ends_after_it_and_says_so(
    arrange: Callable[[World], tuple[Change, str]], verb: str, world: World
) -> None:
    """The event is in the history, and the lock is free."""
    change, done = arrange(world)
    interrupting(world, verb)
    before = len(world.events)
    with pytest.raises(Stopped) as caught:
        change()
    world.store_before = lambda _: None
    assert caught.value.state == done
    assert "glacierbase status" in caught.value.hint
    assert len(world.events) == before + 1
    assert is_free(world)


@pytest.mark.parametrize("verb", ["read_lock", "read_history", "compare_and_set"])
@pytest.mark.parametrize("arrange", CHANGES)
def test_interrupted_before_its_append_it_says_that_nothing_is_recorded(
    arrange: Callable[[World], tuple[Change, str]], verb: str, world: World
) -> None:
    """The history is as before, and the lock is free."""
    change, _ = arrange(world)
    interrupting(world, verb)
    before = list(world.events)
    with pytest.raises(Stopped) as caught:
        change()
    world.store_before = lambda _: None
    assert caught.value.state == "nothing was recorded"
    assert world.events == before
    assert is_free(world)


def test_interrupted_while_its_engine_closes_it_says_what_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark takes seconds to stop."""
    change, done = repairing(world)
    monkeypatch.setattr(world.engine, "close", interrupt)
    with pytest.raises(Stopped) as caught:
        change()
    assert caught.value.state == done


def test_an_append_that_fails_while_it_is_interrupted_is_reported_as_such(world: World) -> None:
    """The error says what the history lacks."""
    world.variables = "store: {lockLease: 1s}\n"
    change, _ = repairing(world)

    def before(verb: str) -> None:
        if verb == "append":
            interrupt()
            lost_answer()

    world.store_before = before
    with pytest.raises(NeedsRepair) as caught:
        change()
    assert caught.value.code == "HISTORY_NOT_WRITTEN"
    assert "None" not in caught.value.message  # The event is about a version, not about a statement.


def test_an_interrupted_unlock_says_that_the_lock_is_free(world: World) -> None:
    """`unlock` ends after it has released the lock."""
    row = world.tables.locks["shop"]
    world.tables.locks["shop"] = replace(row, owner="other", beat=1, holder="{}")
    interrupting(world, "append")
    with pytest.raises(Stopped) as caught:
        unlock(world.target(), "gone", force=True)
    assert caught.value.state == "the lock is free"
    assert world.events[-1].event == "unlocked"
    assert world.tables.locks["shop"].owner == ""


def test_the_command_line_says_what_is_recorded(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is that of the signal; the next command is complete."""
    lakes = Lakes(project, monkeypatch)
    project.file("0001_a.sql", "CREATE TABLE t (a INT)")
    dev = lakes.place("dev")
    dev.engine.before = lambda sql: lost_answer() if "CREATE" in sql else None
    assert lakes.run("migrate --catalog shop").code == 6
    dev.engine.before = lambda _: None
    dev.store_before = lambda verb: signal.raise_signal(signal.SIGTERM) if verb == "append answered" else None
    output = lakes.run("repair 1 --as done --reason seen --yes --catalog shop --env dev")
    assert output.code == 143
    first, hint, _ = output.stderr.splitlines()
    assert first == "error: INTERRUPTED: repair was stopped by a signal; recorded: version 0001 as done"
    assert printed_commands(hint) == ["glacierbase status --catalog shop --env dev --project ../project"]
    assert dev.events()[-1].state == "applied"
