"""What statements declare of one table: columns, partition fields, write order, identifier fields, properties.

A part that is None is not known. Names are as the engine compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from glacierbase.sql.column_types import types_of
from glacierbase.sql.cursor import NotUnderstood
from glacierbase.sql.parts import Transform

Path: TypeAlias = tuple[str, ...]
# What Iceberg appends to a column's name for the name of a partition field.
_APPENDED = {
    **{unit: f"_{unit.removesuffix('s')}" for unit in ("years", "months", "days", "hours", "year", "month", "day", "hour")},
    "date": "_day", "date_hour": "_hour", "bucket": "_bucket", "truncate": "_trunc",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column, or a field inside one.

    Attributes:
        text: its type, as declared.
        fields: those directly inside, by name; None where the type is not understood.
        default: the text of its default expression.
    """

    text: str | None
    required: bool
    comment: str | None = None
    default: str | None = None
    fields: KnownColumns | None = field(default_factory=dict)

    @property
    def type(self) -> str | None:
        """Its type in Spark in one spelling; None where it is not known."""
        return known_type(self.text)


KnownColumns: TypeAlias = Mapping[str, KnownColumn]


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field by which a table is partitioned or sorted.

    Attributes:
        source: the path of its column.
        transform: its function with the width: `bucket(16)`; empty for the column itself.
        direction, nulls: of a write order.
    """

    name: str
    source: Path
    transform: str = ""
    direction: str = ""
    nulls: str = ""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """What is known of a table.

    Attributes:
        using: its format, where the statement that creates it names one.
        columns: the top-level ones, by name, in order.
        partitioning: the fields of new rows.
        former: fields that files of the table may still have, and new rows do not.
        ordering: the fields of the write order.
        identifiers: the paths of the identifier fields.
        properties: those that statements set.
        unset: the keys of those that statements removed.
    """

    using: str | None = None
    columns: Mapping[str, KnownColumn] | None = None
    partitioning: tuple[KnownField, ...] | None = None
    former: tuple[KnownField, ...] = ()
    ordering: tuple[KnownField, ...] | None = None
    identifiers: tuple[Path, ...] | None = None
    properties: Mapping[str, str] | None = None
    unset: frozenset[str] = frozenset()

    def column(self, path: Path) -> KnownColumn | None:
        """Return what is known of a column; None for a field inside of one, and for a column that is not known."""
        return self.columns.get(path[0]) if self.columns and len(path) == 1 else None

    def use_of(self, path: Path) -> str | None:
        """Return what of the table uses a column, or a field inside of it; None where nothing is known to."""
        for each in self.partitioning or ():
            if starts_with(each.source, path):
                return f"the partition field {each.name} uses it"
        if any(starts_with(each.source, path) for each in self.ordering or ()):
            return "the write order uses it"
        return "it is an identifier field" if any(starts_with(each, path) for each in self.identifiers or ()) else None


NOTHING = KnownTable()


def starts_with(path: Path, start: Path) -> bool:
    """Return whether a path is that of a column, or of a field inside of it."""
    return path[: len(start)] == start


def field_of(transform: Transform, name: str | None = None) -> KnownField | None:
    """Return the field of a transform, or None where its column is not known.

    Args:
        name: the one given by AS; default the one that Iceberg gives.
    """
    columns = [each for each in transform.arguments if not each.isdigit()]
    widths = ",".join(each for each in transform.arguments if each.isdigit())
    if len(columns) != 1 or ("`" in transform.text and "." in columns[0]):
        return None
    source = columns[0].lower()
    given = source + _APPENDED.get(transform.function, f"_{transform.function}" if transform.function else "")
    function = f"{transform.function}({widths})" if widths else transform.function
    return KnownField((name or given).lower(), tuple(source.split(".")), function)


def known_type(text: str | None) -> str | None:
    """Return a type of Spark in one spelling, or None where it is not supported."""
    try:
        return types_of(text, "spark")[0] if text else None
    except (NotUnderstood, RecursionError):  # A type may be nested as deep as its file is long.
        return None
