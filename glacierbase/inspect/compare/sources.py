"""What `compare` compares: environments of a project, and files that `export-state` wrote in their jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence

from glacierbase.errors import ConfigurationError, GlacierbaseError, collected, raise_all
from glacierbase.inspect.compare.compare import Side, compare
from glacierbase.inspect.compare.results import CompareResult
from glacierbase.inspect.compare.state import StateResult
from glacierbase.inspect.compare.state_files import read_states
from glacierbase.model.result import Results
from glacierbase.model.text import counted

# The states of all catalogs, by the environment or the file that they come from.
States = Mapping[str, Sequence[StateResult]]


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
    states = {**_read_files(distinct), **read([each for each in distinct if not is_state_file(each)])}
    return _compared([(each, states[each]) for each in distinct], catalogs)


def compare_files(paths: Sequence[str], catalogs: Collection[str] = ()) -> tuple[CompareResult, ...]:
    """Return the comparison of state files, as `compare_sources`. Needs no project, and contacts nothing."""
    return compare_sources(paths, catalogs, lambda _: {})


def is_state_file(source: str) -> bool:
    """Return whether a value names a state file, and no environment."""
    return source.endswith(".json")


def _distinct(sources: Sequence[str]) -> Sequence[str]:
    """Return the sources without those that are the same environment or the same file, whatever its path, as one before."""
    found: dict[str, str] = {}
    for each in sources:
        found.setdefault(_identity(each), each)
    return list(found.values())


def _identity(source: str) -> str:
    """Return what all paths of a file have in common; of an environment, its name."""
    try:
        return os.path.realpath(source) if is_state_file(source) else source
    except ValueError:  # A NUL in the path.
        return source


def _check_enough(sources: Collection[str]) -> None:
    if len(sources) < 2:
        raise ConfigurationError(
            "ENVIRONMENT_NOT_CHOSEN",
            f"{counted(len(sources), 'environment')} given, and compare takes two or more",
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
