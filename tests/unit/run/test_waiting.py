"""Threads that make calls for others."""

from __future__ import annotations

import threading

import pytest

from glacierbase.run.waiting import Caller


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
