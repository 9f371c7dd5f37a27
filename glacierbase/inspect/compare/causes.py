"""Why a part of a table differs between two environments: its last change in each, and what their versions say about it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from glacierbase.history.shapes import Origin
from glacierbase.inspect.compare.state import PartChanges, TableParts
from glacierbase.model.differences import partition_text
from glacierbase.model.shape import Shape
from glacierbase.sql.about import COLUMN_FACTS, covering

# What is said about a part, by subject.
_About = Mapping[str, str]


class Parts:
    """Where the parts of a table are from in one environment."""

    def __init__(self, found: TableParts) -> None:
        self._changes = {part: each for each in found.changes for part in each.parts}
        self._statements = [(int(each.version), each.parts) for each in found.statements]
        self._by_version = dict(self._statements)

    def last_change(self, part: str) -> PartChanges | None:
        """Return the last change of a part; None where it never changed."""
        what, _, name = part.partition(" ")
        around = f"column {name}" if what in COLUMN_FACTS else ""
        return self._changes.get(part) or self._changes.get(around)

    def said(self, number: int, part: str) -> _About:
        """Return what the statements of a version say about a part; empty where none is about it."""
        found = self._by_version.get(number, {})
        return {subject: found[subject] for subject in covering(part) if subject in found}

    def versions_about(self, part: str) -> Iterator[int]:
        """Yield the versions with a statement about a part, the last one first."""
        yield from (number for number, _ in reversed(self._statements) if self.said(number, part))


@dataclass
class Causes:
    """Why parts differ between two environments.

    Attributes:
        outside: by environment, the version whose run found the change that no migration made.
        versions: that did not do the same in both, and are about the part.
        variables: versions that say something else about the part in the other environment.
        is_doubtful: whether an environment may have changed the part in another way.
    """

    outside: dict[str, str | None] = field(default_factory=dict)
    versions: set[int] = field(default_factory=set)
    variables: set[int] = field(default_factory=set)
    is_doubtful: bool = False

    def add(self, other: Causes) -> None:
        """Add the causes of another part."""
        self.outside |= other.outside
        self.versions |= other.versions
        self.variables |= other.variables
        self.is_doubtful |= other.is_doubtful


@dataclass(frozen=True, slots=True)
class Pair:
    """A table in two environments.

    Attributes:
        parts: by environment; of one of them only, where the other one is not known.
        differs: returns whether the environments did not run the same of a version.
        renders: returns whether a version was rendered differently.
    """

    parts: Mapping[str, Parts]
    differs: Callable[[int], bool]
    renders: Callable[[int], bool]

    def causes(self, parts: Sequence[str]) -> Causes:
        """Return why parts differ that make up one difference."""
        found = Causes()
        for part in parts:
            found.add(self._of(part))
        return found

    def _of(self, part: str) -> Causes:
        found = Causes()
        for environment, parts in self.parts.items():
            change = parts.last_change(part)
            made = self._made(environment, change, part, found)
            for number in parts.versions_about(part):
                self._compare(number, part, found)
                # Those before it left nothing; those after the last change had no effect here, but may have had one there.
                if made is None or number == made:
                    break
        if found.versions or found.is_doubtful:
            found.variables.clear()
        return found

    def _made(self, environment: str, change: PartChanges | None, part: str, found: Causes) -> int | None:
        """Return the version that changed a part last; None where that was no migration, which is added to the causes."""
        if change is None:
            return None
        if change.origin is Origin.MIGRATION and change.version is not None:
            number = int(change.version)
            if not self.parts[environment].said(number, part):
                if self.differs(number):
                    found.versions.add(number)
                else:
                    found.is_doubtful = True
            return number
        if change.origin is Origin.NOT_RECORDED:
            found.is_doubtful = True
        else:
            found.outside[environment] = change.version
        return None

    def _compare(self, number: int, part: str, found: Causes) -> None:
        """Add a version to the causes if its statements on a part are not the same in both environments."""
        one, *others = (parts.said(number, part) for parts in self.parts.values())
        if others == [one]:
            return
        if self.differs(number):
            found.versions.add(number)
        elif others and self.renders(number):
            found.variables.add(number)


def parts_of(what: str, name: str, before: Shape | None, after: Shape | None) -> Sequence[str]:
    """Return the parts that a difference between two shapes consists of, named as in `TableParts`.

    Args:
        what, name: of the difference.
    """
    subject = f"{what} {name}".casefold()
    if what == "table" or before is None or after is None:
        return ["table"]
    if what == "order of columns":
        return [what, *_moved(_names(before), _names(after))]
    if what not in ("partitioning", "sorting", "identifiers"):
        return [subject.rstrip()]
    one, other = _listed(what, before), _listed(what, after)
    # The names of columns that are in one environment only are part of the difference.
    columns = {each for shape in (before, after) for each in _sources(what, shape)}
    alone = sorted(columns & (set(_names(before)) ^ set(_names(after))))
    return [*((one ^ other) or one), *(f"column {each}" for each in alone)]


def _names(shape: Shape) -> list[str]:
    return [each.name.casefold() for each in shape.columns]


def _moved(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    """Yield the columns whose place among those of both shapes differs."""
    places = {name: place for place, name in enumerate(each for each in other if each in one)}
    kept = [each for each in one if each in places]
    yield from (f"column {name}" for place, name in enumerate(kept) if places[name] != place)


def _listed(what: str, shape: Shape) -> set[str]:
    if what == "sorting":
        return {"sorting"}
    fields = map(partition_text, shape.partitioning) if what == "partitioning" else shape.identifiers
    return {f"{what} {each}".casefold() for each in fields}


def _sources(what: str, shape: Shape) -> Iterator[str]:
    """Yield the columns by which a table is partitioned or sorted, or which identify its rows."""
    fields = shape.partitioning if what == "partitioning" else shape.sorting
    names = shape.identifiers if what == "identifiers" else [each.source for each in fields]
    yield from map(str.casefold, names)
