"""Text that an engine reads in another way than its author means: a missing semicolon, the syntax of other tools, Spark's `${…}`.

SnowSQL: https://docs.snowflake.com/en/user-guide/snowsql-use, notebooks of Databricks:
https://docs.databricks.com/aws/en/notebooks/notebook-format
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from glacierbase.sql.dialects import SNOWFLAKE, SUBSTITUTES, Dialect
from glacierbase.sql.heads import begins_statement, first_words, joined
from glacierbase.sql.tokens import Source, Token, tokens

# What follows `;` is a statement, whichever tool runs the file.
_ENDS = "end each statement with `;`"


class Misread(NamedTuple):
    """Text of a statement that the engine would misread.

    Attributes:
        code: the code of the error.
        at: its offset.
        text: the text itself.
        what: what the engine would do with it, or which tool it is for.
        hint: what to write in its place.
    """

    code: str
    at: int
    text: str
    what: str
    hint: str


class _Tool(NamedTuple):
    """The syntax of another tool.

    Attributes:
        pattern: of the text, as in a file.
        name: of the tool.
        counterpart: what to write in its place.
        dialect: the only dialect in which it has no other meaning; None for every one.
        separates: whether it ends a statement, so that it is found only before the first word of one, or after the last.
    """

    pattern: str
    name: str
    counterpart: str
    dialect: Dialect | None = None
    separates: bool = False


def _line(pattern: str) -> str:
    """Return a pattern for text that is a line of its own."""
    return rf"(?im)^[^\S\r\n]*({pattern})[^\S\r\n]*\r?$"


_TOOLS = (
    _Tool(_line(r"!(?:set|define|options|variables)\b[^\r\n]*"), "SnowSQL", f"remove it, and {_ENDS}"),
    _Tool(_line(r"!(?:source|load)\b[^\r\n]*"), "SnowSQL", "write the statements of that file here"),
    _Tool(_line(r"![a-z]\w*\b(?!\()[^\r\n]*"), "SnowSQL", "remove it: a migration holds statements only"),
    _Tool(_line(r"/"), "SQL*Plus", _ENDS, separates=True),
    _Tool(_line(r"GO(?:\s+\d+)?"), "sqlcmd", _ENDS, separates=True),
    _Tool(_line(r"-- ?COMMAND -{10}"), "a notebook of Databricks", _ENDS),
    _Tool(_line(r"\\c(?:onnect)?\b[^\r\n]*"), "psql", "write USE; the catalog file has the connection"),
    _Tool(_line(r"\\\w[^\r\n]*"), "psql", "remove it: a migration holds statements only"),
    _Tool(_line(r"DELIMITER(?:\s+\S+)?"), "the client of MySQL", f"remove it, and {_ENDS}; BEGIN … END may hold `;`"),
    _Tool(r"(&\{\w+\}|&\w+)", "SnowSQL", "write {{ variables.NAME }}, and the value in the catalog file", SNOWFLAKE),
)  # fmt: skip


def misread(dialect: Dialect, sql: str) -> Misread | None:
    """Return the first text of one statement that the engine would misread, or None.

    Args:
        sql: one statement, which begins with its first word.
    """
    if not _candidates(dialect.substituted, first_words(dialect)).search(sql):
        return None
    code = list(tokens(dialect, Source(sql)))
    every = (*_substituted(dialect, sql, code), *_of_tools(dialect, sql, code), *_joined(dialect, sql, code))
    return min(every, key=lambda text: (text.code != "OTHER_TOOLS_SYNTAX", text.at), default=None)


@cache
def _candidates(substituted: str, heads: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that every text with a misread part matches, so that few statements are read twice."""
    if not heads:
        return re.compile(substituted)
    signs = r"^[^\S\r\n]*(?:[!/\\]|GO\b|DELIMITER\b|-- ?COMMAND -)"
    queries = r"VALUES\b|FROM\b|TABLE\b|\("
    return re.compile(
        rf"{substituted}|(?im:(?:[\r\n]|\*/)[^\S\r\n]*(?:(?:{'|'.join(heads)})\b|{queries})|{signs}|&[\w{{])"
    )


def _substituted(dialect: Dialect, sql: str, code: Sequence[Token]) -> Iterator[Misread]:
    """Yield the first text outside of comments that Spark would replace.

    glacierbase's sessions do not replace it. The file is refused nevertheless: it has another meaning in every other session.
    """
    for match in re.finditer(dialect.substituted, sql):
        if not _is_in_code(code, match.start()):
            continue
        if match[0] == SUBSTITUTES:
            what = f"{SUBSTITUTES} is false in every session, and no statement may change it"
            hint = "remove it; where it is text, write another"
        else:
            what = f"Spark may replace `{match[0]}` before it reads the statement"
            literal = rf"\u0024{match[0][1:]}"
            hint = f"write `{literal}` for the same text in a string, or a variable of the catalog file"
        yield Misread("SPARK_SUBSTITUTION", match.start(), match[0], what, hint)
        return


def _is_in_code(code: Sequence[Token], at: int) -> bool:
    """Return whether an offset is inside a token, not in a comment or whitespace."""
    before = bisect_right(code, at, key=lambda token: token.start) - 1
    return before >= 0 and at < code[before].end


def _of_tools(dialect: Dialect, sql: str, code: Sequence[Token]) -> Iterator[Misread]:
    if not first_words(dialect):
        return
    for tool in _TOOLS:
        for match in re.finditer(tool.pattern, sql) if tool.dialect in (None, dialect) else ():
            if _is_meant(dialect, code, tool, match):
                what = f"`{match[1].strip()}` is the syntax of {tool.name}"
                yield Misread("OTHER_TOOLS_SYNTAX", match.start(1), match[1], what, tool.counterpart)
                break


def _is_meant(dialect: Dialect, code: Sequence[Token], tool: _Tool, match: re.Match[str]) -> bool:
    """Return whether a text is where the tool reads it: between tokens, or in a token that begins there."""
    at = bisect_right(code, match.start(1), key=lambda token: token.start) - 1
    token = code[at]
    if match.start(1) >= token.end:  # A comment.
        return at < len(code) - 1
    if (
        match.start(1) > token.start
    ):  # SnowSQL replaces its variables in strings; a name without braces is perhaps no variable.
        return token.word == "'" and match[1].startswith("&{")
    if token.word == "!" and dialect is not SNOWFLAKE:
        return at == 0  # Else it is NOT.
    return not tool.separates or _is_between_statements(dialect, code, at, match.end(1))


def _is_between_statements(dialect: Dialect, code: Sequence[Token], at: int, end: int) -> bool:
    following = bisect_left(code, end, at, key=lambda token: token.start)
    return at == 0 or following == len(code) or begins_statement(dialect, code, following)


def _joined(dialect: Dialect, sql: str, code: Sequence[Token]) -> Iterator[Misread]:
    at = joined(dialect, sql, code, only_at_lines=True)
    if at is not None:
        start, text = code[at - 1].end, sql[code[at].start :].partition("\n")[0].rstrip()
        what = f"a `;` is missing here: `{text}` begins another statement, and the engine reads both as one"
        hint = f"write `;` here; if it is one statement, move `{code[at].word}` to the end of the line before it"
        yield Misread("MISSING_SEMICOLON", start, text, what, hint)
