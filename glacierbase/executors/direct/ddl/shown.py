"""Whether a table shows that a plain statement took effect, although nothing names the statement: a REST server names the files."""

from __future__ import annotations

from typing import Any

from pyiceberg.table.metadata import TableMetadata

from glacierbase.executors.direct.ddl import stage_of
from glacierbase.executors.direct.ddl.commit import files_of, has_commit, metadata_at
from glacierbase.executors.direct.ddl.tables import properties_of, schema_of, spec_of
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.pyiceberg.shape import columns_of
from glacierbase.model.catalog import Catalog
from glacierbase.sql.statement import ParsedStatement


def is_done(catalog: Catalog, statement: ParsedStatement, table: Any, base: str) -> bool:
    """Return whether a commit to a table since a version did what the statement does.

    Args:
        table: as PyIceberg has just loaded it.
        base: the location of the metadata file of that version; empty where there was no table.
    """
    lakes = PyIcebergCatalogs(catalog)
    if not base:
        first = metadata_at(table, files_of(table)[0])
        return not first.metadata_log and _is_created(lakes, statement, first)
    stage = stage_of(lakes, statement)
    return stage is not None and has_commit(table, base, statement, stage)


def _is_created(lakes: PyIcebergCatalogs, statement: ParsedStatement, metadata: TableMetadata) -> bool:
    """Return whether metadata is that of the table which a statement creates. A server may have added properties."""
    schema, properties = schema_of(statement), properties_of(lakes, statement, {})
    version, location = properties.pop("format-version", None), statement.options.location
    return (
        columns_of(schema) == columns_of(metadata.schema())
        and _partitioning(spec_of(statement, schema), schema) == _partitioning(metadata.spec(), metadata.schema())
        and properties.items() <= metadata.properties.items()
        and version in (None, str(metadata.format_version))
        and (location is None or location.rstrip("/") == metadata.location)
    )


def _partitioning(spec: Any, schema: Any) -> list[tuple[str, ...]]:
    return [(schema.find_column_name(field.source_id), str(field.transform), field.name) for field in spec.fields]
