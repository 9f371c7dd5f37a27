"""The noun `Finding`: what a rule of `lint`, or the replay of `review`, objects to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from glacierbase.model.text import Line, Mark


class Severity(str, Enum):
    """An error fails the command; a warning does not."""

    ERROR = "error"
    WARNING = "warning"

    __str__ = str.__str__


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
