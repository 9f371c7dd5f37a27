"""`drift`: compare the tables with their records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from itertools import chain, takewhile
from typing import ClassVar

from glacierbase.declared.clauses import changes_of
from glacierbase.errors import GlacierbaseError
from glacierbase.history.records import History
from glacierbase.history.state import CatalogState, read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.model.catalog import Catalog, DriftRule
from glacierbase.model.changes import TableDropped, TableRenamed, TableReplaced, Unknown
from glacierbase.model.command import command
from glacierbase.model.differences import Difference, change_line
from glacierbase.model.names import completed_like, name_parts
from glacierbase.model.partial_shape import EVERY_PART
from glacierbase.model.result import Result
from glacierbase.model.shape import LoggedStatement, Past, StatementLog, Version
from glacierbase.model.text import Line, counted, table, time_of
from glacierbase.record.attribution import differences
from glacierbase.record.drift import TableDrift, compare_tables, drift_of, is_kept_by_engine, not_read
from glacierbase.record.live import LiveTables
from glacierbase.record.replay import ReplayedTable, completed
from glacierbase.record.tables import FileTables, TableChoice, is_own_table, tables_of_others
from glacierbase.record.timeline import Timeline, timelines
from glacierbase.run.clock import SKEW
from glacierbase.run.run import run_tag
from glacierbase.sql import read
from glacierbase.sql.qualified import name_key, why_unmanaged
from glacierbase.sql.statement import ParsedStatement

# Properties and comments change neither what is stored nor what may be stored.
_PROPERTIES = ("property", "comment")
# How often tables are compared again because a migration ran meanwhile.
_AGAIN = 3


class DriftClass(str, Enum):
    """How much a difference matters."""

    STRUCTURAL = "structural"
    PROPERTY = "property"
    # Set by engines and catalogs themselves.
    ENGINE = "kept by the engine"
    # A rule in the catalog file has the reason.
    IGNORED = "ignored"
    # A file changed the table and left no record: it may have made the difference.
    NOT_RECORDED = "not recorded"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference between the record of a table and the table.

    Attributes:
        what: `column legacy`, `type amount`, `property write.format.default`, `partitioning`.
        expected, actual: as text; None where there is nothing.
        since: when it was made; None where that is not known.
        is_bound: whether it may be older: the earlier metadata is deleted.
        by: the user, or the engine and application, that committed it; None where neither the table nor the engine's log names one.
        operation: of that commit or statement, and its number or id; None where the format and the engine's log name none.
        reason: the reason in the rule that ignores it.
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
    operation: str | None = None

    def row(self) -> tuple[str, str, str, str]:
        """Return the difference as the cells of a table."""
        bound = "<= " if self.is_bound else ""
        when = f"{bound}{time_of(self.since)}" if self.since else ""
        why = f"ignored: {self.reason}" if self.reason else str(self.class_)
        origin = " ".join(filter(None, (when, self.operation, f"by {self.by}" if self.by else "")))
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
        unmanaged: tables in the same namespaces that no file of the history made, and those that the catalog file leaves to others.
        reasons: why the catalog file leaves a table to others, by its name.
        not_recorded: tables that files changed and of which the history has no record.
        unread: tables that could not be compared.
        next: the ways to settle the differences.
        grant: the statement that gives the user the right to read who made the differences, and when; None where nothing lacks.
    """

    drifts: tuple[Drift, ...] = ()
    compared: int = 0
    unmanaged: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    not_recorded: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    next: tuple[str, ...] = ()
    grant: str | None = None

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        return [*self._shown(), *([f"unmanaged: {counted(len(self.unmanaged), 'table')}"] if self.unmanaged else [])]

    def listed(self) -> Sequence[Line]:
        """Return the text with the names of the unmanaged tables."""
        reasons = {name: f" ({reason})" for name, reason in self.reasons.items()}
        return [*self._shown(), *(f"unmanaged: {name}{reasons.get(name, '')}" for name in self.unmanaged)]

    def _shown(self) -> Iterator[Line]:
        shown = [drift for drift in self.drifts if drift.class_ is not DriftClass.ENGINE]
        yield from table(("table", "difference", "class", "since"), (drift.row() for drift in shown))
        yield from (f"{unread.table}: not compared: {unread.why}" for unread in self.unread)
        yield from (f"{name}: not recorded, so not compared" for name in self.not_recorded)
        if not shown and not self.error and (self.compared or not self.unread):
            yield f"{counted(self.compared, 'table')} as recorded"
        kept = len(self.drifts) - len(shown)
        if kept:
            yield f"kept by the engine: {counted(kept, 'difference')}"
        if self.grant:
            yield f"times and authors need: {self.grant}"
        yield from (f"{'next' if at == 0 else '  or'}: {line}" for at, line in enumerate(self.next))

    def has(self, fail_on: str) -> bool:
        """Return whether there is a difference that fails the command.

        Args:
            fail_on: `structural` or `any`; the latter includes properties.
        """
        classes = {DriftClass.STRUCTURAL} | ({DriftClass.PROPERTY} if fail_on == "any" else set())
        return any(drift.class_ in classes for drift in self.drifts)


def drift(target: CatalogRun, result: DriftResult, choice: TableChoice) -> DriftResult:
    """Return how the tables of a catalog differ from their records, with an error for those that cannot be read. Writes nothing.

    Args:
        choice: the tables to compare.
    """
    with target.opened() as opened, LiveTables(target.catalog, opened.engine) as tables:
        state = read_state(opened)
        compared = drift_in(opened, state, timelines(state.history), tables, result, choice)
    return replace(compared, warnings=(*state.warnings, *compared.warnings), error=_not_compared(compared))


def drift_in(
    opened: OpenCatalog, state: CatalogState, known: Sequence[Timeline], tables: LiveTables, result: DriftResult,
    choice: TableChoice,
) -> DriftResult:  # fmt: skip
    """Return how tables differ from their records. The history is read again where a migration may have changed them meanwhile.

    Args:
        state: what was read of the history.
        known: its timelines.
    """
    for _ in range(_AGAIN):
        compared = _compared(opened, state.history, known, tables, result, choice)
        newer = read_state(opened) if compared.drifts else state
        if newer.history.head == state.history.head:
            return compared
        state, known = newer, timelines(newer.history)
    # A run wrote at each attempt: it may have made the differences.
    return replace(
        compared, drifts=tuple(replace(drift, class_=DriftClass.NOT_RECORDED) for drift in compared.drifts), next=()
    )


def _compared(
    opened: OpenCatalog, history: History, known: Sequence[Timeline], tables: LiveTables, result: DriftResult,
    choice: TableChoice,
) -> DriftResult:  # fmt: skip
    catalog = opened.target.catalog
    files = FileTables.of(catalog, history)
    unknown = files.never_recorded(known)
    chosen = choice.of(known, unknown)
    managed = [timeline for timeline in chosen if why_unmanaged(catalog, timeline.table) is None]
    compared = compare_tables(managed, tables, files)
    past = tables.past(
        {drift.actual.table: drift.recorded.metadata_location for drift in compared.drifts if drift.actual}
    )
    made = [
        (drift, difference, whole)
        for whole in compared.drifts
        for drift, difference in _drifts(
            whole, past.get(whole.actual.table) if whole.actual else None, catalog.drift_rules
        )
    ]
    drifts, grant = _logged(made, managed, tables, catalog)
    renamed = {drift.actual.table for drift in compared.drifts if drift.actual and drift.is_renamed}
    names_of_files = (name for name in unknown if choice.includes(name) and why_unmanaged(catalog, name) is None)
    not_recorded = tuple(_existing(names_of_files, tables))
    names, unlisted = _unmanaged(catalog, known, choice, tables)
    neighbours = _not_of_others(iter(names), opened)
    left = [timeline.table for timeline in chosen if timeline.shape and why_unmanaged(catalog, timeline.table)]
    unmanaged = [*left, *(name for name in neighbours if name not in not_recorded and name not in renamed)]
    return replace(
        result,
        warnings=tuple(
            f"unmanaged tables beside {name} are not known: their names could not be listed" for name in unlisted
        ),
        drifts=drifts,
        compared=compared.tables,
        unmanaged=tuple(unmanaged),
        reasons={name: reason for name in unmanaged if (reason := why_unmanaged(catalog, name))},
        not_recorded=not_recorded,
        unread=tuple(Unread(*pair) for pair in compared.unread),
        grant=grant,
        next=_ways_out(
            drifts, any(drift.has_statements and drift.actual and not drift.is_renamed for drift in compared.drifts)
        )
        if known or unknown
        else (f"no table is recorded; list those that exist: `{command('import', 'tables', '--list')}`",),
    )


def _not_compared(result: DriftResult) -> GlacierbaseError | None:
    """Return the error for tables that cannot be read: a job that monitors them must not count them as recorded."""
    if not result.unread:
        return None
    return not_read(result.catalog, [(table.table, table.why) for table in result.unread], result.compared)


def _drifts(whole: TableDrift, past: Past | None, rules: Sequence[DriftRule]) -> Iterator[tuple[Drift, Difference]]:
    """Yield the differences of a table, each with what the comparison has.

    Args:
        past: the versions of the table since the record, where they can be read.
    """
    for difference in whole.differences:
        rule = next((rule for rule in rules if rule.matches(whole.table, difference.subject)), None)
        values = (difference.subject, difference.before, difference.after)
        drift = Drift(whole.table, _class_of(difference, whole, rule), *values)
        yield _dated(replace(drift, reason=rule.reason if rule else None), difference, whole, past), difference


def _class_of(difference: Difference, whole: TableDrift, rule: DriftRule | None) -> DriftClass:
    if rule is not None:
        return DriftClass.IGNORED
    if not whole.is_certain:
        return DriftClass.NOT_RECORDED
    if difference.what not in _PROPERTIES:
        return DriftClass.STRUCTURAL
    return DriftClass.ENGINE if is_kept_by_engine(difference) else DriftClass.PROPERTY


def _dated(drift: Drift, difference: Difference, whole: TableDrift, past: Past | None) -> Drift:
    """Return the drift with the time of the first version that has it."""
    if past is None or (whole.is_renamed and difference.before == whole.table):  # No metadata says when it was renamed.
        return drift
    with_it = list(takewhile(lambda version: _has(version, difference, whole), reversed(past.versions)))
    # If all remaining versions have it, it may be older than the first of them.
    is_bound = not past.is_whole and len(with_it) == len(past.versions)
    if not with_it:
        return drift
    first = with_it[-1]
    return replace(drift, since=first.at, by=first.by, operation=first.operation, is_bound=is_bound)


def _has(version: Version, difference: Difference, whole: TableDrift) -> bool:
    then = drift_of(whole.recorded, version.shape, is_certain=True)
    return then is not None and difference in then.differences


def _logged(
    made: Sequence[tuple[Drift, Difference, TableDrift]], known: Iterable[Timeline], tables: LiveTables, catalog: Catalog
) -> tuple[tuple[Drift, ...], str | None]:  # fmt: skip
    """Return the drifts with times and users of the engine's log where a statement is about them, and the right that it lacks."""
    undated = {drift.table for drift, _, _ in made if drift.since is None}
    timelines = {timeline.table: timeline for timeline in known if timeline.table in undated}
    times = {name: timeline.moments[-1].event.recorded_at for name, timeline in timelines.items()}
    log = tables.statements({name: at - SKEW for name, at in times.items() if at})
    if log is None:
        return tuple(drift for drift, _, _ in made), None
    dated = tuple(
        _with_statement(drift, difference, whole, timelines[drift.table], log, catalog)
        if drift.table in timelines and drift.since is None
        else drift
        for drift, difference, whole in made
    )
    return dated, log.grant if any(drift.since is None for drift in dated) else None


def _with_statement(
    drift: Drift, difference: Difference, whole: TableDrift, timeline: Timeline, log: StatementLog, catalog: Catalog
) -> Drift:  # fmt: skip
    statement = statement_that_made(difference, whole, timeline, log, catalog)
    if statement is None:
        return drift
    return replace(drift, since=statement.at, by=statement.by, operation=statement.operation)


def _unmanaged(
    catalog: Catalog, known: Iterable[Timeline], choice: TableChoice, tables: LiveTables
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the unrecorded tables, and a recorded table of each namespace that could not be listed.

    The former are the chosen ones in the namespaces of recorded tables, without the tables of glacierbase.
    """
    managed = {timeline.table.casefold(): timeline.table for timeline in known if timeline.shape}
    namespaces = {tuple(name_parts(name)[:-1]): name for name in managed.values()}
    names_by_table = tables.names_beside(namespaces.values())
    names = (name for names in names_by_table.values() for name in sorted(names) if choice.includes(name))
    unknown = [name for name in names if name.casefold() not in managed and not is_own_table(catalog, name)]
    return unknown, [name for name in namespaces.values() if tables.is_near(name) and name not in names_by_table]


def _not_of_others(names: Iterator[str], opened: OpenCatalog) -> Iterator[str]:
    """Yield the tables that no file of another history in the same namespace changed."""
    if (first := next(names, None)) is None:
        return
    others = tables_of_others(opened)
    yield from (name for name in chain([first], names) if name_key(opened.target.catalog, name) not in others)


def _existing(names: Iterable[str], tables: LiveTables) -> Iterator[str]:
    """Yield the tables that exist. Starts no engine."""
    readings = tables.read(filter(tables.is_near, names))
    return (name for name, reading in readings.items() if reading.shape)


def _ways_out(drifts: Iterable[Drift], has_statements: bool) -> tuple[str, ...]:
    """Return the commands that settle the differences, with a placeholder for their reason.

    Args:
        has_statements: whether statements can be written for one of the tables.
    """
    if not any(drift.class_ in (DriftClass.STRUCTURAL, DriftClass.PROPERTY) for drift in drifts):
        return ()
    ignoring = f"ignore them: `{command('drift', 'ignore', reason=True)}`"
    if not has_statements:
        return f"write a migration by hand: `{command('new', 'what it changes')}`", ignoring
    return (
        f"keep the changes: `{command('drift', 'adopt', reason=True)}`",
        f"undo them: `{command('drift', 'revert', reason=True)}`",
        ignoring,
    )


def statement_that_made(
    difference: Difference, whole: TableDrift, timeline: Timeline, log: StatementLog, catalog: Catalog
) -> LoggedStatement | None:
    """Return the newest statement about the part of the table that differs; None without one.

    Args:
        timeline: of the table; the statements of the run that recorded it last made what is recorded.
    """
    recording = run_tag(timeline.moments[-1].event.run_id)
    for logged in log.statements:
        is_recorded = logged.tag == recording or logged.tag.startswith(f"{recording};")
        if not is_recorded and _is_about(logged, difference, whole, catalog):
            return logged
    return None


def _is_about(logged: LoggedStatement, difference: Difference, whole: TableDrift, catalog: Catalog) -> bool:
    """Return whether the text shows that the statement is about the part; of a script or a call, it does not."""
    try:
        parsed = read(logged.sql, catalog.dialect)
    except GlacierbaseError:  # The log cuts long texts.
        return False
    changes = changes_of(parsed)
    may_be_all = any(isinstance(change, Unknown) and EVERY_PART in change.parts for change in changes)
    if may_be_all or not _changes(parsed, logged, whole.table, catalog):
        return False
    if whole.actual is None:  # A rename also leaves nothing under the old name.
        return any(isinstance(change, (TableDropped, TableReplaced, TableRenamed)) for change in changes)
    replay = ReplayedTable(whole.recorded, whole.actual.format)
    replay.apply(changes, whole.actual.table)
    if replay.table is None:
        return False
    made = differences(whole.recorded, completed(replay.table, whole.actual))
    return any(made_difference.subject == difference.subject for made_difference in made)


def _changes(parsed: ParsedStatement, logged: LoggedStatement, table: str, catalog: Catalog) -> bool:
    """Return whether a statement names the table as changed, as its session completed the name."""
    like = (logged.catalog or "", logged.namespace or "", "")
    keys = (
        tuple(part.casefold() for part in name_parts(completed_like(target.recorded, like)))
        for target in parsed.targets
    )
    return name_key(catalog, table) in keys
