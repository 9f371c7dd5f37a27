"""The store through PyIceberg: what it creates and keeps, and how it handles a failing catalog."""

from __future__ import annotations

import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    NoSuchTableError,
    ServerError,
)
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import StringType

from glacierbase.errors import (
    CommitConflict,
    ConfigurationError,
    EngineError,
    OutcomeUnknown,
    StatementRefused,
    TableNotFound,
)
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.run.installed import pip_install
from glacierbase.stores import LockRow
from glacierbase.stores.iceberg import IcebergStore, open_store
from tests.support.foreign import foreign_writer
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

URI = "spark.sql.catalog.lake.uri"
FREE = free_row(LockTerms("shop", "default", 60))


def event(sequence: int) -> Event:
    now = datetime.now(timezone.utc)
    return Event(1, sequence, "run", "shop", "default", "statement_done", version="0001", recorded_at=now)


def held(beat: int, owner: str = "a") -> LockRow:
    return replace(FREE, owner=owner, fence=1, beat=beat)


@contextmanager
def overtaken_by(others: Callable[[], object]) -> Iterator[None]:
    """Call `others` once, after a table was loaded."""
    load, done = SqlCatalog.load_table, []

    def overtaken(self: SqlCatalog, identifier: Any) -> Any:
        table = load(self, identifier)
        if not done:
            done.append(identifier)
            others()
        return table

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlCatalog, "load_table", overtaken)
        yield
    assert done


@pytest.fixture
def store(iceberg_catalog: Catalog) -> IcebergStore:
    """A store with existing tables, one event and a held lock."""
    store = open_store(iceberg_catalog)
    store.create(FREE)
    store.append([event(1)])
    assert store.compare_and_set(FREE, held(0))
    return store


@pytest.fixture
def vendor(iceberg_catalog: Catalog, store: IcebergStore) -> SqlCatalog:
    """The store's catalog, opened by another client."""
    return SqlCatalog("lake", uri=f"sqlite:///{database_of(iceberg_catalog)}")


def database_of(catalog: Catalog) -> str:
    return catalog.spark_conf[URI].removeprefix("jdbc:sqlite:").partition("?")[0]


def sequences(store: IcebergStore) -> list[int]:
    return [event.sequence for event in store.read_history()]


@contextmanager
def answering(before: Exception | None = None, after: Exception | None = None, times: int = 1) -> Iterator[None]:
    """Make the next commits raise, before or after they take effect."""
    commit, left = SqlCatalog.commit_table, [times]

    def answer(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0 and before:
            raise before
        made = commit(*arguments)
        if left[0] >= 0 and after:
            raise after
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlCatalog, "commit_table", answer)
        yield


def test_a_question_creates_no_database(iceberg_catalog: Catalog, lake_project: ProjectFolder) -> None:
    """A read-only command creates neither the database file nor its folder."""
    store = open_store(iceberg_catalog)
    assert store.read_history() == ()
    assert store.read_lock() is None
    assert store.read_other_histories() == {}
    assert not store.has_namespace()
    assert not (lake_project.root / "warehouse").exists()


def test_a_percent_sign_in_a_folder_is_itself(iceberg_catalog: Catalog, tmp_path: Path) -> None:
    """Some CI servers name the folders of jobs so; the database is where the JDBC address says, for every SQLAlchemy."""
    folder = tmp_path / "feature%2Fa%20b"
    conf = {
        **iceberg_catalog.spark_conf,
        URI: f"jdbc:sqlite:{folder}/catalog.db",
        URI.replace("uri", "warehouse"): f"file://{folder}",
    }
    store = open_store(replace(iceberg_catalog, spark_conf=conf))
    store.create(FREE)
    store.append([event(1)])
    store.compact()
    assert sequences(store) == [1]
    assert (folder / "catalog.db").stat().st_size > 0


def test_a_question_creates_no_tables_of_the_catalogs_own(
    iceberg_catalog: Catalog, lake_project: ProjectFolder
) -> None:
    """A read-only command creates no tables of PyIceberg in an empty or foreign database."""
    (lake_project.root / "warehouse").mkdir()
    database = lake_project.root / "warehouse/catalog.db"
    database.touch()
    store = open_store(iceberg_catalog)
    assert store.read_history() == ()
    assert store.read_other_histories() == {}
    assert not store.has_namespace()
    store.drop(namespace=True)
    assert database.stat().st_size == 0


def test_writing_where_nothing_was_created_is_an_error(iceberg_catalog: Catalog) -> None:
    """The append raises TableNotFound and creates nothing."""
    store = open_store(iceberg_catalog)
    with pytest.raises(TableNotFound):
        store.append([event(1)])
    assert not store.compare_and_set(FREE, held(0))
    assert store.read_lock() is None


def half_made(catalog: Catalog) -> IcebergStore:
    """Return a store whose creator died after it had created the lock table, before it added the row."""

    def die(*_: object) -> None:
        raise SystemExit

    store = open_store(catalog)
    with patch.object(store, "replace_rows", die), pytest.raises(SystemExit):
        store.create(FREE)
    return store


def test_a_lock_table_whose_creator_died_before_its_row_is_completed_once(iceberg_catalog: Catalog) -> None:
    """Eight runs that find it at the same moment add one row, without an error."""
    assert half_made(iceberg_catalog).lock_rows() == ()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: open_store(iceberg_catalog).create(FREE), range(8)))
    assert open_store(iceberg_catalog).lock_rows() == (FREE,)


def test_commands_go_on_where_the_lock_table_has_no_row_yet(
    iceberg_catalog: Catalog, lake_project: ProjectFolder
) -> None:
    """Read-only commands and `unlock` write nothing; `baseline` adds the row, acquires the lock, and warns of nothing."""
    store = half_made(iceberg_catalog)
    lake_project.file("1_a.sql", "SELECT 1")
    for command in (("pending",), ("status",), ("unlock", "--reason", "a test", "--yes")):
        done = run_here(lake_project, *command)
        assert (done.code, done.stderr) == (0, ""), command
    assert store.lock_rows() == ()
    done = run_here(lake_project, "baseline", "--to", "1", "--reason", "a test", "--yes")
    assert (done.code, "lock" in done.stderr) == (0, False), done.stderr
    assert [(row.owner, row.fence) for row in store.lock_rows() or ()] == [("", 1)]


def test_a_creator_that_was_overtaken_before_its_row_adds_none(iceberg_catalog: Catalog) -> None:
    """The row that another run added and acquired stays the only one."""
    store, other = half_made(iceberg_catalog), open_store(iceberg_catalog)

    def overtake() -> None:
        other.create(FREE)
        assert other.compare_and_set(FREE, held(0))

    with overtaken_by(overtake):
        assert not store.replace_rows((), FREE)
    assert store.lock_rows() == (held(0),)


def test_what_doctor_made_up_can_be_dropped_for_good(iceberg_catalog: Catalog, store: IcebergStore) -> None:
    """`drop` removes tables, files and namespace, and may be called twice."""
    other = replace(iceberg_catalog, store=replace(iceberg_catalog.store, namespace="made_up"))
    made_up = open_store(other)
    assert not made_up.has_namespace()
    made_up.create(FREE)
    made_up.append([event(1)])
    assert made_up.has_namespace()
    warehouse = Path(iceberg_catalog.spark_conf["spark.sql.catalog.lake.warehouse"].removeprefix("file://"))
    assert [path for path in (warehouse / "made_up").rglob("*") if path.is_file()]
    for _ in range(2):
        made_up.drop(namespace=True)
    assert not made_up.has_namespace()
    assert [path for path in (warehouse / "made_up").rglob("*") if path.is_file()] == []
    assert sequences(store) == [1]


def test_a_namespace_may_have_levels(iceberg_catalog: Catalog) -> None:
    """A SQL catalog stores the levels as one name."""
    store = open_store(replace(iceberg_catalog, store=replace(iceberg_catalog.store, namespace="ops.glacierbase")))
    store.create(FREE)
    store.append([event(1)])
    assert store.has_namespace()
    assert sequences(store) == [1]
    other = replace(iceberg_catalog, name="other", store=replace(iceberg_catalog.store, namespace="ops.glacierbase"))
    assert list(open_store(other).read_other_histories()) == ["shop"]


def test_columns_of_a_later_version_are_passed_over_and_kept(store: IcebergStore, vendor: SqlCatalog) -> None:
    """Reads ignore them; appends, lock changes and compaction keep them."""
    for name in ("glacierbase.history_shop", "glacierbase.lock_shop"):
        with vendor.load_table(name).update_schema() as update:
            update.add_column("later", StringType())
        table = vendor.load_table(name)
        rows = table.scan().to_arrow().to_pylist()
        table.overwrite(
            pyarrow.Table.from_pylist([{**row, "later": "kept"} for row in rows], table.schema().as_arrow())
        )
    store.append([event(2)])
    assert store.compare_and_set(held(0), held(1))
    store.compact()
    assert sequences(store) == [1, 2]
    assert store.read_lock() == held(1)
    history = vendor.load_table("glacierbase.history_shop").scan().to_arrow()
    assert sorted(zip(history["sequence"].to_pylist(), history["later"].to_pylist(), strict=True)) == [
        (1, "kept"),
        (2, None),
    ]
    assert vendor.load_table("glacierbase.lock_shop").scan().to_arrow()["later"].to_pylist() == ["kept"]


def test_tables_without_what_makes_the_lock_a_lock_are_refused(store: IcebergStore, vendor: SqlCatalog) -> None:
    """The hint is the ALTER TABLE that sets the properties."""
    with vendor.load_table("glacierbase.lock_shop").transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "4"})
    store.read_lock_and_history()
    with pytest.raises(ConfigurationError) as caught:
        store.create(FREE)
    assert caught.value.code == "STORE_PROPERTIES"
    assert caught.value.hint == (
        "ALTER TABLE `lake`.`glacierbase`.`lock_shop` SET TBLPROPERTIES ('commit.retry.num-retries'='0')"
    )


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (NoSuchTableError("Table does not exist: a.b"), TableNotFound, "Table does not exist: a.b"),
        (CommitFailedException("Requirement failed\nmore"), CommitConflict, "Requirement failed"),
        (FileNotFoundError(2, "No such file"), CommitConflict, "[Errno 2] No such file"),
        (ForbiddenError("NotAuthorized: no"), StatementRefused, "NotAuthorized: no"),
        (CommitStateUnknownException("RESTError 500"), OutcomeUnknown, "RESTError 500"),
        (ServerError("RESTError 503"), OutcomeUnknown, "RESTError 503"),
        (ConnectionResetError(104, "Connection reset by peer"), OutcomeUnknown, "[Errno 104] Connection reset by peer"),
        (ValueError("x" * 400), OutcomeUnknown, "x" * 300),
        (ValueError(), OutcomeUnknown, "ValueError"),
    ],
)  # fmt: skip
def test_an_answer_that_proves_nothing_is_unknown(raised: Exception, kind: type[EngineError], message: str) -> None:
    """Other errors keep their class; the message is their first line."""
    with pytest.raises(EngineError) as caught, mapped():
        raise raised
    assert type(caught.value) is kind
    assert caught.value.message == message
    assert caught.value.__cause__ is raised


def test_the_first_cause_speaks_unless_pyiceberg_does() -> None:
    """An exception of PyIceberg is preferred to its cause."""
    reset = ConnectionRefusedError("refused at the door")
    pool = RuntimeError("much about pools of connections")
    pool.__context__ = reset
    with pytest.raises(OutcomeUnknown, match="refused at the door"), mapped():
        raise pool
    with pytest.raises(CommitConflict, match="branch main has changed"), mapped():
        raise CommitFailedException("branch main has changed") from RuntimeError("409")


def test_a_server_that_cannot_be_reached_is_named(iceberg_catalog: Catalog) -> None:
    """The message names the server instead of urllib3's connection pool."""
    conf = {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.uri": "http://127.0.0.1:9/api",
    }
    with pytest.raises(OutcomeUnknown) as caught:
        open_store(replace(iceberg_catalog, spark_conf=conf)).read_history()
    assert caught.value.message.startswith("http://127.0.0.1:9/api/v1/config: ")
    assert caught.value.message.endswith("Connection refused")


def test_a_failed_append_reports_whether_it_may_have_had_its_effect(store: IcebergStore) -> None:
    """A conflict had no effect, and the first one is retried. After a lost answer, the history shows the effect."""
    with answering(before=CommitFailedException("first come"), times=2), pytest.raises(CommitConflict):
        store.append([event(2)])
    assert sequences(store) == [1]
    with answering(after=ConnectionResetError("reset")), pytest.raises(OutcomeUnknown):
        store.append([event(2)])
    assert sequences(store) == [1, 2]


def test_what_compaction_takes_from_under_a_writer_is_written_again(store: IcebergStore) -> None:
    """The append is retried after compaction deleted the files it was based on; the refused commit had no effect."""
    store.append([event(2)])
    with overtaken_by(store.compact):
        store.append([event(3)])
    assert sequences(store) == [1, 2, 3]
    for beat in range(5):
        assert store.compare_and_set(held(beat), held(beat + 1))
    with overtaken_by(store.compact):
        assert store.compare_and_set(held(5), held(6))
    assert store.read_lock() == held(6)


def test_lock_and_history_are_read_at_the_same_time(iceberg_catalog: Catalog, store: IcebergStore) -> None:
    """The files of the lock are not read until those of the history are."""
    history_is_read, manifests = threading.Event(), Snapshot.manifests

    def wait(snapshot: Snapshot, io: Any) -> Any:
        if "history_shop" in snapshot.manifest_list:
            history_is_read.set()
        else:
            assert history_is_read.wait(20)
        return manifests(snapshot, io)

    with patch.object(Snapshot, "manifests", wait):
        assert open_store(iceberg_catalog).read_lock_and_history() == (held(0), store.read_history())


def test_what_is_appended_after_the_lock_was_loaded_is_read_with_it(
    iceberg_catalog: Catalog, store: IcebergStore
) -> None:
    """Else the row would acknowledge an event that the history lacks."""
    with overtaken_by(lambda: store.append([event(2)])):
        row, events = open_store(iceberg_catalog).read_lock_and_history()
    assert (row, [event.sequence for event in events]) == (held(0), [1, 2])


def test_a_lost_or_refused_answer_does_not_lose_the_lock(store: IcebergStore) -> None:
    """After such an answer, the row is read to decide."""
    with answering(after=ConnectionResetError("reset")):
        assert store.compare_and_set(held(0), held(1))
    with answering(before=CommitFailedException("compacted meanwhile")):
        assert store.compare_and_set(held(1), held(2))
    assert store.read_lock() == held(2)


def test_a_row_that_was_overtaken_is_not_set_even_where_commits_are_tried_again(
    iceberg_catalog: Catalog, store: IcebergStore, vendor: SqlCatalog
) -> None:
    """PyIceberg retries commits unless the table's properties forbid it."""
    with vendor.load_table("glacierbase.lock_shop").transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "4"})
    winner = held(1, owner="winner")
    with overtaken_by(lambda: open_store(iceberg_catalog).compare_and_set(held(0), winner)):
        assert not store.compare_and_set(held(0), held(1))
    assert store.read_lock() == winner


def test_the_error_about_an_unwritable_lock_has_the_reason(store: IcebergStore) -> None:
    """The error is raised after some retries, and the row is unchanged."""
    with answering(before=ForbiddenError("read only"), times=99), pytest.raises(StatementRefused) as caught:
        store.compare_and_set(held(0), held(1))
    assert caught.value.message == "read only"
    assert store.read_lock() == held(0)


def test_a_database_that_another_process_holds_is_an_error_that_names_its_file(
    iceberg_catalog: Catalog, store: IcebergStore
) -> None:
    """The hint finds the process; the message contains neither the SQL nor SQLAlchemy's text."""
    uri = iceberg_catalog.spark_conf[URI].replace("30000", "100")
    impatient = open_store(replace(iceberg_catalog, spark_conf={**iceberg_catalog.spark_conf, URI: uri}))
    database = database_of(iceberg_catalog)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StatementRefused) as caught:
            impatient.read_lock()
    assert caught.value.message.startswith(f"database is locked: another process holds {database}: ")
    assert "\n" not in caught.value.message
    assert f"`fuser {database}`" in caught.value.hint
    assert impatient.read_lock() == store.read_lock() == held(0)


def test_an_error_that_is_kept_holds_no_lock(iceberg_catalog: Catalog, store: IcebergStore) -> None:
    """Two first runs race to create a table; the loser's error must not lock the database for the winner."""
    with pytest.raises(StatementRefused) as kept, mapped():
        store._create_table(store._history, Event)
    with closing(sqlite3.connect(database_of(iceberg_catalog), timeout=0.1)) as other:
        other.execute("BEGIN IMMEDIATE")
    assert "already exists" in kept.value.message


def test_a_commit_of_a_stopped_process_is_reported_with_the_way_to_find_it(
    iceberg_catalog: Catalog, lake_project: ProjectFolder, store: IcebergStore
) -> None:
    """`migrate` and `pending` end with exit 5, the database file and the hint; the store is unchanged."""
    path = lake_project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("busy_timeout=30000", "busy_timeout=100"))
    lake_project.file("1_a.sql", "SELECT 1")
    database = database_of(iceberg_catalog)
    with foreign_writer(database, exclusive=True) as other:
        other.send_signal(signal.SIGSTOP)
        asked = [lake_project.run("pending"), lake_project.run("migrate")]
        other.send_signal(signal.SIGCONT)
    for said in asked:
        assert said.code == 5
        assert said.stderr.count("error: STORE_UNAVAILABLE") == 1
        assert said.stderr.count("STORE_UNAVAILABLE") == 2  # The other one is in `glacierbase explain`.
        assert f"another process holds {database}" in said.stderr
        assert f"`lsof {database}`" in said.stderr
        assert "check the catalog file" not in said.stderr
    assert (sequences(store), store.read_lock()) == ([1], held(0))


def test_a_missing_driver_is_named_with_what_brings_it(
    iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without psycopg2, the hint is the pip command for PostgreSQL."""
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    conf = {**iceberg_catalog.spark_conf, URI: "jdbc:postgresql://localhost/lake"}
    with pytest.raises(ConfigurationError) as caught:
        open_store(replace(iceberg_catalog, spark_conf=conf)).read_lock()
    assert (caught.value.code, caught.value.hint) == (
        "PYICEBERG_NOT_INSTALLED",
        pip_install("postgres"),
    )
