"""The noun `Finding`: what a rule of `lint`, or the replay of `review`, objects to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from glacierbase.model.text import Line, Mark, counted


class Severity(str, Enum):
    """An error fails the command; a warning and a note do not. A note matters only under a condition that is not known."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that a rule objects to, or where the replay of `review` detects a problem.

    Attributes:
        code: the code of the rule, or `REPLAY_…` for what only the replay shows.
        statement_index: the index of the statement, from 1; None for the whole file.
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

    @property
    def is_note(self) -> bool:
        """Whether it is a note that no comment allows."""
        return self.severity is Severity.NOTE and self.allowed is None

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


def counts(findings: Iterable[Finding]) -> list[str]:
    """Return the number of findings by severity, and of allowed ones: `2 errors`, `1 note`, `1 allowed`."""
    words = Counter("allowed" if finding.allowed is not None else str(finding.severity) for finding in findings)
    parts = [counted(words[severity], severity) for severity in Severity if words[severity]]
    return [*parts, *([f"{words['allowed']} allowed"] if words["allowed"] else [])]
