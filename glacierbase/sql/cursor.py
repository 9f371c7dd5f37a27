"""Read the tokens of one statement in order, for parsers of single clauses."""

from __future__ import annotations

import re

from glacierbase.sql.dialects import DIALECTS
from glacierbase.sql.tokens import Source, Token, tokens

_QUOTES = ("`", '"')
_BARE = re.compile(r"[\w$]+")


class NotUnderstood(Exception):
    """A clause has a form that is not supported; the message names it."""


def _parts(token: Token) -> tuple[Token, ...]:
    """Return the dot and the word of a token such as `.name`, which Snowflake's lexemes join."""
    if len(token.word) < 2 or token.word[0] != ".":
        return (token,)
    after_dot = token.start + 1
    return Token(".", token.start, after_dot), Token(token.word[1:], after_dot, token.end)


class Cursor:
    """The tokens of a statement, and a position among them."""

    def __init__(self, sql: str, dialect: str) -> None:
        self.dialect = dialect
        self._sql = sql
        self._tokens = [part for token in tokens(DIALECTS[dialect], Source(sql)) for part in _parts(token)]
        self._at = 0

    def word(self, ahead: int = 0) -> str:
        """Return the next token, or one after it: a word in capitals, a sign, or an opening quote; empty at the end."""
        at = self._at + ahead
        return self._tokens[at].word if at < len(self._tokens) else ""

    def take(self, *words: str) -> bool:
        """Move past these words if they are next; return whether they were."""
        found = all(self.word(ahead) == word for ahead, word in enumerate(words))
        self._at += len(words) if found else 0
        return found

    def take_any(self, *words: str) -> str:
        """Move past the next token if it is one of these words, and return it; else return nothing."""
        return self.next() if self.word() in words else ""

    def next(self) -> str:
        """Move past the next token, and return it as `word` does."""
        found = self.word()
        self._at += 1
        return found

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise NotUnderstood(f"{self.word() or 'the end'} where {word} is expected")

    def name(self) -> str:
        """Move past one part of a name, and return it as the engine stores it, or as it compares it."""
        quote = self.word()
        if quote not in _QUOTES and not _BARE.fullmatch(quote):
            raise NotUnderstood(f"{quote or 'the end'} where a name is expected")
        token = self._tokens[self._at]
        text = self._sql[token.start : token.end]
        self._at += 1
        if quote in _QUOTES:
            text = text[1:-1].replace(quote * 2, quote)
            return text if self.dialect == "snowflake" else text.lower()
        return text.upper() if self.dialect == "snowflake" else text.lower()

    def names(self) -> tuple[str, ...]:
        """Move past a name of one or more parts."""
        parts = [self.name()]
        while self.take("."):
            parts.append(self.name())
        return tuple(parts)

    def text_since(self, start: int) -> str:
        """Return the text from the token at position `start` to the token before this position."""
        return self._sql[self._tokens[start].start : self._tokens[self._at - 1].end]

    @property
    def position(self) -> int:
        return self._at

    def skip_item(self) -> None:
        """Move to the next comma or closing parenthesis of the same depth, or to the end."""
        depth = 0
        while word := self.word():
            if depth == 0 and word in (",", ")"):
                return
            depth += (word in ("(", "[")) - (word in (")", "]"))
            self._at += 1
