"""What the runs of one command share, such as a started engine: made once, and closed when the command ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar, cast

T = TypeVar("T")


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

    def get(self, slot: Hashable, key: Hashable, make: Callable[[], T], close: Callable[[T], object]) -> T:
        """Return the value of a slot. One that was made for another key is closed, and a new one is made.

        Args:
            close: called once with the value. Never raises.
        """
        with self._lock(slot):
            kept = self._kept.get(slot)
            if kept is None or kept.key != key:
                self._close(slot)
                kept = _Kept(key, make(), close)
                self._kept[slot] = kept
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
        for slot in reversed(list(self._kept)):
            self.discard(slot)

    def _lock(self, slot: Hashable) -> threading.Lock:
        with self._mutex:
            return self._locks.setdefault(slot, threading.Lock())

    def _close(self, slot: Hashable) -> None:
        if kept := self._kept.pop(slot, None):
            kept.close(kept.value)
