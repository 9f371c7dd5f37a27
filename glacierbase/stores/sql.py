"""History and lock through the SQL of the catalog's own executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.catalog import Catalog
from glacierbase.errors import ConfigurationError, EngineError, TableNotFound
from glacierbase.executors import Executor, Session
from glacierbase.migration import Event
from glacierbase.stores import LockRow, Store

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TRIES = 5


@dataclass(frozen=True, slots=True)
class _Words:
    """How an engine says what we need of it.

    Attributes:
        begin: statements that a session of ours starts with.
        types: of a column, by the kind of its values.
        write_time, read_time: between microseconds since the epoch and a timestamp. No client's time zone comes into it.
        refresh: forget what a cache holds of the table, before every read; empty where nothing is cached.
        properties: what must hold of our tables, whatever defaults the catalog has.
        with_properties: the clause of CREATE TABLE that sets them.
        show_properties, show_tables: the questions that answer with (key, value) and with (…, table, …).
    """

    begin: Sequence[str]
    types: Mapping[str, str]
    write_time: str
    read_time: str
    refresh: str
    properties: Mapping[str, str]
    with_properties: str
    show_properties: str
    show_tables: str

    def clause(self) -> str:
        pairs = ", ".join(f"'{key}'='{value}'" for key, value in self.properties.items())
        return self.with_properties.format(pairs)


_WORDS = {
    "spark": _Words(
        # For one row, a job that looks for the files to rewrite costs more than it can save.
        begin=["SET spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled=false"],
        types={"int": "BIGINT", "str": "STRING", "datetime": "TIMESTAMP"},
        write_time="timestamp_micros(?)",
        read_time="unix_micros({})",
        refresh="REFRESH TABLE {}",
        # Copy-on-write under serializable isolation without retries: of two updates from one snapshot, one is refused.
        # https://iceberg.apache.org/docs/latest/configuration/#write-properties
        properties={
            "format-version": "2",
            "write.update.mode": "copy-on-write",
            "write.update.isolation-level": "serializable",
            "commit.retry.num-retries": "0",
            "write.distribution-mode": "none",
            "write.update.distribution-mode": "none",
            "write.metadata.delete-after-commit.enabled": "true",
            "write.metadata.previous-versions-max": "20",
        },
        with_properties="USING iceberg TBLPROPERTIES ({})",
        show_properties="SHOW TBLPROPERTIES {}",
        show_tables="SHOW TABLES IN {}",
    )
}


def _columns(row: type, words: _Words) -> dict[str, str]:
    """The columns of a table, from the fields of its rows: their names and the engine's types."""
    return {field.name: words.types[str(field.type).partition(" ")[0]] for field in fields(row)}


def open_store(catalog: Catalog, executor: Executor, *, heartbeat: bool = False) -> Store:
    """The history and lock of `catalog` through `executor`. One for heartbeats does not queue behind statements."""
    return SqlStore(catalog, executor.open_session(heartbeat=heartbeat), executor.dialect)


class SqlStore:
    """The `Store` over one session of an executor."""

    def __init__(self, catalog: Catalog, session: Session, dialect: str) -> None:
        self._session = session
        self._words = _WORDS[dialect]
        for statement in self._words.begin:
            session.execute(statement)
        parts = [catalog.store.catalog, *catalog.store.namespace.split(".")]
        self._namespace = ".".join(f"`{part}`" for part in parts)
        self._name = catalog.name
        self._history = f"{self._namespace}.`history_{catalog.name}`"
        self._lock = f"{self._namespace}.`lock_{catalog.name}`"

    def read_history(self) -> tuple[Event, ...]:
        return self._read_events(self._history)

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        try:
            rows = self._session.query(self._words.show_tables.format(self._namespace))
        except TableNotFound:
            return {}
        tables = {str(row[1]) for row in rows} - {f"history_{self._name}"}
        return {
            table.removeprefix("history_"): self._read_events(f"{self._namespace}.`{table}`")
            for table in sorted(tables)
            if table.startswith("history_")
        }

    def _read_events(self, table: str) -> tuple[Event, ...]:
        rows = self._read(table, Event)
        return tuple(sorted((Event(*row) for row in rows or ()), key=lambda event: (event.fence, event.sequence)))

    def read_lock(self) -> LockRow | None:
        rows = self._read(self._lock, LockRow)
        return LockRow(*rows[0]) if rows else None

    def _read(self, table: str, row: type) -> list[list[Any]] | None:
        """The table's rows with instants in UTC, or None when there is no such table."""
        names = [field.name for field in fields(row)]
        times = [str(field.type).startswith("datetime") for field in fields(row)]
        columns = (
            self._words.read_time.format(f"`{name}`") if time else f"`{name}`"
            for name, time in zip(names, times, strict=True)
        )
        try:
            self._session.execute(self._words.refresh.format(table))
            found = self._session.query(f"SELECT {', '.join(columns)} FROM {table}")
        except TableNotFound:
            return None
        return [
            [_instant(value) if time else value for value, time in zip(values, times, strict=True)] for values in found
        ]

    def create(self, free: LockRow) -> None:
        columns = ", ".join(f"`{name}` {kind}" for name, kind in _columns(Event, self._words).items())
        values = ", ".join(
            f"CAST({self._marker(value)} AS {kind}) AS `{name}`"
            for (name, kind), value in zip(_columns(LockRow, self._words).items(), astuple(free), strict=True)
        )
        if not self._is_there(self._history):
            self._ensure(f"CREATE NAMESPACE IF NOT EXISTS {self._namespace}", self._namespace_exists)
            self._make(self._history, f"({columns}) {self._words.clause()}", [])
        if not self._is_there(self._lock):
            parameters = [_parameter(value) for value in astuple(free)]
            self._make(self._lock, f"{self._words.clause()} AS SELECT {values}", parameters)

    def _make(self, table: str, definition: str, parameters: Sequence[Any]) -> None:
        self._ensure(f"CREATE TABLE IF NOT EXISTS {table} {definition}", lambda: self._is_there(table), parameters)
        self._is_there(table)  # A catalog may force properties of its own on every table.

    def _ensure(self, sql: str, exists: Callable[[], bool], parameters: Sequence[Any] = ()) -> None:
        """Create something that another first run may be creating at this moment: an error counts only if it is still absent."""
        for attempt in range(_TRIES):
            try:
                self._session.execute(sql, parameters)
                return
            except EngineError:
                if exists():
                    return
                if attempt == _TRIES - 1:
                    raise

    def _namespace_exists(self) -> bool:
        try:
            self._session.query(self._words.show_tables.format(self._namespace))
        except TableNotFound:
            return False
        return True

    def _is_there(self, table: str) -> bool:
        """Whether there is such a table.

        Raises:
            ConfigurationError: there is, but a catalog's defaults or somebody's ALTER TABLE took away what makes the lock
                a lock.
        """
        try:
            rows = self._session.query(self._words.show_properties.format(table))
        except TableNotFound:
            return False
        found = {str(key): str(value) for key, value in rows}
        # The format version is part of the table's metadata, and not always shown among its properties.
        must = {key: value for key, value in self._words.properties.items() if key != "format-version"}
        wrong = {key: value for key, value in must.items() if found.get(key) != value}
        if wrong:
            pairs = ", ".join(f"'{key}'='{value}'" for key, value in wrong.items())
            raise ConfigurationError(
                "STORE_PROPERTIES",
                f"{table.replace('`', '')} has other properties than the lock and the history need: {', '.join(wrong)}",
                f"ALTER TABLE {table} SET TBLPROPERTIES ({pairs})",
            )
        return True

    def append(self, events: Sequence[Event]) -> None:
        names = ", ".join(f"`{field.name}`" for field in fields(Event))
        rows = [astuple(event) for event in events]
        values = ", ".join(f"({', '.join(map(self._marker, row))})" for row in rows)
        parameters = [_parameter(value) for row in rows for value in row]
        self._session.execute(f"INSERT INTO {self._history} ({names}) VALUES {values}", parameters)

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        names = [field.name for field in fields(LockRow)]
        sets = ", ".join(f"`{name}` = {self._marker(value)}" for name, value in zip(names, astuple(new), strict=True))
        update = f"UPDATE {self._lock} SET {sets} WHERE `owner` = ? AND `fence` = ? AND `beat` = ?"
        parameters = [*map(_parameter, astuple(new)), *expected.claim]
        for attempt in range(_TRIES):
            problem: EngineError | None = None
            try:
                self._session.execute(update, parameters)
            except EngineError as error:  # A conflict decides nothing: the row does.
                problem = error
            row = self.read_lock()
            if row is None or row.claim not in (expected.claim, new.claim):
                return False
            if row.claim == new.claim:
                return True
            if problem and attempt == _TRIES - 1:
                raise problem
        return False

    def _marker(self, value: Any) -> str:
        return self._words.write_time if isinstance(value, datetime) else "?"


def _parameter(value: Any) -> Any:
    """Instants cross as microseconds since the epoch."""
    return (value - _EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) else value


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)
