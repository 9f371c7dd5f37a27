"""`warm`: prepare the start of an engine."""

from __future__ import annotations

from dataclasses import replace

from glacierbase import executors
from glacierbase.apply.results import WarmResult
from glacierbase.history.target import CatalogRun


def warm(target: CatalogRun, result: WarmResult) -> WarmResult:
    """Resolve the engine's dependencies and build its class archive."""
    warmed = executors.warm(target.catalog, target.run)
    return replace(result, dependencies=warmed.dependencies, archive=warmed.archive, start_ms=warmed.start_ms)
