"""Choose the catalogs of a command, and collect its results on each of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.folder import CatalogFile, file_of
from glacierbase.errors import GlacierbaseError, Interrupted, SeveralErrors, collected, joined
from glacierbase.executors import type_of
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.folder import DeferredMigrations, load_migrations, migration_files
from glacierbase.migrations.new_files import FileCheck
from glacierbase.migrations.repeatables import repeatables, versioned
from glacierbase.model.command import Scope, on_catalog
from glacierbase.model.migration import Migration
from glacierbase.model.result import Result, Results, raise_first
from glacierbase.project.commands import Command, imported, open_action
from glacierbase.run.activity import on_own_line
from glacierbase.run.held import HeldLocks
from glacierbase.run.run import Run
from glacierbase.run.shared import Shared
from glacierbase.run.waiting import Caller, result
from glacierbase.stores.choice import opens_without_engine

# The errors of the catalogs that cannot be read, by name and environment.
Failures: TypeAlias = dict[tuple[str, str], GlacierbaseError]

_LACKS_ENVIRONMENT = "it does not have this environment"
_NOTHING_RAN_HERE = "nothing ran on this catalog"


@dataclass(frozen=True, slots=True)
class Catalogs:
    """The catalogs of a project, and the run of a command on them.

    Attributes:
        root: the root of the project.
        scope: the project and the environment that the caller gave.
        held_locks: the locks that runs of the project hold.
    """

    root: Path
    choice: CatalogChoice
    scope: Scope
    held_locks: HeldLocks

    def run(
        self,
        command: Command,
        catalogs: Collection[str],
        spark: Any = None,
        cancelled: Callable[[], bool] = lambda: False,
        parallel: int = 1,
        **options: Any,
    ) -> Results[Any]:
        """Run a command on the named catalogs, or on all, and return a result for each, in order of name.

        After an error the others run, unless a signal stopped the command, or `Command.not_run` completes their results.

        Args:
            command: its function completes an empty result.
            spark, cancelled: as for `CatalogRun`.
            parallel: how many catalogs run at the same time.
            options: arguments of the function.

        Raises:
            GlacierbaseError: the first error, with all results in its attribute `results`.
        """
        kind = command.result_type()
        chosen, skipped = self.choice.in_environment(catalogs)
        environment = self.scope.environment or ""
        unreadable = {(stem, environment): error for stem, error in self.choice.unreadable_of(catalogs).items()}
        targets, failed = self._targets(chosen, unreadable, not command.reads_files, command.needs_values)
        results: list[Any] = [kind(name, environment, error=error) for (name, environment), error in failed.items()]
        with Shared(is_parallel=min(parallel, len(targets)) > 1) as shared:
            targets = [
                replace(target, run=replace(target.run, shared=shared), spark=spark, cancelled=cancelled)
                for target in targets
            ]
            results += self._results(command, catalogs, targets, parallel, options)
        first = next((result.error for result in results if result.error), None) if command.not_run else None
        results += [kind(file.name, environment, skipped=_LACKS_ENVIRONMENT) for file in skipped]
        return raise_first(sorted(results, key=lambda result: self.choice.names.index(result.catalog)), first)

    def _results(
        self,
        command: Command,
        catalogs: Collection[str],
        targets: Sequence[CatalogRun],
        parallel: int,
        options: Mapping[str, Any],
    ) -> list[Any]:
        """Run a command on the targets, and return the results in the order in which they ended."""

        def call(function: Callable[..., Any], *arguments: Any) -> Callable[[CatalogRun], Any]:
            complete = partial(_complete, function, arguments, options)
            return lambda target: self._caught(complete, command, catalogs, target, targets)

        if not command.not_run:
            return run_all(deque(targets), call(command.load()), parallel, _is_interrupted)
        waiting = deque(in_groups(targets))
        results = []
        if len(targets) > 1:
            results = _refused(waiting, call(imported(command.check)))
        if not results:
            results = run_all(waiting, call(command.load()), parallel, lambda result: result.error is not None)
        return [*results, *read_all(waiting, call(imported(command.not_run), _why(results)))]

    def run_in_environments(
        self, command: Command, environments: Sequence[str], catalogs: Collection[str]
    ) -> Mapping[str, Sequence[Any]]:
        """Run a read-only command on the named catalogs, or on all, in each environment.

        Returns:
            The results by environment; one of a catalog that failed holds its error.
        """
        function, kind = command.load(), command.result_type()
        chosen = {name: replace(self.choice, environment=name).in_environment(catalogs) for name in environments}
        unreadable = self.choice.unreadable_of(catalogs).items()
        failures = {(stem, name): error for name in environments for stem, error in unreadable}
        targets, failed = self._targets([pair for pairs, _ in chosen.values() for pair in pairs], failures)

        def run(target: CatalogRun) -> Any:
            scope = replace(self.scope, environment=target.catalog.environment)
            with scope.in_use():
                return self._caught(function, command, catalogs, target, [target])

        results = {
            name: [kind(file.name, name, skipped=_LACKS_ENVIRONMENT) for file in files]
            for name, (_, files) in chosen.items()
        }
        for (name, environment), error in failed.items():
            results[environment].append(kind(name, environment, error=error))
        for answer in read_all(targets, run):
            results[answer.environment].append(answer)
        return results

    def only(self, catalogs: Collection[str]) -> CatalogRun:
        """Return the one named catalog, or the only one, in its environment. Its migration files are not read.

        Raises:
            ConfigurationError: as `CatalogChoice.only` and `CatalogChoice.in_environment`, and what is wrong in its file.
        """
        chosen, _ = self.choice.in_environment([self.choice.only(catalogs).name])
        targets, failed = self._targets(chosen, {}, True)
        for error in failed.values():
            raise error
        return targets[0]

    def everywhere(self, catalogs: Collection[str]) -> tuple[list[CatalogRun], Failures]:
        """Return the one named catalog, or the only one, in each of its environments, and the errors of those that cannot be read.

        Raises:
            ConfigurationError: as `CatalogChoice.only`; `UNKNOWN_ENVIRONMENT`: it lacks the one that the caller chose.
        """
        file = self.choice.only(catalogs)
        self.choice.in_every_environment([file.name])
        return self._targets([(file, environment) for environment in file.environments], {})

    def _targets(
        self, chosen: Sequence[tuple[CatalogFile, str]], unreadable: Failures, *options: bool
    ) -> tuple[list[CatalogRun], Failures]:
        """Return the catalogs that can be read, and the errors of the others.

        Args:
            unreadable: the errors of those whose files are wrong.
            options: the last arguments of `load_targets`.
        """
        failed = dict(unreadable)
        targets = load_targets(self.root, chosen, self.held_locks, self.choice.names, failed, *options)
        if targets:
            for error in failed.values():
                for part in error.errors if isinstance(error, SeveralErrors) else (error,):
                    part.state = _NOTHING_RAN_HERE
        return targets, failed

    def _caught(
        self,
        complete: Callable[[CatalogRun, Any], Any],
        command: Command,
        catalogs: Collection[str],
        target: CatalogRun,
        targets: Sequence[CatalogRun],
    ) -> Any:
        """Return what `complete` returns for the empty result of a target, or that result with the error that it raises.

        Commands in messages name the catalog where the project has several or the caller named one.
        """
        empty = command.result_type()(target.catalog.name, target.catalog.environment)
        is_named = bool(catalogs) or len(self.choice.names) > 1
        try:
            with on_catalog(empty.catalog if is_named else None, _planned(target, targets)):
                return complete(target, empty)
        except GlacierbaseError as error:
            return replace(empty, error=error)


def _complete(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    target: CatalogRun,
    empty: Result,
) -> Any:
    return function(target, empty, *arguments, **options)


def _refused(waiting: deque[CatalogRun], check: Callable[[CatalogRun], Result | None]) -> list[Result]:
    """Return the results of the targets that cannot run, and remove them from the waiting ones. A cancelled one is not checked."""
    checked = [(target, None if target.cancelled() else check(target)) for target in waiting]
    waiting.clear()
    waiting.extend(target for target, result in checked if result is None)
    return [result for _, result in checked if result is not None]


def _is_interrupted(result: Result) -> bool:
    return isinstance(result.error, Interrupted)


def _why(results: Sequence[Result]) -> str:
    """Return why the targets that are not started do not run, as a clause."""
    failed = next((result for result in results if result.error), None)
    return f"catalog {failed.catalog} failed" if failed and not _is_interrupted(failed) else "the command was stopped"


def _planned(target: CatalogRun, targets: Sequence[CatalogRun]) -> tuple[str, ...] | None:
    """Return the catalogs that a plan file must have, empty for all of the project; None where no plan file is required."""
    if not target.catalog.plan_required:
        return None
    names = tuple(target.catalog.name for target in targets)
    return () if set(names) == {target.catalog.name, *target.siblings} else names


def load_targets(
    root: Path,
    chosen: Iterable[tuple[CatalogFile, str]],
    held: HeldLocks,
    names: Collection[str],
    failed: Failures,
    is_deferred: bool = False,
    needs_values: bool = True,
) -> list[CatalogRun]:
    """Return the chosen catalogs, each in its environment, with their migrations and a run.

    Args:
        held: the list of locks that the runs hold.
        names: the names of all catalogs of the project.
        failed: gets all errors of each catalog that cannot be read.
        is_deferred: read migration files at first use; they are not checked here.
        needs_values: refuse a reference without a value; if False, a placeholder replaces it.
    """
    targets: list[CatalogRun] = []
    files = migration_files(root)
    loads = {
        file.stem: cache(partial(load_migrations, root / "migrations" / file.stem, root, files, file.headers))
        for file, _ in chosen
    }
    for file, environment in chosen:
        load = loads[file.stem]
        errors: list[GlacierbaseError] = [] if is_deferred else [*load()[1]]
        with collected(errors):
            catalog = file.for_environment(environment, root, requires_values=needs_values)
        if error := joined(errors):
            failed[file.name, environment] = error
            continue
        # One run per target: run id, version and index identify a statement, also in a table that catalogs share.
        siblings, migrations = set(names) - {file.name}, DeferredMigrations(load, versioned)
        others = DeferredMigrations(load, repeatables)
        run, check = Run.here(root, held), new_files_check(root, file)
        targets.append(
            CatalogRun(catalog, migrations, run, siblings, repeatables=others, check_new=check, open_action=open_action)
        )
    return targets


def folder_check(root: Path, folder: Path) -> FileCheck:
    """Return the check of the files that a command writes into a migrations folder."""
    return new_files_check(root, file_of(folder, root))


def new_files_check(root: Path, file: CatalogFile) -> FileCheck:
    """Return the check of the files that a command writes for a catalog. It imports the rules of `lint` when it is called."""

    def check(new: Sequence[Migration], replaced: Collection[str] = ()) -> None:
        imported("capabilities.review.written:check_written")(root, file, new, replaced)

    return check


# How many catalogs are read at the same time.
_AT_ONCE = 8


def in_groups(targets: Sequence[CatalogRun]) -> list[CatalogRun]:
    """Return the targets in the same order, but those together that can share the process of an engine."""
    groups: dict[object, list[CatalogRun]] = {}
    for number, target in enumerate(targets):
        catalog = target.catalog
        needs = type_of(catalog).needs(catalog)
        process = repr((catalog.executor_type, catalog.python, catalog.packages, needs))
        groups.setdefault(number if needs is None else process, []).append(target)
    return [target for group in groups.values() for target in group]


def run_all(
    waiting: deque[CatalogRun], run: Callable[[CatalogRun], Result], parallel: int, is_last: Callable[[Result], bool]
) -> list[Result]:
    """Run the waiting targets in order, and return their results in the order in which they ended.

    Args:
        waiting: those that are not started are left in it.
        run: returns the result of a target, also after an error; what it raises is a bug.
        parallel: how many run at the same time, in threads; one runs in this thread.
        is_last: returns whether no other target is started after this result. Those that run go on.

    Raises:
        KeyboardInterrupt: one in this thread, which cancels the targets, after they have ended.
        Exception: a bug of a target, after the others have ended.
    """
    if min(parallel, len(waiting)) > 1:
        return _run_in_threads(waiting, run, min(parallel, len(waiting)), is_last)
    results: list[Result] = []
    while waiting:
        results.append(run(waiting.popleft()))
        if is_last(results[-1]):
            break
    return results


def _run_in_threads(
    waiting: deque[CatalogRun], run: Callable[[CatalogRun], Result], parallel: int, is_last: Callable[[Result], bool]
) -> list[Result]:
    results: list[Result] = []
    stopped, cancelled, starting = threading.Event(), threading.Event(), threading.Lock()

    def next_target() -> CatalogRun | None:
        with starting:
            return waiting.popleft() if waiting and not stopped.is_set() else None

    def run_some() -> None:
        while (target := next_target()) is not None:
            try:
                with on_own_line():
                    done = run(_cancelled_by(cancelled, target))
            except BaseException:
                stopped.set()
                raise
            results.append(done)
            if is_last(done):
                stopped.set()

    callers = [Caller() for _ in range(parallel)]
    answers = [caller.submit(run_some) for caller in callers]
    for caller in callers:
        caller.end()
    try:
        wait(answers)
    except KeyboardInterrupt:
        stopped.set()
        cancelled.set()
        wait(answers)
        raise
    for answer in answers:
        answer.result()
    return results


def _cancelled_by(cancelled: threading.Event, target: CatalogRun) -> CatalogRun:
    return replace(target, cancelled=lambda: cancelled.is_set() or target.cancelled())


def read_all(targets: Sequence[CatalogRun], read: Callable[[CatalogRun], Result]) -> Iterator[Result]:
    """Yield the results. Targets that need no engine are read several at a time; the others one after the other."""
    parallel = [target for target in targets if _opens_without_engine(target)]
    callers = [Caller() for _ in parallel[:_AT_ONCE]]
    answers = [callers[number % _AT_ONCE].submit(partial(read, target)) for number, target in enumerate(parallel)]
    for caller in callers:
        caller.end()
    yield from (read(target) for target in targets if target not in parallel)
    # Each read inside has its own time limit.
    yield from (result(answer, float("inf")) for answer in answers)


def _opens_without_engine(target: CatalogRun) -> bool:
    try:
        return opens_without_engine(target.catalog)
    except GlacierbaseError:  # The command reports it.
        return False
