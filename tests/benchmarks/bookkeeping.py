"""What the history costs per statement, against the statement itself, in one warm Spark session on the same catalog."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from glacierbase.apply.locked import locked
from glacierbase.executors.spark.java import find_java_home
from glacierbase.history.entries import Entry, FileColumns
from glacierbase.history.state import read_state
from glacierbase.model.migration import EventType, State
from glacierbase.record.table_records import TableRecords
from tests.benchmarks.applied import lake_project, target_of
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row
from tests.support.catalog_files import RUNTIME, SQLITE

# Four compactions fall among them.
STATEMENTS = 100
BARE = "ALTER TABLE lake.a.t SET TBLPROPERTIES ('step'='{}')"


def rows(order: Order) -> Iterator[Row | Absent]:
    """What is between two files of one statement: the look at the table, its version, the event, and the proof of the lock.

    By turns with the statement.
    """
    project = lake_project(order.folder / "bookkeeping")
    project.file("1_alter.sql", BARE.format(0))
    target = target_of(project.root)
    [compiled] = target.compile(target.migrations)
    entry = Entry(event=EventType.STATEMENT_DONE, state=State.RUNNING, file=FileColumns.of(compiled))
    steps = count()
    with (
        _spark(target.catalog.spark_conf) as spark,
        target.opened() as opened,
        locked(opened, read_state(opened), 0) as held,
    ):
        spark.sql("CREATE NAMESPACE lake.a")
        spark.sql("CREATE TABLE lake.a.t (a BIGINT) USING iceberg")

        records = TableRecords(held.target.catalog, held.engine, held.state.history)

        def alter() -> None:
            spark.sql(BARE.format(next(steps)))

        def record() -> None:
            """Record as `Runner` does between two files."""
            tables = records.of_file(compiled, 1, None)
            tables.begin_after(1)
            version = held.engine.tables.version("lake.a.t")
            held.lock.renew_if_expired()
            ended = entry.with_tables(tables.complete())
            held.recorder.append(replace(ended, details=replace(ended.details, before=version)))
            held.lock.prove()

        # The first round warms all up. Compaction comes behind a file.
        rounds = [_by_turns(alter, record, held.recorder.compact) for _ in range(1 + order.runs)][1:]
    bare, ours, _ = map(Figure.of, zip(*rounds, strict=True))
    with_share = Figure.of([both + share for _, both, share in rounds])
    against = f"bare `ALTER TABLE … SET TBLPROPERTIES`, mean of {STATEMENTS}"
    yield Row(f"bookkeeping per statement: event and proof, mean of {STATEMENTS}", ours, against, bare, 1)
    yield Row("the same with its share of the compactions", with_share, against, bare, 1.5)


def _by_turns(*actions: Callable[[], None]) -> list[float]:
    """Seconds that each of the actions takes, on average."""
    took = [0.0 for _ in actions]
    for _ in range(STATEMENTS):
        for number, action in enumerate(actions):
            started = time.perf_counter()
            action()
            took[number] += time.perf_counter() - started
    return [seconds / STATEMENTS for seconds in took]


@contextmanager
def _spark(conf: Mapping[str, str]) -> Iterator[Any]:
    """Spark as a user starts it."""
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java_home())
    builder = SparkSession.builder.master("local[*]").config(map=dict(conf))
    spark = builder.config("spark.jars.packages", f"{RUNTIME},{SQLITE}").getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
