"""Compaction through PyIceberg: fewer files and the same events, despite interruptions and other writers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.update import AddSnapshotUpdate

from glacierbase.errors import CommitConflict
from glacierbase.executors.pyiceberg.file_access import TableFiles
from glacierbase.model.catalog import Catalog
from glacierbase.stores.iceberg import IcebergStore, open_store
from tests.unit.stores.test_iceberg_store import FREE, database_of, event, held, overtaken_by, sequences


class Killed(BaseException):
    """The end of the process; no handler in the code catches it."""


@pytest.fixture
def store(iceberg_catalog: Catalog) -> IcebergStore:
    """A store with five events in five files, and a lock that was renewed three times."""
    store = open_store(iceberg_catalog)
    store.create(FREE)
    for number in range(5):
        store.append([event(number)])
    row = FREE
    for beat in range(4):
        assert store.compare_and_set(row, held(beat))
        row = held(beat)
    return store


def files(catalog: Catalog, table: str, *suffixes: str) -> list[Path]:
    """The files in a table's folder: data (.parquet), snapshots (.avro) and metadata versions (.json)."""
    folder = Path(catalog.spark_conf["spark.sql.catalog.lake.warehouse"].removeprefix("file://"))
    found = (folder / catalog.store.namespace / table).rglob("*")
    return [path for path in found if path.is_file() and path.suffix in (suffixes or (".parquet", ".avro", ".json"))]


def loaded(catalog: Catalog, table: str) -> Any:
    """The table, loaded by another client."""
    return SqlCatalog("lake", uri=f"sqlite:///{database_of(catalog)}").load_table((catalog.store.namespace, table))


def named(table: Any) -> int:
    """The number of data and snapshot files that a table of one snapshot references."""
    [snapshot] = table.snapshots()
    manifests = snapshot.manifests(table.io)
    return 1 + len(manifests) + sum(len(manifest.fetch_manifest_entry(table.io)) for manifest in manifests)


def test_only_what_the_last_snapshot_names_is_left(store: IcebergStore, iceberg_catalog: Catalog) -> None:
    """One data file, one manifest and one manifest list are left, and as many metadata versions as the properties allow."""
    events = store.read_history()
    store.compact()
    for table in ("history_shop", "lock_shop"):
        assert len(files(iceberg_catalog, table, ".parquet")) == 1
        assert len(files(iceberg_catalog, table, ".avro")) == 2
        assert len(files(iceberg_catalog, table, ".parquet", ".avro")) == named(loaded(iceberg_catalog, table))
        assert len(files(iceberg_catalog, table, ".json")) <= 21
    assert store.read_history() == events
    assert store.read_lock() == held(3)


def test_what_is_compact_is_left_alone(store: IcebergStore, iceberg_catalog: Catalog) -> None:
    """A compact table and a history without events are not changed."""
    store.compact()
    before = files(iceberg_catalog, "history_shop") + files(iceberg_catalog, "lock_shop")
    store.compact()
    assert files(iceberg_catalog, "history_shop") + files(iceberg_catalog, "lock_shop") == before
    other = open_store(replace(iceberg_catalog, name="other"))
    other.create(FREE)
    other.compact()
    assert other.read_history() == ()


def test_what_somebody_tagged_stays_readable(store: IcebergStore, iceberg_catalog: Catalog) -> None:
    """A tagged snapshot keeps its files, including those it shares with expired snapshots."""
    table = loaded(iceberg_catalog, "history_shop")
    tagged = table.snapshots()[2].snapshot_id
    table.manage_snapshots().create_tag(tagged, "audit").commit()
    store.compact()
    rows = loaded(iceberg_catalog, "history_shop").scan(snapshot_id=tagged).to_arrow()
    assert sorted(rows["sequence"].to_pylist()) == [0, 1, 2]
    assert sequences(store) == [0, 1, 2, 3, 4]


def test_a_table_stays_small_over_many_appends(iceberg_catalog: Catalog) -> None:
    """With compaction after some appends, no unreferenced file is left."""
    store = open_store(iceberg_catalog)
    store.create(FREE)
    for number in range(60):
        store.append([event(number)])
        if number % 20 == 19:
            store.compact()
    assert sequences(store) == list(range(60))
    assert len(files(iceberg_catalog, "history_shop")) == 3 + 21


def test_a_lock_that_is_renewed_for_days_stays_small(store: IcebergStore, iceberg_catalog: Catalog) -> None:
    """The lock table is compacted while a statement runs, when no event triggers a compaction."""
    row = held(3)
    for beat in range(4, 70):
        assert store.compare_and_set(row, held(beat))
        row = held(beat)
    assert store.read_lock() == row
    assert len(files(iceberg_catalog, "lock_shop", ".parquet")) < 50


def test_a_reader_that_was_overtaken_reads_again(store: IcebergStore) -> None:
    """A reader whose files were deleted by a compaction loads the table again."""
    with overtaken_by(store.compact):
        assert sequences(store) == [0, 1, 2, 3, 4]


def test_a_commit_that_comes_first_wins(store: IcebergStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compaction skips a table that another writer committed to."""
    commit, done = SqlCatalog.commit_table, []

    def be_late(*arguments: Any) -> Any:
        if not done:
            done.append(arguments)
            store.append([event(5)])
        return commit(*arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", be_late)
    store.compact()
    assert sequences(store) == [0, 1, 2, 3, 4, 5]
    store.compact()
    assert sequences(store) == [0, 1, 2, 3, 4, 5]


def test_a_commit_that_comes_first_wins_by_the_snapshot_that_the_compaction_read(
    store: IcebergStore, iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compaction rewrites files of another client here: it replaces the current snapshot, which an append has changed.

    The table's sequence numbers are raised: otherwise they alone would make a second commit fail.
    """
    for number in range(5, 10):
        table = loaded(iceberg_catalog, "history_shop")
        [row, *_] = table.scan().to_arrow().to_pylist()
        table.append(pyarrow.Table.from_pylist([row | {"sequence": number}], schema=table.schema().as_arrow()))
    commit, done = SqlCatalog.commit_table, []

    def be_late(catalog: SqlCatalog, table: Any, requirements: Any, updates: Any) -> Any:
        if not done:
            done.append(table)
            store.append([event(10)])
            updates = tuple(map(with_a_later_number, updates))
        return commit(catalog, table, requirements, updates)

    monkeypatch.setattr(SqlCatalog, "commit_table", be_late)
    store.compact()
    assert sequences(store) == list(range(11))


def with_a_later_number(update: Any) -> Any:
    """Return the update; one that adds a snapshot has a sequence number that no other commit reaches."""
    if not isinstance(update, AddSnapshotUpdate):
        return update
    snapshot = update.snapshot.model_copy(update={"sequence_number": update.snapshot.sequence_number + 9})
    return update.model_copy(update={"snapshot": snapshot})


def test_snapshots_that_somebody_else_expired_first_are_left_to_them(
    store: IcebergStore, iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conflict on expired snapshots is ignored, for the lock table as well."""
    commit, done = SqlCatalog.commit_table, []

    def be_late(catalog: SqlCatalog, table: Any, *arguments: Any) -> Any:
        if table.name() not in done:
            done.append(table.name())
            other = loaded(iceberg_catalog, table.name()[-1])
            other.maintenance.expire_snapshots().by_id(other.snapshots()[0].snapshot_id).commit()
        return commit(catalog, table, *arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", be_late)
    store.compact()
    assert len(done) == 2
    assert sequences(store) == [0, 1, 2, 3, 4]
    assert store.read_lock() == held(3)
    store.compact()
    assert len(loaded(iceberg_catalog, "history_shop").snapshots()) == 1


def test_killed_at_any_step_it_loses_nothing(store: IcebergStore, iceberg_catalog: Catalog) -> None:
    """A compaction is killed before or after each written or deleted file and each commit; the next one completes."""
    survived, step = False, 0
    while not survived:
        events = store.read_history()
        with killed_at(step) as killed:
            store.compact()
        survived, step = not killed, step + 1
        fresh = open_store(iceberg_catalog)
        assert fresh.read_history() == events
        assert fresh.read_lock() == held(3)
        fresh.append([event(len(events))])
    assert step > 15
    store.compact()
    assert sequences(store) == list(range(5 + step))


@contextmanager
def killed_at(step: int) -> Iterator[list[int]]:
    """Raise at the step of this number; the list then holds the step."""
    count, killed = [0], []

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            die()
            made = function(*arguments, **keywords)
            die()
            return made

        return run

    def die() -> None:
        if count[0] >= step:  # Nothing happens after its end, in no thread.
            killed.append(step)
            raise Killed
        count[0] += 1

    with pytest.MonkeyPatch.context() as patch:
        for kind, verb in ((TableFiles, "new_output"), (TableFiles, "delete"), (SqlCatalog, "commit_table")):
            patch.setattr(kind, verb, counted(getattr(kind, verb)))
        with suppress(Killed):
            yield killed


def test_appends_of_others_survive_it(store: IcebergStore, iceberg_catalog: Catalog) -> None:
    """Appends that come first or are retried are kept, and a concurrent reader sees all events."""
    ended, errors = threading.Event(), []

    def append(numbers: range) -> None:
        writer = open_store(iceberg_catalog)
        for number in numbers:
            while True:
                try:
                    writer.append([event(number)])
                    break
                except CommitConflict:
                    continue

    def read() -> None:
        reader, seen = open_store(iceberg_catalog), 0
        while not ended.is_set():
            count = len(reader.read_history())
            assert count >= seen
            seen = count

    def guarded(function: Callable[..., None], *arguments: Any) -> threading.Thread:
        def run() -> None:
            try:
                function(*arguments)
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    writers = [guarded(append, range(start, start + 15)) for start in (100, 200)]
    reader = guarded(read)
    while any(writer.is_alive() for writer in writers):
        store.compact()
    ended.set()
    reader.join()
    assert errors == []
    assert sequences(store) == [*range(5), *range(100, 115), *range(200, 215)]
