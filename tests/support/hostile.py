"""Text that must not reach a terminal or a CI service as it is, and how to see that it did not."""

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
# As much of it as fits into the name of a file, which holds no zero and no slash.
NAME = f"a\n{COMMANDS}\n{FORGED}\x1b[2J\x85\u202e\u2028z"


def check_inert(output: str) -> None:
    """Nothing in it moves a cursor or turns text, and no line is a CI service's command."""
    wrong = {each for each in output if each not in "\t\n" and unicodedata.category(each) in _WRONG}
    assert sorted(map(ascii, wrong)) == []
    for line in lines(output):
        assert not line.lstrip().startswith("::"), line
        assert not re.search(r"##\w*\[", line), line


def check_safe(output: str) -> None:
    """The same, and no line looks like one of the program's."""
    check_inert(output)
    for line in lines(output):
        assert not line.lstrip().startswith(("error: FAKE", "next: FAKE")), line


def lines(output: str) -> list[str]:
    """As a CI service reads them."""
    return re.split(r"\r\n|\r|\n", output)
