"""The frame of every command that changes something: acquire the lock, read the history again, record, release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from glacierbase.apply.lock import Lock, lost
from glacierbase.errors import Stopped
from glacierbase.executors.engine import Engine
from glacierbase.history.entries import lock_taken
from glacierbase.history.lockrow import free_row
from glacierbase.history.recorder import Recorder
from glacierbase.history.state import CatalogState, read_history
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.model.command import command
from glacierbase.model.migration import EventType
from glacierbase.run.activity import doing
from glacierbase.run.waiting import uninterrupted
from glacierbase.stores import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LockedCatalog:
    """A target whose lock this run holds.

    Attributes:
        store: opened after the lock was acquired.
        state: as it was read after the lock was acquired.
        recorder: appends the events of this run.
        unreadable: the tables of users whose version this run could not read.
    """

    target: CatalogRun
    engine: Engine
    store: Store
    lock: Lock
    state: CatalogState
    recorder: Recorder
    unreadable: set[str] = field(default_factory=set)


def new_lock(opened: OpenCatalog, state: CatalogState) -> Lock:
    """Create the tables that are missing, and return the catalog's lock, not acquired yet.

    Args:
        state: as it was read before.
    """
    terms = opened.target.terms
    is_first = state.lock is None and not state.history.events
    opened.store.create(free_row(terms, None if is_first else state.history.fence))
    return Lock(opened.store, terms, opened.target.run, opened.engine.process)


@contextmanager
def locked(
    opened: OpenCatalog, state: CatalogState, lock_timeout: float, environment: str | None = None
) -> Iterator[LockedCatalog]:
    """Acquire the lock, and hold it in the block.

    Args:
        state: as it was read before.
        lock_timeout: seconds to wait for another run's lock.
        environment: the one that the history must belong to; default the catalog's.
    """
    lock = new_lock(opened, state)
    try:
        with doing(f"{opened.target.catalog.name}: waiting for the lock", announce=False):
            lock.acquire(state.lock, state.history.fence, lock_timeout, opened.engine.cancelled)
        with releasing(opened, lock, environment) as held:
            yield held
    except BaseException:
        lock.release()  # An interrupt may arrive before the block of `releasing` begins.
        raise


@contextmanager
def releasing(
    opened: OpenCatalog,
    lock: Lock,
    environment: str | None = None,
    taken: EventType = EventType.TAKEN_OVER,
    reason: str | None = None,
) -> Iterator[LockedCatalog]:
    """Renew the acquired lock in the block, and release it afterwards, also after an error.

    Args:
        environment: the one that the history must belong to; default the catalog's.
        taken: the event to record, with `reason`, where the lock was taken from another run.
    """
    target = opened.target
    try:
        lock.start_heartbeat(opened.open_another_store)
        # An older session may not read what the last holder committed.
        store = opened.open_another_store()
        state = read_history(target.catalog, store, lock.row, environment)
        if state.history.fence >= lock.row.fence:
            raise lost(target.catalog.name, "the history has its fence or a higher one: the row was lost or restored")
        recorder = Recorder(store, lock, target.run, opened.engine, state.history)
        if lock.taken_from is not None:
            recorder.defer(lock_taken(taken, lock.taken_from, reason))
        yield LockedCatalog(target, opened.engine, store, lock, state, recorder)
        recorder.compact()
        lock.finish()
    except BaseException:
        lock.release()
        raise


class Recording:
    """The one change that a command makes, or its parts.

    Attributes:
        made: its description once it is made; empty before.
    """

    def __init__(self) -> None:
        self.made = ""

    def make(self, what: str, change: Callable[[], T]) -> T:
        """Make the change that `what` describes. A KeyboardInterrupt meanwhile is raised after it."""

        def call() -> T:
            answer = change()
            self.made = what
            return answer

        return uninterrupted(call)


@contextmanager
def recording(completes: bool = False) -> Iterator[Recording]:
    """Yield a `Recording`; raise a KeyboardInterrupt in the block as `Stopped`, with what was recorded before it.

    Args:
        completes: whether the same command makes what is left of a change of several parts.

    Raises:
        Stopped: for a KeyboardInterrupt.
    """
    change = Recording()
    try:
        yield change
    except KeyboardInterrupt as interrupt:
        again = "run the same command again"
        hint = again if completes or not change.made else f"`{command('status')}` shows the versions now"
        raise Stopped(change.made or "nothing was recorded", hint) from interrupt
