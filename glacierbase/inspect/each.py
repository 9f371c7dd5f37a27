"""Run a command on several catalogs, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

from glacierbase.errors import GlacierbaseError, Interrupted
from glacierbase.history.opening import Target
from glacierbase.model.command import on_catalog
from glacierbase.model.result import Result

R = TypeVar("R", bound=Result)
P = ParamSpec("P")


def run_on_each(
    targets: Iterable[Target],
    kind: type[R],
    is_named: bool,
    run: Callable[Concatenate[Target, R, P], R],
    *args: P.args,
    **kwargs: P.kwargs,
) -> list[R]:
    """Return the result of each catalog, which holds its error if it failed. The others run, unless a signal stopped the command.

    Args:
        is_named: whether commands in messages name the catalog.
        run: completes an empty result of type `kind`.
    """
    results: list[R] = []
    targets = tuple(targets)
    for target in targets:
        empty = kind(target.catalog.name, target.catalog.environment)
        try:
            with on_catalog(target.catalog.name if is_named else None, _planned(target, targets)):
                results.append(run(target, empty, *args, **kwargs))
        except GlacierbaseError as error:
            results.append(replace(empty, error=error))
        if isinstance(results[-1].error, Interrupted):
            break
    return results


def _planned(target: Target, targets: Sequence[Target]) -> tuple[str, ...] | None:
    """Return the catalogs that a plan file must have, none for all of the project; None where no plan file is required."""
    if not target.catalog.plan_required:
        return None
    names = tuple(each.catalog.name for each in targets)
    return () if set(names) == {target.catalog.name, *target.siblings} else names
