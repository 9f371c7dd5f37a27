"""Derive the timelines of tables from events: each shape of a table, since when, and by which migration. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

from glacierbase.history.details import details_of
from glacierbase.history.records import History, may_be_about, written
from glacierbase.model.differences import compare
from glacierbase.model.migration import Event, EventType, Key
from glacierbase.model.shape import Shape
from glacierbase.record.shapes import ChangeOrigin, RecordedChange, TableRecord, read_records
from glacierbase.sql.targets import table_names

# Events after which it is known, or in doubt, which statements of the file ran.
ENDS = frozenset(
    {
        EventType.APPLIED, EventType.FAILED, EventType.INTERRUPTED, EventType.WAITING, EventType.UNKNOWN, EventType.BASELINED,
        EventType.REPAIRED,
    }
)  # fmt: skip
_OF_OTHERS = frozenset({ChangeOrigin.OUTSIDE, ChangeOrigin.DURING})


@dataclass(frozen=True, slots=True)
class Moment:
    """A table from one change to the next.

    Attributes:
        shape: None where the table was dropped.
        event: the one that recorded it. A change from outside is older than the first event that recorded it.
        is_exact: whether the time of the event is that of the change, by the metadata of the table.
        has_predecessor: whether another table had its name when that was recorded last.
    """

    shape: Shape | None
    event: Event
    origin: ChangeOrigin
    is_exact: bool = False
    has_predecessor: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """One table since its first record, under all its names.

    Attributes:
        moments: at least one; successive ones differ.
        unrecorded: later events that ended a file which changed the table, and that have no record of it.
        is_doubtful: whether a file that may have changed any table has run since its last record.
    """

    moments: tuple[Moment, ...]
    unrecorded: tuple[Event, ...] = ()
    is_doubtful: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether the table is as its last record, unless it was changed from outside."""
        return not self.unrecorded and not self.is_doubtful

    @property
    def table(self) -> str:
        """The name that the table has, or had last."""
        return next(moment.shape.table for moment in reversed(self.moments) if moment.shape)

    @property
    def shape(self) -> Shape | None:
        """The shape by the last record; None where the table was dropped."""
        return self.moments[-1].shape


def timelines(history: History, names: Collection[str] | None = None) -> tuple[Timeline, ...]:
    """Return the timelines of the tables of a history, in the order of their first records.

    Args:
        names: read only the records of tables with these names, which include former names; default all.
    """
    return _tables(history, names).done()


def is_lost(history: History, record: TableRecord) -> bool:
    """Return whether a file of a history that left no record may have made what the next record of a table shows."""
    ids = {("uuid", shape.uuid) for shape in (record.before, record.after) if shape and shape.uuid}
    known = ids | {("table", name) for name in record.names}
    about = (mention for mentions in history.mentions.values() for mention in mentions if mention & known)
    return _tables(history, {record.table, *(name for mention in about for name in written(mention))}).is_lost(record)


def _tables(history: History, names: Collection[str] | None) -> _TablesBuilder:
    tables = _TablesBuilder()
    for event in history.events:
        if event.key is not None and (event.fence, event.sequence) not in history.late:
            tables.add(event, records_in(history, event, names))
    return tables


def records_in(history: History, event: Event, names: Collection[str] | None = None) -> tuple[TableRecord, ...]:
    """Return the records of an event, of tables with these names; None is all.

    Raises:
        NeedsRepair: one is not readable.
    """
    mentions = history.mentions.get((event.fence, event.sequence), ())
    wanted = [names is None or may_be_about(mention, names) for mention in mentions]
    return read_records(event, compress(details_of(event).tables, wanted)) if any(wanted) else ()


@dataclass(eq=False)
class _TimelineBuilder:
    """Builds a timeline from events in order."""

    moments: list[Moment] = field(default_factory=list)
    unrecorded: list[Event] = field(default_factory=list)
    doubts: int = 0

    def add(self, moment: Moment) -> None:
        last = self.moments[-1].shape if self.moments else None
        if differ(last, moment.shape):
            self.moments.append(moment)

    @property
    def shape(self) -> Shape | None:
        """The shape of the table; None where it was dropped."""
        return self.moments[-1].shape if self.moments else None

    @property
    def name(self) -> str:
        """The qualified name of the table; empty where it was dropped."""
        return self.shape.table if self.shape else ""

    def reappear(self) -> None:
        """Undo the drop of a table that a later record shows under a new name."""
        if len(self.moments) > 1 and self.moments[-1].shape is None:
            self.moments.pop()

    def done(self, doubts: int) -> Timeline:
        return Timeline(tuple(self.moments), tuple(self.unrecorded), self.doubts < doubts)


class _TablesBuilder:
    """Builds the timelines of all tables from events in order.

    A table is its UUID; one without a UUID is its qualified name.
    """

    def __init__(self) -> None:
        self.all: list[_TimelineBuilder] = []
        self._by_uuid: dict[str, _TimelineBuilder] = {}
        # The tables that exist, by qualified name, for each last part: files may leave out the first parts.
        self._holders: dict[str, dict[str, _TimelineBuilder]] = {}
        # The names that tables have had.
        self._had: set[str] = set()
        # The table that was recorded last under a name of a file.
        self._by_name: dict[str, _TimelineBuilder] = {}
        # By key: the tables that the file changes; None where it may change any.
        self._changed_by: dict[Key, frozenset[str] | None] = {}
        # By version number: the event that recorded it as a baseline.
        self._baselined: dict[Key, Event] = {}
        # The keys of files that have not ended, or whose run was lost.
        self._open: set[Key] = set()
        self._gaps: dict[str, list[Event]] = {}
        # How many files that may change any table have ended; and by table, how many had when it was last read.
        self._doubts = 0
        self._doubts_at: dict[str, int] = {}

    def add(self, event: Event, records: Sequence[TableRecord]) -> None:
        key = event.key or 0
        if event.event in (EventType.STARTED, EventType.BASELINED):
            self._changed_by[key] = None if event.tables is None else frozenset(table_names(event.tables))
        if event.event == EventType.BASELINED:
            self._baselined[key] = event
        if event.event == EventType.STARTED:
            self._open.add(key)
        if event.event not in ENDS:
            return
        if event.event != EventType.UNKNOWN:
            self._open.discard(key)
        changed, read = (
            self._changed_by.get(key, frozenset()),
            [record for record in records if record.unread is None],
        )
        documents = details_of(event).tables  # Also those of other tables than the requested ones.
        recorded = {str(document.get("table")) for document in documents if "unread" not in document}
        for name in {*(changed or ()), *(record.table for record in records)} - recorded:
            self._add_gap(name, event)
        present = frozenset(record.after.uuid for record in read if record.after and record.after.uuid)
        for record in read:
            self._add_record(record, event, present)
        self._doubts += changed is None
        for record in read:
            self._doubts_at[record.table] = self._doubts
            if record.table in self._by_name:
                self._by_name[record.table].doubts = self._doubts

    def done(self) -> tuple[Timeline, ...]:
        """Return the timelines, in the order of their first records."""
        doubts = self._doubts + any(self._changed_by[key] is None for key in self._open)
        return tuple(timeline.done(doubts) for timeline in self.all)

    def _add_gap(self, name: str, event: Event) -> None:
        self._gaps.setdefault(name, []).append(event)
        candidates = [timeline for whole, timeline in self._with_last(name).items() if may_mean(name, whole)]
        if name in self._by_name and self._by_name[name] not in candidates:
            candidates.append(self._by_name[name])
        for timeline in candidates:
            timeline.unrecorded.append(event)

    def _add_record(self, record: TableRecord, event: Event, present: Collection[str]) -> None:
        """Add a record of an event.

        Args:
            present: the UUIDs of the tables that exist after the event, by its records.
        """
        is_lost = self.is_lost(record) or event.event == EventType.REPAIRED
        for name in self._gaps_of(record):
            del self._gaps[name]
        for step in record.changes():
            self._enter(record, self._moment(step, event, is_lost=is_lost), present)
        if record.table in self._by_name:
            self._by_name[record.table].unrecorded.clear()

    def is_lost(self, record: TableRecord) -> bool:
        """Return whether a file that left no record may have made what a record shows: its run was lost."""
        is_doubtful = self._doubts_at.get(record.table, 0) < self._doubts
        return bool(self._gaps_of(record)) or is_doubtful or self._has_gap(record)

    def _gaps_of(self, record: TableRecord) -> list[str]:
        """Return the names without a record that may mean the table of a record."""
        names = {record.table, *record.names, *(change.shape.table for change in record.changes() if change.shape)}
        return [gap for gap in self._gaps if any(may_mean(gap, name) for name in names)]

    def _moment(self, step: RecordedChange, event: Event, *, is_lost: bool) -> Moment:
        """Return a step of a record as a moment, with the sequence of the event that has the record."""
        origin = ChangeOrigin.NOT_RECORDED if is_lost and step.origin in _OF_OTHERS else step.origin
        if step.version is not None and (made := self._baselined.get(int(step.version))):
            event = replace(made, fence=event.fence, sequence=event.sequence)
        return Moment(
            step.shape, replace(event, recorded_at=step.at) if step.at else event, origin, step.at is not None
        )

    def _has_gap(self, record: TableRecord) -> bool:
        """Return whether a file has changed the table, maybe under another name, without a record of it since."""
        ids = {shape.uuid for shape in (record.before, record.after) if shape and shape.uuid}
        return any(self._by_uuid[uuid].unrecorded for uuid in ids if uuid in self._by_uuid)

    def _enter(self, record: TableRecord, moment: Moment, present: Collection[str]) -> None:
        """Add a moment to the timeline of its table. Another table that had the name is renamed or dropped."""
        shape = moment.shape
        holder = self._holder(shape.table if shape else record.whole or record.table)
        known = holder and holder.shape
        timeline = self._of(shape, holder) if shape else None
        if holder is not None and holder is not timeline:
            del self._with_last(holder.name)[holder.name]
            if known and known.uuid not in present:
                holder.add(replace(moment, shape=None))
        if timeline is not None and shape is not None:
            if self._with_last(timeline.name).get(timeline.name) is timeline:
                del self._with_last(timeline.name)[timeline.name]
            is_new = not timeline.moments and shape.table in self._had
            timeline.add(replace(moment, has_predecessor=True) if is_new else moment)
            self._had.add(shape.table)
            self._with_last(shape.table)[shape.table] = self._by_name[record.table] = timeline

    def _holder(self, name: str) -> _TimelineBuilder | None:
        """Return the table that has a name: a qualified one, or one as a file wrote it, which may lack the first parts."""
        same_last = self._with_last(name)
        return same_last.get(name) or next((same_last[whole] for whole in same_last if may_mean(name, whole)), None)

    def _with_last(self, name: str) -> dict[str, _TimelineBuilder]:
        """Return the tables whose names have the same last part as this one."""
        return self._holders.setdefault(name.rpartition(".")[2].casefold(), {})

    def _of(self, shape: Shape, holder: _TimelineBuilder | None) -> _TimelineBuilder:
        """Return the timeline of a table, a new one for one that is not known yet."""
        timeline = self._by_uuid.get(shape.uuid) if shape.uuid else holder
        if timeline is None and holder is not None and holder.shape and holder.shape.uuid is None:
            timeline = holder  # It was recorded without an id.
        if timeline is None:
            timeline = _TimelineBuilder()
            self.all.append(timeline)
        if shape.uuid:
            self._by_uuid[shape.uuid] = timeline
            timeline.reappear()
        return timeline


def differ(before: Shape | None, after: Shape | None) -> bool:
    """Return whether two shapes of a table differ in more than the location of their metadata."""
    if before is None or after is None:
        return before is not after
    # Equal columns may have received ids, which identify renames.
    return bool(compare({before.table: before}, {after.table: after})) or _ids(before) != _ids(after)


def may_mean(name: str, whole: str) -> bool:
    """Return whether a name as a file wrote it may be that of a table: its first parts may be left out."""
    return f".{whole}".casefold().endswith(f".{name}".casefold())


def _ids(shape: Shape) -> list[int | None]:
    return [column.id for column in shape.columns]
