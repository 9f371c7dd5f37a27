"""The result of `import tables`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from glacierbase.model.result import Result
from glacierbase.model.text import Line, counted, table


class Standing(str, Enum):
    """Which part of a project a table is."""

    # A migration in the history changed it.
    RECORDED = "recorded"
    # A migration file that never ran here changes it.
    DECLARED = "declared"
    # The catalog file leaves it to others.
    UNMANAGED = "unmanaged"
    # None of these.
    NEW = "new"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table or view that exists.

    Attributes:
        table: its whole name.
        state: whether it is managed.
        reason: more about the state, or None.
    """

    table: str
    state: Standing
    reason: str | None = None
    is_view: bool = False


@dataclass(frozen=True, slots=True)
class ImportTablesResult(Result):
    """The tables that exist in the catalogs of an engine.

    Attributes:
        tables: those that fit the patterns, in order of name.
    """

    tables: tuple[LiveTable, ...] = ()

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        rows = ((found.table, _kind(found), str(found.state), found.reason) for found in self.tables)
        counts = (
            f"{number} {state}" for state in Standing if (number := sum(found.state is state for found in self.tables))
        )
        total = counted(len(self.tables), "table")
        return [*table(("table", "kind", "state", "reason"), rows), ": ".join(filter(None, (total, ", ".join(counts))))]


def _kind(found: LiveTable) -> str:
    return "view" if found.is_view else "table"
