"""The result of `drift`. Field names are the names in the JSON document; an underscore at their end is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import ClassVar

from glacierbase.model.differences import change_line
from glacierbase.model.result import Result
from glacierbase.model.text import Line, counted, table, time_of


class DriftClass(str, Enum):
    """How much a difference matters."""

    STRUCTURAL = "structural"
    PROPERTY = "property"
    # Set by engines and catalogs themselves.
    ENGINE = "kept by the engine"
    # A rule in the catalog file says why.
    IGNORED = "ignored"
    # A file touched the table and left no record: it may have made the difference.
    NOT_RECORDED = "not recorded"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference between the record of a table and the table.

    Attributes:
        what: `column legacy`, `type amount`, `property write.format.default`, `partitioning`.
        expected, actual: as text; None where there is nothing.
        since: when it came about; None where nothing tells.
        is_bound: whether that is only known to be the latest time: the metadata before it is gone.
        by: the engine and application that committed it; None where the metadata names none.
        reason: of the rule that ignores it.
    """

    table: str
    class_: DriftClass
    what: str
    expected: str | None
    actual: str | None
    since: datetime | None = None
    is_bound: bool = False
    by: str | None = None
    reason: str | None = None

    def row(self) -> tuple[str, str, str, str]:
        """Return the difference as the cells of a table."""
        bound = "<= " if self.is_bound else ""
        when = f"{bound}{time_of(self.since)}" if self.since else ""
        why = f"ignored: {self.reason}" if self.reason else str(self.class_)
        origin = " ".join(filter(None, (when, f"by {self.by}" if self.by else "")))
        return self.table, change_line(self.what, self.expected, self.actual), why, origin


@dataclass(frozen=True, slots=True)
class Unread:
    """A table that could not be compared."""

    table: str
    why: str


@dataclass(frozen=True, slots=True)
class DriftResult(Result):
    """How the tables of a catalog differ from the record in its history.

    Attributes:
        drifts: the differences, by table.
        compared: how many tables were compared.
        unmanaged: tables beside them that no file of the history made.
        not_recorded: tables that files touched and of which the history has no record.
        unread: tables that could not be compared.
        next: the ways out.
    """

    drifts: tuple[Drift, ...] = ()
    compared: int = 0
    unmanaged: tuple[str, ...] = ()
    not_recorded: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    next: tuple[str, ...] = ()

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        return [*self._shown(), *([f"unmanaged: {counted(len(self.unmanaged), 'table')}"] if self.unmanaged else [])]

    def listed(self) -> Sequence[Line]:
        """Return the text with the names of the unmanaged tables."""
        return [*self._shown(), *(f"unmanaged: {name}" for name in self.unmanaged)]

    def _shown(self) -> Iterator[Line]:
        matter = [each for each in self.drifts if each.class_ is not DriftClass.ENGINE]
        yield from table(("table", "difference", "class", "since"), (each.row() for each in matter))
        yield from (f"{each.table}: not compared: {each.why}" for each in self.unread)
        yield from (f"{name}: not recorded, so not compared" for name in self.not_recorded)
        if not matter and (self.compared or not self.unread):
            yield f"{counted(self.compared, 'table')} as recorded"
        kept = len(self.drifts) - len(matter)
        if kept:
            yield f"kept by the engine: {counted(kept, 'difference')}"
        yield from (f"{'next' if at == 0 else '  or'}: {line}" for at, line in enumerate(self.next))

    def has(self, fail_on: str) -> bool:
        """Return whether there is a difference that fails the command.

        Args:
            fail_on: `structural` or `any`; the latter includes properties.
        """
        classes = {DriftClass.STRUCTURAL} | ({DriftClass.PROPERTY} if fail_on == "any" else set())
        return any(each.class_ in classes for each in self.drifts)
