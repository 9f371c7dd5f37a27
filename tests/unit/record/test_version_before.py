"""The version of a table is read before the statement that it may prove, and its snapshots name one statement only."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.errors import GlacierbaseError, Interrupted, OutcomeUnknown
from glacierbase.history.details import details_of
from glacierbase.model.shape import TableVersion
from glacierbase.run.processes import engine_process
from tests.support.fakes import FakeSession, lost_answer
from tests.support.lakes import CATALOGS, Lakes
from tests.support.processes import ended_process
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

TABLE = "lake.a.t"
BEFORE = TableVersion(TABLE, "uuid-1", "file:///t/metadata/00003-c.metadata.json", 7)


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A table in the fake engine, whose statements are proven by the table's version, and a file of two of them."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.engine.process = engine_process(os.getpid())
    world.engine.proving = TABLE
    world.tables.versions[TABLE] = BEFORE
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    return world


def test_a_stop_while_the_version_is_read_starts_no_statement(world: World) -> None:
    """The catalog may take long to answer; the signal is looked at after that."""
    stop = threading.Event()
    world.store_before = lambda verb: stop.set() if verb == "table_version" else None
    with pytest.raises(Interrupted):
        world.migrate(cancelled=stop.is_set)
    assert world.values() == []
    assert world.kinds == [("started", "1"), ("applied", "1")]


def test_a_stopped_run_reads_no_version(world: World) -> None:
    """The run records what is done, and ends without a further request."""
    stop, read = threading.Event(), list[str]()
    world.store_before = read.append
    world.break_at("VALUES (1)", lambda sql: stop.set())
    with pytest.raises(Interrupted):
        world.migrate(cancelled=stop.is_set)
    assert world.kinds[-2:] == [("statement_done", "2"), ("interrupted", "2")]
    assert read.count("table_version") == 1


def test_an_interrupt_while_the_version_is_read_leaves_no_statement_open(world: World) -> None:
    """After KeyboardInterrupt in a notebook, the statement before is recorded as done, and the next run continues after it."""
    read: list[str] = []

    def interrupt(verb: str) -> None:
        read.append(verb)
        if verb == "table_version" and read.count(verb) == 2:
            raise KeyboardInterrupt

    world.store_before = interrupt
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    assert world.kinds[-2:] == [("statement_done", "2"), ("interrupted", "2")]
    assert world.migrate().applied[0].resumed_at == 2
    assert world.values() == [1, 2]


def test_a_table_whose_version_cannot_be_read_is_read_once_in_a_run(world: World) -> None:
    """Each failure may take as long as a time limit."""
    read: list[str] = []

    def fail(verb: str) -> None:
        read.append(verb)
        if verb == "table_version":
            raise OutcomeUnknown("ValidationError", "no metadata that PyIceberg reads")

    world.store_before = fail
    world.migrate()
    assert world.values() == [1, 2]
    assert read.count("table_version") == 1


@pytest.mark.parametrize(
    ("sql", "before"),
    [("DROP TABLE lake.a.t", TableVersion.absent(TABLE)), ("INSERT INTO lake.a.t SELECT 1", None)],
)
def test_a_table_that_pyiceberg_does_not_find_is_absent_for_a_plain_statement_alone(
    sql: str, before: TableVersion | None, world: World
) -> None:
    """For another statement it may be one of another format in the same catalog."""
    world.tables.versions[TABLE] = TableVersion.absent(TABLE)
    world.engine.process = ended_process()
    world.file("2_b.sql", sql)
    with pytest.raises(GlacierbaseError, match="lake"):  # There is no such table in the fake engine.
        world.migrate()
    recorded = {details_of(event).before for event in world.events if event.version == "2" and event.event == "started"}
    assert recorded == {before}


def test_a_commit_of_another_catalog_in_the_same_command_proves_nothing(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two catalogs have a table in common, and a statement on it with the same version and index."""
    lakes = Lakes(project, monkeypatch)
    for catalog in CATALOGS:
        project.file("1_a.sql", "CREATE TABLE IF NOT EXISTS t (a INT); INSERT INTO t VALUES (1)", catalog)
    place, execute = lakes.place("dev"), FakeSession.execute
    place.engine.process, place.engine.proving = ended_process(), TABLE
    place.tables.versions[TABLE] = BEFORE
    lost: list[str] = []

    def lose_the_first(sql: str) -> None:
        if "INSERT" in sql and not lost:
            lost.append(sql)
            lost_answer()

    def commit(session: FakeSession, sql: str, parameters: Any = (), *, tag: str | None = None) -> None:
        execute(session, sql, parameters, tag=tag)
        if "INSERT" in sql:
            now = place.tables.versions[TABLE]
            place.tables.versions[TABLE] = replace(
                now, metadata=f"{now.metadata}+", previous=now.metadata, sequence=now.sequence + 1, tag=tag
            )

    place.engine.before = lose_the_first
    monkeypatch.setattr(FakeSession, "execute", commit)
    assert lakes.run("migrate --parallel 2").code == 6
    states = {place.events(catalog)[-1].state: catalog for catalog in CATALOGS}
    assert states.keys() == {"unknown", "applied"}
    again = lakes.run(f"migrate --catalog {states['unknown']}")
    assert (again.code, place.events(states["unknown"])[-1].state) == (6, "unknown"), again.stdout
    assert place.engine.rows("SELECT a FROM t") == [(1,)]
