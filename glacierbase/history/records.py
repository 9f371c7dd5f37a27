"""Derive the record of each version from events; check that the history is complete and the right one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from glacierbase.errors import HistoryDisagrees, NeedsRepair
from glacierbase.history.details import Details, checked_event, details_of
from glacierbase.model.migration import (
    AppliedBy,
    Event,
    EventType,
    Identified,
    Key,
    Migration,
    Squashed,
    State,
    Waiting,
)
from glacierbase.model.session import RecordedSession
from glacierbase.model.shape import TableVersion

# What a record of a table mentions, with kinds: the name in the file, and names and ids of the table before and after.
Mention = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Record(Identified):
    """The summary of the events of one version or repeatable.

    Attributes:
        version: empty for a repeatable, which has a name.
        started: the newest event that started the file, or that settled it without a start.
        outcome: the newest event other than a repair, written by the run of the file or by `baseline`.
        repair: the newest `repaired` event after it.
        last: the newest event of the version.
        statements_done: how many statements are known to have taken effect.
        statement_checksums: the checksums of all statements at the last start of the file.
        applied_at, applied_by: taken from the outcome; from the repair if a person completed a failed statement by hand.
        announced_at: when the newest statement that was announced was about to start.
        before: the version of that statement's table then; None where it was not recorded.
        session: the session in which that statement was about to start; None where it was not recorded.
        in_action: whether that statement is an action of glacierbase.
        waiting: why it waits; None where it does not.
        squashes: the files that the file replaced when it was last started, where it is a squash.
        is_removed: whether `repair --as removed` recorded that its file was deleted on purpose, or `--as withdrawn` that its file
            is not needed.
        may_have_effect: whether it was abandoned while the outcome of a statement was unknown.
        name: of a repeatable; empty for a version.
    """

    version: str
    state: State
    started: Event
    outcome: Event
    repair: Event | None
    last: Event
    statements_done: int
    statements_total: int
    statement_checksums: tuple[str, ...]
    applied_at: datetime | None
    applied_by: AppliedBy | None
    announced_at: datetime | None
    is_removed: bool
    may_have_effect: bool = False
    before: TableVersion | None = None
    session: RecordedSession | None = None
    in_action: bool = False
    waiting: Waiting | None = None
    squashes: tuple[Squashed, ...] = ()
    name: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether it is applied or abandoned: its file must not change, and does not run again."""
        return self.state in (State.APPLIED, State.ABANDONED)

    @property
    def stopped_at(self) -> int | None:
        """The statement that failed, is running, or has an unknown outcome; else None."""
        if self.state not in (State.FAILED, State.RUNNING, State.UNKNOWN):
            return None
        # Inside a transaction, it is not the statement after the last completed one.
        is_named = self.last.event in (EventType.FAILED, EventType.UNKNOWN)
        return self.last.statement_index if is_named else self.statements_done + 1

    @property
    def is_withdrawn(self) -> bool:
        """Whether `repair --as withdrawn` ended the version, which has had no effect."""
        return details_of(self.last).resolution == "withdrawn"

    @property
    def is_started(self) -> bool:
        """Whether the version was run or recorded as applied: all but one that was withdrawn before."""
        return self.started.event != EventType.REPAIRED

    @property
    def has_query_tags(self) -> bool:
        """Whether the engine that ran it keeps a log in which each statement carries its tag."""
        return details_of(self.started).has_query_tags


@dataclass(frozen=True, slots=True)
class History:
    """The events of one catalog, in order, and the records that follow from them.

    Attributes:
        events: all events, late ones included.
        late: fence and sequence of the events of runs that had lost the lock: what they announce never ran.
        records: those of the versions by number, those of the repeatables by name.
        newest: the highest number of a version that was started; 0 when there is none.
        fence, sequence: those of the newest event that is not late; 0 when there is none.
        jumped_over: version numbers that a run with `--only`, or a baseline, skipped.
        mentions: by fence and sequence of an event, one for each of its table records.
    """

    events: tuple[Event, ...]
    late: frozenset[tuple[int, int]]
    records: Mapping[Key, Record]
    newest: int
    fence: int
    sequence: int
    jumped_over: frozenset[int]
    mentions: Mapping[tuple[int, int], tuple[Mention, ...]] = field(default_factory=dict)

    @property
    def versions(self) -> tuple[Record, ...]:
        """The records of the versions, in the order of their numbers."""
        return tuple(self.records[number] for number in sorted(key for key in self.records if isinstance(key, int)))

    @property
    def head(self) -> Event | None:
        """The newest event that is not late."""
        counted = (event for event in reversed(self.events) if (event.fence, event.sequence) not in self.late)
        return next(counted, None)


def fold(events: Iterable[Event], held_fence: int | None = None) -> History:
    """Derive the records. A statement in flight is *running* while its fence holds the lock, and *unknown* otherwise.

    An action of glacierbase is *interrupted* then: the next run calls it again, and it continues where it stopped.

    Raises:
        NeedsRepair: events are missing between others, or one is not readable.
    """
    ordered = _distinct(events)
    late = late_events(ordered)
    counted = [event for event in ordered if (event.fence, event.sequence) not in late]
    _check_gaps(counted)
    records: dict[Key, Record] = {}
    jumped_over: set[int] = set()
    mentions: dict[tuple[int, int], tuple[Mention, ...]] = {}
    equal: dict[Mention, Mention] = {}  # Most records of a table have equal mentions, stored once.
    for event in counted:
        key = event.key
        if key is not None:
            details = details_of(event)
            records[key] = _advance(records.get(key), event, details)
            jumped_over.update(map(int, details.jumped_over))
            if details.tables:
                new = map(mention, details.tables)
                mentions[event.fence, event.sequence] = tuple(equal.setdefault(value, value) for value in new)
    for key, record in records.items():
        if record.state is State.RUNNING and record.last.fence != held_fence:
            records[key] = replace(record, state=State.INTERRUPTED if record.in_action else State.UNKNOWN)
    head = counted[-1] if counted else None
    return History(
        events=tuple(ordered),
        late=late,
        records=records,
        newest=max((key for key, record in records.items() if isinstance(key, int) and record.is_started), default=0),
        fence=head.fence if head else 0,
        sequence=head.sequence if head else 0,
        jumped_over=frozenset(jumped_over),
        mentions=mentions,
    )


def _distinct(events: Iterable[Event]) -> list[Event]:
    """Return the events in order, each once: an append whose answer was lost may have been repeated.

    Raises:
        NeedsRepair: one is damaged.
    """
    by_key: dict[tuple[int, int, str], Event] = {}
    for event in sorted(map(checked_event, events), key=lambda event: (event.fence, event.sequence)):
        by_key.setdefault((event.fence, event.sequence, event.run_id), event)
    return list(by_key.values())


def late_events(ordered: Sequence[Event]) -> frozenset[tuple[int, int]]:
    """Return (fence, sequence) of the events that a run wrote after it lost the lock, unread by the next holder."""
    late = set()
    newer: Event | None = None
    for event in reversed(ordered):
        if newer is not None and event.fence < newer.fence:
            # Fences between the newest one that the run had read and its own were written later.
            read_fence = details_of(newer).read_fence
            if event.fence > (event.fence if read_fence is None else read_fence) or event.sequence >= newer.sequence:
                late.add((event.fence, event.sequence))
                continue
        newer = event
    return frozenset(late)


def _check_gaps(counted: Sequence[Event]) -> None:
    for expected, event in enumerate(counted, start=1):
        if event.sequence != expected:
            raise NeedsRepair(
                "HISTORY_DAMAGED",
                f"the history of {event.catalog} lacks event {expected}: the next one is event {event.sequence}"
                f" of {event.recorded_at or 'an unknown time'}",
                "restore the history table from a snapshot or backup that holds all events; nothing runs until then",
                expected_sequence=expected,
                found_sequence=event.sequence,
            )


def _advance(record: Record | None, event: Event, details: Details) -> Record:
    """Return the record of a version after one more event."""
    kind, state = event.event, State(event.state or State.UNKNOWN)
    begins = kind == EventType.STARTED or record is None
    started = event if begins else record.started  # type: ignore[union-attr]
    done = record.statements_done if record else 0
    if kind == EventType.STARTED and event.name is not None:
        done = (event.statement_index or 1) - 1  # A repeatable that changed begins again.
    elif kind in (EventType.STATEMENT_DONE, EventType.REPAIRED):
        done = event.statement_index if event.statement_index is not None else done
    elif state is State.APPLIED:
        done = event.statement_total if event.statement_total is not None else done
    checksums = details.statement_checksums or (record.statement_checksums if record else ())
    total = event.statement_total if event.statement_total is not None else (record.statements_total if record else 0)
    repairs = kind == EventType.REPAIRED and record is not None
    applied_at, applied_by = _applied(record, event, state)
    return Record(
        version=event.version or "",
        name=event.name or "",
        state=state,
        started=started,
        outcome=record.outcome if record is not None and repairs else event,
        repair=event if kind == EventType.REPAIRED else None,
        last=event,
        statements_done=done,
        statements_total=total,
        statement_checksums=checksums,
        applied_at=applied_at,
        applied_by=applied_by,
        announced_at=event.recorded_at if state is State.RUNNING else record.announced_at if record else None,
        is_removed=_is_removed(record, kind, details),
        may_have_effect=repairs and state is State.ABANDONED and _is_open(record),
        before=details.before if state is State.RUNNING else record.before if record else None,
        session=details.session if state is State.RUNNING else record.session if record else None,
        in_action=details.is_action,
        waiting=details.waiting if state is State.WAITING else None,
        squashes=details.squashes if begins else record.squashes,  # type: ignore[union-attr]
    )


def _applied(record: Record | None, event: Event, state: State) -> tuple[datetime | None, AppliedBy | None]:
    """Return when the version was applied and by what, after one more event. A repair of an applied version changes neither."""
    if state is not State.APPLIED:
        return None, None
    if event.event == EventType.BASELINED:
        return event.recorded_at, AppliedBy.BASELINE
    if event.event != EventType.REPAIRED or record is None:
        return event.recorded_at, AppliedBy.RUN
    if record.applied_by is not None:
        return record.applied_at, record.applied_by
    if record.state is State.FAILED:
        return event.recorded_at, AppliedBy.REPAIR
    # The run's last statement took effect; only the answer was lost.
    return record.outcome.recorded_at, AppliedBy.RUN


def _is_open(record: Record | None) -> bool:
    return record is not None and (record.may_have_effect or record.state in (State.RUNNING, State.UNKNOWN))


def _is_removed(record: Record | None, kind: str, details: Details) -> bool:
    """Return whether the file may be gone; a run or an edit of the file shows that it was restored."""
    if kind != EventType.REPAIRED or details.resolution == "edited":
        return False
    return details.resolution in ("removed", "withdrawn") or (record is not None and record.is_removed)


def check_environment(history: History, catalog: str, environment: str) -> None:
    """Refuse to run one environment against the history of another.

    Raises:
        HistoryDisagrees: the newest event belongs to another environment.
    """
    if history.events and history.events[-1].environment != environment:
        recorded = history.events[-1].environment
        raise HistoryDisagrees(
            "ENVIRONMENT_MISMATCH",
            f"catalog {catalog}: the history belongs to environment {recorded}, this run to environment {environment}; nothing ran",
            f"use --env {recorded}, or correct the catalog file: two environments must not share a store",
            recorded=recorded,
            environment=environment,
        )


def check_head(history: History, catalog: str, head: tuple[int, int]) -> None:
    """Refuse a history that ends before the last event that it acknowledged.

    Raises:
        NeedsRepair: the table was lost, or restored to an older state.
    """
    if (history.fence, history.sequence) < head and history.sequence < head[1]:
        raise NeedsRepair(
            "HISTORY_LOST",
            f"the history of {catalog} ends at event {history.sequence}, but event {head[1]} was acknowledged: the table was"
            " lost or restored to an older state; nothing ran",
            "restore the history table from a snapshot or backup that holds all events",
            found_sequence=history.sequence,
            acknowledged_sequence=head[1],
        )


def check_renamed(catalog: str, migrations: Sequence[Migration], others: Mapping[str, Sequence[Event]]) -> None:
    """Refuse to start a history for files that are already applied under another name of the catalog.

    Raises:
        HistoryDisagrees: every version that is applied under the other name is a file here with the same checksum.
    """
    if not others:
        return
    files = {(file.number, file.checksum) for file in migrations}
    files |= {(squashed.number, squashed.checksum) for file in migrations for squashed in file.squashes}
    for name, events in others.items():
        records = fold(events).versions
        applied = {(record.number, record.last.checksum) for record in records if record.state is State.APPLIED}
        if applied and applied <= files:
            raise HistoryDisagrees(
                "CATALOG_RENAMED",
                f"catalog {catalog} has no history, but its files are applied under the name {name}; nothing ran",
                f"write `name: {name}` into the catalog file of {catalog}: the name is the identity in the history",
                catalog=catalog,
                recorded=name,
            )


def mention(document: Mapping[str, object]) -> Mention:
    """Return what the JSON of a record mentions."""
    return frozenset(_mentioned(document))


def may_be_about(mentioned: Mention, names: Collection[str]) -> bool:
    """Return whether a record is about a table that a file wrote with one of these names; True also where it has no name."""
    return all(name in names for name in written(mentioned))


def written(mentioned: Mention) -> tuple[str, ...]:
    """Return the name as the file wrote it; none where the record has no name."""
    return tuple(name for kind, name in mentioned if kind == "written")


def _mentioned(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    if isinstance(name := document.get("table"), str):
        yield "written", name
    if isinstance(whole := document.get("whole"), str):
        yield "table", whole
    steps = document.get("steps")
    within = [step.get("shape") for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
    for shape in (document.get("before"), *within, document.get("after")):
        if isinstance(shape, Mapping):
            yield "table", str(shape.get("table"))
            if "uuid" in shape:
                yield "uuid", str(shape["uuid"])
