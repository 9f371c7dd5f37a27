"""A history with one column of one event damaged: every command says so, or answers; none ends in an internal error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.apply.repair import repair_cases
from glacierbase.apply.unlock import held_lock, unlock
from glacierbase.errors import GlacierbaseError, MigrationFailed, NeedsRepair, StatementRefused
from glacierbase.history.state import current_state
from glacierbase.inspect.doctor import examine
from glacierbase.inspect.status import statuses
from glacierbase.model.migration import Event, EventType
from glacierbase.record.timeline import timelines
from glacierbase.stores.tables import kind
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

# From them it follows which statements ran. Without them, no command answers.
DECISIVE = {"fence", "sequence", "run_id", "catalog", "environment", "event", "state", "version"}
WRONG: dict[str, tuple[Any, ...]] = {
    "int": (None, -1, 0, 10**6),
    "str": (None, "", "abc", "[", "{}", "\x00"),
    "datetime": (None,),
}
DAMAGES = [(field.name, value) for field in fields(Event) for value in WRONG[kind(field)]]


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """An applied file, one that failed at its second statement, and one that is pending."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.file("2_b.sql", "INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)")
    world.file("3_c.sql", "INSERT INTO t VALUES (4)")

    def refuse(sql: str) -> None:
        raise StatementRefused("No", "refused")

    world.break_at("VALUES (3)", refuse)
    with pytest.raises(MigrationFailed):
        world.migrate()
    return world


def commands(world: World) -> dict[str, Callable[[], Any]]:
    target = world.target()
    return {
        "plan": lambda: Migrator(target).plan(Selection()),
        "status": lambda: list(statuses(target, current_state(target).history)),
        "blame": lambda: timelines(current_state(target).history),
        "doctor": lambda: next(each.error for each in examine(target) if each.name == "history"),
        "unlock": lambda: (held_lock(target), unlock(target, None)),
        "repair": lambda: repair_cases(target, [2]),
        "migrate": lambda: Migrator(target).migrate(Selection(), Progress()),
    }


def error_of(run: Callable[[], Any]) -> GlacierbaseError | None:
    try:
        run()
    except GlacierbaseError as error:
        return error
    return None


@pytest.mark.parametrize(("column", "value"), DAMAGES, ids=lambda each: repr(each))
def test_no_command_ends_in_an_internal_error(column: str, value: Any, world: World) -> None:
    """The damage is in each event in turn; an error has a code, and says what to do."""
    events, named = list(world.events), commands(world)
    for number in range(len(events)):
        for name, run in named.items():
            world.tables.histories["shop"] = [
                *events[:number],
                replace(events[number], **{column: value}),
                *events[number + 1 :],
            ]
            error = error_of(run)
            assert error is None or (error.exit_code != 70 and error.hint), name


@pytest.mark.parametrize("column", sorted(DECISIVE))
def test_an_event_without_a_value_from_which_the_state_follows_is_named(column: str, world: World) -> None:
    """Each such event in turn; the error has fence, sequence and column."""
    events = list(world.events)
    for number, event in enumerate(events):
        world.tables.histories["shop"] = [*events[:number], replace(event, **{column: None}), *events[number + 1 :]]
        for name, run in commands(world).items():
            if name == "doctor":
                error = run()
            else:
                with pytest.raises(NeedsRepair) as caught:
                    run()
                error = caught.value
            assert (error.code, error.exit_code, error.data["column"]) == ("HISTORY_DAMAGED", 6, column), name
            assert f"`{column}`" in error.message
            assert "restore" in error.hint


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "bogus"),
        ("state", "pending"),
        ("event", "bogus"),
        ("version", "abc"),
        ("version", "-1"),
        ("version", ""),
    ],
)
def test_a_value_that_no_run_writes_is_named(column: str, value: str, world: World) -> None:
    """A value that no run writes would hide what ran, so nothing runs."""
    world.events[1] = replace(world.events[1], **{column: value})
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert (caught.value.code, caught.value.data["column"]) == ("HISTORY_DAMAGED", column)
    assert repr(value) in caught.value.message
    assert world.values() == [1, 2]


@pytest.mark.parametrize("index", [None, -1, 7])
def test_the_number_of_a_done_statement_is_needed_to_resume(index: int | None, world: World) -> None:
    """Without it the statement would run a second time."""
    [number] = [
        n for n, each in enumerate(world.events) if each.event == EventType.STATEMENT_DONE and each.version == "2"
    ]
    world.events[number] = replace(world.events[number], statement_index=index)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert (caught.value.code, caught.value.data["column"]) == ("HISTORY_DAMAGED", "statement_index")
    assert world.values() == [1, 2]
