"""Kills of a rekey of an Iceberg table while another process writes: the next run goes on, and no person is needed."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

from tests.crash.test_spark_kills import STORES
from tests.support.project_folder import ProjectFolder
from tests.support.spark_kills import migrate_killed

HASHED = re.compile(r".*/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/n=\d/[^/]+")
SEED = int(os.environ.get("GLACIERBASE_SEED", "0"))


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array([number % 4 for number in ids], pa.int64())})


class Writer(threading.Thread):
    """Commits a row at a time, as long as it is not told to end."""

    def __init__(self, lake: SqlCatalog) -> None:
        super().__init__()
        self._lake = lake
        self.ended = threading.Event()
        self.committed: list[int] = []

    def run(self) -> None:
        number = 1000
        while not self.ended.wait(0.5):
            try:
                self._lake.load_table("a.t").append(rows(number := number + 1))
            except CommitFailedException:
                continue
            self.committed.append(number)


@pytest.mark.spark
def test_a_rekey_that_is_killed_again_and_again_ends_with_every_row_once(tmp_path: Path) -> None:
    """At random statements of the backfill, before or after they take effect; `repair` is never needed."""
    folder = tmp_path / "project"
    project = ProjectFolder(folder)
    project.catalog(STORES["embedded"][1].replace("NAME", "lake").replace("FOLDER", str(folder)))
    lake = SqlCatalog("lake", uri=f"sqlite:///{folder}/lake.db?timeout=30", warehouse=f"file://{folder}/tables")
    project.file("0001_t.sql", "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (id BIGINT, n BIGINT) USING iceberg"
                 " PARTITIONED BY (n); ALTER TABLE lake.a.t SET TBLPROPERTIES ('commit.retry.num-retries' = '10')")  # fmt: skip
    assert project.run("migrate").code == 0
    for start in range(0, 40, 4):
        lake.load_table("a.t").append(rows(*range(start, start + 4)))
    assert project.run("rekey", "plan", "lake.a.t", "--to", "object-storage", "--author", "Ada").code == 0
    for path in (folder / "migrations").rglob("*2_of_3*.sql"):
        path.write_text(re.sub(r"bytes_per_range => \d+", "bytes_per_range => 1", path.read_text()))
    chance, writer = Random(SEED), Writer(lake)
    writer.start()
    try:
        for _ in range(4):
            migrate_killed(project, chance.randrange(1, 9), chance.choice(["before", "after"]))
        last = project.run("migrate")
    finally:
        writer.ended.set()
        writer.join()
    assert last.code == 0, last.stderr
    assert "waiting" not in last.stdout
    table = lake.load_table("a.t")
    paths = [task["file_path"] for task in table.inspect.data_files().to_pylist()]
    assert [path for path in paths if not HASHED.fullmatch(path)] == []
    assert len(writer.committed) > 3
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [*range(40), *writer.committed]
    assert "glacierbase_rekey" not in table.refs()
