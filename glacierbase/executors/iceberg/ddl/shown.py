"""Whether the metadata of a table, or a namespace, shows that a plain statement took effect, although nothing names the statement.

A REST server names the metadata files itself. The statement is staged on an older version of the table, without files: a commit
that made exactly the same of that version did what the statement does.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from glacierbase.errors import StatementRefused
from glacierbase.executors.iceberg.ddl import stage_of
from glacierbase.executors.iceberg.ddl.commit import Transaction
from glacierbase.executors.iceberg.ddl.namespaces import properties_set_by
from glacierbase.executors.iceberg.ddl.tables import properties_of, schema_of, spec_of
from glacierbase.executors.iceberg.lakes import Lakes
from glacierbase.executors.iceberg.memory import NoFiles
from glacierbase.executors.iceberg.shape import columns_of
from glacierbase.executors.iceberg.versions import metadata_in
from glacierbase.model.catalog import Catalog
from glacierbase.sql.statement import ParsedStatement

# The newest versions of a table that are compared; each is a file to read.
_MOST = 10


def is_set(statement: ParsedStatement, properties: Mapping[str, str]) -> bool:
    """Return whether a namespace has the properties that a statement sets."""
    return properties_set_by(statement).items() <= properties.items()


def is_done(catalog: Catalog, statement: ParsedStatement, table: Any, base: str) -> bool:
    """Return whether a commit to a table since a version did what the statement does.

    Args:
        table: as PyIceberg has just loaded it.
        base: the location of the metadata file of that version; empty where there was no table.
    """
    lakes, files = (
        Lakes(catalog),
        [*(entry.metadata_file for entry in table.metadata.metadata_log), table.metadata_location],
    )
    if not base:
        first = _metadata(table, files[0])
        return not first.metadata_log and _is_created(lakes, statement, first)
    stage = stage_of(lakes, statement)
    if stage is None or base not in files[-_MOST:]:
        return False
    versions = [_metadata(table, file) for file in files[files.index(base) :]]
    for old, new in pairwise(versions):
        transaction = Transaction(Table(table.name(), old, "", NoFiles(), table.catalog))
        try:
            stage(transaction, statement)
        except (StatementRefused, OSError):  # Not possible in that version, or only with files.
            continue
        if transaction._updates and _content(transaction.table_metadata) == _content(new):
            return True
    return False


def _metadata(table: Any, file: str) -> Any:
    return table.metadata if file == table.metadata_location else metadata_in(table, file)


def _is_created(lakes: Lakes, statement: ParsedStatement, metadata: TableMetadata) -> bool:
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


def _content(metadata: TableMetadata) -> tuple[Any, ...]:
    """Return what a plain statement may change, without ids that the catalog assigns."""
    schema = metadata.schema()
    return (
        schema.as_struct(), set(schema.identifier_field_ids), metadata.spec().fields, metadata.sort_order().fields,
        metadata.location, metadata.properties, metadata.refs, metadata.format_version,
    )  # fmt: skip
