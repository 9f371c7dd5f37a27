"""The port to a SQLite database: each session is a connection of its own, and each statement a transaction of its own."""

from __future__ import annotations

import getpass
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from glacierbase.errors import EngineUnavailable, OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors import Evidence, InFlight, ListedTable, Row
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_parts
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Column, Shape

# After any other error SQLite has rolled the statement back: https://www.sqlite.org/lang_transaction.html
_UNKNOWN = ("disk I/O error", "malformed", "not a database")
_CONTEXT = SessionContext(None, "main")


class SqliteSession:
    """A connection."""

    def __init__(self, catalog: Catalog) -> None:
        self._connection = sqlite3.connect(
            catalog.conf["path"], timeout=30, isolation_level=None, check_same_thread=False
        )
        self._connection.execute(f"PRAGMA foreign_keys = {int(catalog.conf['foreignKeys'])}")

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> str | None:
        self.query(sql, parameters)
        if self._connection.in_transaction:
            self._connection.rollback()
            raise StatementRefused("Transaction", "a transaction over several statements was rolled back")
        return None

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._connection.execute(sql, tuple(parameters)).fetchall()
        except sqlite3.Error as error:
            raise _mapped(error) from error

    def cancel(self) -> None:
        self._connection.interrupt()

    def progress(self) -> str | None:
        return None

    def shape(self, table: str) -> Shape | None:
        rows = self.query('SELECT name, type, "notnull" FROM pragma_table_info(?)', [name_parts(table)[-1]])
        columns = tuple(Column(None, name, kind.lower(), required=bool(required)) for name, kind, required in rows)
        return Shape(table, None, "sqlite", None, columns) if columns else None

    def tables(self, catalog: str) -> list[ListedTable]:
        rows = self.query("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return [ListedTable(name, kind) for name, kind in rows]

    def view_statements(self, view: str) -> tuple[str, ...]:
        [[sql]] = self.query("SELECT sql FROM sqlite_master WHERE type = 'view' AND name = ?", [view])
        return f"DROP VIEW IF EXISTS {view}", sql

    def context(self) -> SessionContext:
        return _CONTEXT

    def select(self, context: SessionContext) -> None:
        """Do nothing: there is one namespace."""

    def close(self) -> None:
        self._connection.close()


class SqliteExecutor:
    """A database, as a catalog file configures it."""

    dialect = "sqlite"
    engine = f"sqlite {sqlite3.sqlite_version}"

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.principal = getpass.getuser()
        self.process = {"application": f"sqlite database {catalog.conf['path']}"}
        self.open_session().close()

    def open_session(self, *, bookkeeping: bool = False) -> SqliteSession:
        try:
            return SqliteSession(self._catalog)
        except sqlite3.Error as error:
            what = f"catalog {self._catalog.name}: {self._catalog.conf['path']} cannot be opened: {error}"
            raise EngineUnavailable("SQLITE_UNAVAILABLE", what, "correct migrationExecutor.conf.path") from error

    def evidence(self, statement: InFlight) -> Evidence:
        """Return the tables as they are: SQLite keeps no log."""
        with closing(self.open_session()) as session:
            shapes = {table: session.shape(table) for table in statement.tables}
        return Evidence(
            tuple(
                f"{table}: {', '.join(column.name for column in shape.columns) if shape else 'no such table'}"
                for table, shape in shapes.items()
            )
        )

    def proving_table(self, sql: str, file: str) -> str | None:
        return None

    def close(self) -> None:
        """Do nothing: no process was started."""


def _mapped(error: sqlite3.Error) -> Exception:
    kind, message = getattr(error, "sqlite_errorname", type(error).__name__), str(error)
    if "no such table" in message:
        return TableNotFound(kind, message)
    return (OutcomeUnknown if any(text in message for text in _UNKNOWN) else StatementRefused)(kind, message)
