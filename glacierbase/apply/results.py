"""The results of the commands that change a catalog or a cache, and of `pending` and `plan`, which announce a change.

Field names are the names in the JSON documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat
from pathlib import Path
from typing import ClassVar

from glacierbase.executors.direct.files import DIRECT, FileEngine
from glacierbase.migrations.allows import Allow
from glacierbase.model.differences import DeclaredDifference
from glacierbase.model.migration import Identified, State, Waiting
from glacierbase.model.result import LockHolder, Result
from glacierbase.model.text import (
    Cell,
    Line,
    Location,
    Mark,
    counted,
    ended,
    in_seconds,
    table,
    time_of,
)


@dataclass(frozen=True, slots=True)
class AppliedFile(Identified):
    """A migration that a run applied. `resumed_at` is the first statement (from 1) that ran.

    Attributes:
        engine: the one that ran its last statement: `direct`, or the type of the catalog's engine.
    """

    version: str | None
    path: str
    statements: int
    duration_ms: int
    resumed_at: int
    name: str | None = None
    engine: str | None = None

    @property
    def ran(self) -> int:
        """How many statements this run ran; a run that failed before ran the others."""
        return max(0, self.statements - self.resumed_at + 1)

    def line(self) -> str:
        """Return the file as a line of text."""
        ran = f"{self.ran} of " if self.resumed_at > 1 else ""
        resumed = f", resumed at statement {self.resumed_at}" if self.resumed_at > 1 else ""
        statements = ran + counted(self.statements, "statement")
        direct = f", {DIRECT}" if self.engine == DIRECT else ""
        return f"applied  {self.path}  {statements}, {in_seconds(self.duration_ms)}{resumed}{direct}"


@dataclass(frozen=True, slots=True)
class FailedFile(Identified):
    """The migration that stopped a run: the statement, its line, the engine's message, and whether it failed or is unknown."""

    version: str | None
    path: str
    statement: int
    line: int
    message: str
    state: State
    name: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingFile(Identified):
    """The migration that waits because the gate of an action is shut: the statement, its line, why, and since when."""

    version: str | None
    path: str
    statement: int
    line: int
    waiting: Waiting
    name: str | None = None


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """The engine of a run's last file. `java` is the version of its Java, None where it is not known."""

    name: str
    version: str
    java: str | None


# How `skipped` of a catalog begins that `migrate` would have run.
NOT_RUN = "not run, because "


@dataclass(frozen=True, slots=True)
class MigrateResult(Result):
    """What `migrate` did. `not_run` are the versions and names of what was pending, neither applied nor failed nor waiting.

    Attributes:
        engine: None if no engine was started.
    """

    applied: tuple[AppliedFile, ...] = ()
    failed: FailedFile | None = None
    waiting: WaitingFile | None = None
    not_run: tuple[str, ...] = ()
    engine: EngineVersion | None = None

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> list[str]:
        lines = [file.line() for file in self.applied]
        if self.failed:
            state = self.failed.state.upper()
            lines.append(
                f"{state:<7}  {self.failed.path}  at statement {self.failed.statement}, line {self.failed.line}"
            )
        if self.waiting:
            file = self.waiting
            lines.append(
                f"waiting  {file.path}  at statement {file.statement}, line {file.line}, {file.waiting.text()}"
            )
        if self.not_run:
            lines.append(f"not run  {', '.join(self.not_run)}")
        return lines or ([] if self.error else ["nothing to do: every migration is applied"])

    def skipping(self) -> Sequence[Line]:
        if not (self.skipped or "").startswith(NOT_RUN):
            return Result.skipping(self)
        return [self.skipped or "", *(f"  {line}" for line in self.lines() if self.not_run)]

    def summary(self) -> Sequence[Line]:
        """Return the lines of the text form where the log has shown the applied files: their number in place of a line each."""
        if not self.applied:
            return self.lines()
        files = counted(len(self.applied), "migration")
        statements = counted(sum(file.ran for file in self.applied), "statement")
        duration = in_seconds(sum(file.duration_ms for file in self.applied))
        return [f"applied  {files}, {statements}, {duration}", *self.lines()[len(self.applied) :]]


@dataclass(frozen=True, slots=True)
class PendingFile(Identified):
    """A migration that the next run would apply. `resumes_at` is its first statement (from 1) to run.

    Attributes:
        waiting: why it waits, and since when; None where it does not.
    """

    version: str | None
    description: str
    author: str
    path: str
    statements: int
    resumes_at: int
    name: str | None = None
    waiting: Waiting | None = None

    def row(self) -> tuple[Cell, ...]:
        """Return the cells of the file's table row."""
        resumes = f"from {self.resumes_at} of " if self.resumes_at > 1 else ""
        statements = resumes + counted(self.statements, "statement")
        return (self.label, self.description, self.author, statements, Location(self.path))


@dataclass(frozen=True, slots=True)
class PendingResult(Result):
    """What the next `migrate` would apply, in order."""

    pending: tuple[PendingFile, ...] = ()

    def lines(self) -> Sequence[Line]:
        header = ("version", "description", "author", "statements", "path")
        waits = [f"{file.label} waiting {file.waiting.text()}" for file in self.pending if file.waiting]
        return [*table(header, [file.row() for file in self.pending]), *waits] or ["nothing is pending"]


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement that would run: its position in the file, its rendered text, and the checksum that the history would record.

    Attributes:
        allows: findings of `lint` that comments above it allow.
    """

    index: int
    line: int
    sql: str
    checksum: str
    allows: tuple[Allow, ...] = ()

    def text(self) -> str:
        """Return its place, what it allows, and below them its SQL."""
        allows = "".join(f", allows {allow.code}: {allow.reason}" for allow in self.allows)
        return f"  -- statement {self.index}, line {self.line}{allows}\n{ended(self.sql)}"


@dataclass(frozen=True, slots=True)
class PlannedFile(Identified):
    """A migration that would run, with the statements that would run, and the checksums of the file and of its rendered text.

    Attributes:
        engine: the one that would run it: `direct`, or the type of the catalog's engine.
        needs_engine: why it does not run directly where `migrationExecutor.direct` allows that, as a clause.
        waiting: why it waits, and since when; None where it does not.
    """

    version: str | None
    description: str
    author: str
    path: str
    resumes_at: int
    statements: tuple[PlannedStatement, ...]
    checksum: str
    rendered_checksum: str
    name: str | None = None
    engine: str | None = None
    needs_engine: str | None = None
    waiting: Waiting | None = None

    def lines(self) -> list[str]:
        """Return a line for the file and one for each statement."""
        resumes = f", resumes at statement {self.resumes_at}" if self.resumes_at > 1 else ""
        engine = FileEngine(self.engine or "", self.needs_engine).text()
        waits = f", waiting {self.waiting.text()}" if self.waiting else ""
        return [
            Mark(f"{self.path}: {self.description} ({self.author}){resumes}{f', {engine}' if engine else ''}{waits}"),
            *(statement.text() for statement in self.statements),
        ]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of `migrate` that a plan was made with."""

    to: str | None = None
    only: str | None = None
    reason: str | None = None
    allow_out_of_order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryHead:
    """The newest event of a history, and the run that wrote it."""

    fence: int
    sequence: int
    run_id: str


@dataclass(frozen=True, slots=True)
class PlaceValue:
    """A value of the catalog file that locates its tables: the key, and the digest of the value without its secrets."""

    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class PlanResult(Result):
    """What the next `migrate` would run, statement by statement. `migrate --plan` applies it if all of it is still the same.

    Attributes:
        jumped_over: versions below the single one that a run selects.
        head: the newest event of the history that the plan was made from; None where there is no event.
        tool_version: the version of the glacierbase that made the plan.
        plan_required: whether `migrate` refuses to run without a plan file (`requirePlan`).
        place: the place of the tables, and of history and lock.
    """

    plan: tuple[PlannedFile, ...] = ()
    options: PlanOptions = PlanOptions()
    jumped_over: tuple[str, ...] = ()
    head: HistoryHead | None = None
    tool_version: str = ""
    plan_required: bool = False
    place: tuple[PlaceValue, ...] = ()

    def lines(self) -> list[str]:
        lines = [line for file in self.plan for line in file.lines()]
        return lines or ["nothing would run: every migration is applied"]


@dataclass(frozen=True, slots=True)
class RepairCase(Identified):
    """A version, or a repeatable, that needs a decision: what is known of it, and what `repair` can record.

    Attributes:
        statement_index: the one that was in flight or failed, from 1; None where the file as a whole is in question.
        since: when it was about to start.
        evidence: the traces of it that the engine keeps, a line each.
        suggests: what the evidence suggests, `done` or `not-done`.
        may_run: whether the statement, or its transaction, may still be running.
        engine: the same for people, and where.
        choices: the values that `--as` accepts.
        commands: those that record each of them.
        repaired_as: what was recorded just now.
    """

    version: str | None
    state: State
    path: str | None
    statement_index: int | None = None
    statements_total: int = 0
    line: int | None = None
    sql: str | None = None
    error_message: str | None = None
    run_id: str = ""
    os_user: str | None = None
    host: str | None = None
    ci_url: str | None = None
    since: datetime | None = None
    query_id: str | None = None
    query_tag: str | None = None
    evidence: tuple[str, ...] = ()
    suggests: str | None = None
    may_run: bool = False
    engine: str = ""
    choices: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    repaired_as: str | None = None
    name: str | None = None

    def lines(self) -> list[str]:
        """Return the facts, the evidence and the commands that record each choice."""
        if self.repaired_as:
            deleting = self.commands if self.repaired_as == "withdrawn" else ()
            return [f"recorded: {self.what} as {self.repaired_as}", *(f"  next      {line}" for line in deleting)]
        lines = [self._headline(), *(f"  {name:<9} {value}" for name, value in self._facts().items() if value)]
        if self.state is State.UNKNOWN:
            lines += [f"  evidence  {evidence}" for evidence in self.evidence or ("none: look at the table",)]
        named = zip(chain(["next"], repeat("or")), self.commands, strict=False)
        return [*lines, *(f"  {name:<9} {repair}" for name, repair in named)]

    def _headline(self) -> str:
        place = f", statement {self.statement_index} of {self.statements_total}" if self.statement_index else ""
        line = f", line {self.line}" if self.line else ""
        sql = f"\n{self.sql}" if self.sql else ""
        return f"{self.label} is {self.state}{place}{line}{sql}"

    def _facts(self) -> dict[str, str | None]:
        return {
            "file": self.path,
            "error": self.error_message,
            "run": f"{self.run_id} of {self.os_user} on {self.host}" if self.run_id else None,
            "ci": self.ci_url,
            "at": time_of(self.since),
            "query tag": self.query_tag,
            "query id": self.query_id,
            "engine": self.engine,
            "suggests": self.suggests,
        }


@dataclass(frozen=True, slots=True)
class RepairResult(Result):
    """What is known of the versions that `repair` was called for, and what it recorded."""

    cases: tuple[RepairCase, ...] = ()
    environment_was: str | None = None

    def lines(self) -> list[str]:
        if self.environment_was:
            now = f"is that of {self.environment} from now on"
            return [f"recorded: the history of environment {self.environment_was} {now}"]
        return [line for case in self.cases for line in case.lines()] or ["no version needs a decision"]


@dataclass(frozen=True, slots=True)
class UnlockResult(Result):
    """The lock holder, if there is one; what is known of that run; and whether the lock was released."""

    lock: LockHolder | None = None
    says: str = "the lock is free"
    released: bool = False

    def lines(self) -> list[str]:
        if self.lock is None:
            return [self.says]
        return [self.lock.line(), self.says, *(["released"] if self.released else [])]


@dataclass(frozen=True, slots=True)
class BaselinedFile:
    """A migration that was recorded as applied and did not run."""

    version: str
    path: str


@dataclass(frozen=True, slots=True)
class BaselineResult(Result):
    """What `baseline` recorded, in order, and the differences between tables and files that were accepted.

    Attributes:
        left: the files that stay pending, because their tables do not exist.
    """

    baselined: tuple[BaselinedFile, ...] = ()
    differences: tuple[DeclaredDifference, ...] = ()
    left: tuple[BaselinedFile, ...] = ()

    def lines(self) -> list[str]:
        lines = [f"baselined  {file.path}" for file in self.baselined]
        lines += [f"accepted   {difference.line()}" for difference in self.differences]
        lines += [f"pending    {file.path}" for file in self.left]
        return lines or ["nothing to do: all of them are in the history"]


@dataclass(frozen=True, slots=True)
class EnvResult(Result):
    """The Python that the engine of a catalog runs with, and what `env` did.

    Attributes:
        python: of the virtual environment, or of the catalog file; None for that of glacierbase.
        packages: how many the virtual environment holds; 0 without one.
        made: whether the environment was made now.
        lock_file: the path of the lock file, if it was written now.
        deleted: how many environments `--clean` deleted, and `freed`: the bytes of their files; None without `--clean`.
    """

    python: str | None = None
    packages: int = 0
    made: bool = False
    lock_file: str | None = None
    deleted: int | None = None
    freed: int | None = None

    def lines(self) -> list[str]:
        if self.deleted is not None and self.freed is not None:
            return [f"deleted {counted(self.deleted, 'environment')}, {self.freed / 2**20:.0f} MiB freed"]
        if not self.packages:
            return [f"runs with {self.python or 'this Python'}"]
        written = [f"wrote {self.lock_file}: commit it"] if self.lock_file else []
        return [
            f"{'made' if self.made else 'complete'}: {counted(self.packages, 'package')} in {self.python}",
            *written,
        ]


@dataclass(frozen=True, slots=True)
class WarmResult(Result):
    """What `warm` put into the cache: a number of jars, and the class archive with which Spark started in `start_ms`."""

    dependencies: int = 0
    archive: Path | None = None
    start_ms: int | None = None

    def lines(self) -> list[str]:
        jars = f"{counted(self.dependencies, 'jar')} in the cache"
        if self.archive is None or self.start_ms is None:
            return [jars if self.dependencies else "nothing to do: the engine of this catalog does not start here"]
        return [jars, f"class archive {self.archive}: Spark starts in {in_seconds(self.start_ms)}"]
