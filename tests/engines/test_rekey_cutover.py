"""Readers that are switched to new keys step by step, and back, by the files of `rekey plan`: a real Spark, a metastore of Hive, an
S3 server on loopback."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.capabilities.rekey.journal import SqliteJournal, journal_path, state
from tests.support.beds import LakeBed
from tests.support.project_folder import ProjectFolder
from tests.support.s3a import BUCKET, s3_of_moto, s3a_bed

STEPS = (1, 10, 50, 100)
DAYS = ("007", "__HIVE_DEFAULT_PARTITION__")
# As writers wrote them: a day is a number; of ids, some escape what Spark would escape, and some do not.
IDS = ("100", "007", "a'b", "`x`", "k%3Dv", "ü€", "a b", 'q"q', "back\\slash", "__HIVE_DEFAULT_PARTITION__")

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[str, Any]]:
    with s3_of_moto() as made:
        yield made


@pytest.fixture(scope="module")
def bed(store: tuple[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeBed]:
    folder = tmp_path_factory.mktemp("s3a") / "project"
    with s3a_bed(store[0], folder) as bed:
        bed.spark.sql(f"CREATE DATABASE web LOCATION 'file:{folder}/web'")
        bed.spark.sql("CREATE NAMESPACE lake.web")
        yield bed


class DataSet:
    """Objects with old keys, the tables on them, and the project that gives them new keys."""

    def __init__(self, bed: LakeBed, s3: Any, folder: ProjectFolder) -> None:
        self.bed, self.s3, self.folder = bed, s3, folder
        self.name = f"events_{uuid.uuid4().hex[:8]}"
        self.address = f"s3://{BUCKET}/{self.name}/"
        folder.catalog(bed.text, self.name)
        for day in DAYS:
            for number, id in enumerate(IDS):
                rows = [{"n": number, "text": f"{day} {id}"}, {"n": -number, "text": "ü"}]
                self.put(f"by_day/day={day}/id={id}/a.json", rows)
        # The columns of the two tables come in another order.
        self.create(self.old, "n BIGINT, text STRING, day INT, id STRING", "day, id", "by_day")
        self.create(self.new, "text STRING, n BIGINT, id_reversed STRING, day INT", "id_reversed, day", "by_id")
        self.sql(f"MSCK REPAIR TABLE {self.old}")

    @property
    def old(self) -> str:
        return f"spark_catalog.web.{self.name}"

    @property
    def new(self) -> str:
        return f"{self.old}_new"

    @property
    def project(self) -> Project:
        return Project.load(self.folder.root)

    def put(self, key: str, rows: list[dict[str, Any]]) -> None:
        body = "".join(json.dumps(row) + "\n" for row in rows).encode()
        self.s3.put_object(Bucket=BUCKET, Key=f"{self.name}/{key}", Body=body)

    def create(self, table: str, columns: str, partitions: str, folder: str) -> None:
        place = f"LOCATION 's3a://{BUCKET}/{self.name}/{folder}'"
        self.sql(f"CREATE TABLE {table} ({columns}) USING json PARTITIONED BY ({partitions}) {place}")

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.bed.spark.newSession().sql(text).collect()]

    def plan(self, **readers: str) -> None:
        """Write the files, without the one that waits for writers and the one that deletes; copy and validate."""
        [result] = self.project.rekey_plan(
            self.address, [self.name], keys="by_day/day={day}/id={id}/{file}",
            to="by_id/id_reversed={id:reversed}/day={day}/{file}", author="Ada", spark=self.bed.spark, **readers,
        )  # fmt: skip
        first, *files = [self.folder.root / path for path in result.files]
        first.unlink()
        for path in files[:2]:
            path.write_text(re.sub("lag_seconds => [0-9]+", "lag_seconds => 0", path.read_text()))
        files.pop().unlink()
        switching = files[-1].read_text()
        files[-1].unlink()
        self.migrate()
        files[-1].write_text(switching)
        self.sql(f"MSCK REPAIR TABLE {self.new}")

    def migrate(self) -> Any:
        [result] = self.project.migrate([self.name], spark=self.bed.spark)
        return result

    def percent(self) -> int | None:
        return state(SqliteJournal(journal_path(self.address, self.folder.root)), "cutover").get("percent")

    def files(self, table: str) -> set[str]:
        """Return the folders of the files that a reader of a table or view reads: those of old and of new keys."""
        return {
            row[0].split(f"/{self.name}/")[1] for row in self.sql(f"SELECT DISTINCT input_file_name() FROM {table}")
        }

    def share(self, table: str) -> float:
        """Return which share of the files is read by new keys."""
        files = self.files(table)
        return len([name for name in files if name.startswith("by_id/")]) / len(files)


@pytest.fixture
def data(bed: LakeBed, store: tuple[str, Any], project: ProjectFolder) -> DataSet:
    return DataSet(bed, store[1], project)


@contextmanager
def reading(data: DataSet, query: str) -> Iterator[None]:
    """Read all the while, in a session that stays and in new ones; each answer is the same, and none fails."""
    expected, kept = data.sql(query), data.bed.spark.newSession()
    ended, others, answers = threading.Event(), list[Any](), list[int]()

    def read() -> None:
        while not ended.is_set():
            for session in (kept, kept.newSession()):
                try:
                    rows = [tuple(row) for row in session.sql(query).collect()]
                except Exception as error:
                    rows = [(str(error),)]
                others.extend(rows if rows != expected else [])
                answers.append(len(rows))
            ended.wait(0.5)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        ended.set()
        reader.join()
    assert others == []
    assert len(answers) >= 2


def switch_and_return(data: DataSet, read: str) -> list[float]:
    """Take each of the steps, and the way back from each, in place of the statements that did not run, as the comment says.

    Args:
        read: the table or view that readers read.

    Returns:
        The share of files that was read by new keys after each step.
    """
    file = next((data.folder.root / "migrations" / data.name).glob("*_4_of_5_*.sql"))
    head, *steps = re.split(r"(?=^CALL )", file.read_text(), flags=re.MULTILINE)
    way_back, shares = re.sub("(?m)^-- ?", "", head[head.index("-- CALL") :]), list[float]()
    file.unlink()
    for number, percent in enumerate(STEPS, start=1):
        path = file.with_name(f"{number:03}0_up_to_{percent}.sql")
        begun = [re.sub("hold_seconds => [0-9]+", "hold_seconds => 0", step) for step in steps[:number]]
        path.write_text(head + "".join([*begun, *steps[number:]]))
        result = data.migrate()
        assert data.percent() == percent
        shares.append(data.share(read))
        if percent < 100:
            assert f"readers read {percent} % by new keys since" in result.waiting.waiting.why
            path.write_text(head + "".join(begun) + way_back)
        else:
            path = path.with_name("0041_way_back.sql")
            path.write_text(head + way_back)
        assert [file.version for file in data.migrate().applied] == [path.name[:4]]
        assert (data.percent(), data.share(read)) == (0, 0)
    return shares


def test_partitions_get_other_locations_step_by_step_and_back(data: DataSet) -> None:
    """No read fails and none is wrong, whatever the values are; each step moves more partitions, and each way back all of them."""
    data.plan(partitioned=data.old)
    query = f"SELECT count(*), sum(n), sum(xxhash64(n, text, day, id) % 1000003), count(day), count(DISTINCT id) FROM {data.old}"
    with reading(data, query):
        shares = switch_and_return(data, data.old)
    assert shares[-1] == 1
    assert shares == sorted(shares)
    assert shares[2] < 1


@pytest.mark.parametrize("catalog", ["spark_catalog", "lake"])
def test_a_view_reads_more_of_the_other_table_step_by_step_and_back(data: DataSet, catalog: str) -> None:
    """The view, of the metastore or of Iceberg, divides rows by a column; its columns keep their order, and no read fails."""
    view = f"{catalog}.web.{data.name}_view"
    data.plan(view=view, old_table=data.old, new_table=f"{data.new}_ids", by="text")
    data.sql(f"CREATE VIEW {view} AS SELECT * FROM {data.old}")
    # The reversed id is that of the key's text.
    id = "replace(nullif(reverse(id_reversed), '__HIVE_DEFAULT_PARTITION__'), '%3D', '=') AS id"
    data.sql(f"CREATE VIEW {data.new}_ids AS SELECT text, day, n, {id} FROM {data.new}")
    with reading(data, f"SELECT count(*), sum(n), sum(xxhash64(n, text, day, id) % 1000003) FROM {view}"):
        shares = switch_and_return(data, view)
    assert shares[-1] == 1
    assert shares == sorted(shares)
