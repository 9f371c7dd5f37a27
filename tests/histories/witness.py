"""A witness of a catalog in SQLite: it reads the tables after each act, and so knows who changed each part of each table last.

It reads the metadata files as JSON, and shares no code with glacierbase. Iceberg's ids identify tables, columns and partition
fields: https://iceberg.apache.org/spec/#table-metadata-fields
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

# Kind and identity of a part of a table.
Part = tuple[str, int | str]


class Act(NamedTuple):
    """Who changed something.

    Attributes:
        origin: `migration`, `outside`, `during` or `baseline`.
        version: of the file that changed it, or whose run or baseline observed it; None where none has.
    """

    origin: str
    version: str | None


@dataclass
class Table:
    """One table under all its names.

    Attributes:
        name: None once it is dropped.
        parts: their values.
        names: of columns and partition fields, by part.
        last: who changed each part last.
        made: who created each part.
        gone: who dropped it.
        names_had: its names, in order.
        metadata: in the newest file.
        before_undone: who had changed parts before they were changed and changed back since the last note, which may not count.
    """

    uuid: str
    name: str | None
    parts: Mapping[Part, Any] = field(default_factory=dict)
    names: Mapping[Part, str] = field(default_factory=dict)
    last: dict[Part, Act] = field(default_factory=dict)
    made: dict[Part, Act] = field(default_factory=dict)
    gone: Act | None = None
    names_had: list[str] = field(default_factory=list)
    metadata: Any = None
    before_undone: dict[Part, Act] = field(default_factory=dict)
    _values: Mapping[Part, Any] = field(default_factory=dict)
    _last: Mapping[Part, Act] = field(default_factory=dict)


class Witness:
    """The tables of a catalog, by UUID."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._read: dict[str, Any] = {}
        self.tables: dict[str, Table] = {}

    def named(self, name: str) -> Table | None:
        """Return the table that has a name now."""
        return next((table for table in self.tables.values() if table.name == name), None)

    def note(self) -> None:
        """Note the tables, before a file or after a record of them."""
        for table in self.tables.values():
            table._values = dict(table.parts)
            table._last = dict(table.last)

    def look(self, act: Act) -> list[tuple[str, Part]]:
        """Read all tables, and attribute what has changed since the last look. Return UUIDs and changed parts."""
        changed: list[tuple[str, Part]] = []
        present = dict(self._tables())
        for uuid, table in self.tables.items():
            if uuid not in present and table.name is not None:
                table.name, table.gone = None, act
                changed.append((uuid, ("table", "")))
        for uuid, (name, metadata) in present.items():
            table = self.tables.setdefault(uuid, Table(uuid, name))
            parts, table.names = self._parts(metadata)
            parts["table", ""] = name
            for part, value in parts.items():
                if part not in table.parts or table.parts[part] != value:
                    earlier = part if part in table.parts else _replaced(part, value, table.parts, parts)
                    if earlier is None:
                        table.made[part] = act
                    else:
                        table.made[part] = table.made[earlier]
                    table.last[part] = act
                    table.before_undone.pop(part, None)
                    if table._values.get(part) == value and act.origin in ("migration", "outside"):
                        table.before_undone[part] = table._last[part]
                    changed.append((uuid, part))
            changed += [(uuid, part) for part in table.parts if part not in parts]
            if name not in table.names_had[-1:]:
                table.names_had.append(name)
            table.name, table.parts, table.gone, table.metadata = name, parts, None, metadata
        return changed

    def _tables(self) -> Iterator[tuple[str, tuple[str, Any]]]:
        if not self._database.exists():
            return
        with sqlite3.connect(self._database) as connection:
            try:
                rows = connection.execute("SELECT table_namespace, table_name, metadata_location FROM iceberg_tables")
            except sqlite3.OperationalError:  # No client has created it yet.
                return
            for namespace, name, location in rows.fetchall():
                metadata = self._metadata(location)
                yield metadata["table-uuid"], (f"lake.{namespace}.{name}", metadata)

    def _parts(self, metadata: Any) -> tuple[dict[Part, Any], dict[Part, str]]:
        return _parts(metadata)

    def _metadata(self, location: str) -> Any:
        if location not in self._read:
            self._read[location] = json.loads(Path(f"/{location.removeprefix('file:').lstrip('/')}").read_text())
        return self._read[location]


def _replaced(part: Part, value: Any, before: Mapping[Part, Any], after: Mapping[Part, Any]) -> Part | None:
    """Return the removed partition field on the same column as a new one: `blame` shows the new one as a change of it."""
    if part[0] != "partition":
        return None
    gone = (other for other in before if other[0] == "partition" and other not in after)
    return next((other for other in gone if before[other][0] == value[0]), None)


def _parts(metadata: Any) -> tuple[dict[Part, Any], dict[Part, str]]:
    parts: dict[Part, Any] = {("format", ""): metadata["format-version"]}
    names: dict[Part, str] = {}
    [schema] = [one for one in metadata["schemas"] if one["schema-id"] == metadata["current-schema-id"]]
    for column_id, path, value in _columns(schema["fields"], ()):
        parts["column", column_id] = value
        names["column", column_id] = ".".join(path)
    [spec] = [one for one in metadata["partition-specs"] if one["spec-id"] == metadata["default-spec-id"]]
    for by in spec["fields"]:
        if by["transform"] != "void":
            parts["partition", by["field-id"]] = by["source-id"], by["transform"]
            names["partition", by["field-id"]] = by["name"]
    [order] = [one for one in metadata["sort-orders"] if one["order-id"] == metadata["default-sort-order-id"]]
    if order["fields"]:
        parts["sort order", ""] = json.dumps(order["fields"], sort_keys=True)
    if identifiers := schema.get("identifier-field-ids"):
        parts["identifiers", ""] = sorted(identifiers)
    for key, value in metadata.get("properties", {}).items():
        if key != "owner":
            parts["property", key] = value
            names["property", key] = key
    return parts, names


def _columns(fields: Any, above: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...], Any]]:
    for one in fields:
        yield from _column(one["id"], (*above, one["name"]), one["type"], one["required"], one.get("doc"))


def _column(column_id: int, path: tuple[str, ...], kind: Any, required: bool, doc: str | None) -> Any:
    yield column_id, path, (path[-1], kind if isinstance(kind, str) else kind["type"], required, doc or None)
    if isinstance(kind, str):
        return
    if kind["type"] == "struct":
        yield from _columns(kind["fields"], path)
    elif kind["type"] == "list":
        yield from _column(kind["element-id"], (*path, "element"), kind["element"], kind["element-required"], None)
    else:
        yield from _column(kind["key-id"], (*path, "key"), kind["key"], True, None)
        yield from _column(kind["value-id"], (*path, "value"), kind["value"], kind["value-required"], None)
