"""Tables of history and lock that somebody changed by hand, on the real stores: no row, several rows, no column."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pytest

from glacierbase.errors import NeedsRepair
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow, Store, iceberg, sql
from tests.support.beds import LakeBed, SnowBed, with_own_namespace

RACERS, ROUNDS = 4, 4


@dataclass
class Bed:
    """Stores of one catalog by kind, and the engine that another client uses."""

    kinds: Sequence[str]
    open: Callable[[str], Any]
    free: LockRow
    history: str
    lock: str
    execute: Callable[[str], Any]

    def each(self) -> list[Any]:
        return [self.open(kind) for kind in self.kinds]

    def rows(self) -> tuple[LockRow, ...]:
        with closing(self.open(self.kinds[0])) as store:
            return tuple(store.lock_rows())


@pytest.fixture(params=["lake", "emulated"])
def bed(request: pytest.FixtureRequest) -> Bed:
    """On Spark both stores on the same tables, which have a history of one event and a free lock."""
    lake: LakeBed | SnowBed = request.getfixturevalue(request.param)
    catalog = with_own_namespace(lake.catalog)

    def open_kind(kind: str) -> Any:
        return iceberg.open_store(catalog) if kind == "iceberg" else sql.open_store(catalog, lake.executor)

    def execute(statement: str) -> None:
        with closing(lake.executor.open_session()) as session:
            session.execute(statement)

    where = f"{catalog.store.catalog}.{catalog.store.namespace}"
    free = free_row(LockTerms(catalog.name, "default", 60), 7)
    kinds = ("iceberg", "sql") if isinstance(lake, LakeBed) else ("sql",)
    made = Bed(kinds, open_kind, free, f"{where}.history_{catalog.name}", f"{where}.lock_{catalog.name}", execute)
    with closing(open_kind("sql")) as store:
        store.create(free)
        store.append([Event(1, 1, "run", catalog.name, "default", "unlocked")])
    return made


def together(call: Callable[[int, Store], bool], bed: Bed) -> int:
    """Let several stores of all kinds do it at once; return how many were told that they succeeded."""
    barrier, won = threading.Barrier(RACERS), []

    def run(number: int) -> None:
        with closing(bed.open(bed.kinds[number % len(bed.kinds)])) as store:
            barrier.wait()
            if call(number, store):
                won.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(RACERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(won)


def test_a_deleted_row_is_told_from_a_dropped_table_and_added_once(bed: Bed) -> None:
    """The second one that adds it finds it."""
    for number, store in enumerate(bed.each()):
        bed.execute(f"DELETE FROM {bed.lock}")
        assert (store.lock_rows(), store.read_lock()) == ((), None)
        row = replace(bed.free, fence=10 + number)
        assert store.replace_rows((), row)
        assert store.lock_rows() == (row,)
        assert not store.replace_rows((), bed.free)
        assert store.read_lock() == row
        held = replace(row, owner="a", fence=20)
        assert store.compare_and_set(row, held)
        assert not store.replace_rows((), bed.free)
        assert store.read_lock() == held
    bed.execute(f"DROP TABLE {bed.lock}")
    assert bed.each()[0].lock_rows() is None


def test_several_that_add_the_row_at_once_add_one(bed: Bed) -> None:
    """On Iceberg the table then holds one row; on Snowflake it may hold several, and then no run acquires the lock."""
    for number in range(ROUNDS):
        bed.execute(f"DELETE FROM {bed.lock}")
        row = replace(bed.free, fence=100 + number)
        assert together(lambda _, store, row=row: store.replace_rows((), row), bed)  # type: ignore[misc]
        assert set(bed.rows()) == {row}
        if "iceberg" in bed.kinds:
            assert bed.rows() == (row,)


def test_of_both_stores_one_adds_the_first_row_of_a_lock_table(lake: LakeBed) -> None:
    """The creator of the table died before it added the row, so that the table has no snapshot to compare with."""
    for number in range(ROUNDS):
        catalog = with_own_namespace(lake.catalog)
        free = free_row(LockTerms(catalog.name, "default", 60), number)
        with closing(iceberg.open_store(catalog)) as creator:
            creator._catalog.create_namespace(creator._namespace)
            creator._create_table(creator._history, Event)
            creator._create_table(creator._lock, LockRow)

        def open_kind(kind: str, catalog: Catalog = catalog) -> Any:
            return iceberg.open_store(catalog) if kind == "iceberg" else sql.open_store(catalog, lake.executor)

        bed = Bed(("iceberg", "sql"), open_kind, free, "", "", lambda _: None)
        assert together(lambda _, store, free=free: store.replace_rows((), free), bed)  # type: ignore[misc]
        assert bed.rows() == (free,)
        for store in bed.each():
            store.create(free)
            assert store.lock_rows() == (free,)


def double(bed: Bed) -> None:
    bed.execute(f"INSERT INTO {bed.lock} SELECT * FROM {bed.lock}")


def test_while_the_table_holds_several_rows_no_change_succeeds(bed: Bed) -> None:
    """With several rows, neither a read nor a compare-and-set says which row counts."""
    double(bed)
    for store in bed.each():
        assert store.lock_rows() == (bed.free, bed.free)
        with pytest.raises(NeedsRepair) as caught:
            store.read_lock()
        assert caught.value.code == "LOCK_DAMAGED"
        assert "holds 2 rows" in caught.value.message
        with pytest.raises(NeedsRepair):
            store.compare_and_set(bed.free, replace(bed.free, owner="a", fence=8))
    assert len(bed.rows()) == 2


@pytest.mark.parametrize("damage", ["twice", "four times", "no fence", "no owner"])
def test_the_rows_of_a_damaged_table_are_replaced_by_one(damage: str, bed: Bed) -> None:
    """Whichever store does it, the other reads the same row, and can compare and set it."""
    for number, store in enumerate(bed.each()):
        if damage.startswith("no "):
            bed.execute(f"UPDATE {bed.lock} SET {damage[3:]} = NULL")
        else:
            for _ in range(2 if damage == "four times" else 1):
                double(bed)
        seen = store.lock_rows()
        row = replace(bed.free, owner="mine", fence=10_000 + number)
        assert store.replace_rows(seen, row)
        for reader in bed.each():
            assert reader.lock_rows() == (row,)
        assert store.compare_and_set(row, replace(row, beat=1))


def test_of_several_that_replace_the_rows_at_once_at_most_one_is_told_so(bed: Bed) -> None:
    """The table always holds a row, and is sound once one was told so; another round makes it sound where none was."""
    for number in range(ROUNDS):
        double(bed)

        def rebuild(racer: int, store: Store) -> bool:
            seen = store.lock_rows() or ()
            assert seen
            fence = max(each.fence for each in seen) + 1
            return len(seen) > 1 and store.replace_rows(seen, replace(bed.free, owner=f"racer {racer}", fence=fence))

        won = together(rebuild, bed)
        rows = bed.rows()
        assert rows, f"round {number}"
        for _ in range(5):
            if len(rows) == 1:
                break
            won = together(rebuild, bed)
            rows = bed.rows()
        assert len(rows) == 1, f"round {number}"
        assert won <= 2  # The second one took it over from the first, with a higher fence.


@pytest.mark.parametrize("bed", ["lake"], indirect=True)
@pytest.mark.parametrize("column", ["reason", "fence", "recorded_at", "details"])
def test_a_dropped_column_of_the_history_is_named(column: str, bed: Bed) -> None:
    """Without it the rows mean something else."""
    bed.execute(f"ALTER TABLE {bed.history} DROP COLUMN {column}")
    for store in bed.each():
        with pytest.raises(NeedsRepair) as caught:
            store.read_history()
        assert (caught.value.code, caught.value.data["columns"]) == ("HISTORY_DAMAGED", [column])


@pytest.mark.parametrize("bed", ["lake"], indirect=True)
@pytest.mark.parametrize("column", ["beat", "holder"])
def test_a_dropped_column_of_the_lock_is_named_with_the_way_out(column: str, bed: Bed) -> None:
    """The table can be dropped: its fence is above the history's when it is created again."""
    bed.execute(f"ALTER TABLE {bed.lock} DROP COLUMN {column}")
    for store in bed.each():
        with pytest.raises(NeedsRepair) as caught:
            store.read_lock()
        assert (caught.value.code, caught.value.data["columns"]) == ("LOCK_DAMAGED", [column])
    bed.execute(caught.value.hint.partition("run is at work: ")[2].partition(";")[0])
    store = bed.each()[-1]
    store.create(bed.free)
    assert store.read_lock() == bed.free


def test_null_in_any_column_of_the_history_is_read_without_an_error_of_the_store(bed: Bed) -> None:
    """What it means is decided by the history, which names the row."""
    for column in ("fence", "sequence", "run_id", "event"):
        bed.execute(f"UPDATE {bed.history} SET {column} = NULL")
        for store in bed.each():
            assert getattr(store.read_history()[0], column) is None
