"""A command in several environments, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from glacierbase.errors import GlacierbaseError, SeveralErrors


def run_in_each(environments: Iterable[str], run: Callable[[str], Sequence[Any]]) -> Sequence[Any]:
    """Run a command in each environment, also after an error, and return all results.

    Raises:
        GlacierbaseError: the error, or all as one `SeveralErrors`; `results` holds the results of all environments.
    """
    results: list[Any] = []
    errors: list[GlacierbaseError] = []
    for environment in dict.fromkeys(environments):
        try:
            results += run(environment)
        except GlacierbaseError as error:
            results += error.results
            errors.append(error)
    if not errors:
        return results
    joined = errors[0] if len(errors) == 1 else SeveralErrors(errors)
    joined.results = tuple(results)
    raise joined
