"""What an append to the history writes through PyIceberg, and how many requests that takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.executors.pyiceberg.file_access import LocalFile
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores.iceberg import IcebergStore, open_store

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


def test_a_history_that_another_client_partitioned_is_appended_to(store: IcebergStore, vendor: SqlCatalog) -> None:
    """Events of several partitions in one append are read back, and a compaction keeps them."""
    with vendor.load_table("glacierbase.history_shop").update_spec() as update:
        update.add_identity("event")
    store.append([event(2), replace(event(3), event="applied")])
    store.compact()
    store.append([event(4)])
    assert [each.sequence for each in store.read_history()] == [1, 2, 3, 4]
    found = vendor.load_table("glacierbase.history_shop").scan("event = 'applied'").to_arrow()
    assert found["sequence"].to_pylist() == [3]


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
    # The rows; manifest and list of manifests, after the last list; the metadata, after the metadata as it is now.
    written = {"create parquet": 1, "create avro": 2, "create json": 1}
    assert requests == {**written, "open avro": 1, "open json": 1, "__len__ avro": 1}
