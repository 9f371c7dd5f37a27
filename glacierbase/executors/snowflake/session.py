"""Sessions of Snowflake's connector: one that keeps history and lock, and clean ones for the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError, EngineUnavailable
from glacierbase.executors import Evidence, Executor, InFlight, Row, Session
from glacierbase.executors.snowflake.errors import error_text, map_error
from glacierbase.executors.snowflake.evidence import ENDED, assess
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import snowflake_identifier
from glacierbase.run.clock import SKEW
from glacierbase.run.run import Run, run_tag
from glacierbase.run.waiting import Caller, result

# Of a session of ours. A query whose client has vanished ends by itself, and nobody waits long for a lock of a moment.
# https://docs.snowflake.com/en/sql-reference/parameters
_OUR_PARAMETERS = {"ABORT_DETACHED_QUERY": True, "LOCK_TIMEOUT": 30}
# Of every session, where the catalog file does not say otherwise: a login that ends while a person still watches; no reports
# of ours to the connector's makers.
_DEFAULTS = {"login_timeout": 60}
_DEFAULT_PARAMETERS = {"CLIENT_TELEMETRY_ENABLED": False}
# The session of history and lock is idle while a migration's statement runs; Snowflake ends an idle one after four hours.
# https://docs.snowflake.com/en/user-guide/session-policies
_OUR_KEYWORDS = {"client_session_keep_alive": True}
_LOG_OUT_SECONDS = 10.0
# Whether to ask for running queries before a logout; the connector's line 5 warns where nobody says.
_LOGS_OUT = "enable_server_session_keep_alive_auto_detection"

# What a session is told at login, and what it must still be when the next file gets it.
_STATE = ("role", "warehouse", "database", "schema")
# Statements that change nothing of the session they run in; all others may.
_KEEPS_SESSION_STATE = re.compile(
    r"""(?ix)
    (?: INSERT | UPDATE | DELETE | MERGE | TRUNCATE | COPY | SELECT | WITH | SHOW | DESC | DESCRIBE
      | COMMENT | GRANT | REVOKE | UNDROP
      | (?: CREATE (?:\s+ OR \s+ (?:REPLACE | ALTER))? | ALTER | DROP )
        (?:\s+ (?:TRANSIENT | ICEBERG | DYNAMIC | SECURE | MATERIALIZED | RECURSIVE))*
        \s+ (?:TABLE | VIEW | TASK | STREAM | SEQUENCE | STAGE | PIPE | TAG | PROCEDURE | FUNCTION)
    ) \b"""
)


def open_executor(catalog: Catalog, run: Run) -> Executor:
    """Connect as the catalog's `connection` says.

    Raises:
        ConfigurationError: the connector is not installed.
        EngineUnavailable: the login was refused or not answered, or what it names is not there.
    """
    return _SnowflakeExecutor(catalog, run)


class SnowflakeSession:
    """A connection behind the executor's port."""

    def __init__(
        self, connection: Any, on_close: Callable[[SnowflakeSession], None], cancel: Callable[[str], None]
    ) -> None:
        """Args:
        on_close: called with the session when its user closes it.
        cancel: called with the tag of the statement to end.
        """
        self._connection = connection
        self._on_close = on_close
        self._cancel = cancel
        self._tag: str | None = None  # Of the statement that runs.
        self._began_as = self._state()
        # The connector takes SIGINT for itself while a statement runs on the main thread.
        self._caller = Caller()
        self.is_clean = True

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> str | None:
        """Run a statement to its end; the tag is its QUERY_TAG."""
        return self._ask(sql, parameters, tag)[0]

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of a question."""
        return self._ask(sql, parameters, None)[1]

    def _ask(self, sql: str, parameters: Sequence[Any], tag: str | None) -> tuple[str | None, list[Row]]:
        clean, self.is_clean = self.is_clean and _KEEPS_SESSION_STATE.match(sql) is not None, False
        self._tag = tag
        try:
            answer = self._caller.submit(lambda: self._run(sql, parameters, tag)).result()
        except Exception as error:
            raise map_error(error, sql) from error
        except BaseException:
            self.cancel()  # The caller of the API was interrupted, and waits no longer.
            raise
        finally:
            self._tag = None
        self.is_clean = clean and self._state() == self._began_as
        return answer

    def _run(self, sql: str, parameters: Sequence[Any], tag: str | None) -> tuple[str | None, list[Row]]:
        with self._connection.cursor() as cursor:
            # Without parameters the connector leaves the text alone: no `?`, `%` or `:x` of the author's is taken for one.
            bound = [_bound(value) for value in parameters] or None
            try:
                cursor.execute(sql, bound, **({"_statement_params": {"QUERY_TAG": tag}} if tag else {}))
            except Exception as error:
                # Of a lost connection the error lacks the id that the server gave before.
                if getattr(error, "sfqid", None) is None:
                    error.sfqid = cursor.sfqid  # type: ignore[attr-defined]
                raise
            return cursor.sfqid, [tuple(row) for row in cursor.fetchall()]

    def _state(self) -> tuple[Any, ...]:
        return tuple(getattr(self._connection, name) for name in _STATE)

    def cancel(self) -> None:
        """End its statement, by the query's id."""
        if tag := self._tag:
            with suppress(Exception):
                self._cancel(tag)

    def close(self) -> None:
        """Give it back."""
        self._on_close(self)

    def log_out(self) -> None:
        """End it. Never raises: the server may be gone, or a statement may go on; the server ends it by itself."""
        with suppress(Exception):
            result(self._caller.submit(self._connection.close), _LOG_OUT_SECONDS)
        self._caller.end()


class _SnowflakeExecutor:
    """Connections to one account: one at a time for the files, and one for each store."""

    dialect = "snowflake"

    def __init__(self, catalog: Catalog, run: Run) -> None:
        self._catalog = catalog
        self._run = run
        self._opened_at = datetime.now(timezone.utc)
        self._open: list[SnowflakeSession] = []
        self._idle: SnowflakeSession | None = None
        connector = _connector(catalog)
        first = self._connect(bookkeeping=True)
        self._first: SnowflakeSession | None = self._session(first, SnowflakeSession.log_out)
        self.engine = f"snowflake, connector {connector.__version__}"
        self.principal = f"{first.user} (role {first.role})"
        self.process: Mapping[str, Any] = {
            "application": f"snowflake account {first.account}",
            "query_tag": run_tag(run.id),
        }

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        """A connection of its own for history and lock. The files share one, as long as none of them changes it."""
        if bookkeeping:
            first, self._first = self._first, None
            return first or self._session(self._connect(bookkeeping=True), SnowflakeSession.log_out)
        idle, self._idle = self._idle, None
        return idle or self._session(self._connect(bookkeeping=False), self._keep_clean)

    def evidence(self, statement: InFlight) -> Evidence:
        """What the query history says of the statement with this tag."""
        with closing(self.open_session(bookkeeping=True)) as session:
            rows = self._queries(session, statement.since, statement.tag)
        return assess(rows, statement.sql)

    def _queries(self, session: Session, since: datetime, tag: str) -> list[Row]:
        """Id, status and error of the statements with this tag; the account forgets them after seven days.

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
        """https://docs.snowflake.com/en/sql-reference/functions/system_cancel_query"""
        with closing(self.open_session(bookkeeping=True)) as session:
            for query_id, status, _ in self._queries(session, self._opened_at, tag):
                if status not in ENDED:
                    session.query("SELECT SYSTEM$CANCEL_QUERY(?)", [query_id])

    def _session(self, connection: Any, on_close: Callable[[SnowflakeSession], None]) -> SnowflakeSession:
        session = SnowflakeSession(connection, on_close, self._cancel)
        self._open.append(session)
        return session

    def _keep_clean(self, session: SnowflakeSession) -> None:
        if session.is_clean:
            self._idle = session
        else:
            session.log_out()

    def _connect(self, *, bookkeeping: bool) -> Any:
        catalog = self._catalog
        connector = _connector(catalog)
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
        """Log out of all that is still open."""
        for session in self._open:
            session.log_out()


def _connector(catalog: Catalog) -> Any:
    try:
        import snowflake.connector
    except ImportError as error:
        raise ConfigurationError(
            "SNOWFLAKE_NOT_INSTALLED",
            f"catalog {catalog.name} runs on Snowflake, whose connector this Python lacks",
            "pip install 'glacierbase[snowflake]'",
        ) from error
    return snowflake.connector


def _keywords(connector: Any, catalog: Catalog, run: Run, *, bookkeeping: bool) -> dict[str, Any]:
    """The catalog file's keywords, over defaults of ours and under what must be so."""
    keywords = {**_DEFAULTS, **(_OUR_KEYWORDS if bookkeeping else {}), **catalog.connection}
    if int(connector.__version__.split(".")[0]) >= 5:
        keywords = {_LOGS_OUT: False, **keywords}
    of_store = {**_OUR_PARAMETERS, "QUERY_TAG": run_tag(run.id)} if bookkeeping else {}
    keywords["session_parameters"] = {**_DEFAULT_PARAMETERS, **keywords.get("session_parameters", {}), **of_store}
    if "connections_file_path" in keywords:  # The connector's line 4 takes nothing but a Path.
        keywords["connections_file_path"] = Path(keywords["connections_file_path"])
    return {**keywords, "autocommit": True, "paramstyle": "qmark"}


def _check_state(catalog: Catalog, connection: Any) -> None:
    """Snowflake lets a session in whose warehouse or database does not exist, and refuses its statements one by one."""
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
    """Instants with their kind: the connector would send them without a time zone."""
    return ("TIMESTAMP_TZ", value) if isinstance(value, datetime) else value
