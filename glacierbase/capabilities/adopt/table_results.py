"""The result of `import tables`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from glacierbase.model.result import Result
from glacierbase.model.text import Line, Location, counted, table


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
        table: its qualified name.
        kind: `table`, `view`, or what else the engine calls it.
        state: whether it is managed, before the command wrote anything.
        reason: more about the state, or None.
    """

    table: str
    kind: str
    state: Standing
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TableFile:
    """A migration file that creates a table like the one that exists.

    Attributes:
        path: relative to the project; in a dry run with VERSION in place of the version.
        statements: how many it has.
    """

    path: str
    table: str
    statements: int


@dataclass(frozen=True, slots=True)
class NotExact:
    """What a file does not create of a table, or why there is no file."""

    table: str
    what: str


@dataclass(frozen=True, slots=True)
class ImportTablesResult(Result):
    """The tables that exist in the catalogs of an engine, and the files that create them.

    Attributes:
        tables: those that fit the patterns, in order of name.
        files: that were written, or would be.
        not_exact: by table, also of those without a file.
        dry_run: whether nothing was written.
        list_only: whether the tables were only listed.
        baselined: the versions that were recorded as applied.
        next: the next command, or empty.
    """

    tables: tuple[LiveTable, ...] = ()
    files: tuple[TableFile, ...] = ()
    not_exact: tuple[NotExact, ...] = ()
    dry_run: bool = False
    list_only: bool = False
    baselined: tuple[str, ...] = ()
    next: str = ""

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        return list(self._listed() if self.list_only else self._written())

    def _listed(self) -> Iterator[Line]:
        rows = ((live.table, live.kind, str(live.state), live.reason) for live in self.tables)
        yield from table(("table", "kind", "state", "reason"), rows)
        yield f"{counted(len(self.tables), 'table')}: {self._counts(Standing) or 'none'}"

    def _written(self) -> Iterator[Line]:
        rows = ((file.table, str(file.statements), Location(file.path)) for file in self.files)
        yield from table(("table", "statements", "file"), rows)
        if self.not_exact:
            yield f"not exact: {counted(len(self.not_exact), 'difference')}"
            yield from (f"  {part.table}: {part.what}" for part in self.not_exact)
        yield f"{'would write' if self.dry_run else 'wrote'} {counted(len(self.files), 'file')}"
        if others := self._counts([Standing.RECORDED, Standing.DECLARED, Standing.UNMANAGED]):
            yield f"without a new file: {others}"
        if self.baselined:
            yield f"recorded as applied: {counted(len(self.baselined), 'version')}"
        if self.next:
            yield f"next: {self.next}"

    def _counts(self, states: Sequence[Standing] | type[Standing]) -> str:
        """Return how many tables have each of the states."""
        counts = Counter(live.state for live in self.tables)
        return ", ".join(f"{counts[state]} {state}" for state in states if counts[state])
