"""Escaping of a line, of a value in a line, and of a JSON document."""

from __future__ import annotations

import json

import pytest

from glacierbase.model.escape import on_one_line, printable_json
from glacierbase.model.printable import printable
from glacierbase.model.text import quoted
from glacierbase.secrets import register
from tests.support.hostile import CONTROLS, PAYLOAD, check_safe


@pytest.mark.parametrize("character", CONTROLS)
def test_a_character_that_a_terminal_obeys_is_shown_as_its_escape(character: str) -> None:
    """C0, DEL, C1, direction marks, characters without width, line separators and lone surrogates are escaped."""
    text = printable([f"a{character}b"])
    assert text == f"a{ascii(character)[1:-1]}b"
    document = json.dumps(f"a{character}b", ensure_ascii=False)
    assert printable_json(document).isascii()
    assert json.loads(printable_json(document)) == f"a{character}b"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        (" \t\u3000::error::x", " \t\u3000\\x3a:error::x"),
        (":::error::x", r"\x3a::error::x"),
        ("a ##[error]x", r"a #\x23[error]x"),
        ("a ##vso[task.setvariable variable=a]x", r"a #\x23vso[task.setvariable variable=a]x"),
        ("a ###VSO[task.complete]x", r"a ##\x23VSO[task.complete]x"),
        ("a ##teamcity[buildStop]x", r"a #\x23teamcity[buildStop]x"),
    ],
)
def test_a_command_of_a_ci_service_is_broken(line: str, shown: str) -> None:
    """GitHub's `::` is broken at the start of a line, the others anywhere in it."""
    assert printable([line]) == shown
    assert json.loads(printable_json(json.dumps(line))) == line
    check_safe(printable_json(json.dumps([line], indent=2)))


@pytest.mark.parametrize("line", ["Zoë's 漢字 ÅŸ → 🏔", "\tSELECT a::int, ':: ' # [x] ## [y]", "a\u00a0b\u3000c", ""])
def test_ordinary_text_stays_as_it_is(line: str) -> None:
    """Letters of all languages, tabs, casts and comments are not escaped."""
    assert printable([line]) == line
    document = json.dumps([line], indent=2, ensure_ascii=False)
    assert printable_json(document) == document


def test_text_after_a_line_break_inside_a_line_has_a_margin() -> None:
    """Further lines of a value cannot look like lines of the program. Trailing line ends are dropped."""
    assert printable(["error: a\nerror: b\r\n\n::c::\n", "next: d"]).splitlines() == [
        "error: a", "    | error: b", "    |", "    | ::c::", "next: d",
    ]  # fmt: skip


def test_a_carriage_return_alone_ends_no_line() -> None:
    """On a terminal it would move the cursor to the start of the line, and the text after it would overwrite the line."""
    assert printable(["SELECT 1 -- \rDROP TABLE t"]) == r"SELECT 1 -- \rDROP TABLE t"
    assert quoted("SELECT 1\r\n\r, 2\n") == ["    | SELECT 1", "    | \r, 2"]


def test_a_value_on_one_line_keeps_to_it() -> None:
    """In a comment of SQL, the text after a line break would be a statement."""
    assert on_one_line("a\nDROP TABLE t\r\n") == r"a\nDROP TABLE t\r\n"


def test_a_secret_is_masked_before_anything_is_escaped() -> None:
    """A secret is not found any more in escaped text."""
    register("canary\x1bof\u202ethe\nthree lines")
    text = "it is canary\x1bof\u202ethe\nthree lines"
    for shown in (printable([text]), on_one_line(text)):
        assert "canary" not in shown
        assert "three" not in shown


def test_escaping_twice_is_escaping_once() -> None:
    """The cells of a table are escaped to measure their width, and escaped again as parts of a line."""
    once = on_one_line(PAYLOAD)
    assert printable([once]) == once
    check_safe(printable([PAYLOAD]))
    check_safe(once)
