"""The lock of one catalog: lease, heartbeat, waiting, proof and take-over, over the store's one compare-and-set.

The rule that makes it safe, on every store: the holder appends the event that says a statement is about to start, waits for
the answer, then proves the lock, and only then runs the statement. Whoever takes the lock over reads the history after winning
it. One of the two always sees the other. The proof is an uncached read; where that costs what a statement does, it is a renewal
sent less than a lease ago, for nobody takes over a lease before it has been over for as long again by the clock of the store.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.errors import EngineError, GlacierbaseError, Interrupted, LockHeld, LockLost
from glacierbase.run.clock import NEVER, SKEW, Mark, mark, seconds, since
from glacierbase.run.processes import is_gone, is_same_boot
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller, NoAnswer, result, start_thread
from glacierbase.secrets import mask
from glacierbase.stores import FORMAT_VERSION, LockRow, Store

logger = logging.getLogger("glacierbase")

# How often a waiting run looks at the row.
_POLL_SECONDS = 1.0
# A holder renews three times in a lease, so that one lost renewal costs nothing.
_RENEWALS = 3
# More is no lease that a catalog file may have.
_LONGEST_LEASE = 86_400.0
_NOTHING = timedelta(0)
# Conflicts of one run's own heartbeat and main thread: each is followed by a look at the row.
_TRIES = 5
# How long a run that ends waits for a renewal that is under way.
_JOIN_SECONDS = 2.0
# How long a release may take at least; behind the end of the lease there is nothing left to release.
_RELEASE_SECONDS = 10.0


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


def living_fence(row: LockRow | None, lease_seconds: float, store: Store) -> int | None:
    """The fence of the run that holds the lock, unless it is seen to be dead."""
    if row is None or not is_held(row) or _Watch(lease_seconds, store).is_dead(row):
        return None
    return row.fence


def overdue(row: LockRow, lease_seconds: float, store: Store) -> timedelta:
    """How long ago a lease after the end of the row's lease was, by the time of the store; negative if that is still to come."""
    if row.expires_at is None:
        return timedelta.min
    return store.now() - row.expires_at - timedelta(seconds=lease_of(row, lease_seconds))


def lease_of(row: LockRow, lease_seconds: float) -> float:
    """The seconds of silence after which the row's holder counts as dead: the longer one of its lease and `lease_seconds`."""
    theirs = holder_of(row).get("lease_seconds")
    if isinstance(theirs, (int, float)) and theirs <= _LONGEST_LEASE:
        return max(lease_seconds, float(theirs))
    return lease_seconds


class Lock:
    """The lock in the hands of one run.

    Attributes:
        taken_from: the row of the run that it was taken over from, if there was one.
    """

    def __init__(self, store: Store, terms: Terms, run: Run, engine: Mapping[str, Any]) -> None:
        self._store = store
        self._terms = terms
        self._run = run
        self._holder = self._describe(engine)
        self._row: LockRow | None = None
        self._fence = 0
        self._head = (0, 0)
        self._renewed = NEVER
        self._ended = threading.Event()
        self._heartbeat: threading.Thread | None = None
        self.taken_from: LockRow | None = None

    @property
    def lease_seconds(self) -> float:
        """How long the run may be silent."""
        return self._terms.lease_seconds

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
        watch = _Watch(self._terms.lease_seconds, self._store)
        told = False
        while True:
            row, seen = seen or self._store.read_lock(), None
            if row is None:
                raise _lost(self._terms.catalog, "its table is gone")
            if (not is_held(row) or watch.is_dead(row)) and self.seize(row, history_fence):
                return
            if is_held(row):
                if time.monotonic() >= deadline and not watch.may_show_more(row):
                    raise _held(row)
                if not told:
                    is_over = watch.may_show_more(row)
                    why = "its lease is over, watching whether it is renewed" if is_over else "waiting for the lock"
                    logger.info("%s: %s: %s", row.catalog, why, describe(row))
                    told = True
            if stopped():
                raise Interrupted("INTERRUPTED", "stopped while waiting for the lock; nothing ran")
            left = deadline - time.monotonic()
            time.sleep((min(_POLL_SECONDS, left) if left > 0 else _POLL_SECONDS) if told else 0)

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
            # The former holder may rely on a longer lease: nobody takes over from this run before that has ended.
            holder=json.dumps(self._holder | {"lease_seconds": lease_of(row, self._terms.lease_seconds)}),
        )
        started = mark()
        try:
            is_won = self._store.compare_and_set(row, mine)
        except GlacierbaseError:
            raise
        except BaseException:
            # Ctrl-C, also as what Python makes of it in a wait: the call continues and may acquire the lock.
            self._hold(mine, started)
            self.release()
            raise
        if is_won:
            self._hold(mine, started)
            self.taken_from = row if is_held(row) else None
        return is_won

    def _hold(self, mine: LockRow, started: Mark) -> None:
        self._row, self._fence, self._renewed = mine, mine.fence, started
        self._head = (mine.head_fence, mine.head_sequence)
        _held_here.append(self)

    def start_heartbeat(self, open_store: Callable[[], Store]) -> None:
        """Renew the lease from a thread of its own, through a store of its own that does not queue behind statements."""
        self._heartbeat = start_thread(lambda: self._beat(open_store), "glacierbase-heartbeat")

    def _beat(self, open_store: Callable[[], Store]) -> None:
        store: Store | None = None
        while not self._ended.wait(self._terms.lease_seconds / _RENEWALS):
            try:
                store = store or open_store()
                if not self._renew(store):
                    self._renewed = NEVER  # Taken, by force perhaps: the lease that is left proves nothing.
                    return
            except Exception as error:
                # The next one may go through; `check` sees when none does.
                logger.warning("%s: the lock could not be renewed: %s", self._terms.catalog, mask(str(error)))

    def _renew(self, store: Store) -> bool:
        """Begin a new lease: False if the row is another run's, or the lock was released."""
        row = self._row
        for _ in range(_TRIES):
            if row is None or self._ended.is_set():
                return False
            started = mark()
            expires = self._store.now() + timedelta(seconds=self._terms.lease_seconds)
            renewed = replace(
                self._with_head(row), beat=row.beat + 1, expires_at=expires, holder=json.dumps(self._holder)
            )
            if store.compare_and_set(row, renewed):
                if self._row is not None:
                    self._row, self._renewed = renewed, started
                return True
            # The other thread of this run may have been faster.
            row = self._mine(store.read_lock())
        return False

    def _mine(self, row: LockRow | None) -> LockRow | None:
        """The row, if this run is its holder."""
        return row if row and (row.owner, row.fence) == (self._run.id, self._fence) else None

    def name_engine(self, engine: Mapping[str, Any]) -> None:
        """Say in the row which engine works for this run, before it does: whoever takes over waits for its end as well.

        Raises:
            LockLost: the lock is not ours any more, or nobody can say.
        """
        holder, self._holder = self._holder, self._describe(engine)
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
        if not self.is_leased:
            self._renew_or_lose("the lease ran out")

    @property
    def is_leased(self) -> bool:
        """Whether the lock was renewed less than a lease ago: nobody takes it over before it has been silent for longer."""
        return since(self._renewed) < self._terms.lease_seconds

    def may_retry(self) -> bool:
        """Whether a write that was refused or not answered may be sent again: no other holder is seen, and the lease runs.

        Raises:
            LockLost: another run holds the lock.
        """
        with suppress(EngineError):
            self._check_row(self._store.read_lock())
        return self.is_leased

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
            if not self.is_leased:
                raise _lost(self._terms.catalog, "the lease ran out")
            return
        try:
            row = self._store.read_lock()
        except EngineError as error:
            raise _lost(self._terms.catalog, error.message) from error
        self._check_row(row)

    def _check_row(self, row: LockRow | None) -> None:
        if self._mine(row) is None:
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
        row = self._row
        if row is None:
            return False
        freeing = Caller()
        try:
            answer = freeing.submit(lambda: self._free(row))
            # Not before: a release that is interrupted up to here is repeated.
            if self in _held_here:
                _held_here.remove(self)
            self._row = None
            return result(answer, max(self._terms.lease_seconds, _RELEASE_SECONDS))
        except (EngineError, NoAnswer) as error:
            why = error.message if isinstance(error, EngineError) else "the catalog does not answer"
            logger.warning(
                "%s: the lock could not be released (%s); it ends by itself at %s", row.catalog, why, row.expires_at
            )
            return True
        finally:
            freeing.end()

    def _free(self, row: LockRow) -> bool:
        """Make the row free, also if a renewal that was under way came first. True as well if it says all that this run recorded:
        then it was freed and taken again before the store looked, or who took it reads a history that is whole."""
        if self._heartbeat:
            self._heartbeat.join(_JOIN_SECONDS)
        mine: LockRow | None = row
        found = None
        for _ in range(_TRIES):
            if mine is None:
                break
            free = replace(self._with_head(mine), owner="", beat=mine.beat + 1, expires_at=None, holder=None)
            if self._store.compare_and_set(mine, free):
                return True
            found = self._store.read_lock()
            mine = self._mine(found)
        return found is not None and (found.head_fence, found.head_sequence) == self._head

    def _describe(self, engine: Mapping[str, Any]) -> dict[str, Any]:
        """The holder for the row. Who takes over waits for the longer lease, which is why it has this one's."""
        return {**self._run.holder(engine), "lease_seconds": self._terms.lease_seconds}


class _Watch:
    """Whether the holder of a row is dead: by its lease, by its process, or by its silence."""

    def __init__(self, lease_seconds: float, store: Store) -> None:
        self._lease = lease_seconds
        self._store = store
        self._claim: tuple[str, int, int] | None = None
        self._is_renewed = False
        self._since = 0.0

    def is_dead(self, row: LockRow) -> bool:
        lease = lease_of(row, self._lease)
        if is_gone(holder_of(row)) or self._has_ended(row):
            return True
        if row.claim != self._claim:
            self._is_renewed = self._claim is not None
            self._claim, self._since = row.claim, seconds()
        # By the one clock that nobody sets: a correction of the time of day would end the watch early.
        return seconds() - self._since > lease

    def may_show_more(self, row: LockRow) -> bool:
        """Whether the lease is over by this machine's clock, which may not be its holder's, and no renewal was seen yet."""
        return not self._is_renewed and overdue(row, self._lease, self._store) > _NOTHING

    def _has_ended(self, row: LockRow) -> bool:
        """Whether its lease ended more than a lease ago by a clock that its holder shares, or longer than clocks differ by."""
        late = overdue(row, self._lease, self._store)
        shared = self._store.has_clock or is_same_boot(holder_of(row))
        return late > (_NOTHING if shared else SKEW)


def former_holder(row: LockRow) -> dict[str, Any]:
    """What an event says of the run that the lock was taken from."""
    return {"owner": row.owner, "fence": row.fence, "holder": holder_of(row)}


def holder_of(row: LockRow) -> Mapping[str, Any]:
    """What the row says of its holder; nothing where that is not what a run writes."""
    try:
        holder = json.loads(row.holder or "{}")
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}


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
