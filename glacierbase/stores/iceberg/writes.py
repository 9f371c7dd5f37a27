"""Write the two tables: one data file, one manifest, one manifest list and one metadata file per commit; compaction.

A commit names in the summary of its snapshot the files that it added and removed, so that compaction reads no expired snapshot.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from itertools import chain
from typing import Any

from pyiceberg.manifest import ManifestContent, ManifestEntry
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import AssertTableUUID
from pyiceberg.table.update.snapshot import ExpireSnapshots, _SnapshotProducer

from glacierbase.errors import CommitConflict, EngineError, OutcomeUnknown
from glacierbase.executors.direct.ddl.commit import Transaction
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.stores.origin import COLLECTS_GARBAGE, COPY, DELETES, KEPT_VERSIONS, TableOrigin

logger = logging.getLogger("glacierbase")

# An append rewrites the files that hold at most so many times the rows that it writes: one of a row, those of up to 64 rows. So a
# history of 270,000 events has at most three files.
_GROWTH = 64
# More data files than appends leave: other clients wrote them.
_MOST_FILES = 4
# How many former metadata files a compaction leaves.
_VERSIONS = 20
# The key in the summary of a snapshot.
_FILES = "glacierbase.files"
# On an object store each request takes a round trip, however small the file.
_REQUESTS_AT_ONCE = 8
_EVER = datetime.max.replace(tzinfo=timezone.utc)
# Attempts to give a table files of its own, while the heartbeat commits to it.
_ATTEMPTS = 5


class OneCommit(Transaction):
    """A commit that is sent once, whatever the properties of the table say, and deletes no file.

    Attributes:
        unlisted: the former metadata files that the table does not list any more.
    """

    unlisted: frozenset[str] = frozenset()

    def commit_transaction(self) -> Any:
        table = self._table
        if self._updates:
            required = (*self._requirements, AssertTableUUID(uuid=table.metadata.table_uuid))
            answer = table.catalog.commit_table(table, required, self._updates)
            table._check_uuid(table.metadata, answer.metadata)
            self.unlisted = _listed(table.metadata) - _listed(answer.metadata)
            table.metadata, table.metadata_location = answer.metadata, answer.metadata_location
        return table


def _listed(metadata: Any) -> frozenset[str]:
    return frozenset(entry.metadata_file for entry in metadata.metadata_log)


class _OneManifest(_SnapshotProducer["_OneManifest"]):  # type: ignore[misc]
    """A snapshot whose data files are all in one manifest.

    Args:
        files: the entries of the snapshot before it.
    """

    def __init__(
        self, transaction: Transaction, added: Any, removed: Sequence[Any], files: Sequence[ManifestEntry]
    ) -> None:
        super().__init__(Operation.OVERWRITE if removed else Operation.APPEND, transaction, transaction._table.io)
        self._files = files
        self.append_data_file(added)
        for file in removed:
            self.delete_data_file(file)

    def _manifests(self) -> list[Any]:
        with self.new_manifest_writer(self._transaction.table_metadata.spec()) as writer:
            for added in self._added_data_files:
                writer.add(ManifestEntry.from_args(sequence_number=None, data_file=added))
            for entry in self._files:
                (writer.delete if entry.data_file in self._deleted_data_files else writer.existing)(entry)
        manifest = writer.to_manifest_file()
        files = (file.file_path for file in (*self._added_data_files, *self._deleted_data_files))
        self.snapshot_properties = {_FILES: json.dumps([manifest.manifest_path, *files])}
        return [manifest]

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []

    def _existing_manifests(self) -> list[Any]:
        return []


def append_rows(
    transaction: Transaction, table: Any, rows: Sequence[Mapping[str, Any]], written: Mapping[str, Any]
) -> dict[str, Any]:
    """Stage an append to the loaded `table`. It rewrites smaller files, so that a read does not grow with the appends.

    Args:
        written: the rows of files by their locations, as an earlier append returned them.

    Returns:
        the rows of the file that it wrote.

    Raises:
        KeyError: the table lacks a column.
        OutcomeUnknown: not all rows of the smaller files were read.
    """
    content, files = _content(table, rows), _files_in_one_spec(table)
    if files is None:
        transaction.append(content)
        return {}
    small, count = [], content.num_rows
    for file in sorted((entry.data_file for entry in files), key=lambda file: file.record_count):
        if file.record_count > _GROWTH * count:
            break
        small.append(file)
        count += file.record_count
    content = _with_rows_of(small, table, content, written)
    if content.num_rows != count:
        raise OutcomeUnknown("RowsNotRead", "the files of the table hold fewer or more rows than its manifest says")
    return {_stage(transaction, table, content, small, files): content}


def replace_rows(transaction: Transaction, table: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Stage rows in place of all rows of the loaded `table`, and return them as Arrow. Raises as `append_rows` does."""
    content, files = _content(table, rows), _files_in_one_spec(table)
    if files is None:
        transaction.overwrite(content)
    else:
        _stage(transaction, table, content, [entry.data_file for entry in files], files)
    return content


def _stage(transaction: Transaction, table: Any, rows: Any, removed: Sequence[Any], files: Sequence[Any]) -> str:
    """Write rows to a file in place of others; return its location."""
    file = _write(table, rows)
    _OneManifest(transaction, file, removed, files).commit()
    return str(file.file_path)


def _files_in_one_spec(table: Any) -> list[ManifestEntry] | None:
    """Return the data files of a table; None where another client partitioned it or deleted rows by delete files."""
    manifests = _manifests(table.current_snapshot(), table.io)
    spec = table.metadata.default_spec_id
    is_plain = all((m.content, m.partition_spec_id) == (ManifestContent.DATA, spec) for m in manifests)
    if not is_plain or not table.spec().is_unpartitioned():
        return None
    return [entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io)]


def _manifests(snapshot: Any, io: Any) -> list[Any]:
    return snapshot.manifests(io) if snapshot else []


def _content(table: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows in the columns of a table, as Arrow. Raises as `append_rows` does."""
    import pyarrow
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    schema = schema_to_pyarrow(table.schema())
    if lacking := set().union(*rows) - set(schema.names):
        raise KeyError(", ".join(sorted(lacking)))
    return pyarrow.Table.from_pylist(list(rows), schema=schema)


def _with_rows_of(files: Sequence[Any], table: Any, rows: Any, written: Mapping[str, Any]) -> Any:
    """Return the rows of data files, and other rows after them."""
    import pyarrow
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.table import FileScanTask

    # Another client may have added a column since, without a snapshot.
    known = {path: part for path, part in written.items() if part.schema.names == rows.schema.names}
    parts = [known[file.file_path] for file in files if file.file_path in known]
    if unread := [FileScanTask(file) for file in files if file.file_path not in known]:
        parts.append(ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_table(unread))
    return pyarrow.concat_tables([*(part.cast(rows.schema) for part in parts), rows])


def _write(table: Any, rows: Any) -> Any:
    """Write an Arrow table to a Parquet file of the loaded `table`, which is not partitioned. Return the file for a commit."""
    import pyarrow
    from pyarrow import parquet
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    content = pyarrow.BufferOutputStream()
    # For one row, dictionaries and statistics per column are larger than the row.
    is_large = rows.num_rows > 1
    parquet.write_table(rows, content, compression="zstd", use_dictionary=is_large, write_statistics=is_large)
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
    """Expire all older snapshots of the loaded `table`, and delete their files. Files of other clients are rewritten into one.

    A commit since the table was loaded makes this one fail without effect. Unreferenced files may remain if the process ends in
    between, and remain where the table was made in another catalog.

    Raises:
        CommitConflict: another writer expired the same snapshots.
    """
    if _is_spread(table):
        _rewrite(table, origin, rewrites=True)
    elif len(table.metadata.snapshots) > 1:
        _rewrite(table, origin, rewrites=False)


def _rewrite(table: Any, origin: TableOrigin, *, rewrites: bool, versions: int = _VERSIONS) -> None:
    """Commit a snapshot alone, with all rows in one file if `rewrites`. Raises as `compact` does.

    Args:
        versions: how many former metadata files are left.
    """
    from pyiceberg.exceptions import BadRequestError

    transaction = OneCommit(table)
    # The next commit sets its usual value. So former metadata files are deleted with others, not one with each commit.
    transaction.set_properties(origin.changes(table.properties) | {KEPT_VERSIONS: str(versions)})
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
    kept = {snapshot.snapshot_id for snapshot in table.snapshots()}
    expired = [snapshot for snapshot in before if snapshot.snapshot_id not in kept]
    if origin.may_delete(table.properties):
        with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
            needed = set(_files(table.snapshots(), table.io, pool))
            unneeded = set(_named(expired, table.io, pool)) - needed
            table.io.delete_all(unneeded | transaction.unlisted, table.location())


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
            with mapped(), OneCommit(load()) as change:
                change.set_properties(origin.properties | shared)
            return
        except CommitConflict:  # The heartbeat of this run renewed the lock.
            if attempt == _ATTEMPTS - 1:
                raise


def _is_moved(table: Any, origin: TableOrigin, place: str) -> bool:
    """Move the rows of a table to a new location; return whether its metadata names no file elsewhere."""
    from pyiceberg.table.update import SetLocationUpdate

    location = f"{place}-{uuid.uuid4().hex[:8]}"
    moving = OneCommit(table)
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
        _rewrite(table, origin, rewrites=True, versions=1)
    return len(table.snapshots()) == 1 and all(file.startswith(f"{location}/") for file in _listed(table.metadata))


def _is_spread(table: Any) -> bool:
    """Return whether other clients wrote files that an append does not rewrite, by the snapshot's summary."""
    snapshot = table.current_snapshot()
    summary = (snapshot and snapshot.summary) or {}
    return int(summary.get("total-data-files", 0)) > _MOST_FILES or int(summary.get("total-delete-files", 0)) > 0


def _named(snapshots: Sequence[Any], io: Any, pool: ThreadPoolExecutor) -> Iterator[str]:
    """Yield the files that snapshots added or removed. Only snapshots of other clients are read."""
    noted = {snapshot.manifest_list: snapshot.summary and snapshot.summary.get(_FILES) for snapshot in snapshots}
    yield from _files([snapshot for snapshot in snapshots if not noted[snapshot.manifest_list]], io, pool)
    for manifest_list, files in noted.items():
        yield from (manifest_list, *json.loads(files or "[]"))


def _files(snapshots: Sequence[Any], io: Any, pool: ThreadPoolExecutor) -> set[str]:
    """Return all files that the snapshots reference: manifest lists, manifests and data files."""
    manifests = {m.manifest_path: m for m in chain.from_iterable(pool.map(lambda s: s.manifests(io), snapshots))}
    entries = pool.map(lambda manifest: manifest.fetch_manifest_entry(io), manifests.values())
    data = {entry.data_file.file_path for listed in entries for entry in listed}
    return {snapshot.manifest_list for snapshot in snapshots} | manifests.keys() | data
