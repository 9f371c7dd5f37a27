"""The clock by which leases run."""

from __future__ import annotations

import time


def seconds() -> float:
    """Seconds that count on while the machine is suspended, as a lease does (clock_gettime(2), CLOCK_BOOTTIME)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
