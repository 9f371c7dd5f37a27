"""Threads that keep the caller's context, and waits for their calls until a time limit or until the run is cancelled."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_POLL_SECONDS = 0.2
# Longer than any call to a catalog takes: the time-outs of HTTP and SQL, where they exist, end a call first.
CALL_SECONDS = 300.0
# The limit of a call after a signal. Orchestrators wait 10 to 30 s before they kill a process.
CANCELLED_SECONDS = 10.0


# The answers of calls that were not waited for any longer.
_left: list[Future[Any]] = []


class NoAnswer(Exception):
    """The time limit passed, or the run was cancelled, before the call returned. It may still return later."""


def in_context(call: Callable[P, T]) -> Callable[P, T]:
    """Return the call for another thread; it runs in a copy of this thread's context, so that the same secrets are masked."""
    context = copy_context()
    return lambda *args, **kwargs: context.copy().run(call, *args, **kwargs)


def start_thread(call: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread that makes the call in a copy of this thread's context."""
    thread = threading.Thread(target=in_context(call), name=name, daemon=True)
    thread.start()
    return thread


_Calls = queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]


class Caller:
    """A daemon thread that makes calls one after another. A call that hangs blocks neither its owner nor the end of the process.

    The thread ends when its Caller is garbage-collected, if `end` was not called before.
    """

    def __init__(self) -> None:
        self._calls: _Calls = queue.SimpleQueue()
        self._is_ended = False
        start_thread(partial(_make_calls, self._calls), f"{threading.current_thread().name} call")
        weakref.finalize(self, self._calls.put, None).atexit = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Queue the call after those submitted before.

        Raises:
            RuntimeError: the thread was ended.
        """
        if self._is_ended:
            raise RuntimeError("the thread of this Caller was ended")
        answer: Future[T] = Future()
        self._calls.put((answer, call))
        return answer

    def end(self) -> None:
        """End the thread after the calls that were submitted."""
        self._is_ended = True
        self._calls.put(None)


def _make_calls(calls: _Calls) -> None:
    while (job := calls.get()) is not None:
        answer, call = job
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)
        del job, answer, call  # Objects that the call refers to are freed now, not at the next call.


def result(
    answer: Future[T],
    seconds: float,
    cancelled: Callable[[], bool] = lambda: False,
    grace_seconds: float = 0,
) -> T:
    """Wait for the call, and return its result or raise its error.

    Args:
        seconds: the time limit.
        cancelled: returns True once the run is cancelled.
        grace_seconds: the time limit from then on.

    Raises:
        NoAnswer: the call did not return in time.
    """
    deadline = time.monotonic() + seconds
    in_grace = False
    while not answer.done():
        now = time.monotonic()
        if not in_grace and cancelled():
            in_grace, deadline = True, min(deadline, now + grace_seconds)
        if now >= deadline:
            _left.append(answer)
            raise NoAnswer
        wait([answer], min(_POLL_SECONDS, deadline - now))
    return answer.result()


def is_call_left() -> bool:
    """Return whether a call that was not waited for any longer still runs, perhaps in native code."""
    return not all(answer.done() for answer in _left)


def uninterrupted(call: Callable[[], T]) -> T:
    """Make the call and return its result. A KeyboardInterrupt meanwhile is raised after the call has returned."""
    caller = Caller()
    answer = caller.submit(call)
    caller.end()
    try:
        return answer.result()
    except KeyboardInterrupt:
        answer.result()
        raise
