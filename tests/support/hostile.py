"""Text that must not reach a terminal or a CI service unescaped, and checks that it did not."""

from __future__ import annotations

import re
import unicodedata

# C0 but tab and line feed, DEL, C1; soft hyphen; directions; widths of nothing; separators of lines; half a character; a tag.
CONTROLS = [
    *(chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\t\n"),
    *"\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069",
    *"\ufeff\udcff\U000e0041",
]
COMMANDS = "::error::FAKE\n \u3000::set-env name=X::y\r::debug::a\n##[group]b ##vso[c]d ###VSO[e]f ##teamcity[g]h"
FORGED = "error: FAKE: it broke\n  next: FAKE"
_WRONG = {"Cc", "Cf", "Cs", "Zl", "Zp"}
PAYLOAD = f"{COMMANDS}\n{FORGED}\nx{''.join(CONTROLS)}\x1b[2Jy"
# The part of it that a file name can hold: no zero and no slash.
NAME = f"a\n{COMMANDS}\n{FORGED}\x1b[2J\x85\u202e\u2028z"


def check_inert(output: str) -> None:
    """Check that no character moves a cursor or turns text, and that no line is a command of a CI service."""
    wrong = {each for each in output if each not in "\t\n" and unicodedata.category(each) in _WRONG}
    assert sorted(map(ascii, wrong)) == []
    for line in lines(output):
        assert not line.lstrip().startswith("::"), line
        assert not re.search(r"##\w*\[", line), line


def check_safe(output: str) -> None:
    """Check the same, and that no line looks like one of the program."""
    check_inert(output)
    for line in lines(output):
        assert not line.lstrip().startswith(("error: FAKE", "next: FAKE")), line


def lines(output: str) -> list[str]:
    """Return the lines as a CI service reads them."""
    return re.split(r"\r\n|\r|\n", output)
