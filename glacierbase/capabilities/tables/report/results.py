"""The result of `report`, and the content of its page for one catalog: fields of other commands' documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from glacierbase.capabilities.tables.compare.results import CompareResult
from glacierbase.capabilities.tables.drift import Drift, DriftClass, Unread
from glacierbase.inspect.show import MadeChange, ShownRun, ShownStatement
from glacierbase.migrations.allows import Allow
from glacierbase.model.differences import Change, Difference
from glacierbase.model.result import Result, Status
from glacierbase.model.text import Line, counted

_COUNTED = (DriftClass.STRUCTURAL, DriftClass.PROPERTY)


@dataclass(frozen=True, slots=True)
class ReportResult(Result):
    """The numbers of one catalog on the page.

    Attributes:
        path: the path of the page; empty if nothing could be read, so that none was written.
        migrations, pending: how many the page shows.
        tables: how many exist by their records.
        drifts: how many differences of tables are neither ignored nor kept by the engine.
        environments: those that the page compares.
    """

    path: str = ""
    migrations: int = 0
    tables: int = 0
    pending: int = 0
    drifts: int = 0
    environments: tuple[str, ...] = ()

    def lines(self) -> Sequence[Line]:
        shown = f"{counted(self.migrations, 'migration')}, {self.pending} pending; {counted(self.tables, 'table')}"
        compared = f"; compared: {', '.join(self.environments)}" if self.environments else ""
        return [f"{shown}, drift: {counted(self.drifts, 'difference')}{compared}", f"written: {self.path}"]


@dataclass(frozen=True, slots=True)
class ReportedSince:
    """The time and cause of a change.

    Attributes:
        day, why: as `blame` prints them.
    """

    version: str | None
    day: str
    author: str | None
    why: str


@dataclass(frozen=True, slots=True)
class ReportedPart:
    """A line of `blame`.

    Attributes:
        comment: the comment of a column; else empty.
        was: the value before its last change.
    """

    kind: str
    name: str
    type: str
    required: bool
    comment: str
    was: str
    since: ReportedSince


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """A change of a table."""

    since: ReportedSince
    change: Change
    diff: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class ReportedTable:
    """A table since its first record, with the dropped tables that had its name before.

    Attributes:
        comment: of the table; empty without one.
        former_names: in order.
        dropped: the drop; None where the table exists by its record.
        not_recorded: the versions that changed it after the last record, and recorded nothing.
        changes: the newest first.
    """

    name: str
    comment: str
    former_names: tuple[str, ...]
    dropped: ReportedSince | None
    not_recorded: tuple[str, ...]
    parts: tuple[ReportedPart, ...]
    changes: tuple[ReportedChange, ...]


@dataclass(frozen=True, slots=True)
class ReportedEvent:
    """An event of a version; `why` is its error or its reason."""

    at: datetime | None
    event: str
    statement: str
    user: str
    run_id: str
    why: str | None


@dataclass(frozen=True, slots=True)
class ReportedMigration:
    """A version, as `show` returns it."""

    status: Status
    run: ShownRun | None
    statements: tuple[ShownStatement, ...]
    allows: tuple[Allow, ...]
    events: tuple[ReportedEvent, ...]
    next: str
    tables: tuple[MadeChange, ...]


@dataclass(frozen=True, slots=True)
class UnmanagedTable:
    """A table that no migration made, or that the catalog file leaves to others.

    Attributes:
        reason: of the catalog file; empty where it has none.
    """

    table: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageResult(Result):
    """The page's content for one catalog.

    Attributes:
        pending: the versions that the next `migrate` would run, or that stop it.
        drift_unknown: why the tables were not compared with their records; None where they were.
    """

    read_at: datetime | None = None
    migrations: tuple[ReportedMigration, ...] = ()
    tables: tuple[ReportedTable, ...] = ()
    pending: tuple[str, ...] = ()
    drifts: tuple[Drift, ...] = ()
    drift_compared: int = 0
    unmanaged: tuple[UnmanagedTable, ...] = ()
    unread: tuple[Unread, ...] = ()
    drift_next: tuple[str, ...] = ()
    drift_unknown: str | None = None

    def lines(self) -> Sequence[Line]:
        return []


def reported(path: str, pages: Iterable[PageResult], compared: Iterable[CompareResult]) -> Iterator[ReportResult]:
    """Yield the result for each catalog."""
    environments = {
        result.catalog: tuple(environment.name for environment in result.environments) for result in compared
    }
    for page in pages:
        drifts = sum(drift.class_ in _COUNTED for drift in page.drifts)
        existing = sum(not table.dropped for table in page.tables)
        yield ReportResult(
            page.catalog, page.environment, page.skipped, page.warnings, page.error, path, len(page.migrations),
            existing, len(page.pending), drifts, environments.get(page.catalog, ()), secrets=page.secrets,
        )  # fmt: skip
