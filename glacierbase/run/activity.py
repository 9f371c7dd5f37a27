"""The current activities of a command, for a display in another thread. Nothing is printed here.

The activities are in context variables, because code of every room has some. Only the display depends on them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count

Detail = Callable[[], str | None]


@dataclass(slots=True, eq=False)
class Activity:
    """Something that may take longer than a second.

    Attributes:
        what: the catalog and what is done to it, such as `shop: starting Spark`.
        detail: returns its progress, or None; may take as long as an engine takes to answer.
        announce: whether its start is worth a line of a log.
        line: the number of the line that shows it on a terminal.
        since: the reading of the monotonic clock at its start.
    """

    what: str
    detail: Detail
    announce: bool
    since: float = field(default_factory=time.monotonic)
    line: int = 0


_watched: ContextVar[list[Activity] | None] = ContextVar("glacierbase_watched", default=None)
_innermost: ContextVar[Activity | None] = ContextVar("glacierbase_innermost", default=None)
_line: ContextVar[int] = ContextVar("glacierbase_line", default=0)
_lines = count(1)


@contextmanager
def watched(activities: list[Activity] | None = None) -> Iterator[Sequence[Activity]]:
    """Collect the activities of this thread, and of threads that it starts with `start_thread`; the newest is last.

    Args:
        activities: the list that an activity is appended to and removed from; default a new one.
    """
    activities = [] if activities is None else activities
    token = _watched.set(activities)
    try:
        yield activities
    finally:
        _watched.reset(token)


@contextmanager
def on_own_line() -> Iterator[None]:
    """Show the activities of the block, and of threads that it starts with `start_thread`, on a separate line."""
    token = _line.set(next(_lines))
    try:
        yield
    finally:
        _line.reset(token)


@contextmanager
def doing(what: str, detail: Detail = lambda: None, *, announce: bool = True) -> Iterator[None]:
    """Register an activity for the block; the arguments are the attributes of `Activity`."""
    activity, activities = Activity(what, detail, announce, line=_line.get()), _watched.get()
    token = _innermost.set(activity)
    try:
        if activities is not None:
            activities.append(activity)
        yield
    finally:
        _innermost.reset(token)
        if activities is not None:
            with suppress(ValueError):  # An interrupt may arrive before the activity is in the list.
                activities.remove(activity)


def note(text: str) -> None:
    """Set the detail of the innermost activity, from its thread or a thread that it started with `start_thread`."""
    if (activity := _innermost.get()) is not None:
        activity.detail = lambda: text
