"""Scripts, `BEGIN … END`: the statements inside, and their effects together.

https://spark.apache.org/docs/latest/sql-ref-scripting.html, https://docs.snowflake.com/en/developer-guide/snowflake-scripting/blocks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.queries import Sources
from glacierbase.sql.statement import EVERY_MOVE, InnerStatement, Name, ParsedStatement, SessionEffect, not_understood

# Words after which the next statement starts at once.
_BEFORE_STATEMENT = ("ELSE", "THEN", "DO")
# Words that open a block, whose end is END and the word, or END alone. A loop's statements may run no times.
_OPENS = ("IF", "FOR", "WHILE", "CASE", "LOOP", "REPEAT")
_LOOPS = frozenset({"FOR", "WHILE", "LOOP", "REPEAT"})
_DEEPEST = 100
# The words that end the expression after these words.
_CONDITIONS = {
    "IF": ("THEN",), "ELSEIF": ("THEN",), "WHEN": ("THEN",), "WHILE": ("DO", "LOOP"), "UNTIL": ("END",), "FOR": ("DO", "LOOP"),
}  # fmt: skip
# Statements of scripts that only change variables and cursors, or leave a block.
_WITHOUT_TABLES = (
    "SET", "LEAVE", "ITERATE", "BREAK", "CONTINUE", "EXIT", "OPEN", "FETCH", "CLOSE", "SIGNAL", "RESIGNAL", "RETURN", "LET",
    "NULL", "RAISE", "DECLARE", "AWAIT", "CANCEL",
)  # fmt: skip
# Those after which the rest of the script may not run.
_LEAVES = ("LEAVE", "ITERATE", "BREAK", "CONTINUE", "EXIT", "RETURN", "RAISE", "SIGNAL", "RESIGNAL")
# First words of statements in parentheses whose result Snowflake assigns to a variable, or runs beside the others.
_IN_PARENTHESES = ("EXECUTE", "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "CREATE", "ALTER", "DROP", "CALL")

Read = Callable[[Cursor], ParsedStatement]


class Script:
    """Read a script statement by statement."""

    def __init__(self, cursor: Cursor, read: Read) -> None:
        self._cursor = cursor
        self._read = read
        self._open: list[str] = []  # The words of the open blocks; HANDLER and EXCEPTION in place of BEGIN.
        self._in_handler = False  # Whether the statement of a handler is next.
        self._may_have_left = False
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
        while self._cursor.word() and (self._open or not self._begun):
            self._step()
            if len(self._open) > _DEEPEST:  # The reading of each statement takes them all into account.
                raise UnsupportedClause("blocks that are nested too deeply")
        if self._open:
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
        elif word == "EXCEPTION" and self._open:
            cursor.next()
            self._open[-1] = word
        elif word in ("LOOP", "REPEAT"):
            self._open.append(cursor.next())
        elif word == "CASE":
            self._open.append(cursor.next())
            self._expression("WHEN")
        elif word in _CONDITIONS:
            self._condition(word)
        elif word == "ASYNC":
            cursor.next()
            self._result(cursor)
        elif word == "DECLARE" and "HANDLER" in (cursor.word(1), cursor.word(2)):
            self._handler()
        elif word in _WITHOUT_TABLES or self._declares or self._assigns():
            start = cursor.position
            self._declaration()
            self._may_have_left = self._may_have_left or word in _LEAVES
            if word == "SET":  # A variable of the script or of the session.
                self._session = SessionEffect.UNKNOWN
                self._read_since(start, cursor)
        else:
            self._statement()

    def _begins_transaction(self) -> bool:
        facts = self._cursor.dialect
        return bool(self._open) and self._cursor.word(1) in facts.transactions

    def _begin(self) -> None:
        self._cursor.next()
        self._cursor.take("NOT")
        self._cursor.take("ATOMIC")
        self._declares = False
        self._begun = True
        self._open.append("HANDLER" if self._in_handler else "BEGIN")
        self._in_handler = False

    def _end(self) -> None:
        self._cursor.next()
        word, opened = self._cursor.take_any(*_OPENS), self._open.pop() if self._open else ""
        if self._cursor.word() != ";":
            self._cursor.next()  # A label.
        if not opened or bool(word) > (opened in _OPENS) or self._cursor.word() not in ("", ";"):
            raise UnsupportedClause("END in a script")

    def _condition(self, word: str) -> None:
        cursor = self._cursor
        cursor.next()
        if word == "FOR" and cursor.word(1) in ("AS", "IN"):
            cursor.next()
            cursor.next()
        self._expression(*_CONDITIONS[word])
        if word in _OPENS:
            self._open.append(word)
            cursor.take_any("DO", "LOOP")

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
                self._in_handler = True
                return

    def _assigns(self) -> bool:
        word, following = self._cursor.word(), self._cursor.word(1)
        return word.endswith(":=") or (following, self._cursor.word(2)) == (":", "=")

    def _declaration(self) -> None:
        """Move past a statement on variables, whose expressions may contain queries; a cursor's has no parentheses."""
        start = self._cursor.position
        self._expression(";")
        declaration = self._cursor.part(start)
        while self._cursor.dialect is SNOWFLAKE and declaration.word():
            if declaration.word() == "(" and declaration.word(1) in _IN_PARENTHESES and declaration.word(2) != "(":
                self._result(declaration)
            else:
                declaration.next()

    def _result(self, cursor: Cursor) -> None:
        """Read the statement in the parentheses that open here."""
        cursor.expect("(")
        start = cursor.position
        cursor.skip_to(")")
        self._add(cursor, start)
        cursor.expect(")")

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
        self._add(self._cursor, start)

    def _add(self, cursor: Cursor, start: int) -> None:
        """Add what the statement from this position to the cursor does."""
        parsed = self._read_since(start, cursor)
        self._targets.update({name.key: name for name in parsed.targets})
        self._reads(parsed.sources)
        if parsed.session is not SessionEffect.NONE:
            self._session = SessionEffect.UNKNOWN

    def _read_since(self, start: int, cursor: Cursor) -> ParsedStatement:
        """Return what the statement from this position to the next token does."""
        part = cursor.part(start)
        place = part.place()
        try:
            parsed = self._read(part)
        except UnsupportedClause as why:
            parsed = not_understood(str(why))
        is_conditional = self._in_handler or self._may_have_left or any(word != "BEGIN" for word in self._open)
        self._in_handler = False
        within = parsed.inner or (InnerStatement(cursor.text_since(start), parsed, place),)
        is_repeated = not _LOOPS.isdisjoint(self._open)
        self._inner += (
            replace(
                inner,
                is_conditional=inner.is_conditional or is_conditional,
                is_repeated=inner.is_repeated or is_repeated,
            )
            for inner in within
        )
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
