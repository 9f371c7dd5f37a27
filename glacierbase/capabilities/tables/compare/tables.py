"""Compare the tables of several environments, and attribute their differences to causes. Pure.

Tables of two environments correspond if they have the same name. Where variables name other catalogs or namespaces, they
correspond if the first version that changes them is the same file and lists them at the same place: the rendered statements are
in the same order, whatever the variables are.

Columns are compared by name: field ids, uuids, schema ids and the location of metadata differ between any two environments. A
manual change is a difference of a table from its own record, where columns are compared by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest

from glacierbase.capabilities.tables.compare.results import (
    Cause,
    ComparedTable,
    ComparedVersion,
    TableDifference,
    Verdict,
)
from glacierbase.capabilities.tables.compare.state import (
    PartChanges,
    StateResult,
    TableParts,
    TableState,
    render_differently,
)
from glacierbase.model.differences import Difference, compare, partition_text
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Shape
from glacierbase.record.about import COLUMN_FACTS, covering
from glacierbase.record.drift import is_kept_by_engine
from glacierbase.record.shapes import ChangeOrigin

# Corresponding tables, by environment.
_Group = dict[str, TableState]
# Digests of what statements declare about a part, by subject.
_About = Mapping[str, str]


def compare_tables(states: Mapping[str, StateResult], versions: Sequence[ComparedVersion]) -> tuple[ComparedTable, ...]:
    """Return the tables that migrations of any environment change. Those that exist nowhere, such as views, are left out.

    Args:
        states: by environment.
        versions: the comparison of each version.
    """
    history = _History(states, {version.number: version for version in versions})
    compared = (history.compared(group) for group in history.groups())
    return tuple(sorted((table for table in compared if table), key=lambda table: table.table))


@dataclass(frozen=True, slots=True)
class _ObservedTable:
    """One table of a group in one environment.

    Attributes:
        shape: after the migrations; None where there is no table.
        parts: the origins of its parts; None where they are not known.
    """

    environment: str
    shape: Shape | None
    parts: Parts | None


class _History:
    """What the environments record about tables.

    Attributes:
        names: the names of the environments.
    """

    def __init__(self, states: Mapping[str, StateResult], versions: Mapping[int, ComparedVersion]) -> None:
        self.names = tuple(states)
        self._states = states
        self._versions = versions
        # By environment and table: the numbers of the versions that change it, each with the place of the table in its list.
        self._changed_by: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for name, state in states.items():
            for version in sorted(state.versions, key=lambda version: version.number):
                for place, table in enumerate(version.tables):
                    self._changed_by.setdefault((name, table), []).append((version.number, place))

    def groups(self) -> Iterable[_Group]:
        """Return the groups of corresponding tables."""
        by_name: dict[str, _Group] = {}
        for name, state in self._states.items():
            for table in state.tables:
                by_name.setdefault(table.table, {})[name] = table
        groups: list[_Group] = []
        by_place: dict[tuple[int, int], _Group] = {}
        for group in by_name.values():
            places = list(filter(None, (self._first(name, table.table) for name, table in group.items())))
            same = next((by_place[place] for place in places if place in by_place), None)
            if same is not None and same.keys().isdisjoint(group):
                same.update(group)
                continue
            groups.append(group)
            by_place.update((place, group) for place in places if place not in by_place)
        return groups

    def _first(self, environment: str, table: str) -> tuple[int, int] | None:
        """Return the first version that changes a table, and the place of the table in it; None where that proves nothing."""
        first = next(iter(self._changed_by.get((environment, table), ())), None)
        return None if first is None or self._versions[first[0]].verdict is Verdict.EDITED else first

    def compared(self, group: _Group) -> ComparedTable | None:
        """Return the comparison of a table; None where it exists in no environment. An unmanaged one is not compared."""
        if any(table.unmanaged for table in group.values()):
            name = next(iter(group.values())).table
            names = {environment: table.table for environment, table in group.items() if table.table != name}
            return ComparedTable(name, "unmanaged", names, ())
        versions = sorted(
            {number for name, table in group.items() for number, _ in self._changed_by.get((name, table.table), ())}
        )
        observed = [table for name in self.names if (table := self._observed(name, group.get(name), versions))]
        if not any(table.shape for table in observed) and not any(table.altered for table in group.values()):
            return None
        reference = _reference(observed)
        between = (difference for table in observed for difference in self._between(reference, table, versions))
        # A change in the environment of the reference differs from all others.
        distinct = {
            (difference.environment, difference.cause, difference.what, difference.name, difference.after): difference
            for difference in (*between, *_outside(group))
        }.values()
        name = group[reference.environment if reference and reference.environment in group else next(iter(group))].table
        names = {environment: table.table for environment, table in group.items() if table.table != name}
        verdict = "unknown" if len(observed) < 2 else "equal"
        causes = [cause for cause in Cause if any(difference.cause is cause for difference in distinct)]
        return ComparedTable(name, str(causes[0]) if causes else verdict, names, tuple(distinct))

    def _observed(self, name: str, table: TableState | None, versions: Sequence[int]) -> _ObservedTable | None:
        """Return the table in one environment; None where it is not known whether there is one."""
        if table is not None:
            parts = Parts(table.parts) if table.parts else None
            return _ObservedTable(name, table.shape, parts) if table.is_known else None
        # A version in a squash, or whose statements were not understood, may have changed the table here.
        states = (
            self._versions[number].states.get(name) for number in versions if self._progress(number, name) is not None
        )
        may_exist = any(state and not state.tables for state in states)
        return None if may_exist else _ObservedTable(name, None, Parts(TableParts()))

    def _between(
        self, reference: _ObservedTable | None, table: _ObservedTable, versions: Sequence[int]
    ) -> Iterator[TableDifference]:
        """Yield how a table differs from that of the reference, each difference with its cause."""
        if reference is None or table is reference:
            return
        differ = partial(self._differs, first=reference.environment, second=table.environment)
        sides = {side.environment: side.parts for side in (reference, table) if side.parts is not None}
        pair = Pair(sides, differ, partial(self._renders, first=reference.environment, second=table.environment))
        reference_shape, shape = _plain(reference.shape), _plain(table.shape)
        for difference in differences(reference_shape, shape):
            causes = pair.causes(parts_of(difference.what, difference.name, reference_shape, shape))
            if len(sides) < 2:  # What the versions did to the part is not known.
                causes.versions |= set(filter(differ, versions))
            yield from self._explained(reference, table, difference, causes)

    def _explained(
        self, reference: _ObservedTable, table: _ObservedTable, difference: Difference, causes: Causes
    ) -> Iterator[TableDifference]:
        """Yield a difference once for each of its causes."""
        before, after = difference.before, difference.after
        for name, version in causes.outside.items():
            inverse = replace(difference, before=after, after=before) if name == reference.environment else difference
            yield _difference(name, Cause.OUTSIDE, inverse, [version] if version else [])
        for cause, numbers in ((Cause.VERSIONS, causes.versions), (Cause.VARIABLES, causes.variables)):
            if numbers:
                versions = [self._versions[number].label for number in sorted(numbers)]
                yield _difference(table.environment, cause, difference, versions)
        if not (causes.outside or causes.versions or causes.variables):
            yield _difference(table.environment, Cause.UNEXPLAINED, difference, ())

    def _progress(self, number: int, name: str) -> int | None:
        """Return how many statements of a version ran in an environment, -1 for all of them; None where none was started."""
        state = self._versions[number].states.get(name)
        if state is None or (state.applied_at is None and not state.statements_done and state.stopped_at is None):
            return None
        return -1 if state.applied_at is not None else state.statements_done

    def _differs(self, number: int, first: str, second: str) -> bool:
        """Return whether the environments ran different content for a version."""
        states = [self._versions[number].states.get(name) for name in (first, second)]
        checksums = [set(state.checksums) for state in states if state]
        is_edited = len(checksums) == 2 and not checksums[0] & checksums[1]
        return is_edited or self._progress(number, first) != self._progress(number, second)

    def _renders(self, number: int, first: str, second: str) -> bool:
        """Return whether a version was rendered differently."""
        states = (self._versions[number].states.get(name) for name in (first, second))
        return render_differently(filter(None, states))


def _reference(tables: Sequence[_ObservedTable]) -> _ObservedTable | None:
    """Return the reference environment: the first one with the most frequent shape."""
    shapes = [_plain(table.shape) for table in tables]
    counts = [sum(shape == other or not differences(shape, other) for other in shapes) for shape in shapes]
    return tables[counts.index(max(counts))] if tables else None


def _outside(group: _Group) -> Iterator[TableDifference]:
    """Yield how tables differ from their own records."""
    for name, table in group.items():
        for difference in table.altered:
            yield _difference(name, Cause.OUTSIDE, difference, ())


def _difference(environment: str, cause: Cause, of: Difference, versions: Sequence[str]) -> TableDifference:
    return TableDifference(environment, cause, of.what, of.name, of.before, of.after, tuple(versions))


def _plain(shape: Shape | None) -> Shape | None:
    """Return a shape without the values that differ between any two environments."""
    if shape is None:
        return None
    return replace(
        shape,
        table="",
        uuid=None,
        columns=tuple(replace(column, id=None) for column in shape.columns),
        partitioning=tuple(replace(field, id=None, name="") for field in shape.partitioning),
        metadata_location=None,
        schema_id=None,
        spec_id=None,
        sort_order_id=None,
    )


class Parts:
    """The origins of the parts of a table in one environment."""

    def __init__(self, parts: TableParts) -> None:
        self._changes = {part: change for change in parts.changes for part in change.parts}
        self._statements = [(int(statement.version), statement.parts) for statement in parts.statements]
        self._by_version = dict(self._statements)

    def last_change(self, part: str) -> PartChanges | None:
        """Return the last change of a part; None where it never changed."""
        what, _, name = part.partition(" ")
        around = f"column {name}" if what in COLUMN_FACTS else ""
        return self._changes.get(part) or self._changes.get(around)

    def said(self, number: int, part: str) -> _About:
        """Return what the statements of a version declare about a part; empty if none is about it."""
        parts = self._by_version.get(number, {})
        return {subject: parts[subject] for subject in covering(part) if subject in parts}

    def versions_about(self, part: str) -> Iterator[int]:
        """Yield the versions with a statement about a part, the last one first."""
        yield from (number for number, _ in reversed(self._statements) if self.said(number, part))


@dataclass
class Causes:
    """Why parts differ between two environments.

    Attributes:
        outside: by environment, the version whose run observed a change that no migration made.
        versions: those that are about the part and differ between the environments.
        variables: versions whose rendered statements on the part differ.
        is_doubtful: whether the part may have been changed otherwise.
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
        parts: by environment; those of one only, where those of the other are not known.
        differs: returns whether the environments ran different content for a version.
        renders: returns whether a version was rendered differently.
    """

    parts: Mapping[str, Parts]
    differs: Callable[[int], bool]
    renders: Callable[[int], bool]

    def causes(self, parts: Sequence[str]) -> Causes:
        """Return why the parts of one difference differ."""
        causes, is_moved = Causes(), False
        for part in parts:
            of_part = self._of(part)
            causes.add(of_part)
            is_moved |= part.startswith("column ") and bool(of_part.versions)
        if is_moved:  # What is said of a name is about another column.
            causes.variables.clear()
        return causes

    def _of(self, part: str) -> Causes:
        causes = Causes()
        for environment, parts in self.parts.items():
            change = parts.last_change(part)
            made = self._made(environment, change, part, causes)
            for number in parts.versions_about(part):
                self._compare(number, part, causes)
                # Earlier ones left nothing; later ones had no effect here, but may have had one in the other environment.
                if made is None or number == made:
                    break
        if causes.versions or causes.is_doubtful:
            causes.variables.clear()
        return causes

    def _made(self, environment: str, change: PartChanges | None, part: str, causes: Causes) -> int | None:
        """Return the version that changed a part last; None where no migration did, which is added to the causes."""
        if change is None:
            return None
        if change.origin is ChangeOrigin.MIGRATION and change.version is not None:
            number = int(change.version)
            if not self.parts[environment].said(number, part):
                if around := _around(part):  # It has changed with the column around it.
                    causes.add(self._of(around))
                elif self.differs(number):
                    causes.versions.add(number)
                else:
                    causes.is_doubtful = True
            return number
        if change.origin is ChangeOrigin.NOT_RECORDED:
            causes.is_doubtful = True
        else:
            causes.outside[environment] = change.version
        return None

    def _compare(self, number: int, part: str, causes: Causes) -> None:
        """Add a version to the causes if its statements on a part are not the same in both environments."""
        first, *others = (parts.said(number, part) for parts in self.parts.values())
        if others == [first]:
            return
        if self.differs(number):
            causes.versions.add(number)
        elif others and self.renders(number):
            causes.variables.add(number)


def _around(part: str) -> str | None:
    """Return the column around a field; None for another part."""
    what, _, name = part.partition(" ")
    *around, _ = name_parts(name) if what == "column" else ("",)
    return f"column {name_of(around)}" if around else None


def parts_of(what: str, name: str, before: Shape | None, after: Shape | None) -> Sequence[str]:
    """Return the parts that a difference between two shapes consists of, named as in `TableParts`.

    Args:
        what, name: kind and name of the difference.
    """
    subject = f"{what} {name}".casefold()
    if what == "table" or before is None or after is None:
        return ["table"]
    if what == "order of columns":
        return [what, *_moved(_names(before), _names(after))]
    if what in COLUMN_FACTS:  # Another column may have received the name.
        return [subject, f"column {name}".casefold()]
    if what not in ("partitioning", "sorting", "identifiers"):
        return [subject.rstrip()]
    parts_before, parts_after = _listed(what, before), _listed(what, after)
    # A field follows its column, which may have been renamed.
    sources = zip_longest(_sources(what, before), _sources(what, after))
    columns = {name for pair in sources if len({*pair}) > 1 for name in pair if name}
    return [*((parts_before ^ parts_after) or parts_before), *(f"column {name}" for name in sorted(columns))]


def _names(shape: Shape) -> list[str]:
    return [column.name.casefold() for column in shape.columns]


def _moved(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield the columns whose place among those of both shapes differs."""
    places = {name: place for place, name in enumerate(place for place in after if place in before)}
    kept = [place for place in before if place in places]
    yield from (f"column {name}" for place, name in enumerate(kept) if places[name] != place)


def _listed(what: str, shape: Shape) -> set[str]:
    if what == "sorting":
        return {"sorting"}
    fields = map(partition_text, shape.partitioning) if what == "partitioning" else shape.identifiers
    return {f"{what} {name}".casefold() for name in fields}


def _sources(what: str, shape: Shape) -> Iterator[str]:
    """Yield the columns by which a table is partitioned or sorted, or which identify its rows."""
    fields = shape.partitioning if what == "partitioning" else shape.sorting
    names = shape.identifiers if what == "identifiers" else [field.source for field in fields]
    yield from map(str.casefold, names)


def differences(before: Shape | None, after: Shape | None) -> Sequence[Difference]:
    """Return the differences, without what engines set by themselves. A table that is missing on one side is one difference."""
    if before is None:
        return (
            [replace(difference, before=None, after=difference.before) for difference in differences(after, None)]
            if after
            else []
        )
    changes = compare({before.table: before}, {before.table: after} if after else {})
    return [difference for change in changes for difference in change.diff if not is_kept_by_engine(difference)]
