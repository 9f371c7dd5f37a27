"""Fast fakes of executor and store. They pass the same contract suites as the real ones."""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

from glacierbase.errors import OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors import Evidence, InFlight, ListedTable
from glacierbase.model.migration import Event
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Column, Shape, TableVersion
from glacierbase.stores import LockRow
from glacierbase.stores.tables import the_row

_KINDS = {"no such table": TableNotFound, "interrupted": OutcomeUnknown}


class FakeSession:
    """A SQLite connection behind the port of a session. Its catalog is `spark_catalog`, with the namespace `default`."""

    def __init__(
        self,
        uri: str,
        before: Callable[[str], None],
        progress: Callable[[], str | None] = lambda: None,
        before_read: Callable[[str], None] = lambda table: None,
    ) -> None:
        self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        self._before = before
        self._progress = progress
        self._before_read = before_read
        self._context = SessionContext("sqlite", "main")

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> None:
        self.query(sql, parameters)

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._before(sql)
        if sql.startswith("SET "):
            return []
        if sql.startswith("USE "):
            return self.select(SessionContext("sqlite", sql.removeprefix("USE "))) or []
        if sql.startswith("DESCRIBE TABLE "):
            table = sql.removeprefix("DESCRIBE TABLE ")
            return [(row[1], row[2]) for row in self.query(f"PRAGMA table_info({table})")]
        sql = sql.replace("spark_catalog.default.", "").replace("spark_catalog.", "")
        try:
            return self._connection.execute(sql, tuple(parameters)).fetchall()
        except sqlite3.Error as error:
            kind = next((kind for text, kind in _KINDS.items() if text in str(error)), StatementRefused)
            raise kind(type(error).__name__, str(error)) from error

    def cancel(self) -> None:
        self._connection.interrupt()

    def progress(self) -> str | None:
        return self._progress()

    def shape(self, table: str) -> Shape | None:
        self._before_read(table)
        name = table.rpartition(".")[2]
        rows = self._connection.execute(f"PRAGMA table_info({name})").fetchall()
        columns = tuple(Column(None, row[1], row[2].lower(), required=bool(row[3])) for row in rows)
        return Shape(table, None, "sqlite", None, columns) if columns else None

    def tables(self, catalog: str) -> list[ListedTable]:
        rows = self.query("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return [ListedTable(f"{catalog}.main.{name}", kind) for name, kind in rows]

    def view_statements(self, view: str) -> tuple[str, ...]:
        name = view.rpartition(".")[2]
        [[sql]] = self.query("SELECT sql FROM sqlite_master WHERE type = 'view' AND name = ?", [name])
        return f"DROP VIEW IF EXISTS {name}", sql

    def context(self) -> SessionContext:
        return self._context

    def select(self, context: SessionContext) -> None:
        self._context = context

    def close(self) -> None:
        self._connection.close()


class FakeExecutor:
    """An engine in memory.

    Attributes:
        before: called with each statement; may raise what an engine would.
        before_read: called with each table whose shape is read, likewise.
        progress: returns how far each statement is.
        recorded: the evidence that the engine has about every statement.
        proving: the table whose version proves the outcome of every statement.
        connection: keeps the database, which each session opens again.
    """

    dialect = "spark"
    engine = "sqlite"
    principal = "tester"

    def __init__(self) -> None:
        self.process: dict[str, Any] = {"application": None}
        self.before: Callable[[str], None] = lambda sql: None
        self.before_read: Callable[[str], None] = lambda table: None
        self.progress: Callable[[], str | None] = lambda: None
        self._uri = f"file:{uuid.uuid4().hex}?mode=memory&cache=shared"
        self.connection = sqlite3.connect(self._uri, uri=True)
        self.closed = 0
        self.recorded = Evidence()
        self.proving: str | None = None

    def open_session(self, *, bookkeeping: bool = False) -> FakeSession:
        return FakeSession(
            self._uri, lambda sql: self.before(sql), lambda: self.progress(), lambda table: self.before_read(table)
        )

    def evidence(self, statement: InFlight) -> Evidence:
        return self.recorded

    def proving_table(self, sql: str, file: str) -> str | None:
        return self.proving

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query without calling `before`."""
        return FakeSession(self._uri, lambda sql: None).query(sql)

    def close(self) -> None:
        self.closed += 1


class MemoryTables:
    """The two tables of every catalog, shared by all runs of a test."""

    def __init__(self) -> None:
        self.histories: dict[str, list[Event]] = {}
        self.locks: dict[str, LockRow] = {}
        self.rows: dict[str, tuple[LockRow, ...]] = {}  # Of a lock table that does not hold one row.
        self.mutex = threading.Lock()
        self.appends = 0
        self.compactions: list[int] = []  # The number of events at each.
        self.versions: dict[str, TableVersion] = {}  # Of the users' tables.
        self.commit_seconds: float | None = 5.0


class MemoryStore:
    """The port of a store over shared memory. `before` is called with each verb and may raise what a store would."""

    compacts_every = 100
    has_clock = False

    def __init__(self, tables: MemoryTables, name: str, before: Callable[[str], None] = lambda verb: None) -> None:
        self._tables = tables
        self._name = name
        self._before = before
        self.proves_by_lease = False

    def now(self) -> datetime:
        return datetime.now(timezone.utc)

    def read_history(self) -> tuple[Event, ...]:
        self._before("read_history")
        return tuple(self._tables.histories.get(self._name, ()))

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        self._before("read_other_histories")
        return {name: tuple(events) for name, events in self._tables.histories.items() if name != self._name}

    def read_lock(self) -> LockRow | None:
        self._before("read_lock")
        return the_row(self._lock_rows(), f"lake.glacierbase.lock_{self._name}")

    def read_lock_and_history(self) -> tuple[LockRow | None, tuple[Event, ...]]:
        return self.read_lock(), self.read_history()

    def lock_rows(self) -> tuple[LockRow, ...] | None:
        self._before("lock_rows")
        return self._lock_rows()

    def _lock_rows(self) -> tuple[LockRow, ...] | None:
        if self._name in self._tables.rows:
            return self._tables.rows[self._name]
        return (self._tables.locks[self._name],) if self._name in self._tables.locks else None

    def other_catalog(self) -> str | None:
        """Return None: the rows are not in files that another catalog may need."""

    def own_files(self) -> None:
        """Do nothing."""

    def has_namespace(self) -> bool:
        return self._name in self._tables.histories

    def drop(self, *, namespace: bool) -> None:
        with self._tables.mutex:
            self._tables.histories.pop(self._name, None)
            self._tables.locks.pop(self._name, None)
            self._tables.rows.pop(self._name, None)

    def create(self, free: LockRow) -> None:
        self._before("create")
        with self._tables.mutex:
            self._tables.histories.setdefault(self._name, [])
            if self._name not in self._tables.rows:
                self._tables.locks.setdefault(self._name, free)

    def append(self, events: Sequence[Event]) -> None:
        self._before("append")
        with self._tables.mutex:
            if self._name not in self._tables.histories:
                raise TableNotFound("TableNotFound", "no history")
            self._tables.histories[self._name].extend(events)
            self._tables.appends += 1
        self._before("append answered")

    def compact(self) -> None:
        self._before("compact")
        self._tables.compactions.append(len(self._tables.histories[self._name]))

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        self._before("compare_and_set")
        with self._tables.mutex:
            row = self._tables.locks.get(self._name)
            if self._name in self._tables.rows or row is None or row.claim != expected.claim:
                return False
            self._tables.locks[self._name] = new
            return True

    def replace_rows(self, seen: Sequence[LockRow], new: LockRow) -> bool:
        self._before("replace_rows")
        with self._tables.mutex:
            if self._lock_rows() != tuple(seen):
                return False
            self._tables.rows.pop(self._name, None)
            self._tables.locks[self._name] = new
            return True


class MemoryVersions:
    """The reader of users' tables over shared memory; `before` as for `MemoryStore`."""

    def __init__(self, tables: MemoryTables, before: Callable[[str], None] = lambda verb: None) -> None:
        self._tables = tables
        self._before = before

    def version(self, name: str, *, is_namespace: bool = False) -> TableVersion | None:
        self._before("table_version")
        return self._tables.versions.get(name)

    def commit_seconds(self, name: str) -> float | None:
        return self._tables.commit_seconds

    def shows(self, statement: object, before: TableVersion) -> bool:
        return False

    def close(self) -> None:
        """Do nothing."""


def lost_answer(*_: object) -> None:
    """Raise what an engine raises when its answer is lost."""
    raise OutcomeUnknown("ConnectionReset", "the connection was reset")
