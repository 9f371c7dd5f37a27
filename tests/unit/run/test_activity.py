"""What a command is doing: named while it lasts, from every thread of the command, and from no other."""

from __future__ import annotations

import threading

import pytest

from glacierbase.run.activity import doing, note, watched
from glacierbase.run.waiting import start_thread


def test_an_activity_is_listed_while_it_lasts() -> None:
    """The newest is last; an error ends an activity too."""
    with watched() as activities:
        with doing("outer"), doing("inner", lambda: "half"):
            assert [(each.what, each.detail()) for each in activities] == [("outer", None), ("inner", "half")]
        with pytest.raises(KeyboardInterrupt), doing("interrupted"):
            raise KeyboardInterrupt
        assert list(activities) == []


def test_the_threads_of_a_command_share_the_list_and_other_threads_do_not() -> None:
    """An engine starts in a thread of the command. A thread that the caller started belongs to another command."""
    seen: list[str] = []

    def look() -> None:
        with doing("elsewhere"):
            note("a note")
            seen.extend(f"{each.what}, {each.detail()}" for each in activities)

    with watched() as activities, doing("here"):
        start_thread(look, "own").join()
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert seen == ["here, None", "elsewhere, a note", "here, None"]


def test_a_note_is_the_detail_of_the_innermost_activity_of_its_thread() -> None:
    """The thread that copies the output of a JVM notes what the JVM downloads."""
    with watched() as activities, doing("outer"):
        with doing("inner"):
            start_thread(lambda: note("from a thread"), "own").join()
            assert [each.detail() for each in activities] == [None, "from a thread"]
        note("later")
        assert [each.detail() for each in activities] == ["later"]
    note("nothing is done now")
