"""A clock for the waits of a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class Clock:
    """In place of `time` in `glacierbase.run.clock`: only waiting moves it, and a wait ends at once.

    Attributes:
        now: the seconds that were waited.
        at: what happens at a number of seconds.
    """

    CLOCK_MONOTONIC = CLOCK_BOOTTIME = time.CLOCK_MONOTONIC

    def __init__(self) -> None:
        self.now = 0.0
        self.at: list[tuple[float, Callable[[], Any]]] = []

    def monotonic(self) -> float:
        return self.now

    def clock_gettime(self, _: int) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        due, self.at = (
            [each for each in self.at if each[0] <= self.now],
            [each for each in self.at if each[0] > self.now],
        )
        for _, happens in due:
            happens()
