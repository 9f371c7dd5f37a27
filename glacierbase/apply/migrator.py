"""The path of `migrate`, the only one on which migrations run.

Files → history → plan → compile what is pending, check what is installed → `beforeMigrate` → lock, while the engine starts →
history and plan again → per statement: record, prove the lock, run → release. Read-only commands are the beginning of this path:
they take no lock and write nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from glacierbase.apply import hooks, recover
from glacierbase.apply.approved import check_approved
from glacierbase.apply.failures import stopped_before
from glacierbase.apply.locked import LockedCatalog, locked
from glacierbase.apply.plan import Plan, Selection, check_resumes, check_statements, make_plan
from glacierbase.apply.preview import pending_files, plan_result, with_found_engines
from glacierbase.apply.progress import Progress
from glacierbase.apply.results import EngineVersion, MigrateResult, PendingResult, PlanResult
from glacierbase.errors import GlacierbaseError
from glacierbase.executors import check_installed
from glacierbase.executors.engine import Engine
from glacierbase.history.lockrow import is_held
from glacierbase.history.state import CatalogState, current_state, read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.git_files import untracked
from glacierbase.migrations.git_lost import find_lost
from glacierbase.migrations.headers import check_required
from glacierbase.stores import LockRow
from glacierbase.stores.choice import store_warnings

if TYPE_CHECKING:
    from glacierbase.apply.planfile import PlanFile

logger = logging.getLogger("glacierbase")


def migrate(
    target: CatalogRun,
    result: MigrateResult,
    *,
    selection: Selection,
    lock_timeout: float = 0,
    given: PlanFile | None = None,
) -> MigrateResult:
    """Apply what is pending. An error is in the result, with what was done before it.

    Args:
        lock_timeout: seconds to wait for another run's lock.
        given: the plans of which the catalog's is applied, in place of the selection.
    """
    progress, error = Progress(), None
    try:
        Migrator(target).migrate(chosen(target, selection, given), progress, lock_timeout)
    except GlacierbaseError as caught:
        error = caught
    result = replace(
        result,
        applied=tuple(progress.applied),
        failed=progress.failed,
        waiting=progress.waiting,
        not_run=progress.not_run,
        engine=progress.engine,
        warnings=(*store_warnings(target.catalog), *progress.warnings),
        error=error,
    )
    return hooks.after(target, result, had_pending=progress.had_pending)


def pending(target: CatalogRun, result: PendingResult) -> PendingResult:
    """Return what the next `migrate` would apply."""
    plan = Migrator(target).plan(_by_policy(target, Selection()))
    return replace(result, pending=pending_files(plan), warnings=plan.warnings)


def plan(target: CatalogRun, _: PlanResult, *, selection: Selection) -> PlanResult:
    """Return what the next `migrate` would run, statement by statement."""
    made = Migrator(target).plan(_by_policy(target, selection))
    return with_found_engines(target, plan_result(target, made), made.files)


def chosen(target: CatalogRun, selection: Selection, given: PlanFile | None) -> Selection:
    """Return what to run: the plan that was given, else the selection, where the environment does not require a plan.

    Raises:
        GlacierbaseError: as `GivenPlan.selection`; `PLAN_REQUIRED`: the environment requires a plan.
    """
    if given is not None:
        selection = given.selection(target)
    elif target.catalog.plan_required:
        from glacierbase.apply.planfile import plan_required  # Only runs that apply a plan read one.

        raise plan_required(target)
    return _by_policy(target, selection)


def _by_policy(target: CatalogRun, selection: Selection) -> Selection:
    """Return the selection, which may run files out of order if the catalog file allows that."""
    return replace(selection, out_of_order=None) if target.catalog.out_of_order_allowed else selection


class Migrator:
    """Plans and runs the migrations of one target."""

    def __init__(self, target: CatalogRun) -> None:
        self._target = target
        # Cached for one run: the plan is made again under the lock.
        root = Path(target.run.project)
        self._find_lost = cache(partial(find_lost, root))
        self._untracked = partial(untracked, root)

    @cached_property
    def _repeatables(self) -> Sequence[Compiled]:
        """The repeatables: whether one is to run depends on what it renders."""
        return self._target.compile(self._target.repeatables)

    def plan(self, selection: Selection) -> Plan:
        """Return what `migrate` would run. Writes nothing."""
        return self._compiled(self._plan(selection, current_state(self._target)))

    def migrate(self, selection: Selection, progress: Progress, lock_timeout: float = 0) -> None:
        """Apply what is pending. A target that is cancelled stops before or inside its next statement.

        Args:
            progress: filled while the run goes on.
            lock_timeout: seconds to wait for another run's lock.

        Raises:
            GlacierbaseError: the first error; what ran before is recorded.
        """
        if self._target.cancelled():
            raise stopped_before(f"catalog {self._target.catalog.name}", "nothing of it ran")
        with self._target.opened() as opened:
            try:
                self._migrate(opened, selection, progress, lock_timeout)
            finally:
                described = opened.engine.described
                progress.engine = EngineVersion(*described) if described else None

    def _migrate(self, opened: OpenCatalog, selection: Selection, progress: Progress, lock_timeout: float) -> None:
        """Apply what is pending on the open catalog."""
        state = self._settled(opened, read_state(opened), selection, progress, lock_timeout)
        plan = self._plan(selection, state, progress.warnings)
        progress.expect(plan)
        plan = self._compiled(plan)
        if not plan.pending:
            return
        from glacierbase.apply.runner import Runner  # Commands that run nothing do not need it.

        is_first, *others = needs_engine(self._target, plan)
        if self._target.spark is None and any((is_first, *others)):
            try:
                check_installed(self._target.catalog, self._target.run)
            except GlacierbaseError as error:
                raise with_reason(error, self._target, plan) from error
        hooks.before(self._target, plan)
        if state.lock is None and not state.history.events:
            self._begin(opened, plan, progress)
        if is_first:
            _start_early(opened.engine, state.lock)
        with locked(opened, state, lock_timeout) as locked_catalog:
            held, plan = self._plan_again(locked_catalog, selection, progress, plan.files)
            Runner(held, progress).run(plan)

    def _begin(self, opened: OpenCatalog, plan: Plan, progress: Progress) -> None:
        """Check, before the first run creates the history, that there was none."""
        from glacierbase.apply.lost import check_not_lost  # Later runs do not need it.

        if warning := check_not_lost(opened, plan.files):
            logger.warning("%s", warning)
            progress.expect(replace(plan, warnings=(*plan.warnings, warning)))

    def _settled(
        self, opened: OpenCatalog, state: CatalogState, selection: Selection, progress: Progress, lock_timeout: float
    ) -> CatalogState:
        """Settle what a dead run left open, where that is possible, and return the state afterwards."""
        # An approved plan does not announce what would be recorded here.
        if selection.approved is not None or not recover.is_possible(self._target.catalog, state.history):
            return state
        with locked(opened, state, lock_timeout) as held:
            recover.settle(held, progress)
        return read_state(opened)

    def _plan_again(
        self, held: LockedCatalog, selection: Selection, progress: Progress, files: Sequence[Compiled]
    ) -> tuple[LockedCatalog, Plan]:
        """Plan from the history as it is under the lock. The last holder may have died meanwhile.

        Args:
            files: those that are compiled already.

        Returns:
            The catalog after what a dead run left open was settled, and its plan.
        """
        held = held if selection.approved is not None else recover.settle(held, progress)
        plan = self._plan(selection, held.state, progress.warnings)
        progress.expect(plan)
        return held, self._compiled(plan, files)

    def _plan(self, selection: Selection, state: CatalogState, warnings: Sequence[str] = ()) -> Plan:
        """Return the plan with all warnings, each once."""
        plan = make_plan(
            self._target.migrations,
            state.history,
            selection,
            self._find_lost,
            self._untracked,
            plans_only=self._target.catalog.plan_required,
            repeatables=self._repeatables,
        )
        return replace(plan, warnings=tuple(dict.fromkeys((*warnings, *state.warnings, *plan.warnings))))

    def _compiled(self, plan: Plan, files: Sequence[Compiled] = ()) -> Plan:
        """Return the plan with its files compiled, and check them against the statements that are done and an approved plan.

        Args:
            files: those that are compiled already.
        """
        new = (planned.migration for planned in plan.pending if planned.record is None)
        check_required(new, self._target.catalog.required_headers)
        compiled = {file.migration.key: file for file in (*self._repeatables, *files)}
        left = self._target.compile([file for file in plan.migrations if file.key not in compiled])
        compiled |= {file.migration.key: file for file in left}
        plan = replace(plan, files=tuple(compiled[migration.key] for migration in plan.migrations))
        check_resumes(plan)
        check_statements(plan, None if self._target.spark else self._target.catalog)
        check_approved(self._target, plan)
        return plan


def needs_engine(target: CatalogRun, plan: Plan) -> Sequence[bool]:
    """Return for each pending file whether it needs the engine."""
    engines = target.file_engines()
    return [not engines.of(compiled).is_direct for compiled in plan.files]


def with_reason(error: GlacierbaseError, target: CatalogRun, plan: Plan) -> GlacierbaseError:
    """Return the error of an engine that cannot start, with the first pending file that needs it where others run without it."""
    engines = target.file_engines()
    needed = ((compiled.migration.location, engines.of(compiled)) for compiled in plan.files)
    reasons = [f"{location} {engine.text()}" for location, engine in needed if engine.why]
    return type(error)(error.code, (*error.lines, *reasons[:1]), error.hint, **error.data)


def _start_early(engine: Engine, lock: LockRow | None) -> None:
    """Start the engine before the lock is acquired, unless another run holds the lock."""
    if lock is None:
        engine.start()  # No tables are created where the engine does not start.
    elif not is_held(lock):
        engine.start_in_background()
