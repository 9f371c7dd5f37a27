"""Appending events to the history: numbered, signed, masked, and looked up when the answer to an append was lost."""

from __future__ import annotations

import json
import logging
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from glacierbase.apply.lock import Lock
from glacierbase.errors import EngineError, NeedsRepair, StatementRefused
from glacierbase.executors.engine import Engine
from glacierbase.history.records import History, details
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.migration import Event, EventType, State
from glacierbase.run.run import Run
from glacierbase.secrets import masked
from glacierbase.stores import Store

logger = logging.getLogger("glacierbase")

# A store that refuses is tried again at once, for another writer may have come first; one that does not answer, for a lease.
_REFUSALS = 3
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0
# What `repair --as` says of the statement of an event that is missing from the history.
_TOLD_BY = {
    EventType.STATEMENT_DONE.value: "done",
    EventType.APPLIED.value: "done",
    EventType.FAILED.value: "not-done",
}
_TRIES = 3
# Columns that hold a JSON document, which must remain one.
_JSON = ("tables", "details")


class Recorder:
    """Writes the events of one run on one catalog, in one append per statement boundary."""

    def __init__(self, store: Store, lock: Lock, run: Run, engine: Engine, history: History) -> None:
        self._store = store
        self._lock = lock
        self._engine = engine
        self._sequence = history.sequence
        self._compacted = history.sequence // store.compacts_every
        self._behind: int | None = history.fence  # Until the first append: what this run had read before it.
        self._waiting: list[Event] = []
        self._signature: dict[str, Any] = {
            "fence": lock.row.fence,
            "catalog": lock.row.catalog,
            "environment": lock.row.environment,
            "run_id": run.id,
            "os_user": run.os_user,
            "host": run.host,
            "ci_url": masked(run.ci_url),
            "git_commit": run.git_commit,
            "tool_version": run.tool_version,
        }

    def event(self, kind: EventType, state: State | None, prepared: Compiled | None = None, **values: Any) -> Event:
        """An event of this run, without its number; with what identifies `prepared`'s file, where one is meant."""
        if prepared:
            migration = prepared.migration
            values |= {
                "version": migration.version,
                "description": migration.description,
                "author": migration.author,
                "path": migration.location,
                "checksum": migration.checksum,
                "rendered_checksum": prepared.checksum,
                "statement_total": len(prepared.statements),
            }
        state_value = state.value if state else None
        return Event(
            sequence=0,
            event=kind.value,
            state=state_value,
            # Where no engine was needed, only the machine says who it is.
            principal=self._engine.principal or self._signature["os_user"],
            engine=self._engine.name,
            **self._signature,
            **{key: _masked(key, value) for key, value in values.items()},
        )

    def defer(self, *events: Event) -> None:
        """Let the events go with the next append: nothing starts in between."""
        self._waiting.extend(events)

    def append(self, *events: Event) -> None:
        """Append the deferred events and these, and wait for the answer.

        Raises:
            NeedsRepair: they are not in the history, or nobody can say.
        """
        self._waiting.extend(events)
        batch = self._numbered()
        if not batch:
            return
        self._write(batch)
        self._waiting.clear()
        self._behind = None
        self._sequence = batch[-1].sequence
        self._lock.acknowledge(batch[-1].fence, batch[-1].sequence)

    def _write(self, batch: list[Event]) -> None:
        """Append the batch; again, with pauses, while its answer is missing, the lock can be proven and a lease is not over."""
        deadline, pause, refusals = time.monotonic() + self._lock.lease_seconds, _FIRST_PAUSE_SECONDS, 0
        while True:
            try:
                self._store.append(batch)
                return
            except EngineError as error:
                problem = error
            # The answer was lost or the append refused: the table itself knows whether it took effect.
            is_written = self._is_written(batch)
            if is_written:
                return
            refusals += isinstance(problem, StatementRefused)
            is_over = refusals == _REFUSALS or time.monotonic() + pause > deadline or self._engine.cancelled()
            if is_over or not self._lock.may_retry():
                raise _not_written(batch, problem, is_seen=is_written is False) from problem
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def compact(self) -> None:
        """Once every so many events, keep the tables small; what waits is appended before. Its failure fails no run."""
        every = self._store.compacts_every
        if (self._sequence + len(self._waiting)) // every == self._compacted:
            return
        self.append()
        self._compacted = self._sequence // every
        try:
            self._store.compact()
        except EngineError as error:
            logger.warning(
                "%s: history and lock were not compacted, which is tried again %d events later: %s",
                self._lock.row.catalog, every, error.message,
            )  # fmt: skip

    def _is_written(self, batch: list[Event]) -> bool | None:
        """Whether the history holds the batch; None if it cannot be read. An append that is repeated counts once."""
        try:
            events = self._store.read_history()
        except EngineError:
            return None
        keys = {(event.fence, event.sequence, event.run_id) for event in events}
        return all((event.fence, event.sequence, event.run_id) in keys for event in batch)

    def _numbered(self) -> list[Event]:
        """The waiting events as they are appended; alike each time until they are."""
        now = datetime.now(timezone.utc)
        batch = [
            replace(event, sequence=self._sequence + number, recorded_at=now)
            for number, event in enumerate(self._waiting, start=1)
        ]
        if batch and self._behind is not None:
            told = {**details(batch[0]), "behind": self._behind}
            batch[0] = replace(batch[0], details=json.dumps(told))
        return batch

    def append_without_lock(self) -> None:
        """Append the waiting events once, under the old fence of a lost lock: what was done, and that the run ends."""
        batch = self._numbered()
        if not batch:
            return
        try:
            self._store.append(batch)
        except EngineError as error:
            if self._is_written(batch):
                return
            logger.warning("%s", _not_written(batch, error, is_seen=False).message)


def _masked(column: str, value: Any) -> Any:
    return json.dumps(masked(json.loads(value))) if column in _JSON and value else masked(value)


def _not_written(batch: Sequence[Event], error: EngineError, *, is_seen: bool) -> NeedsRepair:
    """Return the error that names the missing event, and the command that records it.

    Args:
        is_seen: whether the history was read and lacks the event; where it could not be read, it may hold the event.
    """
    event = next((each for each in reversed(batch) if _is_outcome(each)), batch[-1])
    lacks = "lacks" if is_seen else "may lack"
    query = f", query id {event.query_id}" if event.query_id else ""
    return NeedsRepair(
        "HISTORY_NOT_WRITTEN",
        f"the history of {event.catalog} could not be written: {error.message}; it {lacks} the event {event.event!r} of"
        f" {event.path or 'the run'}, statement {event.statement_index} of {event.statement_total}, run {event.run_id}{query}",
        f"restore access to the history table, then {_next(event, is_seen)}",
        event=event.event,
        version=event.version,
        statement_index=event.statement_index,
        query_id=event.query_id,
    )


def _is_outcome(event: Event) -> bool:
    """Whether it tells of a statement; a file may have none."""
    return event.event in _TOLD_BY and bool(event.statement_index)


def _next(event: Event, is_seen: bool) -> str:
    """The next step. To record an event a second time would settle the statement after it, which never ran."""
    if is_seen or not _is_outcome(event):
        return f"run `{_command(event)}`"
    show = f"glacierbase show {event.version} --catalog {event.catalog} --env {event.environment}"
    return f"run `{show}`: only if it does not show the outcome of statement {event.statement_index}, run `{_command(event)}`"


def _command(event: Event) -> str:
    """What records the event by hand, or goes on where there is nothing to record."""
    where = f"--catalog {event.catalog} --env {event.environment}"
    if not _is_outcome(event):
        return f"glacierbase migrate {where}"
    reason = shlex.quote(f"run {event.run_id} could not write its history")
    return f"glacierbase repair {event.version} --as {_TOLD_BY[event.event]} --reason {reason} {where}"
