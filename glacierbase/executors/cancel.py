"""Stopping a run from outside while the engine is at work: the statement gets a moment to end, then it is cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from glacierbase.executors import Session
from glacierbase.run.waiting import start_thread

# Most changes of a table's metadata end within it, and nobody has to find out afterwards what became of them. CI services
# kill what has not ended some seven seconds after they asked.
GRACE_SECONDS = 3.0
_LOOK_SECONDS = 0.2
# An engine that was between two jobs of the statement when it was asked begins the next one.
_AGAIN_SECONDS = 1.0
# A statement that waits for a server without an answer has no job that could be cancelled.
_GIVE_UP_SECONDS = 10.0


@contextmanager
def cancelling(session: Session, stopped: Callable[[], bool], end_engine: Callable[[], None]) -> Iterator[None]:
    """While the session runs a statement in here: cancel it if it still runs a while after `stopped` has said so.

    Args:
        end_engine: called when the statement goes on for all that; `execute` then raises that its outcome is unknown.
    """
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_SECONDS):
            if stopped():
                cancel_until_it_ends()
                return

    def cancel_until_it_ends() -> None:
        wait, given_up = GRACE_SECONDS, time.monotonic() + _GIVE_UP_SECONDS
        while not ended.wait(wait):
            session.cancel()
            wait = _AGAIN_SECONDS
            if time.monotonic() > given_up:
                end_engine()
                return

    watcher = start_thread(watch, "glacierbase-stop")
    try:
        yield
    finally:
        ended.set()
        watcher.join()
