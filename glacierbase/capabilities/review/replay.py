"""Replay migrations on a throw-away copy: refused statements, the changes by each file, and statements that were not run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from glacierbase.capabilities.review.base_states import BaseState, BaseStates, NotKept
from glacierbase.capabilities.review.breakage import BOUNDARY, Breakage, Broken, Content, first_line
from glacierbase.capabilities.review.copied_tables import CopiedTable, CopyReader, compare_copied, shapes
from glacierbase.capabilities.review.copy import Copy
from glacierbase.capabilities.review.results import ReviewedView
from glacierbase.capabilities.review.statements import FileSummary, Parts, ReplayProblem, ReplayStep, StatementSummary
from glacierbase.errors import EngineError, EngineUnavailable, TableNotFound
from glacierbase.executors import CopiedView, CopyCheckpoint, CopyExecutor, Session, open_copy
from glacierbase.model.command import command
from glacierbase.model.differences import Change, TableChange, compare
from glacierbase.model.migration import Key
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.text import counted
from glacierbase.run.activity import doing
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller, NoAnswer, result
from glacierbase.sql.operations import CREATES_TABLE, ROWS
from glacierbase.sql.qualified import DEFAULT_CATALOG

T = TypeVar("T")
# The time of the whole replay, from the start of the engine.
_BUDGET_SECONDS = 1800.0
# Operations that rewrite or remove data files of a table that has some.
REWRITES_FILES = (ROWS - {"insert", "insert_multi", "copy"}) | {"optimize", "drop_partition", "call"}
_RENAMES = ("rename_table", "rename_view")
# Operations that create a table or a name; the last ones may do anything.
_MAKES = CREATES_TABLE | {"create_view", "replace_view", *_RENAMES, "call", "script", "other"}


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome of a replay.

    Attributes:
        replayed: the number of statements that ran.
        problems: the problems of the new files.
        base_problems: the problems of the files of the base.
        skipped: the statements that the copy cannot run, and those after a refused one, with the reason.
        broken: what no longer works after all new files.
        changes: the table changes by all new files.
        views: the changes of views.
        by_file: the table changes by each new file, by its key.
        existing: the uuids of the tables of the base.
        cached: the number of files of the base that were not run, because their effects came from the cache or an earlier replay.
        unread: the tables that are not compared, because neither the copy nor PyIceberg can describe them.
        is_direct: whether no engine ran.
        not_kept: why the state after the base was not cached; None if it was, or if the cache cannot be written.
    """

    replayed: int
    problems: tuple[ReplayProblem, ...]
    base_problems: tuple[ReplayProblem, ...]
    skipped: tuple[ReplayProblem, ...]
    broken: tuple[Broken, ...]
    changes: tuple[TableChange, ...]
    views: tuple[ReviewedView, ...]
    by_file: Mapping[Key, tuple[TableChange, ...]] = field(repr=False)
    existing: frozenset[str | None] = frozenset()
    cached: int = 0
    not_kept: str | None = None
    unread: tuple[str, ...] = ()
    is_direct: bool = False


class Replays:
    """Replays one after the other, in one engine as long as the configuration of the copy stays the same."""

    def __init__(self) -> None:
        self._resources = ExitStack()
        self._engine: CopyExecutor | None = None
        self._configuration: object = None
        self._empty: CopyCheckpoint | None = None
        self._base: _Base | None = None

    def close(self) -> None:
        """Stop the engine, and remove the copy."""
        self._engine = self._base = None
        self._resources.close()

    def replay(self, copy: Copy, base: Sequence[FileSummary], new: Sequence[FileSummary]) -> Replay:
        """Run the files of the base and then the new files on an empty copy.

        Raises:
            ConfigurationError, EngineUnavailable: as `open_copy`.
        """
        try:
            return self._on_empty(copy, base, new, uses_cache=True)
        except _NoState:
            self.close()
            return self._on_empty(copy, base, new, uses_cache=False)
        except BaseException:
            self.close()
            raise

    def _on_empty(
        self, copy: Copy, base: Sequence[FileSummary], new: Sequence[FileSummary], *, uses_cache: bool
    ) -> Replay:
        engine = self._emptied(copy) or self._started(copy)
        states = BaseStates(copy, engine.engine, base)
        kept = self._base if self._base and self._base.key == states.key else None
        replaying = _Replay(engine, copy, states, kept)
        replayed = replaying.run(base, new, states.latest() if uses_cache and not kept else None)
        self._base = replaying.base
        if any(problem.code == "REPLAY_TIMEOUT" for problem in replayed.problems):  # A statement may still run.
            self.close()
        return replayed

    def _emptied(self, copy: Copy) -> CopyExecutor | None:
        """Return the started engine with an empty copy, or None where the last replay left something outside of it."""
        if self._engine and self._empty and self._configuration == _configuration(copy):
            with suppress(EngineError):
                if self._engine.checkpoint().is_whole:
                    self._engine.rewind(self._empty)
                    return self._engine
        return None

    def _started(self, copy: Copy) -> CopyExecutor:
        """Start an engine in place of the current one."""
        self.close()
        name = TemporaryDirectory(prefix="glacierbase-copy-", ignore_cleanup_errors=True)
        folder = Path(self._resources.enter_context(name)).resolve()
        # In this thread, so that a signal ends the JVM at once, also while it starts.
        self._engine = self._resources.enter_context(closing(_opened(copy, Run.here(folder), folder)))
        self._configuration, self._empty = _configuration(copy), self._engine.checkpoint()
        return self._engine


def _configuration(copy: Copy) -> object:
    catalog = copy.catalog
    engine = catalog.executor_type, sorted(catalog.spark_conf.items()), catalog.dependencies, catalog.digests
    return catalog.name, engine, copy.names


def _opened(copy: Copy, run: Run, folder: Path) -> CopyExecutor:
    """Start the engine. The log of a failed start is removed with the copy, so that the hint names another start."""
    try:
        return open_copy(copy.catalog, run, folder, copy.names)
    except EngineUnavailable as error:
        hint = f"`{command('doctor')}` starts the same Spark, and keeps its log"
        raise EngineUnavailable("COPY_NOT_STARTED", f"on the throw-away copy: {error.message}", hint) from error


@dataclass(frozen=True, slots=True)
class _Base:
    """The copy after the files of a base.

    Attributes:
        key: of the base and all else that determines the copy.
        reader: it has read the tables of the base.
        problems: the problems of the base.
    """

    key: str
    checkpoint: CopyCheckpoint
    reader: CopyReader
    problems: tuple[ReplayProblem, ...]


class _NoState(Exception):
    """The engine cannot restore a cached state."""


class _Replay:
    """A replay on a started engine.

    Attributes:
        base: the copy after the base, once its files were run.
    """

    def __init__(self, engine: CopyExecutor, copy: Copy, states: BaseStates, base: _Base | None) -> None:
        """Args:
        base: the copy after an equal base in an earlier replay.
        """
        self.base = base
        self._engine = engine
        self._name = copy.catalog.name
        self._states = states
        self._runner = ReplayRunner(engine, copy)
        self._reader = base.reader if base else CopyReader(engine)
        self._replaced: set[str] = set()
        self._problems: list[ReplayProblem] = []
        self._base_problems: list[ReplayProblem] = []
        self._broken: list[Broken] = []
        self._by_file: dict[Key, tuple[TableChange, ...]] = {}
        self._not_kept: str | None = None

    def run(self, base: Sequence[FileSummary], new: Sequence[FileSummary], cached: BaseState | None) -> Replay:
        before = after = Content({}, {})
        done = 0
        try:
            done = self._return_to_base(base) if self.base else self._restore(base, cached) if cached else 0
            self._run_base(base, done)
            before = after = self._content()
            checkpoint = self._runner.bounded(self._engine.checkpoint)
            self.base = _Base(self._states.key, checkpoint, self._reader, tuple(self._base_problems))
            for file in new:
                after = Content(self._run_new(file, after.tables), after.views)
            after = self._content()
            if self._engine.runs_queries:
                breakage = Breakage(self._engine, self._runner.bounded, checkpoint, before)
                with doing(f"{self._name}: trying the changed tables and the views on the throw-away copy"):
                    self._broken += breakage.after(self._runner.ran, self._compared(before, after), after)
        except TimeIsUp:
            self._problems.append(self._timeout())
        finally:
            self._runner.end()
        return Replay(
            self._runner.count,
            tuple(self._problems),
            tuple(self._base_problems),
            tuple(self._runner.skipped),
            tuple(self._broken),
            tuple(map(self._with_breaks, self._compared(before, after))),
            compare_views(before.views, after.views),
            self._by_file,
            frozenset(table.shape.uuid for table in before.tables.values()),
            done,
            self._not_kept,
            self._reader.unread,
            not self._engine.runs_queries,
        )

    def _content(self) -> Content:
        return Content(self._tables(), self._runner.bounded(self._engine.views))

    def _compared(self, before: Content, after: Content) -> tuple[TableChange, ...]:
        rewriting = (
            step.summary for _, step in self._runner.ran if REWRITES_FILES.intersection(step.summary.operations)
        )
        targets = [target for summary in rewriting for target in summary.targets]
        rewritten = {name for name in after.tables if any(is_same(target, name_parts(name)) for target in targets)}
        return compare_copied(self._readable(before.tables), after.tables, self._replaced, rewritten)

    def _readable(self, tables: Mapping[str, CopiedTable]) -> dict[str, CopiedTable]:
        """Return the tables without those that could not be read since: they are not dropped."""
        return {name: table for name, table in tables.items() if name not in self._reader.unread}

    def _with_breaks(self, change: TableChange) -> TableChange:
        names = [name_parts(shape.table) for shape in (change.before, change.after) if shape]
        breaks: list[str] = []
        for broken in self._broken:
            if not broken.is_view:
                breaks += broken.actions if broken.name == change.table else ()
            elif any(is_same(target, name) for target in broken.step.summary.targets for name in names):
                breaks.append(f"view {broken.name}")
        return replace(change, breaks=tuple(dict.fromkeys(breaks)))

    def _return_to_base(self, base: Sequence[FileSummary]) -> int:
        """Set the copy to an equal base, and return the number of its files."""
        assert self.base
        kept = self.base
        self._runner.bounded(lambda: self._engine.rewind(kept.checkpoint))
        self._base_problems += kept.problems
        self._runner.pass_over(base, kept.problems)
        return len(base)

    def _restore(self, base: Sequence[FileSummary], cached: BaseState) -> int:
        """Set the copy to a cached state, and return the number of files that it covers."""
        try:
            self._runner.bounded(lambda: self._engine.restore(cached.state))
            self._tables()
        except TimeIsUp:
            raise
        except Exception as error:  # A cached state that cannot be restored is ignored; the replay runs without it.
            raise _NoState from error
        self._base_problems += cached.problems
        self._runner.pass_over(base[: cached.files], cached.problems)
        return cached.files

    def _run_base(self, base: Sequence[FileSummary], done: int) -> None:
        remaining = base[done:]
        with doing(f"{self._name}: replaying {len(remaining)} migrations of the base on a throw-away copy"):
            for file in remaining:
                problems = self._runner.file(file, goes_on=True)
                self._base_problems += (problem for problem in problems if problem.is_error)
            if remaining:
                self._keep()
        self._runner.skipped.clear()
        self._runner.replaced.clear()
        self._runner.ran.clear()

    def _keep(self) -> None:
        try:
            state = self._runner.bounded(self._engine.state)
            if state is None:
                raise NotKept("Spark's own catalog holds a table, a view, a function or a database")
            self._states.keep(state, self._base_problems)
        except NotKept as why:
            self._not_kept = str(why)
        except EngineError as error:  # Another version of Iceberg, whose memory cannot be read.
            self._not_kept = error.message

    def _run_new(self, file: FileSummary, before: Mapping[str, CopiedTable]) -> Mapping[str, CopiedTable]:
        """Run a new file, and return the tables afterwards."""
        with doing(f"{self._name}: replaying {file.migration.location} on a throw-away copy"):
            self._problems += self._runner.file(file, goes_on=False)
            after = self._tables()
        replaced = set(self._replaced_since(before, after))
        self._replaced |= replaced
        self._by_file[file.migration.key] = compare(shapes(self._readable(before)), shapes(after), replaced)
        return after

    def _replaced_since(self, before: Mapping[str, CopiedTable], after: Mapping[str, CopiedTable]) -> Iterator[str]:
        """Yield the tables with new metadata whose name ends with that of a table that a statement replaced."""
        for name, table in after.items():
            if name in before and before[name].metadata != table.metadata:
                parts = tuple(name_parts(name))
                if any(parts[-len(target) :] == target for target in self._runner.replaced):
                    yield name
        self._runner.replaced.clear()

    def _tables(self) -> Mapping[str, CopiedTable]:
        return self._runner.bounded(self._reader.read)

    def _timeout(self) -> ReplayProblem:
        if self._runner.at is None:
            raise EngineUnavailable("COPY_NOT_STARTED", "on the throw-away copy: Spark does not answer")
        what = "it did not end within the time of the replay, 30 minutes"
        return ReplayProblem("REPLAY_TIMEOUT", True, what, *self._runner.at)


class TimeIsUp(Exception):
    """The time of the replay is used up."""


class ReplayRunner:
    """Run the files of a chain in order.

    Attributes:
        count: the number of statements that were run.
        skipped: the statements that the copy cannot run, with the reason.
        replaced: the names of the tables that statements replaced.
        ran: the statements that had no problem, with their files.
        at: the last statement, and its file.
    """

    def __init__(self, engine: CopyExecutor, copy: Copy) -> None:
        self._engine = engine
        self._copy = copy
        self._session: Session | None = None
        self._deadline = time.monotonic() + _BUDGET_SECONDS
        self._caller = Caller()
        self._created: set[Parts] = set()
        self._not_run: list[StatementSummary] = []
        self.count = 0
        self.skipped: list[ReplayProblem] = []
        self.replaced: set[Parts] = set()
        self.ran: list[tuple[FileSummary, ReplayStep]] = []
        self.at: tuple[FileSummary, ReplayStep] | None = None

    def end(self) -> None:
        """End the thread that waits for the engine."""
        self._caller.end()

    def bounded(self, call: Callable[[], T]) -> T:
        """Make a call to the engine within the time of the replay.

        Raises:
            TimeIsUp: the call did not return in time.
        """
        try:
            return result(self._caller.submit(call), self._deadline - time.monotonic())
        except NoAnswer as error:
            raise TimeIsUp from error

    def pass_over(self, files: Iterable[FileSummary], problems: Iterable[ReplayProblem]) -> None:
        """Register files whose effects the copy already holds.

        Args:
            problems: the problems of these files.
        """
        for file in files:
            self._begin(file)
            self._not_run += (step.summary for step in file.steps if step.summary.not_replayed)
        self._not_run += (problem.step.summary for problem in problems)

    def file(self, file: FileSummary, *, goes_on: bool) -> Iterator[ReplayProblem]:
        """Run a file, and yield its problems.

        Args:
            goes_on: whether the statements after a refused one are run. They always are if it is allowed or names an unknown
                table: it may succeed on the real catalog.
        """
        self._begin(file)
        for step in file.steps:
            problem = self._step(file, step)
            if problem is None:
                continue
            if problem.code != "REPLAY_LOCAL_PATH":
                self._not_run.append(step.summary)
            if step.summary.is_skipped:
                self.skipped.append(problem)
                continue
            yield problem
            if problem.code == "REPLAY_REFUSED" and not goes_on and problem.code not in step.summary.allowed:
                self._leave_out(file, step)
                break
        if not all(step.summary.keeps_session for step in file.steps):
            self._session = None

    def _leave_out(self, file: FileSummary, refused: ReplayStep) -> None:
        """Register the statements after a refused one, which are not run."""
        untried = [step for step in file.steps if step.index > refused.index]
        self._not_run += (step.summary for step in untried)
        if untried:
            lines = ", ".join(dict.fromkeys(str(step.line) for step in untried))
            word = "lines" if "," in lines else "line"
            why = (
                f"{counted(len(untried), 'statement')} in {word} {lines}, after the refused one in line {refused.line}"
            )
            self.skipped.append(ReplayProblem("REPLAY_REFUSED", False, why, file, untried[0]))

    def _begin(self, file: FileSummary) -> None:
        self._created.update(step.summary.creates_namespace for step in file.steps if step.summary.creates_namespace)

    def _step(self, file: FileSummary, step: ReplayStep) -> ReplayProblem | None:
        summary = step.summary
        if summary.not_replayed:
            return ReplayProblem("REPLAY_NOT_RUN", not summary.is_skipped, summary.not_replayed, file, step)
        self.count += 1
        self.at = file, step
        try:
            self.bounded(lambda: self._execute(step))
        except TableNotFound as error:
            return ReplayProblem(*self._unknown(summary), first_line(error.message), file, step)
        except EngineError as error:
            code = "REPLAY_NOT_RUN" if error.message.startswith(BOUNDARY) else "REPLAY_REFUSED"
            return ReplayProblem(code, True, first_line(error.message), file, step)
        self.ran.append((file, step))
        if summary.operation == "replace_table":
            self.replaced.update(summary.targets)
        if summary.names_local_path:
            return ReplayProblem("REPLAY_LOCAL_PATH", False, "LOCATION is a path without an address", file, step)
        return None

    def _execute(self, step: ReplayStep) -> None:
        self._session = self._session or self._engine.open_session()
        for name in self._namespaces(step.summary):
            self._engine.make_namespace(name[0], name[1:])
        self._session.execute(step.text)

    def _namespaces(self, summary: StatementSummary) -> Iterator[Parts]:
        """Yield the namespaces, with their catalogs, that a statement needs and no file up to this one creates."""
        default = self._copy.catalog.spark_conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG)
        named = [(*summary.uses, "")] if summary.uses else []
        for target in (*named, *summary.targets):
            if "/" in target[-1]:  # A path after `delta`.
                continue
            parts = target if target[0] in self._copy.names else (default, *target)
            if parts[0] in self._copy.names and len(parts) > 2 and self._created.isdisjoint({parts[1:-1], parts[:-1]}):
                yield parts[:-1]

    def _unknown(self, summary: StatementSummary) -> tuple[str, bool]:
        """Return the code for a statement on a table or namespace that was not found, and whether that is an error."""
        names = (*summary.targets, *summary.sources)
        if summary.operation in _RENAMES and self.bounded(lambda: self._exists(summary.targets[0])):
            return "REPLAY_REFUSED", True  # The new name is in another catalog or namespace.
        return "REPLAY_UNKNOWN_TABLE", bool(names) and not any(map(self._may_exist, names))

    def _exists(self, name: Parts) -> bool:
        assert self._session
        try:
            if not self._engine.runs_queries:
                return self._session.shape(name_of(name)) is not None
            self._session.query(f"DESCRIBE TABLE {'.'.join(map(spark_identifier, name))}")
        except EngineError:
            return False
        return True

    def _may_exist(self, name: Parts) -> bool:
        """Return whether a table may exist although the copy lacks it.
        It may be in another catalog, or be created by a statement that did not run.
        """
        if name[0] in self._copy.absent:
            return True
        if name[0] not in self._copy.names and self.bounded(self._current_catalog) not in self._copy.names:
            return True
        creators = [statement for statement in self._not_run if statement.operation in _MAKES]
        return any(
            not statement.targets or any(is_same(name, created) for created in statement.targets)
            for statement in creators
        )

    def _current_catalog(self) -> str:
        assert self._session
        return str(self._session.context().catalog)


def is_same(name: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names may mean one table: the first parts of a name may be left out."""
    size = min(len(name), len(other))
    return [part.lower() for part in name[-size:]] == [part.lower() for part in other[-size:]]


def compare_views(before: Mapping[str, CopiedView], after: Mapping[str, CopiedView]) -> tuple[ReviewedView, ...]:
    """Return the change of each view, by name."""
    return tuple(sorted(_view_changes(before, after), key=lambda view: view.view))


def _view_changes(before: Mapping[str, CopiedView], after: Mapping[str, CopiedView]) -> Iterator[ReviewedView]:
    names = {view.uuid: name for name, view in before.items()}
    kept = {view.uuid for view in after.values()}
    for name, view in after.items():
        was = before.get(names.get(view.uuid, name))
        if was is None:
            yield ReviewedView(name, Change.CREATED)
        elif name not in before:
            yield ReviewedView(name, Change.RENAMED)
        elif was != view:
            # CREATE OR REPLACE adds a version; a view that was dropped and created again has another uuid.
            is_new = (was.uuid, was.version) != (view.uuid, view.version)
            yield ReviewedView(name, Change.REPLACED if is_new else Change.ALTERED)
    for name, view in before.items():
        if name not in after and view.uuid not in kept:
            yield ReviewedView(name, Change.DROPPED)
