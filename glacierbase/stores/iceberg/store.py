"""The two tables through PyIceberg: one request to the catalog and one scan per read, one commit per write."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
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

# Each renewal of the lock adds two snapshots, which slow down later renewals, and a statement may run for days.
_MANY_SNAPSHOTS = 100


def open_store(catalog: Catalog) -> IcebergStore:
    """Return the store of `catalog` without its engine. Contacts nothing.

    Raises:
        ConfigurationError: PyIceberg cannot open the catalog of history and lock.
    """
    return IcebergStore(catalog, store_opening(catalog))


class IcebergStore:
    """The `Store` over a catalog of PyIceberg, which is opened at first use."""

    compacts_every = 25  # The cost per event does not depend on this; fewer files make read-only commands faster.

    def __init__(self, catalog: Catalog, opening: PyIcebergSettings) -> None:
        self._configured = catalog
        self._opening = opening
        self._wait_seconds = min(WAIT_SECONDS, catalog.store.lease_seconds / 3)
        namespace = catalog.store.namespace
        # A SQL catalog stores a namespace of several levels as one name, the only form in which PyIceberg creates tables there.
        self._namespace = (namespace,) if opening.kind == "sql" else tuple(namespace.split("."))
        self._history = history_name(catalog.name)
        self._lock = lock_name(catalog.name)
        self._appended: Any = None
        self._others: dict[str, str | None] = {}  # As the properties of both tables say that were read last.
        self._lock_snapshot: tuple[tuple[Any, int | None], tuple[LockRow, ...]] | None = None

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

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        try:
            with mapped():
                tables = [identifier[-1] for identifier in self._catalog.list_tables(self._namespace)]
        except TableNotFound:
            return {}
        names = {name for table in tables if table != self._history and (name := catalog_of(table))}
        return {name: self._read_events(history_name(name)) for name in sorted(names)}

    def _read_events(self, name: str) -> tuple[Event, ...]:
        table_and_rows = self._read(name, Event)
        return in_order(Event(*values) for values in _values(table_and_rows[1], Event)) if table_and_rows else ()

    def read_lock(self) -> LockRow | None:
        return the_row(self.lock_rows(), self._quoted(self._lock))

    def lock_rows(self) -> tuple[LockRow, ...] | None:
        return self._of_table(self._rows)

    def _rows(self) -> tuple[LockRow, ...]:
        """Load the table, and read the rows if its snapshot is new; a snapshot never changes."""
        table = self._load(self._lock)
        snapshot = (table.metadata.table_uuid, table.metadata.current_snapshot_id)
        if self._lock_snapshot is None or self._lock_snapshot[0] != snapshot:
            rows = self._scanned(table, self._lock, LockRow).to_arrow()
            self._lock_snapshot = snapshot, tuple(LockRow(*values) for values in _values(rows, LockRow))
        return self._lock_snapshot[1]

    def _scanned(self, table: Any, name: str, row: type, columns: tuple[str, ...] | None = None) -> Any:
        """Check the columns of a table, and return a scan of it."""
        check_columns(self._quoted(name), row, table.schema().column_names)
        return table.scan(selected_fields=columns or _columns(row))

    def _read(self, name: str, row: type, columns: tuple[str, ...] | None = None) -> tuple[Any, Any] | None:
        """Return the table, freshly loaded, and its rows; None if there is no such table."""

        def scan() -> tuple[Any, Any]:
            table = self._load(name)
            return table, self._scanned(table, name, row, columns).to_arrow()

        return self._of_table(scan)

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
        if self._existing(self._history) is None:
            with mapped():
                self._create_catalog()
            self._ensure(lambda: self._catalog.create_namespace(self._namespace), self.has_namespace)
            self._make(self._history, Event)
        lock = self._existing(self._lock) or self._make(self._lock, LockRow)
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
        for name in {self._history, self._lock} - self._others.keys():
            self._of_table(partial(self._load, name))
        return next(filter(None, self._others.values()), None)

    def own_files(self) -> None:
        from glacierbase.stores.iceberg.writes import own_files  # Loads PyIceberg.

        self._appended = None
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

    def _existing(self, name: str) -> Any:
        """Return the table, freshly loaded; None if it does not exist.

        Raises:
            ConfigurationError: the table lacks properties that the lock depends on.
        """
        table = self._of_table(lambda: self._load(name))
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
        rows = _rows(map(_named, events), _schema(Event))
        # Usually unchanged since the last append, because only the lock holder writes.
        table, self._appended = self._appended, None
        if table:
            try:
                self._add(table, rows)
            except CommitConflict:  # A maintenance job committed meanwhile. A refused commit has no effect.
                table = None
        if not table:
            with mapped():
                table = self._load(self._history)
            self._add(table, rows)
        self._appended = table

    def _add(self, table: Any, rows: Any) -> None:
        """Append as `Transaction.append` does, without its schema check, which takes a fifth of the time."""
        from glacierbase.stores.iceberg.writes import write_rows  # Read-only commands write nothing.

        with self._committing(self._history, table) as transaction:
            if not table.spec().is_unpartitioned():  # Partitioned by another client: each partition gets a file.
                transaction.append(rows)
                return
            with transaction.update_snapshot().fast_append() as added:
                added.append_data_file(write_rows(table, rows))

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        return settle(lambda: self._set([expected], new), self.read_lock, expected, new)

    def replace_rows(self, expected: Sequence[LockRow], new: LockRow) -> bool:
        try:
            return self._set(expected, new)
        except CommitConflict:
            return False

    def _set(self, expected: Sequence[LockRow], new: LockRow) -> bool:
        """Read the rows, and commit `new` on their snapshot if their claims are the expected ones; return whether they are."""
        current = self._read(self._lock, LockRow, ("*",))
        claims = Counter(row.claim for row in expected)
        if not current or Counter(LockRow(*values).claim for values in _values(current[1], LockRow)) != claims:
            return False
        table, rows = current
        # Includes the columns of a later version of glacierbase, which must be kept.
        before: dict[str, Any] = next(iter(rows.to_pylist()), {})
        with self._committing(self._lock, table) as transaction:
            # Both require the snapshot that was read to be the current one.
            change = transaction.overwrite if before else transaction.append
            change(_rows([before | _named(new)], rows.schema))
        if len(table.snapshots()) > _MANY_SNAPSHOTS:
            from glacierbase.stores.iceberg.writes import compact  # Loads PyIceberg.

            with suppress(EngineError), mapped():
                compact(table, self._origin(self._lock))
        return True

    @contextmanager
    def _committing(self, name: str, table: Any) -> Iterator[Any]:
        """Yield a transaction on one of the two tables, and commit it at the end. The commit deletes no file of another catalog."""
        from glacierbase.executors.direct.ddl.commit import Transaction

        with mapped(), Transaction(table) as transaction:
            if changes := self._origin(name).changes(table.properties):
                transaction.set_properties(changes)
            yield transaction

    def compact(self) -> None:
        """Compact both tables. A table to which another writer commits meanwhile is skipped until the next time."""
        from glacierbase.stores.iceberg.writes import compact  # Loads PyIceberg.

        self._appended = None
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


def _columns(row: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(row))


def _schema(row: type) -> Any:
    """Return the Arrow schema of the dataclass `row`."""
    import pyarrow

    types = {"int": pyarrow.int64(), "str": pyarrow.string(), "datetime": pyarrow.timestamp("us", "UTC")}
    return pyarrow.schema([(field.name, types[kind(field)]) for field in fields(row)])


def _rows(values: Iterable[Mapping[str, Any]], schema: Any) -> Any:
    import pyarrow

    return pyarrow.Table.from_pylist(list(values), schema=schema)


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
