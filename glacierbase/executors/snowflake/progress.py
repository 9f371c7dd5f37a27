"""The state of a running query: running, queued, blocked, waiting for its warehouse."""

from __future__ import annotations

import time
from collections.abc import Callable

# A statement that takes less than this causes no request, and a longer one no more than one in this time.
_INTERVAL_SECONDS = 10.0


class QueryState:
    """The state of one statement's query, as of some seconds ago.

    Not thread-safe: one thread calls `read`.
    """

    def __init__(self, find: Callable[[], Callable[[], str] | None]) -> None:
        """Args:
        find: returns a function that returns the query's state, such as `RESUMING_WAREHOUSE`; None before the query is known.
        """
        self._find = find
        self._state: Callable[[], str] | None = None
        self._due = time.monotonic() + _INTERVAL_SECONDS
        self._last: str | None = None

    def read(self) -> str | None:
        """Return `query resuming warehouse`; None before the first answer. Raises what the requests raise."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _INTERVAL_SECONDS
            self._state = self._state or self._find()
            if self._state:
                self._last = f"query {self._state().lower().replace('_', ' ')}"
        return self._last
