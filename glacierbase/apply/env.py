"""`env`: make, check and delete the virtual environments of `packages`. `warm`: prepare the start of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from glacierbase import executors
from glacierbase.apply.results import EnvResult, WarmResult
from glacierbase.executors.environments.folders import checked
from glacierbase.executors.environments.installing import delete_environments, make_environment
from glacierbase.executors.environments.lockfile import lock_path
from glacierbase.history.target import CatalogRun
from glacierbase.model.catalog import Catalog


def env(
    target: CatalogRun, result: EnvResult, *, everywhere: Callable[[str], Sequence[Catalog]], check: bool, clean: bool
) -> EnvResult:
    """Make the catalog's virtual environment where it is missing or out of date.

    Args:
        everywhere: returns a catalog, by its name, in each of its environments.
        check: only check whether that is necessary.
        clean: only delete environments that the catalog file does not use any more.

    Raises:
        ConfigurationError, EngineUnavailable: as `checked`, `make_environment` and `delete_environments`.
    """
    catalog = target.catalog
    if clean:
        freed = delete_environments(catalog, everywhere(catalog.name))
        return replace(result, deleted=len(freed), freed=sum(freed))
    if not catalog.packages:
        return replace(result, python=catalog.python)
    if check:
        environment = checked(catalog)
        return replace(result, python=str(environment.python), packages=len(environment.completed()))
    made = make_environment(catalog, everywhere(catalog.name))
    lock_file = f"catalogs/{lock_path(catalog.file).name}" if made.lock_file_changed else None
    return replace(
        result,
        python=str(made.environment.python),
        packages=len(made.environment.completed()),
        made=made.is_new,
        lock_file=lock_file,
    )


def warm(target: CatalogRun, result: WarmResult) -> WarmResult:
    """Resolve the engine's dependencies and build its class archive."""
    warmed = executors.warm(target.catalog, target.run)
    return replace(result, dependencies=warmed.dependencies, archive=warmed.archive, start_ms=warmed.start_ms)
