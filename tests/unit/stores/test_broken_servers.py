"""A server that breaks a connection at any request: every command ends with an error about the server, never with a bug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from glacierbase.errors import EngineError
from glacierbase.executors.pyiceberg import rest
from glacierbase.executors.pyiceberg.opened import open_catalog
from glacierbase.executors.pyiceberg.properties import PyIcebergSettings
from glacierbase.stores import tables
from tests.support.checkingproxy import CLOSED, GARBAGE, RESET, CheckingProxy, checking_proxy
from tests.support.hostileserver import hostile_server
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder
from tests.support.pythoncatalog import PythonCatalog

REST = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties:
      type: rest
      uri: ADDRESS
      credential: ${secret:MIGRATOR_LOGIN}
"""
SPARK = """\
migrationExecutor:
  type: spark
  direct: auto
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: ADDRESS
      spark.sql.catalog.lake.credential: ${secret:MIGRATOR_LOGIN}
"""
CREATE = "CREATE NAMESPACE IF NOT EXISTS lake.a;\nCREATE TABLE lake.a.t (id INT) USING iceberg;"
# Commands that read, and those that change something, which run in a world of their own for each request.
READING = (
    ("status",), ("schema", "lake.a.t"), ("drift",), ("export-state", "--output", "state.json"), ("import", "tables", "--list"),
    ("report", "--output", "page.html"), ("import", "tables", "lake.a.u"), ("repair",), ("doctor",),
    ("layout", "profile", "lake.a.t", "--column", "id"),
)  # fmt: skip
WRITING = (("migrate",), ("baseline", "--to", "0001", "--reason", "it exists"))
HOW = {"closed": CLOSED, "reset": RESET, "garbage": GARBAGE}
FILES = {"iceberg": REST, "spark": SPARK}
# How many requests are broken: `doctor` races for the lock with more than a hundred.
LAST = 12


@contextmanager
def world(folder: Path, engine: str) -> Iterator[tuple[CheckingProxy, ProjectFolder]]:
    """Run a server, with a project on it: one migration is applied, one is pending, and one table is unmanaged."""
    folder.mkdir()
    server = PythonCatalog(folder)
    with checking_proxy(server.answer) as proxy:
        project = ProjectFolder(folder / "project")
        # A run repeats an append while its lock may be held: for a lease.
        project.catalog(FILES[engine].replace("ADDRESS", proxy.address) + "store: {lockLease: 2s}\n")
        project.file("0001_a.sql", CREATE)
        assert run_here(project, "migrate").code == 0
        server.catalog.create_table("a.u", Schema(NestedField(1, "id", IntegerType())))
        project.file("0002_b.sql", "ALTER TABLE lake.a.t ADD COLUMN b INT")
        yield proxy, project


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are repeated at once."""
    for module, name in ((rest, "_FIRST_PAUSE_SECONDS"), (tables, "_PAUSE_SECONDS")):
        monkeypatch.setattr(module, name, 0.001)
    monkeypatch.setattr(rest, "_RESET_PAUSES_SECONDS", (0.0,))


def broken(proxy: CheckingProxy, project: ProjectFolder, command: tuple[str, ...], number: int, how: str) -> bool:
    """Run a command on a server that answers no request from a number on; return whether it sent that many."""
    proxy.log.clear()
    proxy.breaks = number, HOW[how]
    done = run_here(project, *command)
    assert "INTERNAL_ERROR" not in done.stderr, (number, proxy.log)
    # Where the history cannot be written, the lock cannot be proven either. `layout profile` finds no rows in the table.
    assert done.code in (0, 1, 4, 5, 6) or "NO_IDS" in done.stderr, (number, done.stderr)
    if number < 3:  # The login, the configuration, and the login with it.
        assert (done.code, proxy.address in done.stderr) == (5, True), done.stderr
    return len(proxy.log) > number


@pytest.mark.parametrize("how", HOW)
def test_a_login_that_a_server_breaks_off_is_an_error_of_glacierbase(how: str) -> None:
    """The request for the server's configuration is the first one."""
    with checking_proxy(lambda *_: pytest.fail("a request was answered")) as proxy:
        proxy.breaks = 0, HOW[how]
        with pytest.raises(EngineError):
            open_catalog(PyIcebergSettings("rest", "lake", {"uri": proxy.address}))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("engine", FILES)
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_server_that_breaks_off_is_an_error_about_the_server(
    command: tuple[str, ...], engine: str, how: str, tmp_path: Path
) -> None:
    """From each request on, the server answers none: the login, the configuration, and each one after it."""
    with world(tmp_path / "world", engine) as (proxy, project):
        first = next((number for number in range(LAST) if not broken(proxy, project, command, number, how)), LAST)
    assert first >= 3


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("number", range(LAST))
def test_a_server_that_breaks_off_during_a_migration_is_an_error_about_the_server(
    number: int, how: str, tmp_path: Path
) -> None:
    """The lock and the history may be half written; no error is one of glacierbase."""
    with world(tmp_path / "world", "iceberg") as (proxy, project):
        assert broken(proxy, project, ("migrate",), number, how)


@pytest.mark.parametrize("command", [*READING, *WRITING], ids=" ".join)
def test_a_server_without_tls_is_an_error_about_the_server(command: tuple[str, ...], project: ProjectFolder) -> None:
    """The catalog file has an address with https, and the server answers without TLS."""
    with hostile_server() as server:
        project.catalog(REST.replace("ADDRESS", server.address.replace("http:", "https:")))
        project.file("0001_a.sql", CREATE)
        done = run_here(project, *command)
    assert (done.code, "SSL" in done.stderr) == (5, True), done.stderr
