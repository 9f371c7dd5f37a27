"""Framework actions and files that wait, on the fakes."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.apply.migrator import migrate, pending, plan
from glacierbase.apply.plan import Selection
from glacierbase.apply.results import MigrateResult, PendingResult, PlanResult
from glacierbase.errors import (
    Interrupted,
    LockLost,
    MigrationFailed,
    MigrationFileError,
    OutcomeUnknown,
    StatementRefused,
)
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.history.details import details_of
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.history.records import fold
from glacierbase.inspect.results import StatusResult
from glacierbase.inspect.show import ShowResult, show
from glacierbase.inspect.status import status
from tests.support.fakes import FakeExecutor
from tests.support.lakes import Lakes
from tests.support.world import World
from tests.unit.apply.plans import MIGRATE, PLAN, applied, refused

CALL = "CALL glacierbase.rekey_validate(table => 't')"
FILE = f"CREATE TABLE t (a INT); {CALL}; INSERT INTO t VALUES (2)"


class Gate:
    """An action that inserts a row, and then does what `then` says."""

    def __init__(self) -> None:
        self.calls: list[dict[str, str]] = []
        self.then: Any = lambda run: None

    def __call__(self, run: ActionRun) -> None:
        self.calls.append(dict(run.arguments))
        run.execute("INSERT INTO t VALUES (1)")
        self.then(run)

    def shut(self, why: str) -> None:
        def raises(run: ActionRun) -> None:
            raise GateShut(why)

        self.then = raises

    def raising(self, error: BaseException) -> None:
        def raises(run: ActionRun) -> None:
            raise error

        self.then = raises


@pytest.fixture
def gate() -> Gate:
    return Gate()


def run(world: World, gate: Gate, **options: Any) -> Any:
    return world.migrate(open_action=lambda name: {"rekey_validate": gate}[name], **options)


def test_an_action_runs_here_and_the_engine_never_gets_its_call(world: World, gate: Gate) -> None:
    """The statements before and after it are the engine's."""
    got: list[str] = []
    world.engine.before = got.append
    world.file("1_a.sql", FILE)
    assert [file.statements for file in run(world, gate).applied] == [3]
    assert gate.calls == [{"table": "t"}]
    assert world.values() == [1, 2]
    assert not [sql for sql in got if "glacierbase" in sql]
    assert world.kinds == [("started", "1"), ("statement_done", "1"), ("statement_done", "1"), ("applied", "1")]
    assert [details_of(event).is_action for event in world.events] == [False, True, False, False]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("CALL glacierbase.rekey_validat(table => 't')", "there is no action rekey_validat: did you mean"),
        ("call `GlacierBase` . anything()", "there is no action anything: the actions are rekey_backfill"),
        ("CALL /* x */ glacierbase.rekey_validate('t')", "the argument 't' has no name"),
        ("CALL glacierbase.rekey_validate(tabel => 't')", "has no parameter tabel: did you mean"),
        ("CALL glacierbase.rekey_validate(table => 't', table => 'u')", "given twice"),
        ("CALL glacierbase.rekey_validate()", "the argument table is missing"),
        ("CALL glacierbase.rekey_validate(table => concat('t', 'u'))", "table is not a string literal"),
        ("CALL glacierbase.rekey_validate(table => 7)", "table is not a string literal"),
        ("CALL glacierbase.rekey_validate(table => '')", "table is not a string literal"),
        ("CALL glacierbase.rekey_validate(table => 't') AND MORE", "it has AND where the end is expected"),
        ("CALL glacierbase.rekey_validate", "where ( is expected"),
        ("CALL glacierbase.rekey_backfill(table => 't', bytes_per_range => '1')", "is not a positive integer"),
        ("CALL glacierbase.rekey_backfill(table => 't', bytes_per_range => 0)", "is not a positive integer"),
        ("CALL glacierbase.rekey_backfill(table => 't', bytes_per_range => -1)", "is not a positive integer"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_runs(world: World, gate: Gate, call: str, why: str) -> None:
    """The engine, which has no such procedure, would otherwise get it after the statements before it."""
    world.file("1_a.sql", f"CREATE TABLE t (a INT); {call}")
    with pytest.raises(MigrationFileError) as caught:
        run(world, gate)
    assert caught.value.code == "WRONG_ACTION"
    assert why in caught.value.message
    assert world.events == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES ('CALL glacierbase.x()')",
        "CALL lake.system.rewrite_data_files(table => 'glacierbase.t')",
        "CALL lake.glacierbase.x(table => 't')",
        "SELECT * FROM glacierbase.history_shop",
    ],
)
def test_other_statements_that_name_glacierbase_are_for_the_engine(world: World, gate: Gate, sql: str) -> None:
    """Only a procedure in the namespace `glacierbase`, without a catalog, is an action."""
    world.file("1_a.sql", "CREATE TABLE t (a)")
    world.file("2_b.sql", sql)
    got: list[str] = []
    world.engine.before = got.append
    with suppress(MigrationFailed):  # The engine of the test has no procedures.
        run(world, gate)
    assert sql in got
    assert gate.calls == []


def test_a_file_whose_gate_is_shut_waits_and_that_is_no_error(world: World, gate: Gate) -> None:
    """Statements before the gate are done; later files do not run. The next run asks again, and goes on."""
    gate.shut("the share of new files is 40 %")
    world.file("1_a.sql", FILE)
    world.file("2_b.sql", "INSERT INTO t VALUES (9)")
    progress = run(world, gate)
    assert progress.failed is None
    assert (progress.applied, progress.not_run) == ([], ("2",))
    assert (progress.waiting.version, progress.waiting.statement) == ("1", 2)
    assert progress.waiting.waiting.why == "the share of new files is 40 %"
    assert world.kinds[-1] == ("waiting", "1")
    assert world.tables.locks["shop"].owner == ""
    first = progress.waiting.waiting.since
    gate.shut("the share of new files is 80 %")
    progress = run(world, gate)
    assert (progress.waiting.waiting.why, progress.waiting.waiting.since) == ("the share of new files is 80 %", first)
    assert world.kinds[-2:] == [("started", "1"), ("waiting", "1")]
    gate.then = lambda run: None
    assert [(file.version, file.resumed_at) for file in run(world, gate).applied] == [("1", 2), ("2", 1)]
    assert world.values() == [1, 1, 1, 2, 9]


def test_a_second_gate_waits_since_it_was_asked(world: World, gate: Gate) -> None:
    """The time of the first gate is not that of the second."""
    gate.shut("one")
    world.file("1_a.sql", f"CREATE TABLE t (a INT); {CALL}; {CALL}")
    first = run(world, gate).waiting
    gate.then = lambda _: gate.shut("two")
    second = run(world, gate).waiting
    assert (second.statement, second.waiting.why) == (3, "two")
    assert second.waiting.since > first.waiting.since


def test_every_command_shows_why_a_file_waits_and_since_when(world: World, gate: Gate) -> None:
    """`status`, `show`, `pending` and `plan`, in their documents and in their text; `migrate` succeeds."""
    gate.shut("soak time ends tomorrow")
    world.file("1_a.sql", FILE)
    target = replace(world.target(), open_action=lambda _: gate)
    migrated = migrate(target, MigrateResult("shop", "default"), selection=Selection())
    assert migrated.error is None
    [*_, line] = migrated.lines()
    since = f"{migrated.waiting.waiting.since:%Y-%m-%d %H:%M} UTC"  # type: ignore[union-attr]
    assert line.startswith("waiting  migrations/shop/1_a.sql  at statement 2, line")
    results = [
        status(target, StatusResult("shop", "default")),
        show(target, ShowResult("shop", "default"), 1),
        pending(target, PendingResult("shop", "default")),
        plan(target, PlanResult("shop", "default"), selection=Selection()),
    ]
    for result in (migrated, *results):
        assert f"since {since}: soak time ends tomorrow" in "\n".join(map(str, result.lines()))
    shown = results[0].to_dict()["migrations"][0]
    assert (shown["state"], shown["waiting"]["why"]) == ("waiting", "soak time ends tomorrow")
    assert shown["waiting"]["since"].startswith(since[:10])
    assert "asks again" in results[1].next  # type: ignore[attr-defined]


def test_an_action_that_a_kill_stopped_is_called_again(world: World, gate: Gate) -> None:
    """The outcome is not unknown: no person has to settle it."""
    world.begin()
    world.file("1_a.sql", FILE)

    class Killed(BaseException):
        pass

    def killed(_: ActionRun) -> None:
        world.store_before = lambda verb: (_ for _ in ()).throw(Killed())  # Nothing more is written, as after a kill.
        raise Killed

    gate.then = killed
    with pytest.raises(Killed):
        run(world, gate)
    world.store_before = lambda verb: None
    assert [event.state for event in world.events] == ["running", "running"]
    row = world.tables.locks["shop"]
    world.tables.locks["shop"] = replace(free_row(LockTerms("shop", "default", 60)), fence=row.fence)
    assert [record.state for record in world.state.history.versions] == ["interrupted"]
    gate.then = lambda run: None
    assert [file.resumed_at for file in run(world, gate).applied] == [2]


def test_a_kill_inside_another_statement_stays_unknown(world: World, gate: Gate) -> None:
    """Only an action goes on by itself."""
    world.file("1_a.sql", f"CREATE TABLE t (a INT); {CALL}; INSERT INTO t VALUES (2)")
    run(world, gate)
    assert [record.state for record in fold(world.events[:3]).versions] == ["unknown"]
    assert [record.state for record in fold(world.events[:2]).versions] == ["interrupted"]


@pytest.mark.parametrize(
    "error", [StatementRefused("Refused", "3 rows differ"), OutcomeUnknown("Lost", "the answer was lost")]
)
def test_an_error_of_an_action_is_a_failure_and_never_unknown(world: World, gate: Gate, error: Exception) -> None:
    """The next run calls the action again."""
    gate.raising(error)
    world.file("1_a.sql", FILE)
    with pytest.raises(MigrationFailed, match=r"3 rows differ|the answer was lost"):
        run(world, gate)
    assert world.events[-1].state == "failed"
    gate.then = lambda run: None
    assert [file.resumed_at for file in run(world, gate).applied] == [2]


def test_a_cancel_ends_an_action_before_its_next_step(world: World, gate: Gate) -> None:
    """The stop is recorded as one between two statements."""
    cancel = threading.Event()

    def two_steps(run: ActionRun) -> None:
        cancel.set()
        run.execute("INSERT INTO t VALUES (7)")

    gate.then = two_steps
    world.file("1_a.sql", FILE)
    with pytest.raises(Interrupted):
        run(world, gate, cancelled=cancel.is_set)
    assert world.events[-1].state == "interrupted"
    assert world.values() == [1]


def test_an_action_whose_run_lost_the_lock_takes_no_further_step(world: World, gate: Gate) -> None:
    """Another run may be in the same action."""

    def lose(run: ActionRun) -> None:
        world.tables.locks["shop"] = replace(world.tables.locks["shop"], owner="another", fence=99)
        run.execute("INSERT INTO t VALUES (7)")

    gate.then = lose
    world.file("1_a.sql", FILE)
    with pytest.raises(LockLost):
        run(world, gate)
    assert world.values() == [1]
    assert world.events[-1].state == "interrupted"


def test_an_action_is_cancelled_and_shows_progress_like_a_statement(world: World, gate: Gate) -> None:
    """The words of the action come before those of its statement."""
    shown: list[str | None] = []
    world.engine.progress = lambda: "stage 1, 2/3 tasks"

    def progress(run: ActionRun) -> None:
        run.progress = "range 2 of 5"
        shown.append(run.shown())

    gate.then = progress
    world.file("1_a.sql", FILE)
    run(world, gate)
    assert shown == ["range 2 of 5, stage 1, 2/3 tasks"]
    assert isinstance(world.engine, FakeExecutor)


def test_a_plan_file_of_a_file_that_waits_is_applied(lakes: Lakes, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question to the gate is recorded, so that the next one needs another plan."""
    monkeypatch.setattr("glacierbase.project.each.open_action", lambda _: gate)
    gate.shut("soak time ends tomorrow")
    lakes.project.file("0004_d.sql", CALL)
    waiting = lakes.run("migrate --catalog shop --format json").document["catalogs"][0]["waiting"]
    assert (waiting["version"], waiting["waiting"]["why"]) == ("0004", "soak time ends tomorrow")
    assert "soak time ends tomorrow" in lakes.run(PLAN).stdout
    assert applied(lakes.run(MIGRATE, "--format", "json")) == []
    refused(lakes)
    gate.then = lambda run: None
    lakes.run(PLAN)
    assert applied(lakes.run(MIGRATE, "--format", "json")) == ["0004"]
