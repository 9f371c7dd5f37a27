"""Re-keys of Iceberg tables on a real Spark, by the files that `rekey plan` writes, while other writers go on."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.capabilities.rekey import iceberg, rows
from glacierbase.errors import ConfigurationError, MigrationFailed, StatementRefused
from glacierbase.executors.actions import ActionRun
from tests.support.beds import LakeBed, RemoteLake
from tests.support.project_folder import ProjectFolder

HASHED = re.compile(r".*/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/day_day=[^/]+/id_bucket=\d+/[^/]+")
TAG = "glacierbase_rekey"


class Rekeyed:
    """A table of Iceberg, and the project that gives it other keys."""

    def __init__(self, bed: LakeBed | RemoteLake, folder: ProjectFolder, days: int = 3, buckets: int = 2) -> None:
        self.executor, self.folder = bed.executor, folder
        self.spark = bed.spark if isinstance(bed, LakeBed) else None
        self.name = f"rekey_{uuid.uuid4().hex[:8]}"
        self.table = f"lake.{self.name}.events"
        folder.catalog(bed.text, self.name)
        folder.file(
            "0001_events.sql",
            f"CREATE TABLE {self.table} (id BIGINT, day TIMESTAMP, text STRING, tags MAP<STRING, INT>) USING iceberg"
            f" PARTITIONED BY (days(day), bucket({buckets}, id))",
            self.name,
        )
        self.project.migrate(spark=self.spark)
        self.sql(
            f"INSERT INTO {self.table} SELECT id, TIMESTAMP '2026-01-01 10:00:00' + make_interval(0, 0, 0, id % {days}),"
            " concat('ü', id), map('n', id) FROM range(4000)"
        )

    @property
    def project(self) -> Project:
        return Project.load(self.folder.root)

    def sql(self, text: str) -> list[Any]:
        with closing(self.executor.open_session()) as session:
            return session.query(text)

    def plan(self, to: str = "object-storage") -> tuple[str, ...]:
        [result] = self.project.rekey_plan(self.table, [self.name], to=to, author="Ada", spark=self.spark)
        return result.files

    def use_ranges(self, size: int = 1) -> None:
        """Make the ranges of the backfill as small as possible: a value of the partition field each."""
        for path in (self.folder.root / "migrations" / self.name).glob("*.sql"):
            path.write_text(re.sub(r"bytes_per_range => \d+", f"bytes_per_range => {size}", path.read_text()))

    def migrate(self) -> Any:
        [result] = self.project.migrate([self.name], spark=self.spark)
        return result

    def paths(self) -> list[str]:
        return [row[0] for row in self.sql(f"SELECT file_path FROM {self.table}.data_files")]

    def rows(self) -> set[tuple[Any, ...]]:
        return {tuple(row) for row in self.sql(f"SELECT id, day, text, to_json(tags) FROM {self.table}")}

    def states(self) -> list[str]:
        [status] = self.project.status([self.name], spark=self.spark)
        return [str(migration.state) for migration in status.migrations][2:]


@pytest.fixture
def rekeyed(lake: LakeBed, project: ProjectFolder) -> Rekeyed:
    return Rekeyed(lake, project)


@contextmanager
def writing(rekeyed: Rekeyed) -> Iterator[list[int]]:
    """Commit rows all the while, and delete one in each of them; yield the ids that were committed."""
    ended, committed = threading.Event(), list[int]()

    def write() -> None:
        number = 100_000
        while not ended.is_set():
            number += 1
            rekeyed.sql(
                f"INSERT INTO {rekeyed.table} VALUES ({number}, TIMESTAMP '2026-01-07 11:00:00', 'late', map('n', 1))"
            )
            committed.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield committed
    finally:
        ended.set()
        writer.join()


@pytest.mark.parametrize(("bed", "days", "buckets"), [("lake", 20, 10), ("remote_lake", 3, 2)])
def test_every_file_gets_its_new_key_while_a_writer_goes_on(
    bed: str, days: int, buckets: int, project: ProjectFolder, request: pytest.FixtureRequest
) -> None:
    """No row of 200 files is lost, none is doubled, no commit of the writer is lost; the tag is gone."""
    rekeyed = Rekeyed(request.getfixturevalue(bed), project, days, buckets)
    before = rekeyed.rows()
    assert (len(rekeyed.paths()), len(before)) == (days * buckets, 4000)
    files = rekeyed.plan()
    rekeyed.use_ranges()
    assert [name.rpartition("/")[2][:4] for name in files] == ["0002", "0003", "0004"]
    with writing(rekeyed) as committed:
        result = rekeyed.migrate()
    assert [file.version for file in result.applied] == ["0002", "0003", "0004"]
    paths = rekeyed.paths()
    assert [path for path in paths if not HASHED.fullmatch(path)] == []
    assert committed
    after = rekeyed.rows()
    assert {row for row in after if row[0] < 100_000} == before
    assert sorted(row[0] for row in after if row[0] > 100_000) == committed
    assert TAG not in [row[0] for row in rekeyed.sql(f"SELECT name FROM {rekeyed.table}.refs")]
    rewrites = f"SELECT count(*) FROM {rekeyed.table}.snapshots WHERE operation = 'replace'"
    assert rekeyed.sql(rewrites)[0][0] >= days


def test_a_conflict_is_retried_and_loses_neither_side(rekeyed: Rekeyed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are deleted between the plan of a rewrite and its commit, which Iceberg then refuses."""
    rekeyed.plan()
    execute, rewrites = ActionRun.execute, list[str]()
    monkeypatch.setattr(rows, "_PAUSE_SECONDS", 0.0)

    def deleting(run: ActionRun, sql: str) -> None:
        rewrites.extend([sql] * ("rewrite_data_files" in sql))
        if rewrites == [sql]:
            rekeyed.sql(f"DELETE FROM {rekeyed.table} WHERE id % 40 = 1")
            raise StatementRefused("ValidationException", "Missing required files to delete")
        execute(run, sql)

    monkeypatch.setattr(ActionRun, "execute", deleting)
    rekeyed.migrate()
    assert len(rewrites) >= 2
    assert len(rekeyed.rows()) == 3900
    assert all(map(HASHED.fullmatch, rekeyed.paths()))


def test_a_partition_field_that_changes_moves_all_files(rekeyed: Rekeyed) -> None:
    """The ranges are those of a field that new files no longer have."""
    rekeyed.plan(f"ALTER TABLE {rekeyed.table} REPLACE PARTITION FIELD days(day) WITH months(day)")
    rekeyed.use_ranges(30_000)
    rekeyed.sql(f"INSERT INTO {rekeyed.table} VALUES (5000, NULL, 'without a day', NULL)")
    rekeyed.migrate()
    assert all(re.fullmatch(r".*/data/(?:[^/]+/)*day_month=[^/]+/[^/]+", path) for path in rekeyed.paths())
    assert len(rekeyed.rows()) == 4001


def test_a_rewrite_that_changed_a_row_is_found(rekeyed: Rekeyed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the columns and both snapshots; the file failed, and does so again."""
    rekeyed.plan()
    query = ActionRun.query

    def changed(run: ActionRun, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        rows = query(run, sql, parameters)
        if "xxhash64" in sql and "VERSION AS OF" in sql and not seen:
            seen.append(sql)
            [row] = rows
            return [(*row[:4], "another sum", *row[5:])]
        return rows

    seen: list[str] = []
    monkeypatch.setattr(ActionRun, "query", changed)
    with pytest.raises(MigrationFailed, match=r"does not have the same rows: differs in text"):
        rekeyed.migrate()
    assert rekeyed.states() == ["failed", "pending"]
    monkeypatch.undo()
    assert [file.version for file in rekeyed.migrate().applied] == ["0003", "0004"]


def test_a_backfill_that_stopped_compares_what_it_rewrote_before(
    rekeyed: Rekeyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ended between the commit of a rewrite and the comparison."""
    rekeyed.plan()
    rekeyed.use_ranges()
    compare, compared = iceberg.Rewrites._compare, list[tuple[int, int]]()

    def stops(self: Any, snapshot: int, parent: int) -> None:
        compared.append((snapshot, parent))
        if len(compared) == 2:
            raise KeyboardInterrupt
        compare(self, snapshot, parent)

    monkeypatch.setattr(iceberg.Rewrites, "_compare", stops)
    with pytest.raises(KeyboardInterrupt):
        rekeyed.migrate()
    assert rekeyed.states() == ["interrupted", "pending"]
    rekeyed.migrate()
    assert compared.count(compared[1]) == 2
    assert len(set(compared)) == 3
    assert all(map(HASHED.fullmatch, rekeyed.paths()))


def test_files_with_former_keys_make_the_backfill_wait_and_the_validation_fail(
    rekeyed: Rekeyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that still has the former settings: the backfill waits until it has restarted."""
    rekeyed.plan()
    former = f"ALTER TABLE {rekeyed.table} SET TBLPROPERTIES ('write.object-storage.enabled'='false')"
    present = former.replace("false", "true")
    rewrite = iceberg.RekeyedTable.rewrite

    def late(self: Any, part: Any) -> None:
        rewrite(self, part)
        rekeyed.sql(former)
        rekeyed.sql(f"INSERT INTO {rekeyed.table} VALUES (1, TIMESTAMP '2026-01-07 11:00:00', 'late', NULL)")
        rekeyed.sql(present)

    monkeypatch.setattr(iceberg.RekeyedTable, "rewrite", late)
    result = rekeyed.migrate()
    assert "1 data file got other keys" in result.waiting.waiting.why
    assert (result.error, result.not_run) == (None, ("0004",))
    monkeypatch.undo()
    rekeyed.migrate()
    rekeyed.sql(former)
    rekeyed.sql(f"INSERT INTO {rekeyed.table} VALUES (2, TIMESTAMP '2026-01-07 11:00:00', 'later', NULL)")
    rekeyed.sql(present)
    rekeyed.folder.file("0005_again.sql", f"CALL glacierbase.rekey_validate(table => '{rekeyed.table}')", rekeyed.name)
    with pytest.raises(MigrationFailed, match=r"1 of \d+ data files of .* have other keys than data/\{hash:4 bits\}"):
        rekeyed.migrate()


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("ALTER TABLE lake.other.t SET TBLPROPERTIES ('write.object-storage.enabled'='true')", "is not an ALTER TABLE"),
        ("DROP TABLE {table}", "is not an ALTER TABLE"),
        ("ALTER TABLE {table} DROP COLUMN id", "is not an ALTER TABLE"),
        ("ALTER TABLE {table} SET TBLPROPERTIES ('a'='b'); DROP TABLE {table}", "is not an ALTER TABLE"),
        ("ALTER TABLE {table} SET TBLPROPERTIES ('commit.retry.num-retries'='10')", "the keys of .* stay"),
    ],
)
def test_a_statement_that_does_not_change_the_keys_is_refused(rekeyed: Rekeyed, to: str, why: str) -> None:
    """Nothing is written."""
    with pytest.raises(ConfigurationError, match=why):
        rekeyed.plan(to.format(table=rekeyed.table))
    assert len(list((rekeyed.folder.root / "migrations" / rekeyed.name).glob("*.sql"))) == 1


def test_a_plan_writes_all_files_or_none(rekeyed: Rekeyed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files pass `validate` and `lint`; a failure in the middle removes those before."""
    from glacierbase.capabilities.rekey import plan

    write, written = plan.write_migration, list[Any]()

    def failing(*arguments: Any, **options: Any) -> Any:
        if len(written) == 2:
            raise OSError("the disk is full")
        written.append(write(*arguments, **options))
        return written[-1]

    with monkeypatch.context() as patch:
        patch.setattr(plan, "write_migration", failing)
        with pytest.raises(OSError, match="disk"):
            rekeyed.plan()
    assert written
    assert [path for path in written if path.exists()] == []
    rekeyed.plan()
    assert {finding.code for finding in rekeyed.project.lint([rekeyed.name])[0].findings} <= {"PR120"}
    assert rekeyed.project.validate([rekeyed.name])[0].files == 4
