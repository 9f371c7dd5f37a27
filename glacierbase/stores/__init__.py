"""The port to where history and lock live: two tables per catalog, one append and one compare-and-set.

A store decides nothing: what an event means is said in `glacierbase.history.records`, who may take the lock in
`glacierbase.apply.lock`. Every implementation passes `tests/engines/contract/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from glacierbase.model.migration import Event

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class LockRow:
    """The one row of a catalog's lock table.

    Attributes:
        owner: id of the run that holds the lock, empty when it is free.
        fence: grows by at least one with every acquisition; whoever holds a lower one has lost.
        beat: grows by one with every renewal.
        head_fence, head_sequence: the last event that the history acknowledged; a history that ends before is not whole.
        holder: JSON, who that run is.
    """

    catalog: str
    environment: str
    owner: str
    fence: int
    beat: int
    acquired_at: datetime | None
    expires_at: datetime | None
    head_fence: int
    head_sequence: int
    holder: str | None
    format_version: int

    @property
    def claim(self) -> tuple[str, int, int]:
        """What a compare-and-set compares."""
        return (self.owner, self.fence, self.beat)


class Store(Protocol):
    """History and lock of one catalog. Every read is uncached: it sees what was committed before it began.

    All methods but `now` raise `EngineError` where the tables cannot be read or written.

    Attributes:
        proves_by_lease: whether a lease that was renewed in time proves the lock, because a read costs what a statement does.
        has_clock: whether `now` is the time of a server that all runs share.
        compacts_every: so many events make a compaction worth its price. Each event is a file to read.
    """

    compacts_every: int

    @property
    def proves_by_lease(self) -> bool: ...

    @property
    def has_clock(self) -> bool: ...

    def now(self) -> datetime:
        """The time that leases are told by: the server's where all runs share one, once the lock was read; else this machine's."""

    def read_history(self) -> tuple[Event, ...]:
        """All events; none when there is no history table."""

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        """The events of the other catalogs in the same namespace, by their names."""

    def read_lock(self) -> LockRow | None:
        """The lock's row, or None when there is no lock table."""

    def has_namespace(self) -> bool:
        """Whether there is the namespace that the tables live in."""

    def create(self, free: LockRow) -> None:
        """Create what is missing of the namespace, the history and then the lock, with the row `free` in the same commit.

        Several first runs may do so together: afterwards both tables exist, once, with one row.
        """

    def drop(self, *, namespace: bool) -> None:
        """Remove both tables for good, and with `namespace` the namespace, which must be empty then."""

    def append(self, events: Sequence[Event]) -> None:
        """Add the events in one commit."""

    def compact(self) -> None:
        """Make the files of both tables few again, one commit each, and delete what only their older snapshots name.

        Called under the lock. No event is lost or changed, wherever it is interrupted and whoever else writes meanwhile.
        """

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        """Make the row `new` if its claim is still `expected`'s: True if it is `new` now, of any number of callers for one."""
