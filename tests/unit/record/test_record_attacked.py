"""The record of tables changes no outcome and blames no migration wrongly, on the fakes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.errors import MigrationFailed
from glacierbase.history.records import fold
from glacierbase.model.shape import Shape
from glacierbase.record import table_reader
from glacierbase.record.table_reader import PendingSnapshots, Snapshots, TableReader
from glacierbase.record.timeline import timelines
from tests.support.fakes import FakeSession
from tests.support.world import World
from tests.unit.record.test_table_records import ADD_B, ADD_C, CREATE, reads, told, unread


@pytest.mark.parametrize(
    ("files", "kinds"),
    [
        ([CREATE], [("started", "1"), ("applied", "1")]),
        ([CREATE, ADD_B], [("started", "1"), ("applied", "1")]),
        ([f"{CREATE}; INSERT INTO missing VALUES (1)"], [("started", "1"), ("statement_done", "1"), ("failed", "1")]),
    ],
)
def test_an_interrupt_while_shapes_are_awaited_loses_no_outcome(
    files: list[str], kinds: list[tuple[str, str]], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A KeyboardInterrupt in a notebook, while the append waits for a snapshot after the last statement."""
    snapshots, interrupted = TableReader.snapshots, list[str]()

    def interrupt(reader: TableReader, pending: PendingSnapshots) -> Snapshots:
        found = snapshots(reader, pending)  # The fake's session must not be closed while a thread uses it.
        if any(name == "complete" for name in callers()) and not interrupted:
            interrupted.append("now")
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(TableReader, "snapshots", interrupt)
    for number, sql in enumerate(files, start=1):
        world.file(f"{number}_a.sql", sql)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    assert interrupted
    assert world.kinds == kinds


def callers() -> list[str]:
    """Return the names of the functions that are being called."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        found.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return found


def test_a_read_that_cannot_begin_stops_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may refuse a new thread."""

    def refuse() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(table_reader, "Caller", refuse)
    world.file("1_a.sql", f"{CREATE}; INSERT INTO missing VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    assert world.kinds[-1] == ("failed", "1")


def test_what_breaks_a_thread_breaks_no_run(world: World) -> None:
    """A panic of a native library is no `Exception`."""

    def panic(table: str) -> None:
        raise SystemExit(3)

    reads(world, panic)
    world.file("1_a.sql", CREATE)
    world.migrate()
    assert world.kinds == [("started", "1"), ("applied", "1")]


def test_a_change_by_a_statement_that_is_not_understood_is_not_from_outside(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of a statement that is not understood may have changed any table."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    execute = FakeSession.execute

    def run(session: FakeSession, sql: str, **options: Any) -> Any:
        return execute(session, ADD_B if "FROBNICATE" in sql else sql, **options)

    monkeypatch.setattr(FakeSession, "execute", run)
    world.file("2_b.sql", "FROBNICATE t")
    world.file("3_c.sql", "ALTER TABLE t ADD COLUMN c INT")
    world.migrate()
    assert told(world)[1:] == [("3", "ab", "not recorded"), ("3", "abc", "migration")]
    world.engine.rows("ALTER TABLE t ADD COLUMN d INT")
    world.file("4_c.sql", "ALTER TABLE t ADD COLUMN e INT")
    world.migrate()
    assert told(world)[3:] == [("4", "abcd", "outside"), ("4", "abcde", "migration")]


def test_a_shape_that_shows_less_than_the_one_before_is_no_change(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its metadata cannot be read, an engine describes an Iceberg table without ids."""
    less: list[bool] = []
    original = FakeSession.shape

    def shape(session: FakeSession, table: str) -> Shape | None:
        found = original(session, table)
        return found and replace(found, format="iceberg", uuid=None if less else "u")

    monkeypatch.setattr(FakeSession, "shape", shape)
    world.file("1_a.sql", CREATE)
    world.migrate()
    less.append(True)
    world.file("2_b.sql", ADD_B)
    world.migrate()
    assert unread(world) == ["less of it could be read than before"]
    less.clear()
    world.file("3_c.sql", ADD_C)
    world.migrate()
    assert told(world)[1:] == [("3", "ab", "not recorded"), ("3", "abc", "migration")]


def test_a_file_with_no_statement_left_is_not_blamed_for_what_others_did(world: World) -> None:
    """A person deleted the statement that failed, and somebody changed the table meanwhile."""
    path = world.file("1_a.sql", f"{CREATE}; INSERT INTO missing VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    world.engine.rows("ALTER TABLE t ADD COLUMN x INT")
    path.write_text(path.read_text().replace("; INSERT INTO missing VALUES (1)", ""))
    world.migrate()
    assert world.kinds[-1] == ("applied", "1")
    assert told(world) == [("1", "a", "migration"), ("1", "ax", "outside")]


@pytest.mark.parametrize("tables", [7, [7], [{"table": ["t"]}], [{"table": "t", "after": 7}], {"a": 1}])
def test_a_damaged_record_stops_no_migration(tables: object, world: World) -> None:
    """A record is evidence: only what reads it refuses it."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    details = json.dumps(json.loads(world.events[-1].details or "{}") | {"tables": tables})
    world.tables.histories["shop"][-1] = replace(world.events[-1], details=details)
    world.file("2_b.sql", ADD_B)
    world.migrate()
    assert world.kinds[-1] == ("applied", "2")
    with pytest.raises(Exception, match="is not readable"):
        timelines(fold(world.events), {"t"})
