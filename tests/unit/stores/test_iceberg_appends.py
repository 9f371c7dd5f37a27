"""What an append to the history writes through PyIceberg, and how many requests that takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestWriterV2,
)
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _SnapshotProducer
from pyiceberg.typedef import Record
from pyiceberg.types import StringType

from glacierbase.executors.pyiceberg.file_access import LocalFile
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores.iceberg import IcebergStore, open_store
from tests.unit.stores.test_iceberg_compaction import killed_at

URI = "spark.sql.catalog.lake.uri"


def event(sequence: int) -> Event:
    now = datetime.now(timezone.utc)
    return Event(1, sequence, "run", "shop", "default", "statement_done", version="0001", recorded_at=now)


@pytest.fixture
def store(iceberg_catalog: Catalog) -> IcebergStore:
    """A store with one event."""
    store = open_store(iceberg_catalog)
    store.create(free_row(LockTerms("shop", "default", 60)))
    store.append([event(1)])
    return store


@pytest.fixture
def vendor(iceberg_catalog: Catalog, store: IcebergStore) -> SqlCatalog:
    """The store's catalog, opened by another client."""
    file = iceberg_catalog.spark_conf[URI].removeprefix("jdbc:sqlite:").partition("?")[0]
    return SqlCatalog("lake", uri=f"sqlite:///{file}")


def test_every_value_of_an_event_is_read_back(store: IcebergStore, vendor: SqlCatalog) -> None:
    """Long, empty, hostile and absent values are read as they were appended, also by another client and after a compaction."""
    hostile = {
        "description": "\x1b[2J\n'\"\\\u2028é🧊",
        "author": "",
        "rendered_sql": "x" * 100_000,
        "duration_ms": 2**62,
    }
    events = [event(2), replace(event(3), **hostile), replace(event(4), recorded_at=None, version=None)]
    store.append(events[:1])
    store.append(events[1:])
    for compact in (lambda: None, store.compact):
        compact()
        assert store.read_history()[1:] == tuple(events)
        rows = vendor.load_table("glacierbase.history_shop").scan().to_arrow().sort_by("sequence")
        assert rows["rendered_sql"].to_pylist()[1:] == [each.rendered_sql for each in events]
        assert rows["recorded_at"].to_pylist()[1:] == [each.recorded_at for each in events]


def test_a_column_that_was_renamed_is_read_by_its_id(store: IcebergStore, vendor: SqlCatalog) -> None:
    """The rows that were appended before a rename keep their values under the new name."""
    store.append([replace(event(2), reason="why")])
    with vendor.load_table("glacierbase.history_shop").update_schema() as update:
        update.rename_column("reason", "motive")
    assert "why" in vendor.load_table("glacierbase.history_shop").scan().to_arrow()["motive"].to_pylist()


def test_a_column_that_another_client_adds_between_two_appends_is_kept(store: IcebergStore, vendor: SqlCatalog) -> None:
    """No append fails, and the values that others wrote stay. The new column changes no snapshot, on which a commit depends."""
    table = vendor.load_table(("glacierbase", "history_shop"))
    with table.update_schema() as change:
        change.add_column("extra", StringType())
    store.append([event(2)])
    store.append([event(3)])
    table.refresh()
    row = table.scan(row_filter="sequence = 3").to_arrow().to_pylist()[0] | {"sequence": 4, "extra": "theirs"}
    table.append(pyarrow.Table.from_pylist([row], schema=table.schema().as_arrow()))
    store.append([event(5)])
    store.append([event(6)])
    rows = table.refresh().scan().to_arrow().to_pylist()
    assert {row["sequence"]: row["extra"] for row in rows} == dict.fromkeys((1, 2, 3, 5, 6)) | {4: "theirs"}


def test_a_history_that_another_client_partitioned_is_appended_to(store: IcebergStore, vendor: SqlCatalog) -> None:
    """Events of several partitions in one append are read back, and a compaction keeps them."""
    with vendor.load_table("glacierbase.history_shop").update_spec() as update:
        update.add_identity("event")
    store.append([event(2), replace(event(3), event="applied")])
    store.compact()
    store.append([event(4)])
    assert [row.sequence for row in store.read_history()] == [1, 2, 3, 4]
    found = vendor.load_table("glacierbase.history_shop").scan("event = 'applied'").to_arrow()
    assert found["sequence"].to_pylist() == [3]


class Deletes(_SnapshotProducer):  # type: ignore[type-arg, misc]
    """A snapshot that deletes the first row of each file, as an engine does with `merge-on-read`."""

    class Writer(ManifestWriterV2):  # type: ignore[misc]
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    def __init__(self, transaction: Any, table: Any) -> None:
        super().__init__(Operation.DELETE, transaction, table.io)
        self.table = table

    def _manifests(self) -> list[Any]:
        manifests = self.table.current_snapshot().manifests(self._io)
        files = [entry.data_file for manifest in manifests for entry in manifest.fetch_manifest_entry(self._io)]
        fields = [
            pyarrow.field("file_path", pyarrow.string(), metadata={"PARQUET:field_id": "2147483546"}),
            pyarrow.field("pos", pyarrow.int64(), metadata={"PARQUET:field_id": "2147483545"}),
        ]
        rows = [{"file_path": file.file_path, "pos": 0} for file in files]
        path = f"{self.table.location()}/data/deletes.parquet"
        parquet.write_table(pyarrow.Table.from_pylist(rows, pyarrow.schema(fields)), path.removeprefix("file://"))
        deletes = DataFile.from_args(
            content=DataFileContent.POSITION_DELETES, file_path=path, file_format=FileFormat.PARQUET, partition=Record(),
            record_count=len(rows), file_size_in_bytes=Path(path.removeprefix("file://")).stat().st_size, spec_id=0,
        )  # fmt: skip
        with self.Writer(
            self.spec(0), self.schema(), self.new_manifest_output(), self._snapshot_id, self._compression
        ) as writer:
            writer.add(ManifestEntry.from_args(sequence_number=None, data_file=deletes))
        return [*manifests, writer.to_manifest_file()]

    def _deleted_entries(self) -> list[Any]:
        return []

    def _existing_manifests(self) -> list[Any]:
        return []


def test_rows_that_another_client_deleted_stay_deleted(store: IcebergStore, vendor: SqlCatalog) -> None:
    """An append after it does not rewrite the file with the row, and a compaction drops the row."""
    store.append([event(2)])
    table = vendor.load_table("glacierbase.history_shop")
    with table.transaction() as transaction:
        Deletes(transaction, table).commit()
    assert [row.sequence for row in store.read_history()] == [2]
    for number in (3, 4):
        store.append([event(number)])
    assert [row.sequence for row in store.read_history()] == [2, 3, 4]
    store.compact()
    assert [row.sequence for row in store.read_history()] == [2, 3, 4]


def test_killed_at_any_step_an_append_is_there_once_or_not_at_all(
    iceberg_catalog: Catalog, store: IcebergStore
) -> None:
    """The process ends before or after each written file and the commit; so does that of a compare-and-set."""
    survived, step = False, 0
    while not survived:
        events, row = store.read_history(), store.read_lock()
        assert row
        renewed = replace(row, owner="a", beat=row.beat + 1)
        with killed_at(step) as killed:
            open_store(iceberg_catalog).append([event(len(events) + 1)])
        with killed_at(step) as also_killed:
            open_store(iceberg_catalog).compare_and_set(row, renewed)
        survived, step = not killed and not also_killed, step + 1
        count = len(store.read_history())
        assert [row.sequence for row in store.read_history()] == list(range(1, count + 1))
        assert count - len(events) in ((0, 1) if killed else (1,))
        assert store.read_lock() in ((row, renewed) if also_killed else (renewed,))
    assert step > 8


def test_an_append_makes_few_requests_to_the_storage(store: IcebergStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request asks for the size of the data file, or whether a file with a new name exists."""
    store.append([event(2)])
    requests: Counter[str] = Counter()

    def counted(name: str) -> None:
        call = getattr(LocalFile, name)

        def count(file: LocalFile, *arguments: Any, **options: Any) -> Any:
            requests[f"{name} {file.location.rpartition('.')[2]}"] += 1
            return call(file, *arguments, **options)

        monkeypatch.setattr(LocalFile, name, count)

    for name in ("open", "create", "exists", "__len__"):
        counted(name)
    store.append([event(3)])
    # The rows; manifest and list of manifests, after the last ones; the metadata, after the metadata as it is now.
    written = {"create parquet": 1, "create avro": 2, "create json": 1}
    assert requests == {**written, "open avro": 2, "open json": 1, "__len__ avro": 1}
