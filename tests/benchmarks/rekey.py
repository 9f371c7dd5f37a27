"""A re-key of objects: objects a second of the backfill beside a bare loop with as many connections, and requests by phase."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glacierbase.capabilities.rekey import actions, tasks
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.executors.spark.session import SparkSessionPort
from tests.benchmarks.measure import python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row
from tests.support.motostore import MotoStore, moto_store

OBJECTS = int(os.environ.get("GLACIERBASE_OBJECTS", "5000"))
TASKS = (1, 2, 4)
OLD, NEW = "date={date}/id={id}/{file}", "id_reversed={id:reversed}/date={date}/{file}"
# As many threads as all tasks together have requests in flight at most.
BARE = """\
from concurrent.futures import ThreadPoolExecutor
import boto3
from botocore.config import Config
s3 = boto3.client("s3", config=Config(max_pool_connections={threads}))
def copy(key):
    _, date, id, file = key.split("/")
    target = "bare/{threads}/id_reversed=" + id[3:][::-1] + "/" + date + "/" + file
    s3.copy_object(Bucket="{bucket}", Key=target, CopySource={{"Bucket": "{bucket}", "Key": key}})
pages = s3.get_paginator("list_objects_v2").paginate(Bucket="{bucket}", Prefix="events/date=")
with ThreadPoolExecutor({threads}) as pool:
    list(pool.map(copy, [entry["Key"] for page in pages for entry in page["Contents"]]))
"""
PHASES = ("verify_dual_write", "backfill", "validate", "clean_up")


def rows(order: Order) -> Iterator[Row | Absent]:
    """The backfill with 1, 2 and 4 tasks, then the requests of each phase for each object, chunked and by object."""
    for count in TASKS:
        with _store(OBJECTS, order.folder) as (store, spark):
            began = time.monotonic()
            _call("backfill", store, spark, order, tasks=str(count))
            ours = OBJECTS / (time.monotonic() - began)
            threads = count * tasks._LARGEST_WINDOW
            bare = run(
                python(
                    "loop", BARE.format(bucket=store.bucket, threads=threads), order.folder, environ=store.environment
                )
            )
            what = f"backfill of {OBJECTS:,} objects, {count} tasks: objects a second, with two listings of both sides"
            figures = (Figure.of([value], "objects/s") for value in (ours, OBJECTS / bare.seconds))
            yield Row(what, next(figures), f"boto3 with {threads} threads", next(figures))
    for objects in (OBJECTS, 10 * OBJECTS):
        for journal_rows in ("chunks", "objects"):
            with _store(objects, order.folder) as (store, spark):
                for phase in PHASES:
                    before, began = store.requests.copy(), time.monotonic()
                    more = {"journal_rows": journal_rows} if phase == "backfill" else {}
                    _call(phase, store, spark, order, tasks="4", **more)
                    seconds = time.monotonic() - began
                    made = store.requests - before
                    kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(made.items()))
                    what = f"{objects:,} objects, journal by {journal_rows}: {phase}: requests ({kinds}) in {seconds:.1f} s"
                    yield Row(what, Figure.of([made.total()], "requests"), "objects", Figure.limit(objects, "requests"))


def _call(phase: str, store: MotoStore, spark: Any, order: Order, **more: str) -> None:
    arguments = {
        "objects": f"s3://{store.bucket}/events/", "old_keys": OLD, "new_keys": NEW, "lag_seconds": "0", "window_seconds": "0",
        "soak_seconds": "0", **more,
    }  # fmt: skip
    act: Callable[[ActionRun], None] = getattr(actions, phase)
    try:
        act(
            ActionRun(
                arguments, SparkSessionPort(spark.newSession()), "tag", lambda _: None, lambda: None, order.folder
            )
        )
    except GateShut as shut:
        if "not approved" not in shut.why:
            return
        from glacierbase.capabilities.rekey.approval import approve

        shown = approve(order.folder, arguments["objects"], journal="", manifest=None, by="")
        approve(order.folder, arguments["objects"], journal="", manifest=shown.manifest, by="")
        _call(phase, store, spark, order, **more)


@contextmanager
def _store(count: int, folder: Path) -> Iterator[tuple[MotoStore, Any]]:
    """Yield a store with objects, and a Spark whose tasks reach it."""
    from pyspark.sql import SparkSession

    with moto_store() as store:
        s3, before = store.client(), dict(os.environ)
        for number in range(count):
            key = f"events/date=2026-01-{number % 28 + 1:02}/id={100 + number}/{number}.parquet"
            s3.put_object(Bucket=store.bucket, Key=key, Body=b"x" * (number % 100))
        os.environ.update(store.environment)
        builder = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.warehouse.dir", f"file://{folder}/spark").getOrCreate()
        # The JVM, which outlives its Spark, has the variables of the first store.
        spark.sparkContext.environment.update(store.environment)
        try:
            yield store, spark
        finally:
            spark.stop()
            os.environ.clear()
            os.environ.update(before)
