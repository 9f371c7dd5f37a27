"""Who ran which statement on a table, and when, from Snowflake's query history.

The view ACCOUNT_USAGE.QUERY_HISTORY has the statements of all users of a year, up to 45 minutes late; it needs the database role
SNOWFLAKE.GOVERNANCE_VIEWER. The function INFORMATION_SCHEMA.QUERY_HISTORY has those of seven days at once, of the user and of
the warehouses that the role monitors. Both name the database and the schema that complete the names in a statement.
ACCESS_HISTORY, which lists the objects that a statement changed, is not read: it needs Enterprise Edition, and is up to three
hours late.

https://docs.snowflake.com/en/sql-reference/account-usage/query_history
https://docs.snowflake.com/en/sql-reference/functions/query_history
https://docs.snowflake.com/en/sql-reference/snowflake-db-roles
https://docs.snowflake.com/en/sql-reference/account-usage/access_history
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.errors import EngineError, TableNotFound
from glacierbase.executors import Row, Session
from glacierbase.model.names import name_parts, snowflake_identifier
from glacierbase.model.shape import LoggedStatement, StatementLog

# The time limit of each of the two queries, by which the server cancels it.
# https://docs.snowflake.com/en/sql-reference/parameters#statement-timeout-in-seconds
_SECONDS = 60
_MOST = 1000
# A range that begins before the seven days of the function is an error; the hour is for its clock.
_FUNCTION_DAYS = timedelta(days=7) - timedelta(hours=1)
_VIEW = "SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY"
_FUNCTION = "TABLE({}.INFORMATION_SCHEMA.QUERY_HISTORY(END_TIME_RANGE_START => {}, RESULT_LIMIT => 10000))"
# Types of statements that change no shape; a table has many of them.
_OF_ROWS = ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "UNLOAD", "SHOW", "DESCRIBE", "EXPLAIN", "USE")
_STATEMENTS = (
    "SELECT query_id, query_type, start_time, user_name, query_text, database_name, schema_name, query_tag FROM {}"
    f" WHERE start_time >= {{}} AND UPPER(execution_status) = 'SUCCESS' AND query_type NOT IN {_OF_ROWS}"
    f" AND ({{}}) ORDER BY start_time DESC LIMIT {_MOST}"
)
_NO_RIGHT = "(42501)"


def logged_statements(session: Session, since: Mapping[str, datetime]) -> StatementLog:
    """Return the statements that name one of the tables, by the view and the function as far as the role may read them.

    Args:
        since: the time of the first wanted statement for each table, at least one, by its qualified name.

    Raises:
        EngineError: neither can be read, for another reason than a missing right.
    """
    first = min(since.values())
    session.execute(f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {_SECONDS}")
    grant = None
    try:
        rows = _rows(session, _VIEW, first, since)
    except EngineError as error:
        rows = []
        if isinstance(error, TableNotFound) or _NO_RIGHT in error.error_class:
            role = session.context().role
            grant = f"GRANT DATABASE ROLE SNOWFLAKE.GOVERNANCE_VIEWER TO ROLE {snowflake_identifier(role or 'PUBLIC')}"
    recent = max(first, datetime.now(timezone.utc) - _FUNCTION_DAYS)
    database = snowflake_identifier(name_parts(next(iter(since)))[0])
    try:
        rows += _rows(session, _FUNCTION.format(database, _time(recent)), recent, since)
    except EngineError:
        if not rows and grant is None:
            raise
    statements = {str(row[0]): _statement(row) for row in rows}
    return StatementLog(tuple(sorted(statements.values(), key=lambda statement: statement.at, reverse=True)), grant)


def _rows(session: Session, source: str, first: datetime, tables: Iterable[str]) -> list[Row]:
    names = [name_parts(table)[-1].upper() for table in tables]
    condition = " OR ".join(["CONTAINS(UPPER(query_text), ?)"] * len(names))
    return session.query(_STATEMENTS.format(source, _time(first), condition), names)


def _time(at: datetime) -> str:
    return f"'{at.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} +0000'::TIMESTAMP_LTZ"


def _statement(row: Row) -> LoggedStatement:
    query_id, kind, at, user, sql, database, schema, tag = row
    operation = f"{kind}, query {query_id}"
    return LoggedStatement(_in_utc(at), str(user), operation, str(sql), database or None, schema or None, tag or "")


def _in_utc(at: Any) -> datetime:
    time: datetime = at
    return time.astimezone(timezone.utc)
