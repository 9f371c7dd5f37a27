"""What the runs of one command share: made once for each key, and closed at the end, whenever it was made."""

from __future__ import annotations

import threading

import pytest

from glacierbase.run.shared import Shared
from glacierbase.run.waiting import start_thread


class Closings(list[str]):
    """The names of values, in the order in which they were closed."""

    def get(self, shared: Shared, key: str, name: str, *, is_usable: bool = True) -> str:
        return shared.get("slot", key, lambda: name, self.append, lambda _: is_usable)


def test_a_value_is_made_once_for_a_key() -> None:
    """One for another key, or one that is not usable, is closed before the next is made."""
    closed = Closings()
    with Shared() as shared:
        assert [closed.get(shared, "a", name) for name in ("first", "second")] == ["first", "first"]
        assert closed.get(shared, "a", "third", is_usable=False) == "third"
        assert closed.get(shared, "b", "fourth") == "fourth"
        shared.discard("slot")
        assert closed == ["first", "third", "fourth"]
        assert closed.get(shared, "b", "fifth") == "fifth"
    assert closed == ["first", "third", "fourth", "fifth"]


def test_a_value_that_is_made_after_the_end_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that hangs does not delay the end of a command that was stopped."""
    closed, going, may_end = Closings(), threading.Event(), threading.Event()

    def make() -> str:
        going.set()
        may_end.wait(10)
        return "late"

    monkeypatch.setattr("glacierbase.run.shared._EXIT_SECONDS", 0.05)
    with Shared() as shared:
        maker = start_thread(lambda: shared.get("slot", "a", make, closed.append), "maker")
        going.wait(10)
    assert closed == []
    may_end.set()
    maker.join()
    assert closed == ["late"]
