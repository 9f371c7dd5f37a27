"""A project: its root, its catalogs for one environment, and the public verbs over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from threading import Event as Flag
from typing import Any, Concatenate, ParamSpec, TypeVar

from glacierbase import executors
from glacierbase.apply.baseline import baseline
from glacierbase.apply.migrator import Migrator, Progress
from glacierbase.apply.plan import Plan, Selection
from glacierbase.apply.repair import Orders, Resolution, accept_environment, repair
from glacierbase.apply.repair import show as show_cases
from glacierbase.apply.unlock import look, unlock
from glacierbase.catalogs.catalog import CatalogFile, load_catalog_files
from glacierbase.errors import (
    ConfigurationError,
    GlacierbaseError,
    Interrupted,
    MigrationFileError,
    collected,
    raise_all,
)
from glacierbase.inspect import doctor
from glacierbase.inspect.answers import lock_holder, next_step, pending_files, planned_files, shown_statements, statuses
from glacierbase.migrations.base import check_against_base
from glacierbase.migrations.source import load_migrations, migration_files
from glacierbase.model.migration import Migration, version_number
from glacierbase.model.results import (
    BaselinedFile,
    BaselineResult,
    DoctorResult,
    HistoryResult,
    MigrateResult,
    PendingResult,
    PlanResult,
    RenderedFile,
    RenderResult,
    RepairResult,
    Result,
    ShowResult,
    StatusResult,
    UnlockResult,
    ValidateResult,
    WarmResult,
)
from glacierbase.run.files import FileRefused, inside, is_folder
from glacierbase.run.run import Run
from glacierbase.secrets import Secrets

R = TypeVar("R", bound=Result)
P = ParamSpec("P")
T = TypeVar("T")


def _masking(verb: Callable[Concatenate[Project, P], T]) -> Callable[Concatenate[Project, P], T]:
    """Run a verb with the project's secrets in use."""

    @wraps(verb)
    def run(self: Project, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.secrets.in_use():
            return verb(self, *args, **kwargs)

    return run


def find_root(start: Path | None = None) -> Path:
    """The project around `start` (default: the working directory): the nearest folder with `catalogs/` and `migrations/`.

    Raises:
        ConfigurationError: there is none.
    """
    begin = (start or Path.cwd()).resolve()
    for folder in (begin, *begin.parents):
        if is_folder(folder / "catalogs") and is_folder(folder / "migrations"):
            return folder
    raise ConfigurationError(
        "PROJECT_NOT_FOUND",
        f"{begin} is not inside a project: neither it nor a folder above holds both catalogs/ and migrations/",
        "`glacierbase init` makes one here; --project or GLACIERBASE_PROJECT names another place",
    )


class Project:
    """The catalogs and migrations below one root.

    Every verb takes `catalogs`, the names to ask (default: all), answers one result per catalog, in order, and raises the
    first error after all catalogs were asked, with the results in its attribute `results`.

    Attributes:
        secrets: of its catalog files; masked in everything that its verbs return, raise, log and record.
    """

    def __init__(self, root: Path, files: Sequence[CatalogFile], environment: str | None, secrets: Secrets) -> None:
        self.root = root
        self.secrets = secrets
        self._files = files
        self._environment = environment

    @classmethod
    def load(cls, path: str | Path | None = None, environment: str | None = None) -> Project:
        """Read the catalog files of the project at `path`.

        Args:
            path: the project's root; default `GLACIERBASE_PROJECT`, else the nearest one around the working directory.
            environment: default `GLACIERBASE_ENV`, else each catalog's `defaultEnvironment`.

        Raises:
            ConfigurationError: there is no project, a catalog file is wrong, or a name is empty.
        """
        path = _given("path", path, "GLACIERBASE_PROJECT")
        environment = _given("environment", environment, "GLACIERBASE_ENV")
        root = Path(path).resolve() if path else find_root()
        if not is_folder(root / "catalogs"):
            raise ConfigurationError(
                "PROJECT_NOT_FOUND", f"{root} holds no folder catalogs/", "`glacierbase init` makes one"
            )
        secrets = Secrets()
        with secrets.in_use():
            return cls(root, _load_files(root), environment, secrets)

    @property
    def catalogs(self) -> tuple[str, ...]:
        """The names of all catalogs."""
        return tuple(file.name for file in self._files)

    @_masking
    def folder(self, catalog: str | None = None) -> Path:
        """Where the migrations of a catalog are; the only catalog's, where none is named.

        Raises:
            ConfigurationError: there is no such catalog, or none was named and there are several.
        """
        return self.root / "migrations" / self._only([catalog] if catalog else []).stem

    @_masking
    def protected(self, catalogs: Collection[str] = ()) -> tuple[str, ...]:
        """The environments, among those that a run would change, whose catalog file calls them protected."""
        chosen, _ = self._in_environment(catalogs)
        return tuple(dict.fromkeys(env for file, env in chosen if file.is_protected(env, self.root)))

    @_masking
    def migrate(
        self,
        catalogs: Collection[str] = (),
        *,
        to: str | None = None,
        only: str | None = None,
        reason: str | None = None,
        allow_out_of_order: Collection[str] = (),
        lock_timeout: float = 0,
        spark: Any = None,
        stop: Flag | None = None,
    ) -> tuple[MigrateResult, ...]:
        """Apply what is pending, under each catalog's lock.

        Args:
            to: the highest version to run.
            only: the single version to run; `reason` says why. Those that it passes by are recorded, and run later.
            allow_out_of_order: versions that may run below one that is applied.
            lock_timeout: seconds to wait for another run's lock.
            spark: a SparkSession to work in, with the catalogs configured as the files say; it is not stopped.
            stop: set it from a signal handler or another thread to end the run: the statement that runs is cancelled unless
                it ends within seconds.

        Raises:
            GlacierbaseError: the first error; see the module `glacierbase.errors`.
        """
        selection = Selection(to, only, reason, tuple(allow_out_of_order))
        stopped = stop.is_set if stop else lambda: False

        def one(migrator: Migrator, result: MigrateResult) -> MigrateResult:
            progress, error = Progress(), None
            try:
                migrator.migrate(_with_policy(selection, migrator), progress, lock_timeout, stopped, spark)
            except GlacierbaseError as caught:
                error = caught
            return replace(
                result,
                applied=tuple(progress.applied),
                failed=progress.failed,
                not_run=progress.not_run,
                warnings=progress.warnings,
                error=error,
            )

        return self._each(catalogs, MigrateResult, one)

    @_masking
    def pending(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[PendingResult, ...]:
        """What the next `migrate` would apply. Writes nothing."""

        def one(migrator: Migrator, result: PendingResult) -> PendingResult:
            plan = self._plan(migrator, Selection(), spark)
            return replace(result, pending=pending_files(migrator, plan), warnings=plan.warnings)

        return self._each(catalogs, PendingResult, one)

    @_masking
    def plan(
        self,
        catalogs: Collection[str] = (),
        *,
        to: str | None = None,
        only: str | None = None,
        reason: str | None = None,
        allow_out_of_order: Collection[str] = (),
        spark: Any = None,
    ) -> tuple[PlanResult, ...]:
        """What the next `migrate` with the same arguments would run, statement by statement. Writes nothing."""
        selection = Selection(to, only, reason, tuple(allow_out_of_order))

        def one(migrator: Migrator, result: PlanResult) -> PlanResult:
            plan = self._plan(migrator, selection, spark)
            return replace(result, plan=planned_files(migrator, plan), warnings=plan.warnings)

        return self._each(catalogs, PlanResult, one)

    @_masking
    def status(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[StatusResult, ...]:
        """Where every version stands, and who holds the lock. Writes nothing."""

        def one(migrator: Migrator, result: StatusResult) -> StatusResult:
            view = migrator.view(spark)
            return replace(
                result,
                migrations=statuses(migrator, view),
                lock=lock_holder(view.lock),
                warnings=view.warnings,
            )

        return self._each(catalogs, StatusResult, one)

    @_masking
    def history(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[HistoryResult, ...]:
        """All events, in order. Writes nothing."""

        def one(migrator: Migrator, result: HistoryResult) -> HistoryResult:
            view = migrator.view(spark)
            return replace(result, events=view.history.events, warnings=view.warnings)

        return self._each(catalogs, HistoryResult, one)

    @_masking
    def show(self, version: str, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[ShowResult, ...]:
        """All that is known of one version. Writes nothing.

        Raises:
            ConfigurationError: no catalog has that version, in its files or its history.
        """
        number = _number(version)

        def one(migrator: Migrator, result: ShowResult) -> ShowResult:
            view = migrator.view(spark)
            status = next((s for s in statuses(migrator, view) if int(s.version) == number), None)
            if status is None:
                return replace(result, warnings=view.warnings)
            events = tuple(e for e in view.history.events if e.version and int(e.version) == number)
            statements = shown_statements(migrator, int(status.version), view.history)
            return replace(result, migration=status, statements=statements, events=events, next=next_step(status))

        results = self._each(catalogs, ShowResult, one)
        if not any(result.migration for result in results):
            raise _unknown_version(f"no catalog has a version {version}")
        return results

    @_masking
    def render(
        self, versions: Collection[str] = (), catalogs: Collection[str] = (), *, resolve: bool = False
    ) -> tuple[RenderResult, ...]:
        """The files as each environment renders them, environments that render all alike together. Contacts nothing.

        Args:
            resolve: read `${env:…}`, `${secret:…}` and `${file:…}`, only on a branch that you trust; else placeholders such
                as `env_NAME` stand for them.
        """
        wanted = set(map(version_number, versions))
        groups: dict[tuple[str, tuple[RenderedFile, ...]], list[str]] = {}
        known: set[int] = set()
        for checked in self._every_environment(catalogs, resolve, lambda each: not versions or each.number in wanted):
            known.update(migration.number for migration in checked.migrations)
            groups.setdefault((checked.catalog, checked.files), []).append(checked.environment)
        unknown = [version for version in versions if version_number(version) not in known]
        if unknown:
            raise _unknown_version(f"there is no migration with version {unknown[0]}")
        return tuple(
            RenderResult(name, ", ".join(environments), environments=tuple(environments), files=files)
            for (name, files), environments in groups.items()
        )

    @_masking
    def validate(
        self, catalogs: Collection[str] = (), *, base: str | None = None, resolve: bool = False
    ) -> tuple[ValidateResult, ...]:
        """Check all files of all environments: names, headers, templates, splitting. Contacts nothing.

        Args:
            base: a git ref; its migrations must be here unchanged, under the same catalog's name, and new versions must be
                above its highest.
            resolve: as for `render`.

        Raises:
            GlacierbaseError: all that is wrong, at once.
        """
        checked = self._every_environment(catalogs, resolve, lambda _: False)
        warnings: dict[str, tuple[str, ...]] = {}
        if base is not None:
            stems = {file.name: file.stem for file in self._files}
            here = {each.catalog: each.migrations for each in checked}
            warnings = check_against_base(self.root, base, stems, here, all_catalogs=not catalogs)
        return tuple(
            ValidateResult(
                each.catalog,
                each.environment,
                warnings=warnings.get(each.catalog, ()),
                files=len(each.migrations),
            )
            for each in checked
        )

    @_masking
    def repair(
        self,
        versions: Collection[str] = (),
        catalogs: Collection[str] = (),
        *,
        as_: str | None = None,
        reason: str | None = None,
        environment_was: str | None = None,
        engine_stopped: bool = False,
        lock_timeout: float = 0,
        spark: Any = None,
    ) -> tuple[RepairResult, ...]:
        """Show what is known of versions that need a person (without `as_`), or record what the person says of them.

        Args:
            versions: of one catalog; none shows all that need a person.
            as_: `done` or `not-done` (an unknown outcome), `done` (a failed file's statement, completed by hand), `abandoned`
                (the file ends here), `edited` (an applied file's new checksum), `removed` (a file that is gone on purpose).
            reason: why; recorded, and required wherever something is.
            environment_was: accept a history that says this environment: it was renamed, or cloned.
            engine_stopped: vouch that the engine of the lost run is at work no more; recorded.
            lock_timeout: seconds to wait for another run's lock.

        Raises:
            ConfigurationError: that cannot be said of the version, or an argument is missing.
            NeedsRepair: `not-done` while the statement may still be running.
        """
        numbers = [_number(version) for version in versions]
        if as_ not in (None, *(resolution.value for resolution in Resolution)):
            raise ConfigurationError(
                "INVALID_VALUE", f"{as_} cannot be said of a version", f"say one of {', '.join(map(str, Resolution))}"
            )
        _check_not_empty("environment_was", environment_was)
        if as_ or environment_was:
            _check_reason(reason)
            self._only(catalogs)
        if as_ and not numbers:
            raise ConfigurationError(
                "UNKNOWN_VERSION", "which version is repaired was not said", "name it: repair VERSION"
            )

        def one(migrator: Migrator, result: RepairResult) -> RepairResult:
            if environment_was:
                accept_environment(migrator, environment_was, reason or "", lock_timeout, spark)
                return replace(result, environment_was=environment_was)
            if as_ is None:
                return replace(result, cases=show_cases(migrator, numbers, spark))
            orders = Orders(Resolution(as_), reason or "", engine_stopped)
            return replace(result, cases=repair(migrator, numbers, orders, lock_timeout, spark))

        return self._each(catalogs, RepairResult, one)

    @_masking
    def unlock(
        self,
        catalogs: Collection[str] = (),
        *,
        force: bool = False,
        reason: str | None = None,
        dry_run: bool = False,
        spark: Any = None,
    ) -> tuple[UnlockResult, ...]:
        """Free a catalog's lock whose run is dead. The former holder can prove it no more, and runs nothing further.

        Args:
            force: also from a run that may be alive.
            reason: why; recorded.
            dry_run: only show who is in the lock, and whether the run is alive.

        Raises:
            LockHeld: the run may be alive, and `force` was not given.
        """
        self._only(catalogs)

        def one(migrator: Migrator, result: UnlockResult) -> UnlockResult:
            held = look(migrator, spark) if dry_run else unlock(migrator, reason, force=force, session=spark)
            if held is None:
                return result
            return replace(result, lock=lock_holder(held.row), says=held.says, released=not dry_run)

        return self._each(catalogs, UnlockResult, one)

    @_masking
    def baseline(
        self,
        to: str,
        catalogs: Collection[str] = (),
        *,
        reason: str,
        lock_timeout: float = 0,
        spark: Any = None,
    ) -> tuple[BaselineResult, ...]:
        """Record the files up to version `to` as applied without running them: their tables are there already.

        Raises:
            HistoryDisagrees: a table that they create is not there.
        """
        number = _number(to)
        _check_reason(reason)
        self._only(catalogs)

        def one(migrator: Migrator, result: BaselineResult) -> BaselineResult:
            files = baseline(migrator, number, reason, lock_timeout, spark)
            return replace(
                result, baselined=tuple(BaselinedFile(f.migration.version, f.migration.location) for f in files)
            )

        return self._each(catalogs, BaselineResult, one)

    @_masking
    def doctor(
        self, catalogs: Collection[str] = (), *, print_ddl: bool = False, spark: Any = None
    ) -> tuple[DoctorResult, ...]:
        """Try all that a migration needs: files, connection, history, rights, and whether only one can win the lock.

        Args:
            print_ddl: contact nothing; answer the statements that create our tables, and the least rights on them.

        Raises:
            GlacierbaseError: the first thing that is wrong; `results` holds all checks.
        """

        def one(migrator: Migrator, result: DoctorResult) -> DoctorResult:
            if print_ddl:
                return replace(result, ddl=doctor.print_ddl(migrator.catalog))
            checks = tuple(doctor.examine(migrator, spark))
            return replace(result, checks=checks, error=next((check.error for check in checks if check.error), None))

        return self._each(catalogs, DoctorResult, one)

    @_masking
    def warm(self, catalogs: Collection[str] = ()) -> tuple[WarmResult, ...]:
        """Do what only the first start of an engine has to do: resolve its dependencies, make the class archive of Spark's JVM.

        Both lie in the user's cache. Contacts no catalog.
        """

        def one(migrator: Migrator, result: WarmResult) -> WarmResult:
            warmed = executors.warm(migrator.catalog, migrator.run)
            return replace(
                result,
                dependencies=warmed.dependencies,
                archive=warmed.archive,
                start_ms=warmed.start_ms,
            )

        return self._each(catalogs, WarmResult, one)

    def _plan(self, migrator: Migrator, selection: Selection, spark: Any) -> Plan:
        return migrator.plan(_with_policy(selection, migrator), spark)

    def _each(
        self,
        catalogs: Collection[str],
        kind: type[R],
        one: Callable[[Migrator, R], R],
    ) -> tuple[R, ...]:
        """`one` for each catalog; what is wrong with a catalog or a file's head is raised before the first is contacted."""
        chosen, skipped = self._in_environment(catalogs)
        migrators = self._build(chosen)
        results: list[R] = []
        for migrator in migrators:
            empty = kind(migrator.catalog.name, migrator.catalog.environment)
            try:
                results.append(one(migrator, empty))
            except GlacierbaseError as error:
                results.append(replace(empty, error=error))
            if isinstance(results[-1].error, Interrupted):
                break
        results += [kind(file.name, self._environment or "", skipped=_SKIPPED) for file in skipped]
        results.sort(key=lambda result: self.catalogs.index(result.catalog))
        first = next((result.error for result in results if result.error), None)
        if first:
            first.results = tuple(results)
            raise first
        return tuple(results)

    def _in_environment(
        self, catalogs: Collection[str]
    ) -> tuple[Sequence[tuple[CatalogFile, str]], Sequence[CatalogFile]]:
        """The chosen catalogs with the environment that is chosen for each, and those that do not have it."""
        chosen = self._chosen(catalogs)
        having = [(file, env) for file in chosen if (env := self._environment_of(file)) in file.environments]
        skipped = [file for file in chosen if file not in [file for file, _ in having]]
        if skipped and (catalogs or not having):
            raise ConfigurationError(
                "UNKNOWN_ENVIRONMENT",
                f"catalog {skipped[0].name} has no environment {self._environment}",
                f"it has: {', '.join(skipped[0].environments)}",
            )
        if len({env for _, env in having}) > 1:
            names = ", ".join(f"{file.name}: {env}" for file, env in having)
            raise ConfigurationError(
                "ENVIRONMENT_NOT_CHOSEN",
                f"the catalogs have different default environments ({names})",
                "name one with --env, or single catalogs with --catalog",
            )
        return having, skipped

    def _environment_of(self, file: CatalogFile) -> str:
        environment = self._environment or file.default_environment
        if environment is None and len(file.environments) == 1:
            return file.environments[0]
        if environment is None:
            raise ConfigurationError(
                "ENVIRONMENT_NOT_CHOSEN",
                f"catalog {file.name} has the environments {', '.join(file.environments)}, and none was chosen",
                "name one with --env or GLACIERBASE_ENV, or write defaultEnvironment into the catalog file",
            )
        return environment

    def _chosen(self, catalogs: Collection[str]) -> list[CatalogFile]:
        for name in catalogs:
            if name not in self.catalogs:
                raise ConfigurationError(
                    "UNKNOWN_CATALOG",
                    f"there is no catalog {name}",
                    f"there are: {', '.join(self.catalogs) or 'none'}",
                )
        if not self._files:
            raise ConfigurationError(
                "NO_CATALOG",
                f"{self.root / 'catalogs'} holds no catalog file",
                "`glacierbase init NAME` writes one",
            )
        return [file for file in self._files if not catalogs or file.name in catalogs]

    def _only(self, catalogs: Collection[str]) -> CatalogFile:
        """The one catalog that is named, or the only one there is."""
        chosen = self._chosen(catalogs)
        if len(chosen) > 1:
            raise ConfigurationError(
                "CATALOG_NOT_CHOSEN", f"there are several: {', '.join(self.catalogs)}", "add --catalog NAME"
            )
        return chosen[0]

    def _build(self, having: Iterable[tuple[CatalogFile, str]]) -> list[Migrator]:
        """Read catalogs and migrations; all that is wrong is raised in one go."""
        run = Run.here(self.root)
        found: list[Migrator] = []
        read: dict[str, tuple[Migration, ...]] = {}
        files = migration_files(self.root)
        errors: list[GlacierbaseError] = []
        for file, environment in having:
            if file.stem not in read:
                read[file.stem], wrong = load_migrations(self.root / "migrations" / file.stem, self.root, files)
                errors += wrong
            with collected(errors):
                catalog = file.for_environment(environment, self.root)
                found.append(Migrator(catalog, read[file.stem], run, set(self.catalogs) - {file.name}))
        # Catalogs share a file: what is wrong in it is said once.
        raise_all(list({error.message: error for error in errors}.values()))
        return found

    def _every_environment(
        self, catalogs: Collection[str], resolve: bool, keep: Callable[[Migration], bool]
    ) -> list[_Checked]:
        """The chosen catalogs in the chosen environment, or in all where none is, every file rendered and split in a sandbox.

        Args:
            keep: which files are wanted as they are rendered.
        """
        from glacierbase.migrations.sandbox import Sandbox  # Nobody else needs processes.

        chosen = [file for file in self._chosen(catalogs) if self._environment in (None, *file.environments)]
        if not chosen:
            raise ConfigurationError("UNKNOWN_ENVIRONMENT", f"no catalog has an environment {self._environment}")
        environments = {file.name: (self._environment,) if self._environment else file.environments for file in chosen}
        files = migration_files(self.root)
        read = {file.stem: load_migrations(self.root / "migrations" / file.stem, self.root, files) for file in chosen}
        # Not a list: there may be a thousand for each of very many catalogs.
        pairs = ((each, environment) for each in chosen for environment in environments[each.name])
        found: list[_Checked] = []
        errors: dict[str, GlacierbaseError] = {}
        with Sandbox(sum(len(read[file.stem][0]) * len(environments[file.name]) for file in chosen)) as sandbox:
            for file, environment in pairs:
                migrations, wrong = read[file.stem]
                with collected(wrong):
                    sandbox.check_time(f"catalogs/{file.path.name}")
                    catalog = file.for_environment(environment, self.root, resolve=resolve)
                    prepared = sandbox.prepare_all(migrations, catalog, catalog.executor_type, keep)
                    rendered = tuple(RenderedFile(p.migration.version, p.migration.location, p.text) for p in prepared)
                    found.append(_Checked(file.name, environment, migrations, rendered))
                # Environments share files: what is wrong in all of them is said once.
                errors.update({error.message: error for error in wrong})
                wrong.clear()
                if sandbox.is_spent:
                    break
        raise_all(list(errors.values()))
        return found


@dataclass(frozen=True, slots=True)
class _Checked:
    """One catalog in one environment, its files rendered and split, and those that were wanted of them."""

    catalog: str
    environment: str
    migrations: tuple[Migration, ...]
    files: tuple[RenderedFile, ...]


_SKIPPED = "it does not have this environment"


def _load_files(root: Path) -> tuple[CatalogFile, ...]:
    """The catalog files; where one is wrong, the migration files are looked at as well, to say everything at once."""
    errors: list[GlacierbaseError] = []
    files: tuple[CatalogFile, ...] = ()
    _check_inside(root)
    paths = sorted(path for path in (root / "migrations").glob("*") if not path.name.startswith("."))
    folders = [path for path in paths if is_folder(path)]
    catalogs = {path.name for path in (root / "catalogs").iterdir()}
    errors += [_outside(path.name) for path in paths if path.suffix == ".sql" and path not in folders]
    errors += [_no_folder(path.name) for path in paths if path not in folders and f"{path.name}.yaml" in catalogs]
    with collected(errors):
        files = load_catalog_files(root / "catalogs", root)
        errors += _without_catalog(folders, files)
    if errors:
        read = migration_files(root)
        errors += [error for folder in folders for error in load_migrations(folder, root, read)[1]]
    raise_all(errors)
    return files


def _check_inside(root: Path) -> None:
    """Not even the names in a folder of somebody else are read."""
    for name, kind in (("catalogs", ConfigurationError), ("migrations", MigrationFileError)):
        try:
            inside(root / name, root)
        except FileRefused as error:
            raise kind(error.code, f"{name} {error.what}", error.hint, path=name) from error


def _outside(name: str) -> MigrationFileError:
    return _misplaced(name, "belongs to no catalog", "move it into the folder of its catalog: migrations/CATALOG/")


def _no_folder(name: str) -> MigrationFileError:
    what = f"is no folder, where the migrations of catalog {name} would be"
    return _misplaced(name, what, "move it away, and put the migrations into a folder of that name")


def _misplaced(name: str, what: str, hint: str) -> MigrationFileError:
    path = f"migrations/{name}"
    return MigrationFileError("MISPLACED_FILE", f"{path} {what}", hint, path=path)


def _given(name: str, value: str | Path | None, variable: str) -> str | None:
    """The value that the caller gave, else that of the environment variable."""
    name, value = (name, value) if value is not None else (variable, os.environ.get(variable))
    _check_not_empty(name, value)
    return None if value is None else str(value)


def _check_not_empty(name: str, value: str | Path | None) -> None:
    """An empty value comes from a variable that is not set where it should be."""
    if value is not None and not str(value).strip():
        raise ConfigurationError("EMPTY_VALUE", f"{name} is empty", "give it a value, or leave it out")


def _check_reason(reason: str | None) -> None:
    if not (reason or "").strip():
        raise ConfigurationError(
            "REASON_MISSING", "what overrules the history needs its reason", "add --reason 'what was seen, and by whom'"
        )


def _number(version: str) -> int:
    number = version_number(version)
    if number is None:
        raise _unknown_version(f"{version} is no version")
    return number


def _unknown_version(what: str) -> ConfigurationError:
    return ConfigurationError("UNKNOWN_VERSION", what, "`glacierbase status` lists all versions")


def _without_catalog(folders: Sequence[Path], files: Sequence[CatalogFile]) -> list[GlacierbaseError]:
    """Migrations without a catalog file would never run, and nobody would notice."""
    stems = {file.stem for file in files}
    return [
        ConfigurationError(
            "FOLDER_WITHOUT_CATALOG",
            f"migrations/{folder.name} has no catalog file catalogs/{folder.name}.yaml",
            "write the catalog file, or rename the folder as its catalog file is named",
            path=f"migrations/{folder.name}",
        )
        for folder in folders
        if folder.name not in stems
    ]


def _with_policy(selection: Selection, migrator: Migrator) -> Selection:
    """The catalog file may allow what the call did not ask for."""
    return replace(selection, out_of_order=None) if migrator.catalog.out_of_order_allowed else selection
