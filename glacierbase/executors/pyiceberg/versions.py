"""The versions of a user's table: the current version, and the older ones that its metadata still lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any

from glacierbase.executors import STATEMENT_TAG
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Past, Shape, TableVersion, Version

# Each version is a file to read. Iceberg keeps 100 unless a property sets another number.
_MOST = 100


def past_of(name: str, table: Any, since: str | None, shape_of: Callable[[str, Any], Shape]) -> Past:
    """Return the past of a table that PyIceberg has just loaded.

    Args:
        since: the location of the metadata file before the first wanted version.
        shape_of: returns the shape of a loaded table.
    """
    files = [entry.metadata_file for entry in table.metadata.metadata_log]
    is_listed = since in (*files, table.metadata_location)
    wanted = files[files.index(since) + 1 :] if since in files else [] if since == table.metadata_location else files
    versions = list(_versions(name, table, wanted[-_MOST:], shape_of))
    is_whole = is_listed and len(versions) == len(wanted)
    return Past((*reversed(versions), _version(name, table, shape_of)), is_whole)


def _versions(name: str, table: Any, files: list[str], shape_of: Callable[[str, Any], Shape]) -> Iterator[Version]:
    """Yield the versions of these metadata files, newest first, up to the first deleted file."""
    from pyiceberg.table import Table

    for file in reversed(files):
        try:
            metadata = metadata_in(table, file)
        except FileNotFoundError:
            return
        yield _version(name, Table(table.name(), metadata, file, table.io, None), shape_of)


def metadata_in(table: Any, file: str) -> Any:
    """Return the metadata in a file of a table that PyIceberg has just loaded."""
    from glacierbase.executors.pyiceberg.metadata import read_metadata

    return read_metadata(table.io.new_input(file))


def _version(name: str, table: Any, shape_of: Callable[[str, Any], Shape]) -> Version:
    milliseconds = table.metadata.last_updated_ms
    at = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return Version(at, shape_of(name, table), _committer(table, milliseconds))


def _committer(table: Any, milliseconds: int) -> str | None:
    """Return the engine and application that the newest snapshot names, if it is as old as the metadata."""
    snapshot = table.current_snapshot()
    if snapshot is None or snapshot.summary is None or snapshot.timestamp_ms != milliseconds:
        return None
    summary = snapshot.summary.additional_properties
    engine = " ".join(filter(None, (summary.get("engine-name"), summary.get("engine-version"))))
    application = summary.get("spark.app.id") or summary.get("app-id")
    return f"{engine or 'application'} ({application})" if application else engine or None


def identifier(table: str, catalog: str) -> tuple[str, ...] | None:
    """Return namespace and name of a table; None if its name does not prove that it is in `catalog`."""
    parts = name_parts(table)
    # Without the catalog's name, the name depends on `USE`. A dot inside a part may be read as a namespace of two levels.
    is_certain = parts[:1] == [catalog] and len(parts) > 2 and not any("." in part for part in parts)
    return tuple(parts[1:]) if is_certain else None


def namespace_version(name: str, properties: Mapping[str, str]) -> TableVersion:
    """Return the version of a namespace with these properties."""
    digest = sha256(json.dumps(dict(properties), sort_keys=True).encode()).hexdigest()
    return TableVersion(name, uuid="", metadata=digest, sequence=0, is_namespace=True)


def version_of(name: str, table: Any) -> TableVersion | None:
    """Return the version of a table that PyIceberg has just loaded; None where its catalog names no metadata file."""
    metadata = table.metadata
    if not table.metadata_location:
        return None
    sequence = getattr(metadata, "last_sequence_number", 0)  # Format version 1 has none.
    newest = [snapshot for snapshot in metadata.snapshots if snapshot.sequence_number == sequence and snapshot.summary]
    return TableVersion(
        table=name,
        uuid=str(metadata.table_uuid),
        metadata=table.metadata_location,
        sequence=sequence,
        previous=metadata.metadata_log[-1].metadata_file if metadata.metadata_log else None,
        tag=newest[0].summary.additional_properties.get(STATEMENT_TAG) if sequence and newest else None,
    )
