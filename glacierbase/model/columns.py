"""A column that is declared in one way and found in another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A column of an existing table that is not as the files declare it. A type is None where there is no such column."""

    table: str
    column: str
    declared: str | None
    actual: str | None

    def line(self) -> str:
        """Return the difference as a line of text."""
        return f"{self.table}, column {self.column}: declared {self.declared or 'nowhere'}, actual {self.actual or 'absent'}"
