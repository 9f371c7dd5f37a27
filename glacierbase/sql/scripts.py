"""Scripts, `BEGIN … END`: the statements inside, and their effects together.

https://spark.apache.org/docs/latest/sql-ref-scripting.html, https://docs.snowflake.com/en/developer-guide/snowflake-scripting/blocks
"""

from __future__ import annotations

from collections.abc import Callable

from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.queries import Sources
from glacierbase.sql.statement import EVERY_MOVE, InnerStatement, Name, ParsedStatement, SessionEffect, not_understood

# Words after which the next statement starts at once.
_BEFORE_STATEMENT = ("LOOP", "REPEAT", "ELSE", "THEN", "DO", "EXCEPTION")
# The words that end the expression after these words.
_CONDITIONS = {
    "IF": ("THEN",), "ELSEIF": ("THEN",), "WHEN": ("THEN",), "WHILE": ("DO", "LOOP"), "UNTIL": ("END",), "FOR": ("DO", "LOOP"),
}  # fmt: skip
# Statements of scripts that only change variables and cursors, or leave a block.
_WITHOUT_TABLES = (
    "SET", "LEAVE", "ITERATE", "BREAK", "CONTINUE", "EXIT", "OPEN", "FETCH", "CLOSE", "SIGNAL", "RESIGNAL", "RETURN", "LET",
    "NULL", "RAISE", "DECLARE", "AWAIT", "CANCEL",
)  # fmt: skip

Read = Callable[[Cursor], ParsedStatement]


class Script:
    """Read a script statement by statement."""

    def __init__(self, cursor: Cursor, read: Read) -> None:
        self._cursor = cursor
        self._read = read
        self._depth = 0
        self._begun = False
        self._declares = False  # Whether Snowflake's declarations are read, before BEGIN.
        self._targets: dict[tuple[str, ...], Name] = {}
        self._sources: dict[tuple[str, ...], Name] | None = {}
        self._session = SessionEffect.NONE
        self._inner: list[InnerStatement] = []

    def parsed(self) -> ParsedStatement:
        """Return what the script does; it is not understood if one of its statements is not.

        Raises:
            UnsupportedClause: the script cannot be divided into statements.
        """
        while self._cursor.word() and (self._depth or not self._begun):
            self._step()
        if self._depth:
            raise UnsupportedClause("BEGIN without END")
        inner = tuple(self._inner)
        if why := next((statement.parsed.why for statement in inner if not statement.parsed.understood), None):
            return not_understood(why, inner)
        sources = None
        if self._sources is not None:
            sources = tuple(name for key, name in self._sources.items() if key not in self._targets)
        moves = EVERY_MOVE if self._session is SessionEffect.UNKNOWN else frozenset[str]()
        targets = tuple(self._targets.values())
        return ParsedStatement("script", targets, sources, session=self._session, moves=moves, inner=inner)

    def _step(self) -> None:
        """Move past one statement, or past the words before one."""
        cursor, word = self._cursor, self._cursor.word()
        if word == ";" or word in _BEFORE_STATEMENT:
            cursor.next()
        elif cursor.word(1) == ":" and cursor.word(2) != "=":
            cursor.take(word, ":")  # A label.
        elif word == "BEGIN" and not self._begins_transaction():
            self._begin()
        elif word == "END":
            self._end()
        elif word == "DECLARE" and cursor.dialect is SNOWFLAKE:
            cursor.next()
            self._declares = True
        elif word == "CASE":
            cursor.next()
            self._expression("WHEN")
        elif word in _CONDITIONS:
            self._condition(word)
        elif word == "DECLARE" and "HANDLER" in (cursor.word(1), cursor.word(2)):
            self._handler()
        elif word in _WITHOUT_TABLES or self._declares or self._assigns():
            start = cursor.position
            self._declaration()
            if word == "SET":  # A variable of the script or of the session.
                self._session = SessionEffect.UNKNOWN
                self._read_since(start)
        else:
            self._statement()

    def _begins_transaction(self) -> bool:
        facts = self._cursor.dialect
        return bool(self._depth) and self._cursor.word(1) in facts.transactions

    def _begin(self) -> None:
        self._cursor.next()
        self._cursor.take("NOT")
        self._cursor.take("ATOMIC")
        self._declares = False
        self._begun = True
        self._depth += 1

    def _end(self) -> None:
        self._cursor.next()
        if not self._cursor.take_any("IF", "CASE", "FOR", "WHILE", "LOOP", "REPEAT"):
            self._depth -= 1
        if self._cursor.word() != ";":
            self._cursor.next()  # A label.
        if self._depth < 0 or self._cursor.word() not in ("", ";"):
            raise UnsupportedClause("END in a script")

    def _condition(self, word: str) -> None:
        cursor = self._cursor
        cursor.next()
        if word == "FOR" and cursor.word(1) in ("AS", "IN"):
            cursor.next()
            cursor.next()
        self._expression(*_CONDITIONS[word])

    def _handler(self) -> None:
        """Move past `DECLARE EXIT HANDLER FOR` and its conditions; its statement follows."""
        cursor = self._cursor
        cursor.skip_to("FOR")
        cursor.expect("FOR")
        while True:
            cursor.take("SQLSTATE")
            cursor.take("VALUE")
            cursor.take("NOT")
            cursor.next()
            while cursor.take("."):
                cursor.next()
            if not cursor.take(","):
                return

    def _assigns(self) -> bool:
        word, following = self._cursor.word(), self._cursor.word(1)
        return word.endswith(":=") or (following, self._cursor.word(2)) == (":", "=")

    def _declaration(self) -> None:
        """Move past a statement on variables, whose expressions may contain queries; a cursor's has no parentheses."""
        self._expression(";")

    def _expression(self, *ends: str) -> None:
        """Move to one of these words past expressions, or past a query that starts here."""
        cursor = self._cursor
        sources = Sources(cursor)
        # The end words may also belong to a CASE; WITH would begin a query in the middle.
        unclear = [] if {"WHEN", "THEN", "END"}.isdisjoint(ends) else ["CASE"]
        if cursor.word() in ("SELECT", "WITH", "FROM", "VALUES", "TABLE"):
            sources.start()
        else:
            unclear.append("WITH")
        while sources.until(*ends, *unclear) and cursor.word() == "CASE":
            _skip_case(cursor, sources)
        if cursor.word() not in ends:
            raise UnsupportedClause(f"{cursor.word() or 'the end'} in a script")
        self._reads(sources.without())

    def _reads(self, sources: tuple[Name, ...] | None) -> None:
        if sources is None or self._sources is None:
            self._sources = None
        else:
            self._sources.update({name.key: name for name in sources})

    def _statement(self) -> None:
        start = self._cursor.position
        self._cursor.skip_to(";")
        parsed = self._read_since(start)
        self._targets.update({name.key: name for name in parsed.targets})
        self._reads(parsed.sources)
        if parsed.session is not SessionEffect.NONE:
            self._session = SessionEffect.UNKNOWN

    def _read_since(self, start: int) -> ParsedStatement:
        """Return what the statement from this position to the next token does."""
        try:
            parsed = self._read(self._cursor.part(start))
        except UnsupportedClause as why:
            parsed = not_understood(str(why))
        self._inner.append(InnerStatement(self._cursor.text_since(start), parsed))
        return parsed


def _skip_case(cursor: Cursor, sources: Sources) -> None:
    """Move past the expression `CASE … END` and the ones inside it."""
    depth = 0
    while True:
        depth += 1 if cursor.next() == "CASE" else -1
        if not depth:
            return
        if not sources.until("CASE", "END"):
            raise UnsupportedClause("CASE without END")
