"""`unlock`: free a lock by hand. It is a take-over that runs nothing."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from glacierbase.apply.lock import Lock
from glacierbase.apply.locked import new_lock, recording, releasing
from glacierbase.apply.results import UnlockResult
from glacierbase.errors import LockHeld, NeedsRepair
from glacierbase.history.lockrow import describe_holder, holder_of, in_place_of, is_held, lease_of, lock_holder
from glacierbase.history.state import CatalogState, read_history, read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.model.migration import EventType
from glacierbase.run.activity import doing
from glacierbase.run.clock import sleep
from glacierbase.run.processes import is_gone, is_running, running_here
from glacierbase.stores import LockRow, Store
from glacierbase.stores.tables import the_row

logger = logging.getLogger("glacierbase")

# Attempts to replace the rows of a damaged table, while others do so.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class ExaminedLock:
    """A lock whose row names a run as its holder, or whose table does not hold one row.

    Attributes:
        row: for a damaged table, the one that replaces all its rows.
        is_gone: whether this machine shows that the process and the engine of the run have ended.
        is_over: whether that is so, or the lease is over by this machine's clock and nothing proves that the process runs.
        evidence: the same in words.
        is_freed: whether `unlock` has freed the lock.
    """

    row: LockRow
    is_gone: bool
    is_over: bool
    evidence: str
    is_freed: bool = False


def unlock_catalog(
    target: CatalogRun, result: UnlockResult, *, reason: str | None, force: bool, rebuild: bool, dry_run: bool
) -> UnlockResult:
    """Release the lock, or with `dry_run` return its holder only. The arguments are those of `Project.unlock`."""
    held = held_lock(target, rebuild=rebuild) if dry_run else unlock(target, reason, force=force, rebuild=rebuild)
    if held is None:
        return result
    return replace(result, lock=lock_holder(held.row), says=held.evidence, released=held.is_freed)


def held_lock(target: CatalogRun, *, rebuild: bool = False) -> ExaminedLock | None:
    """Return the lock, or None when it is free. Writes nothing.

    Args:
        rebuild: also where its table is damaged.
    """
    with target.opened() as opened:
        rows = opened.store.lock_rows() if rebuild else None
        if rows is not None and not _is_sound(rows):
            return _damaged(rows, target)
        return _read_lock(opened, read_state(opened))


def unlock(
    target: CatalogRun, reason: str | None, *, force: bool = False, rebuild: bool = False
) -> ExaminedLock | None:
    """Free the lock, and record from which run it was taken. That run can no longer prove the lock, and runs nothing.

    The holder is watched as `migrate` does it: a lock whose lease is over by this machine's clock is freed after a lease in which
    it was not renewed.

    Args:
        force: also free it from a run that may be alive.
        rebuild: first replace what the table holds by one row, where that is not one row.

    Returns:
        The lock as it was; None when it was free.

    Raises:
        LockHeld: the run may be alive, or has just renewed its lease; nothing was changed.
        Stopped: for a KeyboardInterrupt: after the lock was freed and the event recorded, or before anything was changed.
    """
    with recording() as change:
        return change.make("the lock is free", lambda: _unlock(target, reason, force, rebuild))


def _unlock(target: CatalogRun, reason: str | None, force: bool, rebuild: bool) -> ExaminedLock | None:
    with target.opened() as opened:
        if rebuild and (rebuilt := _rebuild(opened, reason)):
            return rebuilt
        state = read_state(opened)
        held = _read_lock(opened, state)
        if held is None or not is_held(held.row):
            return held
        if not held.is_over and not force:
            raise _may_be_alive(held)
        lock = new_lock(opened, state)
        if force:
            _take(opened, lock, held, state)
        else:
            _take_over(opened, lock, held, state)
        _free(opened, lock, reason)
        return replace(held, is_freed=True)


def _take(opened: OpenCatalog, lock: Lock, held: ExaminedLock, state: CatalogState) -> None:
    """Take the lock at once."""
    if not lock.seize(held.row, state.history.fence):
        raise _may_be_alive(held)
    if opened.store.proves_by_lease and not held.is_gone:
        _wait_for_lease(opened, lease_of(held.row, lock.lease_seconds))


def _wait_for_lease(opened: OpenCatalog, seconds: float) -> None:
    """Wait until the lease of a run that held the lock is over, where that run checks its lease and not the row.

    It may start a statement until then, and the history is complete only then.
    """
    name = opened.target.catalog.name
    logger.info("%s: waiting until the former holder's lease is over", name)
    with doing(f"{name}: waiting for the former holder's lease", announce=False):
        sleep(seconds)


def _take_over(opened: OpenCatalog, lock: Lock, held: ExaminedLock, state: CatalogState) -> None:
    """Take the lock once its holder is dead."""
    try:
        lock.acquire(held.row, state.history.fence, 0, opened.engine.cancelled)
    except LockHeld as error:
        raise _may_be_alive(replace(held, evidence="its lease was renewed while it was watched")) from error


def _rebuild(opened: OpenCatalog, reason: str | None) -> ExaminedLock | None:
    """Replace the rows of a damaged lock table by one, and free it. Return None where it holds one row."""
    target, store = opened.target, opened.store
    for _ in range(_TRIES):
        rows = store.lock_rows()
        if rows is None or _is_sound(rows):
            return None
        history = read_history(target.catalog, store, None).history
        lock = Lock(store, target.terms, target.run, opened.engine.process)
        if lock.rebuild(rows, history.fence):
            if store.proves_by_lease:
                _wait_for_lease(opened, max(lease_of(row, lock.lease_seconds) for row in (lock.row, *rows)))
            _free(opened, lock, reason)
            return replace(_damaged(rows, target), is_freed=True)
    raise LockHeld(
        "LOCK_HELD",
        f"the lock table of {target.catalog.name} was changed by others at each of {_TRIES} attempts to rebuild it",
        "stop the runs and jobs that write to it, and run the command again",
    )


def _free(opened: OpenCatalog, lock: Lock, reason: str | None) -> None:
    with releasing(opened, lock, taken=EventType.UNLOCKED, reason=reason) as locked:
        locked.recorder.flush()


def _is_sound(rows: tuple[LockRow, ...]) -> bool:
    try:
        return the_row(rows, "") is not None
    except NeedsRepair:
        return False


def _damaged(rows: tuple[LockRow, ...], target: CatalogRun) -> ExaminedLock:
    row = in_place_of(rows, target.terms, 0)
    what = "no row" if not rows else "a damaged row" if len(rows) == 1 else f"{len(rows)} rows"
    return ExaminedLock(row, False, True, f"the lock table held {what} instead of one")


def _read_lock(opened: OpenCatalog, state: CatalogState) -> ExaminedLock | None:
    """Return the lock as it was read, or None when it is free."""
    if state.lock is None and state.history.events and (rows := opened.store.lock_rows()) is not None:
        return replace(_damaged(rows, opened.target), evidence="the lock table has no row; the next run adds it")
    return _examined(opened.store, state.lock)


def _examined(store: Store, row: LockRow | None) -> ExaminedLock | None:
    if row is None or not is_held(row):
        return None
    if is_gone(holder_of(row)):
        return ExaminedLock(row, True, True, "its process and its engine have ended on this machine")
    running = ", ".join(running_here(holder_of(row)))
    process = f"running on this machine: {running}" if running else "its process is not visible from this machine"
    if is_running(holder_of(row)):  # Whatever the clock says.
        return ExaminedLock(row, False, False, f"the run is alive; {process}")
    if row.expires_at and row.expires_at < store.now():
        return ExaminedLock(row, False, True, f"its lease is over; {process}")
    return ExaminedLock(row, False, False, f"its lease is not over, the run may be alive; {process}")


def _may_be_alive(held: ExaminedLock) -> LockHeld:
    return LockHeld(
        "LOCK_HELD",
        f"the lock of {held.row.catalog} is {describe_holder(held.row)}; {held.evidence}; nothing was changed",
        "wait for it; --force takes it from a run that is alive, which then runs nothing more",
        owner=held.row.owner,
    )
