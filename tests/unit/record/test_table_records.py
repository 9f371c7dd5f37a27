"""What a run records of the tables that its files change, on the fakes."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.apply.evidence import Decision
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.apply.repair import repair
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import LockLost, MigrationFailed, NeedsRepair, StatementRefused
from glacierbase.history.records import fold
from glacierbase.model.shape import Column, Shape
from glacierbase.record import table_reader
from glacierbase.record.shapes import TableRecord, as_recorded, last_shapes, table_records, to_document
from glacierbase.record.table_records import _DEPENDS
from glacierbase.record.timeline import timelines
from glacierbase.secrets import register
from tests.support.fakes import FakeSession, lost_answer
from tests.support.world import World, held_row

CREATE = "CREATE TABLE t (a INT)"
ADD_B = "ALTER TABLE t ADD COLUMN b INT"
ADD_C = "ALTER TABLE t ADD COLUMN c INT"


def told(world: World) -> list[tuple[str | None, str, str]]:
    """Return version, columns and origin of each moment of the only table."""
    [found] = timelines(fold(world.events))
    return [
        (
            each.event.version,
            "".join(column.name for column in each.shape.columns) if each.shape else "-",
            str(each.origin),
        )
        for each in found.moments
    ]


def unread(world: World) -> list[str | None]:
    """Return why the tables of the last event were not read."""
    return [each.unread for each in table_records(world.events[-1])]


def reads(world: World, action: Callable[[str], Any] = lambda table: None) -> list[str]:
    """Return a list that grows with each read of a table; `action` is called before it."""
    found: list[str] = []

    def before_read(table: str) -> None:
        found.append(table)
        action(table)

    world.engine.before_read = before_read
    return found


def test_each_file_records_the_table_that_it_leaves(world: World) -> None:
    """A table is read once per file: the snapshot after one file is the snapshot before the next."""
    world.begin()
    found = reads(world)
    world.file("1_a.sql", CREATE)
    world.file("2_b.sql", ADD_B)
    world.migrate()
    assert told(world) == [("1", "a", "migration"), ("2", "ab", "migration")]
    assert found == ["spark_catalog.default.t"] * 3


def test_what_the_next_run_finds_changed_is_from_outside(world: World) -> None:
    """The change that the file itself makes is recorded separately."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.engine.rows("ALTER TABLE t ADD COLUMN x INT")
    world.file("2_b.sql", ADD_B)
    assert world.migrate().warnings == ("spark_catalog.default.t: + column x: int: not from a migration",)
    assert told(world) == [("1", "a", "migration"), ("2", "ax", "outside"), ("2", "axb", "migration")]


def test_what_another_client_does_while_a_file_runs_is_not_by_the_file(world: World) -> None:
    """Another client's change is not attributed to the file, also if the file fails."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.file("2_b.sql", f"{ADD_B}; INSERT INTO missing VALUES (1)")
    world.break_at("missing", lambda sql: world.engine.rows("ALTER TABLE t ADD COLUMN x INT"))
    progress = Progress()
    with pytest.raises(MigrationFailed):
        world.migrator().migrate(Selection(), progress)
    assert progress.warnings == ("spark_catalog.default.t: + column x: int: during 2, not by it",)
    assert told(world) == [("1", "a", "migration"), ("2", "ab", "migration"), ("2", "abx", "during")]


def test_after_a_use_that_is_not_certain_nothing_is_from_outside(world: World) -> None:
    """The file may have changed any table; what the next one finds is not recorded."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.file("2_b.sql", f"USE IDENTIFIER(chosen); {ADD_B}")
    world.file("3_c.sql", ADD_C)
    [warning] = world.migrate().warnings
    assert warning == "spark_catalog.default.t: + column b: int: not recorded who changed it"
    assert told(world) == [("1", "a", "migration"), ("3", "ab", "not recorded"), ("3", "abc", "migration")]


def test_a_table_that_a_file_writes_under_two_names_changes_once(world: World) -> None:
    """One snapshot serves both names, and the change of the file is not taken for one from outside."""
    world.begin()
    found = reads(world)
    world.file("1_a.sql", "CREATE TABLE main.t (a INT)")
    world.file("2_b.sql", "ALTER TABLE main.t ADD COLUMN b INT; INSERT INTO spark_catalog.main.t VALUES (1, 2)")
    world.migrate()
    assert told(world) == [("1", "a", "migration"), ("2", "ab", "migration")]
    assert found == ["spark_catalog.main.t"] * 3


def test_a_table_that_was_not_read_under_its_first_name_is_not_recorded_under_another(world: World) -> None:
    """What was found of it would be taken for what the file did."""
    world.file("1_a.sql", CREATE)
    world.migrate()

    def fail_once(table: str) -> None:
        if not failed:
            failed.append(table)
            raise StatementRefused("Denied", "not now")

    failed: list[str] = []
    reads(world, fail_once)
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO spark_catalog.default.t VALUES (1)")
    world.migrate()
    assert unread(world) == ["not now"] * 2


@pytest.mark.parametrize(
    "sql", ["DROP SCHEMA default CASCADE", "DROP DATABASE SPARK_CATALOG.`default`", "CREATE OR REPLACE SCHEMA default"]
)
def test_a_dropped_schema_drops_the_recorded_tables_in_it(
    world: World, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    """The file that drops the schema drops its tables, also those of the same run; a table elsewhere is not read."""
    query = FakeSession.query

    def run(self: FakeSession, sql: str, *more: Any) -> Any:
        is_drop = sql.startswith(("DROP SCHEMA", "DROP DATABASE", "CREATE OR REPLACE SCHEMA"))
        return [query(self, f"DROP TABLE {table}") for table in "tu"] if is_drop else query(self, sql, *more)

    monkeypatch.setattr(FakeSession, "query", run)
    world.file("1_a.sql", f"{CREATE}; CREATE TABLE main.o (a INT)")
    world.migrate()
    world.file("2_b.sql", "CREATE TABLE u (a INT)")
    world.file("3_c.sql", sql)
    found = reads(world)
    world.migrate()
    assert found.count("spark_catalog.main.o") == 0
    moments = {each.table.rpartition(".")[2]: each.moments for each in timelines(fold(world.events))}
    assert {table: [each.event.version for each in found] for table, found in moments.items()} == {
        "t": ["1", "3"], "o": ["1"], "u": ["2", "3"],
    }  # fmt: skip
    assert {str(each.origin) for found in moments.values() for each in found} == {"migration"}


def test_a_file_that_fails_records_what_ran(world: World) -> None:
    """The first statement took effect, and the file names it."""
    world.file("1_a.sql", f"{CREATE}; {ADD_B}; INSERT INTO missing VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    assert world.events[-1].event == "failed"
    assert told(world) == [("1", "ab", "migration")]


def test_a_file_that_is_stopped_records_what_ran(world: World) -> None:
    """No statement is in flight then."""
    stop = threading.Event()
    world.file("1_a.sql", f"{CREATE}; {ADD_B}")
    world.break_at("CREATE", lambda sql: stop.set())
    with pytest.raises(Exception, match="stopped before"):
        world.migrate(cancelled=stop.is_set)
    assert world.events[-1].event == "interrupted"
    assert told(world) == [("1", "a", "migration")]


def test_what_a_killed_run_did_is_its_files_once_a_person_says_so(world: World) -> None:
    """The killed run left no event; `repair` detects the change that the statement makes."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.file("2_b.sql", ADD_B)
    died: list[str] = []

    def die(verb: str) -> None:
        if died and verb == "append":
            raise KeyboardInterrupt

    def lose(sql: str) -> None:
        world.engine.rows(sql)
        died.append(sql)
        raise KeyboardInterrupt

    world.store_before = die
    world.break_at("ADD COLUMN", lose)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    world.store_before = lambda verb: None
    assert world.events[-1].event == "started"
    repair(world.target(), [2], Decision(Resolution.DONE, "looked"))
    assert told(world) == [("1", "a", "migration"), ("2", "ab", "migration")]


@pytest.mark.parametrize(
    ("resolution", "origin"), [(Resolution.DONE, "migration"), (Resolution.ABANDONED, "not recorded")]
)
def test_an_unknown_outcome_is_recorded_with_its_repair(resolution: Resolution, origin: str, world: World) -> None:
    """Until then a statement may still take effect. Without a decision, another writer may have made what is observed then."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.file("2_b.sql", ADD_B)

    def lose(sql: str) -> None:
        world.engine.rows(sql)
        lost_answer()

    world.break_at("ADD COLUMN", lose)
    with pytest.raises(NeedsRepair):
        world.migrate()
    assert table_records(world.events[-1]) == ()
    repair(world.target(), [2], Decision(resolution, "looked"))
    assert told(world) == [("1", "a", "migration"), ("2", "ab", origin)]


def test_a_kill_between_the_end_of_a_file_and_its_record_blames_nobody(world: World) -> None:
    """The next file finds the change, and its record says that the one before left none."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.file("2_b.sql", ADD_B)
    world.migrate()
    world.tables.histories["shop"][-1] = replace(world.events[-1], details=None)
    world.file("3_c.sql", ADD_C)
    world.migrate()
    assert told(world) == [("1", "a", "migration"), ("3", "ab", "not recorded"), ("3", "abc", "migration")]


def test_a_baseline_records_the_table_with_the_last_file_that_changes_it(world: World) -> None:
    """The table is read once; each part is that of the last file that is about it, and what no file names was found."""
    world.file("1_a.sql", CREATE)
    world.file("2_b.sql", ADD_B)
    world.engine.rows("CREATE TABLE t (a INT, x INT, b INT)")
    baseline(world.target(), 2, "adopted", accept=["*"])
    assert [len(table_records(event)) for event in world.events] == [0, 1]
    assert told(world) == [("1", "a", "migration"), ("2", "ab", "migration"), ("2", "axb", "baseline")]


def test_a_table_that_cannot_be_read_stops_nothing(world: World) -> None:
    """The reason is recorded in place of the shape, without secrets."""
    register("canary-of-the-read")

    def fail(table: str) -> None:
        raise StatementRefused("Denied", "no right for canary-of-the-read")

    reads(world, fail)
    world.file("1_a.sql", CREATE)
    world.migrate()
    assert unread(world) == ["no right for ***"]
    [event] = [each for each in world.events if each.event == "applied"]
    assert '"canary' not in str(event)


def test_a_bug_in_a_read_stops_nothing(world: World) -> None:
    """The record is left out; the event is written."""
    world.begin()

    def fail(table: str) -> None:
        raise KeyError(table)

    reads(world, fail)
    world.file("1_a.sql", CREATE)
    world.migrate()
    assert world.kinds == [("started", "1"), ("applied", "1")]
    assert table_records(world.events[-1]) == ()


def test_a_catalog_that_hangs_delays_a_run_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a read without an answer no other begins."""
    world.begin()
    monkeypatch.setattr(table_reader, "READ_SECONDS", 1.0)
    hangs = threading.Event()
    found = reads(world, lambda table: hangs.wait(30))
    world.file("1_a.sql", CREATE)
    world.file("2_b.sql", f"{ADD_B}; CREATE TABLE u (a INT)")
    world.migrate()
    hangs.set()
    assert unread(world) == ["no answer within 1 s"] * 2
    assert len(found) == 1


def test_the_first_snapshot_is_taken_beside_the_append(world: World) -> None:
    """The first snapshot is complete before the statement starts, so that it shows no effect of the statement."""
    world.begin()
    appended, order = threading.Event(), list[str]()
    world.store_before = lambda verb: appended.set() if verb == "append answered" else None

    def wait(table: str) -> None:
        if not order:
            assert appended.wait(10)  # An append that waited for the read would never come.
            order.append("read")

    reads(world, wait)
    world.file("1_a.sql", CREATE)
    world.engine.before = lambda sql: order.append("ran") if sql == CREATE else None
    world.migrate()
    assert order == ["read", "ran"]
    assert told(world) == [("1", "a", "migration")]


def test_an_interrupt_while_a_snapshot_is_awaited_loses_no_outcome(world: World) -> None:
    """A signal in a notebook, after the last statement of a file and before its table is read: the file is applied."""
    world.begin()
    ended = threading.Event()

    def interrupt(table: str) -> None:
        if len(found) == 2:
            time.sleep(0.2)  # The run waits for this read by then.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            ended.wait(30)

    found = reads(world, interrupt)
    world.file("1_a.sql", CREATE)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    ended.set()
    assert world.kinds == [("started", "1"), ("applied", "1")]
    assert unread(world) == ["no answer within 30 s"]


def test_a_session_is_not_closed_while_a_read_uses_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is lost while the second file's table is read. SQLite's library, for one, would crash the process."""
    events: list[str] = []
    close = FakeSession.close

    def lose(_: object) -> None:
        world.tables.locks["shop"] = replace(held_row("thief"), fence=2)
        monkeypatch.setattr("glacierbase.run.clock.seconds", lambda: math.inf)

    def read(table: str) -> None:
        time.sleep(0.2)
        events.append(table)

    def closed(session: FakeSession) -> None:
        events.append("closed")
        close(session)

    world.engine.before_read = read
    monkeypatch.setattr(FakeSession, "close", closed)
    world.file("1_a.sql", CREATE)
    world.file("2_b.sql", "CREATE TABLE u (a INT)")
    world.break_at(CREATE, lose)
    with pytest.raises(LockLost):
        world.migrate()
    assert events[-2:] == ["spark_catalog.default.u", "closed"]


def test_with_record_off_no_table_is_read(world: World) -> None:
    """The history holds what it held before there were records."""
    world.begin()
    found = reads(world)
    world.variables = "record: off\n"
    world.file("1_a.sql", CREATE)
    world.migrate()
    assert found == []
    assert table_records(world.events[-1]) == ()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE VIEW v AS SELECT 1", {}),
        ("CREATE TEMPORARY TABLE x (a INT); INSERT INTO x VALUES (1)", {}),
        ("/* not understood */ FROBNICATE t", {}),
    ],
)
def test_only_tables_are_read(
    sql: str, expected: dict[str, str], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views have no shape of their own, and a temporary table ends with its session."""
    found = reads(world)
    world.file("1_a.sql", sql)
    world.engine.before = lambda text: None
    monkeypatch.setattr(FakeSession, "execute", lambda *_, **__: None)
    world.migrate()
    assert found == []


def test_a_name_after_use_is_not_guessed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A qualified name beside it is read."""
    monkeypatch.setattr(FakeSession, "execute", lambda *_, **__: None)
    world.file("1_a.sql", "USE other.a; INSERT INTO t VALUES (1); INSERT INTO spark_catalog.default.u VALUES (1)")
    world.migrate()
    assert unread(world) == [_DEPENDS, None]


def test_the_value_of_a_secret_property_is_not_recorded() -> None:
    """The key makes a property secret, as nobody registered its value; the property itself is recorded."""
    shape = Shape("lake.a.t", "u", "iceberg", 2, (Column(1, "a", "int"),), properties={"s3.session-token": "canary"})
    assert as_recorded(shape).properties == {"s3.session-token": "***"}
    recorded = to_document(TableRecord("lake.a.t", as_recorded(shape)))
    assert "canary" not in json.dumps(recorded)


def test_a_masked_shape_is_no_change(world: World) -> None:
    """The record holds no secret, so the table is compared without it, too."""
    register("canary-in-a-comment")
    shape = Shape(
        "lake.a.t", "u", "iceberg", 2, (Column(1, "a", "int", comment="canary-in-a-comment"),), properties={"k": "v"}
    )
    assert as_recorded(shape).columns[0].comment == "***"
    assert as_recorded(as_recorded(shape)) == as_recorded(shape)
    world.file("1_a.sql", CREATE)
    world.migrate()
    details = json.dumps({"tables": [to_document(TableRecord("lake.a.t", as_recorded(shape))), {"table": 7}]})
    [damaged] = [replace(event, details=details) for event in world.events if event.event == "applied"]
    for event in (damaged, replace(damaged, details=details.replace(', {"table": 7}', ""))):
        history = fold([world.events[0], event])
        assert last_shapes(history, {"lake.a.t": None}) == {
            "lake.a.t": None if event is damaged else as_recorded(shape)
        }
