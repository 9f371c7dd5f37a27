"""The result of `review`. Field names are the names in the JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from glacierbase.model.differences import Change, Difference
from glacierbase.model.result import Result
from glacierbase.model.shape import Shape
from glacierbase.model.text import Line, Mark, counted, table
from glacierbase.review.origin import Origin
from glacierbase.review.results import Finding
from glacierbase.review.views import ReviewedView

PREFIX = "on the throw-away copy"
# The codes that a comment `-- GLACIERBASE_ALLOW` may name besides those of rules. A replay that ran out of time says nothing about
# the statements after it, and is not allowed.
REPLAY_CODES = frozenset({"REPLAY_REFUSED", "REPLAY_NOT_RUN", "REPLAY_UNKNOWN_TABLE", "REPLAY_LOCAL_PATH"})


@dataclass(frozen=True, slots=True)
class ReviewedStatement:
    """A statement of a new migration, as the environments render it."""

    index: int
    line: int
    sql: str


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A new migration.

    Attributes:
        kind: `metadata only`, `rewrites data`, `destructive`, `squash`, or `replayed in part`; None where it was not replayed.
        environments: those that it is rendered for.
    """

    version: str
    path: str
    description: str
    author: str
    kind: str | None
    environments: tuple[str, ...]
    statements: tuple[ReviewedStatement, ...]


@dataclass(frozen=True, slots=True)
class ReviewedTable:
    """What the new migrations do to a table.

    Attributes:
        before, after: its shape; None where it does not exist.
        diff: the differences; of a created table, what it consists of.
    """

    table: str
    change: Change
    before: Shape | None
    after: Shape | None
    diff: tuple[Difference, ...]

    def lines(self) -> Iterator[Line]:
        """Yield the table as text."""
        yield Mark(f"{self.table}: {self.change}")
        yield from (f"  {difference.line()}" for difference in self.diff)


@dataclass(frozen=True, slots=True)
class SkippedStatement:
    """A statement of a new migration that the copy cannot run."""

    path: str
    line: int
    why: str

    def text(self) -> str:
        """Return the statement as a line of text."""
        return f"{self.path}:{self.line}: {PREFIX}: not replayed: {self.why}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """How the replay went.

    Attributes:
        replayed: how many statements ran, those of the base included.
        skipped: the statements that the copy cannot run, although they are in order.
        cached: whether files of the base were not run, because the state after them came from the cache.
    """

    replayed: int
    skipped: tuple[SkippedStatement, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class ReviewResult(Result):
    """What the new migrations of a catalog do to its tables, in the environments that render them equally.

    Attributes:
        replay: None where nothing was replayed.
        origin: how the result was made.
    """

    environments: tuple[str, ...] = ()
    files: tuple[ReviewedFile, ...] = ()
    tables: tuple[ReviewedTable, ...] = ()
    views: tuple[ReviewedView, ...] = ()
    findings: tuple[Finding, ...] = ()
    replay: Replayed | None = None
    origin: Origin = field(default_factory=Origin)

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        if not self.files:
            return ["no new migrations"]
        lines = [self.verdict(), *table(("version", "kind", "author", "description"), map(_row, self.files))]
        for each in self.tables:
            lines += each.lines()
        lines += [Mark(f"view {each.view}: {each.change}") for each in self.views]
        for finding in self.findings:
            lines += finding.lines(self.environments)
        if self.replay:
            lines += [each.text() for each in self.replay.skipped]
        return lines

    def verdict(self) -> str:
        """Return the review in one line."""
        new = counted(len(self.files), "migration")
        if self.replay is None:
            return f"{new}, rendered and not replayed"
        wrong = counted(sum(each.is_error for each in self.findings), "error")
        tables = counted(len(self.tables), "table")
        return f"{PREFIX}: {new}, {tables} changed, {wrong}; no real table was changed"


def _row(file: ReviewedFile) -> tuple[str, ...]:
    return (file.version, file.kind or "not replayed", file.author, file.description)
