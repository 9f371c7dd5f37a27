"""The SQL store through Spark and the Iceberg store through PyIceberg, on the same two tables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from typing import Any

import pytest

from glacierbase.errors import CommitConflict, EngineError
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow, Store, iceberg, sql
from glacierbase.stores.tables import ICEBERG_PROPERTIES
from tests.support.beds import CatalogBed, LakeBed, with_own_namespace

NOW = datetime(2026, 11, 20, 10, 30, 0, 123457, tzinfo=timezone.utc)
EARLY = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc)
FREE = free_row(LockTerms("contract", "default", 60))
TEXT = "SELECT 'it''s \\ \"ünï\" ?:x ☃ 🧊\t\r\n' -- \x7f"


@dataclass
class Both:
    """A pair of stores on one catalog, one of each kind, by name."""

    catalog: Catalog
    bed: LakeBed | CatalogBed

    def open(self, kind: str) -> Any:
        return sql.open_store(self.catalog, self.bed.executor) if kind == "spark" else iceberg.open_store(self.catalog)

    def anew(self, kind: str) -> Any:
        return Anew(lambda: self.open(kind))

    def table(self, name: str) -> str:
        return f"lake.{self.catalog.store.namespace}.{name}_contract"


class Anew:
    """A store that is opened for every verb, and closed after it."""

    def __init__(self, open_store: Callable[[], Any]) -> None:
        self._open = open_store

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with closing(self._open()) as store:
                return getattr(store, verb)(*arguments)

        return call


@pytest.fixture(params=["lake", "web", "postgres"])
def both(request: pytest.FixtureRequest) -> Both:
    """A pair of stores with nothing created yet: on a catalog in a file, on a server, and in a database."""
    bed: LakeBed | CatalogBed = request.getfixturevalue(request.param)
    return Both(with_own_namespace(bed.catalog), bed)


def event(sequence: int, **values: Any) -> Event:
    return Event(1, sequence, "run", "contract", "default", "started", **values)


def full_event(sequence: int) -> Event:
    """Return an event with a different value in every column."""
    kinds = {"int": lambda name: sequence + len(name), "str": lambda name: f"{name}: {TEXT}", "datetime": lambda _: NOW}
    values = {field.name: kinds[str(field.type).partition(" ")[0]](field.name) for field in fields(Event)}
    return Event(**{**values, "fence": 1, "sequence": sequence, "started_at": EARLY, "duration_ms": 2**62})


@pytest.mark.parametrize(("first", "second"), [("spark", "pyiceberg"), ("pyiceberg", "spark")])
def test_each_reads_what_the_other_wrote(first: str, second: str, both: Both) -> None:
    """Whichever created the tables, every column is equal to the byte and the microsecond, and absent values stay absent."""
    both.anew(first).create(FREE)
    both.anew(second).create(FREE)
    assert both.anew(second).read_history() == ()
    assert both.anew(second).read_lock() == FREE
    both.anew(first).append([full_event(1), event(2)])
    both.anew(second).append([full_event(3)])
    both.anew(second).append([event(4)])
    written = (full_event(1), event(2), full_event(3), event(4))
    assert both.anew(first).read_history() == written
    assert both.anew(second).read_history() == written
    row = replace(FREE, owner="a", fence=1, acquired_at=NOW, expires_at=EARLY, holder=TEXT)
    assert both.anew(first).compare_and_set(FREE, row)
    assert both.anew(second).read_lock() == row
    assert not both.anew(second).compare_and_set(FREE, replace(row, owner="thief"))
    mine = replace(row, owner="b", fence=2, expires_at=None)
    assert both.anew(second).compare_and_set(row, mine)
    assert both.anew(first).read_lock() == mine
    both.anew(first).compact()
    for kind in (first, second):
        assert both.anew(kind).read_history() == written
        assert both.anew(kind).read_lock() == mine


@pytest.mark.parametrize("name", ["history", "lock"])
def test_both_create_the_same_tables(name: str, both: Both) -> None:
    """Columns, types and the properties that glacierbase sets are equal."""
    other = with_own_namespace(both.catalog)
    both.anew("spark").create(FREE)
    Both(other, both.bed).anew("pyiceberg").create(FREE)
    made = [both.table(name), both.table(name).replace(both.catalog.store.namespace, other.store.namespace)]
    columns = [[row[:2] for row in both.bed.rows(f"DESCRIBE {table}")] for table in made]
    assert columns[0] == columns[1]
    properties = [dict(both.bed.rows(f"SHOW TBLPROPERTIES {table}")) for table in made]
    ours = [{key: found.get(key) for key in ICEBERG_PROPERTIES} for found in properties]
    assert ours[0] == ours[1] == ICEBERG_PROPERTIES


def test_of_both_kinds_that_set_at_once_exactly_one_wins(both: Both) -> None:
    """In every round the row names the winner."""
    both.anew("pyiceberg").create(FREE)
    row = FREE
    for number in range(6):
        stores = {f"{kind}{n}": both.open(kind) for kind in ("spark", "pyiceberg") for n in range(2)}
        winners: list[str] = []
        barrier = threading.Barrier(len(stores))

        def compete(name: str, store: Store, row: LockRow, winners: list[str], barrier: threading.Barrier) -> None:
            barrier.wait()
            if store.compare_and_set(row, replace(row, owner=name, fence=row.fence + 1)):
                winners.append(name)

        together([(compete, name, store, row, winners, barrier) for name, store in stores.items()])
        for store in stores.values():
            store.close()
        found = both.anew("spark").read_lock()
        assert found is not None
        assert winners == [found.owner], f"round {number}"
        assert found.fence == number + 1
        row = found


def test_first_runs_of_both_kinds_make_each_table_once(both: Both) -> None:
    """No run raises an error of the race between them."""
    kinds = ("spark", "pyiceberg", "spark", "pyiceberg")
    together([(lambda kind: both.anew(kind).create(FREE), kind) for kind in kinds])
    for kind in set(kinds):
        assert both.anew(kind).read_lock() == FREE
        assert both.anew(kind).read_history() == ()
    assert both.bed.rows(f"SELECT count(*) FROM {both.table('lock')}") == [(1,)]


def test_what_sparks_own_maintenance_rewrites_and_forgets_meanwhile_loses_nothing(both: Both) -> None:
    """The store through PyIceberg and the store through the engine compact while a run appends and renews its lock."""
    writer = both.open("pyiceberg")
    writer.create(FREE)
    ended = threading.Event()

    def write() -> None:
        row = FREE
        try:
            for number in range(25):
                until_first(lambda number=number: writer.append([event(number)]))
                renewed = replace(row, owner="a", fence=1, beat=number)
                assert writer.compare_and_set(row, renewed)
                row = renewed
        finally:
            ended.set()

    def compact() -> None:
        while not ended.wait(0.3):
            until_first(both.anew("pyiceberg").compact)

    def maintain() -> None:
        session, namespace = both.bed.executor.open_session(), both.catalog.store.namespace
        while not ended.is_set():
            for table in ("history", "lock"):
                name = f"table => '{namespace}.{table}_contract'"
                for call in (
                    f"rewrite_data_files({name}, options => map('min-input-files', '2'))",
                    f"expire_snapshots({name}, older_than => TIMESTAMP '2099-01-01 00:00:00', retain_last => 1)",
                ):
                    with suppress(EngineError):  # The writer may come first.
                        session.execute(f"CALL lake.system.{call}")
                        done.append(call)
        session.close()

    done: list[str] = []
    together([(write,), (compact,), (maintain,)])
    writer.close()
    assert done
    for kind in ("spark", "pyiceberg"):
        assert [each.sequence for each in both.anew(kind).read_history()] == list(range(25))
        assert both.anew(kind).read_lock() == replace(FREE, owner="a", fence=1, beat=24)


def until_first(commit: Callable[[], None]) -> None:
    """Retry until no other commit comes first."""
    while True:
        try:
            commit()
            return
        except CommitConflict:
            continue


def together(calls: list[tuple[Any, ...]]) -> None:
    """Run all at the same time; raise the first error."""
    errors: list[BaseException] = []

    def run(function: Callable[..., None], *arguments: Any) -> None:
        try:
            function(*arguments)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
