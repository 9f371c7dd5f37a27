"""Write the two tables: a data file per append, commits at constant cost, compaction, files of their own."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from glacierbase.errors import CommitConflict, EngineError
from glacierbase.executors.direct.ddl.commit import Transaction
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.stores.origin import COLLECTS_GARBAGE, COPY, DELETES, KEPT_VERSIONS, TableOrigin

logger = logging.getLogger("glacierbase")

# On an object store each request takes a round trip, however small the file.
_REQUESTS_AT_ONCE = 8
_EVER = datetime.max.replace(tzinfo=timezone.utc)
# Attempts to give a table files of its own, while the heartbeat commits to it.
_ATTEMPTS = 5


def write_rows(table: Any, rows: Any) -> Any:
    """Write an Arrow table to a Parquet file of the loaded `table`, which is not partitioned. Return the file for an append.

    Raises:
        KeyError: the table lacks a column.
    """
    import pyarrow
    from pyarrow import parquet
    from pyiceberg.io.pyarrow import PYARROW_PARQUET_FIELD_ID_KEY
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    ids = {field.name: str(field.field_id) for field in table.schema().fields}
    # Readers find a column by its id. https://iceberg.apache.org/spec/#column-projection
    columns = [column.with_metadata({PYARROW_PARQUET_FIELD_ID_KEY: ids[column.name]}) for column in rows.schema]
    content = pyarrow.BufferOutputStream()
    described = pyarrow.Table.from_arrays(rows.columns, schema=pyarrow.schema(columns))
    # For one row, dictionaries and statistics per column are larger than the row. Compaction writes them.
    parquet.write_table(described, content, use_dictionary=False, write_statistics=False)
    written = content.getvalue().to_pybytes()
    path = table.location_provider().new_data_location(f"00000-0-{uuid.uuid4()}.parquet")
    with table.io.new_output(path).create(overwrite=True) as output:
        output.write(written)
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=len(written),
        spec_id=table.metadata.default_spec_id,
    )


def compact(table: Any, origin: TableOrigin) -> None:
    """Rewrite the rows of the loaded `table` into one file, and expire all older snapshots in the same commit.

    A commit since the table was loaded makes this one fail without effect. Unreferenced files may remain if the process ends in
    between, and remain where the table was made in another catalog.

    Raises:
        CommitConflict: another writer expired the same snapshots.
    """
    if _is_spread(table):
        _rewrite(table, origin, rewrites=True)
    elif len(table.metadata.snapshots) > 1:
        _rewrite(table, origin, rewrites=False)


def _rewrite(table: Any, origin: TableOrigin, *, rewrites: bool) -> None:
    """Commit a snapshot alone, with all rows in one file if `rewrites`. Raises as `compact` does."""
    from pyiceberg.exceptions import BadRequestError
    from pyiceberg.table.update.snapshot import ExpireSnapshots

    transaction = Transaction(table)
    if changes := origin.changes(table.properties):
        transaction.set_properties(changes)
    if rewrites:
        transaction.overwrite(table.scan().to_arrow())
    before = transaction.table_metadata.snapshots
    if len(before) > 1:
        ExpireSnapshots(transaction).older_than(_EVER).commit()
    try:
        transaction.commit_transaction()
    # Another writer expired the same snapshots: ValueError of a SQL catalog, BadRequestError of a REST server.
    except (ValueError, BadRequestError) as error:
        raise CommitConflict(type(error).__name__, "its snapshots were expired meanwhile") from error
    if origin.may_delete(table.properties):
        kept = {snapshot.snapshot_id for snapshot in table.snapshots()}
        _remove([snapshot for snapshot in before if snapshot.snapshot_id not in kept], table)


def own_files(load: Callable[[], Any], origin: TableOrigin, place: str | None) -> None:
    """Let a table share no file with tables of other catalogs, and name the catalog to which it belongs. No file is deleted.

    Where the server does not move a table, or somebody tagged a snapshot, it keeps its files, and none of them is ever deleted.

    Args:
        place: where the catalog puts the table; None for a place beside its location.

    Raises:
        EngineError: the catalog does not answer, or other writers were faster.
    """
    for attempt in range(_ATTEMPTS):
        table = load()
        if origin.is_own(table.properties):
            return
        try:
            is_moved = _is_moved(table, origin, place or COPY.sub("", table.location().rstrip("/")))
            shared = {} if is_moved else {DELETES: "false", COLLECTS_GARBAGE: "false"}
            with mapped(), Transaction(load()) as change:
                change.set_properties(origin.properties | shared)
            return
        except CommitConflict:  # The heartbeat of this run renewed the lock.
            if attempt == _ATTEMPTS - 1:
                raise


def _is_moved(table: Any, origin: TableOrigin, place: str) -> bool:
    """Move the rows of a table to a new location; return whether its metadata names no file elsewhere."""
    from pyiceberg.table.update import SetLocationUpdate

    location = f"{place}-{uuid.uuid4().hex[:8]}"
    moving = Transaction(table)
    # Each commit adds the name of the last metadata file to a log, here of one name.
    moving.set_properties({DELETES: "false", KEPT_VERSIONS: "1"})
    moving.change(SetLocationUpdate(location=location))
    try:
        with mapped():
            moving.commit_transaction()
    except CommitConflict:
        raise
    except EngineError as error:
        logger.warning("%s keeps its location: %s", ".".join(table.name()), error.message)
        return False
    with mapped():
        _rewrite(table, origin, rewrites=True)
    files = [entry.metadata_file for entry in table.metadata.metadata_log]
    return len(table.snapshots()) == 1 and all(file.startswith(f"{location}/") for file in files)


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
    manifests = {
        manifest.manifest_path: manifest
        for listed in pool.map(lambda s: s.manifests(io), snapshots)
        for manifest in listed
    }
    entries = pool.map(lambda manifest: manifest.fetch_manifest_entry(io), manifests.values())
    data = {entry.data_file.file_path for listed in entries for entry in listed}
    return {snapshot.manifest_list for snapshot in snapshots} | manifests.keys() | data


def _delete(file: str, io: Any) -> None:
    with suppress(OSError):  # It may be deleted already, or deletion may be forbidden; nothing references it.
        io.delete(file)
