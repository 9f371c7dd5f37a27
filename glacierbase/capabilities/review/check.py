"""The command `check`: `validate` with `lint`, or with a base `validate` with `review`, as one answer. Contacts nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from glacierbase.capabilities.review.lint import linted
from glacierbase.capabilities.review.results import CheckResult, LintResult, ReviewResult, origin
from glacierbase.capabilities.review.review import reviewed
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.errors import GlacierbaseError, collected, distinct, joined
from glacierbase.inspect.results import ValidateResult
from glacierbase.inspect.validate import validate
from glacierbase.model.result import Results, raise_first


def check(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str | None) -> tuple[CheckResult, ...]:
    """Check the form of the files, and what their statements do.

    Args:
        base: a git ref: the migrations that it lacks are reviewed. Without an engine that can replay them, the result has a
            warning, and what the rules find. Default: the rules check all migrations.

    Raises:
        GlacierbaseError: a file is wrong, or a finding is an error that no comment allows. Its `results` have all results.
    """
    valid, failure = _validated(root, choice, catalogs, base)
    effects: Sequence[LintResult | ReviewResult] = (
        linted(root, choice, catalogs, None)
        if base is None
        else reviewed(root, choice, catalogs, base, must_replay=False)
    )
    at = origin(root, "check", catalogs, base)
    return raise_first(Results(replace(_joined(result, valid), origin=at) for result in effects), failure)


def _validated(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str | None
) -> tuple[Sequence[ValidateResult], GlacierbaseError | None]:
    """Return the results of `validate`, and its error.

    Raises:
        GlacierbaseError: there are no results: the base does not exist, or no catalog was read.
    """
    try:
        return validate(root, choice, catalogs, base, resolve=False), None
    except GlacierbaseError as error:
        if not error.results:
            raise
        return error.results, error


def _joined(effects: LintResult | ReviewResult, valid: Sequence[ValidateResult]) -> CheckResult:
    """Return the result of a catalog with what `validate` returned for the same environments."""
    same = [
        result for result in valid if result.catalog == effects.catalog and result.environment in effects.environments
    ]
    values: dict[str, Any] = {part.name: getattr(effects, part.name) for part in fields(effects)}
    if isinstance(effects, LintResult):
        values = {name: value for name, value in values.items() if name not in ("files", "spared")}
    errors: list[GlacierbaseError] = []
    for error in (*(result.error for result in same), effects.error):
        if error:
            with collected(errors):
                raise error
    warnings = (warning for result in (effects, *same) for warning in result.warnings)
    return CheckResult(
        **{**values, "warnings": tuple(dict.fromkeys(warnings)), "error": joined(distinct(errors))},
        checked=min((result.files for result in same), default=0),
    )
