"""Freeing a lock by hand: a take-over that runs nothing."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from glacierbase.apply.lock import describe, holder_of, is_held, lease_of
from glacierbase.apply.migrator import Migrator
from glacierbase.errors import LockHeld
from glacierbase.model.migration import EventType
from glacierbase.run.processes import is_gone, is_running_here
from glacierbase.run.waiting import uninterrupted
from glacierbase.stores import LockRow, Store

logger = logging.getLogger("glacierbase")


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that some run's name stands in.

    Attributes:
        is_gone: whether this machine shows that its process and engine have ended.
        is_over: whether that is so, or its lease is over.
        says: that, for people.
    """

    row: LockRow
    is_gone: bool
    is_over: bool
    says: str


def look(migrator: Migrator, session: Any = None) -> Held | None:
    """Who is in the lock; None when it is free. Writes nothing."""
    with migrator.opened(session) as (_, store):
        return _held(store, migrator.look(store).lock)


def unlock(migrator: Migrator, reason: str | None, *, force: bool = False, session: Any = None) -> Held | None:
    """Free the lock, and record from whom it was taken; the former holder proves nothing any more, and runs nothing.

    Args:
        force: also from a run that may be alive.

    Raises:
        LockHeld: the run may be alive, or renewed its lease a moment ago; nothing was changed.
        KeyboardInterrupt: once the lock is free and the event recorded.
    """
    return uninterrupted(lambda: _unlock(migrator, reason, force, session))


def _unlock(migrator: Migrator, reason: str | None, force: bool, session: Any) -> Held | None:
    with migrator.opened(session) as (engine, store):
        view = migrator.look(store)
        held = _held(store, view.lock)
        if held is None:
            return None
        if not held.is_over and not force:
            raise _alive(held)
        lock = migrator.lock(engine, store)
        if not lock.seize(held.row, view.history.fence):
            raise _alive(held)
        if store.proves_by_lease and not held.is_gone:
            # Such a holder looks at its lease and not at the row: it may begin a statement until that is over, and only
            # then does the history tell all that it did.
            logger.info("%s: waiting until the former holder's lease is over", migrator.catalog.name)
            time.sleep(lease_of(held.row, migrator.catalog.store.lease_seconds))
        with migrator.holding(lock, engine, taken=EventType.UNLOCKED, reason=reason) as (_, recorder):
            recorder.append()
        return held


def _held(store: Store, row: LockRow | None) -> Held | None:
    if row is None or not is_held(row):
        return None
    if is_gone(holder_of(row)):
        return Held(row, True, True, "its process and its engine have ended on this machine")
    process = "its process runs on this machine" if is_running_here(holder_of(row)) else _FROM_HERE
    if row.expires_at and row.expires_at < store.now():
        return Held(row, False, True, f"its lease is over; {process}")
    return Held(row, False, False, f"its lease runs, it may be at work; {process}")


_FROM_HERE = "whether its process lives cannot be seen from here"


def _alive(held: Held) -> LockHeld:
    return LockHeld(
        "LOCK_HELD",
        f"the lock of {held.row.catalog} is {describe(held.row)}; {held.says}; nothing was changed",
        "wait for it; --force takes it from a run that is alive, which then runs nothing more",
        owner=held.row.owner,
    )
