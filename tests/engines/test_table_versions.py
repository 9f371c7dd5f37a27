"""What real statements on Iceberg do to the version of their table: the facts on which recovery relies."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest

from glacierbase.apply.verdict import verdict
from glacierbase.executors.direct.table_versions import TableVersions
from glacierbase.executors.spark.evidence import proving_table
from glacierbase.model.shape import TableVersion
from tests.support.beds import LakeBed

TAG = "glacierbase;run;0007;2"
MERGE_ON_READ = "".join(f", 'write.{verb}.mode'='merge-on-read'" for verb in ("delete", "update", "merge"))


@pytest.fixture
def reader(lake: LakeBed) -> Iterator[TableVersions]:
    """A reader of the tables of `lake`."""
    with closing(TableVersions(lake.catalog)) as reader:
        yield reader


def new_table(lake: LakeBed, properties: str = "") -> str:
    """Create a table with two partitions of two rows."""
    namespace = f"lake.v{uuid.uuid4().hex[:8]}"
    session = lake.executor.open_session()
    session.execute(f"CREATE NAMESPACE {namespace}")
    session.execute(
        f"CREATE TABLE {namespace}.t (a INT, b INT) USING iceberg PARTITIONED BY (b)"
        f" TBLPROPERTIES ('format-version'='2'{properties})"
    )
    session.execute(f"INSERT INTO {namespace}.t VALUES (1, 1), (2, 1), (3, 2), (4, 2)")
    return f"{namespace}.t"


def versions(sql: str, table: str, lake: LakeBed, reader: TableVersions) -> tuple[TableVersion, TableVersion]:
    """Run a statement as a migration does; return the versions before and after it."""
    sql = sql.format(table)
    assert proving_table(sql, sql) == table
    before = reader.version(table)
    with closing(lake.executor.open_session()) as session:
        session.execute(sql, tag=TAG)
    after = reader.version(table)
    assert before
    assert after
    return before, after


@pytest.mark.parametrize("properties", ["", MERGE_ON_READ], ids=["copy on write", "merge on read"])
def test_a_statement_on_rows_is_one_commit_that_names_it(properties: str, lake: LakeBed, reader: TableVersions) -> None:
    """The version after a statement on rows proves its effect, and the version before proves that it had none."""
    for sql in (
        "INSERT INTO {} VALUES (5, 3)",
        "INSERT OVERWRITE {} SELECT 6, 3",
        "UPDATE {} SET a = 0 WHERE a = 1",
        "DELETE FROM {} WHERE a = 2",
        "MERGE INTO {} AS t USING (SELECT 3 AS a) AS s ON t.a = s.a WHEN MATCHED THEN DELETE",
    ):
        before, after = versions(sql, new_table(lake, properties), lake, reader)
        assert verdict(before, before, TAG)[0] is False
        assert verdict(before, after, TAG)[0] is True, (sql, before, after)
        assert verdict(before, after, "another")[0] is None


def test_an_alter_table_makes_a_version_that_names_nobody(lake: LakeBed, reader: TableVersions) -> None:
    """An unchanged version proves that an ALTER TABLE had no effect; a changed version proves nothing."""
    for sql in (
        "ALTER TABLE {} ADD COLUMN c INT",
        "ALTER TABLE {} RENAME COLUMN a TO d",
        "ALTER TABLE {} SET TBLPROPERTIES ('x'='y')",
        "ALTER TABLE {} ADD PARTITION FIELD bucket(4, a)",
        "ALTER TABLE {} WRITE ORDERED BY a",
        "ALTER TABLE {} CREATE BRANCH b",
    ):
        before, after = versions(sql, new_table(lake), lake, reader)
        assert after.metadata != before.metadata, sql
        assert verdict(before, after, TAG)[0] is None, sql


def test_a_delete_of_whole_partitions_names_nobody(lake: LakeBed, reader: TableVersions) -> None:
    """Iceberg deletes by metadata alone then, and does not write the tag: that it took effect is not proven."""
    before, after = versions("DELETE FROM {} WHERE b = 2", new_table(lake), lake, reader)
    assert after.sequence == before.sequence + 1
    assert verdict(before, after, TAG)[0] is None


def test_a_statement_on_no_row_is_not_done_only_if_it_committed_nothing(lake: LakeBed, reader: TableVersions) -> None:
    """Iceberg commits an empty snapshot for some of them."""
    for sql in (
        "DELETE FROM {} WHERE a = 99",
        "UPDATE {} SET a = 0 WHERE a = 99",
        "INSERT INTO {} SELECT 1, 1 WHERE false",
    ):
        before, after = versions(sql, new_table(lake), lake, reader)
        assert (verdict(before, after, TAG)[0] is False) is (after.metadata == before.metadata), sql


def test_the_tag_of_a_statement_is_not_that_of_the_next(lake: LakeBed, reader: TableVersions) -> None:
    """A statement of the same session without a tag, or with another one, does not inherit it."""
    table = new_table(lake)
    with closing(lake.executor.open_session()) as session:
        session.execute(f"INSERT INTO {table} VALUES (5, 3)", tag=TAG)
        session.execute(f"INSERT INTO {table} VALUES (6, 3)")
    found = reader.version(table)
    assert found
    assert found.tag is None
