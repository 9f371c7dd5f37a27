"""Compare the states of several environments: the same files applied, and the same resulting tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from glacierbase.inspect.compare.results import (
    ComparedEnvironment,
    ComparedVersion,
    CompareResult,
    Verdict,
)
from glacierbase.inspect.compare.state import StateResult, VersionState, render_differently
from glacierbase.inspect.compare.tables import compare_tables
from glacierbase.model.migration import AppliedBy, State
from glacierbase.model.text import counted, time_of

# In the order in which they matter.
_STOPPED = {
    State.UNKNOWN: Verdict.UNKNOWN, State.FAILED: Verdict.FAILED, State.INTERRUPTED: Verdict.INTERRUPTED,
    State.RUNNING: Verdict.RUNNING,
}  # fmt: skip
_WITHOUT_FILE = frozenset({State.MISSING, State.AHEAD})
_TO_COME = frozenset({State.PENDING, State.OUT_OF_ORDER})

# The states of a version in all environments; None in one that does not know it.
_Row = Mapping[str, VersionState | None]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the environments that are compared.

    Attributes:
        name: by which the result names it.
        file: the state file that the state was read from.
    """

    name: str
    state: StateResult
    file: str | None = None

    @property
    def environment(self) -> ComparedEnvironment:
        state = self.state
        return ComparedEnvironment(self.name, self.file, state.read_at, state.skipped, state.error)


def compare(catalog: str, sides: Sequence[Side]) -> CompareResult:
    """Return the comparison of one catalog. Sides that were skipped, or not reached, are listed and not compared."""
    result = CompareResult(
        catalog, ", ".join(side.name for side in sides), environments=tuple(side.environment for side in sides)
    )
    known = {side.name: side.state for side in sides if not side.state.skipped and not side.state.error}
    if len(known) < 2:
        return replace(result, skipped=_why_skipped(sides))
    versions = tuple(_versions(known))
    tables = compare_tables(known, versions)
    return replace(
        result,
        warnings=tuple(warning for name, state in known.items() for warning in _warnings(name, state)),
        versions=versions,
        tables=tables,
        differs=any(each.verdict.is_difference for each in versions) or any(each.is_different for each in tables),
    )


def _why_skipped(sides: Sequence[Side]) -> str:
    notes = "; ".join(filter(None, (side.environment.note() for side in sides)))
    return f"fewer than two environments are known{f' ({notes})' if notes else ''}"


def _warnings(name: str, state: StateResult) -> Iterator[str]:
    """Yield the warnings about an environment: its own, and one for each reason why less is known of tables."""
    yield from (f"{name}: {warning}" for warning in state.warnings)
    if any(each.is_recorded and each.parts is None for each in state.tables):
        yield (
            f"{name}: version {state.tool_version} exported this state without what changed each part of a table; where tables"
            " differ, the cause is not known: export it with this version"
        )
    for why in dict.fromkeys(each.unread for each in state.tables if each.unread is not None):
        unread = [each for each in state.tables if each.unread == why]
        recorded = [each.recorded_at for each in unread if each.is_recorded and each.recorded_at]
        records = (
            f"; {len(recorded)} compared by their records, the oldest of {time_of(min(recorded))}" if recorded else ""
        )
        yield f"{name}: {counted(len(unread), 'table')} not read: {why}{records}"


def _versions(known: Mapping[str, StateResult]) -> Iterator[ComparedVersion]:
    """Yield the versions that any environment knows, in order."""
    rows = {name: {int(each.version): each for each in state.versions} for name, state in known.items()}
    for number in sorted(set().union(*rows.values())):
        row = {name: versions.get(number) for name, versions in rows.items()}
        found = [each for each in row.values() if each]
        # A squash describes all files that it replaced.
        first = next((each for each in found if each.squash is None), found[0])
        states = {name: each for name, each in row.items() if each}
        yield ComparedVersion(first.version, first.description, _verdict(row), states)


def _verdict(row: _Row) -> Verdict:
    found = [each for each in row.values() if each]
    states = {each.state for each in found}
    for state, verdict in _STOPPED.items():
        if state in states:
            return verdict
    if State.CHANGED in states or not _have_same_file(found):
        return Verdict.EDITED
    if not any(each.has_file for each in found):
        if len(found) < len(row):
            return Verdict.EXTRA
        if states & _WITHOUT_FILE:
            return Verdict.MISSING
    if State.ABANDONED in states:
        is_same = len(found) == len(row) and len({(each.state, each.statements_done) for each in found}) == 1
        return Verdict.EQUAL if is_same else Verdict.ABANDONED
    return _verdict_of_applied(row, found)


def _verdict_of_applied(row: _Row, found: Sequence[VersionState]) -> Verdict:
    """Return the verdict on a version that is applied in some environments and is to come in the others."""
    applied = [each for each in found if each.state not in _TO_COME]
    if not applied:
        return Verdict.PENDING
    if len(applied) < len(row):
        return Verdict.BEHIND
    if len({each.applied_by is AppliedBy.BASELINE for each in applied}) > 1:
        return Verdict.BASELINED
    return Verdict.VARIABLES if render_differently(applied) else Verdict.EQUAL


def _have_same_file(found: Sequence[VersionState]) -> bool:
    checksums = [set(each.checksums) for each in found if each.checksums]
    return not checksums or bool(set.intersection(*checksums))
