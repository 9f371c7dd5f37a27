"""History and lock through the SQL of the catalog's executor, which differs from engine to engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, astuple, dataclass, fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.errors import ConfigurationError, EngineError, StatementRefused, TableNotFound
from glacierbase.executors import Executor, Row, Session
from glacierbase.model.catalog import Catalog, StoreOptions
from glacierbase.model.migration import Event
from glacierbase.model.names import snowflake_identifier, spark_identifier
from glacierbase.run.clock import seconds
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.stores import LockRow
from glacierbase.stores.origin import COLLECTS_GARBAGE, DELETES, TableOrigin, table_origin
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

logger = logging.getLogger("glacierbase")


def open_store(catalog: Catalog, executor: Executor) -> SqlStore:
    """Open the history and lock of `catalog` in a new session, which reads everything that was committed before."""
    return SqlStore(catalog, executor.open_session(bookkeeping=True), SYNTAX[executor.dialect])


def ddl(catalog: Catalog, free: LockRow) -> tuple[str, ...]:
    """Return the SQL that creates namespace and tables, and grants the least rights on them to the role that migrates.

    Raises:
        ConfigurationError: the name of a role or warehouse holds unprintable characters.
    """
    syntax = SYNTAX[catalog.dialect]
    tables = Tables(syntax, catalog)
    names = {
        "database": syntax.quoted(catalog.store.catalog),
        "namespace": tables.namespace,
        "history": tables.history,
        "lock": tables.lock,
        "role": syntax.quoted(_name(catalog, "role", "MIGRATOR")),
        "warehouse": syntax.quoted(_name(catalog, "warehouse", "WAREHOUSE")),
    }
    grants = (grant.format_map(names) for grant in syntax.grants)
    return (tables.create_namespace(), tables.create_history(), tables.create_lock(free), *grants)


def _name(catalog: Catalog, key: str, default: str) -> str:
    name = str(catalog.connection.get(key) or default)
    if not name.isprintable():
        raise ConfigurationError(
            "INVALID_VALUE", f"catalogs/{catalog.file.name}: connection.{key} is not a name", "correct the value"
        )
    return name


class SqlStore:
    """The `Store` over one session of an executor."""

    compacts_every = 100  # Spark takes a second or two for a compaction, even of few files.

    def __init__(self, catalog: Catalog, session: Session, syntax: Syntax) -> None:
        self._session = session
        self._syntax = syntax
        self._tables = Tables(self._syntax, catalog)
        self._clock: tuple[datetime, float] | None = None  # The server's time, and `seconds()` at that moment.
        self._known: dict[str, bool] = {}  # Whether a table existed when it was last read or created.

    @property
    def proves_by_lease(self) -> bool:
        return self._syntax.proves_by_lease

    @property
    def has_clock(self) -> bool:
        return bool(self._syntax.now)

    def now(self) -> datetime:
        if self._clock is None:
            return datetime.now(timezone.utc)
        server, measured_at = self._clock
        return server + timedelta(seconds=seconds() - measured_at)

    def read_history(self) -> tuple[Event, ...]:
        return self._read_events(self._tables.history)

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        try:
            rows = self._session.query(self._syntax.show_tables.format(self._tables.namespace))
        except TableNotFound:
            return {}
        names = {name for row in rows if (name := catalog_of(str(row[1]).lower()))} - {self._tables.name}
        return {name: self._read_events(self._tables.history_of(name)) for name in sorted(names)}

    def _read_events(self, table: str) -> tuple[Event, ...]:
        rows = self._read(table, Event)
        return in_order(Event(*row) for row in rows or ())

    def read_lock(self) -> LockRow | None:
        return the_row(self.lock_rows(), self._tables.lock)

    def read_lock_and_history(self) -> tuple[LockRow | None, tuple[Event, ...]]:
        return self.read_lock(), self.read_history()

    def lock_rows(self) -> tuple[LockRow, ...] | None:
        sent = seconds()
        rows = self._read(self._tables.lock, LockRow, *filter(None, [self._syntax.now]))
        columns = len(fields(LockRow))
        if rows and self._syntax.now:
            # The server read its clock between the query and its answer.
            self._clock = (instant(rows[0][columns]), (sent + seconds()) / 2)
        return None if rows is None else tuple(LockRow(*row[:columns]) for row in rows)

    def _read(self, table: str, row: type, *beside: str) -> list[list[Any]] | None:
        """Return the table's rows, instants in UTC, with the expressions `beside`; None if there is no table."""
        columns, times = [], []
        for field in fields(row):
            name = self._syntax.quoted(field.name)
            times.append(kind(field) == "datetime")
            columns.append(self._syntax.read_time.format(name) if times[-1] else name)
        sql = f"SELECT {', '.join([*columns, *beside])} FROM {table}"
        try:
            selected = self._selected(table, sql)
        except StatementRefused:
            check_columns(table, row, (str(row[0]) for row in self._session.query(f"DESCRIBE TABLE {table}")))
            raise
        self._known[table] = selected is not None
        if selected is None:
            return None
        kinds = [*times, *(False for _ in beside)]
        return [
            [instant(value) if time and value is not None else value for value, time in zip(values, kinds, strict=True)]
            for values in selected
        ]

    def _selected(self, table: str, sql: str) -> list[Row] | None:
        """Return the rows that `sql` selects from the table; None if there is no such table."""
        try:
            try:
                return self._query_fresh(table, sql)
            except TableNotFound:
                raise
            except EngineError:  # A compaction may have deleted files of the snapshot that was read.
                return self._query_fresh(table, sql)
        except TableNotFound:
            return None

    def _query_fresh(self, table: str, sql: str) -> list[Row]:
        if self._syntax.refresh:
            self._session.execute(self._syntax.refresh.format(table))
        return self._session.query(sql)

    def create(self, free: LockRow) -> None:
        tables = self._tables
        if not self._has(tables.history):
            self._ensure(tables.create_namespace(), self.has_namespace)
            self._make(tables.history, tables.create_history())
        if not self._has(tables.lock):
            self._make(tables.lock, tables.create_lock(free))

    def _has(self, table: str) -> bool:
        """Return whether the table exists with its properties. A query is sent only if the last read does not show it."""
        known = None if self._syntax.properties else self._known.get(table)
        if known is None:
            known = self._exists(table)
            if known and self._syntax.properties:
                self._set(table, lambda properties: self._tables.origin(table).changes(properties))
        return known

    def _set(self, table: str, changes: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Set the properties that `changes` returns for those of the table, unless they are set."""

        def missing() -> Mapping[str, str]:
            return changes(self._properties(table) or {})

        if first := missing():
            sql = self._syntax.set_properties.format(table, pairs(first))
            ensure(lambda: self._session.execute(sql), lambda: not missing())

    def _make(self, table: str, sql: str) -> None:
        self._ensure(sql, lambda: self._exists(table))
        self._known[table] = True
        self._has(table)  # A catalog may override the properties of every table.

    def drop(self, *, namespace: bool) -> None:
        for table in (self._tables.lock, self._tables.history):
            self._session.execute(f"DROP TABLE IF EXISTS {table}{self._syntax.purge}")
        if namespace:
            self._session.execute(f"DROP SCHEMA IF EXISTS {self._tables.namespace}")

    def _ensure(self, sql: str, exists: Callable[[], bool]) -> None:
        ensure(lambda: self._session.execute(sql), exists)

    def has_namespace(self) -> bool:
        store = self._tables.store
        query = self._syntax.show_namespace.format(
            namespace=self._tables.namespace, catalog=self._syntax.quoted(store.catalog), name=literal(store.namespace)
        )
        try:
            return bool(self._session.query(query))
        except TableNotFound:
            return False

    def _exists(self, table: str) -> bool:
        """Return whether the table exists.

        Raises:
            ConfigurationError: the table lacks properties that the lock depends on.
        """
        properties = self._properties(table)
        if properties is not None:
            check_properties(table, self._syntax.properties, properties)
        return properties is not None

    def _properties(self, table: str) -> dict[str, str] | None:
        """Return the properties of a table; None if it does not exist."""
        try:
            rows = self._session.query(self._syntax.show_properties.format(table))
        except TableNotFound:
            return None
        return {str(key): str(value) for key, value in rows if self._syntax.properties}

    def other_catalog(self) -> str | None:
        if self._syntax.properties:
            for table in self._tables.both:
                properties = self._properties(table)
                if properties is not None and (other := self._tables.origin(table).other(properties)):
                    return other
        return None

    def own_files(self) -> None:
        """Let Iceberg delete no file of a table of another catalog: Spark's procedures delete the files that they replace."""
        if self._syntax.properties:
            shared = {DELETES: "false", COLLECTS_GARBAGE: "false"}
            for table in self._tables.both:
                made = self._tables.origin(table)
                self._set(table, lambda now, made=made: {} if made.is_own(now) else made.properties | shared)  # type: ignore[misc]

    def append(self, events: Sequence[Event]) -> None:
        names = ", ".join(self._syntax.quoted(field.name) for field in fields(Event))
        placeholders = f"({', '.join('?' for _ in fields(Event))})"
        parameters = [value for event in events for value in astuple(event)]
        values = ", ".join(placeholders for _ in events)
        self._session.execute(f"INSERT INTO {self._tables.history} ({names}) VALUES {values}", parameters)

    def compact(self) -> None:
        tables, catalog = self._tables, self._syntax.quoted(self._tables.store.catalog)
        for sql in self._syntax.compact:
            self._session.execute(sql.format(catalog=catalog, history=tables.history))
        for table in tables.both if self._syntax.expire else ():
            if tables.origin(table).may_delete(self._properties(table) or {}):
                self._session.execute(self._syntax.expire.format(catalog=catalog, table=table))

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        quoted = self._syntax.quoted
        sets = ", ".join(f"{quoted(field.name)} = ?" for field in fields(LockRow))
        where = " AND ".join(f"{quoted(name)} = ?" for name in ("owner", "fence", "beat"))
        parameters = [*astuple(new), *expected.claim]

        def change() -> bool:
            self._session.execute(f"UPDATE {self._tables.lock} SET {sets} WHERE {where}", parameters)
            return False  # The port does not return the number of changed rows.

        return settle(change, self.read_lock, expected, new)

    def replace_rows(self, expected: Sequence[LockRow], new: LockRow) -> bool:
        if self._syntax.properties:
            for table in self._tables.both:  # Before the first commit, which nothing creates tables for here.
                self._has(table)
        try:
            if expected:
                self._collapse(new)
            else:
                self._session.execute(self._tables.add_row(new))
        except StatementRefused as error:
            if self.lock_rows() == tuple(expected):
                raise
            logger.info("%s: %s", self._tables.lock, error.message)  # Another run was first.
        return self.lock_rows() == (new,)

    def _collapse(self, new: LockRow) -> None:
        """Overwrite all rows with a marked `new`, insert `new`, and delete the marked rows: equal rows are indistinguishable.

        The table always holds a row, and no run acquires the lock while it holds several.
        """
        quoted, lock = self._syntax.quoted, self._tables.lock
        names = [quoted(field.name) for field in fields(LockRow)]
        over = replace(new, beat=-1)
        sets, fence = ", ".join(f"{name} = ?" for name in names), quoted("fence")
        is_lower = f"{fence} IS NULL OR {fence} < ?"
        self._session.execute(f"UPDATE {lock} SET {sets} WHERE {is_lower}", [*astuple(over), over.fence])
        if set(self.lock_rows() or ()) != {over}:  # Another run was first.
            return
        values = ", ".join("?" for _ in names)
        self._session.execute(f"INSERT INTO {lock} ({', '.join(names)}) VALUES ({values})", astuple(new))
        mine = " AND ".join(f"{quoted(name)} = ?" for name in ("owner", "fence"))
        self._session.execute(f"DELETE FROM {lock} WHERE {mine} AND {quoted('beat')} = ?", over.claim)
        if any((row.fence or 0) > new.fence for row in self.lock_rows() or ()):
            self._session.execute(f"DELETE FROM {lock} WHERE {mine}", [new.owner, new.fence])

    def close(self) -> None:
        """Close the session. Never raises."""
        self._session.close()


@dataclass(frozen=True, slots=True)
class Syntax:
    """The engine-specific SQL of the store.

    Attributes:
        quoted: returns a name as an identifier.
        types: column types, by the type of the values.
        read_time: the expression for a timestamp in microseconds since the epoch, which does not depend on a time zone.
        now: the expression for the server's clock in the same unit, if all runs share it; else empty.
        refresh: the statement that empties the engine's cache of a table, run before every read; empty without a cache.
        properties: the properties that the tables must have, whatever defaults the catalog has.
        with_properties: the clause of CREATE TABLE that sets properties.
        set_properties: the statement that sets properties of a table.
        show_properties: the query for the (key, value) properties of a table.
        show_tables: the query for the tables of a namespace, with the name in the second column.
        show_namespace: the query that returns rows if the namespace exists.
        add_row: the statement that adds the row of a lock table which has none.
        purge: the clause of DROP TABLE that deletes the files.
        compact: statements that compact the history; none where the engine compacts tables.
        expire: the statement that deletes the files which only older snapshots of a table reference; empty without one.
        grants: statements that grant the least rights to the role that migrates.
        proves_by_lease: as `Store.proves_by_lease`.
    """

    quoted: Callable[[str], str]
    types: Mapping[str, str]
    read_time: str
    now: str
    refresh: str
    properties: Mapping[str, str]
    with_properties: str
    set_properties: str
    show_properties: str
    show_tables: str
    show_namespace: str
    add_row: str
    purge: str
    compact: Sequence[str]
    expire: str
    grants: Sequence[str]
    proves_by_lease: bool


def pairs(properties: Mapping[str, str]) -> str:
    """Return properties as Spark's SQL sets them."""
    return ", ".join(f"{literal(key)}={literal(value)}" for key, value in properties.items())


SYNTAX = {
    SPARK.name: Syntax(
        quoted=spark_identifier,
        types={"int": "BIGINT", "str": "STRING", "datetime": "TIMESTAMP"},
        read_time="unix_micros({})",
        now="",
        refresh="REFRESH TABLE {}",
        properties=ICEBERG_PROPERTIES,
        with_properties="USING iceberg TBLPROPERTIES ({})",
        set_properties="ALTER TABLE {} SET TBLPROPERTIES ({})",
        show_properties="SHOW TBLPROPERTIES {}",
        show_tables="SHOW TABLES IN {}",
        show_namespace="DESCRIBE NAMESPACE {namespace}",
        # Iceberg detects conflicts only for a MERGE that may change a row; it refuses no INSERT.
        add_row="MERGE INTO {lock} AS held USING ({row}) AS made ON held.`format_version` = made.`format_version`"
        " WHEN MATCHED THEN UPDATE SET `beat` = held.`beat` WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})",
        purge=" PURGE",
        # A rewrite replaces only the files that it has read, so concurrent appends are kept. The session may have cached an
        # older version of the table. https://iceberg.apache.org/docs/latest/spark-procedures/
        compact=[
            "REFRESH TABLE {history}",
            "CALL {catalog}.system.rewrite_data_files(table => '{history}', options => map('rewrite-all', 'true'))",
        ],
        expire="CALL {catalog}.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '9999-12-31', retain_last => 1)",
        grants=[],
        proves_by_lease=False,
    ),
    SNOWFLAKE.name: Syntax(
        quoted=snowflake_identifier,
        types={"int": "BIGINT", "str": "STRING", "datetime": "TIMESTAMP_TZ"},
        # Numbers, also because a driver may read an absent timestamp as one.
        read_time="DATE_PART(EPOCH_MICROSECOND, {})",
        now="DATE_PART(EPOCH_MICROSECOND, SYSDATE())",
        refresh="",
        properties={},
        with_properties="",
        set_properties="",
        show_properties="SELECT 1 FROM {} LIMIT 0",
        show_tables="SHOW TERSE TABLES IN SCHEMA {}",
        show_namespace="SELECT 1 FROM {catalog}.INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = UPPER({name})",
        # Several runs may add a row at once; then none of them acquires the lock.
        add_row="INSERT INTO {lock} ({names}) SELECT {values} FROM ({row}) AS made WHERE NOT EXISTS (SELECT 1 FROM {lock})",
        purge="",
        compact=[],
        expire="",
        # https://docs.snowflake.com/en/user-guide/security-access-control-privileges
        grants=[
            "GRANT USAGE ON WAREHOUSE {warehouse} TO ROLE {role}",
            "GRANT USAGE ON DATABASE {database} TO ROLE {role}",
            "GRANT USAGE ON SCHEMA {namespace} TO ROLE {role}",
            "GRANT SELECT, INSERT ON TABLE {history} TO ROLE {role}",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE {lock} TO ROLE {role}",
        ],
        proves_by_lease=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Tables:
    """The two tables of one catalog: their names, and the SQL that creates them."""

    syntax: Syntax
    catalog: Catalog

    @property
    def store(self) -> StoreOptions:
        return self.catalog.store

    @property
    def name(self) -> str:
        return self.catalog.name

    @property
    def both(self) -> tuple[str, str]:
        return self.history, self.lock

    def origin(self, table: str) -> TableOrigin:
        return table_origin(self.catalog, (history_name if table == self.history else lock_name)(self.name))

    def _clause(self, table: str) -> str:
        if not self.syntax.properties:
            return self.syntax.with_properties
        return self.syntax.with_properties.format(pairs({**self.syntax.properties, **self.origin(table).properties}))

    @property
    def namespace(self) -> str:
        return ".".join(map(self.syntax.quoted, [self.store.catalog, *self.store.namespace.split(".")]))

    @property
    def history(self) -> str:
        return self.history_of(self.name)

    def history_of(self, name: str) -> str:
        return f"{self.namespace}.{self.syntax.quoted(history_name(name))}"

    @property
    def lock(self) -> str:
        return f"{self.namespace}.{self.syntax.quoted(lock_name(self.name))}"

    def create_namespace(self) -> str:
        return f"CREATE SCHEMA IF NOT EXISTS {self.namespace}"

    def create_history(self) -> str:
        columns = ",\n  ".join(f"{self.syntax.quoted(field.name)} {self._type(field)}" for field in fields(Event))
        return f"CREATE TABLE IF NOT EXISTS {self.history} (\n  {columns}\n) {self._clause(self.history)}".rstrip()

    def create_lock(self, free: LockRow) -> str:
        """Return the SQL that creates the lock table with its row in one commit."""
        clause = f"{self._clause(self.lock)} ".lstrip()
        return f"CREATE TABLE IF NOT EXISTS {self.lock} {clause}AS {self._selected(free)}"

    def add_row(self, free: LockRow) -> str:
        """Return the SQL that adds the row to a lock table without one."""
        names = [self.syntax.quoted(field.name) for field in fields(LockRow)]
        return self.syntax.add_row.format(
            lock=self.lock,
            row=self._selected(free),
            names=", ".join(names),
            values=", ".join(f"made.{name}" for name in names),
        )

    def _selected(self, row: LockRow) -> str:
        """Return the query that returns the row."""
        columns = ",\n  ".join(
            f"CAST({literal(value)} AS {self._type(field)}) AS {self.syntax.quoted(field.name)}"
            for field, value in zip(fields(LockRow), astuple(row), strict=True)
        )
        return f"SELECT\n  {columns}"

    def _type(self, field: Field[Any]) -> str:
        return self.syntax.types[kind(field)]


def literal(value: str | int | None) -> str:
    """Return a value of the lock's first row as a literal: CREATE TABLE … AS takes no parameters."""
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    # Both engines treat a backslash as an escape: https://spark.apache.org/docs/latest/sql-ref-literals.html
    return "'" + value.replace("\\", r"\\").replace("'", r"\'") + "'"
