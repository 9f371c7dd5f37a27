"""The noun `TableVersion`: where a table's history of commits has arrived at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from glacierbase.model.shape import Shape


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One version of an Iceberg table. Every commit, of data or of metadata, makes a new one.

    Attributes:
        table: the table's name, as the history records names.
        uuid: of the table; another table of the same name has another one.
        metadata: the location of the metadata file to which the catalog points.
        sequence: the sequence number of the snapshot that was added last; 0 before the first one, and in format version 1.
        previous: the location of the metadata file before; None where there is none.
        tag: of the statement that added the last snapshot; None where the snapshot names none.
        shape: of the table in that version, where it was read.
    """

    table: str
    uuid: str
    metadata: str
    sequence: int
    previous: str | None = None
    tag: str | None = None
    shape: Shape | None = None
