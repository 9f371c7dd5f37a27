"""Write the two tables: a data file per append, commits at constant cost, compaction."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from glacierbase.errors import CommitConflict
from glacierbase.executors.iceberg.ddl.commit import Transaction

# On an object store each request takes a round trip, however small the file.
_REQUESTS_AT_ONCE = 8
_EVER = datetime.max.replace(tzinfo=timezone.utc)


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


def compact(table: Any) -> None:
    """Rewrite the rows of the loaded `table` into one file, and expire all older snapshots in the same commit.

    A commit since the table was loaded makes this one fail without effect. If the process ends in between, unreferenced files
    may remain.

    Raises:
        CommitConflict: another writer expired the same snapshots.
    """
    from pyiceberg.exceptions import BadRequestError
    from pyiceberg.table.update.snapshot import ExpireSnapshots

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
