"""The path of `migrate` on the fakes: what runs, what is recorded, and what stops it. `test_migrate_iceberg` uses a real engine."""

from __future__ import annotations

import _thread
import json
import shlex
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.heartbeat import Heartbeat
from glacierbase.apply.lock import Lock
from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.apply.repair import Decision, Resolution, repair
from glacierbase.apply.unlock import unlock
from glacierbase.errors import (
    ConfigurationError,
    EngineUnavailable,
    GlacierbaseError,
    HistoryDisagrees,
    Interrupted,
    LockHeld,
    LockLost,
    MigrationFailed,
    NeedsRepair,
    OutcomeUnknown,
)
from glacierbase.executors import Evidence
from glacierbase.history.lockrow import Terms, free_row, lease_of
from glacierbase.model.migration import Event, State
from glacierbase.run.held import HeldLocks
from glacierbase.run.waiting import Caller
from glacierbase.secrets import register
from glacierbase.stores.bounded import BoundedStore
from tests.support.fakes import MemoryStore, lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

FIVE = """\
CREATE TABLE t (a INT);
INSERT INTO t VALUES (1);
INSERT INTO {} VALUES (2);
INSERT INTO t VALUES (3);
INSERT INTO t VALUES (4);"""


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project whose engine and tables are in memory."""
    return World(project)


def test_pending_files_run_in_order_and_only_once(world: World) -> None:
    """Versions are ordered as numbers, not as text."""
    world.file("10_b.sql", "INSERT INTO t VALUES (2)")
    world.file("9_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    assert [file.version for file in world.migrate().applied] == ["9", "10"]
    assert world.values() == [1, 2]
    assert world.migrate().applied == []
    assert world.values() == [1, 2]


def test_once_in_a_hundred_events_the_tables_are_compacted_between_two_files(world: World) -> None:
    """Nothing is in flight then: a run that is killed during a compaction leaves no unknown outcome."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    for number in range(2, 82):
        world.file(f"{number}_row.sql", f"INSERT INTO t VALUES ({number}); INSERT INTO t VALUES ({number})")
    seen: list[str | None] = []
    world.store_before = lambda verb: seen.append(world.events[-1].state) if verb == "compact" else None
    world.migrate()
    assert [events // 100 for events in world.tables.compactions] == [1, 2]
    assert seen == ["applied", "applied"]
    world.file("82_row.sql", "INSERT INTO t VALUES (82)")
    world.migrate()
    assert len(world.tables.compactions) == 2
    assert len(world.values()) == 161


def test_a_compaction_that_fails_fails_no_run(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The failure is logged, and the run applies its files."""
    for number in range(1, 101):
        world.file(f"{number}_nothing.sql", "SELECT 1")
    world.store_before = lambda verb: lost_answer() if verb == "compact" else None
    assert len(world.migrate().applied) == 100
    assert "shop: history and lock were not compacted" in caplog.text
    assert world.tables.compactions == []
    assert world.tables.locks["shop"].owner == ""


def test_a_file_of_n_statements_costs_n_appends_and_the_last_one(world: World) -> None:
    """“Applied” of one file and “started” of the next are one append."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.file("2_b.sql", "INSERT INTO t VALUES (2)")
    world.migrate()
    assert world.tables.appends == 4
    assert world.kinds == [
        ("started", "1"), ("statement_done", "1"), ("applied", "1"), ("started", "2"), ("applied", "2"),
    ]  # fmt: skip


def test_every_event_names_author_file_and_run(world: World) -> None:
    """Each row of the history has author, description, path, run and user."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    started, applied = world.events
    assert (started.description, started.author, started.path) == (
        "A test's change",
        "Test Team",
        "migrations/shop/1_a.sql",
    )
    assert started.rendered_sql is not None
    assert "CREATE TABLE t" in started.rendered_sql
    assert started.tables == '["t"]'
    assert json.loads(started.details or "")["statement_checksums"] == [applied.statement_checksum]
    assert [event.sequence for event in world.events] == [1, 2]
    assert {(e.fence, e.run_id, e.os_user, e.environment) for e in world.events} == {
        (1, started.run_id, started.os_user, "default")
    }
    assert applied.duration_ms is not None
    assert applied.recorded_at is not None


def test_a_statement_is_announced_before_it_runs(world: World) -> None:
    """After a crash inside the statement, the history shows that it was started."""
    seen: list[list[tuple[str, str | None]]] = []
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.engine.before = lambda sql: seen.append(list(world.kinds))
    world.migrate()
    assert seen == [[("started", "1")], [("started", "1"), ("statement_done", "1")]]


def test_a_file_without_statements_is_applied(world: World) -> None:
    """A template may render to nothing in one environment."""
    world.file("1_a.sql", "{% if environment == 'prod' %}DROP TABLE t{% endif %}")
    world.file("2_b.sql", "CREATE TABLE t (a INT)")
    assert [file.statements for file in world.migrate().applied] == [0, 1]
    assert world.kinds[:2] == [("started", "1"), ("applied", "1")]
    assert world.migrate().applied == []


def test_a_refused_statement_stops_the_run_and_is_resumed_there(world: World) -> None:
    """Statement 3 of 5 fails: two take effect, the other three after the file is corrected, each exactly once."""
    file = world.file("1_a.sql", FIVE.format("nowhere"))
    world.file("2_b.sql", "INSERT INTO t VALUES (5)")
    with pytest.raises(MigrationFailed) as caught:
        world.migrate()
    assert caught.value.code == "STATEMENT_FAILED"
    assert "migrations/shop/1_a.sql, line 6: statement 3 of 5" in caught.value.message
    assert "nowhere" in caught.value.message
    assert caught.value.lines[-1] == "done and recorded: statements 1 to 2"
    assert world.values() == [1]
    assert world.tables.locks["shop"].owner == ""
    file.write_text(file.read_text().replace("nowhere", "t"))
    applied = world.migrate().applied
    assert [(each.version, each.resumed_at) for each in applied] == [("1", 3), ("2", 1)]
    assert world.values() == [1, 2, 3, 4, 5]


def test_messages_about_one_done_statement_are_singular(world: World) -> None:
    """They say `statement 1`, not `statements 1 to 1`."""
    file = world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO nowhere VALUES (1)")
    with pytest.raises(MigrationFailed) as failed:
        world.migrate()
    assert failed.value.lines[-1] == "done and recorded: statement 1"
    file.write_text(file.read_text().replace("INT", "BIGINT"))
    with pytest.raises(HistoryDisagrees) as changed:
        world.migrate()
    assert "done in this file: 1 statement;" in changed.value.message
    assert changed.value.hint.startswith("restore statement 1 (")


@pytest.mark.parametrize("old", ["(a INT)", "VALUES (1)"])
def test_a_done_statement_of_a_failed_file_must_stay(world: World, old: str) -> None:
    """A statement that took effect cannot be changed by an edit of the file."""
    file = world.file("1_a.sql", FIVE.format("nowhere"))
    with pytest.raises(MigrationFailed):
        world.migrate()
    file.write_text(file.read_text().replace("nowhere", "t").replace(old, old.upper().replace("1", "9") + " "))
    file.write_text(file.read_text().replace("(A INT) ", "(a BIGINT)"))
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrate()
    assert caught.value.code == "DONE_STATEMENT_CHANGED"
    assert world.values() == [1]


def test_a_lost_answer_is_unknown_and_nothing_runs_until_it_is_settled(world: World) -> None:
    """The outcome is not guessed, and the statement is not run again until `repair` settles it."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.break_at("INSERT", lost_answer)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.code == "OUTCOME_UNKNOWN"
    assert world.kinds[-1] == ("unknown", "1")
    for verb in (world.migrate, lambda: world.migrator().plan(Selection())):
        with pytest.raises(NeedsRepair) as caught:
            verb()
        assert "statement 2 of 2" in caught.value.message
    assert world.values() == []
    assert world.tables.locks["shop"].owner == ""


def lose_answer(sql: str) -> None:
    """Lose the answer after the engine gave the statement an id."""
    raise OutcomeUnknown("ConnectionReset", "the connection was reset", "query-7")


@pytest.mark.parametrize(
    ("evidence", "kinds", "code"),
    [
        (Evidence(("query-7: SUCCESS",), True, True, is_proof=True), ["started", "statement_done", "applied"], None),
        (Evidence(("query-7: FAILED",), False, True, is_proof=True), ["started", "failed"], "STATEMENT_FAILED"),
        (Evidence(("a snapshot",), True, True), ["started", "unknown"], "OUTCOME_UNKNOWN"),
        (Evidence(), ["started", "unknown"], "OUTCOME_UNKNOWN"),
    ],
)
def test_a_lost_answer_is_what_the_engines_own_record_proves(
    evidence: Evidence, kinds: list[str], code: str | None, world: World
) -> None:
    """The query's id is looked up before a person has to decide; a suggestion without proof settles nothing."""
    world.engine.rows("CREATE TABLE t (a INT)")
    world.file("1_a.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    world.break_at("VALUES (1)", lose_answer)
    world.engine.recorded = evidence
    caught = None
    try:
        world.migrate()
    except GlacierbaseError as error:
        caught = error.code
    assert caught == code
    assert [kind for kind, _ in world.kinds] == kinds
    assert world.values() == ([2] if code is None else [])


def test_a_run_that_died_inside_a_statement_is_unknown(world: World) -> None:
    """The last event of such a run announces the statement."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.migrate()
    del world.events[2:]
    world.tables.locks["shop"] = replace(world.tables.locks["shop"], head_sequence=2)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.data["statement_index"] == 2
    assert caught.value.exit_code == 6


def test_an_exception_of_the_caller_inside_a_statement_is_recorded_as_unknown(world: World) -> None:
    """A KeyboardInterrupt passes through after the outcome is recorded as unknown."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.break_at("CREATE", interrupt)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    assert world.kinds == [("started", "1"), ("unknown", "1")]
    assert world.tables.locks["shop"].owner == ""


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


def test_a_lock_that_is_held_stops_the_run_naming_its_holder(world: World) -> None:
    """The run fails at once by default, and after the given time with a timeout."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    row = held_row("stranger")
    world.tables.histories["shop"], world.tables.locks["shop"] = [], row
    with pytest.raises(LockHeld) as caught:
        world.migrate()
    assert "run stranger of bob on elsewhere (pid 7)" in caught.value.message
    assert caught.value.data["owner"] == "stranger"
    with pytest.raises(LockHeld):
        world.migrate(lock_timeout=1.2)
    assert world.events == []
    assert world.tables.locks["shop"] == row


def test_a_run_that_begins_between_two_reads_of_another_is_running_and_not_unknown(world: World) -> None:
    """The lock was read before that run began, and the history after it."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    begun, looked = threading.Event(), threading.Event()
    runner = threading.Thread(target=world.migrate)

    def run_meanwhile(verb: str) -> None:
        world.store_before = lambda verb: None
        runner.start()
        assert begun.wait(10)

    world.break_at("CREATE", lambda _: (begun.set(), looked.wait(10)))
    world.store_before = lambda verb: run_meanwhile(verb) if verb == "read_history" else None
    [record] = world.state.history.records.values()
    looked.set()
    runner.join()
    assert record.state is State.RUNNING
    assert world.kinds == [("started", "1"), ("applied", "1")]


def test_a_waiting_run_goes_on_when_the_lock_is_released(world: World) -> None:
    """The run reads the history after it acquires the lock."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.tables.histories["shop"], world.tables.locks["shop"] = [], held_row("stranger")

    def release() -> None:
        world.tables.locks["shop"] = replace(held_row("stranger"), owner="", beat=1)

    timer = threading.Timer(0.5, release)
    timer.start()
    assert len(world.migrate(lock_timeout=30).applied) == 1
    timer.join()
    assert world.events[0].fence == 6


@pytest.mark.parametrize(
    ("ended", "machine", "lease", "at_once"),
    [
        (61, "this", "60s", True),
        (61, "another", "1s", False),
        (700, "another", "60s", True),
    ],
)
def test_a_lease_that_ended_more_than_a_lease_ago_is_taken_over_and_recorded(
    world: World, ended: int, machine: str, lease: str, at_once: bool
) -> None:
    """With the same clock at once; otherwise after a lease without a renewal, or long after the lease expired."""
    world.variables = f"store: {{lockLease: {lease}}}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.tables.histories["shop"] = []
    world.tables.locks["shop"] = overdue_row(ended, machine)
    began = time.monotonic()
    world.migrate()
    assert world.kinds[0] == ("taken_over", None)
    assert json.loads(world.events[0].details or "")["owner"] == "dead"
    assert world.values() == []
    assert at_once or time.monotonic() - began >= 1


def overdue_row(seconds_ago: int, machine: str) -> Any:
    """Return the lock of a run whose lease expired so many seconds ago by this machine's clock."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip() if machine == "this" else "another"
    row = held_row("dead")
    holder = json.dumps({**json.loads(row.holder), "boot_id": boot})
    return replace(row, expires_at=datetime.now(timezone.utc) - timedelta(seconds=seconds_ago), holder=holder)


def test_a_living_run_whose_clock_is_leases_behind_keeps_its_lock(world: World) -> None:
    """It renews its lease while it is watched; a read-only command shows its statement as running, with a warning."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    del world.events[1:]
    world.tables.locks["shop"] = replace(overdue_row(150, "another"), fence=1, head_sequence=1)
    state = world.state
    assert [record.state for record in state.history.records.values()] == [State.RUNNING]
    assert any("by this machine's clock" in warning for warning in state.warnings)
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(0.2):
            row = world.tables.locks["shop"]
            world.tables.locks["shop"] = replace(row, beat=row.beat + 1)

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        with pytest.raises(LockHeld):
            world.migrate()
    finally:
        ended.set()
        renewing.join()


def test_a_holder_with_a_longer_lease_keeps_its_lock_as_long(world: World) -> None:
    """The row has the holder's lease: a run with a shorter lease waits for the longer one."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    row = held_row("slow")
    holder = json.dumps({**json.loads(row.holder), "lease_seconds": 3600})
    world.tables.histories["shop"], world.tables.locks["shop"] = [], replace(row, holder=holder)
    with pytest.raises(LockHeld):
        world.migrate(lock_timeout=2.5)
    assert world.tables.locks["shop"].owner == "slow"
    for nonsense in ("3600", True, -1, 10**12, None):
        world.tables.locks["shop"] = replace(row, holder=json.dumps({"host": "x", "lease_seconds": nonsense}))
        assert lease_of(world.tables.locks["shop"], 1.0) == 1.0


def test_the_lock_row_has_the_lease_of_its_holder(world: World) -> None:
    """A run with another lease waits for this one."""
    world.variables = "store: {lockLease: 90s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    seen: list[Any] = []
    world.break_at("CREATE", lambda sql: seen.append(json.loads(world.tables.locks["shop"].holder or "")))
    world.migrate()
    assert seen[0]["lease_seconds"] == 90


def test_a_row_without_a_renewal_for_a_lease_is_taken_over_whatever_its_expiry(world: World) -> None:
    """The row was seen unchanged for a lease, by the clock of the waiting run."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.tables.histories["shop"] = []
    world.tables.locks["shop"] = replace(held_row("dead"), expires_at=datetime.now(timezone.utc) + timedelta(hours=9))
    world.migrate(lock_timeout=10)
    assert world.kinds[0] == ("taken_over", None)


def test_a_run_that_lost_the_lock_runs_nothing_more(world: World) -> None:
    """The proof after the append fails; the run then appends only `interrupted`, under its old fence."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")

    def steal(*_: object) -> None:
        world.tables.locks["shop"] = replace(held_row("thief"), fence=2)

    world.break_at("CREATE", steal)
    with pytest.raises(LockLost) as caught:
        world.migrate()
    assert "thief" in caught.value.message
    assert world.values() == []
    assert world.kinds == [("started", "1"), ("statement_done", "1"), ("interrupted", "1")]
    assert world.tables.locks["shop"].owner == "thief"


def test_without_the_proof_a_stopped_holder_would_run_a_second_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This shows that the test above can fail."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")

    def steal(*_: object) -> None:
        world.tables.locks["shop"] = replace(held_row("thief"), fence=2)

    monkeypatch.setattr(Lock, "prove", lambda self: None)
    world.break_at("CREATE", steal)
    with pytest.raises(LockLost):  # Seen at the end alone.
        world.migrate()
    assert world.values() == [1]


def test_the_heartbeat_renews_the_lease_while_a_statement_runs(world: World) -> None:
    """It renews three times in a lease, and writes the last acknowledged event."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    seen: list[Any] = []

    def slow(*_: object) -> None:
        threading.Event().wait(1.6)
        seen.append(world.tables.locks["shop"])

    world.break_at("CREATE", slow)
    world.migrate()
    assert seen[0].beat >= 3
    assert (seen[0].head_fence, seen[0].head_sequence) == (1, 1)
    assert seen[0].expires_at > datetime.now(timezone.utc) - timedelta(seconds=1)
    free = world.tables.locks["shop"]
    assert (free.owner, free.head_sequence) == ("", 2)


def test_an_engine_that_gives_no_session_for_the_next_file_leaves_the_one_before_applied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example is a login that is refused in the middle of a run."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    open_session, opened = world.engine.open_session, []

    def once(**options: Any) -> Any:
        if opened:
            raise EngineUnavailable("SPARK_UNAVAILABLE", "no session")
        opened.append(options)
        return open_session(**options)

    monkeypatch.setattr(world.engine, "open_session", once)
    with pytest.raises(EngineUnavailable):
        world.migrate()
    assert world.kinds == [("started", "1"), ("applied", "1")]
    monkeypatch.undo()
    assert [file.version for file in world.migrate().applied] == ["2"]


def test_a_holder_whose_heartbeat_alone_is_stuck_is_taken_over_and_runs_nothing_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is silent for more than its lease while its statement runs; the next run finds an unknown outcome."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    found: list[str] = []

    def take_over(*_: object) -> None:
        with pytest.raises(NeedsRepair) as caught:
            world.migrate(lock_timeout=10)
        found.append(caught.value.code)

    monkeypatch.setattr(Heartbeat, "_beat", lambda heartbeat, _: heartbeat._stopped.wait())
    world.break_at("CREATE", take_over)
    with pytest.raises(LockLost):
        world.migrate()
    assert found == ["OUTCOME_UNKNOWN"]
    assert world.values() == []
    # No run with a newer fence has written: what this run had done counts without a repair.
    assert world.kinds == [("started", "1"), ("statement_done", "1"), ("interrupted", "1")]
    world.migrate()
    assert world.values() == [1]


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


def test_a_history_that_cannot_be_written_stops_the_run_before_the_statement(world: World) -> None:
    """No statement runs that is not announced."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.store_before = lambda verb: lost_answer() if verb == "append" else None
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.code == "HISTORY_NOT_WRITTEN"
    assert caught.value.hint.endswith("`glacierbase migrate`")
    assert world.events == []
    assert world.engine.rows("SELECT name FROM sqlite_master") == []


@pytest.mark.parametrize("answered", ["append", "append answered"])
def test_an_outage_shorter_than_a_lease_loses_nothing(world: World, answered: str) -> None:
    """Each event is recorded once, and each statement ran once."""
    world.variables = "store: {lockLease: 5s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    until: list[float] = []

    def outage(verb: str) -> None:
        if verb == answered and len(world.events) >= 2 and not until:
            until.append(time.monotonic() + 1)
        if until and time.monotonic() < until[0]:
            lost_answer()

    world.store_before = outage
    world.migrate()
    assert until
    assert world.values() == [1, 2]
    assert sorted({event.sequence for event in world.events}) == [1, 2, 3, 4] or len(world.events) == 4
    state = world.state
    assert [record.state for record in state.history.records.values()] == [State.APPLIED]


def test_giving_up_a_run_prints_the_command_that_records_what_ran(world: World) -> None:
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


def test_an_outage_in_which_no_connection_opens_loses_nothing(world: World) -> None:
    """A refused login after a lost answer is part of the outage, and the append is retried."""
    world.variables = "store: {lockLease: 5s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    until: list[float] = []

    def is_out() -> bool:
        return bool(until) and time.monotonic() < until[0]

    def outage(verb: str) -> None:
        if verb == "append" and world.events and not until:
            until.append(time.monotonic() + 1)
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


def test_a_history_that_cannot_be_read_is_not_said_to_lack_an_event(world: World) -> None:
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


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_store_that_does_not_open_leaves_no_thread() -> None:
    """A program that retries keeps its number of threads."""

    def refuse() -> MemoryStore:
        raise EngineUnavailable("SNOWFLAKE_UNAVAILABLE", "no session")

    before = set(threading.enumerate())
    for _ in range(10):
        with pytest.raises(EngineUnavailable):
            BoundedStore(refuse)
    wait_until(lambda: set(threading.enumerate()) <= before)


@pytest.mark.parametrize("holder", ["no JSON", "[1]", "5", '"text"', "null", '{"lease_seconds": NaN}', "[" * 100_000])
def test_a_lock_whose_holder_is_unreadable_is_held_and_can_be_unlocked(world: World, holder: str) -> None:
    """Its lease counts all the same, and no command ends in a traceback."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    world.tables.locks["shop"] = replace(held_row("stranger"), holder=holder, expires_at=later)
    assert len(world.migrator().plan(Selection()).pending) == 1
    for refused in (world.migrate, lambda: unlock(world.target(), "a test")):
        with pytest.raises(LockHeld):
            refused()
    assert unlock(world.target(), "a test", force=True)
    world.migrate()
    assert world.values() == [1]


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
    world.break_at("CREATE", lambda sql: hung.wait(10))
    began = time.monotonic()
    world.migrate()
    assert time.monotonic() - began < 30
    go_on.set()
    assert world.tables.locks["shop"].owner == ""


def test_a_run_that_is_stopped_waits_for_no_store_that_hangs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One signal ends the run in bounded time, before it acquired the lock."""
    monkeypatch.setattr("glacierbase.stores.bounded.CANCELLED_SECONDS", 0.5)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    go_on, cancel = threading.Event(), threading.Event()
    world.store_before = lambda verb: (cancel.set(), go_on.wait(60)) if verb == "read_history" else None
    with pytest.raises(EngineUnavailable) as caught:
        world.migrate(cancelled=cancel.is_set)
    go_on.set()
    assert "did not answer before the run was stopped" in caught.value.message


def test_a_heartbeat_outlives_whatever_its_store_raises(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The next renewal may succeed; the exception is logged as a warning, with secrets masked."""
    world.variables = "store: {lockLease: 1s}\n"
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    register("canary-of-the-heart")
    failed: list[str] = []

    def fail_once(verb: str) -> None:
        if verb == "compare_and_set" and "heartbeat" in threading.current_thread().name and not failed:
            failed.append(verb)
            raise ZeroDivisionError("canary-of-the-heart")

    world.store_before = fail_once
    seen: list[int] = []
    world.break_at("CREATE", lambda _: (threading.Event().wait(1.3), seen.append(world.tables.locks["shop"].beat)))
    world.migrate()
    assert failed
    assert seen[0] >= 2
    assert "could not be renewed: ***" in caplog.text
    assert "canary" not in caplog.text


def test_the_lock_row_names_the_engine_before_it_works(world: World) -> None:
    """A run that takes over waits for the end of both processes; the engine is ready only after the lock is acquired."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    world.engine.process = {"engine_pid": 4711, "engine_pid_started": "12"}
    seen: list[Any] = []

    def open_late(*_: object) -> Any:
        while not world.tables.locks["shop"].owner:
            time.sleep(0.01)
        return world.engine

    world.break_at("INSERT", lambda _: seen.append(json.loads(world.tables.locks["shop"].holder or "")))
    Migrator(replace(world.target(), open_executor=open_late)).migrate(Selection(), Progress())
    assert seen[0]["engine_pid"] == 4711


class Snapshot(MemoryStore):
    """A session under snapshot isolation: it does not see what was committed after its first read of the history."""

    first: tuple[Event, ...] | None = None

    def read_history(self) -> tuple[Event, ...]:
        self.first = self.first if self.first is not None else super().read_history()
        return self.first


def test_the_history_is_read_under_the_lock_by_a_store_that_was_opened_for_it(world: World) -> None:
    """An older session may never see what the last lock holder committed."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    done: list[str] = []

    def run_another_meanwhile(verb: str) -> None:
        if verb == "compare_and_set" and not done:
            done.append(verb)
            world.migrate()

    late = replace(world.target(), open_store=lambda *_: Snapshot(world.tables, "shop", run_another_meanwhile))
    with suppress(LockHeld):
        Migrator(late).migrate(Selection(), Progress(), lock_timeout=5)
    assert world.values() == [1]


def test_another_environments_history_is_refused(world: World) -> None:
    """A run of `dev` does not start on the history of `prod`."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.environment = "prod"
    world.migrate()
    world.environment = "dev"
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrate()
    assert caught.value.code == "ENVIRONMENT_MISMATCH"


def test_a_renamed_catalog_is_recognised_by_its_files(world: World) -> None:
    """The new name has no history, and the old name has applied all files."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    (world.project.root / "migrations/shop").rename(world.project.root / "migrations/store")
    (world.project.root / "catalogs/shop.yaml").unlink()
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrator("store").migrate(Selection(), Progress())
    assert caught.value.code == "CATALOG_RENAMED"
    assert "name: shop" in caught.value.hint


def test_a_lost_history_is_noticed_by_the_lock(world: World) -> None:
    """The lock row holds the last event that was acknowledged."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    for kept in (0, 1):
        del world.events[kept:]
        with pytest.raises(NeedsRepair) as caught:
            world.migrate()
        assert caught.value.code == "HISTORY_LOST"
        assert world.values() == []


def test_a_history_with_a_hole_is_refused(world: World) -> None:
    """A version whose events are missing would run again."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    del world.events[0]
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.code == "HISTORY_DAMAGED"


def test_a_lost_or_restored_lock_is_a_warning_and_the_fence_goes_on(world: World) -> None:
    """A fence is never given out twice."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    del world.tables.locks["shop"]
    assert "is gone" in world.migrate().warnings[0]
    assert world.events[-1].fence == 2
    world.file("3_c.sql", "INSERT INTO t VALUES (2)")
    world.tables.locks["shop"] = free_row(Terms("shop", "default", 60))
    assert "restored" in world.migrate().warnings[0]
    assert world.events[-1].fence == 3


def test_only_takes_one_file_and_those_it_passes_by_run_later(world: World) -> None:
    """After a hotfix, the versions that it jumped over are not out of order."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (2)")
    world.file("3_c.sql", "INSERT INTO t VALUES (3)")
    world.migrate(Selection(only="3", reason="an incident"))
    assert world.values() == [3]
    assert world.events[-1].reason is None
    assert world.events[-2].reason == "an incident"
    assert [file.version for file in world.migrate().applied] == ["2"]
    assert world.values() == [2, 3]


def test_an_event_of_a_run_that_had_lost_the_lock_is_shown_and_ignored(world: World) -> None:
    """The statement that the event announces never ran, so the file is not unknown."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    world.migrate(Selection(to="1"))
    world.tables.locks["shop"] = replace(world.tables.locks["shop"], fence=2)
    late = replace(world.events[0], fence=1, sequence=3, version="2", run_id="late")
    world.migrate()
    world.events.append(late)
    state = world.state
    assert late in state.history.events
    assert state.history.records[2].state == "applied"
    assert world.migrate().applied == []


def held_row(owner: str) -> Any:
    """Return a lock row that is held by a run on another machine."""
    now = datetime.now(timezone.utc)
    return replace(
        free_row(Terms("shop", "default", 60)),
        owner=owner,
        fence=5,
        acquired_at=now,
        expires_at=now + timedelta(seconds=60),
        holder=json.dumps({"host": "elsewhere", "pid": 7, "os_user": "bob"}),
    )


def once(verb: str, action: Callable[[], None]) -> Callable[[str], None]:
    """Call `action` at the first call of `verb`."""
    done: list[str] = []

    def before(called: str) -> None:
        if called == verb and not done:
            done.append(called)
            action()

    return before


def test_each_kind_of_error_has_its_exit_code() -> None:
    """The codes are those in the help of the command line."""
    codes = {kind: kind.exit_code for kind in (LockHeld, LockLost, MigrationFailed, NeedsRepair, HistoryDisagrees)}
    assert list(codes.values()) == [4, 4, 1, 6, 3]
    assert GlacierbaseError.exit_code == 70


def test_a_file_that_fails_in_one_environment_only_goes_on_there_once_the_cause_is_gone(world: World) -> None:
    """The file is not edited, because the other environment has applied it."""
    world.file("1_a.sql", FIVE.format("t"))
    dev = World(world.project)
    dev.migrate()
    world.engine.rows("CREATE TABLE t (a INT)")
    with pytest.raises(MigrationFailed, match="statement 1 of 5"):
        world.migrate()
    world.engine.rows("DROP TABLE t")
    assert [file.resumed_at for file in world.migrate().applied] == [1]
    assert world.values() == dev.values() == [1, 2, 3, 4]
    assert dev.migrate().applied == []


def test_a_history_of_a_newer_format_is_refused_by_name(world: World) -> None:
    """It may mean what this version does not support; an older format is read."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    row = world.tables.locks["shop"]
    world.tables.locks["shop"] = replace(row, format_version=2)
    with pytest.raises(ConfigurationError) as caught:
        world.migrate()
    assert caught.value.code == "FORMAT_TOO_NEW"
    assert "upgrade" in caught.value.hint
    world.tables.locks["shop"] = replace(row, format_version=0)
    assert world.migrate().applied == []
