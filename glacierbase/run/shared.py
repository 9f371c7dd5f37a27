"""What the runs of one command share, such as a started engine: made once, and closed when the command ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar, cast

T = TypeVar("T")

# How long the exit waits for a value that another thread makes or closes.
_EXIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Kept:
    """A value, the key that it was made for, and how it is closed."""

    key: Hashable
    value: Any
    close: Callable[[Any], object]


class Shared:
    """Slots with one value each, which several threads may request at the same time. Closes the values when it is exited.

    Attributes:
        is_parallel: whether several catalogs may run at the same time, so that each engine needs a process of its own.
    """

    def __init__(self, *, is_parallel: bool = False) -> None:
        self.is_parallel = is_parallel
        self._mutex = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._kept: dict[Hashable, _Kept] = {}
        self._is_exited = False

    def get(
        self,
        slot: Hashable,
        key: Hashable,
        make: Callable[[], T],
        close: Callable[[T], object],
        is_usable: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """Return the value of a slot. One that was made for another key, or is not usable, is closed, and a new one is made.

        Args:
            close: called with the value. Never raises.
        """
        with self._lock(slot):
            kept = self._kept.get(slot)
            if kept is None or kept.key != key or not is_usable(kept.value):
                self._close(slot)
                kept = self._kept[slot] = _Kept(key, make(), close)
                if self._is_exited:  # While the value was made. Its user is not waited for.
                    self._close(slot)
            return cast("T", kept.value)

    def discard(self, slot: Hashable) -> None:
        """Close the value of a slot, if there is one: the next request makes a new one."""
        with self._lock(slot):
            self._close(slot)

    def __enter__(self) -> Shared:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all values. Never raises."""
        self._is_exited = True
        for slot in reversed(list(self._locks)):
            # A value that is still being made, which takes minutes where jars are downloaded, is closed by `get`.
            lock = self._locks[slot]
            if lock.acquire(timeout=_EXIT_SECONDS):
                try:
                    self._close(slot)
                finally:
                    lock.release()

    def _lock(self, slot: Hashable) -> threading.Lock:
        with self._mutex:
            return self._locks.setdefault(slot, threading.Lock())

    def _close(self, slot: Hashable) -> None:
        if kept := self._kept.pop(slot, None):
            kept.close(kept.value)
