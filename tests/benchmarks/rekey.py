"""A re-key of objects: the backfill beside a bare loop with as many connections; requests and journal by phase."""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from glacierbase.capabilities.rekey import actions, tasks
from glacierbase.capabilities.rekey.approval import approve
from glacierbase.capabilities.rekey.journal import journal_path
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.executors.spark.session import SparkSessionPort
from tests.benchmarks.measure import python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row
from tests.support.dynamodb import dynamodb_local, make_journal
from tests.support.objectstore import BUCKET, ObjectStore, object_store

OBJECTS = int(os.environ.get("GLACIERBASE_OBJECTS", "5000"))
# Seconds that the server waits before each answer: connections, and not the processors that both sides share with it, are to be the
# limit. S3 takes about as long to copy some tens of MB.
LATENCY = float(os.environ.get("GLACIERBASE_LATENCY", "0.5"))
TASKS = (1, 2, 4)
ADDRESS = f"s3://{BUCKET}/events/"
OLD, NEW = "date={date}/id={id}/{file}", "id_reversed={id:reversed}/date={date}/{file}"
# As many threads as all tasks together have requests in flight at most.
BARE = """\
from concurrent.futures import ThreadPoolExecutor
import boto3
from botocore.config import Config
s3 = boto3.client("s3", config=Config(max_pool_connections={threads}))
def copy(key):
    _, date, id, file = key.split("/")
    target = "bare/id_reversed=" + id[3:][::-1] + "/" + date + "/" + file
    s3.copy_object(Bucket="{bucket}", Key=target, CopySource={{"Bucket": "{bucket}", "Key": key}})
pages = s3.get_paginator("list_objects_v2").paginate(Bucket="{bucket}", Prefix="events/date=")
with ThreadPoolExecutor({threads}) as pool:
    list(pool.map(copy, [entry["Key"] for page in pages for entry in page["Contents"]]))
"""
PHASES = ("backfill", "validate", "clean_up")


def rows(order: Order) -> Iterator[Row | Absent]:
    """The backfill with 1, 2 and 4 tasks, then the requests and the journal of each phase, chunked and by object."""
    with _store(100, order.folder) as (store, spark):
        first, second = (_backfill(store, spark, order, "4") for _ in range(2))
        yield Row("backfill of 100 objects by a new Spark", Figure.of([first]), "again", Figure.of([second]))
    for count in TASKS:
        with _store(OBJECTS, order.folder) as (store, spark):
            store.latency = LATENCY
            copies = _times_of_copies(store)
            seconds = _backfill(store, spark, order, str(count))
            copying = copies[-1] - copies[0]
            threads = count * tasks._LARGEST_WINDOW
            loop = BARE.format(bucket=BUCKET, threads=threads)
            copies.clear()
            bare = run(python("loop", loop, order.folder, environ=store.environment))
            bare_copying = copies[-1] - copies[0]
        for what, ours, theirs in (
            ("with two listings of both sides", seconds, bare.seconds),
            ("from the first copy to the last", copying, bare_copying),
        ):
            figures = (Figure.of([OBJECTS / value], "objects/s") for value in (ours, theirs))
            name = f"backfill of {OBJECTS:,} objects, {count} tasks, {LATENCY * 1000:g} ms an answer: {what}"
            yield Row(name, next(figures), f"boto3 with {threads} threads", next(figures))
    with dynamodb_local() as address:
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = address
        for objects in (OBJECTS, 10 * OBJECTS):
            for place in ("", "dynamodb"):
                for journal_rows in ("chunks", "objects"):
                    yield from _phases(order, objects, place, journal_rows)


def _phases(order: Order, objects: int, place: str, journal_rows: str) -> Iterator[Row]:
    with _store(objects, order.folder) as (store, spark), _counted() as writes:
        table = f"journal-{uuid.uuid4().hex[:8]}"
        if place:
            make_journal(boto3.client("dynamodb"), table)
        journal = {"journal": f"dynamodb:{table}"} if place else {}
        size = 0
        for phase in PHASES:
            before, began = len(store.log), time.monotonic()
            more = {"journal_rows": journal_rows} if phase == "backfill" else {}
            _call(phase, spark, order, tasks="4", **journal, **more)
            seconds = time.monotonic() - began
            made = Counter(method if key else "LIST" for method, key in store.log[before:])
            kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(made.items()))
            grown = (_items(table) if place else journal_path(ADDRESS, order.folder).stat().st_size) - size
            size += grown
            what = f"{objects:,} objects, {place or 'file'} with a row for {journal_rows}: {phase} in {seconds:.1f} s ({kinds})"
            what += f"; the journal grows by {grown:,} bytes" + (f", {writes.total():,} requests" if place else "")
            writes.clear()
            yield Row(what, Figure.of([made.total()], "requests"), "objects", Figure.limit(objects, "requests"))


def _items(table: str) -> int:
    """Return the bytes of the items of a table."""
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=table)
    return sum(len(name) + len(value["S"]) for page in pages for item in page["Items"] for name, value in item.items())


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Yield a counter of the requests to DynamoDB, by operation."""
    requests: Counter[str] = Counter()
    boto3.setup_default_session()
    boto3.DEFAULT_SESSION.events.register(
        "before-call.dynamodb.*", lambda model, **_: requests.update([model.name]) if model.name != "Scan" else None
    )
    yield requests
    boto3.setup_default_session()


def _times_of_copies(store: ObjectStore) -> list[float]:
    """Return a list to which the server adds the time of each copy."""
    times: list[float] = []

    def note(_: int, method: str, __: str) -> None:
        if method == "PUT":
            times.append(time.monotonic())

    store.fault = note
    return times


def _backfill(store: ObjectStore, spark: Any, order: Order, count: str) -> float:
    """Return the seconds of a backfill of objects that have no twins."""
    for key in [key for key in store.objects if "id_reversed=" in key]:
        del store.objects[key]
    began = time.monotonic()
    _call("backfill", spark, order, tasks=count)
    return time.monotonic() - began


def _call(phase: str, spark: Any, order: Order, **more: str) -> None:
    arguments = {
        "objects": ADDRESS, "old_keys": OLD, "new_keys": NEW, "lag_seconds": "0", "soak_seconds": "0", **more,
    }  # fmt: skip
    act: Callable[[ActionRun], None] = getattr(actions, phase)
    run = ActionRun(arguments, SparkSessionPort(spark.newSession()), "tag", lambda _: None, lambda: None, order.folder)
    try:
        act(run)
    except GateShut as shut:
        if "not approved" not in shut.why:
            raise
        shown = approve(order.folder, ADDRESS, journal=more.get("journal", ""), manifest=None, by="")
        approve(order.folder, ADDRESS, journal=more.get("journal", ""), manifest=shown.manifest, by="")
        _call(phase, spark, order, **more)


@contextmanager
def _store(count: int, folder: Path) -> Iterator[tuple[ObjectStore, Any]]:
    """Yield a store with objects and no journal of it, and a Spark whose tasks reach it."""
    from pyspark.sql import SparkSession

    with object_store() as store:
        before = dict(os.environ)
        for number in range(count):
            key = f"events/date=2026-01-{number % 28 + 1:02}/id={100 + number}/{number}.parquet"
            store.objects[key] = b"x" * (number % 100)
        journal_path(ADDRESS, folder).unlink(missing_ok=True)
        os.environ.update(store.environment)
        builder = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        spark = builder.config("spark.sql.warehouse.dir", f"file://{folder}/spark").getOrCreate()
        # The JVM, which outlives its Spark, has the variables of the first store.
        spark.sparkContext.environment.update(store.environment)
        try:
            yield store, spark
        finally:
            spark.stop()
            os.environ.clear()
            os.environ.update(before)
