"""The log of a Delta table: its newest commits, and the shape of the table after each. All of it is read with SQL.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md, https://docs.delta.io/latest/delta-utility.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from glacierbase.errors import StatementRefused
from glacierbase.executors import Row, Session
from glacierbase.executors.spark.shape import LEFT_OUT, columns_of
from glacierbase.formats.delta import CLUSTERED, clustering_text
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Column, PartitionField, Past, Shape, TableVersion, Version
from glacierbase.sql.qualified import is_catalog, is_path

# Classes of catalogs that hold Delta tables.
CATALOGS = ("org.apache.spark.sql.delta.catalog.DeltaCatalog", "io.unitycatalog.spark.UCSingleCatalog")
_COMMIT_FILE = re.compile(r"(?P<folder>.*/)(?P<version>\d{20})\.json", re.DOTALL)
# Only these actions change the shape of a table.
_METADATA, _PROTOCOL, _DOMAIN = "metaData", "protocol", "domainMetadata"
# The first text of a line is the kind of its action.
_LOG = (
    "SELECT _metadata.file_name, value FROM text.{} WHERE _metadata.file_name > '{}'"
    f" AND split(value, '\"', 3)[1] IN ('{_METADATA}', '{_PROTOCOL}', '{_DOMAIN}')"
)
# Commits that others may add while a log is read.
_MARGIN = 100
_CLUSTERING = "delta.clustering"
# Properties that Spark lists of the protocol, and of the catalog instead of the log.
_OF_PROTOCOL = re.compile(r"delta\.(?:feature\..*|minReaderVersion|minWriterVersion)")
_OF_CATALOG = ("Type", "owner")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A row of DESCRIBE HISTORY.

    Attributes:
        user: None where the engine that committed writes none, as Spark without Databricks or Unity Catalog.
        engine: name and version of the engine that committed, and of its Delta library.
        metadata: `userMetadata` of the commit, such as the tag of a statement.
    """

    version: int
    at: datetime
    user: str | None
    operation: str
    metadata: str | None
    engine: str | None

    @classmethod
    def of(cls, row: Row) -> LogEntry:
        """Return the entry of a row; earlier versions of Delta have fewer columns."""
        version, at, _, user, operation, *more = row
        metadata, engine = (*more[8:10], None, None)[:2]
        return cls(int(version), at.astimezone(timezone.utc), user, operation, metadata, engine)

    @property
    def by(self) -> str | None:
        """The user with the engine, or either."""
        return f"{self.user} ({self.engine})" if self.user and self.engine else self.user or self.engine

    @property
    def name(self) -> str:
        """Operation and number of the commit."""
        return f"{self.operation}, version {self.version}"

    @property
    def identity(self) -> str:
        """What no commit of another table has in common with this one: its number and time."""
        return f"version {self.version} of {self.at:%Y-%m-%d %H:%M:%S.%f} UTC"


def log_entries(session: Session, name: str, most: int | None = None) -> list[LogEntry]:
    """Return the entries of a table's log, newest first; none where it is no Delta table.

    Args:
        name: as SQL names the table.
    """
    try:
        rows = session.query(f"DESCRIBE HISTORY {name}{f' LIMIT {most}' if most else ''}")
    except StatementRefused:
        return []
    return [LogEntry.of(row) for row in rows]


def table_version(catalog: Catalog, session: Session, table: str) -> TableVersion | None:
    """Return the newest version of a Delta table under the name that it has in any session; None for another table.

    Args:
        table: a name, as the history records names, that the session resolves.
    """
    whole = _resolved(catalog, session, table)
    if not may_be_delta(catalog, whole):
        return None
    # By its own name: a temporary view may have the same, which has no log.
    newest, *older = (*log_entries(session, _quoted(table), 2), None)
    if newest is None:
        return None
    previous = older[0].identity if older[0] else None
    return TableVersion(whole, "", newest.identity, newest.version, previous, newest.metadata, by_engine=True)


def may_be_delta(catalog: Catalog, table: str) -> bool:
    """Return whether a qualified name may be that of a Delta table. Contacts nothing."""
    parts = name_parts(table)
    if is_path(parts):
        return parts[0].lower() == "delta"
    return catalog.spark_conf.get(f"spark.sql.catalog.{parts[0]}") in CATALOGS


def _resolved(catalog: Catalog, session: Session, table: str) -> str:
    parts = name_parts(table)
    if is_path(parts) or (len(parts) > 1 and is_catalog(catalog, parts[0])):
        return table
    current = session.context()
    namespace = name_parts(current.namespace or "") if len(parts) == 1 else ()
    return name_of((current.catalog or "", *namespace, *parts))


def _quoted(table: str) -> str:
    return ".".join(map(spark_identifier, name_parts(table)))


def past_of(session: Session, table: str, since: str | None) -> Past | None:
    """Return the versions of a Delta table after a commit; None for another table, and where its log is not readable.

    Versions at the beginning whose shape is that of `since` are left out: no action changed it.

    Args:
        table: its qualified name.
        since: the location of the commit's file, as in `Shape.metadata_location`.
    """
    now = session.shape(table)
    newest = _COMMIT_FILE.fullmatch((now and now.metadata_location) or "")
    if now is None or now.format != "delta" or newest is None:
        return None
    begin = _COMMIT_FILE.fullmatch(since or "")
    is_same = begin is not None and begin["folder"] == newest["folder"]
    first = int(begin["version"]) + 1 if begin and is_same else 0
    versions = range(first, int(newest["version"]) + 1)
    entries = {entry.version: entry for entry in log_entries(session, _quoted(table), len(versions) + _MARGIN)}
    past = Past((), is_whole=False)
    try:
        for start in dict.fromkeys((first, 0)):  # An older commit may have made what a newer one changed in part.
            log = _Log(now, _actions(session, newest["folder"], start))
            past = Past(tuple(_versions(log, versions, entries, newest["folder"])), is_whole=False)
            if all(version in entries and log.is_known(version) for version in versions):
                return replace(past, is_whole=is_same or since is None)
    except StatementRefused:
        return None
    return past


def _versions(log: _Log, numbers: Iterable[int], entries: Mapping[int, LogEntry], folder: str) -> Iterator[Version]:
    for number in numbers:
        entry, shape = entries.get(number), log.shape(number)
        if entry and shape:
            shape = replace(shape, metadata_location=f"{folder}{number:020}.json")
            yield Version(entry.at, shape, entry.by, entry.name)


_Actions = Mapping[int, Mapping[str, Any]]


def _actions(session: Session, folder: str, first: int) -> _Actions:
    """Return the actions that change the shape, by the number of the commit, from the first one on, and the kind of the action."""
    actions: dict[int, dict[str, Any]] = {}
    after = f"{first - 1:020}.json" if first else ""
    rows = session.query(_LOG.format(spark_identifier(f"{folder}*.json"), after))
    for file, line in rows:
        for kind, action in json.loads(line).items():
            if kind != _DOMAIN or action["domain"] == _CLUSTERING:
                actions.setdefault(int(file.partition(".")[0]), {})[kind] = action
    return actions


class _Log:
    """The state of a table after each commit, by the actions that were read and the table as it is now."""

    def __init__(self, now: Shape, actions: _Actions) -> None:
        self._now = now
        self._actions = dict(sorted(actions.items()))

    def is_known(self, version: int) -> bool:
        """Return whether the shape is known, or no commit that was read has changed it before."""
        return self.shape(version) is not None or not any(changed <= version for changed in self._actions)

    def shape(self, version: int) -> Shape | None:
        """Return the shape after a commit; None where an action before those that were read made a part of it."""
        if not any(changed <= version for changed in self._actions):
            return None if self._actions else self._now
        metadata, protocol, domain = (self._state(kind, version) for kind in (_METADATA, _PROTOCOL, _DOMAIN))
        if metadata is None or protocol is None or domain is None:
            return None
        return _with_clustering(_with_protocol(_with_metadata(self._now, metadata), protocol), metadata, domain)

    def _state(self, kind: str, version: int) -> Mapping[str, Any] | None:
        """Return the last action of a kind; empty where the table is as it is now, None where that is not known."""
        before: Mapping[str, Any] | None = None
        for changed, actions in self._actions.items():
            if kind in actions:
                if changed > version:
                    return before
                before = actions[kind]
        return {} if before is None else before


def _with_metadata(now: Shape, metadata: Mapping[str, Any]) -> Shape:
    if not metadata:
        return now
    comment = {"comment": metadata["description"]} if metadata.get("description") else {}
    configured = {key: value for key, value in metadata["configuration"].items() if key not in LEFT_OUT}
    others = {
        key: value
        for key, value in now.properties.items()
        if _OF_PROTOCOL.fullmatch(key) or key in (*_OF_CATALOG, CLUSTERED)
    }
    return replace(
        now,
        uuid=metadata["id"],
        columns=_columns(metadata),
        partitioning=tuple(
            PartitionField(None, column, name_of((column,)), "identity") for column in metadata["partitionColumns"]
        ),
        properties=dict(sorted({**others, **configured, **comment}.items())),
    )


def _columns(metadata: Mapping[str, Any]) -> tuple[Column, ...]:
    return tuple(columns_of(json.loads(metadata["schemaString"])["fields"]))


def _with_protocol(shape: Shape, protocol: Mapping[str, Any]) -> Shape:
    if not protocol:
        return shape
    features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
    listed = {f"delta.feature.{feature}": "supported" for feature in features}
    listed |= {f"delta.{key}": str(protocol[key]) for key in ("minReaderVersion", "minWriterVersion")}
    others = {key: value for key, value in shape.properties.items() if not _OF_PROTOCOL.fullmatch(key)}
    properties = dict(sorted({**others, **listed}.items()))
    return replace(shape, properties=properties, format_version=protocol["minWriterVersion"])


def _with_clustering(shape: Shape, metadata: Mapping[str, Any], domain: Mapping[str, Any]) -> Shape:
    """Return a shape with the clustering columns of a commit, under the names that they have in the schema of that commit."""
    if not domain:
        return shape
    others = {key: value for key, value in shape.properties.items() if key != CLUSTERED}
    if domain.get("removed"):
        return replace(shape, properties=others)
    names = dict(_physical(json.loads(metadata["schemaString"])["fields"])) if metadata else {}
    physical = json.loads(domain["configuration"])[CLUSTERED]
    clustered = [names.get(tuple(path), path) for path in physical]
    return replace(shape, properties=dict(sorted({**others, CLUSTERED: clustering_text(clustered)}.items())))


def _physical(
    fields: Sequence[Mapping[str, Any]], above: tuple[str, ...] = (), named: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the path of each field in the files, which clustering names, with its path in the schema."""
    for field in fields:
        path = (*above, field["metadata"].get("delta.columnMapping.physicalName", field["name"]))
        names = (*named, field["name"])
        yield path, list(names)
        if isinstance(field["type"], dict) and field["type"]["type"] == "struct":
            yield from _physical(field["type"]["fields"], path, names)
