"""What a command that changes the history, and runs nothing, has recorded when a KeyboardInterrupt ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from glacierbase.errors import Stopped
from glacierbase.model.command import command
from glacierbase.run.waiting import uninterrupted

T = TypeVar("T")


class Recording:
    """The one change that a command makes.

    Attributes:
        made: what it was, after it was made.
    """

    def __init__(self) -> None:
        self.made = ""

    def make(self, what: str, change: Callable[[], T]) -> T:
        """Make the change, which is `what`. A KeyboardInterrupt meanwhile is raised after it."""

        def call() -> T:
            answer = change()
            self.made = what
            return answer

        return uninterrupted(call)


@contextmanager
def recording() -> Iterator[Recording]:
    """Raise a KeyboardInterrupt in the block with what was recorded before it.

    Raises:
        Stopped: for a KeyboardInterrupt.
    """
    change = Recording()
    try:
        yield change
    except KeyboardInterrupt as interrupt:
        if change.made:
            raise Stopped(change.made, f"`{command('status')}` shows the versions now") from interrupt
        raise Stopped("nothing was recorded", "run the same command again") from interrupt
