"""`warm`: prepare the start of an engine."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.apply.results import WarmResult
from glacierbase.executors import type_of
from glacierbase.history.opening import Target


def warm(target: Target, result: WarmResult) -> WarmResult:
    """Resolve the engine's dependencies and build its class archive."""
    warmed = type_of(target.catalog).warm(target.catalog, target.run)
    return replace(result, dependencies=warmed.dependencies, archive=warmed.archive, start_ms=warmed.start_ms)
