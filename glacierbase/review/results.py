"""Findings, and the result of `lint`. Field names are the names in the JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from glacierbase.model.result import Result
from glacierbase.model.text import Line, Mark, counted
from glacierbase.review.origin import Origin
from glacierbase.review.severity import Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that a rule objects to, or that the replay of `review` shows to be wrong.

    Attributes:
        code: of the rule, or `REPLAY_…` for what only the replay shows.
        statement_index: of the statement, from 1; None for the whole file.
        environments: those whose rendering has it.
        allowed: the reason of the comment that allows it, or None.
    """

    code: str
    severity: Severity
    message: str
    why: str
    fix: str
    path: str
    line: int
    column: int
    statement_index: int | None
    table: str | None
    environments: tuple[str, ...]
    allowed: str | None

    @property
    def is_error(self) -> bool:
        """Whether it fails the command."""
        return self.severity is Severity.ERROR and self.allowed is None

    def lines(self, everywhere: Sequence[str]) -> Iterator[Line]:
        """Yield the finding as text, with its environments unless these are all."""
        word = "allowed" if self.allowed is not None else str(self.severity)
        about = f"{self.table}: " if self.table else ""
        only = f" (in {', '.join(self.environments)})" if self.environments != tuple(everywhere) else ""
        yield Mark(f"{self.path}:{self.line}:{self.column}: {word} {self.code}: {about}{self.message}{only}")
        if self.allowed is None:
            yield f"    why: {self.why}"
            yield f"    fix: {self.fix}"
        else:
            yield f"    reason: {self.allowed}"


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A statement that no rule looks at, because what it does is not known."""

    path: str
    line: int
    sql: str


@dataclass(frozen=True, slots=True)
class LintResult(Result):
    """What the rules object to in the migrations of a catalog.

    Attributes:
        environments: those that were rendered.
        files: how many migrations were checked.
        spared: how many findings do not matter, because the same files create the table.
        origin: how the result was made.
    """

    environments: tuple[str, ...] = ()
    files: int = 0
    findings: tuple[Finding, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    spared: int = 0
    origin: Origin = field(default_factory=Origin)

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        lines = [line for finding in self.findings for line in finding.lines(self.environments)]
        for each in self.not_understood:
            lines.append(f"{each.path}:{each.line}: not understood, no rule applies: {' '.join(each.sql.split())}")
        return [*lines, self.summary()]

    def summary(self) -> str:
        """Return the counts in one line: `2 errors, 1 warning in 3 migrations`."""
        words = Counter("allowed" if each.allowed is not None else str(each.severity) for each in self.findings)
        parts = [counted(words[word], word) for word in ("error", "warning") if words[word]]
        parts += [f"{words['allowed']} allowed"] if words["allowed"] else []
        parts += [f"{self.spared} left out about tables that these files create"] if self.spared else []
        return f"{', '.join(parts) or 'no findings'} in {counted(self.files, 'migration')}"
