"""The engine-specific SQL of the tables of history and lock. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, astuple, dataclass, fields
from typing import Any

from glacierbase.model.catalog import StoreOptions
from glacierbase.model.migration import Event
from glacierbase.model.names import snowflake_identifier, spark_identifier
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.stores import LockRow
from glacierbase.stores.tables import ICEBERG_PROPERTIES, history_name, kind, lock_name


@dataclass(frozen=True, slots=True)
class Syntax:
    """The engine-specific SQL of the store.

    Attributes:
        begin: statements that a session starts with.
        quoted: returns a name as an identifier.
        types: column types, by the type of the values.
        read_time: the expression for a timestamp in microseconds since the epoch, which does not depend on a time zone.
        now: the same for the server's clock, if all runs share one; else empty.
        refresh: the statement that empties the engine's cache of a table, run before every read; empty without a cache.
        properties: the properties that the tables must have, whatever defaults the catalog has.
        with_properties: the clause of CREATE TABLE that sets them.
        show_properties: the query for the (key, value) properties of a table.
        show_tables: the query for the tables of a namespace, the name in the second column.
        show_namespace: the query that returns rows if the namespace exists.
        add_row: the statement that adds the row of a lock table which has none.
        purge: the clause of DROP TABLE that deletes the files.
        compact: statements that compact the tables; none where the engine compacts them.
        grants: statements that grant the least rights to the role that migrates.
        proves_by_lease: as `Store.proves_by_lease`.
    """

    begin: Sequence[str]
    quoted: Callable[[str], str]
    types: Mapping[str, str]
    read_time: str
    now: str
    refresh: str
    properties: Mapping[str, str]
    with_properties: str
    show_properties: str
    show_tables: str
    show_namespace: str
    add_row: str
    purge: str
    compact: Sequence[str]
    grants: Sequence[str]
    proves_by_lease: bool

    def clause(self) -> str:
        pairs = ", ".join(f"'{key}'='{value}'" for key, value in self.properties.items())
        return self.with_properties.format(pairs)


SYNTAX = {
    SPARK.name: Syntax(
        # The tables are small: a job that finds the files to rewrite, and 200 shuffle partitions, cost more than they save.
        begin=[
            "SET spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled=false",
            "SET spark.sql.shuffle.partitions=1",
        ],
        quoted=spark_identifier,
        types={"int": "BIGINT", "str": "STRING", "datetime": "TIMESTAMP"},
        read_time="unix_micros({})",
        now="",
        refresh="REFRESH TABLE {}",
        properties=ICEBERG_PROPERTIES,
        with_properties="USING iceberg TBLPROPERTIES ({})",
        show_properties="SHOW TBLPROPERTIES {}",
        show_tables="SHOW TABLES IN {}",
        show_namespace="DESCRIBE NAMESPACE {namespace}",
        # Iceberg compares what was read with what is there only for a MERGE that may change a row; it refuses no INSERT.
        add_row="MERGE INTO {lock} AS held USING ({row}) AS made ON held.`format_version` = made.`format_version`"
        " WHEN MATCHED THEN UPDATE SET `beat` = held.`beat` WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})",
        purge=" PURGE",
        # A rewrite replaces only the files that it has read, so concurrent appends are kept. The session may have cached an
        # older version of the table. https://iceberg.apache.org/docs/latest/spark-procedures/
        compact=[
            "REFRESH TABLE {history}",
            "CALL {catalog}.system.rewrite_data_files(table => '{history}', options => map('rewrite-all', 'true'))",
            *(
                f"CALL {{catalog}}.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '9999-12-31',"
                " retain_last => 1)"
                for table in ("{history}", "{lock}")
            ),
        ],
        grants=[],
        proves_by_lease=False,
    ),
    SNOWFLAKE.name: Syntax(
        begin=[],
        quoted=snowflake_identifier,
        types={"int": "BIGINT", "str": "STRING", "datetime": "TIMESTAMP_TZ"},
        # Numbers, also because a driver may read an absent timestamp as one.
        read_time="DATE_PART(EPOCH_MICROSECOND, {})",
        now="DATE_PART(EPOCH_MICROSECOND, SYSDATE())",
        refresh="",
        properties={},
        with_properties="",
        show_properties="SELECT 1 FROM {} LIMIT 0",
        show_tables="SHOW TERSE TABLES IN SCHEMA {}",
        show_namespace="SELECT 1 FROM {catalog}.INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = UPPER({name})",
        # Several may add a row at once, and none of them acquires the lock then.
        add_row="INSERT INTO {lock} ({names}) SELECT {values} FROM ({row}) AS made WHERE NOT EXISTS (SELECT 1 FROM {lock})",
        purge="",
        compact=[],
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
    store: StoreOptions
    name: str

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
        return f"CREATE TABLE IF NOT EXISTS {self.history} (\n  {columns}\n) {self.syntax.clause()}".rstrip()

    def create_lock(self, free: LockRow) -> str:
        """Return the SQL that creates the lock table with its row in one commit."""
        clause = f"{self.syntax.clause()} ".lstrip()
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
