"""The lock of one catalog: lease, heartbeat, waiting, proof and take-over, over the store's one compare-and-set.

The rule that makes it safe, on every store: the holder appends the event that says a statement is about to start, waits for
the answer, then proves the lock, and only then runs the statement. Whoever takes the lock over reads the history after winning
it. One of the two always sees the other. The proof is an uncached read; where that costs what a statement does, it is a renewal
sent less than a lease ago, for nobody takes over a lease before it has been over for as long again by the clock of the store.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.clock import seconds
from glacierbase.errors import EngineError, EngineUnavailable, Interrupted, LockHeld, LockLost
from glacierbase.run import Run, is_gone
from glacierbase.stores import FORMAT_VERSION, LockRow, Store

logger = logging.getLogger("glacierbase")

# How often a waiting run looks at the row.
_POLL_SECONDS = 1.0
# A holder renews three times in a lease, so that one lost renewal costs nothing.
_RENEWALS = 3


# The locks that runs of this process hold.
_held_here: list[Lock] = []


def held_here() -> tuple[LockRow, ...]:
    """The rows of the locks that this process holds, for whoever is about to end it."""
    return tuple(lock.row for lock in _held_here)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the lock is for, and how long a run may be silent."""

    catalog: str
    environment: str
    lease_seconds: float


def free_row(terms: Terms) -> LockRow:
    """The row that a new lock table is created with."""
    return LockRow(
        catalog=terms.catalog,
        environment=terms.environment,
        owner="",
        fence=0,
        beat=0,
        acquired_at=None,
        expires_at=None,
        head_fence=0,
        head_sequence=0,
        holder=None,
        format_version=FORMAT_VERSION,
    )


def is_held(row: LockRow) -> bool:
    """Whether some run's name stands in the row; it may have died."""
    return row.owner != ""


def living_fence(row: LockRow | None, lease_seconds: float, now: datetime) -> int | None:
    """The fence of the run that holds the lock, unless it is seen to be dead at the time `now` of the store."""
    if row is None or not is_held(row) or _Watch(lease_seconds).is_dead(row, now):
        return None
    return row.fence


class Lock:
    """The lock in the hands of one run.

    Attributes:
        taken_from: the row of the run that it was taken over from, if there was one.
    """

    def __init__(self, store: Store, terms: Terms, run: Run, engine: Mapping[str, Any]) -> None:
        self._store = store
        self._terms = terms
        self._run = run
        self._holder = json.dumps(run.holder(engine))
        self._row: LockRow | None = None
        self._head = (0, 0)
        self._renewed = 0.0
        self._changing = threading.Lock()
        self._ended = threading.Event()
        self._heartbeat: threading.Thread | None = None
        self.taken_from: LockRow | None = None

    @property
    def row(self) -> LockRow:
        """The row as this run last wrote it."""
        if self._row is None:
            raise RuntimeError("the lock is not held")
        return self._row

    def acquire(
        self, seen: LockRow | None, history_fence: int, timeout_seconds: float, stopped: Callable[[], bool]
    ) -> None:
        """Win the lock, waiting up to `timeout_seconds` for its holder.

        Args:
            seen: the row as it was read a moment ago, if it was; the compare-and-set knows whether it is still so.

        Raises:
            LockHeld: another run holds it still.
            Interrupted: `stopped` said so while waiting.
        """
        deadline = time.monotonic() + timeout_seconds
        watch = _Watch(self._terms.lease_seconds)
        told = False
        while True:
            row, seen = seen or self._store.read_lock(), None
            if row is None:
                raise _lost(self._terms.catalog, "its table is gone")
            if (not is_held(row) or watch.is_dead(row, self._store.now())) and self.seize(row, history_fence):
                return
            if is_held(row):
                if time.monotonic() >= deadline:
                    raise _held(row)
                if not told:
                    logger.info("%s: waiting for the lock: %s", row.catalog, describe(row))
                    told = True
            if stopped():
                raise Interrupted("INTERRUPTED", "stopped while waiting for the lock; nothing ran")
            time.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())) if told else 0)

    def seize(self, row: LockRow, history_fence: int) -> bool:
        """Take the lock from whoever is in `row`, dead or alive: True if the row was still so."""
        now = self._store.now()
        # Above the history's too: a lock table that was lost or restored must not hand out a fence twice.
        mine = replace(
            row,
            environment=self._terms.environment,
            owner=self._run.id,
            fence=max(row.fence, history_fence) + 1,
            beat=0,
            acquired_at=now,
            expires_at=now + timedelta(seconds=self._terms.lease_seconds),
            holder=self._holder,
        )
        started = seconds()
        if not self._store.compare_and_set(row, mine):
            return False
        self._row, self._renewed = mine, started
        self._head = (mine.head_fence, mine.head_sequence)
        self.taken_from = row if is_held(row) else None
        _held_here.append(self)
        return True

    def start_heartbeat(self, open_store: Callable[[], Store]) -> None:
        """Renew the lease from a thread of its own, through a store of its own that does not queue behind statements."""
        self._heartbeat = threading.Thread(
            target=self._beat, args=(open_store,), name="glacierbase-heartbeat", daemon=True
        )
        self._heartbeat.start()

    def _beat(self, open_store: Callable[[], Store]) -> None:
        store: Store | None = None
        while not self._ended.wait(self._terms.lease_seconds / _RENEWALS):
            try:
                store = store or open_store()
                if not self._renew(store):
                    self._renewed = -math.inf  # Taken, by force perhaps: the lease that is left proves nothing.
                    return
            except (EngineError, EngineUnavailable) as error:
                # The next one may go through; `check` sees when none does.
                logger.warning("%s: the lock could not be renewed: %s", self._terms.catalog, error.message)

    def _renew(self, store: Store) -> bool:
        with self._changing:
            if self._row is None or self._ended.is_set():
                return False
            started = seconds()
            expires = self._store.now() + timedelta(seconds=self._terms.lease_seconds)
            row = self._with_head(self._row)
            renewed = replace(row, beat=row.beat + 1, expires_at=expires, holder=self._holder)
            if not store.compare_and_set(self._row, renewed):
                return False
            self._row, self._renewed = renewed, started
            return True

    def name_engine(self, engine: Mapping[str, Any]) -> None:
        """Say in the row which engine works for this run, before it does: whoever takes over waits for its end as well.

        Raises:
            LockLost: the lock is not ours any more, or nobody can say.
        """
        holder, self._holder = self._holder, json.dumps(self._run.holder(engine))
        if holder != self._holder:
            self._renew_or_lose("it was taken before the engine was ready")

    def acknowledge(self, fence: int, sequence: int) -> None:
        """Remember the last event that the history acknowledged; the next renewal, or the release, writes it."""
        self._head = (fence, sequence)

    def _with_head(self, row: LockRow) -> LockRow:
        head_fence, head_sequence = self._head
        return replace(row, head_fence=head_fence, head_sequence=head_sequence)

    def check(self) -> None:
        """Before an append: renew a lease that nobody renewed in time.

        Raises:
            LockLost: it could not be renewed.
        """
        if seconds() - self._renewed < self._terms.lease_seconds:
            return
        self._renew_or_lose("the lease ran out")

    def _renew_or_lose(self, why: str) -> None:
        try:
            renewed = self._renew(self._store)
        except EngineError as error:
            raise _lost(self._terms.catalog, error.message) from error
        if not renewed:
            raise _lost(self._terms.catalog, why)

    def prove(self) -> None:
        """After an append, before the statement that it announced: that nobody can have taken the lock.

        Raises:
            LockLost: somebody has or could have, or it could not be read.
        """
        if self._store.proves_by_lease:
            if seconds() - self._renewed >= self._terms.lease_seconds:
                raise _lost(self._terms.catalog, "the lease ran out")
            return
        try:
            row = self._store.read_lock()
        except EngineError as error:
            raise _lost(self._terms.catalog, error.message) from error
        if row is None or (row.owner, row.fence) != (self._run.id, self.row.fence):
            raise _lost(
                self._terms.catalog,
                describe(row) if row is not None and is_held(row) else "it was released by somebody else",
            )

    def finish(self) -> None:
        """Free the lock at the end of a run.

        Raises:
            LockLost: it was not ours any more: what was appended last may not count.
        """
        if not self.release():
            raise _lost(self._terms.catalog, "it was taken before the run ended")

    def release(self) -> bool:
        """Free the lock: False if it was not ours any more. Never raises: it runs on the way out of errors.

        Where nobody can say whose it is, its lease ends by itself.
        """
        self._ended.set()
        with self._changing:
            row, self._row = self._row, None
        if row is not None:
            _held_here.remove(self)
        if self._heartbeat:
            self._heartbeat.join()
        if row is None:
            return False
        free = replace(self._with_head(row), owner="", beat=row.beat + 1, expires_at=None, holder=None)
        try:
            return self._store.compare_and_set(row, free) or self._is_seen()
        except EngineError as error:
            logger.warning(
                "%s: the lock could not be released (%s); it ends by itself at %s",
                row.catalog, error.message, row.expires_at,
            )  # fmt: skip
            return True

    def _is_seen(self) -> bool:
        """Whether the row says all that this run recorded. Then it was freed, and taken again before the store looked; or who
        took it reads a history that is whole."""
        row = self._store.read_lock()
        return row is not None and (row.head_fence, row.head_sequence) == self._head


class _Watch:
    """Whether the holder of a row is dead: by its lease, by its process, or by its silence."""

    def __init__(self, lease_seconds: float) -> None:
        self._lease = lease_seconds
        self._claim: tuple[str, int, int] | None = None
        self._since = 0.0

    def is_dead(self, row: LockRow, now: datetime) -> bool:
        # A lease beyond its end, for clocks that differ by less than one.
        if row.expires_at and now - row.expires_at > timedelta(seconds=self._lease):
            return True
        if is_gone(holder_of(row)):
            return True
        if row.claim != self._claim:
            self._claim, self._since = row.claim, seconds()
        return seconds() - self._since > self._lease


def told(row: LockRow) -> dict[str, Any]:
    """What an event says of the run that the lock was taken from."""
    return {"owner": row.owner, "fence": row.fence, "holder": holder_of(row)}


def holder_of(row: LockRow) -> Mapping[str, Any]:
    """What the row says of its holder."""
    return json.loads(row.holder) if row.holder else {}


def describe(row: LockRow) -> str:
    """The holder for people: `run 3f2a… of alice on ci-7 (pid 4711), since 12:03:11 UTC (2 min), lease until 12:05:40 UTC`."""
    holder = holder_of(row)
    since = f", since {row.acquired_at:%H:%M:%S} UTC ({_age(row.acquired_at)})" if row.acquired_at else ""
    until = f", lease until {row.expires_at:%H:%M:%S} UTC" if row.expires_at else ""
    ci = f", {holder['ci_url']}" if holder.get("ci_url") else ""
    person = f"{holder.get('os_user')} on {holder.get('host')} (pid {holder.get('pid')})"
    return f"held by run {row.owner} of {person}{since}{until}{ci}"


def _held(row: LockRow) -> LockHeld:
    holder = holder_of(row)
    return LockHeld(
        "LOCK_HELD",
        f"the lock of {row.catalog} is {describe(row)}; nothing ran",
        "wait for it with --lock-timeout 5m; the lock of a run that died frees itself after its lease, or by `glacierbase unlock`",
        owner=row.owner,
        host=holder.get("host"),
        pid=holder.get("pid"),
        os_user=holder.get("os_user"),
        ci_url=holder.get("ci_url"),
        acquired_at=row.acquired_at,
        expires_at=row.expires_at,
    )


def _lost(catalog: str, why: str) -> LockLost:
    return LockLost(
        "LOCK_LOST",
        f"this run lost the lock of {catalog}: {why}; it runs nothing more",
        "`glacierbase status` shows what was applied; run `glacierbase migrate` again",
    )


def _age(since: datetime) -> str:
    age = max(0, int((datetime.now(timezone.utc) - since).total_seconds()))
    return f"{age} s" if age < 120 else f"{age // 60} min"
