"""The version of a user's table, from its metadata as PyIceberg loads it."""

from __future__ import annotations

from typing import Any

from glacierbase.executors import STATEMENT_TAG
from glacierbase.model.names import name_parts
from glacierbase.model.tableversion import TableVersion


def identifier(table: str, catalog: str) -> tuple[str, ...] | None:
    """Return namespace and name of a table; None where its name does not prove that it is in `catalog`."""
    parts = name_parts(table)
    # Without the catalog's name, the table depends on `USE`. A dot inside a name may be read as a namespace of two levels.
    is_certain = parts[:1] == [catalog] and len(parts) > 2 and not any("." in part for part in parts)
    return tuple(parts[1:]) if is_certain else None


def version_of(name: str, table: Any) -> TableVersion | None:
    """Return the version of a table that PyIceberg has just loaded; None where its catalog names no metadata file."""
    metadata = table.metadata
    if not table.metadata_location:
        return None
    sequence = getattr(metadata, "last_sequence_number", 0)  # Format version 1 has none.
    newest = [each for each in metadata.snapshots if each.sequence_number == sequence and each.summary]
    return TableVersion(
        table=name,
        uuid=str(metadata.table_uuid),
        metadata=table.metadata_location,
        sequence=sequence,
        previous=metadata.metadata_log[-1].metadata_file if metadata.metadata_log else None,
        tag=newest[0].summary.additional_properties.get(STATEMENT_TAG) if sequence and newest else None,
    )
