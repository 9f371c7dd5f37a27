"""Sessions of Snowflake's connector: one for history and lock, and clean ones for the migrations."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError, EngineUnavailable, StatementRefused, TableNotFound
from glacierbase.executors import Evidence, Executor, InFlight, ListedTable, Row, Session
from glacierbase.executors.snowflake.errors import error_text, is_atomic, map_error
from glacierbase.executors.snowflake.shape import (
    LIST_TABLES,
    VIEW_TEXT,
    listed_tables,
    shape_of,
    unquoted_parts,
    view_statements,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import snowflake_identifier
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Shape
from glacierbase.run.activity import doing
from glacierbase.run.clock import SKEW
from glacierbase.run.installed import pip_install
from glacierbase.run.run import Run, run_tag
from glacierbase.run.waiting import Caller, result
from glacierbase.sql import read
from glacierbase.sql.statement import SessionEffect

# For a bookkeeping session: Snowflake aborts a query whose client has vanished, and waits at most 30 s for a table's lock.
# https://docs.snowflake.com/en/sql-reference/parameters
_BOOKKEEPING_PARAMETERS = {"ABORT_DETACHED_QUERY": True, "LOCK_TIMEOUT": 30}
# For every session; the catalog file overrides them. A login ends within a minute, and no telemetry is sent.
_DEFAULTS = {"login_timeout": 60}
_DEFAULT_PARAMETERS = {"CLIENT_TELEMETRY_ENABLED": False}
# A bookkeeping session is idle while a migration's statement runs; Snowflake ends an idle session after four hours.
# https://docs.snowflake.com/en/user-guide/session-policies
_BOOKKEEPING_KEYWORDS = {"client_session_keep_alive": True}
_LOG_OUT_SECONDS = 10.0
# Whether a logout first checks for running queries; version 5 of the connector warns if this is not set.
_LOGS_OUT = "enable_server_session_keep_alive_auto_detection"

# Authenticators whose login a person confirms.
# https://docs.snowflake.com/en/developer-guide/python-connector/python-connector-connect
_INTERACTIVE = re.compile("(?i)browser|mfa|authorization_code")

# Attributes of a session that are set at login, and must be unchanged when the next migration gets the session.
_STATE = ("role", "warehouse", "database", "schema")
# The states of a statement that has ended.
ENDED = frozenset({"SUCCESS", "FAILED_WITH_ERROR", "FAILED_WITH_INCIDENT"})
# The states that prove the outcome; FAILED_WITH_INCIDENT is an internal error of Snowflake.
_PROVES = frozenset({"SUCCESS", "FAILED_WITH_ERROR"})
# At most one request in this time, and none for a statement that takes less.
_INTERVAL_SECONDS = 10.0


def _leaves_session(sql: str) -> bool:
    """Return whether the statement certainly does not change the session."""
    parsed = read(sql, "snowflake")
    return parsed.session is SessionEffect.NONE and parsed.operation not in ("script", "transaction")


def open_executor(catalog: Catalog, run: Run) -> Executor:
    """Connect with the catalog's `connection`.

    Raises:
        ConfigurationError: the connector is not installed.
        EngineUnavailable: the login was refused or not answered, or its role, warehouse, database or schema does not exist.
    """
    return _SnowflakeExecutor(catalog, run)


class SnowflakeSession:
    """A connection of the connector behind the executor's port."""

    def __init__(
        self,
        connection: Any,
        on_close: Callable[[SnowflakeSession], None],
        cancel: Callable[[str], None],
        watch: Callable[[str], QueryState],
    ) -> None:
        """Args:
        on_close: called with the session when its user closes it.
        cancel: called with the tag of the statement to cancel.
        watch: called with the tag of each statement that starts.
        """
        self._connection = connection
        self._on_close = on_close
        self._cancel = cancel
        self._watch = watch
        # Of the running statement.
        self._watched: QueryState | None = None
        self._tag: str | None = None
        self._began_as = self._state()
        # On the main thread, the connector installs a handler for SIGINT while a statement runs.
        self._caller = Caller()
        self.is_clean = True

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> str | None:
        """Run a statement to its end, with the tag as its QUERY_TAG."""
        return self._send(sql, parameters, tag)[0]

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query."""
        return self._send(sql, parameters, None)[1]

    def _send(self, sql: str, parameters: Sequence[Any], tag: str | None) -> tuple[str | None, list[Row]]:
        clean, self.is_clean = self.is_clean and _leaves_session(sql), False
        self._tag = tag
        self._watched = self._watch(tag) if tag else None
        try:
            answer = self._caller.submit(lambda: self._run(sql, parameters, tag)).result()
        except Exception as error:
            raise map_error(error, sql) from error
        except BaseException:
            self.cancel()  # A KeyboardInterrupt in the caller, which no longer waits for the answer.
            raise
        finally:
            self._tag = self._watched = None
        self.is_clean = clean and self._state() == self._began_as
        return answer

    def _run(self, sql: str, parameters: Sequence[Any], tag: str | None) -> tuple[str | None, list[Row]]:
        with self._connection.cursor() as cursor:
            # Without parameters the connector does not interpret `?`, `%` or `:x` in the text.
            bound = [_bound(value) for value in parameters] or None
            try:
                cursor.execute(sql, bound, **({"_statement_params": {"QUERY_TAG": tag}} if tag else {}))
            except Exception as error:
                # The error of a lost connection lacks the id that the server sent before.
                if getattr(error, "sfqid", None) is None:
                    error.sfqid = cursor.sfqid  # type: ignore[attr-defined]
                raise
            return cursor.sfqid, [tuple(row) for row in cursor.fetchall()]

    def _state(self) -> tuple[Any, ...]:
        return tuple(getattr(self._connection, name) for name in _STATE)

    def cancel(self) -> None:
        """Cancel the running statement, by its query id."""
        if tag := self._tag:
            with suppress(Exception):
                self._cancel(tag)

    def progress(self) -> str | None:
        """Return the state of the running statement's query; it may be some seconds old."""
        with suppress(Exception):
            return self._watched.read() if self._watched else None
        return None

    def shape(self, table: str) -> Shape | None:
        """Return the shape of a table, by one request that needs no warehouse; None if the table does not exist."""
        was_clean = self.is_clean
        try:
            return shape_of(table, self.query(f"DESCRIBE TABLE {table}"))
        except TableNotFound:
            self.is_clean = was_clean  # A refused DESCRIBE changes nothing, and a new session costs a login.
            return None

    def tables(self, catalog: str) -> list[ListedTable]:
        """Return the tables and views of a database, by one query. `SHOW` returns 10,000 at most."""
        return listed_tables(self.query(LIST_TABLES.format(snowflake_identifier(catalog))))

    def view_statements(self, view: str) -> tuple[str, ...]:
        """Return the statement of a view, whose names are relative to its schema; none where this role does not own it."""
        database, *inside = unquoted_parts(view)
        rows = self.query(VIEW_TEXT.format(snowflake_identifier(database)), inside)
        return view_statements(view, rows[0][0] if rows else None)

    def make_view(self, view: str, sql: str, function: str, columns: str) -> None:  # noqa: ARG002 (the port's)
        """Refuse: no action of glacierbase runs here."""
        raise StatementRefused("UNSUPPORTED", "Snowflake runs no actions of glacierbase")

    def context(self) -> SessionContext:
        """Return database, schema and role, which the connector takes from each answer; None for empty ones."""
        return SessionContext(*(getattr(self._connection, name) or None for name in ("database", "schema", "role")))

    def select(self, context: SessionContext) -> None:
        """Select database and schema with USE; a session may lack either."""
        parts = [snowflake_identifier(part) for part in (context.catalog, context.namespace) if part]
        if parts:
            self.execute(f"USE {'SCHEMA' if len(parts) > 1 else 'DATABASE'} {'.'.join(parts)}")

    def state_of(self, query_id: str) -> str:
        """Return the state of a query of this account, by a request that needs no warehouse."""
        return str(self._caller.submit(lambda: self._connection.get_query_status(query_id)).result().name)

    def close(self) -> None:
        """Return the session to its executor."""
        self._on_close(self)

    def log_out(self) -> None:
        """End the session. Never raises; the server ends a session that does not log out."""
        with suppress(Exception):
            result(self._caller.submit(self._connection.close), _LOG_OUT_SECONDS)
        self._caller.end()


class _SnowflakeExecutor:
    """The connections to one account: one at a time for the migrations, and one for each store."""

    dialect = "snowflake"

    def __init__(self, catalog: Catalog, run: Run) -> None:
        self._catalog = catalog
        self._run = run
        self._opened_at = datetime.now(timezone.utc)
        self._open: list[SnowflakeSession] = []
        self._idle: SnowflakeSession | None = None
        self._watcher: SnowflakeSession | None = None
        self._may_watch = not _INTERACTIVE.search(str(catalog.connection.get("authenticator")))
        connector = import_connector(catalog)
        with doing(f"{catalog.name}: connecting to Snowflake"):
            first = self._connect(bookkeeping=True)
        self._first: SnowflakeSession | None = self._session(first, SnowflakeSession.log_out)
        self.engine = f"snowflake, connector {connector.__version__}"
        self.principal = f"{first.user} (role {first.role})"
        self.process: Mapping[str, Any] = {
            "application": f"snowflake account {first.account}",
            "query_tag": run_tag(run.id),
        }

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        """Open a session: a new one for bookkeeping, else one that migrations share until one of them changes its state."""
        if bookkeeping:
            first, self._first = self._first, None
            return first or self._session(self._connect(bookkeeping=True), SnowflakeSession.log_out)
        idle, self._idle = self._idle, None
        return idle or self._session(self._connect(bookkeeping=False), self._keep_clean)

    def evidence(self, statement: InFlight) -> Evidence:
        """Assess the entries of the query history with the statement's tag."""
        with closing(self.open_session(bookkeeping=True)) as session:
            rows = self._queries(session, statement.since, statement.tag)
        return assess(rows, statement.sql)

    def proving_table(self, sql: str, file: str) -> str | None:  # noqa: ARG002 (the port's)
        """Return None: Snowflake exposes the state of each query, but no version of a table."""
        return None

    def _queries(self, session: Session, since: datetime, tag: str) -> list[Row]:
        """Return id, status and error of the statements with this tag. The query history covers seven days.

        https://docs.snowflake.com/en/sql-reference/functions/query_history
        """
        return session.query(
            "SELECT query_id, execution_status, error_message"
            f" FROM TABLE({snowflake_identifier(self._catalog.store.catalog)}.INFORMATION_SCHEMA.QUERY_HISTORY("
            f"END_TIME_RANGE_START => '{since - SKEW:%Y-%m-%d %H:%M:%S} +0000'::TIMESTAMP_LTZ, RESULT_LIMIT => 10000))"
            " WHERE query_tag = ?",
            [tag],
        )

    def _cancel(self, tag: str) -> None:
        """Cancel the queries with this tag.

        https://docs.snowflake.com/en/sql-reference/functions/system_cancel_query
        """
        with closing(self.open_session(bookkeeping=True)) as session:
            for query_id, status, _ in self._queries(session, self._opened_at, tag):
                if status not in ENDED:
                    session.query("SELECT SYSTEM$CANCEL_QUERY(?)", [query_id])

    def _watch(self, tag: str) -> QueryState:
        def find() -> Callable[[], str] | None:
            watcher = self._open_watcher()
            rows = self._queries(watcher, self._opened_at, tag) if watcher else []
            return partial(watcher.state_of, rows[-1][0]) if watcher and rows else None

        return QueryState(find)

    def _open_watcher(self) -> SnowflakeSession | None:
        """Return the session that reads the states of queries; None if its login needs a person's confirmation, or has failed."""
        if self._may_watch:
            self._may_watch = False
            self._watcher = self._session(self._connect(bookkeeping=True), SnowflakeSession.log_out)
        return self._watcher

    def _session(self, connection: Any, on_close: Callable[[SnowflakeSession], None]) -> SnowflakeSession:
        session = SnowflakeSession(connection, on_close, self._cancel, self._watch)
        self._open.append(session)
        return session

    def _keep_clean(self, session: SnowflakeSession) -> None:
        if session.is_clean:
            self._idle = session
        else:
            session.log_out()

    def _connect(self, *, bookkeeping: bool) -> Any:
        catalog = self._catalog
        connector = import_connector(catalog)
        try:
            connection = connector.connect(**_keywords(connector, catalog, self._run, bookkeeping=bookkeeping))
        except Exception as error:
            raise EngineUnavailable(
                "SNOWFLAKE_UNAVAILABLE",
                f"catalog {catalog.name}: no session on Snowflake: {error_text(error)}",
                "check host, account, user, login and role under migrationExecutor.conf.connection",
            ) from error
        try:
            _check_state(catalog, connection)
        except EngineUnavailable:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Log out of all open sessions."""
        for session in self._open:
            session.log_out()


def import_connector(catalog: Catalog) -> Any:
    """Import Snowflake's connector, and return it.

    Raises:
        ConfigurationError: `SNOWFLAKE_NOT_INSTALLED`.
    """
    try:
        import snowflake.connector
    except ImportError as error:
        raise ConfigurationError(
            "SNOWFLAKE_NOT_INSTALLED",
            f"catalog {catalog.name} runs on Snowflake, whose connector this Python lacks",
            pip_install("snowflake"),
        ) from error
    return snowflake.connector


def _keywords(connector: Any, catalog: Catalog, run: Run, *, bookkeeping: bool) -> dict[str, Any]:
    """Return the keywords of a connection: defaults, overridden by the catalog file, then by what glacierbase requires."""
    keywords = {**_DEFAULTS, **(_BOOKKEEPING_KEYWORDS if bookkeeping else {}), **catalog.connection}
    if int(connector.__version__.split(".")[0]) >= 5:
        keywords = {_LOGS_OUT: False, **keywords}
    required = {**_BOOKKEEPING_PARAMETERS, "QUERY_TAG": run_tag(run.id)} if bookkeeping else {}
    keywords["session_parameters"] = {**_DEFAULT_PARAMETERS, **keywords.get("session_parameters", {}), **required}
    if "connections_file_path" in keywords:  # Version 4 of the connector requires a Path.
        keywords["connections_file_path"] = Path(keywords["connections_file_path"])
    return {**keywords, "autocommit": True, "paramstyle": "qmark"}


def _check_state(catalog: Catalog, connection: Any) -> None:
    """Refuse a session whose warehouse or database does not exist: Snowflake would open it and refuse each statement."""
    for name in _STATE:
        if catalog.connection.get(name) and not getattr(connection, name):
            raise EngineUnavailable(
                "SNOWFLAKE_UNAVAILABLE",
                f"catalog {catalog.name}: the session has no {name}: {catalog.connection[name]} does not exist, or role"
                f" {connection.role} may not use it",
                f"correct connection.{name}, or: GRANT USAGE ON {name.upper()} {catalog.connection[name]} TO ROLE"
                f" {connection.role}",
            )


def _bound(value: Any) -> Any:
    """Return a parameter for the connector; a datetime with its type, without which its time zone is not sent."""
    return ("TIMESTAMP_TZ", value) if isinstance(value, datetime) else value


def assess(rows: Sequence[Row], sql: str) -> Evidence:
    """Return what the queries with a statement's tag show.

    Args:
        rows: id, status and error of each query.
        sql: the statement.
    """
    lines = tuple(f"query {query_id}: {status}{f', {error}' if error else ''}" for query_id, status, error in rows)
    states = {status for _, status, _ in rows}
    if not states or not states <= ENDED:
        return Evidence(lines, has_ended=False if rows else None)
    if not is_atomic(sql):  # A failed script may have had effects, and its parts may have its tag.
        return Evidence(lines, True if states == {"SUCCESS"} else None, has_ended=True)
    return Evidence(lines, "SUCCESS" in states, has_ended=True, is_proof=len(rows) == 1 and states <= _PROVES)


class QueryState:
    """The state of one statement's query, which may be some seconds old.

    Not thread-safe: one thread calls `read`.
    """

    def __init__(self, find: Callable[[], Callable[[], str] | None]) -> None:
        """Args:
        find: returns a function that returns the query's state, such as `RESUMING_WAREHOUSE`; None before the query is known.
        """
        self._find = find
        self._state: Callable[[], str] | None = None
        self._due = time.monotonic() + _INTERVAL_SECONDS
        self._last: str | None = None

    def read(self) -> str | None:
        """Return `query resuming warehouse`; None before the first answer. Raises what the requests raise."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _INTERVAL_SECONDS
            self._state = self._state or self._find()
            if self._state:
                self._last = f"query {self._state().lower().replace('_', ' ')}"
        return self._last
