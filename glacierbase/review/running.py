"""Run files on a throw-away copy, statement by statement, and say which ones did not run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from glacierbase.errors import EngineError, TableNotFound
from glacierbase.executors import CopyExecutor, Session
from glacierbase.model.names import spark_identifier
from glacierbase.review.copy import Copy
from glacierbase.review.look import Look, Looked, Parts, Step
from glacierbase.run.waiting import Caller, NoAnswer, result

T = TypeVar("T")

# Of the whole replay, from the start of the engine.
_BUDGET_SECONDS = 1800.0
# What the security manager answers, whatever library asks.
_BOUNDARY = "access denied ("
_RENAMES = ("rename_table", "rename_view")
# Operations after which there is a table that was not there before; the last ones may do anything.
_MAKES = frozenset(
    {
        "create_table",
        "create_table_as",
        "replace_table",
        "create_view",
        "replace_view",
        *_RENAMES,
        "call",
        "script",
        "other",
    }
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement that was not run, or that the engine refused.

    Attributes:
        code: `REPLAY_REFUSED`, `REPLAY_NOT_RUN`, `REPLAY_UNKNOWN_TABLE`, `REPLAY_LOCAL_PATH` or `REPLAY_TIMEOUT`.
    """

    code: str
    is_error: bool
    message: str
    file: Looked
    step: Step


class TimeIsUp(Exception):
    """The time of the replay is spent."""


class Runner:
    """Runs the files of a chain in order.

    Attributes:
        count: how many statements were run.
        skipped: the statements that the copy cannot run, with the reason.
        replaced: the names of the tables that statements replaced.
        at: the last statement, and its file.
    """

    def __init__(self, engine: CopyExecutor, copy: Copy) -> None:
        self._engine = engine
        self._copy = copy
        self._session: Session | None = None
        self._deadline = time.monotonic() + _BUDGET_SECONDS
        self._caller = Caller()
        self._created: set[Parts] = set()
        self._not_made: list[Look] = []
        self.count = 0
        self.skipped: list[Problem] = []
        self.replaced: set[Parts] = set()
        self.at: tuple[Looked, Step] | None = None

    def end(self) -> None:
        """End the thread that waits for the engine."""
        self._caller.end()

    def bounded(self, call: Callable[[], T]) -> T:
        """Make a call to the engine within the time of the replay.

        Raises:
            TimeIsUp: it did not return in time.
        """
        try:
            return result(self._caller.submit(call), self._deadline - time.monotonic())
        except NoAnswer as error:
            raise TimeIsUp from error

    def pass_over(self, files: Iterable[Looked], problems: Iterable[Problem]) -> None:
        """Take over files whose effects the copy holds already.

        Args:
            problems: of theirs.
        """
        for file in files:
            self._begin(file)
            self._not_made += (each.look for each in file.steps if each.look.not_replayed)
        self._not_made += (each.step.look for each in problems)

    def file(self, file: Looked, *, goes_on: bool) -> Iterator[Problem]:
        """Run a file, and yield its problems.

        Args:
            goes_on: whether the statements after a refused one are run. Those after one that is allowed, or that names an
                unknown table, always are: it may succeed on the real catalog.
        """
        self._begin(file)
        for step in file.steps:
            problem = self._step(file, step)
            if problem is None:
                continue
            if problem.code != "REPLAY_LOCAL_PATH":
                self._not_made.append(step.look)
            if step.look.is_skipped:
                self.skipped.append(problem)
                continue
            yield problem
            if problem.code == "REPLAY_REFUSED" and not goes_on and problem.code not in step.look.allowed:
                break
        if not all(each.look.keeps_session for each in file.steps):
            self._session = None

    def _begin(self, file: Looked) -> None:
        self._created.update(each.look.creates_namespace for each in file.steps if each.look.creates_namespace)

    def _step(self, file: Looked, step: Step) -> Problem | None:
        look = step.look
        if look.not_replayed:
            return Problem("REPLAY_NOT_RUN", not look.is_skipped, look.not_replayed, file, step)
        self.count += 1
        self.at = file, step
        try:
            self.bounded(lambda: self._execute(step))
        except TableNotFound as error:
            return Problem(*self._unknown(look), _first_line(error.message), file, step)
        except EngineError as error:
            code = "REPLAY_NOT_RUN" if error.message.startswith(_BOUNDARY) else "REPLAY_REFUSED"
            return Problem(code, True, _first_line(error.message), file, step)
        if look.operation == "replace_table":
            self.replaced.update(look.targets)
        if look.names_local_path:
            return Problem("REPLAY_LOCAL_PATH", False, "LOCATION is a path without an address", file, step)
        return None

    def _execute(self, step: Step) -> None:
        self._session = self._session or self._engine.open_session()
        for name in self._namespaces(step.look):
            self._engine.make_namespace(name[0], name[1:])
        self._session.execute(step.text)

    def _namespaces(self, look: Look) -> Iterator[Parts]:
        """Yield the namespaces that a statement needs, and that no file up to this one creates, each after its catalog."""
        default = self._copy.catalog.spark_conf.get("spark.sql.defaultCatalog", "")
        named = [(*look.uses, "")] if look.uses else []
        for target in (*named, *look.targets):
            parts = target if target[0] in self._copy.names else (default, *target)
            if parts[0] in self._copy.names and len(parts) > 2 and self._created.isdisjoint({parts[1:-1], parts[:-1]}):
                yield parts[:-1]

    def _unknown(self, look: Look) -> tuple[str, bool]:
        """Return the code for a statement on a table or namespace that was not found, and whether that is an error."""
        names = (*look.targets, *look.sources)
        if look.operation in _RENAMES and self.bounded(lambda: self._exists(look.targets[0])):
            return "REPLAY_REFUSED", True  # The new name leads elsewhere.
        return "REPLAY_UNKNOWN_TABLE", bool(names) and not any(map(self._may_exist, names))

    def _exists(self, name: Parts) -> bool:
        assert self._session
        try:
            self._session.query(f"DESCRIBE TABLE {'.'.join(map(spark_identifier, name))}")
        except EngineError:
            return False
        return True

    def _may_exist(self, name: Parts) -> bool:
        """Return whether a table that the copy does not hold may exist after all: another catalog holds it, or a statement that
        did not run makes it.
        """
        if name[0] in self._copy.absent:
            return True
        if name[0] not in self._copy.names and self.bounded(self._current_catalog) not in self._copy.names:
            return True
        makers = [each for each in self._not_made if each.operation in _MAKES]
        return any(not each.targets or any(is_same(name, made) for made in each.targets) for each in makers)

    def _current_catalog(self) -> str:
        assert self._session
        return str(self._session.query("SELECT current_catalog()")[0][0])


def is_same(name: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names may be those of one table: the first parts of a name may be left out."""
    size = min(len(name), len(other))
    return [each.lower() for each in name[-size:]] == [each.lower() for each in other[-size:]]


def _first_line(message: str) -> str:
    """Return the message without the plan, the place in the SQL and advice."""
    return message.partition("\n")[0].partition(" SQLSTATE: ")[0].rstrip(";")
