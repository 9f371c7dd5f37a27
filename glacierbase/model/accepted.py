"""A difference between a table and its files that a person accepted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class DeclaredDifference:
    """A part of an existing table that is not as the files declare it. A text is None where there is nothing.

    Attributes:
        column: the name of the column or the property; empty where there is only one such part.
        what: of what it is a difference, as in `Difference`.
    """

    table: str
    column: str
    declared: str | None
    actual: str | None
    what: str = ""

    @property
    def subject(self) -> str:
        """Of what it is a difference: `partitioning`, `column legacy`."""
        return f"{self.what} {self.column}".rstrip()

    def line(self) -> str:
        """Return the difference as a line of text."""
        return f"{self.table}, {self.subject}: declared {self.declared or 'nowhere'}, actual {self.actual or 'absent'}"

    def is_accepted(self, patterns: Iterable[str]) -> bool:
        """Return whether one of the patterns is or fits the subject."""
        return any(self.subject == each or fnmatchcase(self.subject, each) for each in patterns)
