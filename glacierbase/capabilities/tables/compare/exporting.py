"""Read the state of one catalog in one environment: its versions from files and history, its tables from their catalogs.

The state has the changes of each part of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import glacierbase
from glacierbase.capabilities.tables.compare.origins import RanStatements
from glacierbase.capabilities.tables.compare.state import (
    StateResult,
    TableState,
    VersionState,
)
from glacierbase.capabilities.tables.compare.tables import differences
from glacierbase.history.items import Item
from glacierbase.history.records import History
from glacierbase.history.state import CatalogState, read_state
from glacierbase.history.target import CatalogRun
from glacierbase.inspect.status import statuses
from glacierbase.model.catalog import DriftRule
from glacierbase.model.migration import EventType, Squashed, State
from glacierbase.model.result import Status
from glacierbase.record.live import LiveTables, TableRead
from glacierbase.record.shapes import ChangeOrigin, as_recorded
from glacierbase.record.tables import FileTables
from glacierbase.record.timeline import Timeline, timelines
from glacierbase.sql.qualified import why_unmanaged

# How often tables are read again because a migration ran meanwhile.
_AGAIN = 3


@dataclass(frozen=True, slots=True)
class _Read:
    """A history, and the tables, read after it.

    Attributes:
        files: the tables that the file of each version changes.
    """

    state: CatalogState
    files: Mapping[int, tuple[str, ...]]
    tables: Sequence[TableState]

    @classmethod
    def of(cls, target: CatalogRun, state: CatalogState, live: LiveTables) -> _Read:
        files = FileTables.of(target.catalog, state.history)
        return cls(state, files.by_version, _tables(target, state.history, files, live))


def export(target: CatalogRun, result: StateResult) -> StateResult:
    """Return the state of the catalog. Writes nothing; an engine is started only where history and lock need it."""
    with target.opened() as opened, LiveTables(target.catalog) as live:
        read = _Read.of(target, read_state(opened), live)
        for _ in range(_AGAIN):
            if not any(table.altered for table in read.tables):
                break
            # A migration may have altered the tables after its history was read.
            newer = read_state(opened)
            if newer.history.head == read.state.history.head:
                break
            read = _Read.of(target, newer, live)
        else:
            read = replace(read, tables=[replace(table, altered=()) for table in read.tables])
    return _completed(target, result, read)


def _completed(target: CatalogRun, result: StateResult, read: _Read) -> StateResult:
    state = read.state
    known = list(statuses(target, state.history))
    return replace(
        result,
        warnings=(*state.warnings, *(item.error.message for item, _ in known if item.error)),
        read_at=datetime.now(timezone.utc),
        tool_version=glacierbase.__version__,
        versions=tuple(_versions(known, read.files)),
        repeatables=tuple(_row(item, status, ()) for item, status in known if item.is_repeatable),
        tables=tuple(read.tables),
    )


def _versions(known: Sequence[tuple[Item, Status]], files: Mapping[int, tuple[str, ...]]) -> Iterator[VersionState]:
    """Yield the versions; with a squash, also the versions that it replaced, unless they have records or files."""
    versions = {item.number: (item, status) for item, status in known if not item.is_repeatable}
    rows: dict[int, VersionState] = {}
    for number, (item, status) in versions.items():
        row = _row(item, status, files.get(number, ()))
        rows[number] = replace(row, checksums=(*row.checksums, *_checksums(item.squashes, number)))
        for other in {old.number: old for old in item.squashes if old.number not in versions}.values():
            rows[other.number] = replace(
                row, version=other.version, checksums=_checksums(item.squashes, other.number), rendered_checksum=None,
                squash=item.version, tables=(),
            )  # fmt: skip
    yield from (rows[number] for number in sorted(rows))


def _checksums(squashed: Iterable[Squashed], number: int) -> tuple[str, ...]:
    return tuple(old.checksum for old in squashed if old.number == number)


def _row(item: Item, status: Status, tables: tuple[str, ...]) -> VersionState:
    """Return the state of a version or repeatable. A repeatable that is to run has no checksum: its file was not applied."""
    record, checksum, rendered = item.record, None, None
    if not (item.is_repeatable and item.state is State.PENDING):
        checksum = record.last.checksum if record else item.file.checksum if item.file else None
        rendered = record.last.rendered_checksum if record else None
    return VersionState(
        version=item.version,
        name=item.name,
        description=status.description,
        state=item.state,
        applied_at=status.applied_at,
        applied_by=status.applied_by,
        statements_done=status.statements_done,
        statements_total=status.statements_total,
        stopped_at=status.stopped_at,
        checksums=(checksum,) if checksum else (),
        rendered_checksum=rendered,
        has_file=item.file is not None,
        squash=None,
        tables=tables,
    )


def _tables(target: CatalogRun, history: History, files: FileTables, live: LiveTables) -> Sequence[TableState]:
    """Return the tables of the history, in the order of the versions that change them, each as it is now."""
    recorded: dict[str, Timeline] = {}
    for timeline in timelines(history):
        # If several tables have had the name, the one that has it now, or had it last.
        if timeline.table not in recorded or _last(timeline) >= _last(recorded[timeline.table]):
            recorded[timeline.table] = timeline
    by_version = files.by_version
    names = list(dict.fromkeys([*(name for number in sorted(by_version) for name in by_version[number]), *recorded]))
    unmanaged = {name: why for name in names if (why := why_unmanaged(target.catalog, name))}
    readings, rules = live.read(name for name in names if name not in unmanaged), target.catalog.drift_rules
    # While a statement may be changing a table, and after a file without a record, the last record may be outdated.
    known = {
        name: timeline for name, timeline in recorded.items() if timeline.is_certain and not files.is_changing(name)
    }
    ran = RanStatements(target.catalog, history)
    return [
        TableState(name, None, False, None, False, None, (), unmanaged=unmanaged[name])
        if name in unmanaged
        else _table(name, known.get(name), readings[name], rules, ran)
        for name in names
    ]


def _last(timeline: Timeline) -> tuple[bool, int, int]:
    """Return what orders the tables that have had a name: one that exists comes last."""
    event = timeline.moments[-1].event
    return timeline.shape is not None, event.fence, event.sequence


def _table(
    name: str, record: Timeline | None, live: TableRead, rules: Sequence[DriftRule], ran: RanStatements
) -> TableState:
    shape_now = live.shape and as_recorded(live.shape)
    if record is None:
        return TableState(name, shape_now, False, None, False, live.unread, ())
    shape = record.shape and as_recorded(record.shape)
    altered = differences(shape, shape_now) if live.unread is None else ()
    return TableState(
        table=name,
        shape=shape,
        is_recorded=True,
        recorded_at=record.moments[-1].event.recorded_at,
        is_whole=_is_whole(record),
        unread=live.unread,
        altered=tuple(
            difference for difference in altered if not any(rule.matches(name, difference.subject) for rule in rules)
        ),
        parts=ran.origins(record.moments),
    )


def _is_whole(record: Timeline) -> bool:
    """Return whether migrations alone made a table, recorded since its creation; `baseline` records a table later."""
    is_made = all(moment.origin is ChangeOrigin.MIGRATION for moment in record.moments)
    return is_made and record.moments[0].event.event != EventType.BASELINED
