"""The noun `Shape`: a table without its rows, from which it can be created again, and by which two tables can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from glacierbase.model.codec import OMITTED


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field inside one.

    Attributes:
        id: stays the same when the column is renamed or moved; None where the table's format has no ids.
        name: the path from the column to the field, quoted where needed: `address.city`, `tags.element`, `prices.value.net`.
        type: in Spark's spelling, with the fields inside: `struct<city:string>`; in Iceberg's if Spark has no such type.
        required: whether it refuses nulls.
        default: the value for rows that are written without one, as JSON; None without a default.
    """

    id: int | None = field(metadata=OMITTED)
    name: str
    type: str
    required: bool = False
    comment: str | None = None
    default: str | None = None

    @property
    def described(self) -> str:
        """`bigint required`, or `bigint` if it may be null."""
        return f"{self.type}{' required' if self.required else ''}"


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field by which a table is partitioned.

    Attributes:
        source: the name of its column.
        transform: as Iceberg spells it: `identity`, `bucket[16]`, `day`.
    """

    id: int | None = field(metadata=OMITTED)
    name: str
    source: str
    transform: str


@dataclass(frozen=True, slots=True)
class SortField:
    """A field by which writers sort.

    Attributes:
        source: the name of its column.
        transform: as Iceberg spells it.
        direction: `asc` or `desc`.
        nulls: `first` or `last`.
    """

    source: str
    transform: str
    direction: str
    nulls: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A table at one moment.

    Attributes:
        table: its name as the history records names.
        uuid: the UUID of the table; another table with the same name has another. If the format has none, the record generates it.
        format: `iceberg`.
        columns: in order; the fields inside a column follow it.
        partitioning: the fields that new rows are partitioned by, without removed ones.
        identifiers: the names of the columns that identify a row.
        properties: as listed in the table's metadata.
        metadata_location: the location of the metadata from which the shape was read.
        schema_id, spec_id, sort_order_id: Iceberg's ids of the schema, the partition spec and the sort order in the metadata:
            https://iceberg.apache.org/spec/#table-metadata-fields
    """

    table: str
    uuid: str | None = field(metadata=OMITTED)
    format: str
    format_version: int | None = field(metadata=OMITTED)
    columns: tuple[Column, ...] = field(metadata=OMITTED)
    partitioning: tuple[PartitionField, ...] = ()
    sorting: tuple[SortField, ...] = ()
    identifiers: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    metadata_location: str | None = None
    schema_id: int | None = None
    spec_id: int | None = None
    sort_order_id: int | None = None


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One version of a table of Iceberg or Delta, or of a namespace. Every commit, of data or of metadata, creates a new one.

    Attributes:
        table: the qualified name of the table or the namespace.
        uuid: the UUID of the table; another table of the same name has another one. Empty for Delta and for namespaces.
        metadata: the location of the metadata file to which the catalog points; of Delta, number and time of the commit; of a
            namespace, a digest of its properties. Empty where there is none.
        sequence: the sequence number of the snapshot that was added last; 0 before the first one, and in format version 1; of
            Delta, the number of the commit.
        previous: the `metadata` of the version before, or None.
        tag: the tag of the statement that added the last snapshot, or made the commit to Delta; None if the table names none.
        shape: the shape of the table in that version, if it was read.
        by_engine: whether the engine read it, and not PyIceberg.
        is_namespace: whether it is that of a namespace.
    """

    table: str
    uuid: str
    metadata: str
    sequence: int
    previous: str | None = None
    tag: str | None = None
    shape: Shape | None = None
    by_engine: bool = False
    is_namespace: bool = False

    @classmethod
    def absent(cls, table: str, *, is_namespace: bool = False) -> TableVersion:
        """Return the version of a table or a namespace that does not exist."""
        return cls(table, "", "", 0, is_namespace=is_namespace)

    @property
    def exists(self) -> bool:
        """Whether there is such a table or namespace."""
        return bool(self.metadata)


@dataclass(frozen=True, slots=True)
class Version:
    """A table after one commit.

    Attributes:
        by: the user, or the engine and the application, that committed, where the commit names them.
        operation: of the commit, and its number; None where the format names none.
    """

    at: datetime
    shape: Shape
    by: str | None
    operation: str | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """The versions of a table, oldest first; the last one is the current one.

    Attributes:
        is_whole: whether these are all versions since the requested one that changed the shape; otherwise the oldest are missing.
    """

    versions: tuple[Version, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement that took effect, by the engine's log.

    Attributes:
        by: the user who ran it.
        operation: the type of the statement, and its id in the engine.
        catalog, namespace: those that completed the names in its text; None where the session had none.
        tag: the tag that its client gave it, or an empty text.
    """

    at: datetime
    by: str
    operation: str
    sql: str
    catalog: str | None
    namespace: str | None
    tag: str


@dataclass(frozen=True, slots=True)
class StatementLog:
    """What the engine's log shows of statements that name tables.

    Attributes:
        statements: newest first, each once.
        grant: the statement that gives the user the right to read the whole log; None where the user has it.
    """

    statements: tuple[LoggedStatement, ...]
    grant: str | None = None
