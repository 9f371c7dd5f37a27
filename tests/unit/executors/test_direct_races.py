"""Statements without an engine that run at the same time, and those whose answer is lost: each takes effect once, or is refused."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from glacierbase.errors import OutcomeUnknown, StatementRefused
from glacierbase.executors.direct.ddl import commit
from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.pyiceberg import rest
from glacierbase.model.catalog import Catalog
from tests.support.checkingproxy import RESET, CheckingProxy, Fault, checking_proxy
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.pythoncatalog import PythonCatalog

TABLE = "lake.a.t"
WRITERS = 8
WEB = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: ADDRESS
      spark.sql.catalog.lake.credential: ${secret:MIGRATOR_LOGIN}
"""


class Writers:
    """Executors of one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def run(self, *statements: str) -> None:
        """Run statements in an executor of their own."""
        with closing(IcebergExecutor(self._catalog)) as executor:
            session = executor.open_session()
            for sql in statements:
                session.execute(sql, tag=f"glacierbase;{uuid.uuid4().hex};1;1")

    def race(self, statements: Callable[[int], Sequence[str]]) -> list[tuple[str, StatementRefused | None]]:
        """Run statements in each of several executors at the same time; return them with their refusals."""
        start = Barrier(WRITERS)

        def write(number: int) -> list[tuple[str, StatementRefused | None]]:
            outcomes: list[tuple[str, StatementRefused | None]] = []
            with closing(IcebergExecutor(self._catalog)) as executor:
                session = executor.open_session()
                start.wait()
                for sql in statements(number):
                    try:
                        session.execute(sql, tag=f"glacierbase;{uuid.uuid4().hex};{number};1")
                        outcomes.append((sql, None))
                    except StatementRefused as error:
                        outcomes.append((sql, error))
            return outcomes

        with ThreadPoolExecutor(WRITERS) as pool:
            return [outcome for outcomes in pool.map(write, range(WRITERS)) for outcome in outcomes]

    def table(self, name: str = "t") -> Any:
        with closing(PyIcebergCatalogs(self._catalog)) as lakes:
            return lakes.open("lake").load_table(("a", name))

    def tables(self) -> list[str]:
        """Return the names of the tables in the namespace `a`."""
        with closing(PyIcebergCatalogs(self._catalog)) as lakes:
            return sorted(name for _, name in lakes.open("lake").list_tables("a"))


@pytest.fixture
def writers(iceberg_catalog: Catalog) -> Writers:
    """Writers on a SQL catalog in SQLite."""
    return Writers(iceberg_catalog)


@pytest.mark.parametrize("rounds", [1, 12])
def test_of_statements_on_one_table_at_the_same_time_each_takes_effect_once_or_is_refused(
    writers: Writers, rounds: int
) -> None:
    """No change is lost or doubled, no id is given twice, and each metadata file follows from the one before."""
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} (id int)")

    def statements(writer: int) -> Iterator[str]:
        for number in range(writer * rounds, (writer + 1) * rounds):
            yield f"ALTER TABLE {TABLE} ADD COLUMN c{number} int"
            yield f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('p{number}' = '1')"
            yield f"ALTER TABLE {TABLE} ADD PARTITION FIELD bucket({number + 2}, id)"

    outcomes = writers.race(lambda writer: list(statements(writer)))
    done = {sql.rpartition("t ADD ")[2].split(" TBLPROPERTIES ")[-1] for sql, error in outcomes if error is None}
    assert all(error.error_class == "CommitFailedException" and error.message for _, error in outcomes if error)
    table = writers.table()
    metadata = table.metadata
    columns = {f"COLUMN {field.name} int" for field in metadata.schema().fields} - {"COLUMN id int"}
    properties = {f"('{key}' = '1')" for key in metadata.properties if key[1:].isdigit()}
    fields = {f"PARTITION FIELD bucket({field.transform.num_buckets}, id)" for field in metadata.spec().fields}
    assert columns | properties | fields == done
    assert len(done) > len(outcomes) / 2
    for ids in (
        [field.field_id for field in metadata.schema().fields],
        [field.field_id for field in metadata.spec().fields],
        [schema.schema_id for schema in metadata.schemas],
        [spec.spec_id for spec in metadata.partition_specs],
    ):
        assert len(set(ids)) == len(ids)
    assert len(metadata.metadata_log) == min(len(done), 100)
    assert {Path(entry.metadata_file.removeprefix("file:")).exists() for entry in metadata.metadata_log} == {True}


def test_first_statements_in_an_empty_database_at_the_same_time(writers: Writers) -> None:
    """The tables of the SQL catalog, a namespace and a table are created once; IF NOT EXISTS accepts those of another writer."""
    names = ("NAMESPACE IF NOT EXISTS lake.a", "TABLE IF NOT EXISTS lake.a.t (id int)")
    outcomes = writers.race(
        lambda writer: [f"CREATE {name}" for name in names] + [f"CREATE TABLE lake.a.u (c{writer} int)"]
    )
    refused = [error.error_class for _, error in outcomes if error]
    assert refused == ["TABLE_OR_VIEW_ALREADY_EXISTS"] * (WRITERS - 1)
    assert writers.tables() == ["t", "u"]


def run_before_the_commit(writers: Writers, statements: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the statements of another writer after the next statement has read the table, and before it commits."""
    before = statements.copy()
    commit_transaction = commit.Transaction.commit_transaction

    def commit_after_others(transaction: commit.Transaction) -> Any:
        others = before.copy()
        before.clear()
        writers.run(*others)
        return commit_transaction(transaction)

    monkeypatch.setattr(commit.Transaction, "commit_transaction", commit_after_others)
    monkeypatch.setattr(commit, "_FIRST_PAUSE_SECONDS", 0)


@pytest.mark.parametrize(
    ("first", "meanwhile", "then", "columns"),
    [
        ("(a int, c int)", ["RENAME COLUMN a TO b", "RENAME COLUMN b TO a"], "ALTER TABLE {} RENAME COLUMN c TO d", ["a", "d"]),
        ("(a int, c int)", ["RENAME COLUMN a TO b"], "CREATE OR REPLACE TABLE {} (c int)", ["c"]),
        ("(a int) PARTITIONED BY (a)", ["DROP PARTITION FIELD a"],
         "CREATE OR REPLACE TABLE {} (a int) PARTITIONED BY (a, bucket(4, a))", ["a"]),
        ("(a int)", ["WRITE ORDERED BY a", "WRITE UNORDERED"], "ALTER TABLE {} WRITE ORDERED BY a DESC", ["a"]),
    ],
    ids=["schemas", "replaced", "specs", "orders"],
)  # fmt: skip
def test_a_change_is_derived_from_the_metadata_that_it_changes(
    first: str, meanwhile: list[str], then: str, columns: list[str], writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits of another writer gave the next id to their schema, spec or order; the commit is made again with another id."""
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} {first}")
    run_before_the_commit(writers, [f"ALTER TABLE {TABLE} {clause}" for clause in meanwhile], monkeypatch)
    writers.run(then.format(TABLE))
    metadata = writers.table().metadata
    assert [field.name for field in metadata.schema().fields] == columns
    for ids in (
        [schema.schema_id for schema in metadata.schemas],
        [spec.spec_id for spec in metadata.partition_specs],
        [order.order_id for order in metadata.sort_orders],
    ):
        assert sorted(ids) == list(range(len(ids)))


@pytest.mark.parametrize(
    ("meanwhile", "then", "columns", "fields", "order"),
    [
        ("DROP COLUMN b", "ADD COLUMN d int", ["a", "c", "d"], ["a"], []),
        ("DROP PARTITION FIELD a", "ADD PARTITION FIELD b", ["a", "b", "c"], ["b"], []),
        ("WRITE ORDERED BY a", "WRITE ORDERED BY b", ["a", "b", "c"], ["a"], [2]),
    ],
)
def test_a_server_refuses_a_commit_from_older_metadata(
    meanwhile: str,
    then: str,
    columns: list[str],
    fields: list[str],
    order: list[int],
    server: tuple[CheckingProxy, Writers],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The change of another writer is not undone: the requirements of the commit name the schema, partitioning and order."""
    _, writers = server
    create = f"CREATE TABLE {TABLE} (a int, b int, c int)"
    writers.run("CREATE NAMESPACE lake.a", create, f"ALTER TABLE {TABLE} ADD PARTITION FIELD a")
    run_before_the_commit(writers, [f"ALTER TABLE {TABLE} {meanwhile}"], monkeypatch)
    writers.run(f"ALTER TABLE {TABLE} {then}")
    metadata = writers.table().metadata
    assert [field.name for field in metadata.schema().fields] == columns
    assert [field.name for field in metadata.spec().fields] == fields
    assert [field.source_id for field in metadata.sort_order().fields] == order


CHANGES: list[tuple[str, Callable[[Writers], bool]]] = [
    (f"ALTER TABLE {TABLE} ADD COLUMN b int", lambda writers: len(writers.table().schema().fields) == 2),
    ("CREATE TABLE lake.a.new (id int)", lambda writers: writers.tables() == ["new", "t"]),
    ("CREATE OR REPLACE TABLE lake.a.new (id int)", lambda writers: writers.tables() == ["new", "t"]),
    (f"DROP TABLE {TABLE}", lambda writers: writers.tables() == []),
]
# Those of a server that refuses to stage a table.
REQUESTS = [change for change in CHANGES if "REPLACE" not in change[0]]
RENAME = (f"ALTER TABLE {TABLE} RENAME TO new", lambda writers: writers.tables() == ["new"])


@pytest.mark.parametrize("is_after", [True, False])
@pytest.mark.parametrize(("sql", "took_effect"), [*CHANGES, RENAME])
def test_a_database_that_ends_the_connection_at_the_commit_leaves_the_outcome_open(
    sql: str, took_effect: Callable[[Writers], bool], is_after: bool, writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the transaction was committed before or not; the statement is not run again."""
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} (id int)")
    with closing(IcebergExecutor(writers._catalog)) as executor:
        dialect = executor._lakes.open("lake").engine.dialect
        do_commit, commits = dialect.do_commit, []

        def lose(connection: Any) -> None:
            commits.append(1)
            if is_after:
                do_commit(connection)
            raise sqlite3.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(dialect, "do_commit", lose)
        with pytest.raises(OutcomeUnknown, match="closed the connection"):
            executor.open_session().execute(sql)
    assert len(commits) == 1
    assert took_effect(writers) is is_after


@pytest.mark.parametrize(("sql", "took_effect"), [CHANGES[1], RENAME])
def test_a_table_that_was_created_or_renamed_is_not_read_again(
    sql: str, took_effect: Callable[[Writers], bool], writers: Writers
) -> None:
    """Another writer may drop it at once, or lock the database: such an error would say that the statement had no effect."""
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} (id int)")
    with closing(IcebergExecutor(writers._catalog)) as executor:
        lake = executor._lakes.open("lake")
        load_table = lake.load_table

        def load(name: Any) -> Any:
            loaded = load_table(name)  # Before the statement, there is none.
            assert name[-1] != "new"
            return loaded

        lake.load_table = load
        executor.open_session().execute(sql)
    assert took_effect(writers)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[CheckingProxy, Writers]]:
    """A REST server whose answers may be lost, and writers on it."""
    monkeypatch.setattr(rest, "_FIRST_PAUSE_SECONDS", 0.001)
    with checking_proxy(PythonCatalog(tmp_path).answer) as proxy:
        ProjectFolder(tmp_path / "project").catalog(WEB.replace("ADDRESS", proxy.address))
        yield proxy, Writers(only_catalog(tmp_path / "project"))


def test_a_server_whose_answer_is_lost_leaves_the_outcome_open(server: tuple[CheckingProxy, Writers]) -> None:
    """Whether it executed the request before or not; no request is repeated, and the error is that of the server."""
    proxy, writers = server
    request = "(POST .*/tables(/t)?|DELETE .*/tables/t)$"
    writers.run("CREATE NAMESPACE lake.a")
    for status, is_after, changes in ((RESET, True, REQUESTS), (RESET, False, REQUESTS[:2]), (503, True, REQUESTS[:1])):
        for sql, took_effect in changes:
            writers.run(f"CREATE TABLE IF NOT EXISTS {TABLE} (id int)", "DROP TABLE IF EXISTS lake.a.new")
            proxy.log.clear()
            proxy.faults = [Fault(request, [status], is_after=is_after)]
            with pytest.raises(OutcomeUnknown, match=r"^(?!.*does not exist)"):
                writers.run(sql)
            assert proxy.statuses(request) == [status]
            assert took_effect(writers) is is_after


@pytest.mark.parametrize(("sql", "took_effect"), [*CHANGES, RENAME])
def test_a_database_that_ends_the_connection_before_the_commit_refuses_the_statement(
    sql: str, took_effect: Callable[[Writers], bool], writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction without COMMIT has no effect, whatever else it sent."""
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} (id int)")
    with closing(IcebergExecutor(writers._catalog)) as executor:
        dialect = executor._lakes.open("lake").engine.dialect
        do_execute = dialect.do_execute

        def end(cursor: Any, statement: str, *arguments: Any) -> None:
            do_execute(cursor, statement, *arguments)
            if not statement.startswith("SELECT"):
                raise sqlite3.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(dialect, "do_execute", end)
        with pytest.raises(StatementRefused, match="closed the connection"):
            executor.open_session().execute(sql)
    assert not took_effect(writers)


def test_a_location_that_cannot_be_written_refuses_the_statement(writers: Writers, tmp_path: Path) -> None:
    """The metadata file is written before the commit is sent."""
    (tmp_path / "file").touch()
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} (id int)")
    before = writers.table()
    with pytest.raises(StatementRefused, match="file/t"):
        writers.run(f"ALTER TABLE {TABLE} SET LOCATION 'file://{tmp_path}/file/t'")
    assert writers.table().metadata == before.metadata


def test_a_server_that_answers_an_error_of_the_client_refuses_the_statement(
    server: tuple[CheckingProxy, Writers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the specification nothing was done; any other error leaves the outcome open."""
    monkeypatch.setattr(commit, "_FIRST_PAUSE_SECONDS", 0)
    proxy, writers = server
    request = "(POST .*/tables(/t)?|DELETE .*/tables/t)$"
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} (id int)")
    for sql, took_effect in REQUESTS:
        for status in (400, 403, 404, 409, 419, 422, 429, 501, 408, 500, 502, 504):
            proxy.faults = [Fault(request, [status] * 5)]
            kind = OutcomeUnknown if status in (408, 500, 502, 504) else StatementRefused
            with pytest.raises(kind):
                writers.run(sql)
            assert not took_effect(writers)


def test_a_server_that_stages_no_table_refuses_to_create_one_in_place_of_another(
    server: tuple[CheckingProxy, Writers],
) -> None:
    """As on Spark. CREATE OR REPLACE of a table that exists stages none."""
    _, writers = server
    writers.run("CREATE NAMESPACE lake.a", f"CREATE TABLE {TABLE} (id int)")
    with pytest.raises(StatementRefused, match="Stage create is not supported"):
        writers.run("CREATE OR REPLACE TABLE lake.a.new (id int)")
    assert writers.tables() == ["t"]


def test_a_server_that_cannot_be_reached_refuses_the_statement(tmp_path: Path) -> None:
    """Nothing is sent without a connection."""
    with checking_proxy(PythonCatalog(tmp_path).answer) as proxy:
        ProjectFolder(tmp_path / "project").catalog(WEB.replace("ADDRESS", proxy.address))
        executor = IcebergExecutor(only_catalog(tmp_path / "project"))
        session = executor.open_session()
        session.execute("CREATE NAMESPACE lake.a")
        session.execute(f"CREATE TABLE {TABLE} (id int)")
    executor._lakes.open("lake")._session.close()  # The connection to the thread that still answers.
    with closing(executor), pytest.raises(StatementRefused):
        session.execute(f"DROP TABLE {TABLE}")
