"""Splitting rendered SQL into the statements that an engine gets one by one, and refusing what cannot be split for sure.

The engine reads what is cut here, so its lexer decides what a string or a comment is. Spark's is described in its SQL
reference (https://spark.apache.org/docs/latest/: sql-ref-literals, sql-ref-identifier, sql-ref-syntax-qry-select-hints,
sql-ref-scripting) and, to the letter, by its grammar `SqlBaseLexer.g4`; Spark 4.1 was asked where both are silent.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import NamedTuple

from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.migration import Statement, checksum


@dataclass(frozen=True)
class Enclosure:
    """What hides everything between two marks, semicolons too: a string, a quoted identifier, a comment.

    Attributes:
        name: what people call it.
        opens: pattern of the mark that opens it.
        closes: the mark that closes it.
        hint: what to do about one that is never closed.
        escapes: pattern of what holds the closing mark, inside, and does not close it.
        nests: whether one inside another has to be closed too.
        is_code: whether the engine reads it; a comment is skipped.
    """

    name: str
    opens: str
    closes: str
    hint: str
    escapes: str = r"(?!)"
    nests: bool = False
    is_code: bool = True

    def end(self, sql: str, inside: int) -> int | None:
        """Where the one ends whose inside starts at `inside`; None when it is never closed."""
        depth = 1
        for mark in self._marks.finditer(sql, inside):
            if mark.group() == self.closes:
                depth -= 1
            elif self.nests:
                depth += 1
            if not depth:
                return mark.end()
        return None

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        opens = f"|{self.opens}" if self.nests else ""
        return re.compile(f"{self.escapes}|{re.escape(self.closes)}{opens}", re.DOTALL)


@dataclass(frozen=True)
class Dialect:
    """The facts by which an engine reads SQL.

    Attributes:
        space: the characters that count as whitespace.
        enclosures: what hides semicolons, in the order in which it is tried.
        line_comment: pattern of a comment, up to the end of its line.
        misread: pattern of a line comment that goes on where people do not see it.
        solid: pattern of what is read as one, so that nothing inside it opens an enclosure.
        blocks: the words that open a block inside `BEGIN … END`, each closed by END and itself.
    """

    space: str
    enclosures: tuple[Enclosure, ...]
    line_comment: str
    misread: str
    solid: str
    blocks: frozenset[str]

    @cached_property
    def lexeme(self) -> re.Pattern[str]:
        """One step of the lexer: group n opens `enclosures[n - 1]`; no group is whitespace or a line comment."""
        opens = "|".join(f"({each.opens})" for each in self.enclosures)
        skipped = f"(?P<misread>{self.misread})|{self.line_comment}|[{self.space}]+"
        return re.compile(f"{opens}|{skipped}|(?P<token>{self.solid}|.)", re.DOTALL)


DIALECTS: Mapping[str, Dialect] = {
    "spark": Dialect(
        # A byte order mark is none to Spark, but stays between files that were joined.
        space=" \t\n\f\r\v\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
        "\u2028\u202f\u205f\u3000\ufeff",
        enclosures=(
            Enclosure("string", "[rR]'", "'", "write ' where it ends; a raw string cannot hold its own quote"),
            Enclosure("string", '[rR]"', '"', 'write " where it ends; a raw string cannot hold its own quote'),
            Enclosure("string", "'", "'", "write ' where it ends, and \\' inside the text", r"\\.|''"),
            Enclosure("string", '"', '"', 'write " where it ends, and \\" inside the text', r'\\.|""'),
            Enclosure("identifier", "`", "`", "write ` where it ends, and `` inside the name", "``"),
            # A hint: read by the engine, and not nested.
            Enclosure("comment", r"/\*\+", "*/", "write */ where the hint ends"),
            Enclosure(
                "comment",
                r"/\*(?!\+)",
                "*/",
                "write */ where it ends; comments nest, so each /* inside needs its own */",
                nests=True,
                is_code=False,
            ),
        ),
        line_comment=r"--[^\r\n]*",
        # To Spark, a backslash before LF takes the next line into the comment. No matter where that is one, or empty.
        misread=r"--[^\r\n]*\\\n(?![ \t]*(?:--|[\r\n]|\Z))",
        # A URL may hold `--` and `/*`. A `*/` that closes nothing keeps the `/*` in `a*/*.jar` from opening a comment.
        solid=r"[^\W\d_]+://[\w/.?=&#%-]+|\w+|\*/",
        blocks=frozenset({"CASE", "FOR", "IF", "LOOP", "REPEAT", "WHILE"}),
    ),
}
_BYTE_ORDER_MARK = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_CHARACTER = re.compile(r"[\x00\ud800-\udfff]")
# Words behind which a statement of a script starts: first words of a statement themselves, and others.
_BEFORE_STATEMENT = frozenset({"BEGIN", "NOT", "ATOMIC", "LOOP", "REPEAT", "ELSE"})
_BEFORE_STATEMENT_INSIDE = frozenset({"THEN", "DO"})
# What stands between HANDLER and the last word of its conditions: `HANDLER FOR SQLSTATE VALUE '22012', NOT FOUND`.
_BEFORE_CONDITION = frozenset({"FOR", "SQLSTATE", "VALUE", "NOT", ","})


def split_statements(sql: str, dialect: str) -> tuple[Statement, ...]:
    """Split SQL into its statements, as the engine's own lexer would see them.

    A statement ends at a semicolon outside of strings, quoted identifiers, comments and `BEGIN … END`, or with the
    input. Its text is cut out of the input and never changed: without that semicolon, the whitespace around it and the
    comments before it; a comment between its last word and the semicolon stays. What holds only comments is no statement.

    Args:
        sql: all of it; a byte order mark at its start is dropped, and no column counts it.
        dialect: whose rules apply, `"spark"`.

    Raises:
        MigrationFileError: nothing is guessed where a string, a quoted identifier, a comment or a block is never closed
            (`UNTERMINATED_STRING`, `_IDENTIFIER`, `_COMMENT`, `_BLOCK`), where a comment goes on into the code of the
            next line (`MISREAD_COMMENT`), or where what stands there is no character (`NUL_CHARACTER`,
            `SURROGATE_CHARACTER`). `data` holds `line` and `column` of its first character.
        ConfigurationError: `UNKNOWN_DIALECT`.
    """
    if dialect not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise ConfigurationError("UNKNOWN_DIALECT", f"there is no SQL dialect {dialect}", f"there are: {known}")
    facts = DIALECTS[dialect]
    source = _Source(sql.removeprefix(_BYTE_ORDER_MARK))
    _check_characters(source)
    spans = _spans(facts, source)
    return tuple(_statement(facts, source, index, span) for index, span in enumerate(spans, start=1))


class _Source:
    """The input, and the places in it as people count them."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(sql))]

    def place(self, at: int) -> tuple[int, int]:
        """Line and column, from 1."""
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def error(self, at: int, code: str, what: str, hint: str) -> MigrationFileError:
        line, column = self.place(at)
        message = f"line {line}, column {column}: {what}"
        return MigrationFileError(code, message, hint, line=line, column=column)

    def unterminated(self, at: int, name: str, mark: str, hint: str) -> MigrationFileError:
        what = f"the {name} that opens here with {mark} is never closed"
        return self.error(at, f"UNTERMINATED_{name.upper()}", what, hint)


class _Token(NamedTuple):
    """A word in capitals, a single sign, or the opening mark of what is enclosed."""

    word: str
    start: int
    end: int


class _Span(NamedTuple):
    """Where a statement starts, where its last token ends, and where it is cut off."""

    start: int
    code_end: int
    end: int


class _Blocks:
    """The blocks of a script that are open, for a reader that sees each token with the word of the next one.

    BEGIN, END, IF and REPEAT are also names, aliases and functions, and CASE … END is also an expression. They open and
    close blocks only as the first word of a statement of the script, so that is the place to follow.
    """

    def __init__(self, kinds: frozenset[str]) -> None:
        self.open: list[_Token] = []
        self._kinds = kinds
        self._first = True  # The next token is the first of a statement.
        self._cases = 0  # So many CASE expressions are open.
        self._handler = False  # The conditions of a handler are being read; its statement follows.

    def read(self, token: _Token, following: str) -> None:
        if token.word == ";":
            self._first, self._cases, self._handler = True, 0, False
        elif self._first:
            self._first = self._read_first(token, following)
        elif self.open:
            self._first = self._read_later(token.word, following)

    def _read_first(self, token: _Token, following: str) -> bool:
        """Read the first token of a statement; answers whether the next one is a first one, too."""
        if ":" in (token.word, following):
            return True  # A label, whatever its name.
        if token.word == "BEGIN" or (self.open and token.word in self._kinds):
            self.open.append(token)
        elif token.word == "END":
            self._close(following)
        return token.word in _BEFORE_STATEMENT

    def _read_later(self, word: str, following: str) -> bool:
        """Read any other token; answers whether the next one is a first one."""
        if self._handler:
            self._handler = word in _BEFORE_CONDITION or following == ","
            return not self._handler
        if word == "CASE":
            self._cases += 1
        elif word == "END" and self._cases:
            self._cases -= 1
        elif word == "END" and following == "REPEAT":
            self._close(following)  # The only END behind an expression: `UNTIL done END REPEAT`.
        self._handler = word == "HANDLER" and following == "FOR"
        return word in _BEFORE_STATEMENT_INSIDE and not self._cases

    def _close(self, following: str) -> None:
        """Close the innermost block if this END is its own; another's leaves it open, to be reported at the end."""
        kind = following if following in self._kinds else "BEGIN"
        if self.open and self.open[-1].word == kind:
            self.open.pop()


def _check_characters(source: _Source) -> None:
    found = _NO_CHARACTER.search(source.sql)
    if found and found.group() == "\0":
        hint = "remove it; where there is one beside every letter, save the file as UTF-8"
        raise source.error(found.start(), "NUL_CHARACTER", "a NUL character stands here", hint)
    if found:
        what = f"half of a character stands here (U+{ord(found.group()):04X})"
        raise source.error(
            found.start(), "SURROGATE_CHARACTER", what, "write the character itself instead of \\u escapes"
        )


def _tokens(facts: Dialect, source: _Source) -> Iterator[_Token]:
    """All that the engine reads: no whitespace and no comments."""
    at = 0
    while match := facts.lexeme.match(source.sql, at):
        at = match.end()
        if match.lastgroup == "misread":
            what = "to the engine, the comment that starts here goes on in the next line"
            raise source.error(
                match.start(), "MISREAD_COMMENT", what, "write a space behind the backslash that ends it"
            )
        if match.lastgroup == "token":
            yield _Token(match.group().upper(), match.start(), at)
        elif match.lastindex:
            enclosure = facts.enclosures[match.lastindex - 1]
            at = _end(source, enclosure, match)
            if enclosure.is_code:
                yield _Token(match.group(), match.start(), at)


def _end(source: _Source, enclosure: Enclosure, opening: re.Match[str]) -> int:
    end = enclosure.end(source.sql, opening.end())
    if end is None:
        raise source.unterminated(opening.start(), enclosure.name, opening.group(), enclosure.hint)
    return end


def _spans(facts: Dialect, source: _Source) -> Iterator[_Span]:
    blocks = _Blocks(facts.blocks)
    first: _Token | None = None
    code_end = 0
    # The input ends its last statement as a semicolon does; the second one is there to follow the first.
    ends = repeat(_Token(";", len(source.sql), len(source.sql)), 2)
    for token, following in pairwise(chain(_tokens(facts, source), ends)):
        blocks.read(token, following.word)
        if token.word != ";" or blocks.open:
            first, code_end = first or token, token.end
        elif first:
            yield _Span(first.start, code_end, token.start)
            first = None
    if blocks.open:
        word, start, _ = blocks.open[-1]
        closing = "END" if word == "BEGIN" else f"END {word}"
        raise source.unterminated(
            start, "block", word, f"write {closing} where it ends; a name is written in backticks"
        )


def _statement(facts: Dialect, source: _Source, index: int, span: _Span) -> Statement:
    line, column = source.place(span.start)
    text = source.sql[span.start : span.end].rstrip(facts.space)
    code = source.sql[span.start : span.code_end]
    return Statement(index, line, column, text, checksum(code.encode()))
