"""Plain DDL without Spark on a table to which Spark commits rows at the same time: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import pytest

from glacierbase.errors import StatementRefused
from glacierbase.executors.direct.executor import IcebergExecutor
from tests.support.beds import LakeBed
from tests.support.world import wait_until

pytestmark = pytest.mark.spark

COLUMNS = 40


class Rows:
    """A client of Spark that commits one row after the other, until it is stopped.

    Attributes:
        written: the rows whose statement succeeded.
        refused: the messages of the statements that failed.
    """

    def __init__(self, lake: LakeBed, table: str) -> None:
        self._spark = lake.spark.newSession()
        self._table = table
        self.stop = Event()
        self.written: list[int] = []
        self.refused: list[str] = []

    def run(self) -> None:
        """Write by INSERT and by MERGE in turn."""
        for number in self._numbers():
            row = f"SELECT {number} AS id"
            insert = f"INSERT INTO {self._table} (id) {row}"
            merge = f"MERGE INTO {self._table} t USING ({row}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
            try:
                self._spark.sql(merge if number % 3 == 0 else insert)
            except Exception as error:
                self.refused.append(str(error))
            else:
                self.written.append(number)

    def _numbers(self) -> Iterator[int]:
        number = 0
        while not self.stop.is_set():
            number += 1
            yield number


def test_columns_that_are_added_while_rows_are_written_are_all_there_and_so_are_the_rows(lake: LakeBed) -> None:
    """A statement that lost against too many commits is refused without an effect; every other one has its effect once."""
    table = f"lake.n{uuid.uuid4().hex[:8]}.t"
    with closing(lake.executor.open_session()) as session:
        session.execute(f"CREATE NAMESPACE {table.rpartition('.')[0]}")
        session.execute(
            f"CREATE TABLE {table} (id BIGINT) USING iceberg TBLPROPERTIES ('commit.retry.num-retries' = '20')"
        )
    rows, added = Rows(lake, table), []
    with ThreadPoolExecutor(1) as pool, closing(IcebergExecutor(lake.catalog)) as executor:
        writing = pool.submit(rows.run)
        direct = executor.open_session()
        for number in range(COLUMNS):
            try:
                direct.execute(
                    f"ALTER TABLE {table} ADD COLUMN c{number} INT", tag=f"glacierbase;{uuid.uuid4().hex};1;1"
                )
            except StatementRefused:
                continue
            added.append(f"c{number}")
            wait_until(lambda: len(rows.written) > len(added) // 5 or writing.done())
        rows.stop.set()
        writing.result()
        shape = direct.shape(table)
    assert shape is not None
    assert [column.name for column in shape.columns] == ["id", *added]
    assert sorted(id_ for (id_,) in lake.rows(f"SELECT id FROM {table}")) == rows.written
    assert len(added) > COLUMNS // 2
    assert len(rows.written) > COLUMNS // 5, rows.refused
