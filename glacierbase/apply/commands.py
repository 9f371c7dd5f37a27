"""The commands that change a catalog or announce a change, on one catalog. Each completes an empty result."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glacierbase import executors
from glacierbase.apply import hooks
from glacierbase.apply import repair as repairing
from glacierbase.apply import unlock as unlocking
from glacierbase.apply.file_results import SquashResult
from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Plan, Selection
from glacierbase.apply.preview import pending_files, plan_result
from glacierbase.apply.progress import Progress
from glacierbase.apply.repair import Decision
from glacierbase.apply.results import (
    BaselinedFile,
    BaselineResult,
    MigrateResult,
    PendingResult,
    PlanResult,
    RepairResult,
    UnlockResult,
    WarmResult,
)
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.history.lockrow import lock_holder
from glacierbase.history.opening import Target
from glacierbase.model.arguments import check_not_empty, check_reason, version_given
from glacierbase.stores.renaming import renaming_warnings

if TYPE_CHECKING:
    from glacierbase.apply.drift.results import DriftFileResult, DriftIgnoreResult
    from glacierbase.apply.planfile import GivenPlan


def given_plan(plan: str | Path | GivenPlan | Collection[PlanResult] | None, selection: Selection) -> GivenPlan | None:
    """Return the plan that a caller of `migrate` passes, read if it is a file; None where there is none."""
    if plan is None:
        return None
    from glacierbase.apply import planfile  # Only runs that apply a plan read one.

    return planfile.given_plan(plan, selection)


def migrate(
    target: Target,
    result: MigrateResult,
    selection: Selection,
    lock_timeout: float,
    cancelled: Callable[[], bool],
    spark: Any,
    given: GivenPlan | None = None,
) -> MigrateResult:
    """Apply what is pending. An error is in the result, with what was done before it."""
    progress, error = Progress(), None
    try:
        selection = _with_policy(_approved(selection, target, given), target)
        Migrator(target).migrate(selection, progress, lock_timeout, cancelled, spark)
    except GlacierbaseError as caught:
        error = caught
    result = replace(
        result,
        applied=tuple(progress.applied),
        failed=progress.failed,
        not_run=progress.not_run,
        warnings=(*renaming_warnings(target.catalog), *progress.warnings),
        error=error,
    )
    return hooks.after(target, result, had_pending=progress.had_pending, cancelled=cancelled)


def pending(target: Target, result: PendingResult, spark: Any) -> PendingResult:
    """Return what the next `migrate` would apply."""
    plan = _plan(target, Selection(), spark)
    return replace(result, pending=pending_files(target, plan), warnings=plan.warnings)


def plan(target: Target, _: PlanResult, selection: Selection, spark: Any) -> PlanResult:
    """Return what the next `migrate` would run, statement by statement."""
    return plan_result(target, _plan(target, selection, spark))


def written(plans: tuple[PlanResult, ...], output: str | Path | None) -> tuple[PlanResult, ...]:
    """Return the plans, after they were written to the plan file `output`, if that is given."""
    if output is not None:
        from glacierbase.apply import planfile

        planfile.write_plan(output, plans)
    return plans


def _plan(target: Target, selection: Selection, spark: Any) -> Plan:
    return Migrator(target).plan(_with_policy(selection, target), spark)


def _approved(selection: Selection, target: Target, given: GivenPlan | None) -> Selection:
    """Return what to run: the plan that was given, else the selection, where the environment does not require a plan."""
    if given is not None:
        return given.selection(target)
    if target.catalog.plan_required:
        from glacierbase.apply.planfile import plan_required

        raise plan_required(target)
    return selection


def _with_policy(selection: Selection, target: Target) -> Selection:
    """Return the selection, which may run files out of order if the catalog file allows that."""
    return replace(selection, out_of_order=None) if target.catalog.out_of_order_allowed else selection


class Repair:
    """A call of `repair`, its arguments checked: to show cases, to record a resolution, or to accept an environment.

    Attributes:
        records: whether it changes the history.
    """

    def __init__(
        self,
        versions: Collection[str],
        as_: str | None,
        reason: str | None,
        environment_was: str | None,
        engine_stopped: bool,
        dry_run: bool,
    ) -> None:
        """Check the arguments, which are those of `Project.repair`.

        Raises:
            ConfigurationError: one of them is wrong or missing.
        """
        self._numbers = [version_given(version) for version in versions]
        choices = [resolution.value for resolution in Resolution]
        if as_ not in (None, *choices):
            raise ConfigurationError(
                "INVALID_VALUE", f"{as_} is not an outcome that can be recorded", f"use one of {', '.join(choices)}"
            )
        check_not_empty("environment_was", environment_was)
        self.records = bool(as_ or environment_was)
        if self.records:
            check_reason(reason)
        if as_ and not versions:
            raise ConfigurationError("UNKNOWN_VERSION", "no version to repair was given", "name it: repair VERSION")
        self._environment_was = environment_was
        self._reason = reason or ""
        self._decision = Decision(Resolution(as_), self._reason, engine_stopped) if as_ else None
        self._dry_run = dry_run

    def run(self, target: Target, result: RepairResult, lock_timeout: float, spark: Any) -> RepairResult:
        """Do it on one catalog."""
        if self._environment_was:
            if self._dry_run:
                return result
            repairing.accept_environment(target, self._environment_was, self._reason, lock_timeout, spark)
            return replace(result, environment_was=self._environment_was)
        if self._decision is None or self._dry_run:
            return replace(result, cases=repairing.repair_cases(target, self._numbers, self._decision, spark))
        return replace(result, cases=repairing.repair(target, self._numbers, self._decision, lock_timeout, spark))


def unlock(
    target: Target, result: UnlockResult, reason: str | None, force: bool, rebuild: bool, dry_run: bool, spark: Any
) -> UnlockResult:
    """Release the lock, or with `dry_run` return its holder only."""
    if dry_run:
        held = unlocking.held_lock(target, spark, rebuild=rebuild)
    else:
        held = unlocking.unlock(target, reason, force=force, rebuild=rebuild, session=spark)
    if held is None:
        return result
    return replace(result, lock=lock_holder(held.row), says=held.evidence, released=held.is_freed)


def baseline(
    target: Target,
    result: BaselineResult,
    to: int,
    reason: str,
    accept: Collection[str],
    lock_timeout: float,
    spark: Any,
) -> BaselineResult:
    """Record the files up to version `to` as applied."""
    from glacierbase.apply import baseline as baselining  # Only this command reads lists of columns.

    done = baselining.baseline(target, to, reason, lock_timeout, spark, accept=accept)
    recorded = (BaselinedFile(file.migration.version, file.migration.location) for file in done.files)
    return replace(result, baselined=tuple(recorded), differences=done.differences, warnings=done.warnings)


def squash(target: Target, result: SquashResult, to: int, author: str, dry_run: bool, commit: bool) -> SquashResult:
    """Replace the files up to version `to` by one that creates their tables."""
    from glacierbase.apply import squash as squashing  # Only this command reads the shapes of tables.

    return squashing.squash(target, result, to, author, dry_run=dry_run, commit=commit)


def drift_adopt(
    target: Target, result: DriftFileResult, reason: str, tables: Collection[str], author: str, lock_timeout: float
) -> DriftFileResult:
    """Write a migration with the changes that no migration made, and record it as applied."""
    from glacierbase.apply.drift import files as drift_files  # Only these commands read the shapes of tables.

    return drift_files.adopt(target, result, tables, reason, author, lock_timeout)


def drift_revert(
    target: Target, result: DriftFileResult, reason: str, tables: Collection[str], author: str
) -> DriftFileResult:
    """Write a migration that undoes the changes that no migration made."""
    from glacierbase.apply.drift import files as drift_files

    return drift_files.revert(target, result, tables, reason, author)


def drift_ignore(target: Target, result: DriftIgnoreResult, reason: str, tables: Collection[str]) -> DriftIgnoreResult:
    """Write rules for the changes that no migration made."""
    from glacierbase.apply.drift.ignore import ignore

    return ignore(target, result, tables, reason)


def warm(target: Target, result: WarmResult) -> WarmResult:
    """Resolve the engine's dependencies and build its class archive."""
    warmed = executors.warm(target.catalog, target.run)
    return replace(result, dependencies=warmed.dependencies, archive=warmed.archive, start_ms=warmed.start_ms)
