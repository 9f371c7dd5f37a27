"""`unlock`: free a lock by hand. It is a take-over that runs nothing."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from glacierbase.apply.holding import holding, new_lock
from glacierbase.apply.recording import recording
from glacierbase.errors import LockHeld
from glacierbase.history.lockrow import describe_holder, holder_of, is_held, lease_of
from glacierbase.history.opening import Target
from glacierbase.history.state import read_state
from glacierbase.model.migration import EventType
from glacierbase.run.activity import doing
from glacierbase.run.processes import is_gone, is_running_here
from glacierbase.stores import LockRow, Store

logger = logging.getLogger("glacierbase")

_PROCESS_NOT_VISIBLE = "its process is not visible from this machine"


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock whose row names a run as its holder.

    Attributes:
        is_gone: whether this machine shows that the process and the engine of the run have ended.
        is_over: whether that is so, or the lease is over.
        evidence: that in words.
    """

    row: LockRow
    is_gone: bool
    is_over: bool
    evidence: str


def held_lock(target: Target, session: Any = None) -> HeldLock | None:
    """Return the lock, or None when it is free. Writes nothing."""
    with target.opened(session) as opened:
        return _examined(opened.store, read_state(opened).lock)


def unlock(target: Target, reason: str | None, *, force: bool = False, session: Any = None) -> HeldLock | None:
    """Free the lock, and record from which run it was taken. That run can prove nothing any more, and runs nothing.

    Args:
        force: also free it from a run that may be alive.

    Returns:
        The lock as it was; None when it was free.

    Raises:
        LockHeld: the run may be alive, or has just renewed its lease; nothing was changed.
        Stopped: for a KeyboardInterrupt: after the lock was freed and the event recorded, or before anything was changed.
    """
    with recording() as change:
        return change.make("the lock is free", lambda: _unlock(target, reason, force, session))


def _unlock(target: Target, reason: str | None, force: bool, session: Any) -> HeldLock | None:
    with target.opened(session) as opened:
        state = read_state(opened)
        held = _examined(opened.store, state.lock)
        if held is None:
            return None
        if not held.is_over and not force:
            raise _may_be_alive(held)
        lock = new_lock(opened)
        if not lock.seize(held.row, state.history.fence):
            raise _may_be_alive(held)
        if opened.store.proves_by_lease and not held.is_gone:
            # The holder checks its lease and not the row: it may start a statement until the lease is over, and the history
            # is complete only then.
            logger.info("%s: waiting until the former holder's lease is over", target.catalog.name)
            with doing(f"{target.catalog.name}: waiting for the former holder's lease", announce=False):
                time.sleep(lease_of(held.row, target.catalog.store.lease_seconds))
        with holding(opened, lock, taken=EventType.UNLOCKED, reason=reason) as locked:
            locked.recorder.flush()
        return held


def _examined(store: Store, row: LockRow | None) -> HeldLock | None:
    if row is None or not is_held(row):
        return None
    if is_gone(holder_of(row)):
        return HeldLock(row, True, True, "its process and its engine have ended on this machine")
    process = "its process runs on this machine" if is_running_here(holder_of(row)) else _PROCESS_NOT_VISIBLE
    if row.expires_at and row.expires_at < store.now():
        return HeldLock(row, False, True, f"its lease is over; {process}")
    return HeldLock(row, False, False, f"its lease is not over, the run may be alive; {process}")


def _may_be_alive(held: HeldLock) -> LockHeld:
    return LockHeld(
        "LOCK_HELD",
        f"the lock of {held.row.catalog} is {describe_holder(held.row)}; {held.evidence}; nothing was changed",
        "wait for it; --force takes it from a run that is alive, which then runs nothing more",
        owner=held.row.owner,
    )
