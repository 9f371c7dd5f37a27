"""Run migrations on a throw-away copy: what the engine refuses, what each file changes, and what was not run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from glacierbase.errors import EngineError, EngineUnavailable, TableNotFound
from glacierbase.executors import CopyExecutor, Session, open_copy
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.effects import effect
from glacierbase.model.command import command
from glacierbase.model.differences import TableChange, compare
from glacierbase.model.migration import Statement
from glacierbase.model.names import NAME, name_parts, recorded_name
from glacierbase.model.shape import Shape
from glacierbase.review.copy import Copy
from glacierbase.review.refused import names_local_path, not_replayed
from glacierbase.run.activity import doing
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller, NoAnswer, result
from glacierbase.sql import read
from glacierbase.stores.iceberg.shape import shape_from_json

# Of the whole replay, from the start of the engine.
_BUDGET_SECONDS = 1800.0
_USES_NAMESPACE = re.compile(rf"(?i)\s*USE\s+(?:(?:NAMESPACE|SCHEMA|DATABASE)\s+)?({NAME})")
# A session that ran only these has the settings, the current namespace and the views of a new one.
_LEAVES_SESSION = re.compile(
    r"(?i)\s*(?:ALTER\s+TABLE|CREATE\s+(?:TABLE|NAMESPACE|SCHEMA|DATABASE)|DROP\s+TABLE|INSERT|UPDATE|DELETE|MERGE|CALL)\b"
)
# What the security manager answers, whatever library asks.
_BOUNDARY = "access denied ("


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement that was not run, or that the engine refused.

    Attributes:
        code: `REPLAY_REFUSED`, `REPLAY_NOT_RUN`, `REPLAY_UNKNOWN_TABLE`, `REPLAY_LOCAL_PATH` or `REPLAY_TIMEOUT`.
    """

    code: str
    is_error: bool
    message: str
    file: Compiled
    statement: Statement


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay showed.

    Attributes:
        replayed: how many statements ran.
        problems: those of the new files.
        base_problems: those of the files of the base.
        skipped: the statements that the copy cannot run, with the reason.
        changes: what the new files changed together.
        by_file: what each new file changed, by its version number.
        existing: the uuids of the tables that the base has.
    """

    replayed: int
    problems: tuple[Problem, ...]
    base_problems: tuple[Problem, ...]
    skipped: tuple[Problem, ...]
    changes: tuple[TableChange, ...]
    by_file: Mapping[int, tuple[TableChange, ...]] = field(repr=False)
    existing: frozenset[str | None] = frozenset()


def replay(copy: Copy, base: Sequence[Compiled], new: Sequence[Compiled]) -> Replay:
    """Run the files of the base and then the new ones on a copy, which is removed afterwards.

    Raises:
        ConfigurationError, EngineUnavailable: as `open_copy`.
    """
    with TemporaryDirectory(prefix="glacierbase-copy-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        run = Run.here(folder)
        # On this thread, so that a signal ends the JVM at once, also while it starts.
        with closing(_started(copy, run, folder)) as engine:
            return _Replay(engine, copy, [*base, *new]).run(base, new)


def _started(copy: Copy, run: Run, folder: Path) -> CopyExecutor:
    """Start the engine. The log of one that does not start is removed with the copy, so that the hint names another start."""
    try:
        return open_copy(copy.catalog, run, folder, copy.names)
    except EngineUnavailable as error:
        hint = f"`{command('doctor')}` starts the same Spark, and keeps its log"
        raise EngineUnavailable("COPY_NOT_STARTED", f"on the throw-away copy: {error.message}", hint) from error


class _TimeIsUp(Exception):
    """The time of the replay is spent."""


class _Replay:
    """A replay on an engine that has started."""

    def __init__(self, engine: CopyExecutor, copy: Copy, files: Sequence[Compiled]) -> None:
        self._engine = engine
        self._copy = copy
        self._session: Session | None = None
        self._deadline = time.monotonic() + _BUDGET_SECONDS
        self._caller = Caller()
        self._count = 0
        self._skipped: list[Problem] = []
        self._known: dict[str, tuple[str, Shape]] = {}
        self._to_replace: set[tuple[str, ...]] = set()
        self._replaced: set[str] = set()
        # Those that no file creates exist in the real catalog already.
        self._created = {name for file in files for each in file.statements for name in _created_namespace(each.text)}

    def run(self, base: Sequence[Compiled], new: Sequence[Compiled]) -> Replay:
        by_file: dict[int, tuple[TableChange, ...]] = {}
        problems: list[Problem] = []
        base_problems: list[Problem] = []
        before: dict[str, Shape] = {}
        previous = before
        try:
            with doing(f"{self._copy.catalog.name}: replaying {len(base)} migrations of the base on a throw-away copy"):
                for file in base:
                    base_problems += self._file(file, goes_on=True)
            self._skipped.clear()
            before = previous = self._tables()
            self._to_replace.clear()
            for file in new:
                with doing(f"{self._copy.catalog.name}: replaying {file.migration.location} on a throw-away copy"):
                    problems += self._file(file, goes_on=False)
                    known, tables = self._known, self._tables()
                replaced = set(self._replaced_since(known))
                self._replaced |= replaced
                by_file[file.migration.number] = compare(previous, tables, replaced)
                previous = tables
        except _TimeIsUp as stopped:
            problems.append(stopped.args[0])
        finally:
            self._caller.end()
        changes = compare(before, previous, self._replaced)
        existing = frozenset(shape.uuid for shape in before.values())
        return Replay(
            self._count, tuple(problems), tuple(base_problems), tuple(self._skipped), changes, by_file, existing
        )

    def _replaced_since(self, known: Mapping[str, tuple[str, Shape]]) -> Iterator[str]:
        """Yield the tables with other metadata than before whose name a statement that replaces a table ends with."""
        for table, (location, _) in self._known.items():
            if table in known and known[table][0] != location:
                parts = tuple(name_parts(table))
                if any(parts[-len(each) :] == each for each in self._to_replace):
                    yield table
        self._to_replace.clear()

    def _file(self, file: Compiled, *, goes_on: bool) -> Iterator[Problem]:
        """Run a file, and yield its problems.

        Args:
            goes_on: whether the statements after a refused one are run; those after an unknown table always are, because the
                table may exist in the real catalog.
        """
        for statement in file.statements:
            found = not_replayed(statement.text)
            if found:
                problem = Problem("REPLAY_NOT_RUN", not found.is_skipped, found.why, file, statement)
                if found.is_skipped:
                    self._skipped.append(problem)
                else:
                    yield problem
                continue
            if names_local_path(statement.text):
                yield Problem("REPLAY_LOCAL_PATH", False, "LOCATION is a path without an address", file, statement)
            refused = self._statement(file, statement)
            if refused:
                yield refused
                if refused.is_error and not goes_on:
                    break
        if not all(_LEAVES_SESSION.match(each.text) for each in file.statements):
            self._session = None

    def _statement(self, file: Compiled, statement: Statement) -> Problem | None:
        self._count += 1
        try:
            self._call(lambda: self._execute(statement.text))
        except NoAnswer as error:
            what = f"it did not end within the {_BUDGET_SECONDS / 60:.0f} minutes of the replay"
            raise _TimeIsUp(Problem("REPLAY_TIMEOUT", True, what, file, statement)) from error
        except TableNotFound as error:
            return Problem("REPLAY_UNKNOWN_TABLE", False, _first_line(error.message), file, statement)
        except EngineError as error:
            code = "REPLAY_NOT_RUN" if error.message.startswith(_BOUNDARY) else "REPLAY_REFUSED"
            return Problem(code, True, _first_line(error.message), file, statement)
        does = read(statement.text, "spark")
        if does.operation == "replace_table":
            self._to_replace.update(tuple(name_parts(target.recorded)) for target in does.targets)
        return None

    def _call(self, call: Callable[[], None]) -> None:
        result(self._caller.submit(call), self._deadline - time.monotonic())

    def _execute(self, sql: str) -> None:
        for name, levels in self._namespaces(sql):
            self._engine.make_namespace(name, levels)
        self._session = self._session or self._engine.open_session()
        self._session.execute(sql)

    def _namespaces(self, sql: str) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the catalog and the levels of the namespaces that a statement needs, and that no file creates."""
        default = self._copy.catalog.spark_conf.get("spark.sql.defaultCatalog", "")
        used = _USES_NAMESPACE.match(sql)
        named = [(*name_parts(recorded_name(used[1])), "")] if used else []
        for target in (*named, *(each.parts for each in read(sql, "spark").targets)):
            parts = target if target[0] in self._copy.names else (default, *target)
            if parts[0] in self._copy.names and len(parts) > 2 and not self._is_created(parts):
                yield parts[0], parts[1:-1]

    def _is_created(self, parts: Sequence[str]) -> bool:
        return tuple(parts[1:-1]) in self._created or tuple(parts[:-1]) in self._created

    def _tables(self) -> dict[str, Shape]:
        """Return the shape of each table. Metadata is read once: a location never gets other content."""
        locations = self._engine.locations()
        self._known = {
            table: self._known[table]
            if table in self._known and self._known[table][0] == location
            else (location, shape_from_json(table, self._engine.metadata(location)))
            for table, location in locations.items()
        }
        return {table: shape for table, (_, shape) in self._known.items()}


def _first_line(message: str) -> str:
    """Return the message without the plan, the place in the SQL and advice."""
    return message.partition("\n")[0].partition(" SQLSTATE: ")[0].rstrip(";")


def _created_namespace(sql: str) -> Iterable[tuple[str, ...]]:
    namespace = effect(sql).namespace
    return [tuple(name_parts(namespace))] if namespace else []
