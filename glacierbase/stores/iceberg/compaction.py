"""Making the files of a table few again. Only files named by snapshots that were just forgotten are removed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from glacierbase.errors import CommitConflict

# On an object store each takes as long as an answer from it, however small the file.
_REQUESTS_AT_ONCE = 8
_EVER = datetime.max.replace(tzinfo=timezone.utc)


def compact(table: Any) -> None:
    """Put the rows of `table` as it was loaded into one file, forgetting all older snapshots in the same commit.

    The commit is refused where another came first, and the table is then as that one left it. Ended at any point, this leaves
    at worst files behind that nothing names.
    """
    from pyiceberg.exceptions import BadRequestError
    from pyiceberg.table.update.snapshot import ExpireSnapshots

    from glacierbase.stores.iceberg.transaction import Transaction

    transaction = Transaction(table)
    if _is_spread(table):
        transaction.overwrite(table.scan().to_arrow())
    named = transaction.table_metadata.snapshots
    if len(named) > 1:
        ExpireSnapshots(transaction).older_than(_EVER).commit()
        try:
            transaction.commit_transaction()
        # Somebody else has forgotten the same snapshots. A SQL catalog and a REST server mind, each in its way.
        except (ValueError, BadRequestError) as error:
            raise CommitConflict(type(error).__name__, "its snapshots were expired meanwhile") from error
        kept = {snapshot.snapshot_id for snapshot in table.snapshots()}
        _remove([snapshot for snapshot in named if snapshot.snapshot_id not in kept], table)


def _is_spread(table: Any) -> bool:
    """Whether the rows are in more than one file, as far as the last writer counted them."""
    snapshot = table.current_snapshot()
    return snapshot is not None and (snapshot.summary or {}).get("total-data-files") != "1"


def _remove(gone: Sequence[Any], table: Any) -> None:
    """Remove the files that only the snapshots in `gone` name."""
    with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
        kept = _files(table.snapshots(), table.io, pool)
        list(pool.map(lambda file: _delete(file, table.io), _files(gone, table.io, pool) - kept))


def _files(snapshots: Sequence[Any], io: Any, pool: ThreadPoolExecutor) -> set[str]:
    """All files that the snapshots name: lists of manifests, manifests, data."""
    manifests = {each.manifest_path: each for found in pool.map(lambda s: s.manifests(io), snapshots) for each in found}
    entries = pool.map(lambda manifest: manifest.fetch_manifest_entry(io), manifests.values())
    data = {entry.data_file.file_path for found in entries for entry in found}
    return {snapshot.manifest_list for snapshot in snapshots} | manifests.keys() | data


def _delete(file: str, io: Any) -> None:
    with suppress(OSError):  # It may be gone already, or not ours to remove: nothing names it any more.
        io.delete(file)
