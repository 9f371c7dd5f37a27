"""Read the state of one catalog in one environment: its versions from files and history, its tables from their catalogs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import glacierbase
from glacierbase.history.file_tables import FileTables
from glacierbase.history.opening import Target
from glacierbase.history.records import History, Record
from glacierbase.history.shapes import Origin, as_recorded
from glacierbase.history.squashes import fitted
from glacierbase.history.state import CatalogState, read_state
from glacierbase.history.status import make_status
from glacierbase.history.timeline import Timeline, timelines
from glacierbase.inspect.compare.differences import differences
from glacierbase.inspect.compare.parts import Ran
from glacierbase.inspect.compare.state import StateResult, TableState, VersionState
from glacierbase.model.catalog import DriftRule
from glacierbase.model.migration import Event, EventType, Migration, Squashed
from glacierbase.model.result import Status
from glacierbase.stores.live import LiveTables, Reading

# How often tables are read again because a migration ran meanwhile.
_AGAIN = 3


@dataclass(frozen=True, slots=True)
class _Read:
    """A history, and the tables as they were after it was read.

    Attributes:
        touched: the tables that the file of each version touches.
    """

    state: CatalogState
    touched: Mapping[int, tuple[str, ...]]
    tables: Sequence[TableState]

    @classmethod
    def of(cls, target: Target, state: CatalogState, live: LiveTables) -> _Read:
        touched = FileTables.of(target.catalog, state.history)
        return cls(state, touched.by_version, _tables(target, state.history, touched, live))


def export(target: Target, result: StateResult) -> StateResult:
    """Return the state of the catalog. Writes nothing; an engine is started only where history and lock need it."""
    with target.opened() as opened, LiveTables(target.catalog) as live:
        found = _Read.of(target, read_state(opened), live)
        for _ in range(_AGAIN):
            if not any(each.altered for each in found.tables):
                break
            # A migration may have altered the tables after its history was read.
            newer = read_state(opened)
            if newer.history.head == found.state.history.head:
                break
            found = _Read.of(target, newer, live)
        else:
            found = replace(found, tables=[replace(each, altered=()) for each in found.tables])
    return _completed(target, result, found)


def _completed(target: Target, result: StateResult, found: _Read) -> StateResult:
    state = found.state
    files = fitted(target.migrations, state.history)
    return replace(
        result,
        warnings=(*state.warnings, *(error.message for error in files.errors)),
        read_at=datetime.now(timezone.utc),
        tool_version=glacierbase.__version__,
        versions=tuple(_versions(target, files.migrations, found)),
        tables=tuple(found.tables),
    )


def _versions(target: Target, fitting: Sequence[Migration], read: _Read) -> Iterator[VersionState]:
    """Yield the versions; in place of a squash also those that it replaced, as far as they have no line of their own."""
    history = read.state.history
    found = {int(each.version): each for each in make_status(target.migrations, history)}
    files = {each.number: each for each in fitting}
    rows: dict[int, VersionState] = {}
    for number, status in found.items():
        record, file = history.records.get(number), files.get(number)
        squashed = (record.squashes if record else ()) or (file.squashes if file else ())
        row = _version(status, record, file, read.touched.get(number, ()))
        rows[number] = replace(row, checksums=(*row.checksums, *_checksums(squashed, number)))
        for other in {each.number: each for each in squashed if each.number not in found}.values():
            rows[other.number] = replace(
                row, version=other.version, checksums=_checksums(squashed, other.number), rendered_checksum=None,
                squash=status.version, tables=(),
            )  # fmt: skip
    yield from (rows[number] for number in sorted(rows))


def _checksums(squashed: Iterable[Squashed], number: int) -> tuple[str, ...]:
    return tuple(each.checksum for each in squashed if each.number == number)


def _version(status: Status, record: Record | None, file: Migration | None, tables: tuple[str, ...]) -> VersionState:
    checksum = record.last.checksum if record else file.checksum if file else None
    return VersionState(
        version=status.version,
        description=status.description,
        state=status.state,
        applied_at=status.applied_at,
        applied_by=status.applied_by,
        statements_done=status.statements_done,
        statements_total=status.statements_total,
        stopped_at=status.stopped_at,
        checksums=(checksum,) if checksum else (),
        rendered_checksum=record.last.rendered_checksum if record else None,
        has_file=file is not None,
        squash=None,
        tables=tables,
    )


def _tables(target: Target, history: History, touched: FileTables, live: LiveTables) -> Sequence[TableState]:
    """Return the tables that the history knows, in the order of the versions that touch them, each as it is now."""
    recorded: dict[str, Timeline] = {}
    for each in timelines(history):
        # Of several tables that have had the name, the one that has it now, or had it last.
        if each.table not in recorded or _last(each) >= _last(recorded[each.table]):
            recorded[each.table] = each
    files = touched.by_version
    names = list(dict.fromkeys([*(name for number in sorted(files) for name in files[number]), *recorded]))
    found, rules = live.read(names), target.catalog.drift_rules
    # While a statement may be changing a table, and after a file without a record, the last record may be outdated.
    known = {name: each for name, each in recorded.items() if each.is_certain and not touched.is_changing(name)}
    ran = Ran(target.catalog, history)
    return [_table(name, known.get(name), found[name], rules, ran) for name in names]


def _last(found: Timeline) -> tuple[int, int]:
    event = found.moments[-1].event
    return event.fence, event.sequence


def _table(name: str, record: Timeline | None, live: Reading, rules: Sequence[DriftRule], ran: Ran) -> TableState:
    found = live.shape and as_recorded(live.shape)
    if record is None:
        return TableState(name, found, False, None, False, live.unread, ())
    shape = record.shape and as_recorded(record.shape)
    altered = differences(shape, found) if live.unread is None else ()
    return TableState(
        table=name,
        shape=shape,
        is_recorded=True,
        recorded_at=record.moments[-1].event.recorded_at,
        is_whole=_is_whole(record),
        unread=live.unread,
        altered=tuple(each for each in altered if not any(rule.matches(name, each.subject) for rule in rules)),
        parts=ran.parts_of(record),
    )


def _is_whole(record: Timeline) -> bool:
    return all(each.origin is Origin.MIGRATION for each in record.moments) and _is_first(record.moments[0].event)


def _is_first(event: Event) -> bool:
    """Return whether a table is recorded from its creation on: one that was adopted is recorded as it was found."""
    return event.event != EventType.BASELINED
