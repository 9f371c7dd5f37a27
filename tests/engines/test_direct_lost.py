"""Direct statements whose COMMIT is lost, in a run that goes on or is killed: the table proves the outcome, or a person decides."""

from __future__ import annotations

import re
import signal
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg2
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.pyiceberg.sql import SqlCatalog
from tests.engines.test_direct_files import DirectProject
from tests.support.catalog_files import POSTGRES_PASSWORD
from tests.support.checkingproxy import RESET, CheckingProxy, Fault, checking_proxy
from tests.support.lost_commits import killed, losing
from tests.support.postgres import USER, postgresql
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.pythoncatalog import PythonCatalog

# The tables of the file's own statements, before and after the one whose COMMIT is lost.
FIRST, LAST = "first", "last"


def tables(project: ProjectFolder) -> dict[str, Any]:
    """Return the tables in the namespace `a`, by name."""
    with closing(PyIcebergCatalogs(only_catalog(project.root))) as lakes:
        lake = lakes.open("lake")
        return {name[-1]: lake.load_table(name) for name in lake.list_tables("a")}


def columns(project: ProjectFolder, table: str) -> list[str] | None:
    """Return the columns of a table, and the number of its earlier metadata files; None if it does not exist."""
    found = tables(project).get(table)
    return None if found is None else [*found.schema().column_names, str(len(found.metadata.metadata_log))]


# The second statement of the file, and whether it took effect once.
STATEMENTS: dict[str, tuple[str, Callable[[ProjectFolder], bool]]] = {
    "alter": ("ALTER TABLE lake.a.t ADD COLUMN b INT", lambda project: columns(project, "t") == ["id", "b", "1"]),
    "create": ("CREATE TABLE lake.a.new (c INT) USING iceberg", lambda project: columns(project, "new") == ["c", "0"]),
    "replace": (
        "CREATE OR REPLACE TABLE lake.a.t (c INT) USING iceberg", lambda project: columns(project, "t") == ["c", "1"],
    ),
    "create or replace": (
        "CREATE OR REPLACE TABLE lake.a.new (c INT) USING iceberg",
        lambda project: columns(project, "new") == ["c", "0"],
    ),
    "rename": (
        "ALTER TABLE lake.a.t RENAME TO a.new",
        lambda project: (columns(project, "t"), columns(project, "new")) == (None, ["id", "0"]),
    ),
    "drop": ("DROP TABLE lake.a.t", lambda project: columns(project, "t") is None),
}  # fmt: skip
# Catalogs and statements.
EVERY = [
    *(("sqlite", name) for name in STATEMENTS),
    *(("postgresql", name) for name in ("create", "rename", "alter")),
]
PASSWORD = quote(POSTGRES_PASSWORD, safe="")
POSTGRESQL = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: sql, uri: "URI?tcp_user_timeout=2000", warehouse: "file://WAREHOUSE"}
store: {lockLease: 2s}
"""


class SqliteProject(DirectProject):
    """A project with the table lake.a.t, whose leases are short."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, "2s")

    def end(self, _: Any) -> None:
        """End a connection as a server does."""
        raise sqlite3.OperationalError("server closed the connection unexpectedly")


class PostgresProject(ProjectFolder):
    """A project on a database in PostgreSQL, with the table lake.a.t and short time limits."""

    def __init__(self, root: Path, server: str) -> None:
        super().__init__(root)
        self._server, database = server, f"d{uuid.uuid4().hex[:8]}"
        self._on_server(f"CREATE DATABASE {database}")
        uri = server.replace("postgresql:", "postgresql+psycopg2:").replace("/postgres", f"/{database}")
        uri = uri.replace(PASSWORD, "${secret:QUOTED_POSTGRES_PASSWORD}")
        self.catalog(POSTGRESQL.replace("URI", uri).replace("WAREHOUSE", str(root / "warehouse")))
        add_table(self)

    def _on_server(self, sql: str) -> None:
        with closing(psycopg2.connect(self._server)) as connection:
            connection.autocommit = True
            connection.cursor().execute(sql)

    def end(self, connection: Any) -> None:
        """Let the server end a connection."""
        self._on_server(f"SELECT pg_terminate_backend({connection.get_backend_pid()}, 5000)")
        connection.cursor().execute("SELECT 1")


@pytest.fixture(scope="module")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server, for libpq."""
    folder = tmp_path_factory.mktemp("postgres")
    with postgresql(folder, POSTGRES_PASSWORD) as address:
        yield address.replace("jdbc:postgresql://", f"postgresql://{USER}:{PASSWORD}@")


@pytest.fixture
def direct(request: pytest.FixtureRequest, tmp_path: Path) -> SqliteProject | PostgresProject:
    """A project without Spark on a SQL catalog; by default one in SQLite."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return SqliteProject(tmp_path / "project")
    return PostgresProject(tmp_path / "project", request.getfixturevalue("postgres_server"))


def add_table(project: ProjectFolder) -> None:
    """Create the table lake.a.t."""
    with closing(PyIcebergCatalogs(only_catalog(project.root))) as lakes:
        lakes.open("lake").create_namespace("a")
        lakes.open("lake").create_table(("a", "t"), Schema(NestedField(1, "id", IntegerType())))


def write(project: ProjectFolder, statement: str) -> Callable[[ProjectFolder], bool]:
    """Write the file, and return what returns whether its second statement took effect once."""
    sql, took_effect = STATEMENTS[statement]
    around = [f"CREATE TABLE lake.a.{name} (id INT) USING iceberg" for name in (FIRST, LAST)]
    project.file("0001_a.sql", f"{around[0]};\n{sql};\n{around[1]}")
    return took_effect


def lose(project: SqliteProject | PostgresProject, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Lose the answer to the first COMMIT of statement 2."""

    def end(connection: Any) -> None:
        monkeypatch.undo()
        project.end(connection)

    monkeypatch.setattr(SqlCatalog, "begin", losing(2, when, end))


@pytest.mark.parametrize(("direct", "statement"), EVERY, indirect=["direct"])
def test_a_run_goes_on_after_a_lost_commit_that_took_effect(
    direct: SqliteProject | PostgresProject, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table shows the metadata file, or the UUID, of the statement; or it is gone."""
    took_effect = write(direct, statement)
    lose(direct, monkeypatch, "after")
    done = ask_here(direct, "migrate")
    assert done.code == 0, done.stderr
    assert took_effect(direct)
    assert {FIRST, LAST} <= tables(direct).keys()


@pytest.mark.parametrize(("direct", "statement"), EVERY, indirect=["direct"])
def test_a_lost_commit_that_took_no_effect_is_a_failed_statement(
    direct: SqliteProject | PostgresProject, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run begins with it."""
    took_effect = write(direct, statement)
    lose(direct, monkeypatch, "before")
    failed = ask_here(direct, "migrate")
    assert (failed.code, failed.document["error"]["code"]) == (1, "STATEMENT_FAILED"), failed.stdout
    assert "; lake.a." in failed.entry()["failed"]["message"]
    assert not took_effect(direct)
    done = ask_here(direct, "migrate")
    assert [file["resumed_at"] for file in done.entry()["applied"]] == [2], done.stdout
    assert took_effect(direct)


def test_another_table_of_the_new_name_proves_no_rename(
    direct: SqliteProject | PostgresProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer dropped the table and created that one."""
    write(direct, "rename")

    def replace(connection: Any) -> None:
        connection.rollback()
        monkeypatch.undo()
        with closing(PyIcebergCatalogs(only_catalog(direct.root))) as lakes:
            lakes.open("lake").drop_table(("a", "t"))
            lakes.open("lake").create_table(("a", "new"), Schema(NestedField(1, "id", IntegerType())))
        direct.end(connection)

    monkeypatch.setattr(SqlCatalog, "begin", losing(2, "before", replace))
    unknown = ask_here(direct, "migrate")
    assert (unknown.code, unknown.document["error"]["code"]) == (6, "OUTCOME_UNKNOWN")
    assert tables(direct).keys() == {FIRST, "new"}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("direct", "statement"),
    [*(("sqlite", name) for name in STATEMENTS), ("postgresql", "alter"), ("postgresql", "create")],
    indirect=["direct"],
)
def test_a_run_that_is_killed_at_a_commit_is_settled(
    direct: SqliteProject | PostgresProject, statement: str, when: str
) -> None:
    """The next run goes on: the statement takes effect once."""
    took_effect = write(direct, statement)
    killed(direct, 2, when)
    assert took_effect(direct) is (when == "after")
    done = run_here(direct, "migrate")
    assert done.code == 0, done.stderr
    assert took_effect(direct)
    assert {FIRST, LAST} <= tables(direct).keys()
    assert ("recorded as done" if when == "after" else "recorded as not-done") in done.stdout


@pytest.mark.parametrize("statement", ["create", "alter"])
def test_metadata_that_cannot_be_written_is_a_failed_statement(
    direct: SqliteProject | PostgresProject, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent to the catalog."""
    took_effect = write(direct, statement)
    write_metadata = SqlCatalog._write_metadata

    def refuse(catalog: SqlCatalog, metadata: Any, io: Any, metadata_path: str) -> None:
        if f"/{FIRST}/" not in metadata_path and "glacierbase/" not in metadata_path:
            raise OSError(28, "No space left on device")
        write_metadata(catalog, metadata, io, metadata_path)

    monkeypatch.setattr(SqlCatalog, "_write_metadata", refuse)
    failed = ask_here(direct, "migrate")
    assert (failed.code, failed.document["error"]["code"]) == (1, "STATEMENT_FAILED")
    monkeypatch.undo()
    assert run_here(direct, "migrate").code == 0
    assert took_effect(direct)


REST = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties:
      type: rest
      uri: ADDRESS
      credential: ${secret:MIGRATOR_LOGIN}
      rest.client.connection-timeout-ms: '500'
      rest.client.socket-timeout-ms: '4500'
store: {lockLease: 2s}
"""
# The time in which a request takes effect, or never: the sum of both, which is longer than the lease.
GRACE_SECONDS = 5.0
# The table of the statement `create`, with another column.
CREATED = "CREATE TABLE lake.a.new (d INT) USING iceberg"
# The requests of the statement.
REQUEST = "(POST .*/a/tables(/t)?|DELETE .*/a/tables/t)$"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[CheckingProxy, ProjectFolder]]:
    """A REST server whose answers may be lost, and a project without Spark on it, with the table lake.a.t."""
    with checking_proxy(PythonCatalog(tmp_path).answer) as proxy:
        project = ProjectFolder(tmp_path / "project")
        project.catalog(REST.replace("ADDRESS", proxy.address))
        add_table(project)
        yield proxy, project


def write_one(project: ProjectFolder, statement: str) -> Callable[[ProjectFolder], bool]:
    """Write a file with the statement alone."""
    sql, took_effect = STATEMENTS[statement]
    project.file("0001_a.sql", sql)
    return took_effect


@pytest.mark.parametrize("statement", ["alter", "create", "drop"])
def test_a_request_that_a_server_did_not_execute_is_a_failed_statement(
    server: tuple[CheckingProxy, ProjectFolder], statement: str
) -> None:
    """The table is read again once a request cannot be under way any more; the next run begins with the statement."""
    proxy, project = server
    took_effect = write_one(project, statement)
    proxy.faults = [Fault(REQUEST, [RESET])]
    began = time.monotonic()
    failed = ask_here(project, "migrate")
    assert time.monotonic() - began > GRACE_SECONDS
    assert (failed.code, failed.document["error"]["code"]) == (1, "STATEMENT_FAILED"), failed.stdout
    assert not took_effect(project)
    assert run_here(project, "migrate").code == 0
    assert took_effect(project)


@pytest.mark.parametrize(("status", "statement"), [(RESET, "alter"), (503, "create"), (500, "drop")])
def test_a_request_that_a_server_executed_without_an_answer_is_done(
    server: tuple[CheckingProxy, ProjectFolder], status: int, statement: str
) -> None:
    """The server names the metadata file; the table shows exactly the change of the statement, or is gone."""
    proxy, project = server
    took_effect = write_one(project, statement)
    proxy.faults = [Fault(REQUEST, [status], is_after=True)]
    done = ask_here(project, "migrate")
    assert done.code == 0, done.stdout
    assert took_effect(project)


@pytest.mark.parametrize(
    ("statement", "other"), [("alter", "ALTER TABLE lake.a.t ADD COLUMN c INT"), ("create", CREATED)]
)
def test_a_change_of_another_client_does_not_pass_for_that_of_a_lost_statement(
    server: tuple[CheckingProxy, ProjectFolder], statement: str, other: str
) -> None:
    """The request of the statement is lost, and the table has another column than it would have given it; `repair` shows that."""
    proxy, project = server
    write_one(project, statement)
    answer = proxy.answer

    def change(method: str, url: str, body: str) -> tuple[int, str]:
        if re.search(REQUEST, f"{method} {url}") is None:
            return answer(method, url, body)
        proxy.answer = answer
        with closing(IcebergExecutor(only_catalog(project.root))) as executor:
            executor.open_session().execute(other)
        return 500, ""

    proxy.answer = change
    unknown = ask_here(project, "migrate")
    assert (unknown.code, unknown.document["error"]["code"]) == (6, "OUTCOME_UNKNOWN"), unknown.stdout
    assert run_here(project, "migrate").code == 6
    [case] = ask_here(project, "repair").entry()["cases"]
    shows = {"alter": "lake.a.t has had one commit since", "create": "lake.a.new exists now"}
    assert case["evidence"][0].startswith(shows[statement])
    assert case["suggests"] is None


@pytest.mark.parametrize(("status", "statement"), [(404, "alter"), (409, "create"), (429, "drop")])
def test_a_request_that_a_server_refuses_is_a_failed_statement(
    server: tuple[CheckingProxy, ProjectFolder], status: int, statement: str
) -> None:
    """Nothing is waited for."""
    proxy, project = server
    took_effect = write_one(project, statement)
    proxy.faults = [Fault(REQUEST, [status])]
    failed = ask_here(project, "migrate")
    assert (failed.code, failed.document["error"]["code"]) == (1, "STATEMENT_FAILED"), failed.stdout
    assert run_here(project, "migrate").code == 0
    assert took_effect(project)


@pytest.mark.parametrize(("statement", "when"), [("alter", "before"), ("create", "before"), ("alter", "after")])
def test_a_run_that_is_killed_while_its_request_is_under_way_is_settled(
    server: tuple[CheckingProxy, ProjectFolder], statement: str, when: str
) -> None:
    """The next run waits until the request cannot be under way any more, unless the table shows its change."""
    proxy, project = server
    took_effect, execute = write_one(project, statement), proxy.answer
    run = project.start("migrate")

    def kill(method: str, url: str, body: str) -> tuple[int, str]:
        if re.search(REQUEST, f"{method} {url}") is None:
            return execute(method, url, body)
        proxy.answer = execute
        run.kill()
        run.communicate()
        return execute(method, url, body) if when == "after" else (503, "")

    proxy.answer = kill
    run.wait(60)
    assert run.returncode == -signal.SIGKILL
    assert took_effect(project) is (when == "after")
    done = run_here(project, "migrate")
    assert done.code == 0, done.stderr
    assert took_effect(project)
    assert ("recorded as done" if when == "after" else "recorded as not-done") in done.stdout
