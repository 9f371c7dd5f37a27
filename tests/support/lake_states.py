"""The state of a namespace without what no two runs have in common: its tables, views and inner namespaces; what differs of two."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables, SqlCatalog
from sqlalchemy import select
from sqlalchemy.orm import Session

from glacierbase.model.names import name_of

# Stands for the namespace in a statement and in a state, as a word of its own.
NAMESPACE = "NS"
# Stands for the folder of all tables in a state.
WAREHOUSE = "WAREHOUSE"
# Properties of namespaces, metadata of tables, and `VIEW`, by names such as `table NS.t`.
State: TypeAlias = Mapping[str, Any]
VIEW = "a view"
# In place of values that differ from run to run; the metadata stays valid.
_TIME = 1_700_000_000_000
_UUID = "00000000-0000-4000-8000-000000000000"
_CONSTANTS: Mapping[str, Any] = {
    "table-uuid": _UUID,
    "uuid": _UUID,
    "last-updated-ms": _TIME,
    "timestamp-ms": _TIME,
    "manifest-list": f"{WAREHOUSE}/manifests.avro",
    "metadata-file": f"{WAREHOUSE}/0.metadata.json",
    # Iceberg's REST servers add it to the properties of a table that they stage.
    "created-at": "a time",
}
# No statement names these ids of snapshots.
_FIRST_SNAPSHOT = 10**15
# Spark writes -1 where there is no snapshot, and an empty list where PyIceberg writes nothing, or the reverse.
_NOTHING: tuple[object, ...] = (None, [], {})


def within(namespace: str, sql: str) -> str:
    """Return a statement with this namespace."""
    return re.sub(rf"\b{NAMESPACE}\b", namespace, sql)


def state_of(lake: Any, namespace: str) -> dict[str, Any]:
    """Return the state of a namespace in a catalog of PyIceberg."""
    parts = _by_rows(lake, namespace) if isinstance(lake, SqlCatalog) else _by_requests(lake, namespace)
    return dict(sorted(parts))


def differences(expected: Any, observed: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which two states differ, with both values."""
    if isinstance(expected, dict) and isinstance(observed, dict):
        for key in sorted({*expected, *observed}, key=str):
            yield from differences(expected.get(key), observed.get(key), f"{path}/{key}")
    elif isinstance(expected, list) and isinstance(observed, list) and len(expected) == len(observed):
        for number, pair in enumerate(zip(expected, observed, strict=True)):
            yield from differences(*pair, f"{path}/{number}")
    elif expected in _NOTHING and observed in _NOTHING:
        return
    elif expected != observed or type(expected) is not type(observed):
        yield f"{path}: {expected!r} expected, {observed!r} observed"


def _by_rows(lake: SqlCatalog, namespace: str) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a state, by the rows of the catalog: PyIceberg takes longer to load a table than to change it."""
    names = (namespace, lake.properties["warehouse"])
    properties: dict[str, dict[str, str]] = {}
    with Session(lake.engine) as session:
        of_namespace = IcebergNamespaceProperties.namespace.startswith(namespace)
        for row in session.scalars(select(IcebergNamespaceProperties).where(of_namespace)):
            properties.setdefault(row.namespace, {})[row.property_key] = row.property_value
        for row in session.scalars(select(IcebergTables).where(IcebergTables.table_namespace.startswith(namespace))):
            key = _key(row.iceberg_type.lower(), (*row.table_namespace.split("."), row.table_name))
            yield key, VIEW if row.iceberg_type == "VIEW" else _read(row.metadata_location, *names)
    for name, held in properties.items():
        yield _key("namespace", tuple(name.split("."))), _general(json.dumps(held), *names)


def _by_requests(lake: Any, namespace: str) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a state in a catalog of a server; the namespaces inside have no others inside, and there are no views."""
    inner = [path for path in lake.list_namespaces((namespace,)) if path[:1] == (namespace,) and len(path) > 1]
    for path in ((namespace,), *inner):
        yield _key("namespace", path), _general(json.dumps(dict(lake.load_namespace_properties(path))), namespace, "")
        for identifier in lake.list_tables(path):
            table = lake.load_table(identifier)
            with table.io.new_input(table.metadata_location).open() as stream:
                yield _key("table", identifier), _scrubbed(_general(stream.read().decode(), namespace, ""))


def _key(kind: str, path: tuple[str, ...]) -> str:
    return f"{kind} {name_of((NAMESPACE, *path[1:]))}"


@lru_cache(maxsize=64)
def _read(location: str, namespace: str, warehouse: str) -> dict[str, Any]:
    """Return the metadata in a file, which never changes."""
    return _scrubbed(_general(Path(location.removeprefix("file:")).read_text(), namespace, warehouse))


def _general(text: str, namespace: str, warehouse: str) -> dict[str, Any]:
    """Return a JSON document with the placeholders in place of the names of this run."""
    for name, placeholder in ((namespace, NAMESPACE), (warehouse, WAREHOUSE)):
        text = text.replace(name, placeholder) if name else text
    return dict(json.loads(text))


def _scrubbed(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with constants in place of what differs from run to run, and ids of snapshots by their positions."""
    snapshots = metadata.get("snapshots") or ()
    ids = {snapshot["snapshot-id"]: number for number, snapshot in enumerate(snapshots, _FIRST_SNAPSHOT)}
    if metadata.get("current-snapshot-id") == -1:
        del metadata["current-snapshot-id"]
    for snapshot in snapshots:
        snapshot["summary"] = {"operation": (snapshot.get("summary") or {}).get("operation")}
    return _with_constants(metadata, ids)  # type: ignore[no-any-return]


def _with_constants(value: Any, ids: Mapping[int, int]) -> Any:
    if isinstance(value, dict):
        return {
            key: _CONSTANTS[key]
            if key in _CONSTANTS
            else ids.get(inner, inner)
            if key.endswith("snapshot-id")
            else _with_constants(inner, ids)
            for key, inner in value.items()
        }
    return [_with_constants(inner, ids) for inner in value] if isinstance(value, list) else value
