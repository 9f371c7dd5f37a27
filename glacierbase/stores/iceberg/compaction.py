"""Compact a table; delete only files that expired snapshots reference."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from glacierbase.errors import CommitConflict

# On an object store each request takes a round trip, however small the file.
_REQUESTS_AT_ONCE = 8
_EVER = datetime.max.replace(tzinfo=timezone.utc)


def compact(table: Any) -> None:
    """Rewrite the rows of the loaded `table` into one file, and expire all older snapshots in the same commit.

    A commit since the table was loaded makes this one fail without effect. If the process ends in between, unreferenced files
    may remain.

    Raises:
        CommitConflict: another writer expired the same snapshots.
    """
    from pyiceberg.exceptions import BadRequestError
    from pyiceberg.table.update.snapshot import ExpireSnapshots

    from glacierbase.stores.iceberg.transaction import Transaction

    transaction = Transaction(table)
    if _is_spread(table):
        transaction.overwrite(table.scan().to_arrow())
    before = transaction.table_metadata.snapshots
    if len(before) > 1:
        ExpireSnapshots(transaction).older_than(_EVER).commit()
        try:
            transaction.commit_transaction()
        # Another writer expired the same snapshots: ValueError of a SQL catalog, BadRequestError of a REST server.
        except (ValueError, BadRequestError) as error:
            raise CommitConflict(type(error).__name__, "its snapshots were expired meanwhile") from error
        kept = {snapshot.snapshot_id for snapshot in table.snapshots()}
        _remove([snapshot for snapshot in before if snapshot.snapshot_id not in kept], table)


def _is_spread(table: Any) -> bool:
    """Return whether the rows are in more than one file, by the snapshot's summary."""
    snapshot = table.current_snapshot()
    return snapshot is not None and (snapshot.summary or {}).get("total-data-files") != "1"


def _remove(expired: Sequence[Any], table: Any) -> None:
    """Delete the files that only `expired` snapshots reference."""
    with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
        kept = _files(table.snapshots(), table.io, pool)
        list(pool.map(lambda file: _delete(file, table.io), _files(expired, table.io, pool) - kept))


def _files(snapshots: Sequence[Any], io: Any, pool: ThreadPoolExecutor) -> set[str]:
    """Return all files that the snapshots reference: manifest lists, manifests and data files."""
    manifests = {each.manifest_path: each for found in pool.map(lambda s: s.manifests(io), snapshots) for each in found}
    entries = pool.map(lambda manifest: manifest.fetch_manifest_entry(io), manifests.values())
    data = {entry.data_file.file_path for found in entries for entry in found}
    return {snapshot.manifest_list for snapshot in snapshots} | manifests.keys() | data


def _delete(file: str, io: Any) -> None:
    with suppress(OSError):  # It may be deleted already, or deletion may be forbidden; nothing references it.
        io.delete(file)
