"""The lock of one catalog: acquire, renew, prove, take over and release it, by the compare-and-set of the store.

The rule that makes it safe, on every store: the holder appends the event that announces a statement, waits for the answer, then
proves the lock, and only then runs the statement. A run that takes the lock over reads the history after it acquired the lock.
So one of the two detects the other. The proof is an uncached read. Where a read costs as much as a statement, the proof is a
renewal sent less than a lease ago, because no run takes the lock over before the lease has been over for another lease.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from glacierbase.errors import EngineError, GlacierbaseError, Interrupted, LockHeld, LockLost, NeedsRepair
from glacierbase.history.lockrow import (
    HolderWatch,
    LockTerms,
    describe_holder,
    free_row,
    holder_values,
    in_place_of,
    is_held,
    lease_of,
    next_fence,
    who_holds,
)
from glacierbase.model.command import command
from glacierbase.model.text import as_clock
from glacierbase.run.activity import note
from glacierbase.run.clock import NEVER, Mark, awake, mark, since, sleep
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller, NoAnswer, result, start_thread
from glacierbase.secrets import mask
from glacierbase.stores import LockRow, Store

logger = logging.getLogger("glacierbase")

# How often a waiting run reads the row.
_POLL_SECONDS = 1.0
# Attempts after conflicts between the heartbeat and the main thread of the same run; each is followed by a read of the row.
_TRIES = 5
# A release may take at least this long. After the lease is over there is nothing left to release.
_RELEASE_SECONDS = 10.0

# Three renewals in a lease: one may fail without harm.
_RENEWALS = 3
# How long the end of a run waits for a renewal in progress.
_JOIN_SECONDS = 2.0


class Lock:
    """The lock of one catalog, as one run acquires and holds it.

    Attributes:
        taken_from: the row of the run from which it was taken over, if there was one.
    """

    def __init__(self, store: Store, terms: LockTerms, run: Run, engine: Mapping[str, Any]) -> None:
        self._store = store
        self._terms = terms
        self._run = run
        self._holder = self._describe_self(engine)
        self._row: LockRow | None = None
        self._fence = 0
        self._head = (0, 0)
        self._renewed = NEVER
        self._heartbeat = Heartbeat(terms.catalog, terms.lease_seconds, self._renew, self._forget_lease)
        self.taken_from: LockRow | None = None

    @property
    def lease_seconds(self) -> float:
        """How many seconds a renewal holds the lock."""
        return self._terms.lease_seconds

    @property
    def row(self) -> LockRow:
        """The row as this run last wrote it."""
        if self._row is None:
            raise RuntimeError("the lock is not held")
        return self._row

    def describe(self) -> str:
        """Return the catalog of the lock and, while it is held, its holder."""
        row = self._row
        return f"the lock of {self._terms.catalog}" + (f", {describe_holder(row)}" if row else "")

    def acquire(
        self, row_before: LockRow | None, history_fence: int, timeout_seconds: float, cancelled: Callable[[], bool]
    ) -> None:
        """Acquire the lock; wait up to `timeout_seconds` while another run holds it.

        Args:
            row_before: the row as last read; the compare-and-set fails if it has changed since.

        Raises:
            LockHeld: another run still holds it.
            Interrupted: the run was cancelled while it waited.
        """
        deadline = awake() + timeout_seconds
        watch = HolderWatch(self._terms.lease_seconds, self._store)
        is_waiting, refused = False, 0
        while True:
            row, row_before = row_before or self._store.read_lock(), None
            if row is None:
                self._add_row(history_fence)
                refused += 1
            elif not watch.may_be_held(row) or watch.is_dead(row):
                if self.seize(row, history_fence):
                    return
                refused += 1
            if refused >= _TRIES and awake() >= deadline:
                raise _contended(self._terms.catalog, refused)
            is_waiting = is_waiting or refused >= _TRIES
            if row is not None and watch.may_be_held(row):
                history_fence = max(history_fence, row.fence)  # The row may be lost before an event shows this fence.
                if is_held(row) and awake() >= deadline and not watch.is_undecided(row):
                    raise _held(row)
                if not is_waiting:
                    _log_wait(row, watch)
                is_waiting = True
                note(f"{as_clock(max(0, deadline - awake()))} left, {who_holds(row)}")
            if cancelled():
                raise Interrupted("INTERRUPTED", "stopped while waiting for the lock; nothing ran")
            if is_waiting:
                sleep(_pause(deadline))

    def _add_row(self, history_fence: int) -> None:
        """Add the row to a lock table from which it was deleted, unless another run adds it."""
        if self._store.replace_rows((), free_row(self._terms, history_fence)):
            logger.warning("%s: the lock table had no row; it was added", self._terms.catalog)

    def seize(self, row: LockRow, history_fence: int) -> bool:
        """Take the lock from the holder in `row`, dead or alive. Return False if the row has changed."""
        return self._take(row, history_fence, lambda mine: self._store.compare_and_set(row, mine))

    def rebuild(self, rows: Sequence[LockRow], history_fence: int) -> bool:
        """Acquire the lock by one row in place of `rows`, which damage the table. Return False if they have changed.

        A run that held the lock by one of them has lost it by the damage: it can prove nothing.
        """
        row = in_place_of(rows, self._terms, history_fence)
        has_it = self._take(row, history_fence, lambda mine: self._store.replace_rows(rows, mine))
        self.taken_from = row
        return has_it

    def _take(self, row: LockRow, history_fence: int, change: Callable[[LockRow], bool]) -> bool:
        """Write this run into `row` by `change`, which returns whether it did so."""
        now = self._store.now()
        mine = replace(
            row,
            environment=self._terms.environment,
            owner=self._run.id,
            fence=next_fence(row, history_fence),
            beat=0,
            acquired_at=now,
            expires_at=now + timedelta(seconds=self._terms.lease_seconds),
            # The former holder may rely on a longer lease, which has to end before another run takes over.
            holder=json.dumps(self._holder | {"lease_seconds": lease_of(row, self._terms.lease_seconds)}),
        )
        started = mark()
        try:
            has_it = change(mine)
            if has_it:
                self._hold(mine, started)
                self.taken_from = row if is_held(row) else None
            return has_it
        except GlacierbaseError:
            raise
        except BaseException:
            # A KeyboardInterrupt, or the error that a wait raises for it: the call continues and may acquire the lock.
            self._hold(mine, started)
            self.release()
            raise

    def _hold(self, mine: LockRow, started: Mark) -> None:
        self._row, self._fence, self._renewed = mine, mine.fence, started
        self._head = (mine.head_fence, mine.head_sequence)
        self._run.held.add(self)

    def start_heartbeat(self, open_store: Callable[[], Store]) -> None:
        """Renew the lease from a thread, through the store that `open_store` returns."""
        self._heartbeat.start(open_store)

    def _renew(self, store: Store) -> bool:
        """Begin a new lease. Return False if another run holds the lock, or it was released."""
        row = self._row
        for _ in range(_TRIES):
            if row is None or self._heartbeat.is_stopped:
                return False
            started = mark()
            renewed = replace(
                self._with_head(row),
                beat=row.beat + 1,
                expires_at=self._store.now() + timedelta(seconds=self._terms.lease_seconds),
                holder=json.dumps(self._holder),
            )
            if store.compare_and_set(row, renewed):
                if self._row is not None:
                    self._row, self._renewed = renewed, started
                return True
            # The other thread of this run may have renewed first.
            row = self._if_mine(store.read_lock())
        return False

    def _forget_lease(self) -> None:
        """Invalidate the rest of the lease after another run has taken the lock."""
        self._renewed = NEVER

    def _if_mine(self, row: LockRow | None) -> LockRow | None:
        """Return the row if this run is its holder, else None."""
        return row if row and (row.owner, row.fence) == (self._run.id, self._fence) else None

    def name_engine(self, engine: Mapping[str, Any]) -> None:
        """Write this run's engine into the row before it is used, if it is a process: a run that takes over waits for its end.

        The values of a server, for whose end no run waits, are written by the next renewal.

        Raises:
            LockLost: this run does not hold the lock any more, or the row could not be written.
        """
        holder, self._holder = self._holder, self._describe_self(engine)
        if engine.get("engine_pid") and holder != self._holder:
            self._renew_or_lose("it was taken before the engine was ready")

    def acknowledge(self, fence: int, sequence: int) -> None:
        """Set the last event that the history acknowledged. The next renewal, or the release, writes it."""
        self._head = (fence, sequence)

    def _with_head(self, row: LockRow) -> LockRow:
        head_fence, head_sequence = self._head
        return replace(row, head_fence=head_fence, head_sequence=head_sequence)

    def renew_if_expired(self) -> None:
        """Renew the lease if the heartbeat did not renew it in time. Call it before an append.

        Raises:
            LockLost: it could not be renewed.
        """
        if not self.is_leased:
            self._renew_or_lose("the lease ran out")

    @property
    def is_leased(self) -> bool:
        """Whether the lock was renewed less than a lease ago. No run takes it over before that lease has ended."""
        return since(self._renewed) < self._terms.lease_seconds

    def may_retry(self) -> bool:
        """Return whether a write that was refused or not answered may be repeated: the lease lasts, the row names no other holder.

        Raises:
            LockLost: another run holds the lock.
        """
        self.check_not_taken()
        return self.is_leased

    def check_not_taken(self) -> None:
        """Check the row, if it can be read. Call it after a failure, which another holder of the lock may have caused.

        Raises:
            LockLost: this run does not hold the lock any more.
        """
        with suppress(EngineError):
            self._check_holder(self._read())

    def _read(self) -> LockRow | None:
        """Return the row.

        Raises:
            LockLost: the table is damaged, so that nothing can be proven.
        """
        try:
            return self._store.read_lock()
        except NeedsRepair as error:
            raise lost(self._terms.catalog, error.message) from error

    def _renew_or_lose(self, why: str) -> None:
        try:
            renewed = self._renew(self._store)
        except (EngineError, NeedsRepair) as error:
            raise lost(self._terms.catalog, error.message) from error
        if not renewed:
            raise lost(self._terms.catalog, why)

    def prove(self) -> None:
        """Prove that no run can have taken the lock. Call it after an append, before the statement that it announced.

        Raises:
            LockLost: a run has taken the lock or could have, or the row could not be read.
        """
        if self._store.proves_by_lease:
            if not self.is_leased:
                raise lost(self._terms.catalog, "the lease ran out")
            return
        try:
            row = self._read()
        except EngineError as error:
            raise lost(self._terms.catalog, error.message) from error
        self._check_holder(row)

    def _check_holder(self, row: LockRow | None) -> None:
        if row is None:
            raise lost(self._terms.catalog, "its row is gone")
        if self._if_mine(row) is None:
            raise lost(self._terms.catalog, describe_holder(row) if is_held(row) else "another run released it")

    def finish(self) -> None:
        """Release the lock at the end of a run.

        Raises:
            LockLost: this run did not hold it any more: its last events may not count.
        """
        if not self.release():
            raise lost(self._terms.catalog, "it was taken before the run ended")

    def release(self) -> bool:
        """Release the lock. Return False if this run did not hold it any more. Never raises: errors pass through here.

        Where the store does not answer, the lease expires after its time.
        """
        self._heartbeat.stop()
        row = self._row
        if row is None:
            return False
        freeing = Caller()
        try:
            answer = freeing.submit(lambda: self._free(row))
            # Not earlier, so that a release that is interrupted before this line is repeated.
            self._run.held.discard(self)
            self._row = None
            return result(answer, max(self._terms.lease_seconds, _RELEASE_SECONDS))
        except (EngineError, NeedsRepair, NoAnswer) as error:
            why = "the catalog does not answer" if isinstance(error, NoAnswer) else error.message
            logger.warning(
                "%s: the lock could not be released (%s); it expires at %s", row.catalog, why, row.expires_at
            )
            return True
        finally:
            freeing.end()

    def _free(self, row: LockRow) -> bool:
        """Free the row, also after a renewal that was in progress.

        Returns:
            True as well if another run holds it and the row acknowledges all that this run recorded: it was freed and taken
            again before the store read it, or the other run reads a complete history.
        """
        self._heartbeat.join()
        mine: LockRow | None = row
        current = None
        for _ in range(_TRIES):
            if mine is None:
                break
            free = replace(self._with_head(mine), owner="", beat=mine.beat + 1, expires_at=None, holder=None)
            if self._store.compare_and_set(mine, free):
                return True
            current = self._store.read_lock()
            mine = self._if_mine(current)
        return current is not None and (current.head_fence, current.head_sequence) == self._head

    def _describe_self(self, engine: Mapping[str, Any]) -> dict[str, Any]:
        """Return the holder for the row. A run that takes over waits for the longer of its lease and this one."""
        return {**self._run.holder(engine), "lease_seconds": self._terms.lease_seconds}


def _contended(catalog: str, times: int) -> LockHeld:
    return LockHeld(
        "LOCK_HELD",
        f"the lock of {catalog} was changed by others at each of {times} attempts to acquire it; nothing ran",
        f"wait for it with --lock-timeout 5m; `{command('doctor')}` tests the lock",
    )


def _log_wait(row: LockRow, watch: HolderWatch) -> None:
    is_over = watch.is_undecided(row)
    why = "its lease is over, watching whether it is renewed" if is_over else "waiting for the lock"
    logger.info("%s: %s: %s", row.catalog, why, describe_holder(row))


def _pause(deadline: float) -> float:
    left = deadline - awake()
    return min(_POLL_SECONDS, left) if left > 0 else _POLL_SECONDS


def _held(row: LockRow) -> LockHeld:
    return LockHeld(
        "LOCK_HELD",
        f"the lock of {row.catalog} is {describe_holder(row)}; nothing ran",
        "wait for it with --lock-timeout 5m; the lock of a dead run can be taken over after its lease, or by"
        f" `{command('unlock')}`",
        **asdict(holder_values(row)),
    )


def lost(catalog: str, why: str) -> LockLost:
    """Return the error of a run that does not hold the lock any more, or under a fence that is not its own."""
    return LockLost(
        "LOCK_LOST",
        f"this run lost the lock of {catalog}: {why}; it runs nothing more",
        f"`{command('status')}` shows what was applied; run `{command('migrate')}` again",
    )


class Heartbeat:
    """Renews a lease until it is stopped, through a separate store that does not wait for the statements."""

    def __init__(
        self, catalog: str, lease_seconds: float, renew: Callable[[Store], bool], on_loss: Callable[[], None]
    ) -> None:
        """Args:
        renew: renews through the given store, and returns False if the lock is lost.
        on_loss: called once after that; the heartbeat then ends.
        """
        self._catalog = catalog
        self._interval = lease_seconds / _RENEWALS
        self._renew = renew
        self._on_loss = on_loss
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def start(self, open_store: Callable[[], Store]) -> None:
        """Start the thread."""
        self._thread = start_thread(lambda: self._beat(open_store), "glacierbase-heartbeat")

    def stop(self) -> None:
        """Prevent further renewals."""
        self._stopped.set()

    def join(self) -> None:
        """Wait a moment for a renewal in progress."""
        if self._thread:
            self._thread.join(_JOIN_SECONDS)

    def _beat(self, open_store: Callable[[], Store]) -> None:
        store: Store | None = None
        while not self._stopped.wait(self._interval):
            try:
                store = store or open_store()
                if not self._renew(store):
                    self._on_loss()
                    return
            except Exception as error:
                # The next renewal may succeed. `Lock.renew_if_expired` raises when none does.
                logger.warning("%s: the lock could not be renewed: %s", self._catalog, mask(str(error)))
