"""The contract of every store, the one in memory included."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import pytest

from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores.dynamodb import open_store as open_dynamodb_store
from glacierbase.stores.iceberg import open_store as open_iceberg_store
from glacierbase.stores.sql import open_store
from tests.support.beds import LakeBed, RemoteLake, SnowBed, with_own_namespace
from tests.support.catalog_files import LAKE, dynamodb_store
from tests.support.fakes import MemoryStore, MemoryTables
from tests.support.objectstore import catalog_file
from tests.support.project_folder import only_catalog

NOW = datetime(2026, 11, 20, 10, 30, 0, 123456, tzinfo=timezone.utc)


@dataclass
class Bed:
    """Stores of one catalog, one per run, and stores of a second catalog in the same place."""

    name: str
    open: Callable[[], Any]
    open_other: Callable[[], Any]

    @property
    def free(self) -> Any:
        return free_row(LockTerms(self.name, "dev", 60))


@pytest.fixture(
    params=[
        "memory",
        "iceberg",
        "bucket",
        "embedded",
        "web",
        "postgres",
        pytest.param("lake", id="spark"),
        pytest.param("remote_lake", id="connect"),
        "sqlite_engine",
        "dynamodb",
        "emulated",
        pytest.param("account", marks=pytest.mark.account),
    ]
)
def bed(request: pytest.FixtureRequest) -> Bed:
    """Every store in turn, with a new namespace."""
    if request.param == "memory":
        tables = MemoryTables()
        return Bed("shop", lambda: MemoryStore(tables, "shop"), lambda: MemoryStore(tables, "other"))
    if request.param in ("iceberg", "embedded", "web", "postgres"):
        made = request.getfixturevalue(request.param if request.param in ("web", "postgres") else "iceberg_catalog")
        catalog = with_own_namespace(made if isinstance(made, Catalog) else made.catalog)
        if request.param == "embedded":
            folder = catalog.file.parents[1] / ".glacierbase/store/dev"
            catalog = replace(catalog, store=replace(catalog.store, type="embedded", folder=folder))
        return Bed(
            catalog.name,
            lambda: open_iceberg_store(catalog),
            lambda: open_iceberg_store(replace(catalog, name="other")),
        )
    if request.param == "bucket":
        home = request.getfixturevalue("project")
        (home.root / "warehouse").mkdir()
        home.catalog(catalog_file(request.getfixturevalue("s3"), home.root / "warehouse/catalog.db"))
        catalog = only_catalog(home.root)
        return Bed(
            catalog.name,
            lambda: open_iceberg_store(catalog),
            lambda: open_iceberg_store(replace(catalog, name="other")),
        )
    if request.param == "sqlite_engine":
        project = request.getfixturevalue("sqlite_engine")
        from glacierbase_sqlite.store import SqliteStore

        catalog = with_own_namespace(only_catalog(project.root))
        return Bed(catalog.name, lambda: SqliteStore(catalog), lambda: SqliteStore(replace(catalog, name="other")))
    if request.param == "dynamodb":
        address = request.getfixturevalue("dynamodb")
        home = request.getfixturevalue("project")
        home.catalog(f"{LAKE}store: {dynamodb_store(address)}\n")
        catalog = only_catalog(home.root)
        return Bed(
            catalog.name,
            lambda: open_dynamodb_store(catalog),
            lambda: open_dynamodb_store(replace(catalog, name="other")),
        )
    lake: LakeBed | RemoteLake | SnowBed = request.getfixturevalue(request.param)
    catalog = with_own_namespace(lake.catalog)
    return Bed(
        catalog.name,
        lambda: open_store(catalog, lake.executor),
        lambda: open_store(replace(catalog, name="other"), lake.executor),
    )


def event(sequence: int, **values: Any) -> Event:
    """Return an event with a value in every kind of column."""
    defaults = {
        "version": "0001",
        "statement_index": 1,
        "recorded_at": NOW,
        "rendered_sql": "SELECT 'it''s \\ ünï ?:x\r\n'",
    }
    return Event(1, sequence, "run", "shop", "dev", "started", **{**defaults, **values})


def test_before_it_is_created_there_is_nothing_and_asking_makes_nothing(bed: Bed) -> None:
    """A read-only command never writes."""
    store = bed.open()
    assert store.read_history() == ()
    assert store.read_lock() is None
    assert store.read_other_histories() == {}
    assert bed.open_other().read_other_histories() == {}


def test_creating_twice_keeps_what_is_there(bed: Bed) -> None:
    """A second run finds the rows of the first."""
    bed.open().create(bed.free)
    bed.open().append([event(1)])
    held = replace(bed.free, owner="a", fence=1)
    assert bed.open().compare_and_set(bed.free, held)
    bed.open().create(bed.free)
    assert bed.open().read_history() == (event(1),)
    assert bed.open().read_lock() == held


def test_four_first_runs_together_make_each_table_once(bed: Bed) -> None:
    """No run raises an error of the race between them."""
    errors: list[BaseException] = []

    def create() -> None:
        try:
            bed.open().create(bed.free)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert bed.open().read_lock() == bed.free
    assert bed.open().read_history() == ()


def test_every_value_of_an_event_comes_back(bed: Bed) -> None:
    """Text is equal to the byte, instants to the microsecond in UTC, and absent values stay absent."""
    store = bed.open()
    store.create(bed.free)
    events = [
        event(1),
        event(2, statement_index=None, version=None, details='{"a": [1]}'),
        event(3, duration_ms=2**40),
    ]
    store.append(events[:2])
    store.append(events[2:])
    assert bed.open().read_history() == tuple(events)


def test_a_reader_sees_what_was_committed_before_it_read(bed: Bed) -> None:
    """A cached earlier read makes no difference."""
    reader, writer = bed.open(), bed.open()
    writer.create(bed.free)
    assert reader.read_history() == ()
    writer.append([event(1)])
    assert len(reader.read_history()) == 1
    held = replace(bed.free, owner="a", fence=1, acquired_at=NOW, expires_at=NOW, holder='{"host": "h"}')
    assert reader.read_lock() == bed.free
    assert writer.compare_and_set(bed.free, held)
    assert reader.read_lock() == held


def test_compare_and_set_changes_nothing_when_the_row_is_another(bed: Bed) -> None:
    """Owner, fence and beat must each be as expected."""
    store = bed.open()
    store.create(bed.free)
    held = replace(bed.free, owner="a", fence=1)
    assert store.compare_and_set(bed.free, held)
    for other in (bed.free, replace(held, owner="b"), replace(held, fence=2), replace(held, beat=1)):
        assert not store.compare_and_set(other, replace(held, owner="thief", fence=9))
    assert store.read_lock() == held


def test_of_four_that_set_at_once_exactly_one_wins(bed: Bed) -> None:
    """In every round the row names the winner."""
    bed.open().create(bed.free)
    row = bed.free
    for number in range(4):
        winners: list[str] = []
        stores = {f"run{n}": bed.open() for n in range(4)}
        barrier = threading.Barrier(len(stores))

        def compete(name: str, store: Any, row: Any, winners: list[str], barrier: threading.Barrier) -> None:
            mine = replace(row, owner=name, fence=row.fence + 1)
            barrier.wait()
            if store.compare_and_set(row, mine):
                winners.append(name)

        threads = [
            threading.Thread(target=compete, args=(name, store, row, winners, barrier))
            for name, store in stores.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        row = bed.open().read_lock()
        assert winners == [row.owner], f"round {number}"
        assert row.fence == number + 1


def test_a_compaction_changes_no_row(bed: Bed) -> None:
    """Events are appended and the lock is renewed after it as before it."""
    store = bed.open()
    store.create(bed.free)
    events = [event(number) for number in range(1, 5)]
    for each in events[:3]:
        store.append([each])
    held = replace(bed.free, owner="a", fence=1)
    assert store.compare_and_set(bed.free, held)
    store.compact()
    assert (bed.open().read_history(), bed.open().read_lock()) == (tuple(events[:3]), held)
    store.append(events[3:])
    assert store.compare_and_set(held, replace(held, beat=1))
    store.compact()
    assert bed.open().read_history() == tuple(events)


def test_other_catalogs_histories_are_found_by_name(bed: Bed) -> None:
    """The names of other catalogs' histories identify a catalog that was renamed."""
    bed.open().create(bed.free)
    bed.open().append([event(1)])
    assert bed.open_other().read_other_histories() == {bed.name: (event(1),)}
    assert bed.open().read_other_histories() == {}
