"""The facade over one project: its root, its catalogs in one environment, and a method per command."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from glacierbase.apply.plan import Selection
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.folder import CatalogFile
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.executors import type_of
from glacierbase.model.arguments import (
    check_not_empty,
    check_parallel,
    check_reason,
    check_role,
    given,
    key_given,
    names_file,
    names_given,
    version_given,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import Scope, command, on_catalog, with_own_scope
from glacierbase.model.result import Results
from glacierbase.project.commands import COMMANDS, Command
from glacierbase.project.each import Catalogs, folder_check
from glacierbase.project.folders import find_root, listing_catalogs, load_project
from glacierbase.run.held import HeldLocks
from glacierbase.secrets import Secrets

# A command imports what it runs when it is called.
if TYPE_CHECKING:
    from glacierbase.apply.results import (
        BaselineResult,
        EnvResult,
        MigrateResult,
        PendingResult,
        PlanResult,
        RepairResult,
        UnlockResult,
        WarmResult,
    )
    from glacierbase.capabilities.access.access import AccessResult
    from glacierbase.capabilities.adopt.results import ImportResult
    from glacierbase.capabilities.adopt.table_results import ImportTablesResult
    from glacierbase.capabilities.authoring.squash.squash import SquashResult
    from glacierbase.capabilities.load.advise import AdviseResult
    from glacierbase.capabilities.load.explain import ExplainResult
    from glacierbase.capabilities.load.profile import ProfileResult
    from glacierbase.capabilities.load.rates import Load
    from glacierbase.capabilities.load.simulate import SimulationInputs
    from glacierbase.capabilities.load.simulation import Simulation
    from glacierbase.capabilities.rekey.approval import RekeyApproveResult
    from glacierbase.capabilities.rekey.plan import RekeyPlanResult
    from glacierbase.capabilities.review.results import CheckResult, LintResult, ReviewResult
    from glacierbase.capabilities.tables.blame import BlameResult
    from glacierbase.capabilities.tables.compare.results import CompareResult
    from glacierbase.capabilities.tables.compare.state import StateResult
    from glacierbase.capabilities.tables.drift import DriftResult
    from glacierbase.capabilities.tables.drift_files import DriftFileResult, DriftIgnoreResult
    from glacierbase.capabilities.tables.report.results import ReportResult
    from glacierbase.capabilities.tables.schema import SchemaResult
    from glacierbase.inspect.history import HistoryResult
    from glacierbase.inspect.results import DoctorResult, RenderResult, StatusResult, ValidateResult
    from glacierbase.inspect.show import ShowResult
    from glacierbase.layout.providers import Provider
    from glacierbase.model.result import WrittenResult

P = ParamSpec("P")
T = TypeVar("T")


def _on_named_catalogs(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Run a method of a project in its scope. Its argument `catalogs` may be one name; without a name it gets the default."""
    parameters = signature(method)

    @wraps(method)
    def run(project: Project, /, *args: P.args, **kwargs: P.kwargs) -> T:
        call = parameters.bind(project, *args, **kwargs)
        names = project._catalogs.choice.given(call.arguments.get("catalogs", ()))
        call.arguments["catalogs"] = names
        with on_catalog(next(iter(names)) if len(names) == 1 else None):
            return method(*call.args, **call.kwargs)

    return with_own_scope(run)


# The command by which `report` reads each catalog.
_PAGE = Command(None, "capabilities.tables.report.data:page_of", "capabilities.tables.report.results:PageResult")
# The function of `layout explain` for a file.
_EXPLAIN_FILE = Command(None, "capabilities.load.explain:explain_file")


class Project:
    """The catalogs and migrations below one root.

    Every command that works on catalogs is a method, except `init`, `new` and `rebase`, which only write or rename files. It takes
    `catalogs`, the names of the catalogs to run it for, or one name (default: `default_catalogs`), and returns one result per
    catalog, in order of name. If a catalog fails, also because a reference in its file has no value, the method still runs the
    others (`migrate` only those that it started before), then raises the first error, with all results in its attribute `results`.
    `layout_advise`, `layout_profile` and `layout_simulate` are about one table, or none, and return one result.

    Attributes:
        held_locks: the locks that runs of this project hold now.
        secrets: those of its catalog files; masked in all values that its methods return, raise, log and record.
        scope: the project and the environment that the caller gave; commands in messages repeat them.
        default_catalogs: the names in `GLACIERBASE_CATALOG`, which commas separate; empty for all catalogs.
    """

    def __init__(
        self,
        root: Path,
        files: Sequence[CatalogFile],
        scope: Scope,
        secrets: Secrets,
        unreadable: Mapping[str, GlacierbaseError],
    ) -> None:
        self.root = root
        self.secrets = secrets
        self.scope = scope
        self.held_locks = HeldLocks()
        self.default_catalogs = names_given("GLACIERBASE_CATALOG")
        choice = CatalogChoice(root / "catalogs", files, scope.environment, self.default_catalogs, unreadable)
        self._catalogs = Catalogs(root, choice, scope, self.held_locks)

    @classmethod
    def load(cls, path: str | Path | None = None, environment: str | None = None) -> Project:
        """Read the catalog files of the project at `path`.

        Args:
            path: the project's root; default `GLACIERBASE_PROJECT`, else the nearest one around the working directory.
            environment: default `GLACIERBASE_ENV`, else each catalog's `defaultEnvironment`.

        Raises:
            ConfigurationError: there is no project, a catalog file is wrong, or a name is empty. If other catalog files can be
                read, the methods report the wrong one as a catalog that failed.
        """
        scope = Scope(given("path", path, "GLACIERBASE_PROJECT"), given("environment", environment, "GLACIERBASE_ENV"))
        root, secrets = find_root(path), Secrets()
        scope = replace(scope, root=root)
        with secrets.in_use(), scope.in_use():
            unreadable: dict[str, GlacierbaseError] = {}
            return cls(root, load_project(root, unreadable), scope, secrets, unreadable)

    @_on_named_catalogs
    def migrate(
        self,
        catalogs: Collection[str] = (),
        *, to: str | None = None, only: str | None = None, reason: str | None = None,
        allow_out_of_order: Collection[str] = (), plan: str | Path | Collection[PlanResult] | None = None,
        lock_timeout: float = 0, spark: Any = None, cancel: Flag | None = None, parallel: int = 1,
    ) -> tuple[MigrateResult, ...]:  # fmt: skip
        """Apply what is pending, under each catalog's lock. After an error no other catalog is started; those that run go on.

        Args:
            to: the highest version to run.
            only: the single version to run; requires `reason`. The versions that it jumps over are recorded, and run later.
            allow_out_of_order: versions that may run although a higher one is applied.
            plan: a plan file, or results of `plan`: exactly that runs, or nothing if anything of it changed. Its
                catalogs are the default of `catalogs`; versions cannot be selected. Environments with `requirePlan` need a file.
            lock_timeout: seconds to wait while another run holds the lock.
            spark: a SparkSession to run in, its catalogs configured as in the catalog files; it is not stopped.
            cancel: set it from a signal handler or another thread to stop the run. A statement that takes longer is cancelled.
            parallel: how many catalogs run at the same time; with `spark`, only one.

        Raises:
            GlacierbaseError: the first error; see the module `glacierbase.errors`.
            KeyboardInterrupt: one in this thread, after all catalogs that run have stopped.
        """
        check_parallel(parallel, is_session=spark is not None)
        selection = Selection(to, only, reason, tuple(allow_out_of_order))
        given = None
        if plan is not None:
            from glacierbase.apply.planfile import given_plan  # Only runs that apply a plan read one.

            given = given_plan(plan, selection)
            catalogs = catalogs or given.catalogs
        cancelled = cancel.is_set if cancel else lambda: False
        return self._catalogs.run(
            COMMANDS["migrate"], catalogs, spark, cancelled, parallel,
            selection=selection, lock_timeout=lock_timeout, given=given,
        )  # fmt: skip

    @_on_named_catalogs
    def pending(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[PendingResult, ...]:
        """Return what the next `migrate` would apply. Writes nothing."""
        return self._catalogs.run(COMMANDS["pending"], catalogs, spark)

    @_on_named_catalogs
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
        plans = self._catalogs.run(COMMANDS["plan"], catalogs, spark, selection=selection)
        if output is not None:
            from glacierbase.apply.planfile import write_plan

            write_plan(output, plans)
        return plans

    @_on_named_catalogs
    def render(
        self, versions: Collection[str] = (), catalogs: Collection[str] = (), *, resolve: bool = False
    ) -> tuple[RenderResult, ...]:
        """Return the files as each environment renders them; equal environments share a result. Contacts nothing.

        Args:
            resolve: read `${env:…}`, `${secret:…}` and `${file:…}`, only on a branch that you trust; by default placeholders
                such as `env_NAME` replace them.
        """
        return self._on_files("render", catalogs, versions=versions, resolve=resolve)

    @_on_named_catalogs
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
        with listing_catalogs(self.root):
            self._check_readable(catalogs)
        return self._on_files("validate", catalogs, base=base, resolve=resolve)

    @_on_named_catalogs
    def check(self, catalogs: Collection[str] = (), *, base: str | None = None) -> tuple[CheckResult, ...]:
        """Return what `validate` and `lint` find, with a base what `validate` and `review` find. Contacts nothing.

        Args:
            base: a git ref, as for `validate`; its new migrations are replayed where an engine for that is installed.

        Raises:
            GlacierbaseError: all that is wrong with the files; else the findings that are errors. `results` has all.
        """
        with listing_catalogs(self.root):
            self._check_readable(catalogs)
        return self._on_files("check", catalogs, base=base)

    @_on_named_catalogs
    def review(self, base: str, catalogs: Collection[str] = ()) -> tuple[ReviewResult, ...]:
        """Replay migrations on a throw-away copy, and return the changes of tables by those that the git ref `base` lacks.

        Contacts no catalog. The findings include those of `lint` in these migrations.

        Args:
            base: a git ref, as for `validate`.

        Raises:
            GlacierbaseError: a statement is refused, or a loss is not allowed; `results` holds all findings.
        """
        return self._on_files("review", catalogs, base=base)

    @_on_named_catalogs
    def lint(self, catalogs: Collection[str] = (), *, base: str | None = None) -> tuple[LintResult, ...]:
        """Return the findings of the rules in all files, or in those that the git ref `base` lacks. Contacts nothing.

        Raises:
            GlacierbaseError: a file does not render, or a finding is an error and not allowed; `results` holds all findings.
        """
        return self._on_files("lint", catalogs, base=base)

    @_on_named_catalogs
    def repair(
        self,
        versions: Collection[str] = (),
        catalogs: Collection[str] = (),
        *, as_: str | None = None, reason: str | None = None, environment_was: str | None = None,
        engine_stopped: bool = False, dry_run: bool = False, lock_timeout: float = 0, spark: Any = None,
    ) -> tuple[RepairResult, ...]:  # fmt: skip
        """Return what is known of versions that need a decision (without `as_`), or record the decision.

        Args:
            versions: versions of one catalog; default all that need a decision.
            as_: `done` or `not-done` (an unknown outcome), `done` (a failed file's statement, completed by hand), `abandoned`
                (the file ends here), `edited` (an applied file's new checksum), `removed` (a file deleted on purpose);
                `withdrawn` (no statement took effect in any environment), which returns a result for each environment.
            reason: why; recorded, and required to record anything.
            environment_was: accept a history of this environment: it was renamed, cloned, restored or moved.
            engine_stopped: confirm that the engine of the lost run has stopped; recorded.
            dry_run: record nothing; return what is known of the versions, unless the decision would be refused.
            lock_timeout: seconds to wait while another run holds the lock.

        Raises:
            ConfigurationError: that outcome is not possible for the version, or an argument is missing.
            NeedsRepair: `not-done` while the statement may still be running.
        """
        from glacierbase.apply.repair import RepairRequest

        if as_ == "withdrawn":
            if environment_was is not None:
                what = "--as withdrawn and --environment-was exclude each other"
                raise ConfigurationError("CONFLICTING_OPTIONS", what, "use one of them")
            from glacierbase.apply.withdraw import Withdrawal, withdraw

            withdrawal = Withdrawal.of(versions, reason, dry_run, lock_timeout)
            return withdraw(*self._catalogs.everywhere(catalogs), withdrawal, self.scope)
        request = RepairRequest.of(versions, as_, reason, environment_was, engine_stopped, dry_run)
        if request.changes_history:
            self._catalogs.choice.only(catalogs)
        return self._catalogs.run(COMMANDS["repair"], catalogs, spark, request=request, lock_timeout=lock_timeout)

    @_on_named_catalogs
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
        self._catalogs.choice.only(catalogs)
        return self._catalogs.run(
            COMMANDS["unlock"], catalogs, spark, reason=reason, force=force, rebuild=rebuild, dry_run=dry_run
        )

    @_on_named_catalogs
    def baseline(
        self,
        to: str,
        catalogs: Collection[str] = (),
        *, reason: str, accept: Collection[str] = (), leave_missing: bool = False, lock_timeout: float = 0, spark: Any = None,
    ) -> tuple[BaselineResult, ...]:  # fmt: skip
        """Record the files up to version `to` as applied and do not run them, because their tables exist already.

        Args:
            accept: patterns of the differences that do not matter: `partitioning`, `column legacy`, `property *`.
            leave_missing: leave files pending whose tables do not exist; they may run later.

        Raises:
            HistoryDisagrees: a table of the files does not exist, or differs from them in a way that is not accepted.
        """
        number = version_given(to)
        check_reason(reason)
        self._catalogs.choice.only(catalogs)
        return self._catalogs.run(
            COMMANDS["baseline"], catalogs, spark,
            to=number, reason=reason, accept=accept, leave_missing=leave_missing, lock_timeout=lock_timeout,
        )  # fmt: skip

    @_on_named_catalogs
    def import_tables(
        self,
        tables: Collection[str] = (),
        catalogs: Collection[str] = (),
        *, list_only: bool = False, author: str | None = None, dry_run: bool = False, reason: str | None = None,
        lock_timeout: float = 0, spark: Any = None,
    ) -> tuple[ImportTablesResult, ...]:  # fmt: skip
        """Write a migration file for each table that exists and that neither history nor files of one catalog have.

        Args:
            tables: patterns of names; required to write files, default all tables.
            list_only: only return the tables, and which of them are managed; of all catalogs by default.
            author: default git's `user.name`.
            dry_run: write and record nothing.
            reason: why; then the files are recorded as applied, as `baseline` does.

        Raises:
            ConfigurationError: a pattern fits no table; a file cannot be written.
            HistoryDisagrees: the files were written, and could not be recorded.
            EngineUnavailable: tables cannot be listed, and no file was written; `results` has the others.
        """
        from glacierbase.capabilities.adopt.tables import TableImport
        from glacierbase.record.tables import TableChoice

        if not list_only:
            self._catalogs.choice.only(catalogs)
            if not tables:
                hint = f"name tables, or '*' for all; `{command('import', 'tables', '--list')}` lists them"
                raise ConfigurationError("EMPTY_VALUE", "no pattern of tables was given; nothing was written", hint)
        if reason is not None:
            check_reason(reason)
        choice = TableChoice(tables, "no table in the catalogs of the engine matches")
        wanted = TableImport(list_only, author, dry_run, None if dry_run or list_only else reason, lock_timeout)
        return choice.check(
            self._catalogs.run(COMMANDS["import-tables"], catalogs, spark, choice=choice, wanted=wanted)
        )

    @_on_named_catalogs
    def import_project(
        self,
        tool: str,
        path: str | Path,
        catalogs: Collection[str] = (),
        *, author: str | None = None, dry_run: bool = False, baseline: bool = False, history_table: str | None = None,
        reason: str | None = None, accept: Collection[str] = (), lock_timeout: float = 0, spark: Any = None,
    ) -> tuple[ImportResult, ...]:  # fmt: skip
        """Write the scripts of another tool's project as migrations of one catalog. Runs and changes nothing of that project.

        Args:
            tool: `flyway`, `schemachange`, `liquibase` or `alembic-offline-sql`.
            path: of its project: a folder; for Liquibase also a changelog; for Alembic the script.
            author: of scripts whose tool does not record one; default git's `user.name`.
            dry_run: write and record nothing.
            baseline: record the versions as applied that the tool's history table has as applied, which this reads.
            history_table: its name; default the one of the tool's configuration, or the tool's own.
            reason: why; recorded, and required with `baseline`.
            accept: as for `baseline`.

        Raises:
            GlacierbaseError: nothing was written; or with `baseline`, nothing was recorded, and `results` has the files.
        """
        choice = self._catalogs.choice
        chosen = choice.only(catalogs)
        if baseline:
            check_reason(reason)
        from glacierbase.capabilities.adopt.importing import import_files
        from glacierbase.capabilities.review.written import check_imported

        folder, check = self.folder(chosen.name), partial(check_imported, self.root, chosen)
        imported = import_files(self.root, folder, tool, path, author=author, dry_run=dry_run, check=check)
        if not baseline:
            return Results([imported.result])
        try:
            return self._catalogs.run(
                COMMANDS["import"], [chosen.name], spark,
                imported=imported, history_table=history_table, reason=reason, accept=accept, lock_timeout=lock_timeout,
            )  # fmt: skip
        except GlacierbaseError as error:
            error.results = (replace(imported.result, error=error),)
            raise

    @_on_named_catalogs
    def squash(
        self, to: str, catalogs: Collection[str] = (), *, author: str, dry_run: bool = False, commit: bool = False
    ) -> tuple[SquashResult, ...]:
        """Replace the files up to version `to` by one that creates the tables of this environment, which is exactly at `to`.

        Args:
            author: the author of the file, for its header.
            dry_run: write nothing; return the file.
            commit: commit the replacement; otherwise it is staged.

        Raises:
            HistoryDisagrees: the environment is not exactly at `to`, or its tables cannot be written as statements.
        """
        self._catalogs.choice.only(catalogs)
        number = version_given(to)
        return self._catalogs.run(
            COMMANDS["squash"], catalogs, to=number, author=author, dry_run=dry_run, commit=commit
        )

    @_on_named_catalogs
    def new_matching(
        self, source: str, description: str, catalogs: Collection[str] = (),
        *, table: str | None = None, renames: Sequence[str] = (), author: str | None = None,
    ) -> tuple[WrittenResult, ...]:  # fmt: skip
        """Write the next migration file with the statements that lead from the recorded tables to wanted ones.

        Args:
            source: a file with CREATE TABLE statements, an Arrow, Parquet or JSON schema; or `env:` and an environment's name.
            table: the only one that is changed; required where the source names none.
            renames: the columns that have other names in the source, as `old:new`.
            author: default git's `user.name`.

        Raises:
            ConfigurationError: a step would lose values or is impossible, or the source is no schema.
        """
        from glacierbase.capabilities.tables.match import Match, rename_pairs

        self._catalogs.choice.only(catalogs)
        other = Project.load(self.root, source.removeprefix("env:")) if source.startswith("env:") else None
        match = Match(source, table, rename_pairs(renames), other._catalogs.only(catalogs) if other else None)
        return self._catalogs.run(
            COMMANDS["new-matching"], catalogs, match=match, description=description, author=author
        )

    @_on_named_catalogs
    def drift_adopt(
        self, catalogs: Collection[str] = (),
        *, tables: Collection[str] = (), reason: str, author: str, lock_timeout: float = 0,
    ) -> tuple[DriftFileResult, ...]:  # fmt: skip
        """Write a migration with the changes that no migration made, and record it as applied in this environment.

        Args:
            tables: patterns of names; default all tables that differ.
            reason: why; recorded, and the description of the migration.
            author: the author of the migration.

        Raises:
            HistoryDisagrees: a version is pending, or no statement makes the changes.
        """
        check_reason(reason)
        self._catalogs.choice.only(catalogs)
        return self._catalogs.run(
            COMMANDS["drift-adopt"], catalogs, tables=tables, reason=reason, author=author, lock_timeout=lock_timeout
        )

    @_on_named_catalogs
    def drift_revert(
        self, catalogs: Collection[str] = (),
        *, tables: Collection[str] = (), reason: str, author: str, lock_timeout: float = 0,
    ) -> tuple[DriftFileResult, ...]:  # fmt: skip
        """Write a migration that undoes these changes in this environment, and none in others; arguments as for `drift_adopt`.

        Another one before it, which is recorded as applied, makes the changes.
        """
        check_reason(reason)
        self._catalogs.choice.only(catalogs)
        return self._catalogs.run(
            COMMANDS["drift-revert"], catalogs, tables=tables, reason=reason, author=author, lock_timeout=lock_timeout
        )

    @_on_named_catalogs
    def drift_ignore(
        self, catalogs: Collection[str] = (), *, tables: Collection[str] = (), reason: str
    ) -> tuple[DriftIgnoreResult, ...]:
        """Return a rule for each of these changes, to add to the catalog file; arguments as for `drift_adopt`."""
        check_reason(reason)
        self._catalogs.choice.only(catalogs)
        return self._catalogs.run(COMMANDS["drift-ignore"], catalogs, tables=tables, reason=reason)

    @_on_named_catalogs
    def env(self, catalogs: Collection[str] = (), *, check: bool = False, clean: bool = False) -> tuple[EnvResult, ...]:
        """Make the virtual environments of `migrationExecutor.packages`, and write their lock files. Contacts no catalog.

        Args:
            check: only check whether each is complete, and holds what its lock file lists.
            clean: only delete environments in the cache that the catalog files do not use any more.

        Raises:
            ConfigurationError: an environment is missing or out of date (with `check`), or its packages cannot be installed.
            EngineUnavailable: the package index did not answer, or an environment could not be written.
        """
        if check and clean:
            raise ConfigurationError("CONFLICTING_OPTIONS", "--check and --clean exclude each other", "use one of them")
        files = {file.name: file for file in self._catalogs.choice.files}

        def everywhere(name: str) -> list[Catalog]:
            return [
                files[name].for_environment(environment, self.root, resolve=False)
                for environment in files[name].environments
            ]

        return self._catalogs.run(COMMANDS["env"], catalogs, everywhere=everywhere, check=check, clean=clean)

    @_on_named_catalogs
    def warm(self, catalogs: Collection[str] = ()) -> tuple[WarmResult, ...]:
        """Resolve dependencies and build Spark's class archive ahead of time, in the user's cache. Contacts no catalog."""
        return self._catalogs.run(COMMANDS["warm"], catalogs)

    @_on_named_catalogs
    def report(
        self, output: str | Path, environments: Sequence[str] = (), catalogs: Collection[str] = (), *, spark: Any = None
    ) -> tuple[ReportResult, ...]:
        """Write a page about tables, migrations and what is pending. It opens from disk, and contacts nothing.

        Tables are compared with their records where no engine is needed for that. Changes nothing but that file.

        Args:
            output: the HTML file; an existing one is replaced.
            environments: to compare, two or more; as for `compare`.

        Raises:
            GlacierbaseError: a catalog or an environment cannot be read, or several; `results` says where the page with the others
                is. Without any others there is none.
        """
        results: Results[ReportResult] = COMMANDS["report"].load()(
            output,
            self.root.resolve().name,
            lambda: self._catalogs.run(_PAGE, catalogs, spark),
            lambda: self.compare(environments, catalogs) if environments else (),
        )
        return results

    @_on_named_catalogs
    def compare(self, environments: Sequence[str], catalogs: Collection[str] = ()) -> tuple[CompareResult, ...]:
        """Return whether environments have had the same updates: the same files applied, and the same tables. Writes nothing.

        Args:
            environments: two or more: names, and paths of files that `export_state` wrote, which end in `.json`.

        Raises:
            GlacierbaseError: an environment cannot be read; `results` compares the others.
        """
        results: tuple[CompareResult, ...] = COMMANDS["compare"].load()(
            environments,
            catalogs,
            lambda names: self._catalogs.run_in_environments(COMMANDS["export-state"], names, catalogs),
        )
        return results

    @_on_named_catalogs
    def export_state(
        self, output: str | Path, catalogs: Collection[str] = (), *, spark: Any = None
    ) -> tuple[StateResult, ...]:
        """Write the state of every version and table to a file, for `compare` where the environment cannot be reached.

        It holds no secrets, no SQL and no rows. It changes nothing but that file.

        Args:
            output: the file, which ends in `.json`; an existing one is replaced.
        """
        from glacierbase.capabilities.tables.compare.state import check_output, write_states

        check_output(output)
        states = self._catalogs.run(COMMANDS["export-state"], catalogs, spark)
        write_states(output, states)
        return states

    @_on_named_catalogs
    def status(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[StatusResult, ...]:
        """Return the state of every version, and the lock holder. Writes nothing."""
        return self._catalogs.run(COMMANDS["status"], catalogs, spark)

    @_on_named_catalogs
    def history(
        self,
        catalogs: Collection[str] = (),
        *, table: str | None = None, column: str | None = None, author: str | None = None, since: str | None = None,
        version: str | None = None, spark: Any = None,
    ) -> tuple[HistoryResult, ...]:  # fmt: skip
        """Return the events, in order, and the outcomes of migrations that match all arguments. Writes nothing.

        Args:
            table: only files that change this table, also under its former names; as for `schema`.
            column: a column of that table: only its changes, and those of the fields inside it, also under other names.
            author: part of the author's name; case is ignored.
            since: the oldest time: ISO 8601, a date (its begin in UTC), or before now: `90m`, `12h`, `7d`, `2w`.
            version: only this one.

        Raises:
            ConfigurationError: no catalog has that table, or the table never had that column.
        """
        from glacierbase.inspect.history import Filters

        filters = Filters.given(table, column, author, since, version)
        results = self._catalogs.run(COMMANDS["history"], catalogs, spark, filters=filters)
        return results if filters.table is None else filters.table.check(results)

    @_on_named_catalogs
    def show(self, version: str, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[ShowResult, ...]:
        """Return the details of one version or repeatable. Writes nothing.

        Raises:
            ConfigurationError: no catalog has that version, neither in its files nor in its history.
        """
        from glacierbase.inspect.show import check_known

        key = key_given(version)
        return check_known(self._catalogs.run(COMMANDS["show"], catalogs, spark, key=key), version)

    @_on_named_catalogs
    def schema(
        self,
        table: str,
        catalogs: Collection[str] = (),
        *, at: str | None = None, diff: str | None = None, sql: bool = False, spark: Any = None,
    ) -> tuple[SchemaResult, ...]:  # fmt: skip
        """Return the shape of a table by the record of its migrations. Writes nothing, and does not read the table.

        Args:
            table: its name; it may lack the first parts or differ in case, if only one table matches.
            at: the shape after this version was run, or at this time: ISO 8601, or a date, which means its end in UTC.
            diff: two of these, `A..B`: the differences between them.
            sql: also return the statements that create the table.

        Raises:
            ConfigurationError: no catalog has that table, the name is ambiguous, or no statements create the table.
        """
        from glacierbase.capabilities.tables.schema import Wanted
        from glacierbase.record.table_search import TableSearch

        search = TableSearch(table)
        wanted = Wanted.given(at, diff, sql)
        return search.check(self._catalogs.run(COMMANDS["schema"], catalogs, spark, search=search, wanted=wanted))

    @_on_named_catalogs
    def layout_explain(
        self, table: str, catalogs: Collection[str] = (), *, spark: Any = None
    ) -> tuple[ExplainResult, ...]:
        """Return the template of the object keys of tables, segment by segment, and what decides each segment. Writes nothing.

        Args:
            table: as for `schema`: the table as recorded, or as the files declare it where the history has no record of it. Or
                the version or the path of a migration: the tables that it creates or changes, in every environment; this
                contacts nothing.

        Raises:
            ConfigurationError: no catalog has that table or file, or the file changes no table.
        """
        check_not_empty("the table", table)
        if names_file(table):
            self._check_readable(catalogs)
            results: Results[ExplainResult] = _EXPLAIN_FILE.load()(self.root, self._catalogs.choice, catalogs, table)
            return results
        from glacierbase.record.table_search import TableSearch

        search = TableSearch(table)
        return search.check(self._catalogs.run(COMMANDS["layout-explain"], catalogs, spark, search=search))

    @_on_named_catalogs
    def layout_advise(
        self,
        table: str,
        load: Load,
        catalogs: Collection[str] = (),
        *, provider: Provider | None = None, table_format: str | None = None, column: str | None = None, is_readable: bool = False,
        write: bool = False, author: str | None = None, spark: Any = None,
    ) -> AdviseResult:  # fmt: skip
        """Return the key layout that a load on a table needs, or the advice to do nothing. Runs no statement.

        Args:
            table: as for `layout_explain`, but no file.
            load: objects and requests at the peak, and their growth.
            provider: whose limits count; default those that AWS documents.
            table_format: of a table whose format is not known.
            column: the column from which hashes and buckets are computed; default that of the table's bucket field, or `id`.
            is_readable: whether keys with the column's value are preferred to hashes.
            write: write the statements as the next migration of the catalog.
            author: of that migration; default git's `user.name`.

        Raises:
            ConfigurationError: no catalog, or more than one, has that table; its format is not `table_format`.
        """
        from glacierbase.capabilities.load import advise
        from glacierbase.capabilities.load.advised import advised_table

        explain = partial(self.layout_explain, table, catalogs, spark=spark)
        about, catalog = advised_table(explain, table, table_format, column, is_readable)
        advice = advise.advise(load, provider, about)
        if write:
            folder = self.folder(catalog or next(iter(catalogs), None))
            advice = advise.write(self.root, folder, advice, author, folder_check(self.root, folder))
        return advise.AdviseResult(advice)

    @_on_named_catalogs
    def rekey_plan(
        self,
        table: str,
        catalogs: Collection[str] = (),
        *, to: str, keys: str | None = None, view: str | None = None, old_table: str | None = None, new_table: str | None = None,
        by: str | None = None, partitioned: str | None = None, author: str | None = None, spark: Any = None,
    ) -> tuple[RekeyPlanResult, ...]:  # fmt: skip
        """Write the migrations of one catalog that give an Iceberg table, or the objects of a data set, other keys.

        Runs nothing; reads the table.

        Args:
            table: its name; it begins with the catalog. Or the address of objects on S3, `s3://BUCKET/PREFIX/`.
            to: `object-storage`, or the ALTER TABLE that changes the table's keys; of objects, the template of the new keys.
            keys: of objects, the template of the present keys.
            view: of objects, the view by which readers are switched from `old_table` to `new_table`.
            by: the column by which rows are divided between the two meanwhile.
            partitioned: of objects, the table by whose partitions readers are switched instead.
            author: default git's `user.name`.

        Raises:
            ConfigurationError: there is no such table, the statement does not change its keys, or a template is wrong.
            EngineUnavailable: the table cannot be read.
        """
        self._catalogs.choice.only(catalogs)
        readers = (view, old_table, new_table, by, partitioned)
        return self._catalogs.run(
            COMMANDS["rekey-plan"], catalogs, spark, table=table, to=to, author=author, keys=keys, readers=readers
        )

    def rekey_approve(
        self, address: str, *, manifest: str | None = None, journal: str | None = None
    ) -> RekeyApproveResult:
        """Approve that the objects with old keys are deleted that a manifest names; without its digest, only return the manifest.

        Args:
            address: of the objects, `s3://BUCKET/PREFIX/`.
            manifest: the digest of the manifest.
            journal: where the re-key has its journal, `dynamodb:TABLE`; default the project's folder.

        Raises:
            ConfigurationError: there is no manifest, or another one now; the journal cannot be read.
        """
        from glacierbase.capabilities.rekey.approval import approve
        from glacierbase.run.run import Run

        by = Run.here(self.root).os_user
        return approve(self.root, address, journal=journal or "", manifest=manifest, by=by)

    @_on_named_catalogs
    def layout_profile(
        self,
        table: str,
        column: str,
        catalogs: Collection[str] = (),
        *, sample: int | None = None, plot: str | None = None, spark: Any = None,
    ) -> ProfileResult:  # fmt: skip
        """Return how evenly the ids of a column of a table are divided by their first and last characters. Changes nothing.

        Reads the table through PyIceberg where that is possible; otherwise it starts the catalog's engine.

        Args:
            catalogs: the one catalog of the table; default the only one of the project.
            sample: read at most so many values, from the start; default a million.
            plot: a PNG file to write; an existing one is replaced.

        Raises:
            ConfigurationError: there is no such table or column, or its values are no ids.
            EngineUnavailable: the table cannot be read.
        """
        from glacierbase.capabilities.load.ids import MOST, ids_in_table
        from glacierbase.capabilities.load.profile import profile

        target, most = replace(self._catalogs.only(catalogs), spark=spark), sample or MOST
        with closing(ids_in_table(target, table, column, most)) as batches:
            return profile(batches, table, column, most, plot)

    @_on_named_catalogs
    def layout_simulate(
        self, inputs: SimulationInputs, catalogs: Collection[str] = (), *, spark: Any = None
    ) -> Simulation:
        """Return the 503s of an object store that key schemes, and the keys of a table, lead to in a model. Changes nothing.

        Args:
            inputs: with the table or the migration whose keys are simulated, or the table that ids are read from.

        Raises:
            ConfigurationError: an option has a wrong value; as `layout_explain` and `layout_profile`.
            EngineUnavailable: the table of the ids cannot be read.
        """
        from glacierbase.capabilities.load.ids import ids_in_table
        from glacierbase.capabilities.load.schemes import MOST_IDS
        from glacierbase.capabilities.load.simulate import simulate, templates_of

        templates, batches = None, None
        if inputs.source:
            templates = templates_of(inputs.source, self.layout_explain(inputs.source, catalogs, spark=spark))
        if inputs.table:
            target = replace(self._catalogs.only(catalogs), spark=spark)
            batches = ids_in_table(target, inputs.table, inputs.column, MOST_IDS)
        return simulate(inputs, templates, batches)

    @_on_named_catalogs
    def blame(self, table: str, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[BlameResult, ...]:
        """Return who changed each column, partition field and property of a table last, when and why. Writes nothing.

        The last change of a column is that of its name, type, nullability, comment or default, through renames. A change after
        the last record is shown if the table can be read without an engine.

        Args:
            table: as for `schema`; with a column after it, `TABLE.COLUMN`, only that one and the fields inside it.

        Raises:
            ConfigurationError: no catalog has that table, or the table has no such column.
        """
        from glacierbase.record.table_search import TableSearch

        search = TableSearch(table)
        return search.check(self._catalogs.run(COMMANDS["blame"], catalogs, spark, search=search))

    @_on_named_catalogs
    def drift(
        self, catalogs: Collection[str] = (), *, tables: Collection[str] = (), spark: Any = None
    ) -> tuple[DriftResult, ...]:
        """Return how the tables differ from their records in the history. Writes nothing.

        Args:
            tables: patterns of names; default all tables.

        Raises:
            ConfigurationError: a pattern matches no table of the history.
            EngineUnavailable: a table cannot be read; `results` has the differences of the others.
        """
        from glacierbase.record.tables import TableChoice

        choice = TableChoice(tables)
        return choice.check(self._catalogs.run(COMMANDS["drift"], catalogs, spark, choice=choice))

    @_on_named_catalogs
    def doctor(
        self, catalogs: Collection[str] = (), *, print_ddl: bool = False, spark: Any = None
    ) -> tuple[DoctorResult, ...]:
        """Check all that a migration requires: files, connection, history, rights, and that the lock is exclusive.

        Args:
            print_ddl: contact nothing; return the statements that create the tables of glacierbase, and the rights they need.

        Raises:
            GlacierbaseError: the first error; `results` holds all checks.
        """
        row = COMMANDS["doctor"]._replace(needs_values=not print_ddl)
        return self._catalogs.run(row, catalogs, spark, print_ddl=print_ddl)

    @_on_named_catalogs
    def access(
        self, catalogs: Collection[str] = (), *, migrator: str, writers: Collection[str], flavour: str | None = None
    ) -> tuple[AccessResult, ...]:
        """Return the grants by which only one role changes the tables that the files change. Contacts nothing, grants nothing.

        Args:
            migrator: the role that runs `migrate`; of Lake Formation, its ARN.
            writers: the roles that read and write rows.
            flavour: `snowflake`, `polaris`, `unity` or `lake-formation`; default what the catalog file shows.

        Raises:
            ConfigurationError: the catalog file does not show the flavour; the migrator is also a writer.
        """
        for name, roles in (("migrator", (migrator,)), ("writers", writers)):
            for role in roles:
                check_role(name, role)
        if migrator in writers:
            what = f"writers: {migrator!r} is the migrator, whose rights would be revoked"
            raise ConfigurationError("INVALID_VALUE", what, "name a role of the data jobs")
        return self._catalogs.run(COMMANDS["access"], catalogs, migrator=migrator, writers=writers, flavour=flavour)

    @property
    def catalogs(self) -> tuple[str, ...]:
        """The names of all catalogs."""
        return self._catalogs.choice.names

    @with_own_scope
    def folder(self, catalog: str | None = None) -> Path:
        """Return the migrations folder of a catalog, or of the project's only catalog.

        Raises:
            ConfigurationError: there is no such catalog, or there are several and none was named.
        """
        return self.root / "migrations" / self._catalogs.choice.only([catalog] if catalog else []).stem

    @with_own_scope
    def spark_conf(self, catalog: str | None = None) -> dict[str, str]:
        """Return the configuration for your own Spark session on a catalog, or on the only one. Its secrets are not masked."""
        choice = self._catalogs.choice
        [(file, environment)], _ = choice.in_environment([choice.only([catalog] if catalog else []).name])
        loaded = file.for_environment(environment, self.root)
        return type_of(loaded).spark_conf(loaded)

    @_on_named_catalogs
    def protected(self, catalogs: Collection[str] = (), *, everywhere: bool = False) -> tuple[str, ...]:
        """Return the environments that a run would change and that are `protected` in a catalog file.

        Args:
            everywhere: whether it would change all environments.
        """
        return self._catalogs.choice.protected(catalogs, self.root, everywhere=everywhere)

    def _on_files(self, name: str, catalogs: Collection[str], **options: Any) -> Results[Any]:
        """Run a command that reads the files of all catalogs together."""
        self._check_readable(catalogs)
        results: Results[Any] = COMMANDS[name].load()(self.root, self._catalogs.choice, catalogs, **options)
        return results

    def _check_readable(self, catalogs: Collection[str]) -> None:
        """Raise all errors of the project if the file of a chosen catalog is wrong."""
        if self._catalogs.choice.unreadable_of(catalogs):
            load_project(self.root)
