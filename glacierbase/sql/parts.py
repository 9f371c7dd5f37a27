"""The clauses of a statement as frozen values. Texts are as written; names are without quotes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Place(NamedTuple):
    """Line and column in the text of the statement, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Part:
    """A clause.

    Attributes:
        operation: what it does, a word of `OPERATIONS`.
        place: of its first word.
    """

    operation: str
    place: Place


@dataclass(frozen=True, slots=True)
class Column(Part):
    """A column that is declared: of `add_column`, `replace_columns`, and of `create_table` and its kin.

    Attributes:
        path: of a nested field, several names.
        key: the path as the engine compares it, as of all parts below.
        type: None where the statement declares none, as in a view.
        nullable: False for NOT NULL.
        default: the text of its default expression.
        generated: the text of the expression after GENERATED ALWAYS AS.
        position: `first`, or `after` and a name.
        primary_key: PRIMARY KEY among its options.
    """

    path: tuple[str, ...]
    type: str | None
    nullable: bool = True
    default: str | None = None
    generated: str | None = None
    comment: str | None = None
    position: str | None = None
    key: tuple[str, ...] = ()
    primary_key: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn(Part):
    """A column that is dropped."""

    path: tuple[str, ...]
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameColumn(Part):
    """A column that is renamed."""

    path: tuple[str, ...]
    new: str
    key: tuple[str, ...] = ()
    new_key: str = ""


@dataclass(frozen=True, slots=True)
class AlterColumn(Part):
    """One change of a column. The operation tells which attribute holds it; the others are None.

    Attributes:
        type: of `alter_column_type`.
        nullable: of `alter_column_nullability`: False for SET NOT NULL.
        comment: of `alter_column_comment`.
        position: of `alter_column_position`: `first`, or `after` and a name.
        default: of `alter_column_default`; None for DROP DEFAULT.
    """

    path: tuple[str, ...]
    type: str | None = None
    nullable: bool | None = None
    comment: str | None = None
    position: str | None = None
    default: str | None = None
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Property(Part):
    """A table property: of `set_properties`, `unset_properties` (no value), and of `create_table` and its kin.

    Attributes:
        place: of the key.
        value: without quotes; None of UNSET.
        value_place: of the value.
    """

    key: str
    value: str | None = None
    value_place: Place | None = None


@dataclass(frozen=True, slots=True)
class Transform:
    """The transform of a partition or sort field: `bucket(16, id)`, or a column.

    Attributes:
        text: as written.
        function: in lower case; empty for a column.
        arguments: each as written without quotes: `("16", "id")`; of a column, its name.
    """

    text: str
    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionField(Part):
    """A partition field: of `add_partition_field`, `drop_partition_field`, `replace_partition_field`, and of `create_table`.

    Attributes:
        transform: the new one, or the one that is dropped; a column's name may also be that of a field.
        name: the one given by AS.
        replaces: of `replace_partition_field`, the field before.
    """

    transform: Transform
    name: str | None = None
    replaces: Transform | None = None


@dataclass(frozen=True, slots=True)
class SortField:
    """A field of a write order.

    Attributes:
        direction: `asc`, `desc`, or empty.
        nulls: `first`, `last`, or empty.
    """

    transform: Transform
    direction: str = ""
    nulls: str = ""


@dataclass(frozen=True, slots=True)
class WriteOrder(Part):
    """The order (`set_write_order`) or the distribution (`set_distribution`) of writes.

    Attributes:
        fields: empty for UNORDERED.
        distribution: `partition`, or empty.
        locally: LOCALLY ORDERED BY.
    """

    fields: tuple[SortField, ...] = ()
    distribution: str = ""
    locally: bool = False


@dataclass(frozen=True, slots=True)
class Fields(Part):
    """Columns by name: of `set_identifier_fields`, `drop_identifier_fields` and `cluster_by` (empty: NONE or AUTO)."""

    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference(Part):
    """A branch or a tag that is created, replaced or dropped.

    Attributes:
        or_replace: CREATE OR REPLACE, and REPLACE.
        snapshot: the text after AS OF VERSION.
        retain: the text after RETAIN.
    """

    name: str
    or_replace: bool = False
    if_exists: bool = False
    if_not_exists: bool = False
    snapshot: str | None = None
    retain: str | None = None


@dataclass(frozen=True, slots=True)
class Constraint(Part):
    """A constraint that is added or dropped.

    Attributes:
        name: None where it has none.
        text: as written, from its first word: `CHECK (a > 0)`.
    """

    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call.

    Attributes:
        name: in lower case; None of a positional one.
        text: as written.
        string: its value where it is a string literal.
    """

    name: str | None
    text: str
    string: str | None


@dataclass(frozen=True, slots=True)
class DroppedNamespace(Part):
    """A namespace that is dropped, or replaced by an empty one.

    Attributes:
        name: its parts, as written, without quotes.
    """

    name: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call(Part):
    """A procedure that is called.

    Attributes:
        procedure: the parts of its name, as written, such as `("lake", "system", "expire_snapshots")`.
    """

    procedure: tuple[str, ...]
    arguments: tuple[Argument, ...]

    def argument(self, name: str) -> Argument | None:
        """Return the argument that is given by this name, or None."""
        return next((each for each in self.arguments if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Feature(Part):
    """A table feature of Delta that is dropped (`other`).

    Attributes:
        truncate_history: DROP FEATURE … TRUNCATE HISTORY.
    """

    name: str
    truncate_history: bool = False
