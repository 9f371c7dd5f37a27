"""The locks that a run holds, for a signal handler that is about to end the process."""

from __future__ import annotations

import threading
from typing import Protocol


class Describable(Protocol):
    """A lock with a description for messages."""

    def describe(self) -> str:
        """Return the catalog of the lock and its holder."""


class HeldLocks:
    """A collection of held locks that several threads may change."""

    def __init__(self) -> None:
        # Reentrant: a signal handler runs in the main thread, which may be inside `add`.
        self._mutex = threading.RLock()
        self._locks: list[Describable] = []

    def __reduce__(self) -> tuple[type[HeldLocks], tuple[()]]:
        """Copy or pickle an empty collection: the copy of a project holds no lock."""
        return HeldLocks, ()

    def add(self, lock: Describable) -> None:
        """Add a lock that was acquired."""
        with self._mutex:
            self._locks.append(lock)

    def discard(self, lock: Describable) -> None:
        """Remove a lock, if it is listed."""
        with self._mutex:
            self._locks = [held for held in self._locks if held is not lock]

    def descriptions(self) -> tuple[str, ...]:
        """Return a description of each lock, in the order of acquisition."""
        with self._mutex:
            return tuple(lock.describe() for lock in self._locks)
