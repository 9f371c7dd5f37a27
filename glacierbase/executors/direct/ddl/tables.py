"""CREATE, DROP and RENAME of tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform
from pyiceberg.types import NestedField

from glacierbase.errors import NotPlain, StatementRefused, TableNotFound
from glacierbase.executors.direct.ddl.types import iceberg_type
from glacierbase.executors.direct.lakes import Identifier, PyIcebergCatalogs, spark_user, table_not_found
from glacierbase.executors.direct.plain_tables import FORMAT_VERSIONS, columns_of, fields_of, source_of
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.formats.iceberg import FORMAT_VERSION, ICEBERG, OF_NEW_TABLES
from glacierbase.model.transforms import given_name
from glacierbase.sql.statement import ColumnClause, Name, ParsedStatement, PartitionClause, Property

# Iceberg stores none of these properties. `format-version` chooses the version.
_NOT_STORED = ICEBERG.not_stored - {FORMAT_VERSION}


def create_table(lakes: PyIcebergCatalogs, statement: ParsedStatement, *, replaces: bool = False) -> None:
    """Create an empty table.

    Args:
        replaces: whether the statement would replace a table.

    Raises:
        StatementRefused: there is a table or a view of this name, unless IF NOT EXISTS accepts it.
    """
    name = statement.targets[0]
    catalog, identifier = lakes.place(name)
    schema = schema_of(statement)
    try:
        with mapped():
            if catalog.table_exists(identifier):
                raise already_exists(name)
            # The server of a REST catalog adds the properties of new tables itself.
            properties = properties_of(lakes, statement, OF_NEW_TABLES if catalog.adds_properties else {})
            spec = spec_of(statement, schema)
            create = catalog.new_replacement if replaces else catalog.new_table
            with lakes.sending(lambda: not statement.options.if_not_exists and catalog.table_exists(identifier)):
                create(identifier, schema, statement.options.location, spec, properties)
    except StatementRefused as error:
        if error.error_class == "NoSuchNamespaceError":
            raise _no_namespace(identifier) from error
        if error.error_class not in ("TableAlreadyExistsError", "TABLE_OR_VIEW_ALREADY_EXISTS"):
            raise
        if not statement.options.if_not_exists:
            raise already_exists(name) from error


def drop_table(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> None:
    """Remove a table from its catalog. Its files stay."""
    name = statement.targets[0]
    catalog, identifier = lakes.place(name)
    try:
        with mapped():
            if not catalog.table_exists(identifier):
                raise table_not_found(name)
            with lakes.sending(lambda: not catalog.table_exists(identifier)):
                catalog.drop_table(identifier)
    except TableNotFound as error:
        if not statement.options.if_exists:
            raise table_not_found(name) from error


def rename_table(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> None:
    """Rename a table within its catalog. Spark takes all parts of a longer new name, without a catalog, as its namespace."""
    name, new = statement.targets
    catalog, identifier = lakes.place(name)
    to = catalog.new_name(new.parts) if len(new.parts) > 1 else (*identifier[:-1], *new.parts)
    try:
        with mapped():
            if not catalog.table_exists(identifier):
                raise table_not_found(name)
            if not catalog.namespace_exists(to[:-1]):
                raise _no_namespace(to)
            with lakes.sending(lambda: not catalog.table_exists(identifier)):
                catalog.rename_table(identifier, to)
    except StatementRefused as error:
        if error.error_class == "TableAlreadyExistsError":
            raise already_exists(new) from error
        if error.error_class == "NoSuchTableError":
            raise table_not_found(name) from error
        raise


def already_exists(name: Name) -> StatementRefused:
    """Return Spark's error for the name of a table or a view that exists."""
    what = f"Cannot create table or view {name.recorded} because it already exists."
    return StatementRefused("TABLE_OR_VIEW_ALREADY_EXISTS", what)


def _no_namespace(identifier: Identifier) -> TableNotFound:
    """Return Iceberg's error for the name of a table whose namespace does not exist."""
    return TableNotFound("NoSuchNamespaceException", f"Namespace does not exist: {'.'.join(identifier[:-1])}")


def schema_of(statement: ParsedStatement) -> Schema:
    """Return the schema of a new table."""
    ids = itertools.count(1)
    numbered = [(next(ids), column) for column in columns_of(statement)]
    return Schema(
        *(
            NestedField(
                field_id,
                column.path[0],
                iceberg_type(column.type or "", lambda: next(ids)),
                required=not column.nullable,
                doc=column.comment,
            )
            for field_id, column in numbered
        )
    )


def spec_of(statement: ParsedStatement, schema: Schema) -> PartitionSpec:
    """Return the partition spec of a new table with this schema."""
    clauses = [part for part in statement.parts if isinstance(part, PartitionClause)]
    return PartitionSpec(*_partition_fields(clauses, columns_of(statement), schema))


def _partition_fields(
    clauses: Sequence[PartitionClause], columns: Sequence[ColumnClause], schema: Schema
) -> Iterator[PartitionField]:
    fields = fields_of(columns)
    for field_id, clause in enumerate(clauses, PARTITION_FIELD_ID_START):
        source = source_of(clause.transform, fields)
        if source is None:
            raise NotPlain(f"the partition field {clause.transform.text}")
        path, transform = ".".join(source[0]), clause.transform.iceberg
        name = given_name(path, transform, with_width=False)
        yield PartitionField(schema.find_field(path).field_id, field_id, parse_transform(transform), name)


def properties_of(lakes: PyIcebergCatalogs, statement: ParsedStatement, added: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a new table: those of the statement, and those that Spark and its catalog add.

    Args:
        added: by Iceberg to all new tables.
    """
    options = statement.options
    given = {part.key: part.value or "" for part in statement.parts if isinstance(part, Property)}
    comment = {} if options.comment is None else {"comment": options.comment}
    every = {"owner": spark_user(), **given, **comment}
    kept = {key: value for key, value in every.items() if key not in _NOT_STORED}
    properties = {**added, **lakes.new_properties(statement.targets[0], kept)}
    if (version := properties.get("format-version", FORMAT_VERSIONS[0])) not in FORMAT_VERSIONS:
        raise NotPlain(f"the format version {version}, which the catalog's configuration sets")
    return properties
