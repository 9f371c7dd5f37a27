"""The examples of errors about tables are what the commands print."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from glacierbase import GlacierbaseError, Project
from glacierbase.capabilities.tables.drift import DriftResult, Unread, _not_compared
from glacierbase.errors.reference import ENTRIES
from tests.support.errors import text_error
from tests.support.project_folder import ProjectFolder
from tests.support.story import Story, asked, column, shape

EVENTS, WEB = "lake.sleep.events", "lake.web.events"
ASKED: dict[str, Callable[[Project], object]] = {
    "UNKNOWN_TABLE": lambda project: project.blame("sleep.event"),
    "AMBIGUOUS_TABLE": lambda project: project.blame("events"),
    "UNKNOWN_COLUMN": lambda project: project.blame("sleep.events.devices"),
    "INVALID_TIME": lambda project: project.schema("sleep.events", at="yesterday"),
    "NO_STATEMENTS": lambda project: project.schema("sleep.events", sql=True),
}


def test_the_example_of_a_table_that_was_not_read_is_what_drift_prints() -> None:
    """Message and hint."""
    found = DriftResult("shop", "default", compared=1, unread=(Unread("lake.a.broken", "the bucket is gone"),))
    error = _not_compared(found)
    assert error is not None
    lines = text_error(error).splitlines()
    assert [line for line in lines if not line.startswith("more: ")] == ENTRIES[error.code].example.splitlines()


@pytest.mark.parametrize("code", ASKED)
def test_the_example_of_an_entry_is_what_a_question_prints(
    code: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Message and hint, for a history in memory."""
    events = shape(EVENTS, column(1, "id", "uuid"), column(2, "device"))
    told = asked(Story().file(1, {EVENTS: events, WEB: shape(WEB, uuid="u-2")}), project, monkeypatch)
    with pytest.raises(GlacierbaseError) as caught:
        ASKED[code](told)
    lines = text_error(caught.value).splitlines()
    assert [line for line in lines if not line.startswith("more: ")] == ENTRIES[code].example.splitlines()
