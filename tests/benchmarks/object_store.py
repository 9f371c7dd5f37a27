"""What users have: tables on an object store. Requests by kind, and seconds at three latencies, against bare PyIceberg scripts."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.model.catalog import Catalog
from glacierbase.stores.iceberg import open_store
from tests.benchmarks.measure import glacierbase, python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row
from tests.support.objectstore import BUCKET, ObjectStore, catalog_file, object_store
from tests.support.project_folder import ProjectFolder

# Milliseconds; those of a request inside of a region are 10 to 60.
LATENCIES = (0, 20, 60)
FILES, RENEWALS = 20, 20
CREATE = "CREATE NAMESPACE lake.a;\nCREATE TABLE lake.a.t (a BIGINT) USING iceberg;"
ALTER = "ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='{}');"
# The bare scripts have a catalog of their own, in the same bucket.
OPEN = """\
from pyiceberg.catalog.sql import SqlCatalog
catalog = SqlCatalog("lake", uri="sqlite:///{database}", warehouse="s3://{bucket}/bare", **{properties})
"""
MAKE = """
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
catalog.create_namespace("a")
catalog.create_table("a.t", Schema(NestedField(1, "a", LongType(), required=False)))
"""
CHANGE = """
for number in range({}):
    with catalog.load_table("a.t").transaction() as transaction:
        transaction.set_properties(round=str(number))
"""
ONE_ROW = "\nimport pyarrow\nrow = pyarrow.table({'a': [1]})\n"
SCAN = "\ncatalog.load_table('a.t').scan().to_arrow()\n"
RENEW = f"\n{ONE_ROW}for number in range({RENEWALS}):\n    catalog.load_table('a.t').overwrite(row)\n"


@dataclass(frozen=True)
class Case:
    """An operation, and the bare script beside it.

    Attributes:
        limit: the most requests; None without one.
        of: by how much the requests of both sides are divided.
    """

    what: str
    command: Callable[[], object]
    script: str
    limit: int | None = None
    of: int = 1


def rows(order: Order) -> Iterator[Row | Absent]:
    """Each operation at each latency; the requests are the same at all of them."""
    for number, latency in enumerate(LATENCIES):
        with object_store() as s3:
            s3.latency = latency / 1000
            bench = _Bench(order.folder / f"object-store-{number}", s3)
            for case in bench.cases():
                ours, requests = bench.measured(case.command)
                theirs, bare = bench.measured(bench.script(case.script))
                if latency == 0:
                    kinds = ", ".join(f"{total} {kind}" for kind, total in sorted(requests.items()))
                    mine, others = (Figure.limit(sum(each.values()) / case.of, "requests") for each in (requests, bare))
                    yield Row(f"{case.what}: requests ({kinds})", mine, "bare PyIceberg script", others)
                    if case.limit:
                        yield Row(f"{case.what}: requests", mine, "limit", Figure.limit(case.limit, "requests"), 1)
                yield Row(
                    f"{case.what}, {latency} ms a request", Figure.of([ours / case.of]), "bare PyIceberg script",
                    Figure.of([theirs / case.of]),
                )  # fmt: skip


class _Bench:
    """A project in a bucket, and a bare catalog beside it."""

    def __init__(self, folder: Path, s3: ObjectStore) -> None:
        self._s3 = s3
        self._folder = folder
        self._project = ProjectFolder(folder)
        (folder / "warehouse").mkdir()
        text = catalog_file(s3, folder / "warehouse/catalog.db")
        other = f"uri: 'sqlite:///{folder}/warehouse/prod.db', warehouse: 's3://{BUCKET}/prod'"
        self._project.catalog(
            f"{text}environments:\n  dev: {{}}\n  prod: {{migrationExecutor: {{conf: {{properties: {{{other}}}}}}}}}\n"
            "defaultEnvironment: dev\n"
        )
        self._versions = count(1)

    def cases(self) -> Iterator[Case]:
        """Yield the operations, each after what it needs was made."""
        one = CHANGE.format(1)
        self._add(CREATE)
        yield Case("first `migrate`, two statements", self._program("migrate"), MAKE, 40)
        self._add()
        yield Case("`migrate` of one ALTER", self._program("migrate"), one, 28)
        self._add(times=FILES)
        yield Case(f"`migrate` of {FILES} files, each", self._program("migrate"), CHANGE.format(FILES), 8, FILES)
        self.script(f"{ONE_ROW}catalog.load_table('a.t').append(row)\n")()
        for question, limit in (("pending", 10), ("status", 10), ("blame", 12), ("schema", 12)):
            table = ("lake.a.t",) if question in ("blame", "schema") else ()
            yield Case(f"`{question}`", self._program(question, *table), SCAN, limit)
        run(glacierbase(self._folder, "migrate", "--env", "prod"))
        yield Case("`compare` of two environments", self._program("compare", "dev", "prod"), SCAN * 2)
        yield Case("a renewal of the lock", self._renewals, RENEW, 5, RENEWALS)
        self._add()
        self._hold()
        yield Case("`migrate` of one ALTER that takes over the lock", self._program("migrate"), one)

    def measured(self, action: Callable[[], object]) -> tuple[float, Counter[str]]:
        """Return the seconds of an action, and its requests by method."""
        begun, started = len(self._s3.log), time.perf_counter()
        action()
        seconds = time.perf_counter() - started
        return seconds, Counter(method for method, _ in self._s3.log[begun:])

    def script(self, text: str) -> Callable[[], object]:
        """Return what runs the bare script."""
        start = OPEN.format(
            database=self._folder / "warehouse/bare.db", bucket=BUCKET, properties=json.dumps(self._s3.properties())
        )  # fmt: skip
        return lambda: run(python("bare PyIceberg", start + text, self._folder))

    def _program(self, *arguments: str) -> Callable[[], object]:
        return lambda: run(glacierbase(self._folder, *arguments))

    def _add(self, sql: str = "", times: int = 1) -> None:
        for _ in range(times):
            version = next(self._versions)
            self._project.file(f"{version:04d}_step.sql", sql or ALTER.format(version))

    def _renewals(self) -> None:
        with closing(open_store(self._catalog())) as store:
            row = store.read_lock()
            assert row
            for beat in range(row.beat, row.beat + RENEWALS):
                assert store.compare_and_set(replace(row, beat=beat), replace(row, beat=beat + 1))

    def _hold(self) -> None:
        """Leave the lock as a run on another machine that died a day ago leaves it."""
        with closing(open_store(self._catalog())) as store:
            row = store.read_lock()
            assert row
            then = datetime.now(timezone.utc) - timedelta(days=1)
            holder = json.dumps({"host": "another", "pid": 1, "lease_seconds": 60})
            dead = replace(row, owner="dead", fence=row.fence + 1, acquired_at=then, expires_at=then, holder=holder)
            assert store.compare_and_set(row, dead)

    def _catalog(self) -> Catalog:
        [file] = load_catalog_files(self._folder / "catalogs", self._folder)
        return file.for_environment("dev", self._folder)
