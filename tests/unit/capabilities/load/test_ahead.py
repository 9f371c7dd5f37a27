"""Sources that are read side by side, with their items in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from glacierbase.capabilities.load.ahead import in_order


def test_the_first_items_are_there_before_the_last_source_is_read() -> None:
    """The iterator does not wait for the sources after the current one."""
    first_is_read = threading.Event()

    def last() -> Iterator[int]:
        assert first_is_read.wait(10)
        yield 2

    items = in_order([lambda: iter([0, 1]), last], 2, 10)
    assert [next(items), next(items)] == [0, 1]
    first_is_read.set()
    assert list(items) == [2]


def test_memory_is_bounded() -> None:
    """However slow the reader is, at most the items ahead, one of each thread and the current one are in memory."""
    read = []

    def source(number: int) -> Iterator[int]:
        for item in range(10):
            read.append(item)
            yield number * 10 + item

    items = in_order([partial(source, number) for number in range(50)], 4, 20)
    most = 0
    for count, item in enumerate(items, 1):
        assert item == count - 1
        time.sleep(0.0002)
        most = max(most, len(read) - count)
    assert count == 500
    assert most <= 20 + 4 + 1


def test_sources_that_fill_the_memory_do_not_stop_the_first_one() -> None:
    """The current source is read on, although those after it have used all room."""
    others_are_full = threading.Event()

    def slow() -> Iterator[int]:
        assert others_are_full.wait(10)
        yield from range(100)

    def quick() -> Iterator[int]:
        for item in range(100):
            yield item
            others_are_full.set()

    read: list[int] = []
    reader = threading.Thread(target=lambda: read.extend(in_order([slow, quick, quick], 3, 2)), daemon=True)
    reader.start()
    reader.join(10)
    assert len(read) == 300


def test_an_error_comes_after_the_items_before_it() -> None:
    """The error of a source is raised in its turn."""

    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("it broke")

    items = in_order([lambda: iter([0]), broken, lambda: iter([2])], 3, 10)
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ValueError, match="it broke"):
        next(items)


def test_no_item_is_read_after_the_end() -> None:
    """A closed iterator ends its threads, those that wait for room too."""
    before = threading.active_count()
    items = in_order([lambda: iter(range(10**6))] * 3, 3, 5)
    assert next(items) == 0
    items.close()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert threading.active_count() == before
