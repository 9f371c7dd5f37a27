"""Replay migrations on a throw-away copy: what the engine refuses, what each file changes, and what was not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from glacierbase.errors import EngineError, EngineUnavailable
from glacierbase.executors import CopiedView, CopyExecutor, open_copy
from glacierbase.model.command import command
from glacierbase.model.differences import TableChange, compare
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Shape
from glacierbase.review.base_states import BaseState, BaseStates, NotKept
from glacierbase.review.copy import Copy
from glacierbase.review.look import Looked
from glacierbase.review.running import Problem, Runner, TimeIsUp
from glacierbase.review.views import ReviewedView, compare_views
from glacierbase.run.activity import doing
from glacierbase.run.run import Run
from glacierbase.stores.iceberg.shape import shape_from_json


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay showed.

    Attributes:
        replayed: how many statements ran.
        problems: those of the new files.
        base_problems: those of the files of the base.
        skipped: the statements that the copy cannot run, with the reason.
        changes: what the new files changed together.
        views: what happened to views.
        by_file: what each new file changed, by its version number.
        existing: the uuids of the tables that the base has.
        cached: how many files of the base were not run, because their effects came from the cache.
        not_kept: why the state after the base is not in the cache now; None if it is, or cannot be written.
    """

    replayed: int
    problems: tuple[Problem, ...]
    base_problems: tuple[Problem, ...]
    skipped: tuple[Problem, ...]
    changes: tuple[TableChange, ...]
    views: tuple[ReviewedView, ...]
    by_file: Mapping[int, tuple[TableChange, ...]] = field(repr=False)
    existing: frozenset[str | None] = frozenset()
    cached: int = 0
    not_kept: str | None = None


def replay(copy: Copy, base: Sequence[Looked], new: Sequence[Looked]) -> Replay:
    """Run the files of the base and then the new ones on a copy, which is removed afterwards.

    Raises:
        ConfigurationError, EngineUnavailable: as `open_copy`.
    """
    try:
        return _on_copy(copy, base, new, uses_cache=True)
    except _NoState:
        return _on_copy(copy, base, new, uses_cache=False)


def _on_copy(copy: Copy, base: Sequence[Looked], new: Sequence[Looked], *, uses_cache: bool) -> Replay:
    with TemporaryDirectory(prefix="glacierbase-copy-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        run = Run.here(folder)
        # On this thread, so that a signal ends the JVM at once, also while it starts.
        with closing(_started(copy, run, folder)) as engine:
            states = BaseStates(copy, engine.engine, base)
            return _Replay(engine, copy, states).run(base, new, states.latest() if uses_cache else None)


def _started(copy: Copy, run: Run, folder: Path) -> CopyExecutor:
    """Start the engine. The log of one that does not start is removed with the copy, so that the hint names another start."""
    try:
        return open_copy(copy.catalog, run, folder, copy.names)
    except EngineUnavailable as error:
        hint = f"`{command('doctor')}` starts the same Spark, and keeps its log"
        raise EngineUnavailable("COPY_NOT_STARTED", f"on the throw-away copy: {error.message}", hint) from error


class _NoState(Exception):
    """A state in the cache is none that the engine can hold."""


class _Replay:
    """A replay on an engine that has started."""

    def __init__(self, engine: CopyExecutor, copy: Copy, states: BaseStates) -> None:
        self._engine = engine
        self._name = copy.catalog.name
        self._states = states
        self._runner = Runner(engine, copy)
        self._known: dict[str, tuple[str, Shape]] = {}
        self._replaced: set[str] = set()
        self._problems: list[Problem] = []
        self._base_problems: list[Problem] = []
        self._by_file: dict[int, tuple[TableChange, ...]] = {}
        self._not_kept: str | None = None

    def run(self, base: Sequence[Looked], new: Sequence[Looked], cached: BaseState | None) -> Replay:
        before: dict[str, Shape] = {}
        after = before
        views: dict[str, CopiedView] = {}
        later = views
        try:
            if cached:
                self._restore(base, cached)
            self._run_base(base, cached.files if cached else 0)
            before = after = self._tables()
            views = later = self._runner.bounded(self._engine.views)
            for file in new:
                after = self._run_new(file, after)
            later = self._runner.bounded(self._engine.views)
        except TimeIsUp:
            self._problems.append(self._timeout())
        finally:
            self._runner.end()
        return Replay(
            self._runner.count,
            tuple(self._problems),
            tuple(self._base_problems),
            tuple(self._runner.skipped),
            compare(before, after, self._replaced),
            compare_views(views, later),
            self._by_file,
            frozenset(shape.uuid for shape in before.values()),
            cached.files if cached else 0,
            self._not_kept,
        )

    def _restore(self, base: Sequence[Looked], cached: BaseState) -> None:
        try:
            self._runner.bounded(lambda: self._engine.restore(cached.state))
            self._tables()
        except TimeIsUp:
            raise
        except Exception as error:  # Whatever a state does that cannot be read: the replay without it counts.
            raise _NoState from error
        self._base_problems += cached.problems
        self._runner.pass_over(base[: cached.files], cached.problems)

    def _run_base(self, base: Sequence[Looked], done: int) -> None:
        rest = base[done:]
        with doing(f"{self._name}: replaying {len(rest)} migrations of the base on a throw-away copy"):
            for file in rest:
                found = self._runner.file(file, goes_on=True)
                self._base_problems += (each for each in found if each.is_error)
            if rest:
                self._keep()
        self._runner.skipped.clear()
        self._runner.replaced.clear()

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

    def _run_new(self, file: Looked, before: Mapping[str, Shape]) -> dict[str, Shape]:
        """Run a new file, and return the tables afterwards."""
        with doing(f"{self._name}: replaying {file.migration.location} on a throw-away copy"):
            self._problems += self._runner.file(file, goes_on=False)
            known, after = self._known, self._tables()
        replaced = set(self._replaced_since(known))
        self._replaced |= replaced
        self._by_file[file.migration.number] = compare(before, after, replaced)
        return after

    def _replaced_since(self, known: Mapping[str, tuple[str, Shape]]) -> Iterator[str]:
        """Yield the tables with other metadata than before whose name a statement that replaces a table ends with."""
        for table, (location, _) in self._known.items():
            if table in known and known[table][0] != location:
                parts = tuple(name_parts(table))
                if any(parts[-len(each) :] == each for each in self._runner.replaced):
                    yield table
        self._runner.replaced.clear()

    def _tables(self) -> dict[str, Shape]:
        """Return the shape of each table."""
        self._known = self._runner.bounded(self._read_tables)
        return {table: shape for table, (_, shape) in self._known.items()}

    def _read_tables(self) -> dict[str, tuple[str, Shape]]:
        """Metadata is read once: a location never gets other content."""
        return {
            table: self._known[table]
            if table in self._known and self._known[table][0] == location
            else (location, shape_from_json(table, self._engine.metadata(location)))
            for table, location in self._engine.locations().items()
        }

    def _timeout(self) -> Problem:
        if self._runner.at is None:
            raise EngineUnavailable("COPY_NOT_STARTED", "on the throw-away copy: Spark does not answer")
        what = "it did not end within the time of the replay, 30 minutes"
        return Problem("REPLAY_TIMEOUT", True, what, *self._runner.at)
