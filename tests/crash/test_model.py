"""Lock and history in every order in which two or three runs can interleave, with a pause anywhere.

A run is a sequence of steps. Between any two steps it may be paused for any time, or killed, and its lease may expire. From each
state of the world every possible next step is tried, until there is no new state. The history is read by the real `fold`,
`check_head` and `make_plan`. Each step counts something up, so every path ends.

Not modelled: lost answers of the store, refused statements, signals, restored tables, `repair`, and locks of dead processes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from glacierbase.apply.plan import make_plan
from glacierbase.errors import GlacierbaseError, LockLost
from glacierbase.history.details import Details, to_json
from glacierbase.history.records import check_head, fold
from glacierbase.model.migration import Event, Migration
from tests.support.project_folder import ProjectFolder
from tests.support.world import World as RealWorld

# By (version, index): two files, so that runs meet between statements and between files. The model counts them from 0.
STATEMENTS = (("1", 1), ("1", 2), ("2", 1))
TOTALS = {"1": 2, "2": 1}
MIGRATIONS = [Migration(version, "", "", "", Path(), f"{version}_a.sql", "", "") for version in TOTALS]
STATES = {"started": "running", "statement_done": "running", "applied": "applied", "interrupted": "interrupted"}
ENDS = {"done", "refused", "lost", "killed"}


class Rules(NamedTuple):
    """The protocol. Tests remove parts of it.

    Attributes:
        opening, each: the steps before the first statement, and those of every statement.
        proves_by_lease: the proof is that the lease is not over by the run's own clock; else a read of the row.
        waits: no run takes a lock before its lease is over, also by the clock of its holder.
        compares_beat: the compare-and-set fails when the holder has renewed its lease meanwhile.
        records_all: a run that cannot renew its lease records all that it has not recorded yet, and then `interrupted`.
    """

    opening: tuple[str, ...] = ("read", "watch", "take", "read again")
    each: tuple[str, ...] = ("announce", "prove", "run")
    proves_by_lease: bool = False
    waits: bool = True
    compares_beat: bool = True
    records_all: bool = True
    renewals: int = 1
    kills: bool = True


class Note(NamedTuple):
    """The values in which two events differ."""

    fence: int
    sequence: int
    event: str
    statement: int | None = None
    read_fence: int | None = None


class Row(NamedTuple):
    """The lock's row; the fence identifies the owner. `over` is no column: it means that the lease is over for every clock."""

    held: bool = False
    fence: int = 0
    beat: int = 0
    head: tuple[int, int] = (0, 0)
    over: bool = False


FREE = Row()


class Run(NamedTuple):
    """One run: its next step and its memory. `fresh`: the lease is not over by its own clock."""

    at: str = "read"
    seen: Row = FREE
    fence: int = 0
    took_over: bool = False
    fresh: bool = False
    statement: int = 0
    sequence: int = 0
    read_fence: int = 0
    end: str = "done"


class World(NamedTuple):
    """The lock, the history, the statements that took effect, and the runs."""

    row: Row
    notes: tuple[Note, ...]
    effects: tuple[int, ...]
    runs: tuple[Run, ...]


@cache
def event(note: Note) -> Event:
    """Return the real event."""
    version, index = (None, None) if note.statement is None else STATEMENTS[note.statement]
    if note.event == "interrupted" and index:
        index -= 1  # So many are done.
    return Event(
        note.fence, note.sequence, f"run {note.fence}", "shop", "dev", note.event, STATES.get(note.event), version,
        statement_index=index, statement_total=TOTALS.get(version or ""), checksum="",
        details=to_json(Details(read_fence=note.read_fence)),
    )  # fmt: skip


@cache
def read(notes: tuple[Note, ...], head: tuple[int, int], living_fence: int | None) -> tuple[int | str, int, int]:
    """Return the number of done statements, or the code of the error that stops the run; then the last fence and sequence."""
    try:
        history = fold(map(event, notes), living_fence)
        check_head(history, "shop", head)
        pending = make_plan(MIGRATIONS, history).pending
    except GlacierbaseError as error:
        return error.code, 0, 0
    first = (pending[0].migration.version, pending[0].resumes_at) if pending else None
    return STATEMENTS.index(first) if first else len(STATEMENTS), history.fence, history.sequence


def announcement(run: Run, begins: bool) -> Iterator[tuple[str, int | None]]:
    """Return what is appended at once before the next statement, and after the last one."""
    if begins and run.took_over:
        yield "taken_over", None
    if not begins:
        version, index = STATEMENTS[run.statement - 1]
        yield "applied" if index == TOTALS[version] else "statement_done", run.statement - 1
    if run.statement < len(STATEMENTS) and (begins or STATEMENTS[run.statement][1] == 1):
        yield "started", run.statement


def steps(rules: Rules, world: World, number: int) -> Iterator[tuple[str, World]]:
    """Yield the possible next steps of a run: each with its name, and the world after it."""
    row, notes, effects, runs = world
    run = runs[number]
    is_mine = row.held and row.fence == run.fence
    begins = not any(note.fence == run.fence for note in notes)

    def then(at: str, *appended: tuple[str, int | None], row: Row = row, **changes: Any) -> World:
        new = tuple(Note(run.fence, run.sequence + place, *each) for place, each in enumerate(appended, start=1))
        if new and begins:
            new = (new[0]._replace(read_fence=run.read_fence), *new[1:])
        after = run._replace(at=at, sequence=run.sequence + len(new))._replace(**changes)
        after = Run(at) if at in ENDS else after
        return World(row, tuple(sorted(notes + new)), effects, (*runs[:number], after, *runs[number + 1 :]))

    def on(*appended: tuple[str, int | None], **changes: Any) -> World:
        order = (*rules.opening, *rules.each)
        if run.at != order[-1]:
            return then(order[order.index(run.at) + 1], *appended, **changes)
        following = run.statement + 1
        return then(rules.each[0] if following < len(STATEMENTS) else "finish", *appended, statement=following)

    def rewritten(held: bool) -> Row:
        return Row(held, row.fence, row.beat + 1, row.head if begins else (run.fence, run.sequence))

    if run.at in ("read", "read again"):
        found, fence, sequence = read(notes, row.head, row.fence if row.held and not row.over else None)
        if isinstance(found, int) and found < len(STATEMENTS):
            yield f"{run.at}: {found} done", on(statement=found, sequence=sequence, read_fence=fence)
        else:
            end = "refused" if isinstance(found, str) else "done"
            yield f"{run.at}: {found}", then("release", end=end) if run.fence else then(end)
    elif run.at == "watch" and (not row.held or row.over or not rules.waits):
        yield "watch: the lock may be taken", on(seen=row)
    elif run.at == "take":
        claim = slice(3 if rules.compares_beat else 2)
        if row[claim] == run.seen[claim]:
            mine = Row(True, row.fence + 1, head=row.head)
            yield "take: won", on(row=mine, fence=mine.fence, took_over=row.held, fresh=True, seen=FREE)
        else:
            yield "take: it has changed", then("watch", seen=FREE)
    elif run.at == "wait":  # For a lease: by its own clock, no other run has one then.
        others = (each._replace(fresh=each.fresh and each.fence == run.fence) for each in on().runs)
        yield "wait: for a lease", on()._replace(runs=tuple(others))
    elif run.at == "announce":
        batch = tuple(announcement(run, begins))
        yield f"announce {run.statement}", on(*batch)
        if not is_mine:  # By its own clock the lease is over, and it could not renew it.
            unrecorded = batch if rules.records_all else ()
            yield "announce: the lock is lost", then("release", *unrecorded, ("interrupted", run.statement), end="lost")
    elif run.at == "prove":
        proven = run.fresh if rules.proves_by_lease else is_mine
        yield ("prove: proven", on()) if proven else ("prove: the lock is lost", then("interrupt"))
    elif run.at == "interrupt":
        yield "interrupt", then("release", ("interrupted", run.statement), end="lost")
    elif run.at == "run":
        yield f"run {run.statement}", on()._replace(effects=(*effects, run.statement))
    elif run.at == "finish":
        yield "finish", then("release", *announcement(run, begins))
    elif run.at == "release":
        yield "release", then(run.end, row=rewritten(held=False) if is_mine else row)
    if is_mine and run.at != "release" and row.beat < rules.renewals:
        yield "renew the lease", then(run.at, row=rewritten(held=True), fresh=True)
    if run.fence and rules.kills:
        yield "die", then("killed")


def successors(rules: Rules, world: World) -> Iterator[tuple[str, World]]:
    """Yield all possible next steps."""
    for number in range(len(world.runs)):
        yield from ((f"{'ABC'[number]} {name}", after) for name, after in steps(rules, world, number))
    if world.row.held and not world.row.over:
        runs = (run._replace(fresh=run.fresh and run.fence != world.row.fence) for run in world.runs)
        yield "the lease is over", world._replace(row=world.row._replace(over=True), runs=tuple(runs))


def double_run(world: World, is_end: bool) -> str | None:
    return f"DOUBLE RUN: {world.effects}" if len(set(world.effects)) < len(world.effects) else None


def violation(world: World, is_end: bool) -> str | None:
    """Return what is wrong with a state, or None. `is_end`: no step can follow."""
    found, *_ = read(world.notes, world.row.head, world.row.fence + 1)
    ends = {run.at for run in world.runs}
    if world.effects != tuple(range(len(world.effects))):
        return f"not once and in order: {world.effects}"
    if found not in (len(world.effects), "OUTCOME_UNKNOWN"):
        return f"{len(world.effects)} took effect, but a run that takes the lock now reads: {found}"
    if is_end and not ends <= ENDS:
        return f"no run can continue: {ends}"
    if is_end and "killed" not in ends and found == "OUTCOME_UNKNOWN":
        return "the outcome is unknown, but no run was killed"
    if is_end and ends == {"done"} and found != len(STATEMENTS):
        return f"all runs are done, but not all statements: {found}"
    return None


class Found(NamedTuple):
    """The states without a next step, and the way to the first violation, if there is one."""

    states: int
    ends: list[World]
    trace: list[str]


@cache
def explore(rules: Rules, wrong: Callable[..., str | None] = violation, runs: int = 2, row: Row = FREE) -> Found:
    """Explore all states, breadth first: the trace of the first violation is a shortest one."""

    def key(world: World) -> World:
        return world._replace(runs=tuple(sorted(world.runs)))  # All runs are alike.

    start = World(row, (), (), (Run(),) * runs)
    came: dict[World, tuple[World, str] | None] = {key(start): None}
    waiting, ends = deque([start]), []
    while waiting:
        world = waiting.popleft()
        here = key(world)
        following = list(successors(rules, world))
        if not following:
            ends.append(world)
        if problem := wrong(world, not following):
            trace = [problem]
            while step := came[here]:
                here, name = step
                trace.insert(0, name)
            return Found(len(came), ends, trace)
        for name, after in following:
            if (there := key(after)) not in came:
                came[there] = (here, name)
                waiting.append(after)
    return Found(len(came), ends, [])


FORCE = Rules(proves_by_lease=True, waits=False)  # As `unlock --force` does, and then runs.
SAFE = {
    "proof by a read": Rules(),
    "proof by a read, lock taken by force": Rules(waits=False),
    "proof by lease": Rules(proves_by_lease=True),
    "proof by lease, lock taken by force": FORCE._replace(opening=("read", "watch", "take", "wait", "read again")),
}


@pytest.mark.parametrize("rules", SAFE.values(), ids=SAFE)
def test_wherever_two_runs_are_paused_each_statement_runs_once_or_is_unknown(rules: Rules) -> None:
    """No history looks damaged, and an outcome is unknown only because a run was killed."""
    found = explore(rules)
    assert not found.trace, "\n".join(found.trace)
    # The exploration reached lost locks, late events, and an unknown outcome of each statement, run or not.
    assert {run.at for end in found.ends for run in end.runs} == ENDS
    assert any(fold(map(event, end.notes)).late for end in found.ends)
    unknown = [end for end in found.ends if read(end.notes, end.row.head, None)[0] == "OUTCOME_UNKNOWN"]
    assert {len(end.effects) for end in unknown} == set(range(len(STATEMENTS) + 1))


def test_three_runs_are_as_safe_as_two() -> None:
    """A run may have read what another had not, and append what a third had not read; the first lock holder is dead."""
    found = explore(Rules(renewals=0, kills=False), runs=3, row=Row(held=True, fence=1, over=True))
    assert not found.trace, "\n".join(found.trace)


BROKEN = {
    "no proof": Rules(each=("announce", "run")),
    "proof before the announcement": Rules(each=("prove", "announce", "run")),
    "announcement after the statement": Rules(each=("prove", "run", "announce")),
    "no second read": Rules(opening=("read", "watch", "take")),
}


@pytest.mark.parametrize("by_lease", [False, True], ids=["proof by a read", "proof by lease"])
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_without_one_of_the_rules_a_statement_runs_twice(broken: Rules, by_lease: bool) -> None:
    """The model reaches a violation without any one of its rules, which shows that the tests above can fail."""
    assert "DOUBLE RUN: (0, 0)" in explore(broken._replace(proves_by_lease=by_lease), double_run).trace


BROKEN_LEASE = {
    "not waited for": FORCE,
    "waited for after the read": FORCE._replace(opening=("read", "watch", "take", "read again", "wait")),
    "renewed meanwhile": Rules(proves_by_lease=True, compares_beat=False),
}


@pytest.mark.parametrize("broken", BROKEN_LEASE.values(), ids=BROKEN_LEASE)
def test_a_lease_proves_nothing_where_a_taker_disregards_it(broken: Rules) -> None:
    """After a take-over by force, the run must wait for a lease before it reads: the holder may start a statement until then."""
    assert "DOUBLE RUN: (0, 0)" in explore(broken, double_run).trace


def test_a_run_that_lost_the_lock_must_record_what_it_did() -> None:
    """`interrupted` alone means that nothing is in flight, and hides that the last statement took effect."""
    assert explore(Rules(records_all=False)).trace


@pytest.mark.parametrize("during", [0, 1])
@pytest.mark.parametrize("loss", ["none", "taken", "lease over"])
def test_the_real_run_writes_what_the_model_writes(
    loss: str, during: int, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cases: alone, and with the lock taken during a statement, whether or not the lease is over by the run's clock."""

    def lose(sql: str) -> None:
        if loss != "none":
            real.tables.locks["shop"] = replace(real.tables.locks["shop"], owner="thief", fence=2)
        if loss == "lease over":
            monkeypatch.setattr("glacierbase.run.clock.seconds", lambda: math.inf)

    real = RealWorld(project)
    real.file("1_a.sql", "CREATE TABLE t0 (a INT); CREATE TABLE t1 (a INT)")
    real.file("2_a.sql", "CREATE TABLE t2 (a INT)")
    real.break_at(f"t{during}", lose)
    with nullcontext() if loss == "none" else pytest.raises(LockLost):
        real.migrate()
    written = [[event(note) for note in end.notes if note.fence == 1] for end in explore(Rules()).ends]
    assert essence(real.events) in map(essence, written)


def essence(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    return [(e.fence, e.sequence, e.event, e.state, e.version, e.statement_index, e.statement_total) for e in events]
