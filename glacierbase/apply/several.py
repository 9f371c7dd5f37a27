"""`migrate` on several catalogs: what is checked before any of them runs, and the result of one that is not run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from glacierbase.apply import hooks
from glacierbase.apply.migrator import Migrator, chosen, needs_engine, with_reason
from glacierbase.apply.plan import Plan, Selection
from glacierbase.apply.results import NOT_RUN, MigrateResult
from glacierbase.errors import GlacierbaseError
from glacierbase.executors import check_installed
from glacierbase.history.target import CatalogRun
from glacierbase.stores.choice import opens_without_engine

if TYPE_CHECKING:
    from glacierbase.apply.planfile import PlanFile


def check(
    target: CatalogRun, result: MigrateResult, *, selection: Selection, given: PlanFile | None = None, **_: Any
) -> MigrateResult | None:
    """Return the result of a catalog that has something pending and whose engine, as installed, cannot run it; else None.

    A catalog whose history is read through its engine counts as one that has. An error of its plan is reported by its own run.
    """
    if target.spark is not None:
        return None
    try:
        # Without the engine, a file that is to run directly needs nothing that is not installed, and no worker that looks.
        if target.catalog.is_direct and not _needs_engine(target, _plan(target, selection, given)):
            return None
        check_installed(target.catalog, target.run)
    except GlacierbaseError as error:
        try:
            plan = _plan(target, selection, given)
            if _needs_engine(target, plan):
                error = error if plan is None else with_reason(error, target, plan)
                return hooks.after(target, replace(result, not_run=_labels(plan), error=error), had_pending=True)
        except GlacierbaseError:
            return None
    return None


def not_run(
    target: CatalogRun,
    result: MigrateResult,
    why: str,
    *,
    selection: Selection,
    given: PlanFile | None = None,
    **_: Any,
) -> MigrateResult:
    """Return the result of a catalog that is not run, with what is pending where that is known without its engine.

    Args:
        why: a clause.
    """
    plan = None
    if not target.cancelled():
        with suppress(GlacierbaseError):  # Its next run reports it.
            plan = _plan(target, selection, given)
    return replace(result, skipped=f"{NOT_RUN}{why}", not_run=_labels(plan))


def _needs_engine(target: CatalogRun, plan: Plan | None) -> bool:
    """Return whether the engine runs a pending file; True where only the engine can read the history."""
    return plan is None or any(needs_engine(target, plan))


def _labels(plan: Plan | None) -> tuple[str, ...]:
    """Return the versions and names that `migrate` would run; none where only the engine can read the history."""
    return tuple(planned.migration.label for planned in plan.pending) if plan else ()


def _plan(target: CatalogRun, selection: Selection, given: PlanFile | None) -> Plan | None:
    """Return what `migrate` would run; None where only the engine can read the history.

    Raises:
        GlacierbaseError: as `migrate` would, before it starts the engine.
    """
    if not opens_without_engine(target.catalog):
        return None
    return Migrator(target).plan(chosen(target, selection, given))
