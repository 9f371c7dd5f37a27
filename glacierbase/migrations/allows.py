"""The comments that allow a finding of `lint`: `-- GLACIERBASE_ALLOW: CODE reason` on a line above a statement."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from glacierbase.model.migration import Statement

WORD = "GLACIERBASE_ALLOW"

# A comment that is intended to allow a finding, wherever it is and however it is written: `glacierbase allow`, `GLACIERBASE_ALOW`.
_INTENDED = re.compile(r"(?i)glacierbase[\s_:-]*al+ow\s*(?::|[a-z]+\d)")
_COMMENT = re.compile(r"(?s)--[^\r\n]*|/\*.*?(?:\*/|\Z)")
_ALLOW = re.compile(rf"--\s*{WORD}\s*:\s*(?P<code>[^\s:]*):?(?P<reason>.*)")


def allowing(sql: str, codes: Mapping[int, Iterable[str]], reason: str) -> str:
    """Return SQL with comments that allow findings.

    Args:
        codes: the codes of the findings, by the line at which their statement begins; the first line is 1.
    """
    lines = sql.split("\n")
    for number, allowed in sorted(codes.items(), reverse=True):
        lines[number - 1 : number - 1] = [f"-- {WORD}: {code} {reason}" for code in allowed]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Allow:
    """A finding that is allowed.

    Attributes:
        statement_index: the index of the statement below the comment.
        code: the code of the rule, in capitals; empty where the comment has none.
        reason: why; empty where the comment has none.
    """

    statement_index: int
    code: str
    reason: str


def allows_of(statements: Iterable[Statement]) -> tuple[Allow, ...]:
    """Return what the comments above the statements allow, in order."""
    return tuple(allow for statement in statements for allow in _above(statement))


def without_effect(text: str, allows: Collection[Allow]) -> int:
    """Return the number of comments that are meant to allow a finding, and do not allow one.

    Args:
        text: the text of the file.
        allows: the result of `allows_of` for the file.
    """
    return len(_INTENDED.findall(text)) - len(allows)


def _above(statement: Statement) -> Iterator[Allow]:
    if WORD not in statement.comments:  # Nearly all statements.
        return
    for comment in _COMMENT.finditer(statement.comments):
        if match := _ALLOW.fullmatch(comment[0]):
            yield Allow(statement.index, match["code"].upper(), match["reason"].strip())
