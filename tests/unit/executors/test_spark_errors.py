"""What an exception of Spark proves, by the classes in its chain of causes."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import pytest
from pyspark.errors.exceptions import connect

from glacierbase.errors import OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors.spark.errors import map_error

ANALYSIS = "org.apache.spark.sql.AnalysisException"


class Class:
    """A class of Java, below `java.lang.Throwable`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def getName(self) -> str:  # noqa: N802 (of Java)
        return self._name

    def getSuperclass(self) -> Class:  # noqa: N802
        return Class("java.lang.Throwable")


class Throwable:
    """An exception of Java with its chain of causes."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def getClass(self) -> Class:  # noqa: N802
        return Class(self._names[0])

    def getMessage(self) -> str:  # noqa: N802
        return "the table cannot be read"

    def getCause(self) -> Throwable | None:  # noqa: N802
        return Throwable(*self._names[1:]) if self._names[1:] else None


class Raised(Exception):
    """What py4j raises for an exception of Java."""

    def __init__(self, *names: str) -> None:
        super().__init__("raised")
        self.java_exception: Any = Throwable(*names)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ((), StatementRefused),
        (("org.apache.iceberg.exceptions.NoSuchIcebergTableException",), StatementRefused),
        (("java.net.SocketTimeoutException",), OutcomeUnknown),
        (
            ("org.apache.hadoop.hive.ql.metadata.HiveException", "org.apache.thrift.transport.TTransportException"),
            OutcomeUnknown,
        ),
        (("org.apache.iceberg.exceptions.CommitStateUnknownException",), OutcomeUnknown),
        (("org.apache.iceberg.exceptions.ServiceFailureException",), OutcomeUnknown),
        (("java.lang.InterruptedException",), OutcomeUnknown),
        (("java.lang.OutOfMemoryError",), OutcomeUnknown),
    ],
)
def test_an_analysis_error_that_a_lost_answer_caused_proves_nothing(cause: tuple[str, ...], kind: type) -> None:
    """Spark also raises an AnalysisException where a metastore or a catalog did not answer."""
    assert type(map_error(Raised(ANALYSIS, *cause), "SELECT 1")) is kind


def test_a_host_without_an_address_is_named_as_unknown() -> None:
    """The message of that exception of Java is the name of the host alone."""
    message = map_error(Raised("java.net.UnknownHostException"), "SELECT 1").message
    assert message == "unknown host the table cannot be read"


def test_an_error_of_a_server_is_classified_without_py4j(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pyspark-client`, which connects to a server, has no Java and installs no py4j."""
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    assert type(map_error(ConnectionError("no answer"), "SELECT 1")) is OutcomeUnknown


def test_a_condition_that_only_the_message_has_is_read_from_an_analysis_error() -> None:
    """The Connect client of Spark 3.5 has no field for it. Other messages may be a user's text."""
    text = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `a` cannot be found."
    assert type(map_error(connect.AnalysisException(text), "SELECT * FROM a")) is TableNotFound
    assert type(map_error(connect.SparkRuntimeException(text), "SELECT * FROM a")) is not TableNotFound


class Settings:
    """A session with the settings of the catalog `lake`."""

    _settings: ClassVar = {"SET `spark.sql.catalog.lake`": "org.apache.iceberg.spark.SparkCatalog"}

    def query(self, sql: str) -> list[tuple[str, ...]]:
        return [("key", self._settings.get(sql, "<undefined>"))] if sql.startswith("SET ") else [("lake",)]


@pytest.mark.parametrize("sql", ["ALTER TABLE lake.s.t ADD COLUMN b INT", "DROP NAMESPACE lake.s"])
def test_a_refused_right_is_named_with_its_catalog(sql: str) -> None:
    """The message of Iceberg has the words of the server only."""
    refused = map_error(Raised("org.apache.iceberg.exceptions.ForbiddenException"), sql, Settings())
    assert type(refused) is StatementRefused
    assert refused.message == "the catalog lake refused the right to the login: the table cannot be read"


def test_a_refused_right_of_an_unknown_catalog_is_named_as_such() -> None:
    """The statement names nothing that is in a catalog."""
    refused = map_error(Raised("org.apache.iceberg.exceptions.ForbiddenException"), "SELECT 1", Settings())
    assert refused.message == "a catalog refused the right: the table cannot be read"
