"""Spark's own catalog, `spark_catalog`, on a throw-away copy, and the Delta tables that are in no catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from glacierbase.declared.render import literal, table_name
from glacierbase.executors import CopiedView
from glacierbase.executors.spark.hudi import COMMITS
from glacierbase.executors.spark.memory_files import files
from glacierbase.executors.spark.shape import read_shape
from glacierbase.model.codec import to_json
from glacierbase.model.names import name_of, name_parts
from glacierbase.sql.qualified import DEFAULT_CATALOG

_COMMIT = re.compile(r"(?s)(?P<table>.+)/_delta_log/(?P<version>\d{20})\.json")
# A completed instant of Hudi that may change rows: the time of its request, and that of its completion.
_INSTANT = re.compile(r"(?s)(?P<table>.+)/\.hoodie/timeline/\d+_\d+\.(?:commit|deltacommit|replacecommit)")


@dataclass(frozen=True, slots=True)
class SessionCheckpoint:
    """The content at one moment, in the JVM.

    Attributes:
        databases: their descriptions.
        tables: their descriptions and those of their partitions.
        files: a copy of the map of all files.
        named, unnamed: the addresses of Delta tables that `SessionCatalog` remembers.
    """

    databases: Mapping[str, Any] = field(repr=False)
    tables: Mapping[tuple[str, str], tuple[Any, Any]] = field(repr=False)
    files: Any = field(repr=False)
    named: frozenset[str]
    unnamed: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table at one moment.

    Attributes:
        identity: is equal for the same table under another name; None where Delta's log has it.
        address: of its files.
        is_managed: whether the catalog chose the address.
    """

    name: str
    identity: str | None
    address: str
    is_managed: bool = False


class SessionCatalog:
    """Spark's own catalog of a copy. All sessions share it."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._catalog = spark._jsparkSession.sharedState().externalCatalog()
        self._files = files(spark._jvm)
        self._json = spark._jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._listed: dict[str, _Table] = {}
        # The addresses of Delta tables that have, or had, a name in the catalog, and of those listed without one before.
        self._named: frozenset[str] = frozenset()
        self._unnamed: frozenset[str] = frozenset()
        self._logs: dict[str, list[str]] = {}
        self._instants: dict[str, list[str]] = {}

    def make_database(self, name: str) -> None:
        """Create a database unless it exists."""
        self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {DEFAULT_CATALOG}.{name_of((name,))}")

    def locations(self) -> dict[str, str]:
        """Return a text by the name of each table, which changes with the table. It is the argument of `metadata`."""
        self._logs, self._instants = self._files_by_table(_COMMIT), self._files_by_table(_INSTANT)
        tables = [*self._in_catalog()]
        self._named |= {table.address for table, _ in tables} - self._unnamed
        self._unnamed = frozenset(self._logs.keys() - self._named)
        for address in sorted(self._unnamed):
            name = name_of(("delta", address.removeprefix("file://")))
            tables.append((_Table(name, None, address), self._place(name, address)))
        self._listed = {place: table for table, place in tables}
        return {table.name: place for place, table in self._listed.items()}

    def _in_catalog(self) -> Iterator[tuple[_Table, str]]:
        """Yield each table, and a text that changes with its description."""
        for database, name, table in self._entries():
            if not _is_view(table):
                address = _address(table)
                is_delta, is_managed = address in self._logs, table.tableType().name() == "MANAGED"
                full = name_of((DEFAULT_CATALOG, database, name))
                newest = self._instants.get(address, [""])[-1]
                place = self._place(full, address) if is_delta else f"{full} {table.hashCode()} {newest}"
                yield _Table(full, None if is_delta else _identity(table), address, is_managed), place

    def _place(self, name: str, address: str) -> str:
        """Return a text that changes with the table and its log. Two names may have one log."""
        return f"{name} {self._logs[address][-1]}"

    def metadata(self, place: str) -> str | None:
        """Return a table as JSON, None if it is none of the last `locations`: `shape`, `location`, `snapshots` and `rows`.

        A snapshot is a commit of Delta or Hudi that adds or removes files. Its summary has the keys of Iceberg's.
        """
        if place not in self._listed:
            return None
        table = self._listed[place]
        shape = read_shape(self._spark, table.name)
        assert shape
        if table.address in self._instants:
            rows, snapshots = self._rows_and_snapshots_of_hudi(table.name)
        else:
            rows, snapshots = _rows_and_snapshots(self._commits(table.address))
        return json.dumps(
            {
                "shape": to_json(replace(shape, uuid=table.identity or shape.uuid)),
                "location": "" if table.is_managed else table.address,
                "snapshots": snapshots,
                "rows": rows,
            }
        )

    def views(self) -> dict[str, CopiedView]:
        """Return the views by name."""
        return {
            name_of((DEFAULT_CATALOG, database, name)): CopiedView(_identity(table), table.hashCode(), "")
            for database, name, table in self._entries()
            if _is_view(table)
        }

    def is_empty(self) -> bool:
        """Return whether there is no table, no view, and no database but the default one."""
        return (
            self._catalog.listDatabases().size() == 1 and not any(self._entries()) and not self._files_by_table(_COMMIT)
        )

    def holds_functions(self) -> bool:
        """Return whether a database holds a function."""
        return any(self._catalog.listFunctions(name, "*").size() for name in _items(self._catalog.listDatabases()))

    def checkpoint(self) -> SessionCheckpoint:
        """Return the content."""
        databases = {name: self._catalog.getDatabase(name) for name in _items(self._catalog.listDatabases())}
        tables = {(database, name): (table, self._partitions(table)) for database, name, table in self._entries()}
        files = self._spark._jvm.java.util.HashMap(self._files)
        return SessionCheckpoint(databases, tables, files, self._named, self._unnamed)

    def rewind(self, checkpoint: SessionCheckpoint) -> None:
        """Set the content to that of a checkpoint."""
        for database, name, _ in list(self._entries()):
            self._catalog.dropTable(database, name, True, False)
        for name in set(_items(self._catalog.listDatabases())) - checkpoint.databases.keys():
            self._catalog.dropDatabase(name, True, True)
        for described in checkpoint.databases.values():
            self._catalog.createDatabase(described, True)
            self._catalog.alterDatabase(described)
        for (database, name), (table, partitions) in checkpoint.tables.items():
            self._catalog.createTable(table, False)
            if partitions is not None:
                self._catalog.createPartitions(database, name, partitions, True)
        self._files.clear()
        self._files.putAll(checkpoint.files)
        self._named, self._unnamed = checkpoint.named, checkpoint.unnamed
        # Hadoop keeps the file system that a statement chose for an address.
        self._spark._jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        self._forget_delta()

    def _forget_delta(self) -> None:
        """Empty Delta's cache of logs, where Delta is loaded."""
        loader = self._spark._jvm.java.lang.ClassLoader.getSystemClassLoader()
        if loader.getResource("org/apache/spark/sql/delta/DeltaLog.class") is not None:
            self._spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def _entries(self) -> Iterator[tuple[str, str, Any]]:
        """Yield database, name and description of each table and view."""
        for database in _items(self._catalog.listDatabases()):
            for name in _items(self._catalog.listTables(database)):
                yield database, name, self._catalog.getTable(database, name)

    def _partitions(self, table: Any) -> Any:
        """Return the descriptions of a table's partitions, None where it has none."""
        if table.partitionColumnNames().isEmpty():
            return None
        return self._catalog.listPartitions(
            table.database(), table.identifier().table(), self._spark._jvm.scala.Option.empty()
        )

    def _files_by_table(self, pattern: re.Pattern[str]) -> dict[str, list[str]]:
        """Return the addresses of the files that the pattern matches, in order, by the table's address."""
        by_table: dict[str, list[str]] = {}
        for address in json.loads(self._json.writeValueAsString(self._files.keySet())):
            if match := pattern.fullmatch(address):
                by_table.setdefault(match["table"], []).append(address)
        return by_table

    def _rows_and_snapshots_of_hudi(self, name: str) -> tuple[int, dict[int, dict[str, str]]]:
        """Return what `_rows_and_snapshots` does, as Hudi reads a table."""
        spark = self._spark.newSession()  # This one may have kept the table of an earlier moment.
        database, table = name_parts(name)[1:]
        commits = spark.sql(COMMITS.format(literal(f"{database}.{table}"))).collect()
        rows = spark.sql(f"SELECT count(*) FROM {table_name(name)}").collect()[0][0]
        return rows, dict(_hudi_snapshots(commits))

    def _commits(self, address: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Yield the version of each commit of a Delta table, and its actions."""
        for place in self._logs.get(address, ()):
            text = bytes(self._files[place]).decode()
            yield int(place[-25:-5]), [json.loads(line) for line in text.splitlines() if line]


def _hudi_snapshots(commits: Iterable[Sequence[Any]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the instant and the summary of each commit that adds or removes files.

    A `commit` writes each updated file anew, a `deltacommit` a log beside it. A `replacecommit` does not list what it removes.
    """
    for instant, _, action, _, added, updated, *_ in commits:
        if added or updated:
            removed = {"commit": updated, "replacecommit": 1}.get(action, 0)
            yield int(instant), {"added-data-files": str(added + updated), "deleted-data-files": str(removed)}


def _rows_and_snapshots(
    commits: Iterator[tuple[int, list[dict[str, Any]]]],
) -> tuple[int, dict[int, dict[str, str]]]:
    """Return the number of rows after all commits, and the summaries of those that add or remove files."""
    live: dict[str, int] = {}
    snapshots: dict[int, dict[str, str]] = {}
    for version, actions in commits:
        added = {action["add"]["path"]: _rows_of(action["add"]) for action in actions if "add" in action}
        removed = {action["remove"]["path"] for action in actions if "remove" in action}
        for path in removed:
            live.pop(path, None)
        live.update(added)
        if added or removed:
            # A file with a new deletion vector is in both.
            counts = {
                "added-data-files": len(added.keys() - removed),
                "deleted-data-files": len(removed - added.keys()),
            }
            snapshots[version] = {key: str(count) for key, count in counts.items()}
    return sum(live.values()), snapshots


def _rows_of(added: Mapping[str, Any]) -> int:
    deleted = (added.get("deletionVector") or {}).get("cardinality", 0)
    return int(json.loads(added.get("stats") or "{}").get("numRecords", 0)) - int(deleted)


def _is_view(table: Any) -> bool:
    return bool(table.tableType().name() == "VIEW")


def _identity(table: Any) -> str:
    """Return the time of creation, which a table keeps when it is renamed; no two statements run at once on a copy."""
    return f"created-{table.createTime()}"


def _address(table: Any) -> str:
    """Return the address of a table's files, as `MemoryFileSystem` stores it; empty where it has none."""
    location = table.storage().locationUri()
    if not location.isDefined():
        return ""
    uri = location.get()
    return f"{uri.getScheme()}://{uri.getAuthority() or ''}{uri.getPath()}".rstrip("/")


def _items(sequence: Any) -> Iterator[str]:
    """Yield the texts of a sequence of Scala."""
    for index in range(sequence.size()):
        yield sequence.apply(index)
