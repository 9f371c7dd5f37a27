"""The two tables through PyIceberg: one request to the catalog and one scan per read, one commit per write."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from functools import cached_property, partial
from typing import Any, TypeVar

from glacierbase.errors import CommitConflict, EngineError, TableNotFound
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.opened import WAIT_SECONDS, open_catalog
from glacierbase.executors.pyiceberg.properties import PyIcebergSettings, store_opening
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow
from glacierbase.stores.origin import TableOrigin, table_origin
from glacierbase.stores.tables import (
    ICEBERG_PROPERTIES,
    catalog_of,
    check_columns,
    check_properties,
    ensure,
    history_name,
    in_order,
    instant,
    kind,
    lock_name,
    settle,
    the_row,
)

T = TypeVar("T")

# PyIceberg warns of files that another writer deleted; without a handler, Python would print the warnings.
logging.getLogger("pyiceberg").addHandler(logging.NullHandler())

# Each renewal of the lock adds a snapshot, which slows down later renewals, and a statement may run for days.
_MANY_SNAPSHOTS = 20


def open_store(catalog: Catalog) -> IcebergStore:
    """Return the store of `catalog` without its engine. Contacts nothing.

    Raises:
        ConfigurationError: PyIceberg cannot open the catalog of history and lock.
    """
    return IcebergStore(catalog, store_opening(catalog))


class IcebergStore:
    """The `Store` over a catalog of PyIceberg, which is opened at first use."""

    compacts_every = 25  # Each event adds a snapshot to the metadata, which every commit writes and every read reads.

    def __init__(self, catalog: Catalog, opening: PyIcebergSettings) -> None:
        self._configured = catalog
        self._opening = opening
        self._wait_seconds = min(WAIT_SECONDS, catalog.store.lease_seconds / 3)
        namespace = catalog.store.namespace
        # A SQL catalog stores a namespace of several levels as one name, the only form in which PyIceberg creates tables there.
        self._namespace = (namespace,) if opening.kind == "sql" else tuple(namespace.split("."))
        self._history = history_name(catalog.name)
        self._lock = lock_name(catalog.name)
        self._appended: tuple[Any, dict[str, Any]] = (
            None,
            {},
        )  # The history and the rows of its file, as last committed.
        self._others: dict[str, str | None] = {}  # As the properties of both tables say that were read last.
        self._snapshots: dict[str, _Snapshot] = {}  # By table, as last read or committed.

    @property
    def proves_by_lease(self) -> bool:
        return False

    @property
    def has_clock(self) -> bool:
        return False

    def now(self) -> datetime:
        return datetime.now(timezone.utc)

    def read_history(self) -> tuple[Event, ...]:
        return self._read_events(self._history)

    def read_lock_and_history(self) -> tuple[LockRow | None, tuple[Event, ...]]:
        def read() -> tuple[Any, tuple[Event, ...]]:
            """Load the lock before the history, and read the files of both at the same time."""
            table = self._load(self._lock)
            with ThreadPoolExecutor(1) as pool:
                lock = pool.submit(self._snapshot_of, table, self._lock, LockRow)
                events = self.read_history()
                return lock.result().rows, events

        rows, events = self._of_table(read) or ((), self.read_history())
        return the_row(rows, self._quoted(self._lock)), events

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        try:
            with mapped():
                tables = [identifier[-1] for identifier in self._catalog.list_tables(self._namespace)]
        except TableNotFound:
            return {}
        names = {name for table in tables if table != self._history and (name := catalog_of(table))}
        return {name: self._read_events(history_name(name)) for name in sorted(names)}

    def _read_events(self, name: str) -> tuple[Event, ...]:
        snapshot = self._of_table(lambda: self._snapshot_of(self._load(name), name, Event))
        return in_order(snapshot.rows) if snapshot else ()

    def read_lock(self) -> LockRow | None:
        return the_row(self.lock_rows(), self._quoted(self._lock))

    def lock_rows(self) -> tuple[LockRow, ...] | None:
        snapshot = self._lock_snapshot()
        return None if snapshot is None else snapshot.rows

    def _lock_snapshot(self) -> _Snapshot | None:
        return self._of_table(lambda: self._snapshot_of(self._load(self._lock), self._lock, LockRow))

    def _snapshot_of(self, table: Any, name: str, row: type) -> _Snapshot:
        """Return the rows of a loaded table, which are read only if its snapshot is new; a snapshot never changes."""
        last = self._snapshots.get(name)
        if last is None or last.version != _version(table):
            check_columns(self._quoted(name), row, table.schema().column_names)
            content = table.scan().to_arrow()
            last = _Snapshot(table, _version(table), content, tuple(row(*values) for values in _values(content, row)))
        self._snapshots[name] = last = replace(last, table=table)
        return last

    def _of_table(self, read: Callable[[], T]) -> T | None:
        """Return what `read` returns; None if the table that it reads does not exist."""
        try:
            with mapped():
                try:
                    return read()
                except FileNotFoundError:  # A compaction replaced the files after they were listed.
                    return read()
        except TableNotFound:
            return None

    def create(self, free: LockRow) -> None:
        if self._existing(self._history, self._snapshots.get(self._history)) is None:
            with mapped():
                self._create_catalog()
            self._ensure(lambda: self._catalog.create_namespace(self._namespace), self.has_namespace)
            self._make(self._history, Event)
        lock = self._existing(self._lock, self._snapshots.get(self._lock)) or self._make(self._lock, LockRow)
        # Not in one commit with the table: Glue and Nessie refuse the staged creation that PyIceberg sends. The row is added
        # to a table without snapshots only, so that of several runs one adds it, also to a table whose creator has died.
        if lock.current_snapshot() is None:
            self._ensure(lambda: self.replace_rows((), free), lambda: bool(self.lock_rows()))

    def _create_catalog(self) -> None:
        """Create the database tables of a SQL catalog, which read-only commands must not create."""
        if self._opening.file:
            # Not `Path.mkdir`, in whose error the absence of the parents is the cause of a read-only file system.
            os.makedirs(self._opening.file.parent, exist_ok=True)  # noqa: PTH103
            self._opening.file.touch()
        if self._opening.kind == "sql":
            self._ensure(self._catalog.create_tables, lambda: False)  # Creates only missing tables.

    def _make(self, name: str, row: type) -> Any:
        """Create a table, unless another run creates it first; return it."""
        self._ensure(lambda: self._create_table(name, row), lambda: self._existing(name) is not None)
        return self._existing(name)  # A catalog may override the properties of every table.

    def _create_table(self, name: str, row: type) -> None:
        properties = ICEBERG_PROPERTIES | self._origin(name).properties
        self._catalog.create_table(self._identifier(name), _schema(row), properties=properties)

    def _origin(self, name: str) -> TableOrigin:
        return table_origin(self._configured, name, self._opened.server)

    def other_catalog(self) -> str | None:
        return next(filter(None, self._others.values()), None)

    def own_files(self) -> None:
        from glacierbase.stores.iceberg.writes import own_files  # Loads PyIceberg.

        self._appended = (None, {})
        for name in (self._history, self._lock):
            own_files(partial(self._load, name), self._origin(name), self._place(name))
        self._others.clear()

    def _place(self, name: str) -> str | None:
        """Return where a SQL catalog puts a table; None in other catalogs, which decide that."""
        if self._opening.kind != "sql":
            return None
        return "/".join((self._opening.properties["warehouse"].rstrip("/"), *self._identifier(name)))

    def _ensure(self, make: Callable[[], object], exists: Callable[[], bool]) -> None:
        def create() -> None:
            with mapped():
                make()

        ensure(create, exists)

    def _existing(self, name: str, read: _Snapshot | None = None) -> Any:
        """Return the table, freshly loaded; None if it does not exist.

        Args:
            read: the table as it was just read, which is then not loaded again.

        Raises:
            ConfigurationError: the table lacks properties that the lock depends on.
        """
        table = read.table if read else self._of_table(lambda: self._load(name))
        if table is not None:
            check_properties(self._quoted(name), ICEBERG_PROPERTIES, table.properties)
        return table

    def _quoted(self, name: str) -> str:
        """Return the name of one of the two tables in Spark SQL."""
        levels = (self._opening.name, *".".join(self._namespace).split("."), name)
        return ".".join(f"`{level}`" for level in levels)

    def has_namespace(self) -> bool:
        try:
            with mapped():
                return bool(self._catalog.namespace_exists(self._namespace))
        except TableNotFound:
            return False

    def drop(self, *, namespace: bool) -> None:
        for name in (self._lock, self._history):
            with suppress(TableNotFound), mapped():
                self._catalog.purge_table(self._identifier(name))
        if namespace:
            with suppress(TableNotFound), mapped():
                self._catalog.drop_namespace(self._namespace)

    def close(self) -> None:
        """Close the connections to the catalog."""
        if "_opened" in vars(self):
            self._opened.close()

    def append(self, events: Sequence[Event]) -> None:
        # Usually unchanged since the last append, because only the lock holder writes.
        (table, written), self._appended = self._appended, (None, {})
        read = self._snapshots.pop(self._history, None)
        if table := table or (read and read.table):  # The commit requires its snapshot.
            try:
                self._appended = table, self._add(table, events, written)
                return
            except CommitConflict:  # A maintenance job committed meanwhile. A refused commit has no effect.
                pass
        with mapped():
            table = self._load(self._history)
        self._appended = table, self._add(table, events, {})

    def _add(self, table: Any, events: Sequence[Event], written: Mapping[str, Any]) -> dict[str, Any]:
        from glacierbase.stores.iceberg.writes import append_rows  # Read-only commands write nothing.

        with self._committing(self._history, table) as transaction:
            return append_rows(transaction, table, [_named(event) for event in events], written)

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        return settle(lambda: self._set([expected], new), self.read_lock, expected, new)

    def replace_rows(self, expected: Sequence[LockRow], new: LockRow) -> bool:
        try:
            return self._set(expected, new)
        except CommitConflict:
            return False

    def _set(self, expected: Sequence[LockRow], new: LockRow) -> bool:
        """Commit `new` on the snapshot that was read, if the claims of its rows are the expected ones; return whether they are.

        The snapshot may have been read before this call: the commit requires it to be the current one.
        """
        from glacierbase.stores.iceberg.writes import compact, replace_rows

        claims = Counter(row.claim for row in expected)
        snapshot = self._snapshots.pop(self._lock, None)
        if snapshot is None or snapshot.claims != claims:
            snapshot = self._lock_snapshot()
        if snapshot is None or snapshot.claims != claims:
            return False
        table = snapshot.table
        # Includes the columns of a later version of glacierbase, which must be kept.
        before: dict[str, Any] = next(iter(snapshot.content.to_pylist()), {})
        with self._committing(self._lock, table) as transaction:
            content = replace_rows(transaction, table, [before | _named(new)])
        if len(table.snapshots()) > _MANY_SNAPSHOTS:
            with suppress(EngineError), mapped():
                compact(table, self._origin(self._lock))
        self._snapshots[self._lock] = _Snapshot(table, _version(table), content, (new,))
        return True

    @contextmanager
    def _committing(self, name: str, table: Any) -> Iterator[Any]:
        """Yield a transaction on one of the two tables, and commit it at the end. The commit deletes no file of another catalog."""
        from glacierbase.stores.iceberg.writes import OneCommit

        origin = self._origin(name)
        with mapped():
            with OneCommit(table) as transaction:
                if changes := origin.changes(table.properties):
                    transaction.set_properties(changes)
                yield transaction
            if origin.may_delete(table.properties):
                table.io.delete_all(transaction.unlisted, table.location())

    def compact(self) -> None:
        """Compact both tables. A table to which another writer commits meanwhile is skipped until the next time."""
        from glacierbase.stores.iceberg.writes import compact  # Loads PyIceberg.

        self._appended = (None, {})
        for name in (self._history, self._lock):
            with suppress(CommitConflict), mapped():
                compact(self._load(name), self._origin(name))

    def _load(self, name: str) -> Any:
        table = self._catalog.load_table(self._identifier(name))
        if name in (self._history, self._lock):
            self._others[name] = self._origin(name).other(table.properties)
        return table

    def _identifier(self, name: str) -> tuple[str, ...]:
        return (*self._namespace, name)

    @property
    def _catalog(self) -> Any:
        if self._opening.file and not self._opening.file.exists():  # Opening it would create the file.
            raise TableNotFound("NoSuchTableError", f"there is no database {self._opening.file}")
        return self._opened

    @cached_property
    def _opened(self) -> Any:
        return open_catalog(self._opening, self._wait_seconds)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The rows of one of the tables, also as Arrow with all columns.

    Attributes:
        table: as it was last loaded or committed.
    """

    table: Any
    version: tuple[Any, ...]
    content: Any
    rows: tuple[Any, ...]

    @property
    def claims(self) -> Counter[tuple[str, int, int]]:
        """The claims of the rows of the lock."""
        return Counter(row.claim for row in self.rows)


def _version(table: Any) -> tuple[Any, ...]:
    """Return what identifies the rows and columns of a table."""
    return (table.metadata.table_uuid, table.metadata.current_snapshot_id, table.metadata.current_schema_id)


def _schema(row: type) -> Any:
    """Return the Arrow schema of the dataclass `row`."""
    import pyarrow

    types = {"int": pyarrow.int64(), "str": pyarrow.string(), "datetime": pyarrow.timestamp("us", "UTC")}
    return pyarrow.schema([(field.name, types[kind(field)]) for field in fields(row)])


def _named(row: Event | LockRow) -> dict[str, Any]:
    """Return the row's values by column name."""
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _values(rows: Any, row: type) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each row, in the order of the fields of `row`."""
    return zip(*(_column(rows.column(field.name), kind(field)) for field in fields(row)), strict=True)


def _column(column: Any, kind: str) -> list[Any]:
    """Return a column's values. Instants are read as numbers, because Arrow's conversion depends on installed packages."""
    if kind != "datetime":
        return list(column.to_pylist())
    return [None if micros is None else instant(micros) for micros in column.cast("int64").to_pylist()]
