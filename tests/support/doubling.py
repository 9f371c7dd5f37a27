"""A function that an engine's tasks run. The module imports only the standard library: it is sent to them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

_TIMES = 2


def doubled(rows: Iterable[tuple[int, str | None]]) -> Iterator[tuple[int, str | None, int]]:
    """Yield each number doubled, with its text, and 1 where this Python has imported this module, otherwise 0."""
    for number, text in rows:
        if number < 0:
            raise ValueError(f"{number} is negative")
        yield number * _TIMES, text, int(__name__ in sys.modules)
