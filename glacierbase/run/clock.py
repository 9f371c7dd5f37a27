"""The clock by which leases run."""

from __future__ import annotations

import time
from datetime import timedelta

# Clocks of two machines differ by less.
SKEW = timedelta(minutes=10)

Mark = tuple[float, float]

# A mark before all others.
NEVER: Mark = (float("-inf"), float("-inf"))


def seconds() -> float:
    """Seconds that count on while the machine is suspended, as a lease does (clock_gettime(2), CLOCK_BOOTTIME)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def mark() -> Mark:
    """This moment, for `since`."""
    return seconds(), time.time()


def since(moment: Mark) -> float:
    """Seconds since a mark, as at least one of two clocks counts them.

    A hypervisor that pauses the whole machine stops the clock that suspension does not; the time of day is corrected afterwards.
    A lease that ends too early is renewed, one that ends too late is another run's.
    """
    booted, day = moment
    return max(seconds() - booted, time.time() - day)
