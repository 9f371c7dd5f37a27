"""`compare`: whether environments have the same files applied, and the same resulting tables.

Their states are read from their catalogs, or from files that `export-state` wrote.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from glacierbase.capabilities.tables.compare.results import ComparedEnvironment, ComparedVersion, CompareResult, Verdict
from glacierbase.capabilities.tables.compare.state import StateResult, VersionState, read_states, render_differently
from glacierbase.capabilities.tables.compare.tables import compare_tables
from glacierbase.errors import ConfigurationError, GlacierbaseError, collected, distinct, raise_all
from glacierbase.model.command import command
from glacierbase.model.migration import AppliedBy, Key, State
from glacierbase.model.result import Results
from glacierbase.model.text import counted, time_of

# The most serious first.
_STOPPED = {
    State.UNKNOWN: Verdict.UNKNOWN, State.FAILED: Verdict.FAILED, State.INTERRUPTED: Verdict.INTERRUPTED,
    State.WAITING: Verdict.WAITING, State.RUNNING: Verdict.RUNNING,
}  # fmt: skip
_WITHOUT_FILE = frozenset({State.MISSING, State.AHEAD})
_PENDING = frozenset({State.PENDING, State.OUT_OF_ORDER})

# The states of a version in all environments; None in one that has no such version.
_Row = Mapping[str, VersionState | None]
# The states of all catalogs, by the environment or the file that they come from.
States = Mapping[str, Sequence[StateResult]]


@dataclass(frozen=True, slots=True)
class EnvironmentState:
    """One of the compared environments.

    Attributes:
        name: the one that the result uses.
        file: the state file that the state was read from.
    """

    name: str
    state: StateResult
    file: str | None = None

    @property
    def environment(self) -> ComparedEnvironment:
        state = self.state
        return ComparedEnvironment(self.name, self.file, state.read_at, state.skipped, state.error)


def compare(catalog: str, sides: Sequence[EnvironmentState]) -> CompareResult:
    """Return the comparison of one catalog. Sides that were skipped, or not reached, are listed and not compared."""
    result = CompareResult(
        catalog, ", ".join(side.name for side in sides), environments=tuple(side.environment for side in sides)
    )
    known = {side.name: side.state for side in sides if not side.state.skipped and not side.state.error}
    if len(known) < 2:
        return replace(result, skipped=_why_skipped(sides))
    versions = tuple(_versions(known))
    repeatables = tuple(
        _rows({name: {repeatable.key: repeatable for repeatable in state.repeatables} for name, state in known.items()})
    )
    tables = compare_tables(known, versions)
    return replace(
        result,
        warnings=tuple(warning for name, state in known.items() for warning in _warnings(name, state)),
        versions=versions,
        repeatables=repeatables,
        tables=tables,
        differs=any(version.verdict.is_difference for version in (*versions, *repeatables))
        or any(table.is_different for table in tables),
    )


def _why_skipped(sides: Sequence[EnvironmentState]) -> str:
    notes = "; ".join(filter(None, (side.environment.note() for side in sides)))
    return f"fewer than two environments are known{f' ({notes})' if notes else ''}"


def _warnings(name: str, state: StateResult) -> Iterator[str]:
    """Yield the warnings about an environment: its own, and one for each reason why tables are not fully known."""
    yield from (f"{name}: {warning}" for warning in state.warnings)
    for why in dict.fromkeys(table.unread for table in state.tables if table.unread is not None):
        unread = [table for table in state.tables if table.unread == why]
        recorded = [table.recorded_at for table in unread if table.is_recorded and table.recorded_at]
        records = (
            f"; {len(recorded)} compared by their records, the oldest of {time_of(min(recorded))}" if recorded else ""
        )
        yield f"{name}: {counted(len(unread), 'table')} not read: {why}{records}"


def _versions(known: Mapping[str, StateResult]) -> Iterator[ComparedVersion]:
    """Yield the versions of all environments, in order."""
    yield from _rows({name: {version.key: version for version in state.versions} for name, state in known.items()})


def _rows(known: Mapping[str, Mapping[Key, VersionState]]) -> Iterator[ComparedVersion]:
    """Yield the versions or the repeatables of all environments, in order.

    Args:
        known: those of each environment, by key.
    """
    for key in sorted(set().union(*known.values())):
        row = {name: versions.get(key) for name, versions in known.items()}
        known_here = [version for version in row.values() if version]
        # A squash describes all files that it replaced.
        first = next((version for version in known_here if version.squash is None), known_here[0])
        states = {name: version for name, version in row.items() if version}
        yield ComparedVersion(first.version, first.description, _verdict(row), states, first.name)


def _verdict(row: _Row) -> Verdict:
    known = [version for version in row.values() if version]
    states = {version.state for version in known}
    for state, verdict in _STOPPED.items():
        if state in states:
            return verdict
    if State.CHANGED in states or not _have_same_file(known):
        return Verdict.EDITED
    if not any(version.has_file for version in known):
        if len(known) < len(row):
            return Verdict.EXTRA
        if states & _WITHOUT_FILE:
            return Verdict.MISSING
    if State.ABANDONED in states:
        is_same = len(known) == len(row) and len({(version.state, version.statements_done) for version in known}) == 1
        return Verdict.EQUAL if is_same else Verdict.ABANDONED
    return _verdict_of_applied(row, known)


def _verdict_of_applied(row: _Row, known: Sequence[VersionState]) -> Verdict:
    """Return the verdict on a version that is applied in some environments and pending in the others."""
    applied = [version for version in known if version.state not in _PENDING]
    if not applied:
        return Verdict.PENDING
    if len(applied) < len(row):
        return Verdict.BEHIND
    if len({version.applied_by is AppliedBy.BASELINE for version in applied}) > 1:
        return Verdict.BASELINED
    return Verdict.VARIABLES if render_differently(applied) else Verdict.EQUAL


def _have_same_file(versions: Sequence[VersionState]) -> bool:
    checksums = [set(version.checksums) for version in versions if version.checksums]
    return not checksums or bool(set.intersection(*checksums))


def compare_sources(
    sources: Sequence[str], catalogs: Collection[str], read: Callable[[Sequence[str]], States]
) -> tuple[CompareResult, ...]:
    """Return the comparison of each catalog.

    Args:
        sources: names of environments, and paths of state files.
        catalogs: their names; empty for all.
        read: returns the states of the named environments.

    Raises:
        ConfigurationError: there are fewer than two, a file is no state file, or there is no such catalog.
        GlacierbaseError: an environment could not be read, with all results.
    """
    distinct = _distinct(sources)
    _check_enough(distinct)
    states = {**_read_files(distinct), **read([name for name in distinct if not is_state_file(name)])}
    return _compared([(name, states[name]) for name in distinct], catalogs)


def compare_files(paths: Sequence[str], catalogs: Collection[str] = ()) -> tuple[CompareResult, ...]:
    """Return the comparison of state files, as `compare_sources`. Needs no project, and contacts nothing."""
    return compare_sources(paths, catalogs, lambda _: {})


def is_state_file(source: str) -> bool:
    """Return whether a value names a state file, and no environment."""
    return source.endswith(".json")


def _distinct(sources: Sequence[str]) -> Sequence[str]:
    """Return the sources without repeated environments and without other paths of the same file."""
    by_identity: dict[str, str] = {}
    for source in sources:
        by_identity.setdefault(_identity(source), source)
    return list(by_identity.values())


def _identity(source: str) -> str:
    """Return the real path of a file, or the name of an environment."""
    try:
        return os.path.realpath(source) if is_state_file(source) else source
    except ValueError:  # A NUL in the path.
        return source


def _check_enough(sources: Collection[str]) -> None:
    if len(sources) < 2:
        raise ConfigurationError(
            "ENVIRONMENT_NOT_CHOSEN",
            f"{counted(len(sources), 'environment')} given, and compare takes two or more",
            f"name them, as in `{command('compare', 'dev', 'prod')}`, or files ending in .json that `export-state` wrote",
        )


def _read_files(sources: Collection[str]) -> dict[str, Sequence[StateResult]]:
    """Return the states in those of the sources that are files.

    Raises:
        ConfigurationError, SeveralErrors: all that is wrong with them.
    """
    by_source: dict[str, Sequence[StateResult]] = {}
    errors: list[GlacierbaseError] = []
    for source in filter(is_state_file, sources):
        with collected(errors):
            by_source[source] = read_states(source)
    raise_all(errors)
    return by_source


def _compared(
    read: Sequence[tuple[str, Sequence[StateResult]]], catalogs: Collection[str]
) -> tuple[CompareResult, ...]:
    """Return the comparison of each catalog.

    Args:
        read: the states, each with the environment or the file that it comes from.

    Raises:
        GlacierbaseError: an environment could not be read, with all results; or there is no such catalog.
    """
    sides: dict[str, list[EnvironmentState]] = {}
    for source, states in read:
        for state in states:
            if not catalogs or state.catalog in catalogs:
                of_catalog = sides.setdefault(state.catalog, [])
                is_taken = any(side.name == state.environment for side in of_catalog)
                name = f"{state.environment} ({source})" if is_taken else state.environment
                of_catalog.append(EnvironmentState(name, state, source if is_state_file(source) else None))
    if unknown := sorted(set(catalogs) - sides.keys()):
        raise ConfigurationError(
            "UNKNOWN_CATALOG", f"there is no catalog {unknown[0]} in these files", "correct --catalog"
        )
    results = Results(compare(name, sides[name]) for name in sorted(sides))
    raise_all(distinct(state.error for _, states in read for state in states if state.error), results)
    return results
