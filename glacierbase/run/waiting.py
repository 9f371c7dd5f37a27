"""Waits that end: a call in a daemon thread, waited for until a time limit or until the run is cancelled."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

T = TypeVar("T")

_POLL_SECONDS = 0.2


class NoAnswer(Exception):
    """The time limit passed, or the run was cancelled, before the call returned. It may still return later."""


class Caller:
    """A daemon thread that makes calls one after another. A call that hangs keeps it, and neither its owner nor the process."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._is_ended = False
        name = f"{threading.current_thread().name} call"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Make the call after those before it.

        Raises:
            RuntimeError: the thread was ended.
        """
        if self._is_ended:
            raise RuntimeError("no call can be made after the end")
        answer: Future[T] = Future()
        self._calls.put((answer, call))
        return answer

    def end(self) -> None:
        """End the thread after the calls that were submitted."""
        self._is_ended = True
        self._calls.put(None)

    def _run(self) -> None:
        while (job := self._calls.get()) is not None:
            answer, call = job
            try:
                answer.set_result(call())
            except BaseException as error:
                answer.set_exception(error)
            del job, answer, call  # What a call refers to must not live until the next one.


def result(
    answer: Future[T],
    seconds: float,
    cancelled: Callable[[], bool] = lambda: False,
    grace_seconds: float = 0,
) -> T:
    """Return what the call returns, or raise what it raises.

    Args:
        seconds: how long to wait for it.
        grace_seconds: how long to wait at most once `cancelled` answers True.

    Raises:
        NoAnswer: it did not end in that time.
    """
    deadline = time.monotonic() + seconds
    in_grace = False
    while not answer.done():
        now = time.monotonic()
        if not in_grace and cancelled():
            in_grace, deadline = True, min(deadline, now + grace_seconds)
        if now >= deadline:
            raise NoAnswer
        wait([answer], min(_POLL_SECONDS, deadline - now))
    return answer.result()


def uninterrupted(call: Callable[[], T]) -> T:
    """Make the call to its end, also where the main thread is interrupted once; the interrupt is raised afterwards."""
    caller = Caller()
    answer = caller.submit(call)
    caller.end()
    try:
        return answer.result()
    except KeyboardInterrupt:
        answer.result()
        raise
