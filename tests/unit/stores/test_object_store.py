"""History and lock on an S3 server: which files each operation reads and writes, and what remains after a fault of any request."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

import pytest

from glacierbase.errors import EngineError, OutcomeUnknown
from glacierbase.executors.pyiceberg import opened
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow
from glacierbase.stores.iceberg import IcebergStore, open_store
from tests.support.objectstore import ObjectStore, catalog_file
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.unit.stores.test_iceberg_store import FREE, event, held, sequences

# The metadata, the manifest list, the manifest and the rows.
READ = Counter({"json": 1, "avro": 2, "parquet": 1})
ALTER = "ALTER TABLE lake.a.t ADD COLUMN c{} INT"
# Lock and history as they are read.
State = tuple[LockRow | None, tuple[Event, ...]]


@pytest.fixture
def catalog(s3: ObjectStore, project: ProjectFolder) -> Catalog:
    """A catalog whose tables are in the bucket."""
    (project.root / "warehouse").mkdir()
    project.catalog(catalog_file(s3, project.root / "warehouse/catalog.db"))
    return only_catalog(project.root)


@pytest.fixture
def store(catalog: Catalog) -> IcebergStore:
    """A store with one event and a held lock."""
    store = open_store(catalog)
    store.create(FREE)
    store.append([event(1)])
    assert store.compare_and_set(FREE, held(0))
    return store


@contextmanager
def files(s3: ObjectStore, *methods: str) -> Iterator[Counter[str]]:
    """Yield a counter that holds after the block how many files were read (GET) or written (PUT), by their endings."""
    counted: Counter[str] = Counter()
    before = len(s3.log)
    yield counted
    keys = {key for method, key in s3.log[before:] if method in methods and "." in key}
    counted.update(key.rpartition(".")[2] for key in keys)


def new_store(catalog: Catalog) -> IcebergStore:
    """Return a store that has no file of others in this process, as that of a new process."""
    opened._OPENED.clear()
    return open_store(catalog)


def failing(requests: range, fault: int | str) -> Callable[[int, str, str], int | str | None]:
    """Return the faults of a server whose requests with these numbers fail."""
    return lambda number, *_: fault if number in requests else None


def test_a_read_costs_the_same_after_any_number_of_events(
    store: IcebergStore, catalog: Catalog, s3: ObjectStore
) -> None:
    """Lock and history are four files each while the history is small, and two more when it is large."""
    for number in range(2, 24):
        store.append([event(number)])
    with files(s3, "GET") as small:
        row, events = new_store(catalog).read_lock_and_history()
    assert (row, len(events)) == (held(0), 23)
    assert small == READ + READ
    store.append([event(number) for number in range(24, 5000)])
    for number in range(5000, 5080):
        store.append([event(number)])
    with files(s3, "GET") as large:
        assert len(new_store(catalog).read_history()) == 5079
    assert large == READ + Counter(parquet=1)


def test_a_compare_and_set_and_an_append_write_four_files_each(store: IcebergStore, s3: ObjectStore) -> None:
    """A compaction of the lock, after each 20 changes, is one metadata file more."""
    for number in range(2, 5):
        with files(s3, "PUT", "POST") as written:
            store.append([event(number)])
        assert written == READ
    beats = range(60)
    with files(s3, "PUT", "POST") as written:
        for beat in beats:
            assert store.compare_and_set(held(beat), held(beat + 1))
    assert written == Counter({"json": 60 + 3, "avro": 120, "parquet": 60})
    left = [key for key in s3.objects if "lock_shop" in key and "." in key]
    assert len(left) < 4 * 20 + 40


def test_compaction_reads_no_expired_snapshot(store: IcebergStore, catalog: Catalog, s3: ObjectStore) -> None:
    """What to delete is in the metadata: only the current snapshot of each table is read."""
    for number in range(2, 20):
        store.append([event(number)])
        assert store.compare_and_set(held(number - 2), held(number - 1))
    compacting = new_store(catalog)
    with files(s3, "GET") as read:
        compacting.compact()
    assert read["avro"] == 4
    assert read["parquet"] == 0
    left = Counter(key.rpartition(".")[2] for key in s3.objects if "." in key)
    assert (left["avro"], left["parquet"]) == (4, 2)
    assert sequences(compacting) == list(range(1, 20))


@pytest.mark.parametrize("can_delete_in_bulk", [True, False])
def test_a_compaction_deletes_files_by_one_request_where_the_server_can(
    store: IcebergStore, s3: ObjectStore, *, can_delete_in_bulk: bool
) -> None:
    """Else each file is deleted by its own; in both cases only the current snapshot's files are left."""
    for number in range(2, 10):
        store.append([event(number)])
        assert store.compare_and_set(held(number - 2), held(number - 1))
    s3.fault = lambda _, method, __: 403 if method == "POST" and not can_delete_in_bulk else None
    with s3.counted() as kinds:
        store.compact()
    deleted = sum(count for kind, count in kinds.items() if kind.startswith("DELETE"))
    assert (kinds["POST "], deleted) == (2, 0 if can_delete_in_bulk else 3 * (8 + 9))
    left = Counter(key.rpartition(".")[2] for key in s3.objects)
    assert (left["avro"], left["parquet"]) == (4, 2)


def test_every_fault_of_a_read_is_an_error_or_the_truth(store: IcebergStore, catalog: Catalog, s3: ObjectStore) -> None:
    """Every request fails once, in each way; no read returns fewer events or another row."""
    expected = (held(0), store.read_history())
    for fault in (503, "drop", "cut"):
        for step in range(len(READ) + 40):
            begun = len(s3.log)
            s3.fault = failing(range(begun + step, begun + step + 1), fault)
            try:
                assert new_store(catalog).read_lock_and_history() == expected
            except EngineError:
                continue
            if len(s3.log) <= begun + step:
                break
        else:
            pytest.fail("it never ended")


@pytest.mark.parametrize("fault", [503, "drop", "lose"])
@pytest.mark.parametrize("is_append", [True, False])
def test_every_fault_of_a_write_is_an_error_or_its_effect(
    catalog: Catalog, s3: ObjectStore, store: IcebergStore, fault: int | str, *, is_append: bool
) -> None:
    """Every request of an append or of a compare-and-set fails in each way: nothing is lost, and nothing is there twice."""
    for step in count():
        before = new_store(catalog).read_lock_and_history()
        writing = new_store(catalog)
        writing.read_lock_and_history()
        begun = len(s3.log)
        s3.fault = failing(range(begun + step, sys.maxsize), fault)
        done = written(writing, before, is_append=is_append)
        is_over = len(s3.log) <= begun + step
        s3.fault = lambda *_: None
        after = new_store(catalog).read_lock_and_history()
        assert after == done if done else after == before or is_next(before, after)
        if is_over:
            assert done
            break
    assert step >= 4


def written(store: IcebergStore, before: State, *, is_append: bool) -> State | None:
    """Write the next event or beat; return what is then to be read, or None after an error."""
    row, events = before
    assert row
    following = event(len(events) + 1)
    beat = replace(row, beat=row.beat + 1)
    try:
        if is_append:
            store.append([following])
            return row, (*events, following)
        return (beat, events) if store._set([row], beat) else None
    except EngineError:
        return None


def is_next(before: State, after: State) -> bool:
    """Return whether one event or one beat was added."""
    (row, events), (row_after, events_after) = before, after
    assert row
    one_more = events_after[: len(events)] == events and len(events_after) == len(events) + 1
    return (row_after == row and one_more) or (row_after == replace(row, beat=row.beat + 1) and events_after == events)


def test_rows_that_cannot_be_read_back_are_not_lost(store: IcebergStore, s3: ObjectStore) -> None:
    """A file with other rows than its manifest says is not rewritten: the append fails, and the file stays."""
    [name] = [key for key in s3.objects if "history_shop" in key and key.endswith(".parquet")]
    other = new_store(replace(store._configured, name="other"))
    other.create(FREE)
    other.append([event(1), event(2)])
    [longer] = [key for key in s3.objects if "history_other" in key and key.endswith(".parquet")]
    kept = s3.objects[name]
    s3.objects[name] = s3.objects[longer]
    fresh = new_store(store._configured)
    with pytest.raises(OutcomeUnknown, match="fewer or more rows"):
        fresh.append([event(2)])
    s3.objects[name] = kept
    assert sequences(store) == [1]


def test_the_program_makes_few_requests_to_the_store(s3: ObjectStore, project: ProjectFolder) -> None:
    """The counts are exact. Each file more costs an append and its own commit."""
    (project.root / "warehouse").mkdir()
    project.catalog(catalog_file(s3, project.root / "warehouse/catalog.db"))
    project.file("1_create.sql", "CREATE NAMESPACE lake.a;\nCREATE TABLE lake.a.t (id BIGINT)")

    def requests(*arguments: str) -> Counter[str]:
        with s3.counted() as kinds:
            done = run_here(project, *arguments)
        assert done.code == 0, done.stderr
        return Counter(kind.partition(" ")[0] for kind in kinds.elements())

    assert requests("migrate") == {"PUT": 27}
    assert requests("pending") == {"GET": 8}
    project.file("2_alter.sql", ALTER.format(2))
    assert requests("migrate") == {"PUT": 17, "GET": 9}
    for number in range(3, 7):
        project.file(f"{number}_alter.sql", ALTER.format(number))
    assert requests("migrate") == {"PUT": 17 + 3 * 5, "GET": 9}
    for question in (("pending",), ("status",), ("schema", "lake.a.t"), ("blame", "lake.a.t")):
        assert requests(*question) == {"GET": 9 if question[0] == "blame" else 8}
