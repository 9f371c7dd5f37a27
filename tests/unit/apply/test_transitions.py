"""The table of `repair`: every state, every decision, file present or absent, two decisions deep."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from glacierbase.apply.evidence import Decision
from glacierbase.apply.plan import Selection
from glacierbase.apply.repair import repair
from glacierbase.apply.transitions import Resolution, choices, table
from glacierbase.cli import apply as commands
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.history.items import version_items
from glacierbase.model.migration import State
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

THREE = "CREATE TABLE b (a INT); INSERT INTO b VALUES (1); INSERT INTO b VALUES (2)"
NAME = "2_b.sql"


@dataclass(frozen=True)
class Start:
    """A history in which version 2 has one state, and the state after each decision that is possible; all others are refused."""

    build: Callable[[World], None]
    state: str
    after: dict[str, str]


def applied(world: World) -> None:
    world.file(NAME, THREE)
    world.migrate()


def failed(world: World) -> None:
    world.file(NAME, THREE.replace("INTO b VALUES (1)", "INTO nowhere VALUES (1)"))
    stopped(world)


def unknown(world: World, at: str = "VALUES (1)") -> None:
    world.file(NAME, THREE)
    world.break_at(at, lost_answer)
    stopped(world)


def unknown_at_last(world: World) -> None:
    unknown(world, "VALUES (2)")


def interrupted(world: World) -> None:
    unknown(world)
    decide(world, Resolution.NOT_DONE)


def abandoned(world: World) -> None:
    failed(world)
    decide(world, Resolution.ABANDONED)


def running(world: World) -> None:
    applied(world)
    row = world.tables.locks["shop"]
    expires = datetime.now(timezone.utc) + timedelta(hours=1)
    world.tables.locks["shop"] = replace(row, owner="another", expires_at=expires, head_sequence=0)
    while (world.events[-1].version, world.events[-1].state) != ("2", "running"):
        world.events.pop()


def out_of_order(world: World) -> None:
    world.migrate()
    world.file(NAME, THREE)


def pending(world: World) -> None:
    world.file(NAME, THREE)


def stopped(world: World) -> None:
    with pytest.raises(GlacierbaseError):
        world.migrate()


def edited(build: Callable[[World], None]) -> Callable[[World], None]:
    def edit(world: World) -> None:
        build(world)
        path = file_of(world)
        path.write_text(path.read_text() + "\n")

    return edit


def without_file(build: Callable[[World], None]) -> Callable[[World], None]:
    def delete(world: World) -> None:
        build(world)
        file_of(world).unlink()

    return delete


def without_newer_files(build: Callable[[World], None]) -> Callable[[World], None]:
    def delete(world: World) -> None:
        file_of(world, "3_c.sql").unlink()
        build(world)
        file_of(world).unlink()

    return delete


def removed(build: Callable[[World], None]) -> Callable[[World], None]:
    def remove(world: World) -> None:
        without_file(build)(world)
        decide(world, Resolution.REMOVED)

    return remove


def file_of(world: World, name: str = NAME) -> Path:
    return world.project.root / "migrations" / "shop" / name


def decide(world: World, resolution: Resolution) -> None:
    repair(world.target(), [2], Decision(resolution, "seen by alice", engine_stopped=True))


ENDS = {"abandoned": "abandoned"}
STARTS = {
    "pending": Start(pending, "pending", {}),
    "out of order": Start(out_of_order, "out_of_order", {}),
    "running": Start(running, "running", {}),
    "applied": Start(applied, "applied", {}),
    "failed": Start(failed, "failed", {**ENDS, "done": "interrupted"}),
    "interrupted": Start(interrupted, "interrupted", ENDS),
    "unknown": Start(unknown, "unknown", {**ENDS, "done": "interrupted", "not-done": "interrupted"}),
    "unknown at the last": Start(unknown_at_last, "unknown", {**ENDS, "done": "applied", "not-done": "interrupted"}),
    "abandoned": Start(abandoned, "abandoned", {}),
    "edited": Start(edited(applied), "changed", {"edited": "applied"}),
    "edited after its end": Start(edited(abandoned), "changed", {"edited": "abandoned"}),
    "running without file": Start(without_file(running), "running", {}),
    "applied without file": Start(without_file(applied), "missing", {"removed": "applied"}),
    "failed without file": Start(without_file(failed), "missing", {"removed": "abandoned"}),
    "interrupted without file": Start(without_file(interrupted), "missing", {"removed": "abandoned"}),
    "abandoned without file": Start(without_file(abandoned), "missing", {"removed": "abandoned"}),
    "unknown without file": Start(
        without_file(unknown), "unknown", {"done": "missing", "not-done": "missing", "abandoned": "missing"}
    ),
    "applied, newest, without file": Start(without_newer_files(applied), "ahead", {"removed": "applied"}),
    "failed, newest, without file": Start(without_newer_files(failed), "ahead", {"removed": "abandoned"}),
    "applied and removed": Start(removed(applied), "applied", {}),
    "failed and removed": Start(removed(failed), "abandoned", {}),
}
# How the next run ends, by the state of version 2; other states let it run.
REFUSED = {
    "unknown": "OUTCOME_UNKNOWN",
    "changed": "CHECKSUM_MISMATCH",
    "missing": "MIGRATION_MISSING",
    "out_of_order": "OUT_OF_ORDER",
}


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project whose engine and tables are in memory, with the versions 1 and 3."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE a (a INT)")
    world.file("3_c.sql", "CREATE TABLE c (a INT)")
    return world


def state_of(world: World) -> str:
    """Return the state of version 2, after a check that `pending` agrees with it."""
    history = world.state.history
    state = next(
        (str(item.state) for item in version_items(world.target().migrations, history) if item.version == "2"), "none"
    )
    if state in REFUSED:
        with pytest.raises(GlacierbaseError) as caught:
            world.migrator().plan(Selection())
        assert caught.value.code == REFUSED[state]
        return state
    planned = {each.migration.version: each for each in world.migrator().plan(Selection()).pending}
    is_open = state in ("pending", "failed", "interrupted", "running")
    assert ("2" in planned) == (is_open and file_of(world).exists())
    if "2" in planned and 2 in history.records:
        assert planned["2"].resumes_at == history.records[2].statements_done + 1
    return state


def tried(world: World, resolution: Resolution) -> str | None:
    """Return the state after the decision; None where it was refused, which records nothing."""
    before = list(world.events)
    error = None
    try:
        decide(world, resolution)
    except ConfigurationError as caught:
        error = caught
    if error:
        assert (error.code, error.message.endswith("; nothing was recorded")) == ("NOT_REPAIRABLE", True)
        assert world.events == before
        return None
    assert [event.event for event in world.events[len(before) :]] == ["repaired"]
    return state_of(world)


@pytest.mark.parametrize("name", STARTS)
def test_a_decision_has_the_outcome_of_the_table_or_is_refused(name: str, world: World) -> None:
    """Every decision is made on the same history, and every decision after each of them; nothing ends in a dead end."""
    start = STARTS[name]
    start.build(world)
    assert state_of(world) == start.state
    tables = world.tables
    first = list(world.events), dict(tables.locks)
    ways = [start.state]
    for resolution in Resolution:
        tables.histories["shop"], tables.locks = list(first[0]), dict(first[1])
        state = tried(world, resolution)
        assert state == start.after.get(resolution.value), resolution
        if state is None:
            continue
        ways.append(state)
        second = list(world.events), dict(tables.locks)
        for following in Resolution:
            tables.histories["shop"], tables.locks = list(second[0]), dict(second[1])
            found = tried(world, following)
            assert (found is not None) == (following in choices(State(state))), following
            ways += [found] if found else []
    assert any(way not in REFUSED or way == "out_of_order" for way in ways)


@pytest.mark.parametrize(
    ("name", "resolution", "runs"),
    [
        ("failed", Resolution.DONE, ["2", "3"]),
        ("failed", Resolution.ABANDONED, ["3"]),
        ("unknown", Resolution.NOT_DONE, ["2", "3"]),
        ("unknown at the last", Resolution.DONE, ["3"]),
        ("interrupted", Resolution.ABANDONED, ["3"]),
        ("edited", Resolution.EDITED, []),
        ("applied without file", Resolution.REMOVED, []),
        ("failed without file", Resolution.REMOVED, ["3"]),
        ("interrupted without file", Resolution.REMOVED, ["3"]),
        ("failed, newest, without file", Resolution.REMOVED, []),
    ],
)
def test_the_next_run_does_what_the_new_state_promises(
    name: str, resolution: Resolution, runs: list[str], world: World
) -> None:
    """After the decision `migrate` applies the rest, and the run after that finds nothing to do."""
    STARTS[name].build(world)
    decide(world, resolution)
    assert [file.version for file in world.migrate().applied] == runs
    done = world.migrate()
    assert (done.applied, done.warnings) == ([], ())


def test_a_removed_version_stays_removed_whatever_is_tried_later(world: World) -> None:
    """A version that failed and whose file is gone is ended by one decision, and no later one makes it missing again."""
    removed(failed)(world)
    assert tried(world, Resolution.ABANDONED) is None
    assert tried(world, Resolution.REMOVED) is None
    assert [file.version for file in world.migrate().applied] == ["3"]


def test_a_removal_of_an_earlier_version_of_glacierbase_survives_the_end_of_the_file(world: World) -> None:
    """Such a history holds `failed` as the state of the removed version; `--as abandoned` settles it for good."""
    without_file(failed)(world)
    decide(world, Resolution.REMOVED)
    world.events[-1] = replace(world.events[-1], state="failed")
    assert tried(world, Resolution.ABANDONED) == "abandoned"
    assert [file.version for file in world.migrate().applied] == ["3"]


def test_a_file_that_came_back_and_was_accepted_as_edited_is_missing_when_it_is_deleted_again(world: World) -> None:
    """The decision that a file is gone on purpose ends when the file is back."""
    removed(applied)(world)
    world.file(NAME, THREE + "; SELECT 1")
    decide(world, Resolution.EDITED)
    assert state_of(world) == "applied"
    file_of(world).unlink()
    assert state_of(world) == "missing"


def test_a_refusal_says_why(world: World) -> None:
    """The message names state, decision and reason."""
    failed(world)
    with pytest.raises(ConfigurationError) as caught:
        decide(world, Resolution.NOT_DONE)
    assert caught.value.message == (
        "version 2 is failed: --as not-done is not possible: the engine proved already that the statement had no effect;"
        " nothing was recorded"
    )
    assert caught.value.hint.split("`")[1::2] == [
        "glacierbase repair 2 --as done --reason '…'", "glacierbase repair 2 --as abandoned --reason '…'",
    ]  # fmt: skip


def test_the_help_of_repair_shows_the_table() -> None:
    """The help is text in the module of the command line, which does not import the table; both are the same."""
    rows = [("state", "--as", "state afterwards"), *table()]
    shown = (commands.repair.help or "").strip().splitlines()
    assert [tuple(re.split(r"  +", line.strip())) for line in shown[-len(rows) :]] == rows
