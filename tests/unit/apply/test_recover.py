"""A statement of a dead run is settled where its table proves the outcome, and nowhere else."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.apply.plan import ApprovedPlan, Selection
from glacierbase.apply.progress import Progress
from glacierbase.apply.repair import repair_cases
from glacierbase.apply.results import PlanResult
from glacierbase.errors import GlacierbaseError, Interrupted, LockLost, NeedsRepair, OutcomeUnknown
from glacierbase.executors.spark import ENGINE
from glacierbase.history.details import details_of
from glacierbase.history.records import fold
from glacierbase.model.shape import TableVersion
from glacierbase.run.processes import engine_process, this_process
from glacierbase.run.run import statement_tag
from tests.support.clock import Clock
from tests.support.fakes import lost_answer
from tests.support.lakes import printed_commands
from tests.support.processes import ended_process
from tests.support.project_folder import ProjectFolder
from tests.support.world import World
from tests.unit.apply.test_verdict import BEFORE, TABLE

LEASE = 60.0  # The default.


@pytest.fixture
def dead() -> dict[str, Any]:
    """The values that identify the process of an engine that has ended."""
    return ended_process()


@pytest.fixture
def world(project: ProjectFolder, dead: dict[str, Any]) -> World:
    """A table in the fake engine, whose process has ended and whose statements are proven by the table's version."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.engine.process = dead
    world.engine.proving = TABLE
    world.tables.versions[TABLE] = BEFORE
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    return world


def lose(world: World) -> None:
    """Run until the answer to a statement is lost; the table does not have its row."""
    world.break_at("VALUES (2)", lost_answer)
    with pytest.raises(NeedsRepair):
        world.migrate()


def commit(world: World, tag: str | None = None) -> None:
    """Commit to the table what the lost statement would have."""
    before = world.tables.versions[TABLE]
    own = tag or statement_tag(world.events[-1].run_id, "2", 2)
    world.tables.versions[TABLE] = replace(
        before, metadata=f"{before.metadata}+", previous=before.metadata, sequence=before.sequence + 1, tag=own
    )
    world.engine.open_session().execute("INSERT INTO t VALUES (2)")


def test_a_statement_without_any_commit_runs_again(world: World, clock: Clock) -> None:
    """The outcome is an event with its evidence; the result and the log say what was found."""
    lose(world)
    lost_in = world.events[-1].run_id
    done = world.migrate()
    assert world.values() == [1, 2]
    assert [kind for kind, _ in world.kinds][-3:] == ["repaired", "started", "applied"]
    event = world.events[-3]
    assert (event.state, event.statement_index, event.principal) == ("interrupted", 1, "glacierbase")
    assert details_of(event).resolution == "not-done"
    assert event.reason == "lake.a.t has had no commit since (00003-c.metadata.json), so it had no effect"
    assert done.warnings == (
        f"statement 2 of 2 of version 2 was lost in run {lost_in}: {event.reason}; recorded as not-done",
    )
    assert [file.resumed_at for file in done.applied] == [2]


def test_a_statement_whose_own_commit_is_the_only_one_is_done(world: World, clock: Clock) -> None:
    """The statement is not run again, and nothing waits: a commit that is there cannot vanish."""
    lose(world)
    commit(world)
    done = world.migrate()
    assert world.values() == [1, 2]
    assert [kind for kind, _ in world.kinds][-2:] == ["unknown", "repaired"]
    assert (world.events[-1].state, details_of(world.events[-1]).resolution) == ("applied", "done")
    assert (done.applied, done.not_run) == ([], ())
    assert clock.now == 0


@pytest.mark.parametrize(("bound", "grace"), [(5.0, LEASE), (90.0, 90.0)])
def test_a_commit_that_lands_late_is_waited_for(world: World, clock: Clock, bound: float, grace: float) -> None:
    """The second look is after the longer of the lease and the time-out of the catalog, and not before."""
    world.tables.commit_seconds = bound
    lose(world)
    clock.at = [(grace - 0.5, lambda: commit(world))]
    world.migrate()
    assert world.values() == [1, 2]
    assert details_of(world.events[-1]).resolution == "done"
    assert clock.now == pytest.approx(grace)


def needs_person(world: World) -> NeedsRepair:
    """Migrate, and check that nothing is run or recorded."""
    before = list(world.events)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.code == "OUTCOME_UNKNOWN"
    assert world.events == before
    assert not world.tables.locks["shop"].owner
    return caught.value


def test_what_the_table_does_not_prove_needs_a_person(world: World, clock: Clock) -> None:
    """The warning says what the table shows."""
    lose(world)
    commit(world, tag="another")
    before, progress = list(world.events), Progress()
    with pytest.raises(NeedsRepair):
        world.migrator().migrate(Selection(), progress)
    assert world.events == before
    assert "lake.a.t has had one commit since, which does not name this statement" in progress.warnings[-1]


def test_a_commit_of_another_writer_during_the_wait_needs_a_person(world: World, clock: Clock) -> None:
    """The first look alone would have found that the statement had no effect."""
    lose(world)
    clock.at = [(1.0, lambda: commit(world, tag="another"))]
    needs_person(world)


def test_an_engine_that_may_be_alive_needs_a_person(world: World, clock: Clock) -> None:
    """The engine is this process, which runs. Nothing waits for it."""
    world.engine.process = engine_process(os.getpid())
    lose(world)
    needs_person(world)
    assert clock.now == 0


def test_an_engine_on_another_machine_needs_a_person(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process id of another machine proves nothing here."""
    lose(world)
    monkeypatch.setattr("glacierbase.run.processes.socket.gethostname", lambda: "another")
    needs_person(world)


def test_read_only_commands_leave_it_to_migrate(world: World, clock: Clock) -> None:
    """Read-only commands write nothing, show the outcome as unknown, and name the command that reads the table."""
    lose(world)
    before = list(world.events)
    with pytest.raises(NeedsRepair) as caught:
        world.migrator().plan(Selection())
    assert world.events == before
    assert caught.value.hint.startswith("run `glacierbase migrate")
    world.events[-2] = replace(world.events[-2], details=None)
    with pytest.raises(NeedsRepair) as caught:
        world.migrator().plan(Selection())
    assert caught.value.hint.startswith("`glacierbase repair 2")


def test_with_recover_ask_no_version_is_read_and_a_person_decides(world: World, clock: Clock) -> None:
    """The key turns off both halves: the version before the statement, and the look at the table afterwards."""
    read: list[str] = []
    world.store_before = read.append
    world.variables += "recover: ask\n"
    lose(world)
    needs_person(world)
    assert "table_version" not in read
    world.variables = world.variables.replace("ask", "auto")
    needs_person(world)


def test_only_statements_that_a_version_can_prove_cost_a_read(world: World) -> None:
    """The run reads the table once before each of these statements, just before the event that announces it."""
    read: list[str] = []
    world.store_before = read.append
    world.migrate()
    calls = [verb for verb in read if verb in ("table_version", "append")]
    assert calls[:4] == ["table_version", "append", "table_version", "append"]
    assert calls.count("table_version") == 2
    assert [details_of(event).before for event in world.events[-3:-1]] == [
        replace(BEFORE, previous=None), replace(BEFORE, previous=None),
    ]  # fmt: skip
    world.engine.proving = None
    world.file("3_c.sql", "INSERT INTO t VALUES (3)")
    read.clear()
    world.migrate()
    assert "table_version" not in read


def test_an_engine_without_a_process_here_costs_no_read(world: World) -> None:
    """Such an engine is never shown to have ended, as on Spark Connect."""
    world.engine.process = {"application": "a server"}
    read: list[str] = []
    world.store_before = read.append
    world.migrate()
    assert "table_version" not in read


def test_a_version_that_cannot_be_read_does_not_stop_the_statement(world: World, clock: Clock) -> None:
    """The statement runs; should it be lost, a person decides."""

    def fail(verb: str) -> None:
        if verb == "table_version":
            raise OutcomeUnknown("Timeout", "no answer")

    world.store_before = fail
    lose(world)
    world.store_before = lambda verb: None
    needs_person(world)
    assert clock.now == 0


def test_a_table_that_cannot_be_read_afterwards_needs_a_person(world: World, clock: Clock) -> None:
    """The catalog may answer the history and not the table."""

    def fail(verb: str) -> None:
        if verb == "table_version":
            raise OutcomeUnknown("Timeout", "no answer")

    lose(world)
    world.store_before = fail
    needs_person(world)


def test_a_catalog_without_a_bound_needs_a_person(world: World, clock: Clock) -> None:
    """A commit that was sent before may take effect at any time."""
    lose(world)
    world.tables.commit_seconds = None
    needs_person(world)
    assert clock.now == 0


def test_a_run_that_is_stopped_while_it_waits_records_nothing(world: World, clock: Clock) -> None:
    """The run frees the lock, and the next run reads the table again."""
    lose(world)
    before, stop = list(world.events), [False]
    clock.at = [(7.0, lambda: stop.__setitem__(0, True))]
    with pytest.raises(Interrupted):
        world.migrate(cancelled=lambda: stop[0])
    assert world.events == before
    assert not world.tables.locks["shop"].owner
    assert clock.now < 8
    world.migrate()
    assert world.values() == [1, 2]


def test_a_run_that_loses_the_lock_while_it_waits_runs_nothing(world: World, clock: Clock) -> None:
    """Another run may have settled the statement meanwhile; what this one records counts nothing."""
    lose(world)

    def take() -> None:
        world.tables.locks["shop"] = replace(world.tables.locks["shop"], owner="another", fence=99)

    clock.at = [(7.0, take)]
    with pytest.raises(LockLost):
        world.migrate()
    assert world.values() == [1]
    assert fold(world.events).records[2].state == "unknown"


def test_a_statement_that_a_kill_left_open_is_settled_too(world: World, clock: Clock) -> None:
    """The history ends with the announcement: the run recorded nothing more."""
    lose(world)
    del world.events[-1]
    world.tables.locks["shop"] = replace(world.tables.locks["shop"], head_sequence=len(world.events))
    assert world.events[-1].event == "statement_done"
    world.migrate()
    assert world.values() == [1, 2]
    assert [kind for kind, _ in world.kinds][-3:] == ["repaired", "started", "applied"]


def test_a_run_that_dies_while_this_one_waits_for_its_lock_is_settled_too(
    world: World, clock: Clock, dead: dict[str, Any]
) -> None:
    """At first its statement is running; under the lock it is open."""
    lose(world)
    lost = world.events.pop()
    alive = this_process()
    killed = {**alive, "pid": dead["engine_pid"], "pid_started": dead["engine_pid_started"], **dead}
    row = replace(
        world.tables.locks["shop"], owner=lost.run_id, fence=lost.fence, head_sequence=len(world.events),
        expires_at=datetime.now(timezone.utc) + timedelta(seconds=60), holder=json.dumps(alive),
    )  # fmt: skip
    world.tables.locks["shop"] = row

    def die(verb: str) -> None:
        reads.append(verb)
        if reads.count("create") and world.tables.locks["shop"].owner == lost.run_id:
            world.tables.locks["shop"] = replace(row, holder=json.dumps(killed))

    reads: list[str] = []
    world.store_before = die
    world.migrate(lock_timeout=60)
    assert world.values() == [1, 2]
    assert [kind for kind, _ in world.kinds][-4:] == ["taken_over", "repaired", "started", "applied"]


def test_the_version_of_an_earlier_statement_is_not_taken_for_that_of_a_later_one(world: World, clock: Clock) -> None:
    """Statement 1 was proven by its table; statement 2 is not, and the table has not changed."""
    proving = iter([TABLE, None])
    world.engine.proving_table = lambda sql, file: next(proving)  # type: ignore[method-assign]
    lose(world)
    needs_person(world)


def test_an_older_glacierbase_reads_the_outcome_as_that_of_a_repair(world: World, clock: Clock) -> None:
    """The columns alone, without the keys of `details` that it does not know, lead to the same state."""
    lose(world)
    world.break_at("VALUES (2)", lost_answer)
    with pytest.raises(GlacierbaseError):
        world.migrate()
    upto = next(number for number, event in enumerate(world.events) if event.event == "repaired")
    record = fold([replace(event, details=None) for event in world.events[: upto + 1]]).records[2]
    assert (record.state, record.statements_done) == ("interrupted", 1)


def test_a_run_of_an_approved_plan_settles_nothing(world: World, clock: Clock) -> None:
    """What was approved is a plan of files; nothing else is recorded, and the error names what is open."""
    lose(world)
    before = len(world.events)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate(Selection(approved=ApprovedPlan(PlanResult("shop", "default"))))
    assert (caught.value.code, len(world.events), clock.now) == ("OUTCOME_UNKNOWN", before, 0.0)
    assert "migrate --yes" in caught.value.hint
    with pytest.raises(NeedsRepair) as caught:
        world.migrate(
            Selection(approved=ApprovedPlan(PlanResult("shop", "default"), "glacierbase plan --output plan.json"))
        )
    assert printed_commands(caught.value.hint) == ["glacierbase repair 2"]
    world.migrate()
    assert [event.event for event in world.events[before:]].count("repaired") == 1


@pytest.mark.parametrize("took_effect", [True, False])
def test_a_statement_of_a_repeatable_is_settled_as_well(took_effect: bool, world: World, clock: Clock) -> None:
    """The tag of the commit has the name of the repeatable; afterwards it resumes, and each row is there once."""
    (world.project.root / "migrations/shop/2_b.sql").rename(world.project.root / "migrations/shop/2_b.sql.later")
    world.file("repeatable/b.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    lose(world)
    if took_effect:
        commit(world, statement_tag(world.events[-1].run_id, "b", 2))
    done = world.migrate()
    assert world.values() == [1, 2]
    assert "statement 2 of 2 of repeatable b was lost" in done.warnings[0]
    settled = [event for event in world.state.history.events if event.event == "repaired"]
    assert [(event.name, event.principal) for event in settled] == [("b", "glacierbase")]
    assert [file.resumed_at for file in done.applied] == ([] if took_effect else [2])


def test_the_error_of_a_lost_statement_begins_with_the_run_that_reads_its_table(world: World) -> None:
    """The run that lost it and the next read-only command print the same; without a table that may prove it, `repair` alone."""
    world.break_at("VALUES (2)", lost_answer)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.hint.startswith("run `glacierbase migrate --yes` again: it reads the table, ")
    with pytest.raises(NeedsRepair) as planned:
        world.migrator().plan(Selection())
    assert caught.value.hint.startswith(planned.value.hint)


def test_without_a_table_that_proves_it_the_error_names_repair_alone(world: World) -> None:
    """The engine gives no table for the statement."""
    world.engine.proving = None
    world.break_at("VALUES (2)", lost_answer)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.hint.startswith("`glacierbase repair 2` shows ")


@pytest.mark.parametrize("took_effect", [True, False])
def test_repair_shows_the_evidence_by_which_migrate_settles_a_statement(took_effect: bool, world: World) -> None:
    """The first line of the evidence is about the table, and suggests the decision. Nothing is recorded."""
    lose(world)
    if took_effect:
        commit(world)
    before = list(world.events)
    [case] = repair_cases(world.target(), [2])
    assert "so it took effect" in case.evidence[0] if took_effect else "so it had no effect" in case.evidence[0]
    assert case.suggests == ("done" if took_effect else "not-done")
    assert world.events == before


def test_a_table_without_commit_suggests_nothing_while_the_engine_may_run(world: World) -> None:
    """A commit may still follow."""
    world.engine.process = engine_process(os.getpid())
    lose(world)
    [case] = repair_cases(world.target(), [2])
    assert case.suggests is None
    assert case.evidence[0].endswith("so far; its engine may still be running")


def test_repair_says_that_the_table_cannot_be_read(world: World) -> None:
    """The evidence of the engine follows."""
    lose(world)
    world.store_before = lambda verb: refuse(verb)
    [case] = repair_cases(world.target(), [2])
    assert "could not be read: no answer" in case.evidence[0]


def refuse(verb: str) -> None:
    if verb == "table_version":
        raise OutcomeUnknown("NoAnswer", "no answer")


@pytest.fixture
def delta(world: World, monkeypatch: pytest.MonkeyPatch) -> list[TableVersion]:
    """The versions of a table whose log only the engine reads, oldest first."""
    del world.tables.versions[TABLE]
    versions = [TableVersion("s.t", "", "version 3 of 10:00", 3, "version 2 of 09:00", "other", by_engine=True)]
    monkeypatch.setattr(ENGINE, "table_version", lambda catalog, session, table: versions[-1], raising=False)
    return versions


def test_the_log_that_only_the_engine_reads_proves_a_statement_without_commit(
    world: World, clock: Clock, delta: list[TableVersion], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request to the storage may take effect for a while: the log is read again after that, if it is longer than a lease."""
    monkeypatch.setattr("glacierbase.apply.recover._FILE_SECONDS", LEASE + 30)
    world.tables.commit_seconds = None
    lose(world)
    done = world.migrate()
    assert world.values() == [1, 2]
    assert "s.t has had no commit since (version 3 of 10:00), so it had no effect" in done.warnings[0]
    assert clock.now == pytest.approx(LEASE + 30)


def test_the_log_that_only_the_engine_reads_proves_a_statement_by_its_tag(
    world: World, clock: Clock, delta: list[TableVersion]
) -> None:
    """The commit may be an ALTER TABLE: every commit of Delta has the tag."""
    lose(world)
    own = statement_tag(world.events[-1].run_id, "2", 2)
    delta.append(TableVersion("s.t", "", "version 4 of 10:01", 4, "version 3 of 10:00", own, by_engine=True))
    [case] = repair_cases(world.target(), [2])
    assert case.suggests == "done"
    world.migrate()
    assert world.values() == [1]
    assert details_of(world.events[-1]).resolution == "done"
    assert clock.now == 0


def test_a_commit_of_another_client_to_such_a_table_needs_a_person(
    world: World, clock: Clock, delta: list[TableVersion]
) -> None:
    """The metadata of the commit does not name the statement."""
    lose(world)
    delta.append(TableVersion("s.t", "", "version 4 of 10:01", 4, "version 3 of 10:00", "mine", by_engine=True))
    needs_person(world)
