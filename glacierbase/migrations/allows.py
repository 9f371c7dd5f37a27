"""The comments that allow a finding of `lint`: `-- GLACIERBASE_ALLOW: CODE reason` on a line above a statement."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from glacierbase.model.migration import Statement

WORD = "GLACIERBASE_ALLOW"

# A comment that is intended to allow a finding, wherever it is and however it is written: `glacierbase allow`, `GLACIERBASE_ALOW`.
_INTENDED = re.compile(r"(?i)glacierbase[\s_:-]*al+ow\s*(?::|[a-z]+\d)")
_COMMENT = re.compile(r"(?s)--[^\r\n]*|/\*.*?(?:\*/|\Z)")
_ALLOW = re.compile(rf"--\s*{WORD}\s*:\s*(?P<code>[^\s:]*):?(?P<reason>.*)")
# A statement that drops a column, in SQL or its template, each statement on a line of its own.
_DROP = re.compile(r"(?m)^(?=ALTER TABLE (?:\{\{[^{}\n]*\}\}|`[^`\n]*`|[^`{\s])+ DROP COLUMNS? )")


def allowing_drops(sql: str, reason: str) -> str:
    """Return SQL, or its template, with a comment above each statement that drops a column, which allows that."""
    return _DROP.sub(lambda _: f"-- {WORD}: DS103 {reason}\n", sql)


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
