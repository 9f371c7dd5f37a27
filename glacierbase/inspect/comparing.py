"""The commands on several environments of a project at once, or on what their own jobs exported: `compare`, `export-state`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError, GlacierbaseError, collected, raise_all
from glacierbase.history.opening import Target
from glacierbase.inspect.asked import AskedProject
from glacierbase.inspect.compare import Side, compare
from glacierbase.inspect.compare_results import CompareResult
from glacierbase.inspect.each import run_on_each
from glacierbase.inspect.environment_state import StateResult
from glacierbase.inspect.exporting import export
from glacierbase.inspect.state_files import read_states, write_states
from glacierbase.model.command import with_own_scope
from glacierbase.model.result import Results
from glacierbase.model.text import counted
from glacierbase.run.waiting import Caller, result
from glacierbase.stores.choice import opens_without_engine

# Of environments that are read at the same time.
_AT_ONCE = 8


class ComparingProject(AskedProject):
    """A project whose environments can be compared."""

    @with_own_scope
    def compare(self, environments: Sequence[str], catalogs: Collection[str] = ()) -> tuple[CompareResult, ...]:
        """Return whether environments have had the same updates: the same files applied, and the same tables. Writes nothing.

        Args:
            environments: two or more: names, and paths of files that `export_state` wrote, which end in `.json`.

        Raises:
            GlacierbaseError: an environment cannot be read; `results` compares the others.
        """
        _check_enough(environments)
        states = _read_files(environments)
        states |= self._states([each for each in dict.fromkeys(environments) if not is_state_file(each)], catalogs)
        return _compared([(each, states[each]) for each in dict.fromkeys(environments)], catalogs)

    @with_own_scope
    def export_state(
        self, output: str | Path, catalogs: Collection[str] = (), *, spark: Any = None
    ) -> tuple[StateResult, ...]:
        """Write the state of every version and table to a file, for `compare` where the environment cannot be reached.

        It holds no secrets, no SQL and no rows. It changes nothing but that file.

        Args:
            output: the file, which ends in `.json`; an existing one is replaced.
        """
        states = self._each(catalogs, StateResult, export, spark)
        write_states(output, states)
        return states

    def _states(self, environments: Sequence[str], catalogs: Collection[str]) -> dict[str, list[StateResult]]:
        """Return the states of the catalogs in each environment; each that could not be read holds its error."""
        chosen = {name: replace(self._choice, environment=name).in_environment(catalogs) for name in environments}
        pairs = [pair for found, _ in chosen.values() for pair in found]
        states: dict[str, list[StateResult]] = {name: [] for name in environments}
        for state in _read_all(self._targets(pairs), lambda target: self._state(target, bool(catalogs))):
            states[state.environment].append(state)
        for name, (_, skipped) in chosen.items():
            states[name] += [
                StateResult(file.name, name, skipped="it does not have this environment") for file in skipped
            ]
        return states

    def _state(self, target: Target, is_named: bool) -> StateResult:
        """Return the state of a catalog in an environment, or its error."""
        with replace(self.scope, environment=target.catalog.environment).in_use():
            [state] = run_on_each([target], StateResult, is_named or len(self.catalogs) > 1, export)
        return state


def compare_files(paths: Sequence[str], catalogs: Collection[str] = ()) -> tuple[CompareResult, ...]:
    """Return the comparison of state files. Needs no project, and contacts nothing.

    Raises:
        ConfigurationError: a file is no state file, or has no such catalog.
    """
    _check_enough(paths)
    return _compared(list(_read_files(paths).items()), catalogs)


def is_state_file(source: str) -> bool:
    """Return whether a value names a state file, and no environment."""
    return source.endswith(".json")


def _check_enough(sources: Collection[str]) -> None:
    if len(set(sources)) < 2:
        raise ConfigurationError(
            "ENVIRONMENT_NOT_CHOSEN",
            f"{counted(len(set(sources)), 'environment')} given, and compare takes two or more",
            "name environments, or files ending in .json that `export-state` wrote",
        )


def _read_files(sources: Collection[str]) -> dict[str, Sequence[StateResult]]:
    """Return the states in those of the sources that are files.

    Raises:
        ConfigurationError, SeveralErrors: all that is wrong with them.
    """
    found: dict[str, Sequence[StateResult]] = {}
    errors: list[GlacierbaseError] = []
    for source in filter(is_state_file, sources):
        with collected(errors):
            found[source] = read_states(source)
    raise_all(errors)
    return found


def _read_all(targets: Sequence[Target], read: Callable[[Target], StateResult]) -> Iterator[StateResult]:
    """Yield the states: of targets that need no engine, several at a time; engines run one after the other."""
    parallel = [target for target in targets if opens_without_engine(target.catalog)]
    callers = [Caller() for _ in parallel[:_AT_ONCE]]
    answers = [callers[number % _AT_ONCE].submit(partial(read, each)) for number, each in enumerate(parallel)]
    for caller in callers:
        caller.end()
    yield from (read(target) for target in targets if target not in parallel)
    # Each read inside has a time limit of its own.
    yield from (result(answer, float("inf")) for answer in answers)


def _compared(
    found: Sequence[tuple[str, Sequence[StateResult]]], catalogs: Collection[str]
) -> tuple[CompareResult, ...]:
    """Return the comparison of each catalog.

    Args:
        found: the states, each with the environment or the file that it comes from.

    Raises:
        GlacierbaseError: an environment could not be read, with all results; or there is no such catalog.
    """
    sides: dict[str, list[Side]] = {}
    for source, states in found:
        for state in states:
            if not catalogs or state.catalog in catalogs:
                of_catalog = sides.setdefault(state.catalog, [])
                is_taken = any(side.name == state.environment for side in of_catalog)
                name = f"{state.environment} ({source})" if is_taken else state.environment
                of_catalog.append(Side(name, state, source if is_state_file(source) else None))
    if unknown := sorted(set(catalogs) - sides.keys()):
        raise ConfigurationError(
            "UNKNOWN_CATALOG", f"there is no catalog {unknown[0]} in these files", "correct --catalog"
        )
    results = Results(compare(name, sides[name]) for name in sorted(sides))
    raise_all([state.error for _, states in found for state in states if state.error], results)
    return results
