"""The guides about schemas and their authors, run literally on the sample project with a history in memory."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.docs.pages import DOCS, blocks
from tests.docs.test_blocks import commands
from tests.support.program import call_program
from tests.support.project_folder import ProjectFolder
from tests.support.sample_story import tell_sample


def single(line: str) -> str:
    """Return a line with single blanks: the width of a column depends on the longest cell."""
    return re.sub(r" {2,}", "  ", line.strip())


@pytest.mark.parametrize("page", ["schema-of-a-table", "who-changed-it"])
def test_every_command_of_the_guide_works_and_prints_what_it_shows(
    page: str, sample: Callable[[], ProjectFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each exits with 0, and the lines of a block of output are among those of the commands before it."""
    tell_sample(sample().root, monkeypatch)
    printed: set[str] = set()
    shown = 0
    for block in blocks(DOCS / "guides" / f"{page}.md"):
        if block.language == "sh":
            outputs = [call_program(words[1:]) for words in commands(block.text) if words]
            assert [(output.code, output.stderr) for output in outputs] == [(0, "")] * len(outputs), str(block)
            printed = {single(line) for output in outputs for line in output.stdout.splitlines()}
        elif block.marker == "output":
            assert [line for line in map(single, block.text.splitlines()) if line not in printed] == [], str(block)
            shown += 1
    assert shown == 4 if page == "schema-of-a-table" else shown == 3
