"""Number, sign and mask a run's events, append them, and look up an append whose answer was lost."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timezone
from typing import Any, Protocol

from glacierbase.errors import EngineError, NeedsRepair, StatementRefused
from glacierbase.executors.engine import Engine
from glacierbase.history.details import NO_DETAILS, to_json
from glacierbase.history.entries import Entry
from glacierbase.history.records import History
from glacierbase.model.command import command
from glacierbase.model.migration import Event, EventType
from glacierbase.run.clock import awake, sleep
from glacierbase.run.run import Run
from glacierbase.secrets import mask, masked
from glacierbase.stores import LockRow, Store

logger = logging.getLogger("glacierbase")

# A refused append is retried at once, because another writer may have committed first; one without an answer, for a lease.
_REFUSALS = 3
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0
# The `repair --as` that records the outcome of an event that is missing from the history.
_RESOLUTIONS = {
    EventType.STATEMENT_DONE.value: "done",
    EventType.APPLIED.value: "done",
    EventType.FAILED.value: "not-done",
}


class HeldLock(Protocol):
    """What the recorder needs of the lock that its run holds."""

    @property
    def row(self) -> LockRow:
        """The row as the run last wrote it."""

    @property
    def lease_seconds(self) -> float:
        """How many seconds a renewal holds the lock."""

    def acknowledge(self, fence: int, sequence: int) -> None:
        """Set the last event that the history acknowledged."""

    def may_retry(self) -> bool:
        """Return whether an append without an answer may be sent again."""


class Recorder:
    """Writes the events of one run on one catalog, in one append per statement boundary."""

    def __init__(self, store: Store, lock: HeldLock, run: Run, engine: Engine, history: History) -> None:
        self._store = store
        self._lock = lock
        self._engine = engine
        self._os_user = run.os_user
        self._ci_actor = run.ci_actor
        self._sequence = history.sequence
        self._compacted = history.sequence // store.compacts_every
        self._read_fence: int | None = history.fence  # Recorded in the run's first event only.
        self._deferred: list[Entry] = []
        self._waiting: list[Event] = []  # The deferred entries, once they are signed.
        # The columns that all events of the run share.
        self._signature = Event(
            fence=lock.row.fence,
            sequence=0,
            run_id=run.id,
            catalog=lock.row.catalog,
            environment=lock.row.environment,
            event="",
            os_user=run.os_user,
            host=run.host,
            ci_url=_masked(run.ci_url),
            git_commit=run.git_commit,
            tool_version=run.tool_version,
        )

    def defer(self, *entries: Entry) -> None:
        """Defer the entries to the next append. Allowed only where nothing starts in between."""
        self._deferred.extend(entries)

    def add_tables(self, entry: Entry, tables: tuple[Mapping[str, object], ...]) -> None:
        """Add the records of tables to a deferred entry."""
        self._deferred[self._deferred.index(entry)] = entry.with_tables(tables)

    def append(self, *entries: Entry) -> None:
        """Append the deferred entries and these, and wait for the answer.

        Raises:
            NeedsRepair: they are not in the history, or may not be.
        """
        self.defer(*entries)
        self.flush()

    def flush(self) -> None:
        """Append the deferred entries, if there are any, and wait for the answer.

        Raises:
            EngineError: the history refused the announcement of a statement, and is complete without it.
            NeedsRepair: they are not in the history, or may not be.
        """
        batch = self._numbered()
        if not batch:
            return
        self._write(batch)
        self._waiting.clear()
        self._sequence = batch[-1].sequence
        self._lock.acknowledge(batch[-1].fence, batch[-1].sequence)

    def flush_without_lock(self) -> None:
        """Append the deferred entries once, under the old fence of a lost lock: the work done, and the stop of the run."""
        batch = self._numbered()
        if not batch:
            return
        try:
            self._store.append(batch)
        except EngineError as error:
            if self._is_written(batch):
                return
            logger.warning("%s", _not_written(batch, error, was_read=False).message)

    @property
    def is_compaction_due(self) -> bool:
        """Whether `compacts_every` events were recorded since the last compaction, deferred ones included."""
        events = self._sequence + len(self._waiting) + len(self._deferred)
        return events // self._store.compacts_every != self._compacted

    def compact(self) -> None:
        """Compact the tables where that is due, deferred events appended first. A failure is only logged."""
        if not self.is_compaction_due:
            return
        every = self._store.compacts_every
        self.flush()
        self._compacted = self._sequence // every
        try:
            self._store.compact()
        except EngineError as error:
            logger.warning(
                "%s: history and lock were not compacted; the next attempt is after %d more events: %s",
                self._lock.row.catalog, every, error.message,
            )  # fmt: skip

    def _signed(self, entry: Entry) -> Event:
        # An outcome has the actor of the event that started its file.
        ci_actor = None if entry.with_tables(()).details == NO_DETAILS else self._ci_actor
        details = replace(entry.details, ci_actor=ci_actor, read_fence=self._read_fence)
        self._read_fence = None
        event = replace(
            self._signature,
            event=entry.event.value,
            state=entry.state.value if entry.state else None,
            # Without an engine, the only known identity is the user of this machine.
            principal=entry.principal or self._engine.principal or self._os_user,
            engine=self._engine.name,
            details=to_json(details),
        )
        return _encodable(_with_outcome(_with_file(event, entry), entry))

    def _numbered(self) -> list[Event]:
        """Return the deferred events, numbered; the same ones until they are in the history."""
        while self._deferred:
            self._waiting.append(self._signed(self._deferred[0]))
            del self._deferred[0]
        now = datetime.now(timezone.utc)
        return [
            replace(event, sequence=self._sequence + number, recorded_at=now)
            for number, event in enumerate(self._waiting, start=1)
        ]

    def _write(self, batch: list[Event]) -> None:
        """Append the batch. Retry with back-off while its answer is missing, the lock can be proven and a lease is not over."""
        deadline, pause, refusals = awake() + self._lock.lease_seconds, _FIRST_PAUSE_SECONDS, 0
        while True:
            try:
                self._store.append(batch)
                return
            except EngineError as error:
                problem = error
            # Only the table shows whether a lost or refused append took effect.
            is_written = self._is_written(batch)
            if is_written:
                return
            refusals += isinstance(problem, StatementRefused)
            is_over = refusals == _REFUSALS or awake() + pause > deadline or self._engine.cancelled()
            if is_over or not self._lock.may_retry():
                if is_written is False and _only_announces(batch):
                    raise problem
                raise _not_written(batch, problem, was_read=is_written is False) from problem
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _is_written(self, batch: list[Event]) -> bool | None:
        """Return whether the history holds the batch; None if it cannot be read. A repeated append counts once."""
        try:
            events = self._store.read_history()
        except EngineError:
            return None
        keys = {(event.fence, event.sequence, event.run_id) for event in events}
        return all((event.fence, event.sequence, event.run_id) in keys for event in batch)


def _with_file(event: Event, entry: Entry) -> Event:
    file = entry.file
    if file is None:
        return event
    return replace(
        event,
        # What identifies the file is stored as it is: the records follow from it.
        version=file.version,
        description=_masked(file.description),
        author=_masked(file.author),
        path=_masked(file.path) if file.version else file.path,
        checksum=_masked(file.checksum),
        rendered_checksum=_masked(file.rendered_checksum),
        statement_total=file.statement_total,
    )


def _with_outcome(event: Event, entry: Entry) -> Event:
    return replace(
        event,
        rendered_sql=_masked(entry.rendered_sql),
        statement_index=entry.statement_index,
        statement_checksum=_masked(entry.statement_checksum),
        # Masked inside the JSON list, which must remain one.
        tables=json.dumps(masked(json.loads(entry.tables))) if entry.tables else None,
        started_at=entry.started_at,
        duration_ms=entry.duration_ms,
        error_class=_masked(entry.error_class),
        error_message=_masked(entry.error_message),
        reason=_masked(entry.reason),
        query_id=_masked(entry.query_id),
    )


def _encodable(event: Event) -> Event:
    """Return the event with an escape for each lone surrogate, such as a byte of a path that is not UTF-8: stores refuse it."""
    texts = {field.name: value for field in fields(event) if isinstance(value := getattr(event, field.name), str)}
    changed: dict[str, Any] = {name: text.encode(errors="backslashreplace").decode() for name, text in texts.items()}
    return replace(event, **changed)


def _masked(text: str | None) -> str | None:
    return None if text is None else mask(text)


def _not_written(batch: Sequence[Event], error: EngineError, *, was_read: bool) -> NeedsRepair:
    """Return the error that names the missing event, and the command that records it.

    Args:
        was_read: whether the history was read and lacks the event; where it could not be read, it may hold the event.
    """
    event = next((event for event in reversed(batch) if _is_outcome(event)), batch[-1])
    lacks = "lacks" if was_read else "may lack"
    statement = f", statement {event.statement_index} of {event.statement_total}" if event.statement_index else ""
    query = f", query id {event.query_id}" if event.query_id else ""
    return NeedsRepair(
        "HISTORY_NOT_WRITTEN",
        f"the history of {event.catalog} could not be written: {error.message}; it {lacks} the event {event.event!r} of"
        f" {event.path or 'the run'}{statement}, run {event.run_id}{query}",
        f"restore access to the history table, then {_next_step(event, was_read)}",
        event=event.event,
        version=event.version,
        statement_index=event.statement_index,
        query_id=event.query_id,
    )


def _only_announces(batch: Sequence[Event]) -> bool:
    """Return whether the history without the batch is complete: the batch announces a statement, which does not run now."""
    return batch[-1].event == EventType.STARTED.value and not any(map(_is_outcome, batch))


def _is_outcome(event: Event) -> bool:
    """Return whether the event records the outcome of a statement; a file may have no statements."""
    return event.event in _RESOLUTIONS and bool(event.statement_index)


def _next_step(event: Event, was_read: bool) -> str:
    """Return the command to run. Recording an event twice would settle the next statement, which never ran."""
    if was_read or not _is_outcome(event):
        return f"run `{_command(event)}`"
    show = command("show", event.label)
    return f"run `{show}`: only if it does not show the outcome of statement {event.statement_index}, run `{_command(event)}`"


def _command(event: Event) -> str:
    """Return the command that records the event by hand; if there is nothing to record, the command that continues."""
    if not _is_outcome(event):
        return command("migrate")
    reason = f"run {event.run_id} could not write its history"
    return command("repair", event.label, "--as", _RESOLUTIONS[event.event], "--reason", reason)
