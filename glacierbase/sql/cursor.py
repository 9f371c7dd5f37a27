"""Read the tokens of one statement in order: names, strings, and the clauses that several statements share.

The shared clauses are properties, transforms, partition specifications, IF EXISTS and IF NOT EXISTS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy

from glacierbase.sql.dialects import SPARK, dialect_of
from glacierbase.sql.heads import joined
from glacierbase.sql.statement import Name, Place, Property, SortClause, Transform
from glacierbase.sql.tokens import Source, Token, tokens

_QUOTES = ("`", '"')
_TEMPLATES = ("{{", "{%", "{#")
_BARE = re.compile(r"[\w$]+")
# Other names need quotes in Spark, or are numbers. https://spark.apache.org/docs/latest/sql-ref-identifier.html
_SURELY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)|(['\"])\2", re.DOTALL)
# What one character after a backslash means; any other one means itself.
# https://spark.apache.org/docs/latest/sql-ref-literals.html#string-literal
_MEANS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")
_DOUBLED = re.compile(r"()(['\"])\2")
_OPEN, _CLOSED = ("(", "[", "{"), (")", "]", "}")


class UnsupportedClause(Exception):
    """A clause has a form that is not supported; the message names it."""


def _parts(token: Token) -> tuple[Token, ...]:
    """Return the dot and the word of a token such as `.name`, which Snowflake's lexemes join."""
    if len(token.word) < 2 or token.word[0] != ".":
        return (token,)
    after_dot = token.start + 1
    return Token(".", token.start, after_dot), Token(token.word[1:], after_dot, token.end)


def _meant(match: re.Match[str]) -> str:
    """Return the character that an escape, or a doubled quote, stands for."""
    code = match[1] or match[2]
    if len(code) == 1:
        return code if match[2] else _MEANS.get(code, code)
    return chr(int(code, 8) if code.isdigit() and len(code) == 3 else int(code[1:], 16))


class Cursor:
    """The tokens of a statement, and a position among them."""

    def __init__(self, sql: str, dialect: str, start: Place = Place(1, 1)) -> None:  # noqa: B008
        """Args:
        start: the place of the text's first character, for the places of its words.
        """
        self.dialect = dialect_of(dialect)
        self._start = start
        self._source = Source(sql)
        self._sql = sql
        self._tokens = list(tokens(self.dialect, self._source))
        if self.dialect.solid_dots:
            self._tokens = [part for token in self._tokens for part in _parts(token)]
        self._at = 0
        self.unread: list[str] = []

    def note(self, unread: str) -> None:
        """Add what no attribute of a statement of Spark will hold, or what the engine may refuse."""
        if self.dialect is SPARK:
            self.unread.append(unread)

    def holds_template(self) -> bool:
        """Return whether Jinja's marks occur outside of strings and comments: the text was never rendered."""
        if not any(mark in self._sql for mark in _TEMPLATES):
            return False
        return any(self._sql.startswith(_TEMPLATES, token.start) for token in self._tokens)

    def joined(self) -> Place | None:
        """Return where another statement begins in the tokens from this position, or None."""
        at = joined(self.dialect, self._sql, self._tokens[self._at :], only_at_lines=False)
        return None if at is None else self.part_between(self._at + at, len(self._tokens)).place()

    def part(self, start: int) -> Cursor:
        """Return a cursor over the tokens from position `start` to the token before this position."""
        return self.part_between(start, self._at)

    def part_between(self, start: int, end: int) -> Cursor:
        """Return a cursor over the tokens from position `start` to the token before position `end`."""
        part = copy(self)
        part._tokens, part._at = self._tokens[start:end], 0
        return part

    def part_to_end(self) -> Cursor:
        """Return a cursor over the tokens from this position."""
        return self.part_between(self._at, len(self._tokens))

    def words(self) -> tuple[str, ...]:
        """Return the tokens from this position, as `word` does."""
        return tuple(token.word for token in self._tokens[self._at :])

    def word(self, ahead: int = 0) -> str:
        """Return the next token, or a later one: a word in capitals, a sign, or an opening quote; empty at the end."""
        at = self._at + ahead
        return self._tokens[at].word if 0 <= at < len(self._tokens) else ""

    def take(self, *words: str) -> bool:
        """Move past these words if they are next; return whether they were."""
        are_next = all(self.word(ahead) == word for ahead, word in enumerate(words))
        self._at += len(words) if are_next else 0
        return are_next

    def take_any(self, *words: str) -> str:
        """Move past the next token if it is one of these words, and return it; else return an empty text."""
        return self.next() if self.word() in words else ""

    def next(self) -> str:
        """Move past the next token, and return it as `word` does."""
        word = self.word()
        self._at += 1
        return word

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                raise UnsupportedClause(f"{self.word() or 'the end'} where {word} is expected")

    def items(self) -> Iterator[None]:
        """Yield at each item of a list in parentheses. A comma may end the list."""
        self.expect("(")
        is_open = False
        while not self.take(")"):
            yield
            if is_open := self.word() != ")":
                self.expect(",")
        if is_open or self.word(-2) == "(":
            self.note("an empty item of a list")

    def name(self) -> str:
        """Move past one part of a name, and return it as the engine compares it."""
        return self._compared(self._name_token())

    def names(self) -> tuple[str, ...]:
        """Move past a name of one or more parts."""
        return tuple(map(self._compared, self._name_tokens()))

    def path(self) -> tuple[str, ...]:
        """Move past a name of one or more parts, and return them as written, without quotes."""
        return tuple(map(_unquoted, self._declared_tokens()))

    def table(self) -> Name:
        """Move past the name of a table or of another object.

        Raises:
            UnsupportedClause: there is no name, or it is computed: `IDENTIFIER(…)`, a variable.
        """
        if self.word() == "IDENTIFIER" and self.word(1) == "(":
            raise UnsupportedClause("the name is computed by IDENTIFIER")
        if self.word()[:1] == "$":
            raise UnsupportedClause(f"the name is in the variable {self.word()}")
        texts = self._declared_tokens()
        if any("${" in text for text in texts):
            raise UnsupportedClause("the name holds a variable of Spark's")
        return Name(tuple(map(_unquoted, texts)), tuple(map(self._compared, texts)), tuple(texts))

    def is_string(self, ahead: int = 0) -> bool:
        """Return whether a string literal is next."""
        return self.word(ahead) in self.dialect.strings

    def string(self) -> str:
        """Move past a string literal, and return its value."""
        if not self.is_string():
            raise UnsupportedClause(f"{self.word() or 'the end'} where a string is expected")
        opening, text = self.word(), self.text()
        self._at += 1
        inside = text[len(opening) : len(text) - (2 if opening == "$$" else 1)]
        if len(opening) > 1:
            return inside
        if not self.dialect.backslash_escapes:
            return _DOUBLED.sub(lambda match: match[1] or match[2], inside)
        # Two escapes may be the halves of one character.
        return _ESCAPE.sub(_meant, inside).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def text(self) -> str:
        """Return the text of the next token.

        Raises:
            UnsupportedClause: the tokens end here.
        """
        if self._at == len(self._tokens):
            raise UnsupportedClause("the end where a value is expected")
        token = self._tokens[self._at]
        return self._sql[token.start : token.end]

    def text_since(self, start: int) -> str:
        """Return the text from the token at position `start` to the token before this position."""
        if start >= self._at:
            return ""
        return self._sql[self._tokens[start].start : self._tokens[self._at - 1].end]

    def place(self) -> Place:
        """Return the place of the next token."""
        at = self._tokens[self._at].start if self._at < len(self._tokens) else len(self._sql)
        line, column = self._source.place(at)
        return Place(line + self._start.line - 1, column + (self._start.column - 1 if line == 1 else 0))

    def is_apart(self) -> bool:
        """Return whether there is whitespace or a comment before the next token."""
        return not self.word() or self._tokens[self._at].start > self._tokens[self._at - 1].end

    @property
    def position(self) -> int:
        return self._at

    def skip_item(self) -> None:
        """Move to the next comma or closing parenthesis of the same depth, or to the end."""
        self.skip_to(",", ")")

    def skip_to(self, *words: str) -> bool:
        """Move to the next of these words at the same depth, or to the end; return whether there is one."""
        depth = 0
        while word := self.word():
            if depth == 0 and word in words:
                return True
            depth += (word in _OPEN) - (word in _CLOSED)
            if depth < 0:
                raise UnsupportedClause(f"{word} that nothing opens")
            self._at += 1
        return False

    def skip_others(self, words: frozenset[str]) -> None:
        """Move to the next of these words at any depth, or to the end."""
        while self._at < len(self._tokens) and self._tokens[self._at].word not in words:
            self._at += 1

    def skip_all(self) -> None:
        """Move to the end; the rest may be any text."""
        self._at = len(self._tokens)

    def parentheses(self) -> str:
        """Move past parentheses and what they enclose, and return their text."""
        start = self._at
        self.expect("(")
        if not self.skip_to(")"):
            raise UnsupportedClause("( that nothing closes")
        self._at += 1
        return self.text_since(start)

    def _name_tokens(self) -> list[str]:
        texts = [self._name_token()]
        while self.take("."):
            texts.append(self._name_token())
        return texts

    def _declared_tokens(self) -> list[str]:
        texts = self._name_tokens()
        for text in texts:
            if text[0] not in _QUOTES and not _SURELY_NAME.fullmatch(text):
                self.note(f"the name {text} without quotes")
        return texts

    def _name_token(self) -> str:
        word = self.word()
        if word not in _QUOTES and not _BARE.fullmatch(word):
            raise UnsupportedClause(f"{word or 'the end'} where a name is expected")
        text = self.text()
        if self.is_string():  # A name only by a setting of Spark's.
            self.note(f"the string {text} as a name")
        if text in ("``", '""'):
            raise UnsupportedClause("an empty name")
        self._at += 1
        return text

    def _compared(self, text: str) -> str:
        if text[0] not in _QUOTES:
            return self.dialect.folds(text)
        return self.dialect.folds(_unquoted(text)) if self.dialect.quotes_fold else _unquoted(text)


def _unquoted(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote) if quote in _QUOTES else text


_AFTER_STORAGE = (
    "", ";", "(", "AS", "CLUSTER", "CLUSTERED", "COMMENT", "DEFAULT", "FROM", "LOCATION", "OPTIONS", "PARTITIONED", "SELECT",
    "TABLE", "TBLPROPERTIES", "USING", "VALUES", "WITH",
)  # fmt: skip


def if_exists(cursor: Cursor) -> bool:
    """Move past IF EXISTS; return whether it was present."""
    return cursor.take("IF", "EXISTS")


def if_not_exists(cursor: Cursor) -> bool:
    """Move past IF NOT EXISTS; return whether it was present."""
    return cursor.take("IF", "NOT", "EXISTS") or cursor.take("IF", "!", "EXISTS")


def properties(cursor: Cursor, operation: str) -> Iterator[Property]:
    """Yield the properties of a list in parentheses, with values or without."""
    for _ in cursor.items():
        place = cursor.place()
        key = property_key(cursor)
        cursor.take("=")
        if cursor.word() in (",", ")"):
            yield Property(operation, place, key)
        else:
            yield Property(operation, place, key, *property_value(cursor))


def property_key(cursor: Cursor) -> str:
    """Move past the key of a property: a string, or words between dots, dashes and colons."""
    if cursor.is_string():
        return cursor.string()
    start = cursor.position
    cursor.path()
    while sign := cursor.take_any("-", ":", "."):
        cursor.path()
        if sign != ".":
            cursor.note("the key of a property without quotes")
    return cursor.text_since(start).replace("`", "")


def property_value(cursor: Cursor) -> tuple[str, Place]:
    """Move past the value of a property, and return it without quotes, with its place."""
    place = cursor.place()
    if cursor.is_string() and cursor.word(1) in (",", ")", "", ";"):
        return cursor.string(), place
    start, word = cursor.position, cursor.word()
    cursor.skip_to(",", ")", ";")
    value = cursor.text_since(start)
    if cursor.dialect is SPARK and value.upper() in ("TRUE", "FALSE"):
        return value.lower(), place
    if not _NUMBER.fullmatch(value):
        cursor.note(f"a value of a property that begins with {word}")
    return value, place


def transform(cursor: Cursor) -> Transform:
    """Move past a transform, `bucket(16, id)`, or a column."""
    start = cursor.position
    path = cursor.path()
    if cursor.word() != "(":
        return Transform(cursor.text_since(start), "", (".".join(path),))
    arguments = [_argument(cursor) for _ in cursor.items()]
    return Transform(cursor.text_since(start), path[-1].lower(), tuple(arguments))


def _argument(cursor: Cursor) -> str:
    start = cursor.position
    if cursor.is_string():
        cursor.note("a string in a transform")
        return cursor.string()
    if cursor.word().isdigit():
        return cursor.next()
    parts = cursor.path()
    if cursor.word() in (",", ")"):
        return ".".join(parts)
    cursor.skip_item()
    return cursor.text_since(start)


def sort_fields(cursor: Cursor) -> Iterator[SortClause]:
    """Yield the fields of an order, in parentheses or not."""
    enclosed = cursor.take("(")
    while True:
        field = transform(cursor)
        direction = cursor.take_any("ASC", "DESC").lower()
        nulls = cursor.take_any("FIRST", "LAST").lower() if cursor.take("NULLS") else ""
        yield SortClause(field, direction, nulls)
        if not cursor.take(","):
            break
    if enclosed:
        cursor.expect(")")


def listed_paths(cursor: Cursor) -> tuple[str, ...]:
    """Move past columns between commas, in parentheses or not."""
    enclosed = cursor.take("(")
    paths = [".".join(cursor.path())]
    while cursor.take(","):
        paths.append(".".join(cursor.path()))
    if enclosed:
        cursor.expect(")")
    return tuple(paths)


def partition(cursor: Cursor) -> str | None:
    """Move past `PARTITION (…)`, and return its text; None where there is none."""
    if cursor.word() != "PARTITION" or cursor.word(1) != "(":
        return None
    cursor.next()
    return cursor.parentheses()


def storage(cursor: Cursor) -> None:
    """Move past Hive's ROW FORMAT … and STORED AS …, up to the next clause or the query."""
    while True:
        if cursor.take("STORED", "AS") or cursor.take("STORED", "BY") or cursor.take("NULL", "DEFINED", "AS"):
            cursor.next()
        elif cursor.take("WITH", "SERDEPROPERTIES"):
            cursor.parentheses()
        elif cursor.word() in _AFTER_STORAGE:
            return
        else:
            cursor.next()


def version(cursor: Cursor) -> bool:
    """Move past `[FOR] VERSION AS OF` and the like, before the version; return whether they were present."""
    ahead = int(cursor.word() == "FOR")
    if cursor.word(ahead) not in ("VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME"):
        return False
    cursor.take("FOR")
    cursor.next()
    cursor.expect("AS", "OF")
    return True


def check_end(cursor: Cursor) -> None:
    """Raise `UnsupportedClause` unless the statement ends here."""
    while cursor.take(";"):
        pass
    if cursor.word():
        raise UnsupportedClause(f"{cursor.word()} where the end is expected")
