"""The values of table properties that are secrets, such as tokens, masked in what a page publishes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from glacierbase.inspect.drift_results import Drift
from glacierbase.inspect.made import MadeChange
from glacierbase.model.differences import Difference
from glacierbase.secrets import MASK, is_secret


def is_hidden(kind: str, name: str) -> bool:
    """Return whether the value of a part of a table is masked."""
    return kind == "property" and is_secret(name)


def without_secrets(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Return the differences; that a secret changed stays one of them."""
    return tuple(
        replace(each, before=_masked(each.before), after=_masked(each.after))
        if is_hidden(each.what, each.name)
        else each
        for each in differences
    )


def made_without_secrets(made: Iterable[MadeChange]) -> tuple[MadeChange, ...]:
    """Return what a version did to tables."""
    return tuple(replace(each, diff=without_secrets(each.diff)) for each in made)


def drifts_without_secrets(drifts: Iterable[Drift]) -> tuple[Drift, ...]:
    """Return how tables differ from their records."""
    return tuple(
        replace(each, expected=_masked(each.expected), actual=_masked(each.actual))
        if is_hidden(*each.what.partition(" ")[::2])
        else each
        for each in drifts
    )


def _masked(value: str | None) -> str | None:
    return None if value is None else MASK
