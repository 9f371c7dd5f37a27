"""CREATE, REPLACE and DROP of branches and tags."""

from __future__ import annotations

from typing import Any

from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.update import AddSnapshotUpdate, RemoveSnapshotRefUpdate, SetSnapshotRefUpdate

from glacierbase.errors import NotPlain
from glacierbase.executors.direct.ddl.commit import Transaction, illegal, invalid
from glacierbase.sql.statement import ParsedStatement, Reference

# The retention of a branch or a tag: fields of its metadata by those of the clause, with Iceberg's words for each.
_RETENTION = {
    "retain_ms": ("max_ref_age_ms", "Max reference age"),
    "min_snapshots": ("min_snapshots_to_keep", "Min snapshots to keep"),
    "max_snapshot_ms": ("max_snapshot_age_ms", "Max snapshot age"),
}


def create_reference(transaction: Transaction, statement: ParsedStatement) -> None:
    """Create or replace a branch or a tag. What is replaced keeps the retention that the statement does not set."""
    part, kind = _reference(statement)
    existing = transaction.table_metadata.refs.get(part.name)
    snapshot = transaction.table_metadata.current_snapshot_id if part.snapshot is None else int(part.snapshot)
    if snapshot is None and kind is SnapshotRefType.TAG:
        what = f"Cannot complete create or replace tag operation on {statement.targets[0]}, main has no snapshot"
        raise illegal(what)
    if existing and part.if_not_exists:
        return
    retention = _retention(part)
    creates = part.creates and not (part.or_replace and existing)
    if creates and existing:
        raise illegal(f"Ref {part.name} already exists")
    if snapshot is None:
        if not creates:
            raise illegal(f"Cannot complete replace {kind} operation on {statement.targets[0]}, main has no snapshot")
        snapshot = _append_nothing(transaction)
        # Iceberg sets the branch before its retention, which the log of the table's snapshots shows for main.
        _set(transaction, part.name, SnapshotRef(snapshot_id=snapshot, snapshot_ref_type=kind))
    elif not creates:
        _check_kind(part, kind, existing)
    if transaction.table_metadata.snapshot_by_id(snapshot) is None:
        raise invalid(f"Cannot set {part.name} to unknown snapshot: {snapshot}")
    if part.name == MAIN_BRANCH and kind is SnapshotRefType.TAG:
        raise invalid("Cannot set main to a tag, it must be a branch")
    kept = {field: getattr(existing, field, None) for field, _ in _RETENTION.values()}
    _set(transaction, part.name, SnapshotRef(snapshot_id=snapshot, snapshot_ref_type=kind, **{**kept, **retention}))


def drop_reference(transaction: Transaction, statement: ParsedStatement) -> None:
    """Remove a branch or a tag; its snapshots stay until they expire."""
    part, kind = _reference(statement)
    existing = transaction.table_metadata.refs.get(part.name)
    if existing is None and part.if_exists:
        return
    if part.name == MAIN_BRANCH and kind is SnapshotRefType.BRANCH:
        raise illegal("Cannot remove main branch")
    _check_kind(part, kind, existing)
    transaction.change(RemoveSnapshotRefUpdate(ref_name=part.name))


def _reference(statement: ParsedStatement) -> tuple[Reference, SnapshotRefType]:
    [part] = statement.parts
    assert isinstance(part, Reference)
    return part, SnapshotRefType(part.operation.partition("_")[2])


def _check_kind(part: Reference, kind: SnapshotRefType, existing: SnapshotRef | None) -> None:
    if existing is None:
        raise illegal(f"{kind.value.title()} does not exist: {part.name}")
    if existing.snapshot_ref_type is not kind:
        raise illegal(f"Ref {part.name} is a {existing.snapshot_ref_type} not a {kind}")


def _retention(part: Reference) -> dict[str, int]:
    """Return the retention that the statement sets."""
    retention = {}
    for name, (field, words) in _RETENTION.items():
        value = getattr(part, name)
        if value == 0:
            raise illegal(f"{words} must be greater than 0")
        if value is not None:
            retention[field] = value
    return retention


def _append_nothing(transaction: Transaction) -> int:
    """Add an empty snapshot for a new branch, and return its id: a table without rows has none.

    PyIceberg makes the first snapshot of a table for the branch main only.
    """
    if transaction.table_metadata.format_version > 2:
        raise NotPlain("a branch of an empty table of format version 3 needs the engine")
    scratch = Transaction(transaction._table)
    with scratch.update_snapshot().fast_append():
        pass
    [added] = (update for update in scratch._updates if isinstance(update, AddSnapshotUpdate))
    transaction.change(added)
    return int(added.snapshot.snapshot_id)


def _set(transaction: Transaction, name: str, ref: SnapshotRef) -> None:
    if transaction.table_metadata.refs.get(name) == ref:
        return
    fields: dict[str, Any] = ref.model_dump(exclude={"snapshot_ref_type"})
    transaction.change(SetSnapshotRefUpdate(ref_name=name, type=ref.snapshot_ref_type, **fields))
