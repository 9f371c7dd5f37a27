"""Cancel a run while the engine executes a statement: the statement is cancelled after a grace period."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from glacierbase.executors import Session
from glacierbase.run.waiting import start_thread

# Most changes of a table's metadata end within the grace period, so that their outcome is known. CI services kill a process
# about seven seconds after SIGTERM.
GRACE_SECONDS = 3.0
_POLL_SECONDS = 0.2
# An engine that was between two jobs of the statement starts the next one after a cancel.
_RETRY_SECONDS = 1.0
# A statement that waits for a server without an answer has no job that could be cancelled.
_GIVE_UP_SECONDS = 10.0


@contextmanager
def cancelling(session: Session, cancelled: Callable[[], bool], close_executor: Callable[[], None]) -> Iterator[None]:
    """Cancel the statement that the session runs in the block, if it still runs a grace period after `cancelled` returned True.

    Args:
        close_executor: called when the statement continues nevertheless; `execute` then raises that its outcome is unknown.
    """
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_POLL_SECONDS):
            if cancelled():
                cancel_until_it_ends()
                return

    def cancel_until_it_ends() -> None:
        wait, given_up = GRACE_SECONDS, time.monotonic() + _GIVE_UP_SECONDS
        while not ended.wait(wait):
            session.cancel()
            wait = _RETRY_SECONDS
            if time.monotonic() > given_up:
                close_executor()
                return

    watcher = start_thread(watch, "glacierbase-cancel")
    try:
        yield
    finally:
        ended.set()
        watcher.join()
