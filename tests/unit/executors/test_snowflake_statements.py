"""Who ran which statement on a table of Snowflake, by recorded rows of the query history, and the SQL that reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.errors import OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors import Row
from glacierbase.executors.snowflake.statements import logged_statements
from glacierbase.model.session import SessionContext

NOW = datetime.now(timezone.utc)
VIEW, FUNCTION = "FROM SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY", "INFORMATION_SCHEMA.QUERY_HISTORY("
TABLES = {"DEMO.SALES.ORDERS": NOW - timedelta(days=2), 'DEMO.SALES."odd name"': NOW - timedelta(days=30)}


def row(query: str, at: datetime = NOW, sql: str = "ALTER TABLE ORDERS ADD COLUMN X INT") -> Row:
    return (query, "ALTER_TABLE_ADD_COLUMN", at, "ANN", sql, "DEMO", "SALES", "")


class History:
    """A session of Snowflake that answers with recorded rows, or with an error, by the source of the query."""

    def __init__(self, answers: Mapping[str, Sequence[Row] | Exception]) -> None:
        self.answers = answers
        self.sent: list[tuple[str, Sequence[Any]]] = []

    def execute(self, sql: str) -> None:
        self.sent.append((sql, ()))

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        self.sent.append((sql, parameters))
        answer = next(answer for source, answer in self.answers.items() if source in sql)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    def context(self) -> SessionContext:
        return SessionContext("DEMO", "SALES", "MIGRATOR")


def test_one_query_of_each_source_with_a_time_limit_covers_all_tables() -> None:
    """The names are bound, the view is read since the earliest time, and the function not beyond its seven days."""
    history = History({VIEW: [], FUNCTION: []})
    assert logged_statements(history, TABLES).grant is None  # type: ignore[arg-type]
    limit, view, function = history.sent
    assert limit == ("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 60", ())
    assert view[1] == function[1] == ["ORDERS", "ODD NAME"]
    assert f"start_time >= '{min(TABLES.values()):%Y-%m-%d %H:%M:%S} +0000'::TIMESTAMP_LTZ" in view[0]
    assert "UPPER(execution_status) = 'SUCCESS'" in view[0]
    assert 'TABLE("DEMO".INFORMATION_SCHEMA.QUERY_HISTORY(END_TIME_RANGE_START => ' in function[0]
    begin = datetime.strptime(function[0].split("START => '")[1][:25], "%Y-%m-%d %H:%M:%S %z")
    assert timedelta(days=6) < NOW - begin < timedelta(days=7)


def test_a_statement_of_both_sources_is_one_and_the_newest_comes_first() -> None:
    """The time is in UTC, and the operation is the type and the id of the query."""
    local = NOW.astimezone(timezone(timedelta(hours=5)))
    history = History({VIEW: [row("q1", NOW - timedelta(days=1)), row("q2", local)], FUNCTION: [row("q3"), row("q2")]})
    log = logged_statements(history, TABLES)  # type: ignore[arg-type]
    assert [one.operation[-2:] for one in log.statements] == ["q2", "q3", "q1"]
    first = log.statements[0]
    assert (first.at, first.by, first.operation) == (NOW, "ANN", "ALTER_TABLE_ADD_COLUMN, query q2")
    assert first.at.tzinfo is timezone.utc


@pytest.mark.parametrize(
    "error", [TableNotFound("002003 (02000)", "does not exist"), StatementRefused("003001 (42501)", "no right")]
)
def test_a_role_without_the_right_gets_its_own_statements_and_the_grant_that_it_lacks(error: Exception) -> None:
    """The grant names the role of the session."""
    log = logged_statements(History({VIEW: error, FUNCTION: [row("q1")]}), TABLES)  # type: ignore[arg-type]
    assert len(log.statements) == 1
    assert log.grant == 'GRANT DATABASE ROLE SNOWFLAKE.GOVERNANCE_VIEWER TO ROLE "MIGRATOR"'


def test_no_grant_is_named_where_no_right_is_missing() -> None:
    """A query that took too long, or a session without a warehouse, leaves the statements of the other source."""
    for error in (OutcomeUnknown("000630 (57014)", "out of time"), StatementRefused("000606 (57P03)", "no warehouse")):
        log = logged_statements(History({VIEW: error, FUNCTION: [row("q1")]}), TABLES)  # type: ignore[arg-type]
        assert (len(log.statements), log.grant) == (1, None)
        with pytest.raises(type(error)):
            logged_statements(History({VIEW: error, FUNCTION: error}), TABLES)  # type: ignore[arg-type]
