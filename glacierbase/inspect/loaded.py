"""A project whose catalog files have been read: what every command starts from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Concatenate

from glacierbase import executors
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.folder import CatalogFile
from glacierbase.history.opening import Target
from glacierbase.inspect.each import P, R, run_on_each
from glacierbase.inspect.folders import load_targets
from glacierbase.model.command import Scope, with_own_scope
from glacierbase.model.result import raise_first
from glacierbase.run.held import HeldLocks
from glacierbase.secrets import Secrets

# Catalogs, each with its environment.
Chosen = Sequence[tuple[CatalogFile, str]]


class LoadedProject:
    """The root and the catalogs of a project, and how a command runs on each of them."""

    def __init__(self, root: Path, files: Sequence[CatalogFile], scope: Scope, secrets: Secrets) -> None:
        self.root = root
        self.secrets = secrets
        self.scope = scope
        self.held_locks = HeldLocks()
        self._choice = CatalogChoice(root / "catalogs", files, scope.environment)

    @property
    def catalogs(self) -> tuple[str, ...]:
        """The names of all catalogs."""
        return self._choice.names

    @with_own_scope
    def folder(self, catalog: str | None = None) -> Path:
        """Return the migrations folder of a catalog, or of the project's only catalog.

        Raises:
            ConfigurationError: there is no such catalog, or there are several and none was named.
        """
        return self.root / "migrations" / self._choice.only([catalog] if catalog else []).stem

    @with_own_scope
    def spark_conf(self, catalog: str | None = None) -> dict[str, str]:
        """Return the configuration for your own Spark session on a catalog, or on the only one. Its secrets are not masked."""
        [(file, environment)], _ = self._choice.in_environment([self._choice.only([catalog] if catalog else []).name])
        return executors.spark_conf(file.for_environment(environment, self.root))

    @with_own_scope
    def protected(self, catalogs: Collection[str] = ()) -> tuple[str, ...]:
        """Return the environments that a run would change and that are `protected` in a catalog file."""
        return self._choice.protected(catalogs, self.root)

    def _targets(self, chosen: Chosen) -> list[Target]:
        """Return catalogs, each in its environment, after all of them and the headers of migrations have been read and checked."""
        return load_targets(self.root, chosen, self.held_locks, self.catalogs)

    def _targets_without_files(self, chosen: Chosen) -> list[Target]:
        """Return catalogs, each in its environment. Migration files are read at first use."""
        return load_targets(self.root, chosen, self.held_locks, self.catalogs, True)

    def _each(
        self, catalogs: Collection[str], kind: type[R], run: Callable[Concatenate[Target, R, P], R],
        *args: P.args, **kwargs: P.kwargs,
    ) -> tuple[R, ...]:  # fmt: skip
        """Run a command for each catalog."""
        return self._run(self._targets, catalogs, kind, run, *args, **kwargs)

    def _each_history(
        self, catalogs: Collection[str], kind: type[R], run: Callable[Concatenate[Target, R, P], R],
        *args: P.args, **kwargs: P.kwargs,
    ) -> tuple[R, ...]:  # fmt: skip
        """Run a command that asks the history of each catalog: an error in a migration file does not concern it."""
        return self._run(self._targets_without_files, catalogs, kind, run, *args, **kwargs)

    def _run(
        self, load: Callable[[Chosen], list[Target]], catalogs: Collection[str], kind: type[R],
        run: Callable[Concatenate[Target, R, P], R], *args: P.args, **kwargs: P.kwargs,
    ) -> tuple[R, ...]:  # fmt: skip
        chosen, skipped = self._choice.in_environment(catalogs)
        results = run_on_each(load(chosen), kind, bool(catalogs) or len(self.catalogs) > 1, run, *args, **kwargs)
        why = "it does not have this environment"
        results += [kind(file.name, self.scope.environment or "", skipped=why) for file in skipped]
        return raise_first(sorted(results, key=lambda result: self.catalogs.index(result.catalog)))
