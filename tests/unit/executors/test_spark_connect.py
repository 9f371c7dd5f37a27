"""The sessions of an executor on a Spark Connect server, and what works in a client without its packages or Java."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.connect.plan import SQL, CachedRelation
from pyspark.sql.connect.proto import Relation

from glacierbase.errors import ConfigurationError
from glacierbase.executors import open_executor
from glacierbase.executors.spark import ENGINE
from glacierbase.executors.spark.connect import ConnectExecutor
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run

STATIC = "spark.sql.extensions"
SERVER = {STATIC: "Extensions", "spark.sql.shuffle.partitions": "200"}


class Remote:
    """A session on a server, with the requests that it sends."""

    created: list[Remote]

    def __init__(self, address: str) -> None:
        self.version = "4.1.3"
        self.settings = dict(SERVER)
        self.requests: list[str] = []
        self.conf = SimpleNamespace(set=self._set, get=lambda key, default=None: self.settings.get(key, default))
        self.client = SimpleNamespace(
            set_retry_policies=list,
            disable_reattachable_execute=lambda: None,
            get_config_with_defaults=self._read,
        )
        self.created.append(self)

    def _read(self, *pairs: tuple[str, None]) -> tuple[str | None, ...]:
        self.requests.append("read")
        return tuple(self.settings.get(key) for key, _ in pairs)

    def _set(self, key: str, value: str) -> None:
        self.requests.append(f"set {key}")
        if key == STATIC:
            raise AnalysisException("CANNOT_MODIFY_STATIC_CONFIG")
        self.settings[key] = value

    def sql(self, text: str) -> Any:
        self.requests.append(text)
        relation = Relation()
        if text.startswith("SELECT"):
            relation.sql.query = text
        else:
            relation.local_relation.data = b"rows"
        return Frame(CachedRelation(relation), self)

    def stop(self) -> None:
        self.requests.append("stop")


class Frame:
    """A frame of such a session."""

    def __init__(self, plan: Any, session: Remote) -> None:
        self._plan = plan
        self._session = session

    def isLocal(self) -> bool:  # noqa: N802 (pyspark's)
        self._session.requests.append("is it local")
        return True

    def collect(self) -> list[tuple[str]]:
        self._session.requests += [self._plan._query] if isinstance(self._plan, SQL) else []
        return [("ann",)]


@pytest.fixture
def catalog(iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog on a server that answers from memory."""
    monkeypatch.setattr(Remote, "created", [], raising=False)
    monkeypatch.setattr("pyspark.sql.connect.session.SparkSession", Remote)
    monkeypatch.setattr("pyspark.sql.connect.dataframe.DataFrame", Frame)
    conf = {"spark.remote": "sc://server", STATIC: "Extensions", "spark.sql.shuffle.partitions": "3"}
    return replace(iceberg_catalog, spark_conf=conf)


def test_one_request_reads_all_settings_and_only_those_that_differ_are_set(catalog: Catalog) -> None:
    """A static setting that the server has already is not sent: the server would refuse it."""
    ConnectExecutor(catalog)
    [session] = Remote.created
    assert session.requests == ["read", "set spark.sql.shuffle.partitions", "SELECT current_user()"]
    assert session.settings["spark.sql.shuffle.partitions"] == "3"


def test_a_static_setting_that_differs_is_an_error(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has both values, and the session is ended."""
    monkeypatch.setitem(SERVER, STATIC, "Others")
    with pytest.raises(
        ConfigurationError, match="'Extensions' in the catalog file, but 'Others' on the server"
    ) as caught:
        ConnectExecutor(catalog)
    assert caught.value.code == "SESSION_DIFFERS"
    assert Remote.created[0].requests[-1] == "stop"


def test_the_session_of_the_connection_is_used_once(catalog: Catalog) -> None:
    """Each later session is a new one, also after the first was closed: none has the settings of another."""
    executor = ConnectExecutor(catalog)
    first = executor.open_session()
    assert len(Remote.created) == 1
    first.execute("USE lake.a")
    first.close()
    executor.open_session().execute("SELECT 1")
    assert ["USE lake.a" in session.requests for session in Remote.created] == [True, False]
    assert "SELECT 1" in Remote.created[1].requests


def test_a_command_and_a_query_are_one_request_each(catalog: Catalog) -> None:
    """The answer to a command shows that it ran; the rows of a query are requested with its text."""
    session = ConnectExecutor(catalog).open_session()
    requests = Remote.created[0].requests
    requests.clear()
    session.execute("REFRESH TABLE lake.a.t")
    assert session.query("SELECT a FROM lake.a.t") == [("ann",)]
    assert requests == ["set spark.sql.variable.substitute", "REFRESH TABLE lake.a.t", "SELECT a FROM lake.a.t"]


def test_a_session_for_history_and_lock_has_settings_for_small_tables(catalog: Catalog) -> None:
    """Each setting is a request without a statement; the sessions of migrations keep those of the catalog file."""
    executor = ConnectExecutor(catalog)
    executor.open_session(bookkeeping=True)
    executor.open_session()
    of_store, of_file = Remote.created
    grouping = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
    assert of_store.requests[-2:] == [f"set {grouping}", "set spark.sql.shuffle.partitions"]
    assert of_store.settings["spark.sql.shuffle.partitions"] == "1"
    assert of_file.settings["spark.sql.shuffle.partitions"] == "3"


def test_a_query_of_a_migration_is_executed_where_the_server_has_not_run_it(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a query holds no rows: the server returns whether it did."""
    session = ConnectExecutor(catalog).open_session()
    requests = Remote.created[0].requests
    written: list[str] = []
    noop = SimpleNamespace(save=lambda: written.append("noop"))
    frames = SimpleNamespace(format=lambda _: SimpleNamespace(mode=lambda _: noop))
    monkeypatch.setattr(Frame, "isLocal", lambda _: requests.append("is it local"))
    monkeypatch.setattr(Frame, "write", frames, raising=False)
    session.execute("SELECT 1")
    assert (requests[-1], written) == ("is it local", ["noop"])


def test_a_client_of_a_server_needs_no_java(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of what is installed and the environment of a worker need none."""

    def fail() -> None:
        raise AssertionError("a search for Java")

    monkeypatch.setattr("glacierbase.executors.spark.java.find_java_home", fail)
    ENGINE.check_installed(catalog)
    assert ENGINE.worker_environment(catalog) == {}


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
