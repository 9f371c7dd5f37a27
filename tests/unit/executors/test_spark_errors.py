"""What an exception of Spark proves, by the classes in its chain of causes."""

from __future__ import annotations

import base64
import json
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

    def __init__(self, *names: str, message: str = "the table cannot be read") -> None:
        self._names = names
        self._message = message

    def getClass(self) -> Class:  # noqa: N802
        return Class(self._names[0])

    def getMessage(self) -> str:  # noqa: N802
        return self._message

    def getCause(self) -> Throwable | None:  # noqa: N802
        return Throwable(*self._names[1:]) if self._names[1:] else None


class Raised(Exception):
    """What py4j raises for an exception of Java."""

    def __init__(self, *names: str, **kwargs: str) -> None:
        super().__init__("raised")
        self.java_exception: Any = Throwable(*names, **kwargs)


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


ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
JWT = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, {"sub": "ann"}, {})
)


class Settings:
    """A session with the catalogs `lake`, which is the current one, `prod`, and a built-in one."""

    _settings: ClassVar = {
        "spark.sql.catalog.lake": ICEBERG,
        "spark.sql.catalog.lake.credential": "migrator:canary:of:lake",
        "spark.sql.catalog.prod": ICEBERG,
        "spark.sql.catalog.prod.token": JWT,
        "spark.sql.catalog.prod.credential": "canary-of-prod",
    }

    def setting(self, key: str) -> str:
        return self._settings.get(key, "")

    def query(self, sql: str) -> list[tuple[str, ...]]:
        assert sql == "SELECT current_catalog()"
        return [("lake",)]


FORBIDDEN = "org.apache.iceberg.exceptions.ForbiddenException"
OF_LAKE = "the principal migrator of the catalog lake lacks the right to "


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("ALTER TABLE lake.s.t ADD COLUMN b INT", f"{OF_LAKE}change lake.s.t"),
        ("CREATE TABLE s.t (a INT) USING iceberg", f"{OF_LAKE}create s.t"),
        ("DROP TABLE lake.s.t", f"{OF_LAKE}drop lake.s.t"),
        ("DROP NAMESPACE lake.s", f"{OF_LAKE}drop lake.s"),
        ("SELECT * FROM lake.s.t", f"{OF_LAKE}read lake.s.t"),
        ("INSERT INTO lake.s.t SELECT * FROM lake.s.u", f"{OF_LAKE}change lake.s.t or to read lake.s.u"),
        (
            "INSERT INTO lake.s.t SELECT * FROM prod.s.u, spark_catalog.s.v",
            f"{OF_LAKE}change lake.s.t, or the principal ann of the catalog prod lacks the right to read prod.s.u",
        ),
        (
            "CALL prod.system.rewrite_data_files('s.t')",
            "the principal ann of the catalog prod lacks the right to change prod.s.t",
        ),
        ("CALL prod.system.ancestors_of('s.t')", "a catalog refused a right that the statement requires"),
        ("SELECT 1", "a catalog refused a right that the statement requires"),
    ],
)
def test_a_missing_right_is_named_with_catalog_and_principal(sql: str, what: str) -> None:
    """The message of Iceberg has the words of the server only. The principal is the token's subject, or the client's id."""
    assert map_error(Raised(FORBIDDEN), sql, Settings()).message == f"{what}: the table cannot be read"


def test_a_refused_login_is_named_with_catalog_and_principal() -> None:
    """A token may expire while the run goes on."""
    refused = Raised("org.apache.iceberg.exceptions.NotAuthorizedException")
    message = map_error(refused, "INSERT INTO lake.s.t SELECT * FROM prod.s.u", Settings()).message
    who = "the principal migrator of the catalog lake or of the principal ann of the catalog prod"
    assert message == f"the login of {who} was refused: the table cannot be read"
    assert map_error(refused, "SELECT 1", None).message == "a catalog refused the login: the table cannot be read"


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("ALTER TABLE lake.s.t ADD COLUMN b INT", StatementRefused),
        ("INSERT INTO lake.s.t VALUES (1)", StatementRefused),
        ("DROP NAMESPACE lake.s", StatementRefused),
        ("DROP TABLE lake.s.t PURGE", OutcomeUnknown),
        ("CALL lake.system.rewrite_data_files('s.t')", OutcomeUnknown),
        ("BEGIN INSERT INTO lake.s.t VALUES (1); DELETE FROM lake.s.t; END", OutcomeUnknown),
    ],
)
def test_a_missing_right_proves_something_of_atomic_statements_only(sql: str, kind: type) -> None:
    """Any request of several may be refused."""
    assert type(map_error(Raised(FORBIDDEN), sql, Settings())) is kind


@pytest.mark.parametrize("message", ["Cannot parse missing field: metadata", "Cannot parse to a string value: a: 1"])
def test_an_answer_of_the_server_that_cannot_be_read_proves_nothing(message: str) -> None:
    """The commit before it may have taken effect. Other wrong arguments are refused before."""
    sql, wrong = "ALTER TABLE lake.s.t ADD COLUMN b INT", "java.lang.IllegalArgumentException"
    assert type(map_error(Raised(wrong, message=message), sql, Settings())) is OutcomeUnknown
    assert type(map_error(Raised(wrong, message="Cannot parse 7 as a size"), sql, Settings())) is StatementRefused


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("(org.apache.iceberg.exceptions.NoSuchNamespaceException) Namespace does not exist: a", TableNotFound),
        ("(org.apache.iceberg.exceptions.ServiceFailureException) no answer", OutcomeUnknown),
        ("<_InactiveRpcError of RPC> (org.apache.iceberg.exceptions.NoSuchNamespaceException) no", OutcomeUnknown),
    ],
)
def test_an_exception_that_a_server_reported_is_no_lost_connection(message: str, kind: type) -> None:
    """The Connect client of Spark 3.5 raises one class for both; the server's has its class before the message."""
    assert type(map_error(connect.SparkConnectGrpcException(message), "SHOW TABLES IN a")) is kind


SCRIPTS_ARE_OFF = "{LINE:1} [UNSUPPORTED_FEATURE.SQL_SCRIPTING] The feature is not supported: SQL Scripting"
SCRIPTING = "org.apache.spark.sql.exceptions.SqlScriptingException"


@pytest.mark.parametrize(
    ("script", "class_name", "message", "kind"),
    [
        ("BEGIN INSERT INTO a VALUES (1); END", SCRIPTING, SCRIPTS_ARE_OFF, StatementRefused),
        ("BEGIN INSERT INTO a VALUES (1); execute IMMEDIATE b; END", SCRIPTING, SCRIPTS_ARE_OFF, OutcomeUnknown),
        ("BEGIN INSERT INTO a VALUES (1); END", "java.lang.RuntimeException", SCRIPTS_ARE_OFF, OutcomeUnknown),
        ("BEGIN INSERT INTO a VALUES (1); END", SCRIPTING, f"no: {SCRIPTS_ARE_OFF}", OutcomeUnknown),
    ],
)
def test_a_script_where_scripts_are_off_is_refused_as_a_whole(
    script: str, class_name: str, message: str, kind: type
) -> None:
    """Spark 4.0 by default. Dynamic SQL may hold a second script, and what a user's code raises has any message."""
    assert type(map_error(Raised(class_name, message=message), script)) is kind
    on_connect = connect.SparkConnectGrpcException(f"({class_name}) {message}")
    assert type(map_error(on_connect, script)) is kind
