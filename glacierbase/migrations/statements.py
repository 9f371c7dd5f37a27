"""Split rendered SQL into the statements that the engine runs one by one; refuse SQL that cannot be split for certain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise, repeat
from typing import NamedTuple

from glacierbase.errors import MigrationFileError
from glacierbase.model.migration import Statement, checksum
from glacierbase.sql.dialects import Dialect, dialect_of
from glacierbase.sql.tokens import Source, Token, check_characters, tokens

_BYTE_ORDER_MARK = "\ufeff"
# First words of a statement after which the next one starts, as it does after those of `Dialect.scripts`.
_BEFORE_STATEMENT = frozenset({"NOT", "ATOMIC", "LOOP", "REPEAT", "ELSE"})
# Tokens between HANDLER and the last word of its conditions: `HANDLER FOR SQLSTATE VALUE '22012', NOT FOUND`.
_BEFORE_CONDITION = frozenset({"FOR", "SQLSTATE", "VALUE", "NOT", ","})
# https://docs.snowflake.com/en/sql-reference/transactions: what opens and closes a transaction, the longest first, and the first
# word of what takes part in one. Any other statement commits it first.
_BEGINS = (("BEGIN", "TRANSACTION"), ("BEGIN", "WORK"), ("START", "TRANSACTION"), ("BEGIN",))
_ENDS = (("COMMIT",), ("COMMIT", "WORK"), ("ROLLBACK",), ("ROLLBACK", "WORK"))
_JOINS = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "SELECT", "WITH", "SET", "UNSET"})
# The longest of them has four: `BEGIN TRANSACTION NAME n`.
_MOST_WORDS = 5
# Statements that take effect together, and are recorded together: a statement between BEGIN and COMMIT has no effect yet.
Step = tuple[Statement, ...]


def split_statements(sql: str, dialect: str) -> tuple[Statement, ...]:
    """Split SQL into its statements, as the engine's own lexer does.

    A statement ends at a semicolon outside of strings, quoted identifiers, comments and `BEGIN … END`, or at the end of the
    input. Its text is an exact part of the input, without that semicolon, the whitespace around it and the comments before
    it; a comment between its last word and the semicolon is part of it. Comments alone are not a statement.

    Args:
        sql: the whole input; a byte order mark at its start is dropped, and not counted as a column.
        dialect: `"spark"`, `"snowflake"`, or one that a package adds.

    Raises:
        MigrationFileError: a string, a quoted identifier, a comment or a block is never closed (`UNTERMINATED_STRING`,
            `_IDENTIFIER`, `_COMMENT`, `_BLOCK`), a comment continues into the code of the next line
            (`MISREAD_COMMENT`), or a character is invalid (`NUL_CHARACTER`, `SURROGATE_CHARACTER`). `data` holds the
            `line` and `column` where it starts.
        ConfigurationError: `UNKNOWN_DIALECT`.
    """
    facts = dialect_of(dialect)
    source = Source(sql.removeprefix(_BYTE_ORDER_MARK))
    check_characters(source)
    spans = _spans(facts, source)
    return tuple(_statement(facts, source, index, span) for index, span in enumerate(spans, start=1))


class _Span(NamedTuple):
    """Offsets of a statement.

    Attributes:
        above: the end of the statement before it, or the start of the input.
        start: of its first token.
        code_end: the end of its last token.
        end: its end with the comments after that.
    """

    above: int
    start: int
    code_end: int
    end: int


class _Blocks:
    """Track the open blocks of a script, token by token, each with the word of the next token.

    BEGIN, END, IF and REPEAT are also names, aliases and functions, and CASE … END is also an expression. They open and
    close blocks only as the first word of a statement of the script, so this class tracks where statements start.
    """

    def __init__(self, facts: Dialect) -> None:
        self.open: list[Token] = []
        self._facts = facts
        self._ends = frozenset(chain.from_iterable(facts.blocks.values()))
        self._first = True  # Whether the next token is the first of a statement.
        self._depth = 0  # Open parentheses; a script has no statements inside them.
        self._cases = 0  # Open CASE expressions.
        self._handler = False  # Whether the token is among the conditions of a handler, before its statement.
        self._definition = False  # Whether the token is in a definition, before its script.

    def read(self, token: Token, following: str) -> None:
        self._depth += (token.word == "(") - (token.word == ")")
        if token.word == ";":
            self._first, self._depth, self._cases, self._handler, self._definition = True, 0, 0, False, False
        elif self._first:
            self._first = self._read_first(token, following)
        elif not self._depth and (self.open or self._definition):
            self._first = self._read_later(token.word, following)

    def _read_first(self, token: Token, following: str) -> bool:
        """Read the first token of a statement; return whether the next token is a first one too."""
        word = token.word
        if self._facts.labels and ":" in (word, following):
            return True  # A label, which may be any word.
        is_body, self._definition = self._definition, not self._facts.definitions.isdisjoint((word, following))
        if word == "BEGIN" and following in self._facts.transactions and not is_body:
            return False  # A transaction; a body cannot start with one.
        if word in self._facts.scripts or (word in self._facts.blocks and self._has_statements()):
            if not is_body:
                self._close(
                    word
                )  # BEGIN ends the declarations before it, but not as the body of a procedure among them.
            self.open.append(token)
        elif word == "END":
            self._read_end(following)
        return word in self._facts.scripts or word in _BEFORE_STATEMENT

    def _read_later(self, word: str, following: str) -> bool:
        """Read any other token outside of parentheses; return whether the next token is a first one."""
        if self._handler:
            self._handler = word in _BEFORE_CONDITION or following == ","
            return not self._handler
        if word == "CASE":
            self._cases += 1
        elif word == "END" and self._cases:
            self._cases -= 1
        elif word == "END" and following == "REPEAT":
            self._read_end(following)  # The only END after an expression: `UNTIL done END REPEAT`.
        self._handler = word == "HANDLER" and following == "FOR"
        if self._definition:
            self._definition = word != "SELECT"  # In a query, BEGIN is an alias.
            return word in self._facts.before_script and following in self._facts.scripts and not self._cases
        return word in self._facts.before_statement and not self._cases

    def _has_statements(self) -> bool:
        """Return whether the innermost block contains statements; in declarations, `DECLARE loop INT` is a variable."""
        return bool(self.open) and self.open[-1].word != "DECLARE"

    def _read_end(self, following: str) -> None:
        end = f"END {following}"
        self._close(end if end in self._ends else "END")

    def _close(self, end: str) -> None:
        """Close the innermost block if `end` closes it; otherwise it remains open and is reported at the end of the input."""
        if self.open and end in self._facts.blocks[self.open[-1].word]:
            self.open.pop()


def _spans(facts: Dialect, source: Source) -> Iterator[_Span]:
    blocks = _Blocks(facts)
    first: Token | None = None
    above = code_end = 0
    # The end of the input acts as a semicolon; the second one is the token that follows the first.
    ends = repeat(Token(";", len(source.sql), len(source.sql)), 2)
    for token, following in pairwise(chain(tokens(facts, source), ends)):
        blocks.read(token, following.word)
        if token.word != ";" or blocks.open:
            first, code_end = first or token, token.end
        elif first:
            yield _Span(above, first.start, code_end, token.start)
            first, above = None, token.end
    if blocks.open:
        word, start, _ = blocks.open[-1]
        hint = f"write {facts.blocks[word][0]} where it ends, and quote {word} where it is a name"
        raise source.unterminated(start, "block", word, hint)


def _statement(facts: Dialect, source: Source, index: int, span: _Span) -> Statement:
    line, column = source.place(span.start)
    text = source.sql[span.start : span.end].rstrip(facts.space)
    code = source.sql[span.start : span.code_end]
    return Statement(index, line, column, text, checksum(code.encode()), _comments(source.sql, span))


def _comments(sql: str, span: _Span) -> str:
    """Return the comments on the lines above a statement; one on the line where the statement before it ends is not among them."""
    above = sql[span.above : span.start]
    return (above.partition("\n")[2] if span.above else above).strip()


def steps(statements: Iterable[Statement], dialect: str) -> tuple[Step, ...]:
    """Return the statements as steps; those of one transaction are one step.

    Raises:
        MigrationFileError: `TRANSACTION_NOT_ENDED`, or `TRANSACTION_BROKEN`: a statement commits the transaction before it runs.
            `data` holds `line` and `column`.
    """
    facts = dialect_of(dialect)
    if not facts.transactions:
        return tuple((statement,) for statement in statements)
    return tuple(_steps(statements, facts))


def _steps(statements: Iterable[Statement], facts: Dialect) -> Iterator[Step]:
    together: list[Statement] = []
    for statement in statements:
        words = tuple(token.word for token in islice(tokens(facts, Source(statement.text)), _MOST_WORDS))
        if together:
            together.append(statement)
            if words in _ENDS:
                yield tuple(together)
                together = []
            elif words[0] not in _JOINS:
                raise _broken(together[0], statement)
        elif _begins(words):
            together = [statement]
        else:
            yield (statement,)
    if together:
        raise _not_ended(together[0])


def _begins(words: Sequence[str]) -> bool:
    """Return whether these are the words of a statement that opens a transaction, with or without a name."""
    opening = next((begin for begin in _BEGINS if words[: len(begin)] == begin), None)
    rest = words[len(opening) :] if opening else ()
    return opening is not None and (not rest or (len(rest) == 2 and rest[0] == "NAME"))


def _broken(begin: Statement, statement: Statement) -> MigrationFileError:
    return _transaction_error(
        statement,
        "TRANSACTION_BROKEN",
        f"this statement commits the transaction of line {begin.line} before it runs",
        "write COMMIT before it, or move it out of the transaction: only INSERT, UPDATE, DELETE, MERGE and queries take"
        " part in one",
    )


def _not_ended(begin: Statement) -> MigrationFileError:
    return _transaction_error(
        begin,
        "TRANSACTION_NOT_ENDED",
        "the transaction that begins here is never ended, so its statements would have no effect",
        "write COMMIT after its last statement; a scripting block needs its END",
    )


def _transaction_error(statement: Statement, code: str, what: str, hint: str) -> MigrationFileError:
    message = f"line {statement.line}, column {statement.column}: {what}"
    return MigrationFileError(code, message, hint, line=statement.line, column=statement.column)
