"""The parts of the Snowflake executor that require no Snowflake: what an error proves, and when a session stays clean."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from snowflake.connector import errors

from glacierbase import Project
from glacierbase.errors import ConfigurationError, EngineError, OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors.snowflake import session
from glacierbase.executors.snowflake.errors import is_atomic, map_error
from glacierbase.executors.snowflake.session import QueryState, SnowflakeSession, assess
from glacierbase.run.installed import INDEX, requirement, source
from tests.support.project_folder import ProjectFolder


def answered(number: int, state: str, message: str = "no", sql: str = "ALTER TABLE t ADD b INT") -> EngineError:
    return map_error(errors.ProgrammingError(msg=message, errno=number, sqlstate=state), sql)


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (1003, "42000"),  # Syntax.
        (904, "42000"),  # Invalid identifier.
        (2002, "42710"),  # Exists already.
        (3001, "42501"),  # Insufficient privileges.
        (100038, "22018"),  # Not a number.
        (606, "57P03"),  # No warehouse.
        (625, "57014"),  # Waited too long for a lock.
    ],
)
def test_an_answer_about_the_statement_proves_that_nothing_happened(number: int, state: str) -> None:
    """A single statement is atomic, so its error proves that it had no effect."""
    error = answered(number, state)
    assert type(error) is StatementRefused
    assert error.error_class == f"{number:06d} ({state})"


@pytest.mark.parametrize("number", [2003, 2043])
def test_a_missing_object_is_distinguished_from_other_errors(number: int) -> None:
    """TableNotFound is a class of its own: a missing history table means an empty history."""
    assert type(answered(number, "02000")) is TableNotFound


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (604, "57014"),  # Cancelled.
        (630, "57014"),  # Out of time.
        (603, "XX000"),  # Internal.
        (14, "HYT00"),  # The driver's own, of its line 5.
        (390114, "08001"),  # The session is gone.
    ],
)
def test_other_answers_prove_nothing(number: int, state: str) -> None:
    """After these errors the outcome is unknown."""
    assert type(answered(number, state)) is OutcomeUnknown


@pytest.mark.parametrize(
    "error",
    [
        errors.OperationalError(msg="connection reset"),
        errors.InterfaceError(msg="gone"),
        OSError("reset"),
        ValueError("?"),
    ],
)
def test_an_error_without_the_servers_word_proves_nothing(error: Exception) -> None:
    """An error without the server's SQL state leaves the outcome unknown, from whatever library it comes."""
    assert type(map_error(error, "ALTER TABLE t ADD b INT")) is OutcomeUnknown


SEVERAL_STEPS = [
    "BEGIN\n x; END",
    "DECLARE a INT; BEGIN a := 1; END",
    "CALL p()",
    "/* a comment */ CALL p()",
    "EXECUTE IMMEDIATE $$ x $$",
    "EXECUTE TASK t",
    "WITH p AS PROCEDURE () RETURNS INT AS $$ x $$ CALL p()",
    "SHOW TABLES ->> INSERT INTO t SELECT 1",
    "COPY INTO @stage FROM t",
    "COPY INTO 's3://bucket' FROM t",
    "PUT file:///a @stage",
    "CREATE OR ALTER TABLE t (a INT)",
    "SOMETHING NEW",
    "",
]


@pytest.mark.parametrize("sql", SEVERAL_STEPS)
def test_what_is_several_statements_may_have_stopped_in_the_middle(sql: str) -> None:
    """Only a syntax error of the whole script proves that nothing of it ran."""
    assert type(answered(100183, "P0000", sql=sql)) is OutcomeUnknown
    assert type(answered(2003, "42S02", "Uncaught exception of type 'STATEMENT_ERROR'", sql)) is OutcomeUnknown
    assert isinstance(answered(1003, "42000", "syntax error line 1", sql), StatementRefused)


def test_the_error_of_an_inner_statement_is_not_one_of_the_script() -> None:
    """A script has run when a procedure that it calls fails to parse."""
    error = answered(1003, "42000", "Execution error in store procedure P: syntax error line 1", "CALL p()")
    assert type(error) is OutcomeUnknown
    assert type(answered(2003, "42S02", "Object 'T' does not exist", "CALL p()")) is OutcomeUnknown


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT ALL INTO a VALUES (1) INTO b VALUES (1) SELECT 1",
        "-- a comment\nINSERT INTO t SELECT 1",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "(SELECT 1)",
        "COPY INTO t FROM @stage",
        "CREATE TASK t AS BEGIN x; END",
        "CREATE OR REPLACE TABLE t AS SELECT 1",
        "ALTER TABLE t ADD COLUMN b INT",
        "DROP SCHEMA s CASCADE",
        "COMMIT",
    ],
)
def test_a_single_statement_is_atomic(sql: str) -> None:
    """Creating a task that holds a script is atomic."""
    assert is_atomic(sql)
    assert type(answered(2002, "42710", sql=sql)) is StatementRefused


@pytest.mark.parametrize(
    ("sql", "states", "took_effect", "has_ended", "is_proof"),
    [
        ("INSERT INTO t SELECT 1", [], None, None, False),
        ("INSERT INTO t SELECT 1", ["RUNNING"], None, False, False),
        ("INSERT INTO t SELECT 1", ["SUCCESS"], True, True, True),
        ("INSERT INTO t SELECT 1", ["FAILED_WITH_ERROR"], False, True, True),
        ("INSERT INTO t SELECT 1", ["FAILED_WITH_INCIDENT"], False, True, False),
        ("INSERT INTO t SELECT 1", ["SUCCESS", "FAILED_WITH_ERROR"], True, True, False),
        ("CALL p()", ["SUCCESS"], True, True, False),
        ("CALL p()", ["FAILED_WITH_ERROR"], None, True, False),
        ("CALL p()", ["FAILED_WITH_ERROR", "SUCCESS"], None, True, False),
        ("CALL p()", ["RUNNING", "SUCCESS"], None, False, False),
    ],
)
def test_the_query_history_proves_the_outcome_of_one_atomic_statement(
    sql: str, states: list[str], took_effect: bool | None, has_ended: bool | None, is_proof: bool
) -> None:
    """A failed procedure may have had effects, and two queries with one tag prove nothing."""
    evidence = assess([("id", state, None) for state in states], sql)
    assert (evidence.took_effect, evidence.has_ended, evidence.is_proof) == (took_effect, has_ended, is_proof)


def test_a_message_is_printed_once_and_without_the_drivers_noise() -> None:
    """Error number, SQL state and request id are removed from the message."""
    error = answered(1003, "42000", "001003 (42000): 001003 (42000): SQL compilation error:\nsyntax (request_id=0a-1f)")
    assert error.message == "SQL compilation error:\nsyntax"


class Connection:
    """A connection with the attributes and the cursor that a session uses."""

    role = warehouse = database = schema = "X"
    sfqid = "id"

    def cursor(self) -> Connection:
        return self

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, parameters: Any, **_: Any) -> None:
        if sql == "CREATE SCHEMA s":
            self.schema = "S"

    def fetchall(self) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("sql", "clean"),
    [
        ("CREATE OR REPLACE TABLE t (a INT)", True),
        ("create iceberg table t (a int)", True),
        ("CREATE OR REPLACE SECURE VIEW v AS SELECT 1", True),
        ("ALTER ICEBERG TABLE t ADD COLUMN b INT", True),
        ("DROP VIEW v", True),
        ("INSERT INTO t SELECT 1", True),
        ("MERGE INTO t USING u ON TRUE WHEN MATCHED THEN DELETE", True),
        ("GRANT SELECT ON t TO ROLE r", True),
        ("CREATE TEMPORARY TABLE t (a INT)", False),
        ("CREATE OR REPLACE LOCAL TEMP TABLE t (a INT)", False),
        ("CREATE SCHEMA s", False),
        ("CREATE /* temporary */ TEMPORARY TABLE t (a INT)", False),
        ("USE ROLE r", False),
        ("SET a = 1", False),
        ("ALTER SESSION SET TIMEZONE = 'UTC'", False),
        ("BEGIN LET a := 1; END", False),
        ("CALL p()", False),
        ("EXECUTE IMMEDIATE 'USE ROLE r'", False),
        ("BEGIN TRANSACTION", False),
    ],
)
def test_a_session_stays_clean_only_under_statements_that_are_known_to_leave_it(sql: str, clean: bool) -> None:
    """The next migration must not inherit the state of the session."""
    session = SnowflakeSession(Connection(), lambda _: None, lambda _: None, lambda _: QueryState(lambda: None))
    session.execute("SELECT 1")
    assert session.is_clean
    session.execute(sql)
    assert session.is_clean is clean
    session.log_out()


def test_the_state_of_a_query_is_asked_for_at_most_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The id is looked up until the query history has it, and then no more."""
    now, requests = [0.0], []
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    found = [None, lambda: requests.append(now[0]) or "RESUMING_WAREHOUSE"]
    watched = QueryState(lambda: found.pop(0))
    seen = []
    for second in range(1, 36):
        now[0] = float(second)
        seen.append(watched.read())
    assert seen == [None] * 19 + ["query resuming warehouse"] * 16
    assert (found, requests) == ([], [20.0, 30.0])


def test_without_the_connector_the_error_names_what_to_install(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is the pip command; a Spark session for a Snowflake catalog is refused."""
    project.catalog("migrationExecutor: {type: snowflake, conf: {connection: {account: a, database: LAKE}}}\n")
    project.file("1_a.sql", "SELECT 1")
    loaded = Project.load(project.root)
    with pytest.raises(ConfigurationError) as caught:
        loaded.pending(spark=object())
    assert caught.value.code == "SESSION_NOT_SPARK"
    monkeypatch.setitem(sys.modules, "snowflake.connector", None)
    with pytest.raises(ConfigurationError) as caught:
        loaded.pending()
    assert caught.value.code == "SNOWFLAKE_NOT_INSTALLED"
    assert caught.value.hint == f"pip install '{requirement(source() or INDEX, 'snowflake')}'"
    assert "[snowflake]" in caught.value.hint
