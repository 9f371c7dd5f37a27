"""Compaction through Spark keeps history and lock small on real Iceberg tables, and loses no event."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from glacierbase.errors import CommitConflict, EngineError, OutcomeUnknown
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.stores import LockRow
from glacierbase.stores.sql import SqlStore, open_store
from tests.engines.contract.test_store_contract import event
from tests.support.beds import LakeBed, with_own_namespace


@dataclass
class Tables:
    """A history of four events in four files, and a lock that was renewed four times."""

    lake: LakeBed
    open: Callable[[], SqlStore]
    namespace: str
    row: LockRow

    def call(self, procedure: str, table: str = "history_contract", options: str = "") -> None:
        """Run a maintenance procedure, as another user's job would."""
        sql = f"CALL lake.system.{procedure}(table => '{self.namespace}.{table}'{options})"
        self.lake.executor.open_session().execute(sql)

    def files(self, table: str) -> list[Path]:
        """Return all files in the folder of the table."""
        [place] = self.lake.rows(f"SELECT file FROM lake.{self.namespace}.{table}.metadata_log_entries LIMIT 1")[0]
        folder = Path(place.removeprefix("file:")).parent.parent
        return [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".crc")]


@pytest.fixture
def tables(lake: LakeBed) -> Tables:
    """Tables in a new namespace."""
    catalog = with_own_namespace(lake.catalog)
    store = open_store(catalog, lake.executor)
    row = free_row(LockTerms(catalog.name, "dev", 60))
    store.create(row)
    for number in range(1, 5):
        store.append([event(number)])
        renewed = replace(row, beat=number)
        assert store.compare_and_set(row, renewed)
        row = renewed
    return Tables(lake, lambda: open_store(catalog, lake.executor), catalog.store.namespace, row)


BOTH = ("history_contract", "lock_contract")


def numbers(store: SqlStore) -> list[int]:
    return [each.sequence for each in store.read_history()]


def test_a_compaction_leaves_one_data_file_and_every_event_as_it_was(tables: Tables) -> None:
    """Files that only older snapshots reference are deleted."""
    before = tables.open().read_history()
    crowded = {table: len([p for p in tables.files(table) if p.suffix != ".json"]) for table in BOTH}
    tables.open().compact()
    assert tables.open().read_history() == before
    assert tables.open().read_lock() == tables.row
    assert len([path for path in tables.files("history_contract") if path.suffix == ".parquet"]) == 1
    # The metadata files stay up to twenty, which Iceberg itself deletes in turn.
    kept = {table: len([p for p in tables.files(table) if p.suffix != ".json"]) for table in BOTH}
    assert all(kept[table] < crowded[table] for table in crowded), (kept, crowded)
    assert tables.open().compare_and_set(tables.row, replace(tables.row, owner="a"))
    tables.open().append([event(5)])
    tables.open().compact()
    assert numbers(tables.open()) == [1, 2, 3, 4, 5]


def test_what_is_appended_while_a_compaction_runs_is_kept(tables: Tables) -> None:
    """A run that lost its lock may still append `interrupted`."""
    appended: list[int] = []
    ended = threading.Event()

    def append() -> None:
        store = tables.open()
        while not ended.is_set():
            number = 100 + len(appended)
            with suppress(CommitConflict):  # Refused: it was not written, and a run tries it again.
                store.append([event(number)])
                appended.append(number)

    thread = threading.Thread(target=append)
    thread.start()
    try:
        for _ in range(3):
            with suppress(EngineError):  # The same; a hundred events later.
                tables.open().compact()
    finally:
        ended.set()
        thread.join()
    assert appended
    assert numbers(tables.open()) == [1, 2, 3, 4, *appended]


@pytest.mark.parametrize("step", range(4))
def test_a_compaction_that_is_interrupted_loses_nothing(step: int, tables: Tables) -> None:
    """The compaction is interrupted before each of its commits; the next compaction completes it."""
    store = tables.open()
    execute, calls = store._session.execute, iter(range(100))

    def interrupted(sql: str, *arguments: Any, **options: Any) -> Any:
        if next(calls) == step:
            raise OutcomeUnknown("Killed", "the process is gone")
        return execute(sql, *arguments, **options)

    store._session.execute = interrupted  # type: ignore[method-assign]
    with pytest.raises(OutcomeUnknown):
        store.compact()
    assert numbers(tables.open()) == [1, 2, 3, 4]
    tables.open().compact()
    assert numbers(tables.open()) == [1, 2, 3, 4]
    assert len([path for path in tables.files("history_contract") if path.suffix == ".parquet"]) == 1


def test_somebody_elses_maintenance_loses_nothing(tables: Tables) -> None:
    """Another user's rewrite and expiry run before, after and between compactions and appends."""
    tables.call("rewrite_data_files", options=", options => map('rewrite-all', 'true')")
    tables.open().append([event(5)])
    tables.open().compact()
    tables.call("rewrite_manifests")
    tables.call("expire_snapshots", options=", older_than => TIMESTAMP '9999-12-31'")
    tables.call("expire_snapshots", "lock_contract", ", older_than => TIMESTAMP '9999-12-31'")
    tables.open().append([event(6)])
    assert numbers(tables.open()) == [1, 2, 3, 4, 5, 6]
    assert tables.open().read_lock() == tables.row
    assert tables.open().compare_and_set(tables.row, replace(tables.row, owner="a"))


def test_a_reader_whose_files_were_taken_away_reads_again(tables: Tables) -> None:
    """The reader began with a snapshot from before the compaction."""
    store = tables.open()
    execute, skipped = store._session.execute, []

    def cached_once(sql: str, *arguments: Any, **options: Any) -> Any:
        if sql.startswith("REFRESH") and not skipped:
            skipped.append(sql)
            return None
        return execute(sql, *arguments, **options)

    assert len(store.read_history()) == 4  # It is in the session's cache from here on.
    in_cache = {path.name for path in tables.files("history_contract")}
    remote = tables.open()
    remote.compact()
    gone = in_cache - {path.name for path in tables.files("history_contract")}
    assert gone
    store._session.execute = cached_once  # type: ignore[method-assign]
    assert numbers(store) == [1, 2, 3, 4]
    assert skipped


def test_a_table_that_is_not_there_when_it_is_read_again_is_none(tables: Tables) -> None:
    """An error of the first read does not count: another run may be creating the table."""
    store = tables.open()
    execute, failed = store._session.execute, []

    def fails_once(sql: str, *arguments: Any, **options: Any) -> Any:
        if not failed:
            failed.append(sql)
            raise OutcomeUnknown("UncheckedSQLException", "the database is locked")
        return execute(sql, *arguments, **options)

    store.drop(namespace=False)
    store._session.execute = fails_once  # type: ignore[method-assign]
    assert store.read_lock() is None
    assert failed


def test_in_a_clone_no_file_of_the_original_is_deleted(tables: Tables) -> None:
    """The tables are registered in another namespace, and written there by more commits than Iceberg keeps metadata files."""
    lake, namespace = tables.lake, f"{tables.namespace}_clone"
    lake.executor.open_session().execute(f"CREATE NAMESPACE lake.{namespace}")
    for table in BOTH:
        [[*_, metadata]] = lake.rows(
            f"SELECT max_by(file, timestamp) FROM lake.{tables.namespace}.{table}.metadata_log_entries"
        )
        register = f"CALL lake.system.register_table(table => '{namespace}.{table}', metadata_file => '{metadata}')"
        lake.executor.open_session().execute(register)
    before = {path: path.read_bytes() for table in BOTH for path in tables.files(table)}
    catalog = replace(lake.catalog, store=replace(lake.catalog.store, namespace=namespace))
    clone = open_store(catalog, lake.executor)
    assert clone.other_catalog()
    for is_accepted in (False, True):
        clone.create(tables.row)
        for number in range(5, 7 if is_accepted else 24):
            clone.append([event(number)])
        clone.compact()
        clone.own_files()
    assert clone.other_catalog() is None
    assert {path: path.read_bytes() for path in before} == before
    assert numbers(tables.open()) == [1, 2, 3, 4]
    assert tables.open().read_lock() == tables.row
