"""A file of plain statements runs directly, beside files that the engine runs: in order, in one run, under one lock."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.apply.migrator import plan
from glacierbase.apply.plan import Selection
from glacierbase.apply.repair import repair_cases
from glacierbase.apply.results import MigrateResult, PlanResult
from glacierbase.apply.several import check
from glacierbase.errors import (
    ConfigurationError,
    EngineUnavailable,
    MigrationFailed,
    NeedsRepair,
    NotPlain,
    OutcomeUnknown,
    StatementRefused,
)
from glacierbase.executors import Executor
from glacierbase.history.details import details_of
from glacierbase.inspect.results import StatusResult
from glacierbase.inspect.status import status
from glacierbase.model.migration import State
from glacierbase.run.processes import engine_process
from tests.support.catalog_files import RUNTIME
from tests.support.fakes import FakeExecutor, FakeSession
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

PLAIN = "DROP TABLE IF EXISTS lake.a.t"
OTHER = "CREATE VIEW lake.a.v AS SELECT 1"
TWO = "DROP TABLE IF EXISTS lake.a.s;\nDROP TABLE IF EXISTS lake.a.t"
SPARK_PROCESS = {"engine_pid": 4_000_000, "engine_pid_started": "1", "application": "local-1"}


class Quiet(FakeExecutor):
    """An executor that calls `before` with each statement, and runs none."""

    def __init__(self, engine: str, principal: str, process: Mapping[str, Any]) -> None:
        super().__init__()
        self.engine, self.principal, self.process = engine, principal, dict(process)

    def open_session(self, *, bookkeeping: bool = False) -> FakeSession:
        session = super().open_session(bookkeeping=bookkeeping)

        def query(sql: str, parameters: object = ()) -> list[tuple[Any, ...]]:
            self.before(sql)
            return []

        session.query = query  # type: ignore[method-assign]
        return session


class Beside(World):
    """A project whose catalog file has `direct: auto`.

    Attributes:
        ran: the statements, each with the name of the executor that ran it.
        started: how often the engine was started.
    """

    def __init__(self, project: ProjectFolder) -> None:
        super().__init__(project)
        self.is_direct, self.started = True, 0
        self.ran: list[tuple[str, str]] = []
        self.direct = Quiet("pyiceberg 0", "me", engine_process(os.getpid()))
        self.engine = Quiet("spark 4", "tester", SPARK_PROCESS)
        self.refuse(lambda name, sql: None)

    def refuse(self, error: Callable[[str, str], Exception | None]) -> None:
        """Let `error` return what an executor raises in place of a statement."""

        def before(name: str, sql: str) -> None:
            self.ran.append((name, sql))
            if refused := error(name, sql):
                raise refused

        self.direct.before = lambda sql: before("direct", sql)
        self.engine.before = lambda sql: before("spark", sql)

    def target(self, name: str = "shop") -> Any:
        target = super().target(name)
        catalog = replace(target.catalog, is_direct=self.is_direct)
        return replace(target, catalog=catalog, open_executor=lambda *_: self.start())

    def start(self) -> Executor:
        self.started += 1
        return self.engine

    @property
    def processes(self) -> list[object]:
        """The processes of the engines that the starts of files name, in order."""
        return [details_of(event).process["engine_pid"] for event in self.events if event.event == "started"]

    @property
    def engines(self) -> list[tuple[str, str | None, str | None, str | None]]:
        return [(event.event, event.version, event.engine, event.principal) for event in self.events]


@pytest.fixture
def beside(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Beside:
    """A project whose files run on two fakes, in place of Spark and of the executor on PyIceberg."""
    beside = Beside(project)
    monkeypatch.setattr("glacierbase.executors.direct.executor.IcebergExecutor", lambda _: beside.direct)
    return beside


@pytest.fixture
def without_engine(beside: Beside) -> Beside:
    """The project with a runtime jar of another Spark than the installed one: the check of what the engine needs fails."""
    jar = RUNTIME.replace("4.1_", "3.5_")
    beside.variables += f"environments: {{default: {{migrationExecutor: {{conf: {{dependencies: ['{jar}']}}}}}}}}\n"
    return beside


def test_plain_files_start_no_engine(without_engine: Beside) -> None:
    """Nothing is checked either that the engine needs."""
    beside = without_engine
    beside.file("0001_a.sql", PLAIN)
    beside.file("0002_b.sql", "")
    progress = beside.migrate()
    assert (beside.started, beside.ran, beside.direct.closed) == (0, [("direct", PLAIN)], 1)
    assert [file.engine for file in progress.applied] == ["direct", "direct"]
    assert progress.applied[0].line().endswith(", direct")
    assert progress.engine is not None
    assert progress.engine.name == "pyiceberg"
    assert {(engine, principal) for *_, engine, principal in beside.engines} == {("pyiceberg 0", "me")}
    assert set(beside.processes) == {os.getpid()}


def test_a_first_run_that_creates_tables_directly_starts_no_engine(beside: Beside) -> None:
    """PyIceberg alone reads whether the first table exists already, which would show that a history was lost."""
    beside.file("0001_a.sql", "CREATE TABLE lake.a.t (a INT) USING iceberg")
    beside.migrate()
    assert (beside.started, len(beside.ran)) == (0, 1)


def test_the_engine_starts_at_the_first_file_that_needs_it(beside: Beside) -> None:
    """Each event names the engine that ran its file, also the one that is appended with the next file."""
    for number, sql in enumerate((PLAIN, OTHER, PLAIN), start=1):
        beside.file(f"000{number}_a.sql", sql)
    started: list[int] = []
    beside.refuse(lambda name, sql: started.append(beside.started))
    progress = beside.migrate()
    assert started == [0, 1, 1]
    assert [file.engine for file in progress.applied] == ["direct", "spark", "direct"]
    assert beside.engines == [
        ("started", "0001", "pyiceberg 0", "me"),
        ("applied", "0001", "pyiceberg 0", "me"),
        ("started", "0002", "spark 4", "tester"),
        ("applied", "0002", "spark 4", "tester"),
        ("started", "0003", "pyiceberg 0", "me"),
        ("applied", "0003", "pyiceberg 0", "me"),
    ]
    assert beside.processes == [os.getpid(), 4_000_000, os.getpid()]
    assert len({event.run_id for event in beside.events}) == 1
    assert (beside.direct.closed, beside.engine.closed) == (1, 1)


def test_an_engine_that_is_needed_first_starts_before_the_lock_is_taken(beside: Beside) -> None:
    """As without direct files: no tables are created where it does not start."""
    beside.file("0001_a.sql", OTHER)
    beside.file("0002_b.sql", PLAIN)

    def start(*_: object) -> Executor:
        raise EngineUnavailable("SPARK_DID_NOT_START", "no Java", "install it")

    with pytest.raises(EngineUnavailable):
        beside.migrate(open_executor=start)
    assert beside.tables.locks == {}


def test_the_lock_row_names_the_engine_before_it_runs(beside: Beside) -> None:
    """A run that takes over waits for the end of the engine, also while the run is at a direct file again."""
    for number, sql in enumerate((PLAIN, OTHER, PLAIN), start=1):
        beside.file(f"000{number}_a.sql", sql)
    named: list[object] = []
    row = lambda: json.loads(beside.tables.locks["shop"].holder or "{}")  # noqa: E731
    beside.refuse(lambda name, sql: named.append(row().get("engine_pid")))
    beside.migrate()
    assert named == [None, 4_000_000, 4_000_000]


def test_an_engine_that_does_not_start_leaves_the_files_before_it_applied(beside: Beside) -> None:
    """The outcome of the direct file is recorded before the start."""
    beside.file("0001_a.sql", PLAIN)
    beside.file("0002_b.sql", OTHER)

    def start(*_: object) -> Executor:
        assert beside.kinds[-1] == ("applied", "0001")
        raise EngineUnavailable("SPARK_DID_NOT_START", "no Java", "install it")

    with pytest.raises(EngineUnavailable):
        beside.migrate(open_executor=start)
    assert beside.kinds == [("started", "0001"), ("applied", "0001")]


def test_a_missing_requirement_of_the_engine_stops_a_run_that_needs_it_later(without_engine: Beside) -> None:
    """The run stops before the first file, although that one is plain."""
    beside = without_engine
    beside.file("0001_a.sql", PLAIN)
    beside.file("0002_b.sql", OTHER)
    with pytest.raises(ConfigurationError) as caught:
        beside.migrate()
    assert caught.value.code == "SPARK_VERSION_MISMATCH"
    assert (beside.events, beside.ran) == ([], [])


def test_a_table_that_needs_the_engine_continues_there(beside: Beside) -> None:
    """The file goes on at the statement that needs it, announced again with the process of the engine."""
    beside.file("0001_a.sql", TWO)
    why = NotPlain("PyIceberg does not write format version 3")
    beside.refuse(lambda name, sql: why if (name, sql[-1]) == ("direct", "t") else None)
    progress = beside.migrate()
    assert [(name, sql[-1]) for name, sql in beside.ran] == [("direct", "s"), ("direct", "t"), ("spark", "t")]
    assert [(file.engine, file.statements, file.resumed_at) for file in progress.applied] == [("spark", 2, 1)]
    assert beside.engines == [
        ("started", "0001", "pyiceberg 0", "me"),
        ("statement_done", "0001", "pyiceberg 0", "me"),
        ("interrupted", "0001", "pyiceberg 0", "me"),
        ("started", "0001", "spark 4", "tester"),
        ("applied", "0001", "spark 4", "tester"),
    ]
    assert beside.processes == [os.getpid(), 4_000_000]
    record = beside.state.history.records[1]
    assert (record.state, record.statements_done) == (State.APPLIED, 2)


@pytest.mark.parametrize("is_direct_first", [True, False])
def test_a_file_resumes_in_another_engine_than_it_failed_in(beside: Beside, is_direct_first: bool) -> None:
    """Each run chooses the engine of a file, and runs only what is left."""
    beside.file("0001_a.sql", TWO)
    beside.is_direct = is_direct_first
    beside.refuse(lambda name, sql: StatementRefused("LOCKED", "locked") if sql[-1] == "t" else None)
    with pytest.raises(MigrationFailed):
        beside.migrate()
    beside.is_direct = not is_direct_first
    beside.refuse(lambda name, sql: None)
    progress = beside.migrate()
    first, second = ("direct", "spark") if is_direct_first else ("spark", "direct")
    assert [(file.engine, file.resumed_at) for file in progress.applied] == [(second, 2)]
    assert [(name, sql[-1]) for name, sql in beside.ran] == [(first, "s"), (first, "t"), (second, "t")]


def test_a_plan_names_the_engine_of_each_file(beside: Beside) -> None:
    """The plan has the reason, too, where a file is not direct."""
    beside.file("0001_a.sql", PLAIN)
    beside.file("0002_b.sql", OTHER)
    result = plan(beside.target(), PlanResult("shop", "default"), selection=Selection())
    why = "statement 1: create_view needs the engine"
    assert [(file.engine, file.needs_engine) for file in result.plan] == [("direct", None), ("spark", why)]
    assert [file.lines()[0].partition("), ")[2] for file in result.plan] == ["direct", f"needs spark: {why}"]


@pytest.mark.parametrize(("sql", "code"), [(PLAIN, None), (OTHER, "SPARK_VERSION_MISMATCH")])
def test_of_several_catalogs_only_one_that_needs_its_engine_is_checked(
    without_engine: Beside, sql: str, code: str | None
) -> None:
    """A catalog whose pending files are plain needs nothing that is not installed."""
    without_engine.file("0001_a.sql", sql)
    result = check(without_engine.target(), MigrateResult("shop", "default"), selection=Selection())
    assert (result.error.code if result and result.error else None) == code


def test_a_store_through_the_engine_keeps_it_in_the_lock_row(beside: Beside) -> None:
    """The engine may still write to the store while a direct file runs."""
    beside.file("0001_a.sql", PLAIN)
    target, named = beside.target(), list[object]()

    def open_store(catalog: Any, engine: Any) -> Any:
        engine.start()
        return target.open_store(catalog, engine)

    beside.refuse(lambda name, sql: named.append(json.loads(beside.tables.locks["shop"].holder or "{}")["engine_pid"]))
    beside.migrate(open_store=open_store)
    assert (beside.started, beside.ran, named) == (1, [("direct", PLAIN)], [4_000_000])
    assert beside.engines[-1][2:] == ("pyiceberg 0", "me")


def test_a_lost_answer_of_a_direct_statement_is_repaired_without_the_engine(beside: Beside) -> None:
    """No engine has a record of it."""
    beside.file("0001_a.sql", PLAIN)
    beside.refuse(lambda name, sql: OutcomeUnknown("LOST", "no answer"))
    with pytest.raises(NeedsRepair):
        beside.migrate()
    target = beside.target()
    [case] = repair_cases(target, [1])
    assert (case.state, beside.started) == (State.UNKNOWN, 0)
    assert case.may_run, "this process is the engine"


def test_status_shows_the_engines_where_there_are_two(beside: Beside) -> None:
    """The column is left out where all versions ran in one."""
    beside.file("0001_a.sql", PLAIN)
    beside.migrate()
    assert "pyiceberg" not in status(beside.target(), StatusResult("shop", "default")).as_text()
    beside.file("0002_b.sql", OTHER)
    beside.migrate()
    lines = status(beside.target(), StatusResult("shop", "default")).as_text().splitlines()
    assert [line.split("  ")[-1].strip() for line in lines[1:]] == ["engine", "pyiceberg 0", "spark 4"]
