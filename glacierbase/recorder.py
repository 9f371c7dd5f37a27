"""Appending events to the history: numbered, signed, masked, and looked up when the answer to an append was lost."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from glacierbase.engine import Engine
from glacierbase.errors import EngineError, NeedsRepair
from glacierbase.history import History, details
from glacierbase.lock import Lock
from glacierbase.migration import Event, EventType, State
from glacierbase.prepare import Prepared
from glacierbase.run import Run
from glacierbase.secrets import masked
from glacierbase.stores import Store

logger = logging.getLogger("glacierbase")

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

    def event(self, kind: EventType, state: State | None, prepared: Prepared | None = None, **values: Any) -> Event:
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
        for attempt in range(_TRIES):
            try:
                self._store.append(batch)
                break
            except EngineError as error:
                # The answer was lost or the append refused: the table itself knows whether it took effect.
                if self._is_written(batch):
                    break
                if attempt == _TRIES - 1:
                    raise _not_written(batch[-1], error) from error
                self._lock.prove()
        self._waiting.clear()
        self._behind = None
        self._sequence = batch[-1].sequence
        self._lock.acknowledge(batch[-1].fence, batch[-1].sequence)

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

    def _is_written(self, batch: list[Event]) -> bool:
        try:
            events = self._store.read_history()
        except EngineError as error:
            raise _not_written(batch[-1], error) from error
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

    def append_interrupted(self, event: Event) -> None:
        """All that a run which lost its lock may still append, under its old fence: what it has done, and that it ends."""
        self._waiting.append(event)
        try:
            self._store.append(self._numbered())
        except EngineError as error:
            logger.debug("the end of the run could not be recorded: %s", error.message)


def _masked(column: str, value: Any) -> Any:
    return json.dumps(masked(json.loads(value))) if column in _JSON and value else masked(value)


def _not_written(event: Event, error: EngineError) -> NeedsRepair:
    return NeedsRepair(
        "HISTORY_NOT_WRITTEN",
        f"the history of {event.catalog} could not be written: {error.message}; the event was {event.event!r} of"
        f" {event.path or 'the run'}, statement {event.statement_index} of {event.statement_total}, run {event.run_id}",
        "restore access to the history table, then `glacierbase status` says where the file stands",
        event=event.event,
        version=event.version,
        statement_index=event.statement_index,
        query_id=event.query_id,
    )
