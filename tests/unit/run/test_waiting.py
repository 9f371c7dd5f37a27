"""Threads that make calls for others."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

import pytest

from glacierbase.run.waiting import Caller, NoAnswer, result


def named(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


@pytest.mark.parametrize("is_ended", [True, False])
def test_a_thread_ends_after_its_last_call(is_ended: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread ends even if its Caller is only forgotten, so a process that runs for months collects no threads."""
    monkeypatch.setattr(threading.current_thread(), "name", "this test")
    caller, goes_on = Caller(), threading.Event()
    answer = caller.submit(lambda: goes_on.wait(60))
    [thread] = named("this test call")
    if is_ended:
        caller.end()
    else:
        del caller
    goes_on.set()
    assert answer.result(60)
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize(("seconds", "grace_seconds"), [(0.05, 5), (5, 0.05)])
def test_a_cancelled_wait_ends_at_its_time_limit_and_after_its_grace(seconds: float, grace_seconds: float) -> None:
    """The earlier of both counts: a signal never makes a wait longer."""
    began = time.monotonic()
    with pytest.raises(NoAnswer):
        result(Future[None](), seconds, lambda: True, grace_seconds)
    assert time.monotonic() - began < 3
