"""A table of which some parts are not known, and why the engine refuses a change of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from glacierbase.model.shape import Shape

# The names from a column to a field inside it, without quotes.
Path: TypeAlias = tuple[str, ...]

# The parts of a table that may not be known, beside those of one column or property: `type id`, `property owner`.
EVERY_PART, COLUMNS, PARTITIONING, SORTING, IDENTIFIERS, PROPERTIES, FORMAT_VERSION = (
    "*", "columns", "partitioning", "sorting", "identifiers", "properties", "format version",
)  # fmt: skip
# The names of the partition fields, and the fields by which older files are partitioned.
PARTITION_NAMES, FORMER = "partition names", "former partitioning"


@dataclass(frozen=True, slots=True)
class FormerField:
    """A field by which older files of a table are partitioned; it reserves its name and may get it back."""

    name: str
    source: str
    transform: str


@dataclass(frozen=True, slots=True)
class PartialShape:
    """A table of which some parts are not known.

    Attributes:
        shape: its parts that are not known have any value.
        unknown: the parts that are not known. `properties` are those that are neither listed nor in `absent`; `property delta.*`
            are those of them that begin so.
        absent: the keys of properties that are known to be unset.
        former: the removed partition fields whose columns exist.
    """

    shape: Shape
    unknown: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    former: tuple[FormerField, ...] = ()

    def knows(self, *parts: str) -> bool:
        """Return whether all of these parts are known."""
        return self.unknown.isdisjoint((EVERY_PART, *parts))

    def knows_all(self, parts: Iterable[str]) -> bool:
        """Return whether all of these parts are known, those of properties by their keys."""
        return all(
            self.knows_property(part.removeprefix("property ")) if part.startswith("property ") else self.knows(part)
            for part in parts
        )

    def knows_property(self, key: str) -> bool:
        """Return whether it is known whether a property is set, and its value."""
        part = f"property {key}"
        if not self.knows(part):
            return False
        if key in self.shape.properties or key in self.absent:
            return True
        return self.knows(PROPERTIES) and not any(
            unknown.endswith("*") and part.startswith(unknown[:-1]) for unknown in self.unknown
        )

    def without(self, *parts: str) -> PartialShape:
        """Return the table with more parts that are not known."""
        return replace(self, unknown=self.unknown | set(parts))


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the engine refuses a change.

    Attributes:
        kind: a word for the cause, by which rules choose: `absent`, `exists`, `in use`, `type`, `required`, `name`, `reserved`,
            `duplicate`, `default`, `version`, `place`, `width`, `no field`, `no identifier`,
            `no table`.
        reason: a clause.
    """

    kind: str
    reason: str
