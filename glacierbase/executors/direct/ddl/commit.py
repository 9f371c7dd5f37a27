"""One commit to a table, made again where another writer was first."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table import Transaction as _Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AssertCurrentSchemaId,
    AssertDefaultSortOrderId,
    AssertDefaultSpecId,
    AssertLastAssignedFieldId,
    AssertLastAssignedPartitionId,
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSortOrderUpdate,
    SetDefaultSpecUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
    ValidatableTableRequirement,
)

from glacierbase.errors import CommitConflict, NotPlain, StatementRefused
from glacierbase.executors.direct.lakes import CUTS, PyIcebergCatalogs, sent_twice
from glacierbase.executors.direct.plain_tables import why_unreadable
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.guard import NoFiles
from glacierbase.executors.pyiceberg.versions import metadata_in
from glacierbase.sql.statement import ParsedStatement

# Stages the changes of a statement in a transaction.
Stage: TypeAlias = Callable[["Transaction", ParsedStatement], None]
# Iceberg's default of `commit.retry.num-retries` is 4 repetitions, and of `commit.retry.min-wait-ms` 100.
_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.1
# The newest versions of a table that are compared; each is a file to read.
_MOST_VERSIONS = 10


class _Unchanged(ValidatableTableRequirement):  # type: ignore[misc]
    """Require the metadata from which updates were derived, as Iceberg's catalogs without a server do.

    PyIceberg applies updates to newer metadata, where the id of a new schema may be that of another one.
    """

    type: Literal["unchanged"] = "unchanged"
    base: Any

    def validate(self, base_metadata: TableMetadata | None) -> None:
        if base_metadata is None or _version(base_metadata) != _version(self.base):
            raise CommitFailedException("another writer changed the table")


def _version(metadata: TableMetadata) -> tuple[Any, ...]:
    """Return what each commit changes; the log names the previous metadata file."""
    return metadata.table_uuid, metadata.last_updated_ms, metadata.metadata_log[-1:]


class Transaction(_Transaction):  # type: ignore[misc]
    """Copy the table's metadata only after an update was staged.

    PyIceberg's Transaction copies the metadata at every access, about twenty times in an append.
    """

    _cached: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        if not self._updates:
            return self._table.metadata
        if self._cached is None or self._cached[0] is not self._updates:
            self._cached = self._updates, super().table_metadata
        return self._cached[1]

    def change(self, *updates: TableUpdate) -> None:
        """Stage updates, on condition that nobody changed before the commit what they were derived from."""
        self._stage(updates)
        required = _requirements(self._table.metadata, updates)
        self._requirements += tuple(requirement for requirement in required if requirement not in self._requirements)

    def require_unchanged(self) -> None:
        """Commit only if the table has had no commit since, unless a server applies the updates."""
        if self._table.catalog.adds_properties:
            self._requirements += (_Unchanged(base=self._table.metadata),)


def _requirements(base: TableMetadata, updates: tuple[TableUpdate, ...]) -> Iterator[TableRequirement]:
    """Yield what Iceberg requires of the table for these updates."""
    for update in updates:
        if isinstance(update, AddSchemaUpdate):
            yield AssertLastAssignedFieldId(last_assigned_field_id=base.last_column_id)
        elif isinstance(update, SetCurrentSchemaUpdate):
            yield AssertCurrentSchemaId(current_schema_id=base.current_schema_id)
        elif isinstance(update, AddPartitionSpecUpdate):
            yield AssertLastAssignedPartitionId(last_assigned_partition_id=base.last_partition_id)
        elif isinstance(update, SetDefaultSpecUpdate):
            yield AssertDefaultSpecId(default_spec_id=base.default_spec_id)
        elif isinstance(update, SetDefaultSortOrderUpdate):
            yield AssertDefaultSortOrderId(default_sort_order_id=base.default_sort_order_id)
        elif isinstance(update, SetSnapshotRefUpdate | RemoveSnapshotRefUpdate):
            # PyIceberg lets no requirement name another branch before the first snapshot.
            name = update.ref_name if base.snapshots else MAIN_BRANCH
            ref = base.refs.get(name)
            yield AssertRefSnapshotId(ref=name, snapshot_id=ref and ref.snapshot_id)


def illegal(message: str) -> StatementRefused:
    """Return Iceberg's error for an argument that it does not accept."""
    return StatementRefused("IllegalArgumentException", message)


def invalid(message: str) -> StatementRefused:
    """Return Iceberg's error for metadata that would be invalid."""
    return StatementRefused("ValidationException", message)


def _check_readable(properties: Mapping[str, str]) -> None:
    """Refuse a table with a value that PyIceberg, which fails after the commit, or Iceberg cannot read."""
    for key, value in properties.items():
        if why := why_unreadable(key, value.lower()):
            raise NotPlain(f"{why}: {value}")


def _check_place(metadata: TableMetadata) -> None:
    """Refuse a table whose next metadata file PyIceberg would write to another place: it cuts a location at these signs."""
    place = metadata.properties.get("write.metadata.path", metadata.location)
    if CUTS.intersection(place):
        raise NotPlain(f"PyIceberg does not write to the location {place}")


def files_of(table: Any) -> list[str]:
    """Return the locations of the metadata files of a table, oldest first, as far as the table lists them."""
    return [*(entry.metadata_file for entry in table.metadata.metadata_log), table.metadata_location]


def metadata_at(table: Any, file: str) -> TableMetadata:
    """Return the metadata of a table in one of its files."""
    return table.metadata if file == table.metadata_location else metadata_in(table, file)


def has_commit(table: Any, base: str, statement: ParsedStatement, stage: Stage) -> bool:
    """Return whether a commit to a table made of a version what the statement makes of it, also where nothing names the statement.

    The statement is staged without files on each version since the base, and the result compared with the next version.

    Args:
        table: as it was just loaded.
        base: the location of the metadata file of the oldest version.
    """
    files = files_of(table)[-_MOST_VERSIONS:]
    if base not in files:
        return False
    versions = [metadata_at(table, file) for file in files[files.index(base) :]]
    for old, new in pairwise(versions):
        transaction = Transaction(Table(table.name(), old, "", NoFiles(), table.catalog))
        try:
            stage(transaction, statement)
        except (StatementRefused, OSError):  # Not possible in that version, or only with files.
            continue
        if transaction._updates and _content(transaction.table_metadata) == _content(new):
            return True
    return False


def _content(metadata: TableMetadata) -> tuple[Any, ...]:
    """Return what a plain statement may change, without ids that the catalog assigns."""
    schema = metadata.schema()
    return (
        schema.as_struct(), set(schema.identifier_field_ids), metadata.spec().fields, metadata.sort_order().fields,
        metadata.location, metadata.properties, metadata.refs, metadata.format_version,
    )  # fmt: skip


def change_table(lakes: PyIcebergCatalogs, statement: ParsedStatement, stage: Stage) -> None:
    """Make all changes of a statement in one commit; in none if nothing changes.

    Raises:
        TableNotFound: there is no such table.
        StatementRefused: the table does not admit a change, or every attempt met the commit of another writer.
        OutcomeUnknown: the answer to the commit was lost, or the table does not admit the change after a commit was refused.
    """
    refused: StatementRefused | None = None
    base = ""
    for attempt in range(_ATTEMPTS + 1):
        table = lakes.table(statement.targets[0])
        if refused and lakes.in_doubt and has_commit(table, base, statement, stage):
            return  # The change was sent twice.
        transaction, base = Transaction(table), base or table.metadata_location
        try:
            _check_readable(transaction.table_metadata.properties)
            stage(transaction, statement)
            _check_place(transaction.table_metadata)
        except StatementRefused as error:
            if refused and lakes.in_doubt:  # The table does not admit the change any more, which may be there.
                raise sent_twice(error) from refused
            raise
        if refused and transaction._updates and (attempt == _ATTEMPTS or not isinstance(refused, CommitConflict)):
            raise refused
        transaction.require_unchanged()
        try:
            with mapped():
                lakes.wrote(transaction.commit_transaction())
            return
        except StatementRefused as error:
            is_last = attempt == _ATTEMPTS - 1
            if not lakes.in_doubt and (is_last or not isinstance(error, CommitConflict)):
                raise
            refused = error
            if not is_last:
                time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(1, 1.1))
