"""Splitting rendered SQL into the statements that an engine gets one by one, and refusing what cannot be split for sure.

The engine reads what is cut here, so its lexer decides what a string or a comment is. Spark's is described in its SQL
reference (https://spark.apache.org/docs/latest/: sql-ref-literals, sql-ref-identifier, sql-ref-syntax-qry-select-hints,
sql-ref-scripting) and, to the letter, by its grammar `SqlBaseLexer.g4`; Spark 4.1 was asked where both are silent.
Snowflake publishes no grammar; what is known of it stands in its documentation (https://docs.snowflake.com/en/:
sql-reference/data-types-text, identifiers-syntax, sql/begin, sql/put, sql/create-procedure, sql/create-task,
sql/create-alert and snowflake-scripting/*; developer-guide/snowflake-scripting/*). Where that is silent, no engine was asked.
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
from glacierbase.model.migration import Statement, checksum


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
        solid: pattern of what is read as one, so that nothing inside it opens an enclosure or is a word of its own.
        blocks: the words that open a block as the first of a statement, each with what closes it.
        scripts: those of them that do so outside of a block, too.
        before_statement: words inside a statement of a block behind which the next statement starts.
        labels: whether a block may have a name before it, `name: LOOP`.
        transactions: what stands behind a BEGIN that opens a transaction and no block.
        definitions: the first or second word of a statement that may hold a script: `CREATE TASK`, `name PROCEDURE`.
        before_script: the words behind which that script starts.
    """

    space: str
    enclosures: tuple[Enclosure, ...]
    line_comment: str
    misread: str
    solid: str
    blocks: Mapping[str, tuple[str, ...]]
    scripts: frozenset[str]
    before_statement: frozenset[str]
    labels: bool = False
    transactions: frozenset[str] = frozenset()
    definitions: frozenset[str] = frozenset()
    before_script: frozenset[str] = frozenset()

    @cached_property
    def lexeme(self) -> re.Pattern[str]:
        """One step of the lexer: group n opens `enclosures[n - 1]`; no group is whitespace or a line comment."""
        opens = "|".join(f"({each.opens})" for each in self.enclosures)
        skipped = f"(?P<misread>{self.misread})|{self.line_comment}|[{self.space}]+"
        return re.compile(f"{opens}|{skipped}|(?P<token>{self.solid}|.)", re.DOTALL)


# What Spark takes for whitespace, and a byte order mark: that is none, but stays between files that were joined.
_SPACE = (
    " \t\n\f\r\v\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u202f\u205f\u3000\ufeff"
)
DIALECTS: Mapping[str, Dialect] = {
    "spark": Dialect(
        space=_SPACE,
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
        blocks={
            "BEGIN": ("END",),
            "CASE": ("END CASE",),
            "FOR": ("END FOR",),
            "IF": ("END IF",),
            "LOOP": ("END LOOP",),
            "REPEAT": ("END REPEAT",),
            "WHILE": ("END WHILE",),
        },
        scripts=frozenset({"BEGIN"}),
        before_statement=frozenset({"DO", "THEN"}),
        labels=True,
    ),
    "snowflake": Dialect(
        # Which of it is whitespace to Snowflake is not written anywhere. Around a statement none of it is meant.
        space=_SPACE,
        enclosures=(
            Enclosure("string", "'", "'", "write ' where it ends, and \\' inside the text", r"\\.|''"),
            Enclosure("string", r"\$\$", "$$", "write $$ where it ends; the text cannot hold $$ itself"),
            Enclosure("identifier", '"', '"', 'write " where it ends, and "" inside the name', '""'),
            Enclosure("comment", r"/\*", "*/", "write */ where it ends", is_code=False),
        ),
        line_comment=r"(?:--|//)[^\r\n]*",
        misread=r"(?!)",
        # A URL, as PUT takes one, may hold `//` and `/*`; a name may hold `$$`. Behind a dot, a colon or a dollar and
        # before `:=`, a word is always a name, be it CASE or LOOP: it is read with its sign.
        solid=r"[^\W\d_]\w*://[^\s\ufeff;()'\"]*|[.:$]?\w[\w$]*(?:\s*:=)?",
        blocks={
            "BEGIN": ("END",),
            "CASE": ("END CASE", "END"),
            "DECLARE": ("BEGIN",),
            "FOR": ("END FOR", "END LOOP"),
            "IF": ("END IF",),
            "LOOP": ("END LOOP",),
            "REPEAT": ("END REPEAT",),
            "WHILE": ("END WHILE", "END LOOP"),
        },
        scripts=frozenset({"BEGIN", "DECLARE"}),
        before_statement=frozenset({"DO", "LOOP", "THEN"}),
        transactions=frozenset({";", "NAME", "TRANSACTION", "WORK"}),
        definitions=frozenset({"ALTER", "CREATE", "PROCEDURE", "WITH"}),
        before_script=frozenset({"ACTION", "AS", "THEN"}),
    ),
}
_BYTE_ORDER_MARK = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_CHARACTER = re.compile(r"[\x00\ud800-\udfff]")
# First words of a statement behind which the next one starts, as it does behind those of `Dialect.scripts`.
_BEFORE_STATEMENT = frozenset({"NOT", "ATOMIC", "LOOP", "REPEAT", "ELSE"})
# What stands between HANDLER and the last word of its conditions: `HANDLER FOR SQLSTATE VALUE '22012', NOT FOUND`.
_BEFORE_CONDITION = frozenset({"FOR", "SQLSTATE", "VALUE", "NOT", ","})


def split_statements(sql: str, dialect: str) -> tuple[Statement, ...]:
    """Split SQL into its statements, as the engine's own lexer would see them.

    A statement ends at a semicolon outside of strings, quoted identifiers, comments and `BEGIN … END`, or with the
    input. Its text is cut out of the input and never changed: without that semicolon, the whitespace around it and the
    comments before it; a comment between its last word and the semicolon stays. What holds only comments is no statement.

    Args:
        sql: all of it; a byte order mark at its start is dropped, and no column counts it.
        dialect: whose rules apply, `"spark"` or `"snowflake"`.

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


def tokens(sql: str, dialect: str) -> tuple[str, ...]:
    """Return all that the engine reads: words in capitals and single signs, and of a string or a quoted name its opening mark.

    Raises:
        MigrationFileError: as `split_statements` does.
    """
    return tuple(token.word for token in _tokens(DIALECTS[dialect], _Source(sql)))


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

    def __init__(self, facts: Dialect) -> None:
        self.open: list[_Token] = []
        self._facts = facts
        self._ends = frozenset(chain.from_iterable(facts.blocks.values()))
        self._first = True  # The next token is the first of a statement.
        self._depth = 0  # So many parentheses are open; no statement of a script stands in them.
        self._cases = 0  # So many CASE expressions are open.
        self._handler = False  # The conditions of a handler are being read; its statement follows.
        self._definition = False  # What stands before the script of a definition is being read.

    def read(self, token: _Token, following: str) -> None:
        self._depth += (token.word == "(") - (token.word == ")")
        if token.word == ";":
            self._first, self._depth, self._cases, self._handler, self._definition = True, 0, 0, False, False
        elif self._first:
            self._first = self._read_first(token, following)
        elif not self._depth and (self.open or self._definition):
            self._first = self._read_later(token.word, following)

    def _read_first(self, token: _Token, following: str) -> bool:
        """Read the first token of a statement; answers whether the next one is a first one, too."""
        word = token.word
        if self._facts.labels and ":" in (word, following):
            return True  # A label, whatever its name.
        is_body, self._definition = self._definition, not self._facts.definitions.isdisjoint((word, following))
        if word == "BEGIN" and following in self._facts.transactions and not is_body:
            return False  # A body starts none.
        if word in self._facts.scripts or (word in self._facts.blocks and self._has_statements()):
            if not is_body:
                self._close(word)  # The BEGIN behind declarations; that of a procedure among them is not theirs.
            self.open.append(token)
        elif word == "END":
            self._read_end(following)
        return word in self._facts.scripts or word in _BEFORE_STATEMENT

    def _read_later(self, word: str, following: str) -> bool:
        """Read any other token outside of parentheses; answers whether the next one is a first one."""
        if self._handler:
            self._handler = word in _BEFORE_CONDITION or following == ","
            return not self._handler
        if word == "CASE":
            self._cases += 1
        elif word == "END" and self._cases:
            self._cases -= 1
        elif word == "END" and following == "REPEAT":
            self._read_end(following)  # The only END behind an expression: `UNTIL done END REPEAT`.
        self._handler = word == "HANDLER" and following == "FOR"
        if self._definition:
            self._definition = word != "SELECT"  # In a query, BEGIN is an alias.
            return word in self._facts.before_script and following in self._facts.scripts and not self._cases
        return word in self._facts.before_statement and not self._cases

    def _has_statements(self) -> bool:
        """Whether a block is open, and no declarations: `DECLARE loop INT` is a variable."""
        return bool(self.open) and self.open[-1].word != "DECLARE"

    def _read_end(self, following: str) -> None:
        end = f"END {following}"
        self._close(end if end in self._ends else "END")

    def _close(self, end: str) -> None:
        """Close the innermost block if this is its own end; another's leaves it open, to be reported at the end."""
        if self.open and end in self._facts.blocks[self.open[-1].word]:
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
    blocks = _Blocks(facts)
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
        hint = f"write {facts.blocks[word][0]} where it ends, and quote {word} where it is a name"
        raise source.unterminated(start, "block", word, hint)


def _statement(facts: Dialect, source: _Source, index: int, span: _Span) -> Statement:
    line, column = source.place(span.start)
    text = source.sql[span.start : span.end].rstrip(facts.space)
    code = source.sql[span.start : span.code_end]
    return Statement(index, line, column, text, checksum(code.encode()))
