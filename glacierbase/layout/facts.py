"""The facts about a table from which its keys follow: of a recorded shape, and of what statements declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glacierbase.declared.known import KnownTable
from glacierbase.formats import FILE_FORMATS
from glacierbase.layout.template import TableFacts
from glacierbase.layout.templates import FORMATS
from glacierbase.model.partial_shape import COLUMNS, PARTITIONING
from glacierbase.model.shape import Shape

# Formats of Spark whose tables are folders of files.
_OF_FILES = FILE_FORMATS | {"hive"}
_METADATA = "/metadata/"


def of_shape(shape: Shape, version: str | None = None) -> TableFacts | None:
    """Return the facts about a table as it was recorded; None for a format whose keys are not modelled.

    Args:
        version: of the library of its format, that writes.
    """
    table_format = layout_format(shape.format)
    if table_format is None:
        return None
    location, metadata, _ = (shape.metadata_location or "").rpartition(_METADATA)
    return TableFacts(
        shape.table,
        table_format,
        version,
        {column.name: column.type for column in shape.columns},
        shape.partitioning,
        shape.properties,
        location if metadata else None,
    )


def of_known(
    name: str,
    table: KnownTable,
    table_format: str,
    version: str | None = None,
    defaults: Mapping[str, str] | None = None,
) -> TableFacts | None:
    """Return the facts about a table as statements declare it.

    Args:
        name: of the table.
        table_format: of a table without USING.
        version: as for `of_shape`.
        defaults: the properties that the engine gives to new tables.

    Returns:
        None where the partitioning is not known, or the keys of the format are not modelled.
    """
    is_of_files = (
        table_format == "iceberg" and table.using in _OF_FILES
    )  # The format of the files in a table of Iceberg.
    chosen = layout_format(table_format if is_of_files or not table.using else table.using)
    if chosen is None or not table.model.knows(PARTITIONING):
        return None
    shape = table.model.shape
    columns = {column.name.lower(): column.type for column in shape.columns} if table.model.knows(COLUMNS) else {}
    fields = tuple(replace(field, source=field.source.lower()) for field in shape.partitioning)
    properties = {**(defaults or {}), **(table.properties or {})}
    facts = TableFacts(name, chosen, version, columns, fields, properties, table.location)
    return (
        facts if table.properties is not None else replace(facts, notes=("the properties of the table are not known",))
    )


def layout_format(table_format: str) -> str | None:
    """Return the key of a format in `FORMATS`; None for one whose keys are not modelled."""
    table_format = table_format.lower()
    if table_format in FORMATS:
        return table_format
    return "hive" if table_format in _OF_FILES else None
