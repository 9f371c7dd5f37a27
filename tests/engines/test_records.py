"""The shapes of tables that real runs record: who made which change, on each engine."""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest

from glacierbase import GlacierbaseError, Project
from glacierbase.history.records import fold
from glacierbase.model.migration import Event
from glacierbase.record.live import TableShapes
from glacierbase.record.shapes import table_records
from glacierbase.record.timeline import timelines
from glacierbase.stores.iceberg import open_store
from tests.support.beds import LakeBed, SnowBed
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.snowflake.bed import SnowflakeServer

Told = list[tuple[str | None, list[str] | None, str]]


def told(events: tuple[Event, ...]) -> dict[str, Told]:
    """Return version, columns and origin of each moment, by table."""
    return {
        found.table: [
            (
                each.event.version,
                [column.name for column in each.shape.columns] if each.shape else None,
                str(each.origin),
            )
            for each in found.moments
        ]
        for found in timelines(fold(events))
    }


def history_of(project: ProjectFolder) -> tuple[Event, ...]:
    with closing(open_store(only_catalog(project.root))) as store:
        return store.read_history()


def test_on_snowflake_a_file_costs_at_most_two_requests_more(
    emulated: SnowBed, snowflake_server: SnowflakeServer, project: ProjectFolder
) -> None:
    """One request comes before the first file and one after each, and one more before a first run.

    A change from outside is recorded separately, without ids.
    """

    def requests(text: str, name: str, sql: str) -> list[str]:
        """Run one more file; return the statements that its run sent, and its logins."""
        project.catalog(text)
        project.file(name, sql)
        begin = len(snowflake_server.requests)
        Project.load(project.root).migrate()
        return [
            each.get("sql", "login")
            for each in snowflake_server.requests[begin:]
            if "sql" in each or "login" in each["path"]
        ]

    table, text = f"{emulated.schema()}.T", emulated.catalog_file()
    first = requests(text, "1_a.sql", f"CREATE TABLE {table} (ID INT NOT NULL)")
    assert first.count(f"DESCRIBE TABLE {table}") == 3
    without = requests(f"{text}record: off\n", "2_b.sql", f"ALTER TABLE {table} ADD COLUMN B VARCHAR(10)")
    more = requests(text, "3_c.sql", f"ALTER TABLE {table} ADD COLUMN C INT")
    assert len(more) - len(without) == more.count(f"DESCRIBE TABLE {table}") == 2
    [history] = Project.load(project.root).history()
    assert told(history.events)[table] == [
        ("1", ["ID"], "migration"), ("3", ["ID", "B"], "not recorded"), ("3", ["ID", "B", "C"], "migration"),
    ]  # fmt: skip


def test_the_history_of_a_table_of_iceberg_is_read_from_its_records(lake: LakeBed, project: ProjectFolder) -> None:
    """Renamed, changed from outside, failed, renamed as a whole, dropped and made anew: each change has its file."""
    space = f"lake.r{uuid.uuid4().hex[:8]}"
    table = f"{space}.t"
    project.catalog(f"{lake.text}store: {{catalog: lake, namespace: {space[5:]}}}\n")
    project.file("1_a.sql", f"CREATE TABLE {table} (id BIGINT, p STRUCT<x: INT>) USING iceberg")
    project.file("2_b.sql", f"ALTER TABLE {table} RENAME COLUMN id TO key; INSERT INTO {table} VALUES (1, NULL)")
    Project.load(project.root).migrate(spark=lake.spark)
    with closing(lake.executor.open_session()) as session:
        session.execute(f"ALTER TABLE {table} ADD COLUMN hand INT")
    project.file("3_c.sql", f"ALTER TABLE {table} ADD COLUMN c INT; INSERT INTO {space}.missing VALUES (1)")
    with pytest.raises(GlacierbaseError):
        Project.load(project.root).migrate(spark=lake.spark)
    Project.load(project.root).repair(["3"], as_="abandoned", reason="test")
    project.file(
        "4_d.sql", f"ALTER TABLE {table} RENAME TO {space[5:]}.u; ALTER TABLE {space}.u ADD PARTITION FIELD key"
    )
    project.file("5_e.sql", f"DROP TABLE {space}.u; CREATE TABLE {space}.u (a INT) USING iceberg")
    Project.load(project.root).migrate(spark=lake.spark)
    events = history_of(project)
    first, second = timelines(fold(events))
    assert [each.origin.value for each in (*first.moments, *second.moments)].count("migration") == 6
    names = ["key", "p", "p.x"]
    assert [(each.event.version, each.shape and [column.name for column in each.shape.columns]) for each in first.moments] == [
        ("1", ["id", "p", "p.x"]), ("2", names), ("3", [*names, "hand"]), ("3", [*names, "hand", "c"]),
        ("4", [*names, "hand", "c"]), ("5", None),
    ]  # fmt: skip
    assert [each.origin.value for each in first.moments if each.event.version == "3"] == ["outside", "migration"]
    assert first.moments[4].shape
    assert [each.source for each in first.moments[4].shape.partitioning] == ["key"]
    assert [(each.event.version, each.shape and each.shape.table) for each in second.moments] == [("5", f"{space}.u")]
    with closing(TableShapes(only_catalog(project.root))) as shapes:
        assert second.shape == shapes.read(f"{space}.u")
    assert [each.unread for event in events for each in table_records(event)].count(None) >= 5


def test_names_after_use_are_those_that_spark_means(lake: LakeBed, project: ProjectFolder) -> None:
    """A catalog and a namespace, a namespace alone, two in one file, and one in the part of a file that had run before."""
    spaces = [f"r{uuid.uuid4().hex[:8]}" for _ in "ab"]
    first, second = (f"lake.{each}" for each in spaces)
    project.catalog(f"{lake.text}store: {{catalog: lake, namespace: {spaces[0]}}}\n")
    with closing(lake.executor.open_session()) as session:
        session.execute(f"CREATE NAMESPACE {second}")
    create = "CREATE TABLE t (id BIGINT) USING iceberg"
    project.file("1_a.sql", f"USE {first}; {create}; USE {second}; {create}")
    project.file(
        "2_b.sql", f"USE lake; USE {spaces[1]}; ALTER TABLE t ADD COLUMN b INT; INSERT INTO missing VALUES (1)"
    )
    with pytest.raises(GlacierbaseError):
        Project.load(project.root).migrate(spark=lake.spark)
    project.file(
        "2_b.sql", f"USE lake; USE {spaces[1]}; ALTER TABLE t ADD COLUMN b INT; ALTER TABLE t ADD COLUMN c INT"
    )
    Project.load(project.root).migrate(spark=lake.spark)
    asked = Project.load(project.root)
    [drift] = asked.drift(tables=[f"{first}.t", f"{second}.t"])
    assert (drift.drifts, drift.compared, drift.not_recorded) == ((), 2, ())
    for space, made in ((first, {"id": "1"}), (second, {"id": "1", "b": "2", "c": "2"})):
        [blamed] = asked.blame(f"{space}.t")
        assert {each.name: each.version for each in blamed.lines_ if each.kind == "column"} == made
        [history] = asked.history(table=f"{space}.t")
        assert {each.version for each in history.events} == {"1", *made.values()}
