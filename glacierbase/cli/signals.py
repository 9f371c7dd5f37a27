"""SIGINT, SIGTERM and SIGHUP while a command runs."""

from __future__ import annotations

import logging
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from glacierbase.executors.cancel import GRACE_SECONDS
from glacierbase.model.printable import printable
from glacierbase.run.held import HeldLocks
from glacierbase.run.user_command import kill_running

logger = logging.getLogger("glacierbase")

# Windows has no SIGHUP, which programs get when their terminal is closed.
_HANGUP = getattr(signal, "SIGHUP", None)
_STANDARD_OUTPUTS = (1, 2)
_STOPPING = "stopping: the running statement is cancelled after %.0f s; a second signal ends the process at once"


class Signals:
    """The signals that a command received. The first stops it, the second ends the process at once."""

    def __init__(self, before_exit: Callable[[], None] = lambda: None) -> None:
        """Args:
        before_exit: called before a second signal ends the process.
        """
        self._before_exit = before_exit
        self._received: list[int] = []
        self._locks: list[HeldLocks] = []

    @property
    def exit_code(self) -> int | None:
        """The exit code for the first signal, or None if there was no signal."""
        return 128 + self._received[0] if self._received else None

    def watch(self, locks: HeldLocks) -> None:
        """Print the names of these locks if a second signal ends the process while they are held."""
        self._locks.append(locks)

    @contextmanager
    def cancelling(self) -> Iterator[threading.Event]:
        """Set the event at the first signal, so that the run stops between two statements or cancels the running one."""
        cancel = threading.Event()

        def stop() -> None:
            cancel.set()
            # The signal may interrupt a write to stderr, in which this thread cannot write again.
            threading.Thread(target=logger.warning, args=(_STOPPING, GRACE_SECONDS), name="stopping").start()

        with self._handled(stop):
            yield cancel

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Raise KeyboardInterrupt at the first signal, so that locks are released and engines closed."""

        def interrupt() -> None:
            raise KeyboardInterrupt

        with self._handled(interrupt):
            yield

    @contextmanager
    def _handled(self, first: Callable[[], None]) -> Iterator[None]:
        def handle(number: int, _frame: FrameType | None) -> None:
            self._received.append(number)
            if number == _HANGUP:
                _leave_terminal()
            if len(self._received) > 1:
                self._end_process(number)
            first()

        before = {number: signal.signal(number, handle) for number in _handled_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end_process(self, number: int) -> None:
        """End the process without releasing its locks, and print their names. A running hook is killed."""
        kill_running()
        self._before_exit()
        for description in (description for locks in self._locks for description in locks.descriptions()):
            with suppress(OSError):
                # Not through `sys.stderr`: the signal may interrupt a write to it.
                os.write(
                    2, f"{printable([f'a lock is left behind: {description}'])}\n".encode(errors="backslashreplace")
                )
        os._exit(128 + number)


def _handled_signals() -> list[int]:
    # Under `nohup`, SIGHUP is ignored and must remain so.
    is_heeded = _HANGUP is not None and signal.getsignal(_HANGUP) is not signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([_HANGUP] if _HANGUP is not None and is_heeded else [])]


def _leave_terminal() -> None:
    """Discard output to a closed terminal: it would raise an error in place of the command's end."""
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in _STANDARD_OUTPUTS:
        with suppress(OSError):
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            if any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0)):
                os.dup2(null, descriptor)
    os.close(null)
