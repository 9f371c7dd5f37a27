"""The path of `migrate`, the only one on which migrations run.

Files → history → plan → compile what is pending, check what is installed → `beforeMigrate` → lock, while the engine starts →
history and plan again → per statement: record, prove the lock, run → release. Read-only commands are the beginning of this path:
they take no lock and write nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from glacierbase import executors
from glacierbase.apply import hooks, recover
from glacierbase.apply.approved import check_approved
from glacierbase.apply.failures import stopped_before
from glacierbase.apply.holding import LockedCatalog, locked
from glacierbase.apply.plan import Plan, Selection, check_resumes, check_substitutions, make_plan
from glacierbase.apply.progress import Progress
from glacierbase.executors.engine import Engine
from glacierbase.history.lockrow import is_held
from glacierbase.history.opening import OpenCatalog, Target
from glacierbase.history.state import CatalogState, current_state, read_state
from glacierbase.migrations.git_lost import find_lost
from glacierbase.migrations.git_tracked import untracked
from glacierbase.migrations.headers import check_required
from glacierbase.stores import LockRow

logger = logging.getLogger("glacierbase")


class Migrator:
    """Plans and runs the migrations of one target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        # Of one run: the plan is made again under the lock.
        root = Path(target.run.project)
        self._find_lost = cache(partial(find_lost, root))
        self._untracked = partial(untracked, root)

    def plan(self, selection: Selection, session: Any = None) -> Plan:
        """Return what `migrate` would run. Writes nothing."""
        plan = self._plan(selection, current_state(self._target, session))
        self._compile(plan)
        return plan

    def migrate(
        self,
        selection: Selection,
        progress: Progress,
        lock_timeout: float = 0,
        cancelled: Callable[[], bool] = lambda: False,
        session: Any = None,
    ) -> None:
        """Apply what is pending.

        Args:
            progress: filled while the run goes on.
            lock_timeout: seconds to wait for another run's lock.
            cancelled: called before every statement and while it runs; the run stops there once it returns True.

        Raises:
            GlacierbaseError: the first error; what ran before is recorded.
        """
        if cancelled():
            raise stopped_before(f"catalog {self._target.catalog.name}", "nothing of it ran")
        with self._target.opened(session, cancelled) as opened:
            state = self._settled(opened, read_state(opened), selection, progress, lock_timeout)
            plan = self._plan(selection, state, progress.warnings)
            progress.expect(plan)
            self._compile(plan)
            if not plan.pending:
                return
            executors.check_installed(self._target.catalog, session)
            hooks.before(self._target, plan, cancelled)
            if state.lock is None and not state.history.events:
                self._begin(opened, plan, progress)
            _start_early(opened.engine, state.lock)
            with locked(opened, state, lock_timeout) as held:
                self._run(held, selection, progress)

    def _begin(self, opened: OpenCatalog, plan: Plan, progress: Progress) -> None:
        """Check, before the first run creates the history, that there was none."""
        from glacierbase.apply.lost import check_not_lost  # Later runs do without it.

        if warning := check_not_lost(opened, self._target.compile(plan.migrations)):
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

    def _run(self, held: LockedCatalog, selection: Selection, progress: Progress) -> None:
        """Plan again from the history as it is under the lock, and run that. The last holder may have died meanwhile."""
        from glacierbase.apply.runner import Runner  # Commands that run nothing do without it.

        held = held if selection.approved is not None else recover.settle(held, progress)
        plan = self._plan(selection, held.state, progress.warnings)
        progress.expect(plan)
        self._compile(plan)
        if plan.pending:
            held.engine.start()
            held.lock.name_engine(held.engine.process)
        Runner(held, progress).run(plan)

    def _plan(self, selection: Selection, state: CatalogState, warnings: Sequence[str] = ()) -> Plan:
        """Return the plan with all warnings, each once."""
        plan = make_plan(self._target.migrations, state.history, selection, self._find_lost, self._untracked)
        return replace(plan, warnings=tuple(dict.fromkeys((*warnings, *state.warnings, *plan.warnings))))

    def _compile(self, plan: Plan) -> None:
        """Compile the files of the plan, and check them against the statements that are done and against an approved plan."""
        new = (planned.migration for planned in plan.pending if planned.record is None)
        check_required(new, self._target.catalog.required_headers)
        files = self._target.compile(plan.migrations)
        check_resumes(plan, files)
        check_substitutions(plan, files)
        check_approved(self._target, plan)


def _start_early(engine: Engine, lock: LockRow | None) -> None:
    """Start the engine before the lock is acquired, unless another run holds the lock."""
    if lock is None:
        engine.start()  # No tables are created where the engine does not start.
    elif not is_held(lock):
        engine.start_in_background()
