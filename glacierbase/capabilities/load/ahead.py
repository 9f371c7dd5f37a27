"""Reading several sources side by side, in threads, with their items in the order of the sources."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from threading import Condition
from typing import Generic, TypeVar

from glacierbase.run.waiting import start_thread

T = TypeVar("T")

Source = Callable[[], Iterator[T]]


def in_order(sources: Sequence[Source[T]], threads: int, ahead: int) -> Generator[T, None, None]:
    """Yield the items of the first source, then those of the second, and so on, while threads read the next sources.

    The error of a source is raised in its place, after the items before it. When the iterator is closed, no thread requests
    another item.

    Args:
        threads: how many sources are read side by side.
        ahead: how many items are kept in memory; each thread holds one more.
    """
    reading = _Reading(sources, ahead)
    try:
        for number in range(min(threads, len(sources))):
            start_thread(reading.read, f"glacierbase-listing-{number}")
        yield from reading.items()
    finally:
        reading.stop()


class _End:
    """The end of a source, and its error if it failed."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Reading(Generic[T]):
    """The state that the threads share; every access holds `_changed`."""

    def __init__(self, sources: Sequence[Source[T]], ahead: int) -> None:
        self._sources = sources
        self._ahead = ahead
        self._changed = Condition()
        self._read: list[deque[T | _End]] = [deque() for _ in sources]
        self._count = 0  # Of the items in `_read`.
        self._next = 0  # The first source that no thread reads.
        self._current = 0  # The source whose items are yielded.
        self._is_stopped = False

    def read(self) -> None:
        """Read sources until there are no more."""
        while (index := self._claim()) is not None:
            try:
                if not all(self._put(index, item) for item in self._sources[index]()):
                    return
                end = _End()
            except BaseException as error:
                end = _End(error)
            self._put(index, end)

    def _claim(self) -> int | None:
        with self._changed:
            if self._is_stopped or self._next == len(self._sources):
                return None
            self._next += 1
            return self._next - 1

    def _put(self, index: int, item: T | _End) -> bool:
        """Wait until there is room for the item, and return False if reading was stopped meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._has_room(index))
            if not self._is_stopped:
                self._read[index].append(item)
                self._count += 1
                self._changed.notify_all()
            return not self._is_stopped

    def _has_room(self, index: int) -> bool:
        # The current source has room for one item even if the others use all of it: without it nothing could be yielded.
        return self._count < self._ahead or (index == self._current and not self._read[index])

    def items(self) -> Iterator[T]:
        """Yield the items in the order of the sources."""
        for index, items in enumerate(self._read):
            with self._changed:
                self._current = index
                self._changed.notify_all()
            while not isinstance(item := self._take(items), _End):
                yield item
            if item.error:
                raise item.error

    def _take(self, items: deque[T | _End]) -> T | _End:
        with self._changed:
            self._changed.wait_for(lambda: items)
            self._count -= 1
            self._changed.notify_all()
            return items.popleft()

    def stop(self) -> None:
        """Let each thread end before its next item."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
