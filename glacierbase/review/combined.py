"""The findings of the rules among those of a replay: `review` says all that is wrong with the new migrations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.errors import GlacierbaseError
from glacierbase.review.lint import lint
from glacierbase.review.replay_results import ReviewResult
from glacierbase.review.results import Finding, LintResult


def rule_findings(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str
) -> Mapping[str, tuple[Finding, ...]]:
    """Return what the rules find in the files that the git ref `base` lacks, by catalog. Errors of files are the replay's."""
    try:
        results: Collection[LintResult] = lint(root, choice, catalogs, base)
    except GlacierbaseError as error:
        results = [each for each in error.results if isinstance(each, LintResult)]
    return {each.catalog: each.findings for each in results}


def with_rules(result: ReviewResult, findings: Collection[Finding]) -> ReviewResult:
    """Return a result with the findings of the rules, in the order of their places.

    What a rule says of a file is left out where the replay has found the same: it knows the tables.
    """
    found = (*result.findings, *_others(result, findings))
    return replace(result, findings=tuple(sorted(found, key=lambda each: (each.path, each.line, each.column))))


def _others(result: ReviewResult, findings: Collection[Finding]) -> Iterator[Finding]:
    replayed = {(each.code, each.path) for each in result.findings}
    paths = {each.path for each in result.files}
    for each in findings:
        environments = tuple(name for name in each.environments if name in result.environments)
        if environments and each.path in paths and (each.code, each.path) not in replayed:
            yield replace(each, environments=environments)
