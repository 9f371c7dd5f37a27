"""The commands that review migrations, each on all catalogs of a project. Their modules are loaded when they are called."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.review.results import LintResult


def lint(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str | None) -> tuple[LintResult, ...]:
    """Apply the rules to the migrations of the chosen catalogs; see `glacierbase.review.lint`."""
    from glacierbase.review.lint import lint  # It starts a worker process, and loads the rules.

    return lint(root, choice, catalogs, base)
