"""History and lock in a SQLite file beside the database, so that a long statement in the one holds up nothing in the other."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from glacierbase.errors import OutcomeUnknown, TableNotFound
from glacierbase.executors.engine import Engine
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow, StoreType
from glacierbase.stores.tables import catalog_of, history_name, in_order, kind, lock_name, the_row


class SqliteStore:
    """The two tables of a catalog. Each call has a connection of its own."""

    compacts_every = 1_000_000  # Events need no compaction: they are rows of one file.
    proves_by_lease = False
    has_clock = False

    def __init__(self, catalog: Catalog) -> None:
        self._file = Path(f"{catalog.conf['path']}.{catalog.store.namespace}")
        self._history, self._lock = history_name(catalog.name), lock_name(catalog.name)

    def now(self) -> datetime:
        return datetime.now(timezone.utc)

    def read_history(self) -> tuple[Event, ...]:
        return self._events(self._history)

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        if not self._file.exists():
            return {}
        with self._connected() as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        others = ((catalog_of(name), name) for name in names if name != self._history)
        return {catalog: self._events(name) for catalog, name in others if catalog}

    def _events(self, table: str) -> tuple[Event, ...]:
        return in_order(self._rows(table, Event) or ())

    def read_lock(self) -> LockRow | None:
        return the_row(self.lock_rows(), self._lock)

    def read_lock_and_history(self) -> tuple[LockRow | None, tuple[Event, ...]]:
        return self.read_lock(), self.read_history()

    def lock_rows(self) -> tuple[LockRow, ...] | None:
        return self._rows(self._lock, LockRow)

    def _rows(self, table: str, row: type) -> tuple[Any, ...] | None:
        """Return the rows of a table; None where there is none."""
        if not self._file.exists():
            return None
        try:
            with self._connected() as connection:
                return tuple(_row(row, values) for values in connection.execute(f'SELECT * FROM "{table}"'))
        except TableNotFound:
            return None

    def has_namespace(self) -> bool:
        return self._file.exists()

    def create(self, free: LockRow) -> None:
        with self._connected(mode="rwc") as connection, _transaction(connection):
            if not _exists(connection, self._history):
                connection.execute(f'CREATE TABLE "{self._history}" ({_columns(Event)})')
            if not _exists(connection, self._lock):
                connection.execute(f'CREATE TABLE "{self._lock}" ({_columns(LockRow)})')
                _insert(connection, self._lock, free)

    def other_catalog(self) -> str | None:
        """Return None: the rows are not in files that another catalog may need."""

    def own_files(self) -> None:
        """Do nothing."""

    def drop(self, *, namespace: bool) -> None:
        with self._connected() as connection:
            for table in (self._lock, self._history):
                connection.execute(f'DROP TABLE IF EXISTS "{table}"')
        if namespace:
            self._file.unlink()

    def append(self, events: Sequence[Event]) -> None:
        with self._connected() as connection, _transaction(connection):
            for event in events:
                _insert(connection, self._history, event)

    def compact(self) -> None:
        """Do nothing."""

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        sets = ", ".join(f"{field.name} = ?" for field in fields(LockRow))
        sql = f'UPDATE "{self._lock}" SET {sets} WHERE owner = ? AND fence = ? AND beat = ?'
        with self._connected() as connection:
            return connection.execute(sql, [*_values(new), *expected.claim]).rowcount == 1

    def replace_rows(self, seen: Sequence[LockRow], new: LockRow) -> bool:
        with self._connected() as connection, _transaction(connection):
            rows = tuple(_row(LockRow, values) for values in connection.execute(f'SELECT * FROM "{self._lock}"'))
            if rows != tuple(seen):
                return False
            connection.execute(f'DELETE FROM "{self._lock}"')
            _insert(connection, self._lock, new)
            return True

    def close(self) -> None:
        """Do nothing: no connection is open between two calls."""

    @contextmanager
    def _connected(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        try:
            uri = f"{self._file.absolute().as_uri()}?mode={mode}"
            with closing(sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)) as connection:
                yield connection
        except sqlite3.Error as error:
            found = TableNotFound if "no such table" in str(error) else OutcomeUnknown
            raise found(type(error).__name__, f"{self._file}: {error}") from error


class SqliteStores(StoreType):
    """The stores of this package."""

    name = "sqlite"

    def open(self, catalog: Catalog, engine: Engine) -> SqliteStore:
        return SqliteStore(catalog)


STORE = SqliteStores()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in a transaction that no other one writes beside."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def _exists(connection: sqlite3.Connection, table: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone())


def _insert(connection: sqlite3.Connection, table: str, row: Any) -> None:
    values = _values(row)
    connection.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(values))})', values)


def _columns(row: type) -> str:
    return ", ".join(f"{field.name} {'INTEGER' if kind(field) == 'int' else 'TEXT'}" for field in fields(row))


def _values(row: Any) -> list[Any]:
    return [value.isoformat() if isinstance(value, datetime) else value for value in astuple(row)]


def _row(row: type, values: Sequence[Any]) -> Any:
    return row(
        *(
            datetime.fromisoformat(value) if value is not None and kind(field) == "datetime" else value
            for field, value in zip(fields(row), values, strict=True)
        )
    )
