"""One commit to a table, made again where another writer was first."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from pyiceberg.exceptions import CommitFailedException
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
from glacierbase.executors.iceberg.errors import mapped
from glacierbase.executors.iceberg.lakes import CUTS, Lakes
from glacierbase.executors.iceberg.plain_tables import why_unreadable
from glacierbase.sql.statement import ParsedStatement

# Stages the changes of a statement in a transaction.
Stage: TypeAlias = Callable[["Transaction", ParsedStatement], None]
# Iceberg's default of `commit.retry.num-retries` is 4 repetitions, and of `commit.retry.min-wait-ms` 100.
_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.1


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


def change_table(lakes: Lakes, statement: ParsedStatement, stage: Stage) -> None:
    """Make all changes of a statement in one commit; in none if nothing changes.

    Raises:
        TableNotFound: there is no such table.
        StatementRefused: the table does not admit a change, or every attempt met the commit of another writer.
        OutcomeUnknown: the answer to the commit was lost.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        transaction = Transaction(lakes.table(statement.targets[0]))
        _check_readable(transaction.table_metadata.properties)
        stage(transaction, statement)
        _check_place(transaction.table_metadata)
        transaction.require_unchanged()
        try:
            with mapped():
                lakes.wrote(transaction.commit_transaction())
            return
        except CommitConflict:
            if attempt == _ATTEMPTS:
                raise
            time.sleep(_FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(1, 1.1))
