"""Recovery in every order: runs that are paused or killed anywhere, commits that take effect late, and another writer.

The lock is taken at any time, by force, as `test_model` proves safe. A statement is a commit that is sent, and takes effect at any
later moment. If its run was killed it may still take effect, or never will; a run that waits for the bound waits for either. The
history is read by the real `fold` and `make_plan`, and the outcome is found by the real `verdict`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from glacierbase.apply.plan import make_plan
from glacierbase.apply.verdict import verdict
from glacierbase.errors import NeedsRepair
from glacierbase.history.details import Details, to_json
from glacierbase.history.records import History, fold
from glacierbase.model.migration import Event, Migration
from glacierbase.model.shape import TableVersion
from glacierbase.run.run import statement_tag

TOTAL = 2  # Statements, in one file, all on one table.
MIGRATION = Migration("1", "", "", "", Path(), "1_a.sql", "", "")
STATES = {"started": "running", "statement_done": "running", "applied": "applied", "interrupted": "interrupted"}
OTHER = -1  # The statement of another writer.
ENDS = {"done", "refused", "lost", "killed"}


class Rules(NamedTuple):
    """The protocol. Tests remove parts of it."""

    recovers: bool = True
    waits: bool = True
    checks_engine: bool = True
    compares_tag: bool = True
    others: int = 1


class Commit(NamedTuple):
    """A commit to the table: which statement of which run made it."""

    statement: int
    fence: int


class Note(NamedTuple):
    """The values in which two events differ. `done`: statements; `before`: the number of commits when the version was read."""

    fence: int
    sequence: int
    event: str
    done: int
    before: int = 0
    read_fence: int | None = None


class Run(NamedTuple):
    """One run: its next step and its memory."""

    at: str = "take"
    fence: int = 0
    statement: int = 0
    sequence: int = 0
    read_fence: int = 0
    before: int = 0
    outcome: bool = False
    engine_of: int = 0  # The fence of the run whose statement is open.


class World(NamedTuple):
    """The lock's fence, the history, the commits to the table, those under way, the runs, and what another writer may do."""

    fence: int
    notes: tuple[Note, ...]
    commits: tuple[Commit, ...]
    flying: tuple[Commit, ...]
    runs: tuple[Run, ...]
    others: int


def tag_of(commit: Commit) -> str:
    return "another" if commit.statement == OTHER else statement_tag(f"run {commit.fence}", "1", commit.statement + 1)


def version(commits: tuple[Commit, ...], number: int | None = None) -> TableVersion:
    """Return the version of the table after some of its commits."""
    number = len(commits) if number is None else number
    previous, tag = (f"m{number - 1}", tag_of(commits[number - 1])) if number else (None, None)
    return TableVersion("lake.a.t", "uuid", f"m{number}", number, previous, tag)


@cache
def event(note: Note) -> Event:
    """Return the real event."""
    announces = note.event in ("started", "statement_done")
    index = note.done + 1 if note.event == "started" else note.done
    state = STATES.get(note.event) or ("applied" if note.done == TOTAL else "interrupted")
    before = TableVersion("lake.a.t", "uuid", f"m{note.before}", note.before) if announces else None
    return Event(
        note.fence, note.sequence, f"run {note.fence}", "shop", "dev", note.event, state, "1", statement_index=index,
        statement_total=TOTAL, checksum="", details=to_json(Details(before=before, read_fence=note.read_fence)),
    )  # fmt: skip


@cache
def read(notes: tuple[Note, ...]) -> tuple[int | None, History]:
    """Return how many statements are done, None where the next one's outcome is unknown, and the history."""
    history = fold(map(event, notes))
    try:
        pending = make_plan([MIGRATION], history).pending
    except NeedsRepair:
        return None, history
    return pending[0].resumes_at - 1 if pending else TOTAL, history


def steps(rules: Rules, world: World, number: int) -> Iterator[tuple[str, World]]:
    """Yield the possible next steps of a run: each with its name, and the world after it."""
    fence, notes, commits, flying, runs, _ = world
    run = runs[number]
    is_mine, has_begun = run.fence == fence, any(note.fence == run.fence for note in notes)

    def then(at: str, *appended: tuple[str, int], **changes: Any) -> World:
        new = tuple(
            Note(run.fence, run.sequence + place, *each, run.before, None if has_begun else run.read_fence)
            for place, each in enumerate(appended, start=1)
        )
        place = {name: changes.pop(name) for name in ("fence_", "flying") if name in changes}
        after = run._replace(at=at, sequence=run.sequence + len(new))._replace(**changes)
        after = Run(at, fence=run.fence) if at in ENDS else after
        return world._replace(
            fence=place.get("fence_", fence), notes=tuple(sorted(notes + new)), flying=place.get("flying", flying),
            runs=(*runs[:number], after, *runs[number + 1 :]),
        )  # fmt: skip

    if run.at == "take":
        yield "take the lock", then("read", fence=fence + 1, fence_=fence + 1)
    elif run.at == "read":
        done, history = read(notes)
        # A run goes on counting after what it has appended itself.
        seen = {} if has_begun else {"sequence": history.sequence, "read_fence": history.fence}
        if done == TOTAL:
            yield "read: all done", then("done")
        elif done is not None:
            yield f"read: {done} done", then("look before", statement=done, **seen)
        else:
            record = history.records[1]
            has_ended = any(each.fence == record.last.fence and each.at == "killed" for each in runs)
            if rules.recovers and (has_ended or not rules.checks_engine):
                yield "read: unknown", then("look", engine_of=record.last.fence, **seen)
            else:
                yield "read: unknown, and not to be settled", then("refused")
    elif run.at in ("look", "look again"):
        record = read(notes)[1].records[1]
        assert record.before
        tag = tag_of(Commit(record.statements_done, run.engine_of)) if rules.compares_tag else version(commits).tag
        took_effect, _ = verdict(record.before, version(commits), tag or "")
        if took_effect is None:
            yield f"{run.at}: nothing is proven", then("refused")
        elif took_effect or run.at == "look again":
            done = record.statements_done + took_effect
            yield f"{run.at}: {took_effect}", then("prove the lock", outcome=took_effect, statement=done)
        else:
            yield "look: no commit yet", then("wait" if rules.waits else "look again")
    elif run.at == "wait" and not any(each.fence == run.engine_of for each in flying):
        yield "wait: no commit can be under way", then("look again")
    elif run.at == "prove the lock":
        yield ("prove: proven", then("record")) if is_mine else ("prove: the lock is lost", then("lost"))
    elif run.at == "record":
        yield f"record: {run.outcome}", then("read", ("repaired", run.statement))
    elif run.at == "look before":
        yield "read the version", then("announce", before=len(commits))
    elif run.at == "announce":
        begins = not any(note.fence == run.fence and note.event == "started" for note in notes)
        yield f"announce {run.statement}", then("prove", ("started" if begins else "statement_done", run.statement))
    elif run.at == "prove":
        yield ("prove: proven", then("send")) if is_mine else ("prove: the lock is lost", then("interrupt"))
    elif run.at == "interrupt":
        yield "interrupt", then("lost", ("interrupted", run.statement))
    elif run.at == "send":
        yield f"send {run.statement}", then("sent", flying=(*flying, Commit(run.statement, run.fence)))
    elif run.at == "sent" and Commit(run.statement, run.fence) in commits:
        following = run.statement + 1
        if following < TOTAL:
            yield "the statement is done", then("look before", statement=following)
        else:
            yield "all statements are done", then("finish", statement=following)
    elif run.at == "finish":
        yield "finish", then("done", ("applied", TOTAL))
    if run.fence and run.at not in ENDS:
        yield "die", then("killed")


def successors(rules: Rules, world: World) -> Iterator[tuple[str, World]]:
    """Yield all possible next steps."""
    for number in range(len(world.runs)):
        yield from ((f"{'ABC'[number]} {name}", after) for name, after in steps(rules, world, number))
    dead = {run.fence for run in world.runs if run.at == "killed"}
    for commit in world.flying:
        rest = tuple(each for each in world.flying if each != commit)
        yield f"{commit} takes effect", world._replace(commits=(*world.commits, commit), flying=rest)
        if commit.fence in dead:
            yield f"{commit} is dropped", world._replace(flying=rest)
    if world.others:
        commits = (*world.commits, Commit(OTHER, 0))
        yield "another writer commits", world._replace(commits=commits, others=world.others - 1)


def violation(world: World) -> str | None:
    """Return what is wrong with a state, or None."""
    effects = [commit.statement for commit in world.commits if commit.statement != OTHER]
    if len(set(effects)) < len(effects):
        return f"DOUBLE RUN: {effects}"
    done, _ = read(world.notes)
    if done is not None and effects[:done] != list(range(done)):
        return f"WRONG VERDICT: {done} are done in the history, {effects} in the table"
    return None


class Found(NamedTuple):
    """The way to the first violation, if there is one; and the ends: the runs', and whether the outcome is open."""

    trace: list[str]
    ends: set[tuple[frozenset[str], bool]]


@cache
def explore(rules: Rules, runs: int = 2) -> Found:
    """Explore all states, breadth first: the trace of the first violation is a shortest one."""

    def key(world: World) -> World:
        return world._replace(runs=tuple(sorted(world.runs)), flying=tuple(sorted(world.flying)))

    start = World(0, (), (), (), (Run(),) * runs, rules.others)
    came: dict[World, tuple[World, str] | None] = {key(start): None}
    waiting, ends = deque([start]), set()
    while waiting:
        world = waiting.popleft()
        here = key(world)
        if problem := violation(world):
            trace = [problem]
            while step := came[here]:
                here, name = step
                trace.insert(0, name)
            return Found(trace, ends)
        following = list(successors(rules, world))
        if not following:
            ends.add((frozenset(run.at for run in world.runs), read(world.notes)[0] is None))
        for name, after in following:
            if (there := key(after)) not in came:
                came[there] = (here, name)
                waiting.append(after)
    return Found([], ends)


def test_wherever_a_run_is_killed_no_verdict_is_wrong() -> None:
    """A statement of a killed run is settled, and the next run ends with all statements done; or a person is asked."""
    found = explore(Rules())
    assert not found.trace, "\n".join(found.trace)
    assert (frozenset({"killed", "done"}), False) in found.ends
    assert (frozenset({"killed", "refused"}), True) in found.ends


def test_a_run_that_settles_may_be_killed_as_well() -> None:
    """Three runs, each of which may be killed while it settles what the one before left open."""
    found = explore(Rules(others=0), runs=3)
    assert not found.trace, "\n".join(found.trace)
    assert (frozenset({"killed", "done"}), False) in found.ends


def test_without_recovery_a_kill_inside_a_statement_needs_a_person() -> None:
    """The same kills end in an open outcome, and never in a wrong one."""
    found = explore(Rules(recovers=False))
    assert not found.trace, "\n".join(found.trace)
    assert (frozenset({"killed", "refused"}), True) in found.ends


BROKEN: dict[str, tuple[Rules, str]] = {
    "no wait for a late commit": (Rules(waits=False), "DOUBLE RUN"),
    "an engine that may be alive": (Rules(checks_engine=False), "DOUBLE RUN"),
    "any commit taken for its own": (Rules(compares_tag=False), "WRONG VERDICT"),
}


@pytest.mark.parametrize(("broken", "problem"), BROKEN.values(), ids=BROKEN)
def test_without_one_of_the_rules_a_verdict_is_wrong(broken: Rules, problem: str) -> None:
    """The model reaches a wrong verdict without any one of its rules, which shows that the test above can fail."""
    trace = explore(broken).trace
    assert trace
    assert trace[-1].startswith(problem), "\n".join(trace)
