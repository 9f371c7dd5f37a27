"""The commands on several environments of a project at once, or on what their own jobs exported: `compare`, `export-state`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glacierbase.inspect.asked import AskedProject
from glacierbase.model.command import with_own_scope

# What the methods use is imported when they are called, so that `pending` does not load it.
if TYPE_CHECKING:
    from glacierbase.inspect.compare.results import CompareResult
    from glacierbase.inspect.compare.sources import States
    from glacierbase.inspect.compare.state import StateResult


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
        from glacierbase.inspect.compare.sources import compare_sources

        return compare_sources(environments, catalogs, lambda names: self._states(names, catalogs))

    @with_own_scope
    def export_state(
        self, output: str | Path, catalogs: Collection[str] = (), *, spark: Any = None
    ) -> tuple[StateResult, ...]:
        """Write the state of every version and table to a file, for `compare` where the environment cannot be reached.

        It holds no secrets, no SQL and no rows. It changes nothing but that file.

        Args:
            output: the file, which ends in `.json`; an existing one is replaced.
        """
        from glacierbase.inspect.compare.exporting import export
        from glacierbase.inspect.compare.state import StateResult
        from glacierbase.inspect.compare.state_files import check_output, write_states

        check_output(output)
        states = self._each(catalogs, StateResult, export, spark)
        write_states(output, states)
        return states

    def _states(self, environments: Sequence[str], catalogs: Collection[str]) -> States:
        """Return the states of the catalogs in each environment; one that could not be read holds its error."""
        from glacierbase.inspect.compare.sources import read_environments

        chosen = {name: replace(self._choice, environment=name).in_environment(catalogs) for name in environments}
        targets = self._targets([pair for found, _ in chosen.values() for pair in found])
        skipped = {name: [file.name for file in files] for name, (_, files) in chosen.items()}
        return read_environments(targets, skipped, self.scope, bool(catalogs) or len(self.catalogs) > 1)
