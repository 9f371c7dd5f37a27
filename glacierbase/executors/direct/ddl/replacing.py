"""CREATE OR REPLACE TABLE and REPLACE TABLE without a query: a new schema and spec for a table that keeps its history.

As in Iceberg's `TableMetadata.buildReplacement`: ids of columns and of partition fields are those of the table where names, or
sources and transforms, are the same; schemas and specs that the table has are used again; the branch main is removed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema, _SetFreshIDs, pre_order_visit
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AddSortOrderUpdate,
    AssertLastAssignedFieldId,
    AssertLastAssignedPartitionId,
    AssertTableUUID,
    RemoveSnapshotRefUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSortOrderUpdate,
    SetDefaultSpecUpdate,
    SetLocationUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)

from glacierbase.errors import NotPlain, StatementRefused, TableNotFound
from glacierbase.executors.direct.ddl.commit import Transaction, change_table
from glacierbase.executors.direct.ddl.tables import create_table, properties_of, schema_of, spec_of
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.formats.iceberg import OF_NEW_TABLES
from glacierbase.sql.statement import ParsedStatement

# Ids of the last added schema and spec in a commit.
_LAST = -1


def replace_table(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> None:
    """Replace a table; create it if it does not exist, unless the statement is REPLACE TABLE.

    Raises:
        TableNotFound: REPLACE TABLE of no table.
        StatementRefused: there is a view of this name, or the table is of format version 1.
    """
    if not _replaced(lakes, statement):
        try:
            create_table(lakes, statement, replaces=True)
        except StatementRefused as error:
            if error.error_class != "TABLE_OR_VIEW_ALREADY_EXISTS":
                raise
            if not _replaced(lakes, statement):  # Otherwise another writer created the table meanwhile.
                what = f"View with same name already exists: {statement.targets[0].recorded}"
                raise StatementRefused("AlreadyExistsException", what) from error


def _replaced(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> bool:
    """Replace a table; return False if it does not exist.

    Raises:
        TableNotFound: REPLACE TABLE of no table.
    """
    try:
        change_table(lakes, statement, partial(replace, lakes))
    except TableNotFound:
        if statement.options.only_replaces:
            raise
        return False
    return True


def replace(lakes: PyIcebergCatalogs, transaction: Transaction, statement: ParsedStatement) -> None:
    """Stage the replacement of a table."""
    base = transaction.table_metadata
    properties = properties_of(lakes, statement, OF_NEW_TABLES)
    version = int(properties.pop("format-version", base.format_version))
    if base.format_version == 1 or version != base.format_version:
        raise NotPlain(f"REPLACE from format version {base.format_version} to {version}")
    schema = _renumbered(schema_of(statement), base)
    spec = _with_known_ids(spec_of(statement, schema), base)
    updates = [
        *([RemoveSnapshotRefUpdate(ref_name=MAIN_BRANCH)] if MAIN_BRANCH in base.refs else []),
        *_of_schema(schema, base),
        *_of_spec(spec, base),
        *_of_order(base),
        *_of_location(statement.options.location, base),
        SetPropertiesUpdate(updates=properties),
    ]
    transaction._stage(
        tuple(updates),
        (
            AssertTableUUID(uuid=base.table_uuid),
            AssertLastAssignedFieldId(last_assigned_field_id=base.last_column_id),
            AssertLastAssignedPartitionId(last_assigned_partition_id=_last_partition_id(base)),
        ),
    )


def _renumbered(schema: Schema, base: TableMetadata) -> Schema:
    """Return a schema with the ids that the current schema has for the same full names, and with new ids for other names."""
    return pre_order_visit(schema, _KnownIds(schema, base))


class _KnownIds(_SetFreshIDs):  # type: ignore[misc]
    def __init__(self, schema: Schema, base: TableMetadata) -> None:
        super().__init__()
        self._ids = itertools.count(base.last_column_id + 1)
        self._schema = schema
        self._base = base.schema()

    def _get_and_increment(self, current_id: int) -> int:
        name = self._schema.find_column_name(current_id)
        known: int | None = self._base._name_to_id.get(name)
        return next(self._ids) if known is None else known


def _with_known_ids(spec: PartitionSpec, base: TableMetadata) -> PartitionSpec:
    """Return a spec with the ids that any spec of the table has for the same source and transform."""
    known: dict[tuple[int, str], int] = {}
    for field in (field for old in base.partition_specs for field in old.fields):
        key = field.source_id, str(field.transform)
        known[key] = max(field.field_id, known.get(key, 0))
    ids = itertools.count(_last_partition_id(base) + 1)
    return PartitionSpec(
        *(
            PartitionField(
                field.source_id,
                known.get((field.source_id, str(field.transform))) or next(ids),
                field.transform,
                field.name,
            )
            for field in spec.fields
        )
    )


def _last_partition_id(base: TableMetadata) -> int:
    last: int | None = base.last_partition_id
    return PARTITION_FIELD_ID_START - 1 if last is None else last


def _of_schema(schema: Schema, base: TableMetadata) -> Iterator[TableUpdate]:
    fields = schema.as_struct(), set[int]()
    same = (old for old in base.schemas if (old.as_struct(), set(old.identifier_field_ids)) == fields)
    if known := next(same, None):
        yield SetCurrentSchemaUpdate(schema_id=known.schema_id)
        return
    schema_id = max(old.schema_id for old in base.schemas) + 1
    yield AddSchemaUpdate(schema=schema.model_copy(update={"schema_id": schema_id}))
    yield SetCurrentSchemaUpdate(schema_id=_LAST)


def _of_spec(spec: PartitionSpec, base: TableMetadata) -> Iterator[TableUpdate]:
    if known := next((old for old in base.partition_specs if _fields(old) == _fields(spec)), None):
        yield SetDefaultSpecUpdate(spec_id=known.spec_id)
        return
    spec_id = max(old.spec_id for old in base.partition_specs) + 1
    yield AddPartitionSpecUpdate(spec=PartitionSpec(*spec.fields, spec_id=spec_id))
    yield SetDefaultSpecUpdate(spec_id=_LAST)


def _fields(spec: PartitionSpec) -> list[tuple[int, str, str]]:
    """Return what makes two specs the same; ids of fields do not."""
    return [(field.source_id, str(field.transform), field.name) for field in spec.fields]


def _of_order(base: TableMetadata) -> Iterator[TableUpdate]:
    unsorted = UNSORTED_SORT_ORDER.order_id
    if all(order.order_id != unsorted for order in base.sort_orders):
        yield AddSortOrderUpdate(sort_order=UNSORTED_SORT_ORDER)
    yield SetDefaultSortOrderUpdate(sort_order_id=unsorted)


def _of_location(location: str | None, base: TableMetadata) -> Iterator[TableUpdate]:
    if location is not None and location != base.location:
        yield SetLocationUpdate(location=location)
