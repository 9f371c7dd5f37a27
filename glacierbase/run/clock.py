"""The clocks of leases and of waits, and the waits themselves."""

from __future__ import annotations

import time
from datetime import timedelta

# An upper bound of the difference between the clocks of two machines.
SKEW = timedelta(minutes=10)

Mark = tuple[float, float]

# A mark that precedes all others.
NEVER: Mark = (float("-inf"), float("-inf"))


def seconds() -> float:
    """Return seconds of a clock that also runs while the machine is suspended (clock_gettime(2), CLOCK_BOOTTIME)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def awake() -> float:
    """Return seconds of a clock that stops while the machine is suspended, so that no wait by it is too short."""
    return time.monotonic()


def sleep(duration: float) -> None:
    """Wait so many seconds in this thread."""
    time.sleep(duration)


def mark() -> Mark:
    """Return the current time, for `since`."""
    return seconds(), time.time()


def since(moment: Mark) -> float:
    """Return the seconds since a mark: the larger number of two clocks.

    A hypervisor that pauses the machine also stops CLOCK_BOOTTIME; the time of day is corrected afterwards. A lease whose end is
    estimated too early is only renewed; if it is estimated too late, the lock may already belong to another run.
    """
    booted, day = moment
    return max(seconds() - booted, time.time() - day)
