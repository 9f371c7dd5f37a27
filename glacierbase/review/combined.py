"""What the rules find, with what a replay shows: `review` says all that is wrong with the new migrations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.errors import GlacierbaseError, SeveralErrors, joined
from glacierbase.review.lint import lint
from glacierbase.review.replay_results import ReviewResult
from glacierbase.review.results import Finding, LintResult

# The rules about the same losses as a code of the replay: what a statement that causes one may be written as.
_SAME_LOSS: Mapping[str, tuple[str, ...]] = {"DS101": ("DS102",), "DS103": ("DS104", "DS105")}


def of_rules(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str) -> Mapping[str, LintResult]:
    """Return what `lint` finds in the files that the git ref `base` lacks, by catalog.

    Raises:
        GlacierbaseError: it has no results: the rules cannot be loaded.
    """
    try:
        results: Collection[LintResult] = lint(root, choice, catalogs, base)
    except GlacierbaseError as error:
        results = [each for each in error.results if isinstance(each, LintResult)]
        if not results:
            raise
    return {each.catalog: each for each in results}


def with_rules(result: ReviewResult, ruled: LintResult, known: Collection[GlacierbaseError]) -> ReviewResult:
    """Return a result with the findings of the rules, in the order of their places, and with the errors of `lint`.

    What a rule says of a statement is left out where the replay has found the same: it shows what is lost.

    Args:
        known: errors that results of the catalog have already.
    """
    shown = [_named(each, ruled.findings) for each in result.findings]
    found = (*shown, *_others(result, shown, ruled.findings))
    said = {each.message for each in known}
    errors = [each for each in _parts(ruled.error) if each.code != "LINT_FAILED" and each.message not in said]
    return replace(
        result,
        findings=tuple(sorted(found, key=lambda each: (each.path, each.line, each.column))),
        error=joined([*_parts(result.error), *errors]),
    )


def _named(shown: Finding, ruled: Sequence[Finding]) -> Finding:
    """Return a finding of the replay with the code of the rule about the same loss, which one comment allows for both."""
    codes = [each for each in ruled if _place(each) == _place(shown)]
    same = [each for each in codes if each.code in _SAME_LOSS.get(shown.code, ())]
    if not same or any(each.code == shown.code for each in codes):
        return shown
    rule = same[0]
    allowed = shown.allowed if rule.allowed is None else rule.allowed
    return replace(shown, code=rule.code, why=rule.why, fix=rule.fix, allowed=allowed)


def _others(result: ReviewResult, shown: Sequence[Finding], ruled: Sequence[Finding]) -> Iterator[Finding]:
    replayed = {(each.code, _place(each)) for each in shown}
    paths = {each.path for each in result.files}
    for each in ruled:
        environments = tuple(name for name in each.environments if name in result.environments)
        if environments and each.path in paths and (each.code, _place(each)) not in replayed:
            yield replace(each, environments=environments)


def _place(finding: Finding) -> tuple[str, int | None]:
    return finding.path, finding.statement_index


def _parts(error: GlacierbaseError | None) -> Sequence[GlacierbaseError]:
    return error.errors if isinstance(error, SeveralErrors) else [error] if error else []
