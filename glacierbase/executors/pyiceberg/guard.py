"""The common part of all catalogs: they load no code named by a server's answer or a table, and commit with few requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property, partial
from gzip import BadGzipFile
from typing import Any
from zlib import error as zlib_error

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV3
from pyiceberg.typedef import IcebergBaseModel

from glacierbase.errors import EngineError, OutcomeUnknown
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.file_access import UUID, FileAccess, TableFiles
from glacierbase.executors.pyiceberg.metadata import read_metadata
from glacierbase.executors.pyiceberg.object_stores import LOGIN
from glacierbase.executors.pyiceberg.opened import WAIT_SECONDS
from glacierbase.run.run import tag_uuid

# All properties whose value PyIceberg imports and calls, and the classes of PyIceberg that they may name. `auth` is a mapping, in
# which `impl` names a class; its other kinds would fetch this machine's credentials for the server.
_IMPLEMENTATIONS: Mapping[str, tuple[str, ...]] = {
    "py-io-impl": ("pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO"),
    "write.py-location-provider.impl": (
        "pyiceberg.table.locations.SimpleLocationProvider",
        "pyiceberg.table.locations.ObjectStoreLocationProvider",
    ),
    "s3.retry-strategy-impl": ("pyarrow.fs.AwsStandardS3RetryStrategy", "pyarrow.fs.AwsDefaultS3RetryStrategy"),
    "auth": (),
}
_LONGEST = 100


def check_implementations(properties: Mapping[str, Any], source: str) -> None:
    """Check that properties name only code of PyIceberg.

    Args:
        source: the source of the properties, for the message.

    Raises:
        OutcomeUnknown: a property names other code, which was not imported.
    """
    for key, known in _IMPLEMENTATIONS.items():
        value = properties.get(key)
        if value and value not in known:
            raise OutcomeUnknown(
                "UntrustedImplementation",
                f"{source} sets {key} to {repr(value)[:_LONGEST]}, which PyIceberg would import and run; it was not loaded",
                hint=f"find out who set {key} and remove it; `store: {{type: sql}}` reads history and lock without PyIceberg",
            )


@contextmanager
def reading_metadata(file: str | None) -> Iterator[None]:
    """Name the metadata file of a table in an error about its content."""
    try:
        yield
    except (ValidationError, UnicodeDecodeError, EOFError, BadGzipFile, zlib_error) as error:
        try:
            with mapped():
                raise
        except EngineError as engine_error:
            what = f"{file} cannot be read as metadata of Iceberg: {engine_error.message}"
            hint = "restore the file, or register the table with its last metadata file that can be read"
            raise OutcomeUnknown(engine_error.error_class, what, hint=hint) from error


class Guarded(Catalog):  # type: ignore[misc]
    """Check the properties of every table before PyIceberg uses them.

    Attributes:
        commit_seconds: how long a commit may continue after its process has ended; None where no bound is known.
        statement: the tag of the statement that commits; None for commits of history and lock.
        notes_changes: whether `in_doubt` is False until a change is sent.
        in_doubt: whether an error of the statement leaves open what it changed.
        server: what the server adds to the catalog's address; empty where it adds nothing, or nothing was read yet.
        wait_seconds: the limit of the waits of one request to the catalog or the store of files.
        adds_properties: whether this catalog, not its server, adds the properties of new tables, and applies updates.
    """

    adds_properties = True
    server = ""
    wait_seconds = WAIT_SECONDS
    is_closed = False

    commit_seconds: float | None = None
    statement: str | None = None
    notes_changes = False
    in_doubt = True

    def kept_table(self, identifier: tuple[str, ...], location: str) -> Table:
        """Return a table whose metadata PyIceberg refuses, with the types that it does not know.

        Raises:
            pyiceberg.exceptions.ValidationError: the metadata is invalid in another way.
        """
        metadata = read_metadata(self._load_file_io(location=location).new_input(location))
        return Table(identifier, metadata, location, self._load_file_io(metadata.properties, location), self)

    def another(self, properties: Mapping[str, str], wait_seconds: float) -> Any:
        """Open a connection of its own, with the same kept files.

        Args:
            properties: those with which this one was opened.
        """
        made = type(self)(self.name, **properties)
        made.wait_seconds, made.file_access = wait_seconds, self.file_access
        return made

    def close(self) -> None:
        """Close the connections."""
        self.is_closed = True
        super().close()

    def raw_metadata(self, table: Table) -> Any:
        """Return the metadata of a loaded table as its file holds it."""
        with table.io.new_input(table.metadata_location).open() as stream:
            return json.loads(stream.read())

    def begin(self, statement: str | None) -> None:
        """Begin a statement, by its tag. Nothing of it is sent yet."""
        self.statement, self.in_doubt = statement, not self.notes_changes

    def _load_file_io(self, properties: Mapping[str, Any] | None = None, location: str | None = None) -> Any:
        """Check first: PyIceberg calls this with the properties of each table that it loads, and would use them all."""
        check_implementations(properties or {}, f"the table with the metadata {location}")
        answered = self._of_files(properties or {})
        # A login that the server sends is limited to the table.
        owner = (location or "").rpartition("/")[0] if any(key.startswith(LOGIN) for key in answered) else ""
        fallback = partial(super()._load_file_io, answered, location)
        return TableFiles(self.file_access, {**self.properties, **answered}, owner, self.wait_seconds, fallback)

    @cached_property
    def file_access(self) -> FileAccess:
        """The stores and the kept files of this catalog."""
        return FileAccess()

    def _of_files(self, _properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties of a table that decide how its files are accessed: none, unless the catalog's server sends them."""
        return {}

    def new_table(self, identifier: Any, schema: Any, location: str | None, spec: Any, properties: Any) -> None:
        """Create a table where the catalog places it."""
        self.create_table(identifier, schema, location, spec, properties=properties)

    def new_replacement(self, *arguments: Any) -> None:
        """Create a table, as `new_table` does, by a statement that would replace one."""
        self.new_table(*arguments)

    def rename_table(self, from_identifier: Any, to_identifier: Any) -> None:
        """Rename a table. It is not loaded afterwards, as PyIceberg does: an error would say that nothing was renamed."""
        renaming = copy(self)
        renaming.load_table = lambda _: None
        super(Guarded, renaming).rename_table(from_identifier, to_identifier)

    def new_name(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return namespace and name of a table from the new name of a rename, which has no catalog."""
        return parts

    def _write_metadata(self, metadata: Any, io: Any, metadata_path: str) -> None:  # noqa: ARG002 (PyIceberg's)
        """Write a metadata file without checking whether it exists: its name holds a new UUID."""
        file = self._load_file_io(metadata.properties, metadata_path).new_output(metadata_path)
        ToOutputFile.table_metadata(complete(metadata), file, overwrite=True)

    def _create_staged_table(self, *arguments: Any, **named: Any) -> Any:
        return self._with_name(super()._create_staged_table(*arguments, **named))

    def _update_and_stage_table(self, *arguments: Any) -> Any:
        return self._with_name(super()._update_and_stage_table(*arguments))

    def _with_name(self, staged: Any) -> Any:
        """Name the new metadata file after the statement, which proves later that the commit was its own."""
        staged.metadata_location = self._named(staged.metadata_location)
        return staged

    def _named(self, location: str) -> str:
        """Return the location of a new metadata file, named after the statement."""
        return UUID.sub(tag_uuid(self.statement), location) if self.statement else location

    def commit_table(self, table: Any, requirements: Any, updates: Any) -> Any:
        """Check the answer, which becomes the table's new metadata."""
        response = super().commit_table(table, requirements, updates)
        check_implementations(response.metadata.properties, f"the table with the metadata {response.metadata_location}")
        return response


class NoFiles(FileIO):  # type: ignore[misc]
    """Refuse every file."""

    def new_input(self, location: str) -> InputFile:
        raise FileNotFoundError(location)

    def new_output(self, location: str) -> OutputFile:
        raise PermissionError(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise PermissionError(str(location))


class _Version3(TableMetadataV3):  # type: ignore[misc]
    """Metadata of format version 3, which PyIceberg changes but does not write."""

    def model_dump_json(self, **options: Any) -> str:
        return str(IcebergBaseModel.model_dump_json(self, **options))


def complete(metadata: Any) -> Any:
    """Return metadata as Iceberg writes it.

    A sequence number of 0 is absent. Format version 1 repeats the current schema and partitioning; version 3 requires the id of the
    next row. https://iceberg.apache.org/spec/#table-metadata-fields
    """
    if any(snapshot.sequence_number == 0 for snapshot in metadata.snapshots):
        snapshots = [
            snapshot if snapshot.sequence_number else snapshot.model_copy(update={"sequence_number": None})
            for snapshot in metadata.snapshots
        ]
        metadata = metadata.model_copy(update={"snapshots": snapshots})
    if metadata.format_version == 1:
        fields = [field.model_dump() for field in metadata.spec().fields]
        return metadata.model_copy(update={"schema_": metadata.schema(), "partition_spec": fields})
    if metadata.format_version == 3:
        return _Version3.model_construct(**{**dict(metadata), "next_row_id": metadata.next_row_id or 0})
    return metadata
