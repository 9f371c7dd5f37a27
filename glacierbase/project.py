"""The facade over one project: its root, its catalogs in one environment, and a method per command."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Any

from glacierbase.apply import commands as apply
from glacierbase.apply.file_results import SquashResult
from glacierbase.apply.plan import Selection
from glacierbase.apply.results import (
    BaselineResult,
    MigrateResult,
    PendingResult,
    PlanResult,
    RepairResult,
    UnlockResult,
    WarmResult,
)
from glacierbase.inspect import files
from glacierbase.inspect.each import R
from glacierbase.inspect.folders import find_root, load_project
from glacierbase.inspect.report.reporting import ReportingProject
from glacierbase.inspect.results import RenderResult, ValidateResult
from glacierbase.model.arguments import check_reason, given, version_given
from glacierbase.model.command import Scope, with_own_scope
from glacierbase.review import commands as review
from glacierbase.review.replay_results import ReviewResult
from glacierbase.review.results import LintResult
from glacierbase.secrets import Secrets

if TYPE_CHECKING:
    from glacierbase.apply.drift.results import DriftFileResult, DriftIgnoreResult


class Project(ReportingProject):
    """The catalogs and migrations below one root.

    Every command that works on catalogs is a method, except `init`, `new` and `rebase`, which only write or rename files. It takes
    `catalogs`, the names of the catalogs to run it for (default: all), and returns one result per catalog, in order of name. If a
    catalog fails, the method still runs the others, then raises the first error, with all results in the error's attribute
    `results`.

    Attributes:
        held_locks: the locks that runs of this project hold now.
        secrets: those of its catalog files; masked in everything that its methods return, raise, log and record.
        scope: the project and the environment as they were given; commands in messages repeat them.
    """

    @classmethod
    def load(cls, path: str | Path | None = None, environment: str | None = None) -> Project:
        """Read the catalog files of the project at `path`.

        Args:
            path: the project's root; default `GLACIERBASE_PROJECT`, else the nearest one around the working directory.
            environment: default `GLACIERBASE_ENV`, else each catalog's `defaultEnvironment`.

        Raises:
            ConfigurationError: there is no project, a catalog file is wrong, or a name is empty.
        """
        scope = Scope(given("path", path, "GLACIERBASE_PROJECT"), given("environment", environment, "GLACIERBASE_ENV"))
        root, secrets = find_root(path), Secrets()
        scope = replace(scope, root=root)
        with secrets.in_use(), scope.in_use():
            return cls(root, load_project(root), scope, secrets)

    @with_own_scope
    def migrate(
        self,
        catalogs: Collection[str] = (),
        *, to: str | None = None, only: str | None = None, reason: str | None = None,
        allow_out_of_order: Collection[str] = (), plan: str | Path | Collection[PlanResult] | None = None,
        lock_timeout: float = 0, spark: Any = None, cancel: Flag | None = None,
    ) -> tuple[MigrateResult, ...]:  # fmt: skip
        """Apply what is pending, under each catalog's lock.

        Args:
            to: the highest version to run.
            only: the single version to run; requires `reason`. The versions that it jumps over are recorded, and run later.
            allow_out_of_order: versions that may run although a higher one is applied.
            plan: a plan file, or results of `plan`: exactly that runs, or nothing if anything of it changed. Its
                catalogs are the default of `catalogs`; versions cannot be selected. Environments with `requirePlan` need a file.
            lock_timeout: seconds to wait while another run holds the lock.
            spark: a SparkSession to run in, its catalogs configured as in the catalog files; it is not stopped.
            cancel: set it from a signal handler or another thread to stop the run. A statement that takes longer is cancelled.

        Raises:
            GlacierbaseError: the first error; see the module `glacierbase.errors`.
        """
        selection = Selection(to, only, reason, tuple(allow_out_of_order))
        planned = apply.given_plan(plan, selection)
        catalogs = catalogs or (planned.catalogs if planned else ())
        cancelled = cancel.is_set if cancel else lambda: False
        return self._each(catalogs, MigrateResult, apply.migrate, selection, lock_timeout, cancelled, spark, planned)

    @with_own_scope
    def pending(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[PendingResult, ...]:
        """Return what the next `migrate` would apply. Writes nothing."""
        return self._each(catalogs, PendingResult, apply.pending, spark)

    @with_own_scope
    def plan(
        self,
        catalogs: Collection[str] = (),
        *, to: str | None = None, only: str | None = None, reason: str | None = None,
        allow_out_of_order: Collection[str] = (), output: str | Path | None = None, spark: Any = None,
    ) -> tuple[PlanResult, ...]:  # fmt: skip
        """Return what the next `migrate` with the same arguments would run, statement by statement. Writes nothing but `output`.

        Args:
            output: the plan file to write, for `migrate`; an existing one is replaced.
        """
        selection = Selection(to, only, reason, tuple(allow_out_of_order))
        return apply.written(self._each(catalogs, PlanResult, apply.plan, selection, spark), output)

    @with_own_scope
    def render(
        self, versions: Collection[str] = (), catalogs: Collection[str] = (), *, resolve: bool = False
    ) -> tuple[RenderResult, ...]:
        """Return the files as each environment renders them; equal environments share a result. Contacts nothing.

        Args:
            resolve: read `${env:…}`, `${secret:…}` and `${file:…}`, only on a branch that you trust; by default placeholders
                such as `env_NAME` replace them.
        """
        return files.render(self.root, self._choice, catalogs, versions, resolve)

    @with_own_scope
    def validate(
        self, catalogs: Collection[str] = (), *, base: str | None = None, resolve: bool = False
    ) -> tuple[ValidateResult, ...]:
        """Check all files of all environments: names, headers, templates, splitting. Contacts nothing.

        Args:
            base: a git ref; its migrations must be unchanged here, and new versions above its highest.
            resolve: as for `render`.

        Raises:
            GlacierbaseError: all that is wrong, at once.
        """
        return files.validate(self.root, self._choice, catalogs, base, resolve)

    @with_own_scope
    def review(self, base: str, catalogs: Collection[str] = ()) -> tuple[ReviewResult, ...]:
        """Replay migrations on a throw-away copy, and return what those that the git ref `base` lacks do to the tables.

        Contacts no catalog. What the rules of `lint` find in these migrations is among the findings.

        Args:
            base: a git ref, as for `validate`.

        Raises:
            GlacierbaseError: a statement is refused, or a loss is not allowed; `results` holds all findings.
        """
        return review.review(self.root, self._choice, catalogs, base)

    @with_own_scope
    def lint(self, catalogs: Collection[str] = (), *, base: str | None = None) -> tuple[LintResult, ...]:
        """Return what the rules find in all files, or in those that the git ref `base` does not have. Contacts nothing.

        Raises:
            GlacierbaseError: a file does not render, or a finding is an error and not allowed; `results` holds all findings.
        """
        return review.lint(self.root, self._choice, catalogs, base)

    @with_own_scope
    def repair(
        self,
        versions: Collection[str] = (),
        catalogs: Collection[str] = (),
        *, as_: str | None = None, reason: str | None = None, environment_was: str | None = None,
        engine_stopped: bool = False, dry_run: bool = False, lock_timeout: float = 0, spark: Any = None,
    ) -> tuple[RepairResult, ...]:  # fmt: skip
        """Return what is known of versions that need a decision (without `as_`), or record the decision.

        Args:
            versions: of one catalog; default all that need a decision.
            as_: `done` or `not-done` (an unknown outcome), `done` (a failed file's statement, completed by hand), `abandoned`
                (the file ends here), `edited` (an applied file's new checksum), `removed` (a file that is gone on purpose).
            reason: why; recorded, and required to record anything.
            environment_was: accept a history of this environment: the environment was renamed, or the tables were cloned.
            engine_stopped: confirm that the engine of the lost run has stopped; recorded.
            dry_run: record nothing; return what is known of the versions, unless the decision would be refused.
            lock_timeout: seconds to wait while another run holds the lock.

        Raises:
            ConfigurationError: that outcome does not fit the version, or an argument is missing.
            NeedsRepair: `not-done` while the statement may still be running.
        """
        repair = apply.Repair(versions, as_, reason, environment_was, engine_stopped, dry_run)
        if repair.records:
            self._choice.only(catalogs)
        return self._each(catalogs, RepairResult, repair.run, lock_timeout, spark)

    @with_own_scope
    def unlock(
        self,
        catalogs: Collection[str] = (),
        *, force: bool = False, rebuild: bool = False, reason: str | None = None, dry_run: bool = False, spark: Any = None,
    ) -> tuple[UnlockResult, ...]:  # fmt: skip
        """Release the lock of a run that died. Its former holder fails its next check of the lock, and runs nothing more.

        Args:
            force: also release the lock of a run that may be alive.
            rebuild: replace the rows of a damaged lock table by one (`LOCK_DAMAGED`).
            reason: why; recorded.
            dry_run: only return the lock holder, and whether that run is alive.

        Raises:
            LockHeld: the run may be alive, and `force` was not given.
        """
        self._choice.only(catalogs)
        return self._each(catalogs, UnlockResult, apply.unlock, reason, force, rebuild, dry_run, spark)

    @with_own_scope
    def baseline(
        self,
        to: str,
        catalogs: Collection[str] = (),
        *, reason: str, accept: Collection[str] = (), lock_timeout: float = 0, spark: Any = None,
    ) -> tuple[BaselineResult, ...]:  # fmt: skip
        """Record the files up to version `to` as applied and do not run them, because their tables exist already.

        Args:
            accept: patterns of the differences that do not matter: `partitioning`, `column legacy`, `property *`.

        Raises:
            HistoryDisagrees: a table that they create does not exist, or is not as they declare it and that is not accepted.
        """
        options = (version_given(to), reason, accept, lock_timeout, spark)
        check_reason(reason)
        self._choice.only(catalogs)
        return self._each(catalogs, BaselineResult, apply.baseline, *options)

    @with_own_scope
    def squash(
        self, to: str, catalogs: Collection[str] = (), *, author: str, dry_run: bool = False, commit: bool = False
    ) -> tuple[SquashResult, ...]:
        """Replace the files up to version `to` by one that creates the tables of this environment, which is exactly at `to`.

        Args:
            author: of the file, for its header.
            dry_run: write nothing; return the file.
            commit: commit the replacement; otherwise it is staged.

        Raises:
            HistoryDisagrees: the environment is not exactly at `to`, or its tables cannot be written as statements.
        """
        self._choice.only(catalogs)
        return self._each(catalogs, SquashResult, apply.squash, version_given(to), author, dry_run, commit)

    @with_own_scope
    def drift_adopt(
        self, catalogs: Collection[str] = (),
        *, tables: Collection[str] = (), reason: str, author: str, lock_timeout: float = 0,
    ) -> tuple[DriftFileResult, ...]:  # fmt: skip
        """Write a migration with the changes that no migration made, and record it as applied in this environment.

        Args:
            tables: patterns of names; default all tables that differ.
            reason: why; recorded, and the description of the migration.
            author: of the migration.

        Raises:
            HistoryDisagrees: a version is pending, or no statement makes the changes.
        """
        from glacierbase.apply.drift.results import DriftFileResult

        return self._settle(catalogs, DriftFileResult, apply.drift_adopt, reason, tables, author, lock_timeout)

    @with_own_scope
    def drift_revert(
        self, catalogs: Collection[str] = (), *, tables: Collection[str] = (), reason: str, author: str
    ) -> tuple[DriftFileResult, ...]:
        """Write a migration that undoes these changes in this environment, and none in others; arguments as for `drift_adopt`."""
        from glacierbase.apply.drift.results import DriftFileResult

        return self._settle(catalogs, DriftFileResult, apply.drift_revert, reason, tables, author)

    @with_own_scope
    def drift_ignore(
        self, catalogs: Collection[str] = (), *, tables: Collection[str] = (), reason: str
    ) -> tuple[DriftIgnoreResult, ...]:
        """Write a rule for each of these changes into the catalog file; arguments as for `drift_adopt`."""
        from glacierbase.apply.drift.results import DriftIgnoreResult

        return self._settle(catalogs, DriftIgnoreResult, apply.drift_ignore, reason, tables)

    def _settle(self, catalogs: Collection[str], kind: type[R], run: Any, reason: str, *args: Any) -> tuple[R, ...]:
        check_reason(reason)
        self._choice.only(catalogs)
        return self._each(catalogs, kind, run, reason, *args)

    @with_own_scope
    def warm(self, catalogs: Collection[str] = ()) -> tuple[WarmResult, ...]:
        """Resolve dependencies and build Spark's class archive ahead of time, in the user's cache. Contacts no catalog."""
        return self._each(catalogs, WarmResult, apply.warm)
