"""Compare the tables of several environments, and find out why they differ. Pure.

Tables of two environments are one table if they have the same name. Where variables name other catalogs or namespaces, they are
one if the first version that touches them is the same file and lists them at the same place: the rendered statements are in the
same order, whatever the variables are.

Columns are compared by name: field ids, uuids, schema ids and the location of metadata differ between any two environments. What
somebody altered by hand is the difference of a table from its own record, and there columns are compared by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from glacierbase.inspect.compare.causes import Causes, Pair, Parts, parts_of
from glacierbase.inspect.compare.differences import differences
from glacierbase.inspect.compare.results import Cause, ComparedTable, ComparedVersion, TableDifference, Verdict
from glacierbase.inspect.compare.state import StateResult, TableParts, TableState, render_differently
from glacierbase.model.differences import Difference
from glacierbase.model.shape import Shape

# The tables that are one, by environment.
_Group = dict[str, TableState]


def compare_tables(states: Mapping[str, StateResult], versions: Sequence[ComparedVersion]) -> tuple[ComparedTable, ...]:
    """Return the tables that migrations of any environment touch. Those that exist nowhere, such as views, are left out.

    Args:
        states: by environment.
        versions: how the environments stand with each version.
    """
    history = _History(states, {int(each.version): each for each in versions})
    found = (history.compared(group) for group in history.groups())
    return tuple(sorted((each for each in found if each), key=lambda each: each.table))


@dataclass(frozen=True, slots=True)
class _Seen:
    """One table of a group in one environment.

    Attributes:
        shape: that the migrations left; None where there is no table.
        parts: where its parts are from; None where that is not known.
    """

    environment: str
    shape: Shape | None
    parts: Parts | None


class _History:
    """What the environments record about tables.

    Attributes:
        names: of the environments.
    """

    def __init__(self, states: Mapping[str, StateResult], versions: Mapping[int, ComparedVersion]) -> None:
        self.names = tuple(states)
        self._states = states
        self._versions = versions
        # By environment and table: the numbers of the versions that touch it, each with the place of the table in its list.
        self._touched: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for name, state in states.items():
            for version in sorted(state.versions, key=lambda each: int(each.version)):
                for place, table in enumerate(version.tables):
                    self._touched.setdefault((name, table), []).append((int(version.version), place))

    def groups(self) -> Iterable[_Group]:
        """Return the tables that are one."""
        by_name: dict[str, _Group] = {}
        for name, state in self._states.items():
            for each in state.tables:
                by_name.setdefault(each.table, {})[name] = each
        groups: list[_Group] = []
        by_place: dict[tuple[int, int], _Group] = {}
        for group in by_name.values():
            places = list(filter(None, (self._first(name, each.table) for name, each in group.items())))
            same = next((by_place[place] for place in places if place in by_place), None)
            if same is not None and same.keys().isdisjoint(group):
                same.update(group)
                continue
            groups.append(group)
            by_place.update((place, group) for place in places if place not in by_place)
        return groups

    def _first(self, environment: str, table: str) -> tuple[int, int] | None:
        """Return the first version that touches a table, and the place of the table in it; None where that proves nothing."""
        first = next(iter(self._touched.get((environment, table), ())), None)
        return None if first is None or self._versions[first[0]].verdict is Verdict.EDITED else first

    def compared(self, group: _Group) -> ComparedTable | None:
        """Return the comparison of a table; None where it exists in no environment."""
        touching = sorted(
            {number for name, each in group.items() for number, _ in self._touched.get((name, each.table), ())}
        )
        seen = [each for name in self.names if (each := self._seen(name, group.get(name), touching))]
        if not any(each.shape for each in seen) and not any(each.altered for each in group.values()):
            return None
        reference = _reference(seen)
        between = (one for each in seen for one in self._between(reference, each, touching))
        # A change in the environment of the reference differs from all others.
        found = {
            (each.environment, each.cause, each.what, each.name, each.after): each
            for each in (*between, *_outside(group))
        }.values()
        name = group[reference.environment if reference and reference.environment in group else next(iter(group))].table
        names = {environment: each.table for environment, each in group.items() if each.table != name}
        verdict = "unknown" if len(seen) < 2 else "equal"
        causes = [cause for cause in Cause if any(each.cause is cause for each in found)]
        return ComparedTable(name, str(causes[0]) if causes else verdict, names, tuple(found))

    def _seen(self, name: str, table: TableState | None, touching: Sequence[int]) -> _Seen | None:
        """Return the table in one environment; None where it is not known whether there is one, and which."""
        if table is not None:
            parts = Parts(table.parts) if table.parts else None
            return _Seen(name, table.shape, parts) if table.is_known else None
        # Of a version whose statements were not understood, or that is in a squash, it is not known what it touched here.
        states = (
            self._versions[number].states.get(name) for number in touching if self._progress(number, name) is not None
        )
        return None if any(state and not state.tables for state in states) else _Seen(name, None, Parts(TableParts()))

    def _between(self, reference: _Seen | None, seen: _Seen, touching: Sequence[int]) -> Iterator[TableDifference]:
        """Yield how a table differs from that of the reference, each difference with its cause."""
        if reference is None or seen is reference:
            return
        differ = partial(self._differs, one=reference.environment, other=seen.environment)
        sides = {each.environment: each.parts for each in (reference, seen) if each.parts is not None}
        pair = Pair(sides, differ, partial(self._renders, one=reference.environment, other=seen.environment))
        one, other = _plain(reference.shape), _plain(seen.shape)
        for each in differences(one, other):
            causes = pair.causes(parts_of(each.what, each.name, one, other))
            if len(sides) < 2:  # What the versions did to the part is not known.
                causes.versions |= set(filter(differ, touching))
            yield from self._explained(reference, seen, each, causes)

    def _explained(
        self, reference: _Seen, seen: _Seen, difference: Difference, causes: Causes
    ) -> Iterator[TableDifference]:
        """Yield a difference once for each of its causes."""
        before, after = difference.before, difference.after
        for name, version in causes.outside.items():
            found = replace(difference, before=after, after=before) if name == reference.environment else difference
            yield _difference(name, Cause.OUTSIDE, found, [version] if version else [])
        for cause, numbers in ((Cause.VERSIONS, causes.versions), (Cause.VARIABLES, causes.variables)):
            if numbers:
                versions = [self._versions[number].version for number in sorted(numbers)]
                yield _difference(seen.environment, cause, difference, versions)
        if not (causes.outside or causes.versions or causes.variables):
            yield _difference(seen.environment, Cause.UNEXPLAINED, difference, ())

    def _progress(self, number: int, name: str) -> int | None:
        """Return how many statements of a version ran in an environment, -1 for all of them; None where none was started."""
        state = self._versions[number].states.get(name)
        if state is None or (state.applied_at is None and not state.statements_done and state.stopped_at is None):
            return None
        return -1 if state.applied_at is not None else state.statements_done

    def _differs(self, number: int, one: str, other: str) -> bool:
        """Return whether not the same was run of a version."""
        states = [self._versions[number].states.get(name) for name in (one, other)]
        checksums = [set(state.checksums) for state in states if state]
        is_edited = len(checksums) == 2 and not checksums[0] & checksums[1]
        return is_edited or self._progress(number, one) != self._progress(number, other)

    def _renders(self, number: int, one: str, other: str) -> bool:
        """Return whether a version was rendered differently."""
        states = (self._versions[number].states.get(name) for name in (one, other))
        return render_differently(filter(None, states))


def _reference(seen: Sequence[_Seen]) -> _Seen | None:
    """Return the environment that the others are compared with: the first of those with the commonest shape."""
    shapes = [_plain(each.shape) for each in seen]
    counts = [sum(one == other or not differences(one, other) for other in shapes) for one in shapes]
    return seen[counts.index(max(counts))] if seen else None


def _outside(group: _Group) -> Iterator[TableDifference]:
    """Yield how tables differ from their own records."""
    for name, each in group.items():
        for one in each.altered:
            yield _difference(name, Cause.OUTSIDE, one, ())


def _difference(environment: str, cause: Cause, each: Difference, versions: Sequence[str]) -> TableDifference:
    return TableDifference(environment, cause, each.what, each.name, each.before, each.after, tuple(versions))


def _plain(shape: Shape | None) -> Shape | None:
    """Return a shape without what differs between any two environments."""
    if shape is None:
        return None
    return replace(
        shape,
        table="",
        uuid=None,
        columns=tuple(replace(each, id=None) for each in shape.columns),
        partitioning=tuple(replace(each, id=None, name="") for each in shape.partitioning),
        metadata_location=None,
        schema_id=None,
        spec_id=None,
        sort_order_id=None,
    )
