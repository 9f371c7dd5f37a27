"""The row of a lock table: whether a run holds it, which run that is, and whether that run is dead."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from glacierbase.model.result import LockHolder
from glacierbase.run.clock import SKEW, seconds
from glacierbase.run.processes import is_gone, is_running, is_same_boot
from glacierbase.stores import FORMAT_VERSION, LockRow, Store

# More than the acquisitions that can follow the last event: runs with nothing to do acquire a fence and write no event.
_UNRECORDED = 1000
# The longest lease that a catalog file may set.
_LONGEST_LEASE = 86_400.0
_ZERO = timedelta(0)
# The holder where a row was added in place of a lost one.
_LOST_HOLDER = "a run whose row is lost"


@dataclass(frozen=True, slots=True)
class LockTerms:
    """What a lock protects, and for how many seconds a renewal holds it."""

    catalog: str
    environment: str
    lease_seconds: float


def free_row(terms: LockTerms, history_fence: int | None = None) -> LockRow:
    """Return the first row of a lock table, with a fence above those of all runs.

    Args:
        history_fence: the newest known fence, where a row may be lost. A run that has recorded nothing may have a higher
            one, also if the history is empty. None if no run ever had a fence.
    """
    return LockRow(
        catalog=terms.catalog,
        environment=terms.environment,
        owner="",
        fence=0 if history_fence is None else _above(history_fence),
        beat=0,
        acquired_at=None,
        expires_at=None,
        head_fence=0,
        head_sequence=0,
        holder=None,
        format_version=FORMAT_VERSION,
    )


def _above(history_fence: int) -> int:
    """Return a fence above those of all runs, where only the history is left."""
    return history_fence + _UNRECORDED


def next_fence(row: LockRow, history_fence: int) -> int:
    """Return the fence of the run that acquires the lock; a row that is older than the history was restored or recreated."""
    return (row.fence if row.fence >= history_fence else _above(history_fence)) + 1


def in_place_of(rows: Sequence[LockRow], terms: LockTerms, history_fence: int) -> LockRow:
    """Return the row that replaces all rows of a damaged table: the newest one, with the highest fence and head."""
    free = free_row(terms, history_fence)
    if not rows:
        return free
    newest = max(rows, key=lambda row: (row.fence or 0, row.owner or ""))
    head = max((row.head_fence or 0, row.head_sequence or 0) for row in rows)
    return replace(
        newest,
        catalog=terms.catalog,
        owner=newest.owner or "",
        fence=max(newest.fence or 0, free.fence),
        beat=0,
        head_fence=head[0],
        head_sequence=head[1],
        format_version=newest.format_version or FORMAT_VERSION,
    )


def is_held(row: LockRow) -> bool:
    """Return whether the row names a run as its holder. The run may have died."""
    return row.owner != ""


def fence_of(row: LockRow | None) -> int:
    """Return the fence of the row; 0 where there is no lock table."""
    return row.fence if row is not None else 0


def holder_of(row: LockRow) -> Mapping[str, Any]:
    """Return the holder as the row describes it; an empty mapping where the column is not what a run writes."""
    try:
        holder = json.loads(row.holder or "{}")
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}


def describe_holder(row: LockRow) -> str:
    """Return `held by` and the run that holds the lock, or may hold it by a lost row."""
    return f"held by {holder_values(row).run}" if is_held(row) else f"perhaps held by {_LOST_HOLDER}"


def who_holds(row: LockRow) -> str:
    """Return the person, machine and process of the run that holds the lock, or may hold it by a lost row."""
    return holder_values(row).who if is_held(row) else _LOST_HOLDER


def lease_of(row: LockRow, lease_seconds: float) -> float:
    """Return the seconds without a renewal after which the holder is dead: the longer of its lease and `lease_seconds`."""
    recorded = holder_of(row).get("lease_seconds")
    if isinstance(recorded, (int, float)) and recorded <= _LONGEST_LEASE:
        return max(lease_seconds, float(recorded))
    return lease_seconds


def overdue_by(row: LockRow, lease_seconds: float, store: Store) -> timedelta:
    """Return the time since one lease after the row's lease expired, by the clock of the store; negative before that.

    A process that this machine proves to run is never overdue: the clock may have been set since.
    """
    if row.expires_at is None or is_running(holder_of(row)):
        return timedelta.min
    return store.now() - row.expires_at - timedelta(seconds=lease_of(row, lease_seconds))


def living_fence(row: LockRow | None, lease_seconds: float, store: Store) -> int | None:
    """Return the fence of the run that holds the lock; None where the lock is free or its holder is dead."""
    if row is None or not is_held(row) or HolderWatch(lease_seconds, store).is_dead(row):
        return None
    return row.fence


class HolderWatch:
    """Decides whether the holder of a row is dead: its lease expired, its process ended, or it missed a whole lease."""

    def __init__(self, lease_seconds: float, store: Store) -> None:
        self._lease = lease_seconds
        self._store = store
        self._claim: tuple[str, int, int] | None = None
        self._was_renewed = False
        self._since = 0.0

    def may_be_held(self, row: LockRow) -> bool:
        """Return whether the row names a holder, or replaces a lost one whose holder may still prove its lease."""
        is_added = row.acquired_at is None and row.fence > 0
        return is_held(row) or (is_added and self._store.proves_by_lease)

    def is_dead(self, row: LockRow) -> bool:
        """Return whether the lock may be taken over. Call it with each row that was read."""
        lease = lease_of(row, self._lease)
        if is_gone(holder_of(row)) or self._is_overdue(row):
            return True
        if row.claim != self._claim:
            self._was_renewed = self._claim is not None
            self._claim, self._since = row.claim, seconds()
        # Not the time of day: a correction of it would end the watch early.
        return seconds() - self._since > lease

    def is_undecided(self, row: LockRow) -> bool:
        """Return whether the lease is over by this machine's clock, which may be wrong, and no renewal was observed yet."""
        return not self._was_renewed and overdue_by(row, self._lease, self._store) > _ZERO

    def _is_overdue(self, row: LockRow) -> bool:
        """Return whether the lease expired more than a lease ago, with a margin where the holder used another clock."""
        has_same_clock = self._store.has_clock or is_same_boot(holder_of(row))
        return overdue_by(row, self._lease, self._store) > (_ZERO if has_same_clock else SKEW)


def lock_holder(row: LockRow | None) -> LockHolder | None:
    """Return the lock holder, or None."""
    return holder_values(row) if row is not None and is_held(row) else None


def holder_values(row: LockRow) -> LockHolder:
    """Return the holder that the row of a held lock names."""
    holder = holder_of(row)
    return LockHolder(
        owner=row.owner,
        host=holder.get("host"),
        pid=holder.get("pid"),
        os_user=holder.get("os_user"),
        ci_url=holder.get("ci_url"),
        acquired_at=row.acquired_at,
        expires_at=row.expires_at,
    )
