"""Run a command on several catalogs, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    for target in targets:
        empty = kind(target.catalog.name, target.catalog.environment)
        try:
            with on_catalog(target.catalog.name if is_named else None):
                results.append(run(target, empty, *args, **kwargs))
        except GlacierbaseError as error:
            results.append(replace(empty, error=error))
        if isinstance(results[-1].error, Interrupted):
            break
    return results
