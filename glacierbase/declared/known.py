"""What is known of a table: columns, partition fields, write order, identifier fields, properties.

A part that may have changed in another way is None, which means unknown, so that no value is wrong. Names are as the engine
compares them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from glacierbase.declared.trees import ColumnTree, trees_of
from glacierbase.formats.iceberg import FORMAT_VERSION
from glacierbase.model import partial_shape as parts
from glacierbase.model.names import name_parts
from glacierbase.model.partial_shape import PartialShape, Path
from glacierbase.model.shape import Shape
from glacierbase.model.transforms import IDENTITY, given_name
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.statement import (
    ColumnClause,
    Name,
    ParsedStatement,
    Query,
    Subject,
    Transform,
)
from glacierbase.sql.types import types_of

# A quoted part of a name. With a dot in one, the text of a path does not tell its parts.
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")
# `KnownTable.using` of a view.
VIEW = "view"
KnownColumns: TypeAlias = Mapping[str, ColumnTree]


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field by which a table is partitioned or sorted.

    Attributes:
        source: the path of its column.
        transform: Iceberg's name of its function, with the width: `bucket(16)`; `identity` for the column itself.
        direction, nulls: only for a field of a write order.
    """

    name: str
    source: Path
    transform: str = IDENTITY.name
    direction: str = ""
    nulls: str = ""


# Nothing is known of the properties of a table that was replaced, and that is not known itself.
REPLACED = "replaced properties"
NOTHING = PartialShape(Shape("", None, "", None, ()), frozenset({parts.EVERY_PART}))
# A table of which no statement declares anything; its changes do.
ANY_TABLE = replace(
    NOTHING,
    unknown=frozenset(
        {parts.COLUMNS, parts.PARTITIONING, parts.SORTING, parts.IDENTIFIERS, parts.PROPERTIES, parts.FORMAT_VERSION}
    ),
)


@dataclass(frozen=True)
class KnownTable:
    """What is known of a table. Names are as the engine compares them.

    Attributes:
        using: its format, where the statement that creates it names one; `view` for a view.
        model: the table that the changes were applied to.
        clustering: the words of the clustering key in capitals, among them its columns.
        sources: the tables that a view, a dynamic table or a shallow clone reads.
        query: of a view or a dynamic table.
        location: that a statement sets.
        subject: what the statement that creates it names; only on Snowflake.
        is_dropped: whether a statement dropped the table, and none creates it again.
    """

    using: str | None = None
    model: PartialShape = NOTHING
    clustering: tuple[str, ...] = ()
    sources: tuple[Name, ...] = ()
    query: Query | None = None
    location: str | None = None
    subject: Subject | None = None
    is_dropped: bool = False

    @cached_property
    def columns(self) -> KnownColumns | None:
        """The top-level columns, by name, in order."""
        if not self.model.knows(parts.COLUMNS):
            return None
        trees = trees_of(self.model.shape.columns)
        return {tree.name: tree for tree in trees} if self._is_exact else {tree.name.lower(): tree for tree in trees}

    @cached_property
    def partitioning(self) -> tuple[KnownField, ...] | None:
        """The fields of new rows."""
        if not self.model.knows(parts.PARTITIONING):
            return None
        return tuple(self._field(field.source, field.transform, field.name) for field in self.model.shape.partitioning)

    @cached_property
    def former(self) -> tuple[KnownField, ...]:
        """Fields by which older files of the table may be partitioned; new rows are not."""
        fields = (self._field(field.source, field.transform, field.name) for field in self.model.former)
        present = {(field.source, field.transform) for field in self.partitioning or ()}
        return tuple(field for field in fields if (field.source, field.transform) not in present)

    @cached_property
    def ordering(self) -> tuple[KnownField, ...] | None:
        """The fields of the write order."""
        if not self.model.knows(parts.SORTING):
            return None
        return tuple(
            replace(self._field(field.source, field.transform), direction=field.direction, nulls=field.nulls)
            for field in self.model.shape.sorting
        )

    @cached_property
    def identifiers(self) -> tuple[Path, ...] | None:
        """The paths of the identifier fields."""
        known = self.model.knows(parts.IDENTIFIERS)
        return tuple(self._path(name) for name in self.model.shape.identifiers) if known else None

    @cached_property
    def properties(self) -> Mapping[str, str] | None:
        """Set by statements."""
        if not self.model.knows(REPLACED):
            return None
        shape = self.model.shape
        version = {} if shape.format_version is None else {FORMAT_VERSION: str(shape.format_version)}
        known = {key: text for key, text in shape.properties.items() if f"property {key}" not in self.model.unknown}
        return {**known, **(version if self.model.knows(parts.FORMAT_VERSION) else {})}

    @property
    def unset(self) -> frozenset[str]:
        """The keys of properties that statements removed."""
        return self.model.absent

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known but the format."""
        return not self.model.knows() and replace(self, model=NOTHING) == KnownTable(self.using)

    def _field(self, source: str, transform: str, name: str | None = None) -> KnownField:
        given = name or given_name(".".join(name_parts(source)), transform, with_width=False)
        return KnownField(given.lower(), self._path(source), transform.replace("[", "(").replace("]", ")"))

    def _path(self, name: str) -> Path:
        return tuple(map(self._key, name_parts(name)))

    def _key(self, name: str) -> str:
        """Return a name as the engine compares it: those of Snowflake are folded when they are read."""
        return name if self._is_exact else name.lower()

    @property
    def _is_exact(self) -> bool:
        return self.model.shape.format == SNOWFLAKE.name

    def has(self, path: Path) -> bool | None:
        """Return whether the table has a column, or a field inside one; None where that is not known."""
        columns: KnownColumns | None = self.columns
        for number, name in enumerate(path):
            if columns is None or (number and not columns):
                return None
            if name not in columns:
                return False
            columns = columns[name].fields
        return True

    def column(self, path: Path) -> ColumnTree | None:
        """Return what is known of a column; None for a field inside a column, and for an unknown column."""
        return self.columns.get(path[0]) if self.columns and len(path) == 1 else None


def starts_with(path: Path, start: Path) -> bool:
    """Return whether `path` is `start` or a field inside it."""
    return path[: len(start)] == start


def field_of(transform: Transform, name: str | None = None) -> KnownField | None:
    """Return the field of a transform, or None where its column is not known.

    Args:
        name: given by AS; default the name that Iceberg gives.
    """
    columns = transform.columns
    if len(columns) != 1 or any("." in quoted for quoted in _QUOTED.findall(transform.text)):
        return None
    given = name or given_name(columns[0], transform.iceberg, with_width=False)
    function = transform.iceberg.replace("[", "(").replace("]", ")")
    return KnownField(given.lower(), tuple(columns[0].lower().split(".")), function)


def known_type(text: str | None) -> str | None:
    """Return a type of Spark in one spelling, or None where it is not supported."""
    try:
        return types_of(text, SPARK.name)[0] if text else None
    except UnsupportedClause:
        return None


def is_named(known: KnownField, dropped: KnownField) -> bool:
    """Return whether a statement that drops a field, by its name or its transform, means this field."""
    is_same = (known.source, known.transform) == (dropped.source, dropped.transform)
    return is_same or (dropped.transform == IDENTITY.name and known.name == dropped.name)


def view_columns(statement: ParsedStatement) -> Path | None:
    """Return the columns of the view that a statement defines, as the engine compares them; None where they are not known."""
    listed = tuple(part.key[-1] for part in statement.parts if isinstance(part, ColumnClause))
    return listed or (statement.query and statement.query.columns) or None
