"""The list of breaks fits the code, and each break is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.breaks import __main__ as program
from tests.breaks import running
from tests.breaks.listed import BREAKS
from tests.breaks.running import Break, run
from tests.support.project_folder import REPOSITORY


def test_every_break_applies_to_the_code_and_names_a_test() -> None:
    """A change of the code must keep the list: correct the entry of the text that it moves."""
    assert [f"{each}: {why}" for each in BREAKS if (why := each.stale(REPOSITORY))] == []
    assert len({(each.file, each.old, each.new) for each in BREAKS}) == len(BREAKS)


def test_what_is_not_noticed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a break that no test sees, one whose text is gone, and one that is noticed, the first two are errors."""
    test = "unit/model/test_names.py::test_a_backtick_ends_no_identifier"
    old = "{part.replace('`', '``')}"
    breaks = (
        Break("a comment", "model/names.py", "# A name as written in a statement.", "# A name.", test),
        Break("gone", "model/names.py", "no such text", "", test),
        Break("a backtick ends a name", "model/names.py", old, "{part}", test),
    )
    assert [why is None for _, why in run(breaks, tmp_path)] == [False, False, True]
    assert (REPOSITORY / "glacierbase/model/names.py").read_text().count(old) == 1
    monkeypatch.setattr(program, "BREAKS", breaks)
    assert program.main(["gone"]) == 1
    assert "NOT NOTICED: model/names.py: gone (its old text occurs 0 times" in capsys.readouterr().out


def test_a_break_whose_test_does_not_end_is_not_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine has the same effect as a wait without end."""
    codes = iter((0, None))
    monkeypatch.setattr(running, "_pytest", lambda *_: next(codes))
    [(_, why)] = run(BREAKS[:1], tmp_path)
    assert why == f"{BREAKS[0].node} does not end"


@pytest.mark.parametrize("each", BREAKS, ids=str)
def test_the_break_is_noticed(each: Break, tmp_path: Path) -> None:
    """The break's test fails with it, and passes without it."""
    assert [why for _, why in run([each], tmp_path)] == [None]
