"""Compare the tables of several environments, and attribute their differences to causes. Pure.

Tables of two environments correspond if they have the same name. Where variables name other catalogs or namespaces, they
correspond if the first version that changes them is the same file and lists them at the same place: the rendered statements are
in the same order, whatever the variables are.

Columns are compared by name: field ids, uuids, schema ids and the location of metadata differ between any two environments. A
manual change is a difference of a table from its own record, where columns are compared by id.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
    TableState,
    render_differently,
)
from glacierbase.model.differences import Difference, compare, partition_text
from glacierbase.model.shape import Shape
from glacierbase.record.drift import is_kept_by_engine
from glacierbase.record.shapes import ChangeOrigin

_FACTS_OF_COLUMNS = frozenset({"type", "required", "comment", "default"})
# Corresponding tables, by environment.
_Group = dict[str, TableState]
# The changes of a part of a table, oldest first, each with a digest of the value; and those of all its parts.
_Changes = Sequence[tuple[PartChanges, str | None]]
_Parts = Mapping[str, _Changes]


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
        parts: the changes of its parts; None where they are not known.
    """

    environment: str
    shape: Shape | None
    parts: _Parts | None


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
            parts = None if table.parts is None else _by_part(table.parts)
            return _ObservedTable(name, table.shape, parts) if table.is_known else None
        # A version in a squash, or whose statements were not understood, may have changed the table here.
        states = (
            self._versions[number].states.get(name) for number in versions if self._progress(number, name) is not None
        )
        may_exist = any(state and not state.tables for state in states)
        return None if may_exist else _ObservedTable(name, None, {})

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


def _is_same(change: PartChanges, other: PartChanges) -> bool:
    """Return whether the same version made two changes."""
    return (change.origin, int(change.version or 0)) == (other.origin, int(other.version or 0))


def _of_table(parts: _Parts) -> _Changes:
    """Return who made a table, and the migrations that renamed it."""
    changes = parts.get("table", ())
    return [*changes[:1], *(change for change in changes[1:] if change[0].origin is ChangeOrigin.MIGRATION)]


def _by_part(changes: Iterable[PartChanges]) -> _Parts:
    """Return the changes of each part, oldest first, each with the digest of its value."""
    parts: dict[str, list[tuple[PartChanges, str | None]]] = {}
    for change in changes:
        for part, digest in change.parts.items():
            parts.setdefault(part, []).append((change, digest))
    return parts


@dataclass
class Causes:
    """Why parts differ between two environments.

    Attributes:
        outside: by environment, the version whose run observed a change that no migration made.
        versions: those that changed the part and differ between the environments.
        variables: versions that made different values because they were rendered differently.
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

    parts: Mapping[str, _Parts]
    differs: Callable[[int], bool]
    renders: Callable[[int], bool]

    def causes(self, parts: Sequence[str]) -> Causes:
        """Return why the parts of one difference differ."""
        names, values = Causes(), Causes()
        for part in parts:
            of_part = self._of({name: known.get(part, ()) for name, known in self.parts.items()}, self.parts)
            (names if part.startswith("column ") else values).add(of_part)
        if names.versions or names.variables:  # What a variable made was made of another column.
            values.variables.clear()
        values.add(names)
        if values.outside or values.versions or values.variables:
            return values
        # A table that never had the part was made, or got its name, without it.
        without = [name for name, known in self.parts.items() if known.keys().isdisjoint(parts)]
        return self._of({name: _of_table(known) for name, known in self.parts.items()}, without)

    def _of(self, changes: Mapping[str, _Changes], environments: Collection[str]) -> Causes:
        """Return why a part differs, by its changes in these environments.

        Args:
            changes: those in each environment.
        """
        causes = Causes()
        for environment in environments:
            known = changes[environment]
            last = known[-1][0] if known else None
            if last and last.origin is ChangeOrigin.NOT_RECORDED:
                causes.is_doubtful = True
            elif last and last.origin is not ChangeOrigin.MIGRATION:
                causes.outside[environment] = last.version
            # A later change by another client does not make equal what a version made different.
            made = next((change for change in reversed(known) if change[0].origin is ChangeOrigin.MIGRATION), None)
            if made is not None:
                others = [change for name in changes.keys() - {environment} for change in changes[name]]
                self._compare(*made, [digest for change, digest in others if _is_same(change, made[0])], causes)
        if causes.versions or causes.is_doubtful:
            causes.variables.clear()
        return causes

    def _compare(self, change: PartChanges, digest: str | None, others: Sequence[str | None], causes: Causes) -> None:
        """Add a version that made a value to the causes if it did not make the same in the other environment.

        Args:
            others: what it made there, in order.
        """
        if digest is not None and others[-1:] == [digest]:
            return
        number = int(change.version or 0)
        if self.differs(number):
            causes.versions.add(number)
        elif digest is None:
            causes.is_doubtful = True
        elif len(self.parts) > 1 and self.renders(number):
            causes.variables.add(number)


def parts_of(what: str, name: str, before: Shape | None, after: Shape | None) -> Sequence[str]:
    """Return the parts that a difference between two shapes consists of, named as in `PartChanges`.

    Args:
        what, name: kind and name of the difference.
    """
    subject = f"{what} {name}".casefold()
    if what == "table" or before is None or after is None:
        return ["table"]
    if what == "order of columns":
        return [what, *_moved(_names(before), _names(after))]
    if what in _FACTS_OF_COLUMNS:  # Another column may have received the name.
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
