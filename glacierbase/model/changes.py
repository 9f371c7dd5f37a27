"""The changes of a table.

A change names columns by their paths in the table before it; `declared/` reads changes from statements, applies them, finds them
between two shapes, and writes them as statements.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TypeAlias

from glacierbase.model.names import name_parts
from glacierbase.model.partial_shape import (
    COLUMNS,
    EVERY_PART,
    FORMAT_VERSION,
    IDENTIFIERS,
    PARTITIONING,
    SORTING,
    Path,
)
from glacierbase.model.shape import Column, Shape, SortField


@dataclass(frozen=True, slots=True)
class ColumnAdded:
    """A column, or a field inside one, that is added.

    Attributes:
        columns: the column, and the fields inside it.
        after: the name of the column before it; empty for the first place, None for the last one.
    """

    columns: tuple[Column, ...]
    after: str | None = None

    @property
    def path(self) -> Path:
        return tuple(name_parts(self.columns[0].name))


@dataclass(frozen=True, slots=True)
class ColumnsReplaced:
    """All columns are dropped, and these are added: one of the same name is another column."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ColumnDropped:
    """A column that is dropped.

    Attributes:
        is_optional: whether it may be absent.
    """

    path: Path
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class ColumnRenamed:
    """A column that is renamed."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class ColumnRetyped:
    """A column that gets another type, as `sql.types` spells it."""

    path: Path
    type: str


@dataclass(frozen=True, slots=True)
class NullabilitySet:
    """A column that begins to refuse nulls, or to accept them."""

    path: Path
    required: bool


@dataclass(frozen=True, slots=True)
class ColumnCommented:
    """A column that gets a comment."""

    path: Path
    comment: str


@dataclass(frozen=True, slots=True)
class DefaultSet:
    """A column that gets a default, as JSON, or loses it."""

    path: Path
    default: str | None


@dataclass(frozen=True, slots=True)
class ColumnMoved:
    """A column that moves to another place, as `ColumnAdded.after` names it."""

    path: Path
    after: str


@dataclass(frozen=True, slots=True)
class PropertiesSet:
    """Properties that get values; the comment of the table is one of them."""

    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PropertiesUnset:
    """Properties that are removed."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FieldAdded:
    """A partition field that is added.

    Attributes:
        source: its column. Iceberg finds columns by their names with dots between, whatever part a dot is in.
        transform: as Iceberg spells it.
        name: None where the format gives the name.
    """

    source: str
    transform: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FieldDropped:
    """A partition field that is removed: the one with this column and transform, as `FieldAdded` has them.

    Attributes:
        name: where the table has no such column, that of the field; None where a column is meant in any case.
    """

    source: str
    transform: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FieldReplaced:
    """A partition field in place of another one."""

    dropped: FieldDropped
    added: FieldAdded


@dataclass(frozen=True, slots=True)
class OrderSet:
    """The order and the distribution of writes.

    Attributes:
        fields: their columns as in `FieldAdded`; None where the version of the format decides.
        distribution: the value of the property that the clause sets; None where it keeps the value.
    """

    fields: tuple[SortField, ...] | None
    distribution: str | None


@dataclass(frozen=True, slots=True)
class IdentifiersSet:
    """The identifier fields; no others remain."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdentifiersDropped:
    """Identifier fields that cease to identify rows."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConstraintAdded:
    """A check on the rows of a table."""

    name: str
    condition: str


@dataclass(frozen=True, slots=True)
class ConstraintDropped:
    """A check that is removed."""

    name: str


@dataclass(frozen=True, slots=True)
class ClusteringSet:
    """The columns by which a table is clustered."""

    columns: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class LocationSet:
    """The place of new files."""

    location: str


@dataclass(frozen=True, slots=True)
class ReferenceCreated:
    """A branch or a tag that is created or replaced; no part of a shape."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class ReferenceDropped:
    """A branch or a tag that is removed."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class TableCreated:
    """A table that is created.

    Attributes:
        shape: its format is empty where the statement names none; its partition fields and columns have no ids.
        is_optional: whether a table of the name may exist, and then stays.
        unknown: the parts that the statement does not determine, as of a `PartialShape`.
    """

    shape: Shape
    is_optional: bool = False
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TableReplaced:
    """A table that replaces the one of its name.

    Attributes:
        is_only: whether there must be one.
    """

    shape: Shape
    is_only: bool = False
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TableDropped:
    """A table that is dropped."""

    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class TableRenamed:
    """A table that gets another name, as the statement has it."""

    name: str


@dataclass(frozen=True, slots=True)
class RowsWritten:
    """Rows that are written.

    Attributes:
        evolves: whether the statement may add columns for them.
    """

    evolves: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A change that is not read, or that no statement makes.

    Attributes:
        parts: those that it may change.
    """

    why: str
    parts: frozenset[str] = field(default=frozenset({EVERY_PART}))


Change: TypeAlias = (
    ColumnAdded | ColumnsReplaced | ColumnDropped | ColumnRenamed | ColumnRetyped | NullabilitySet | ColumnCommented
    | DefaultSet | ColumnMoved | PropertiesSet | PropertiesUnset | FieldAdded | FieldDropped | FieldReplaced | OrderSet
    | IdentifiersSet | IdentifiersDropped | ConstraintAdded | ConstraintDropped | ClusteringSet | LocationSet
    | ReferenceCreated | ReferenceDropped | TableCreated | TableReplaced | TableDropped | TableRenamed | RowsWritten
    | Unknown
)  # fmt: skip


def parts_of(change: Change) -> frozenset[str]:
    """Return the parts of a table that a change is about, as `PartialShape.unknown` names them."""
    match change:
        case PropertiesSet():
            keys = frozenset(f"property {key}" for key, _ in change.values if key != "format-version")
            return keys | ({FORMAT_VERSION} if any(key == "format-version" for key, _ in change.values) else set())
        case PropertiesUnset():
            return frozenset(f"property {key}" for key in change.keys)
        case FieldAdded() | FieldDropped() | FieldReplaced():
            return frozenset({PARTITIONING})
        case OrderSet():
            return frozenset({SORTING, *([] if change.distribution is None else ["property write.distribution-mode"])})
        case IdentifiersSet() | IdentifiersDropped():
            return frozenset({IDENTIFIERS})
        case ConstraintAdded() | ConstraintDropped():
            return frozenset({f"property delta.constraints.{change.name.lower()}"})
        case ClusteringSet():
            return frozenset({"property clusteringColumns"})
        case TableCreated() | TableReplaced() | TableDropped() | TableRenamed():
            return frozenset({EVERY_PART})
        case Unknown():
            return change.parts
        case LocationSet() | ReferenceCreated() | ReferenceDropped():
            return frozenset()
        case RowsWritten():
            return frozenset({COLUMNS} if change.evolves else ())
    return frozenset({COLUMNS})


def key(change: Change) -> Hashable:
    """Return what two equal changes share, whatever the ids and the metadata files of the tables that they were read from."""
    return type(change).__name__, _comparable(change)


def _comparable(value: object, of: str = "") -> Hashable:
    match value:
        case Shape():
            parts = (value.columns, value.partitioning, value.sorting, frozenset(value.identifiers))
            return value.table, value.format, value.format_version, _comparable(parts), _comparable(value.properties)
        case dict():
            return frozenset(value.items())
        case tuple():
            return tuple(_comparable(inner, of) for inner in value)
        case str() if of in ("source", "names"):
            return ".".join(name_parts(value))  # Iceberg's clauses do not tell a dot in a name from one between two.
        case _ if is_dataclass(value):
            return tuple(
                _comparable(getattr(value, part.name), part.name) for part in fields(value) if part.name != "id"
            )
    return value
