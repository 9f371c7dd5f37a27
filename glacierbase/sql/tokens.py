"""Read SQL into tokens, as the lexer of the engine does."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from glacierbase.errors import MigrationFileError
from glacierbase.sql.dialects import Dialect, Enclosure, dialect_of

_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_CHARACTER = re.compile(r"[\x00\ud800-\udfff]")


def words(sql: str, dialect: str) -> tuple[str, ...]:
    """Return the tokens of SQL: words in capitals, single signs, and the opening mark of each string or quoted name.

    Raises:
        MigrationFileError: as `split_statements` does.
    """
    return tuple(token.word for token in tokens(dialect_of(dialect), Source(sql)))


def texts(sql: str, dialect: str) -> tuple[str, ...]:
    """Return the tokens of SQL as `words` does, but strings and quoted names as written, with their quotes."""
    every = tokens(dialect_of(dialect), Source(sql))
    return tuple(token.word if token.word[0].isalnum() else sql[token.start : token.end] for token in every)


class Source:
    """The input, with lines and columns for messages."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(sql))]

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column, from 1."""
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def error(self, at: int, code: str, what: str, hint: str) -> MigrationFileError:
        line, column = self.place(at)
        message = f"line {line}, column {column}: {what}"
        return MigrationFileError(code, message, hint, line=line, column=column)

    def unterminated(self, at: int, name: str, mark: str, hint: str) -> MigrationFileError:
        what = f"the {name} that opens here with {mark} is never closed"
        return self.error(at, f"UNTERMINATED_{name.upper()}", what, hint)


class Token(NamedTuple):
    """A word in capitals, a single sign, or the opening mark of an enclosure."""

    word: str
    start: int
    end: int


def check_characters(source: Source) -> None:
    """Raise a `MigrationFileError` at the first NUL or half of a character."""
    match = _NO_CHARACTER.search(source.sql)
    if match and match.group() == "\0":
        hint = "remove it; if every letter has one, save the file as UTF-8"
        raise source.error(match.start(), "NUL_CHARACTER", "NUL character", hint)
    if match:
        what = f"half of a character (U+{ord(match.group()):04X})"
        hint = "write the character itself instead of \\u escapes"
        raise source.error(match.start(), "SURROGATE_CHARACTER", what, hint)


def tokens(facts: Dialect, source: Source) -> Iterator[Token]:
    """Yield the tokens that the engine reads, without whitespace and comments.

    Raises:
        MigrationFileError: a string, a quoted identifier or a comment is never closed, or `MISREAD_COMMENT`.
    """
    at = 0
    while match := facts.lexeme.match(source.sql, at):
        at = match.end()
        if match.lastgroup == "misread":
            what = "the engine continues the comment that starts here on the next line"
            hint = "write a space after the backslash that ends it"
            raise source.error(match.start(), "MISREAD_COMMENT", what, hint)
        if match.lastgroup == "token":
            yield Token(match.group().upper(), match.start(), at)
        elif match.lastindex:
            enclosure = facts.enclosures[match.lastindex - 1]
            at = _end(source, enclosure, match)
            if enclosure.is_code:
                yield Token(match.group(), match.start(), at)


def _end(source: Source, enclosure: Enclosure, opening: re.Match[str]) -> int:
    end = enclosure.end(source.sql, opening.end())
    if end is None:
        raise source.unterminated(opening.start(), enclosure.name, opening.group(), enclosure.hint)
    return end
