"""The tables that a query reads: the relations after FROM and JOIN, without the names of common table expressions.

This is a scan of the tokens with a stack of parentheses, not a parser of expressions: its time is linear, no nesting is too
deep for it, and the clauses that vendors add to queries need no grammar. In parentheses that do not hold a query, such as
`extract(day FROM ts)`, FROM does not begin relations.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.statement import Name

QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})
# Words that end the list of relations, with the words that must follow; an empty tuple allows any.
_ENDS: dict[str, tuple[str, ...]] = {
    "WHERE": (), "HAVING": (), "LIMIT": (), "OFFSET": (), "QUALIFY": (), "FETCH": (), "SELECT": (),
    "GROUP": ("BY",), "ORDER": ("BY",), "SORT": ("BY",), "CLUSTER": ("BY",), "DISTRIBUTE": ("BY",), "CONNECT": ("BY",),
    "START": ("WITH",), "LATERAL": ("VIEW",), "|": (">",), "WINDOW": (),
}  # fmt: skip
# Words after a column named JOIN, which never follow the keyword.
_AFTER_COLUMN = frozenset(
    {
        "", ",", ")", ";", ".", "=", "+", "-", "*", "/", "%", "<", ">", "!", "FROM", "AS", "IS", "IN", "AND", "OR", "NOT",
        "LIKE", "BETWEEN",
    }
)  # fmt: skip
# Words after the name of a table or its alias.
_AFTER_NAME = frozenset(
    {
        "", ",", ")", ";", "AS", "JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "NATURAL", "ANTI", "SEMI", "ON", "USING",
        "PIVOT", "UNPIVOT", "TABLESAMPLE", "UNION", "EXCEPT", "INTERSECT", "MINUS", *_ENDS,
    }
)  # fmt: skip
_SET_OPERATORS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
# All words that matter outside of the name of a relation.
_WORDS = frozenset(
    {"(", ")", ";", ".", "AS", ",", "$", "-", "VALUES", "TABLE", "WITH", "FROM", "JOIN", *_ENDS, *_SET_OPERATORS}
)


@dataclass(slots=True)
class _Frame:
    """The state inside one pair of parentheses, or outside all of them.

    Attributes:
        is_query: whether FROM begins relations.
        start: whether a query may start here.
        relation: whether a relation is next.
        in_from: whether a comma separates relations.
        rows: whether a comma separates rows of VALUES.
        hidden: the keys of the common table expressions.
        defines: the common table expression that these parentheses define.
    """

    is_query: bool
    start: bool = False
    relation: bool = False
    in_from: bool = False
    rows: bool = False
    recursive: bool = False
    hidden: list[str] = field(default_factory=list)
    defines: str | None = None


class Sources:
    """Collect the tables that the rest of a statement reads."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._frames = [_Frame(is_query=True)]
        self._tables: dict[tuple[str, ...], Name] = {}
        self._sure = True
        # How many frames hide a name: each query that defines it, nested ones included.
        self._hidden: Counter[str] = Counter()
        # The end of a run of opening parentheses, and whether a query follows it.
        self._opened = (0, False)

    def query(self) -> Sources:
        """Move past a query that starts here, to the end of the statement."""
        self._frames[0].start = True
        self.rest()
        return self

    def start(self) -> None:
        """Allow a query to start here."""
        self._frames[0].start = True

    def relation(self) -> Sources:
        """Move past a relation that starts here, and all after it."""
        self._frames[0].relation = True
        self.rest()
        return self

    def relations(self) -> None:
        """Expect relations, separated by commas, from here."""
        self._frames[0].relation = self._frames[0].in_from = True

    def rest(self) -> Sources:
        """Move past expressions and clauses, to the end of the statement."""
        if self.until():
            raise UnsupportedClause(f"{self._cursor.word()} in a query")
        return self

    def definitions(self) -> None:
        """Move past WITH and the common table expressions that start here."""
        self._frames[0].start = True
        self._step(self._frames[0])
        while len(self._frames) > 1 and self._cursor.word():
            self._advance()

    def until(self, *stops: str) -> bool:
        """Move to the next of these words outside of all parentheses, or to the end; return whether there is one."""
        matters = _WORDS.union(stops)
        while (word := self._next(matters)) and (len(self._frames) > 1 or word != ";"):
            if len(self._frames) == 1 and word in stops and not self._frames[0].relation:
                return True
            self._advance()
        if len(self._frames) > 1 or self._frames[0].relation:
            raise UnsupportedClause("the end inside a query")
        return False

    def _next(self, matters: frozenset[str]) -> str:
        """Move past words that do not matter, and return the next word."""
        frame = self._frames[-1]
        if not (frame.relation or frame.rows or frame.start):
            self._cursor.skip_others(matters)
        return self._cursor.word()

    def add(self, name: Name) -> None:
        """Add a table that is read, unless it is a common table expression."""
        if len(name.key) > 1 or not self._hidden[name.key[0]]:
            self._tables.setdefault(name.key, name)

    def without(self, *changed: Name) -> tuple[Name, ...] | None:
        """Return the tables that are read, except these; None where a name is computed."""
        keys = {name.key for name in changed}
        return tuple(name for key, name in self._tables.items() if key not in keys) if self._sure else None

    def reads(self, name: Name) -> bool:
        """Return whether a table is read."""
        return name.key in self._tables

    def _advance(self) -> None:
        word, frame = self._cursor.word(), self._frames[-1]
        if word == "(":
            self._open(frame)
        elif word == ")":
            self._close()
        elif frame.relation:
            self._read_relation(frame)
        else:
            self._step(frame)

    def _open(self, frame: _Frame) -> None:
        was_relation, frame.relation, frame.start = frame.relation, False, False
        inside = _Frame(self._opens_query(), start=True)
        if was_relation and not inside.is_query:
            inside = _Frame(is_query=True, relation=True)
        inside.in_from = was_relation
        self._frames.append(inside)
        self._cursor.next()

    def _opens_query(self) -> bool:
        """Return whether a query follows the parentheses that open here; a run of them is scanned once."""
        if self._cursor.position >= self._opened[0]:
            ahead = 1
            while self._cursor.word(ahead) == "(":
                ahead += 1
            self._opened = (self._cursor.position + ahead, self._follows(ahead))
        return self._opened[1]

    def _follows(self, ahead: int) -> bool:
        word, following = self._cursor.word(ahead), self._cursor.word(ahead + 1)
        if word == "TABLE" or (word in ("MAP", "REDUCE") and following in ("(", "[")):
            return False  # An argument of a function, or `TABLE t`, which holds no FROM.
        return word in QUERY_WORDS and following not in (",", ")", ".", "=")

    def _close(self) -> None:
        closed = self._frames.pop()
        self._cursor.next()
        if not self._frames or closed.relation:
            raise UnsupportedClause(") in a query")
        self._hidden.subtract(closed.hidden)
        if closed.defines is not None:
            frame = self._frames[-1]
            if not frame.recursive:
                self._hide(frame, closed.defines)
            if self._cursor.take(","):
                self._define(frame)
            else:
                frame.start = True

    def _hide(self, frame: _Frame, name: str) -> None:
        frame.hidden.append(name)
        self._hidden[name] += 1

    def _define(self, frame: _Frame) -> None:
        """Move past the head of a common table expression."""
        cursor = self._cursor
        name = cursor.name()
        if frame.recursive:
            self._hide(frame, name)
        if cursor.word() == "(":
            cursor.parentheses()
        if cursor.take("MAX", "RECURSION", "LEVEL"):
            cursor.next()
        cursor.expect("AS")
        cursor.take("NOT")
        cursor.take("MATERIALIZED")
        cursor.expect("(")
        self._frames.append(_Frame(is_query=True, start=True, defines=name))

    def _read_relation(self, frame: _Frame) -> None:
        cursor, word = self._cursor, self._cursor.word()
        if word == "LATERAL" or (word == "STREAM" and cursor.word(1) not in ("", ",", ")", ".")):
            cursor.next()
            return
        if word == "ARCHIVE" and cursor.word(1) == "OF" and cursor.word(2) not in ("", ",", ")", ";"):
            cursor.take("ARCHIVE", "OF")  # Of Snowflake.
            return
        if word == "TABLE" and cursor.word(-1) == "(" and cursor.word(1) not in ("", "(", ")", ".", ","):
            cursor.next()
        frame.relation = False
        if word == "VALUES" and not self._is_named_values():
            self._step(frame)
        elif word == "@":
            self._skip_stage()
        elif cursor.is_string():
            cursor.next()  # A path.
        elif word in ("TABLE", "IDENTIFIER") and cursor.word(1) == "(":
            self._sure = self._sure and word == "TABLE" and not cursor.is_string(2)
            cursor.next()
        elif word in (":", "?", "{", "SELECT", "WITH") or word[:1] in (":", "$"):
            raise UnsupportedClause(f"{word} where a table is expected")
        else:
            name = cursor.table()
            if cursor.word() != "(":  # Else a function.
                self.add(name)

    def _is_named_values(self) -> bool:
        """Return whether VALUES is the name of a table in Spark, with or without an alias: no row follows."""
        cursor = self._cursor
        if cursor.dialect is not SPARK:
            return False
        is_alias = not cursor.is_string(1) and (cursor.word(1)[:1] == "`" or cursor.word(1).isidentifier())
        return cursor.word(1) in _AFTER_NAME or (is_alias and cursor.word(2) in _AFTER_NAME)

    def _skip_stage(self) -> None:
        self._cursor.next()
        while self._cursor.word() not in ("", "(", ")", ",", ";") and not self._cursor.is_apart():
            self._cursor.next()

    def _step(self, frame: _Frame) -> None:
        """Move past one word, or a few, outside of the name of a relation."""
        cursor, word = self._cursor, self._cursor.next()
        started, frame.start = frame.start, False
        if word not in _WORDS and not frame.rows:
            return
        if word == ".":
            cursor.next()
        elif word == "AS":
            if cursor.word() not in ("(", ")"):
                cursor.next()
        elif word == ",":
            frame.relation = frame.in_from and not frame.rows
        elif word == "$" and cursor.word() == "{":
            raise UnsupportedClause("a variable of Spark's, which may hold any text")
        elif word == "-" and (cursor.word(), cursor.word(1)) == (">", ">"):
            raise UnsupportedClause("a chain of statements")
        elif word in _ENDS:
            self._end_from(frame, word)
        elif word == "VALUES":
            frame.rows = frame.in_from
        elif word == "TABLE":
            self._read_table_word(frame, started)
        elif word == "WITH" and started:
            frame.recursive = cursor.take("RECURSIVE")
            self._define(frame)
        elif word in _SET_OPERATORS:
            self._read_set_operator(frame)
        elif frame.is_query:
            self._step_in_query(frame, word)
        if word == "AS" or (frame.rows and word not in (",", "VALUES") and cursor.word(-2) == ")"):
            frame.rows = False

    def _step_in_query(self, frame: _Frame, word: str) -> None:
        if (word == "FROM" and not self._is_no_clause(frame)) or (
            word == "JOIN" and (frame.in_from or self._cursor.word() not in _AFTER_COLUMN)
        ):
            frame.relation = frame.in_from = True

    def _is_no_clause(self, frame: _Frame) -> bool:
        """Return whether FROM belongs to IS DISTINCT FROM, or is a column, which Spark allows: `SELECT from FROM t`."""
        before, cursor = self._cursor.word(-2), self._cursor
        if before == "DISTINCT" and cursor.word(-3) in ("IS", "NOT"):
            return True
        return cursor.dialect is SPARK and not frame.in_from and before in ("SELECT", "DISTINCT", ",")

    def _read_set_operator(self, frame: _Frame) -> None:
        cursor = self._cursor
        cursor.take_any("ALL", "DISTINCT")
        cursor.take("BY", "NAME")
        if cursor.word() in QUERY_WORDS or cursor.word() == "(":
            frame.is_query, frame.start, frame.in_from, frame.rows = True, True, False, False

    def _read_table_word(self, frame: _Frame, started: bool) -> None:
        """Expect a relation after TABLE where it begins a query or an argument of a function: `TABLE t`, `TABLE(t)`."""
        is_argument = not frame.is_query and self._cursor.word(-2) in ("(", ",", ">")
        frame.relation = (started or is_argument) and self._cursor.word() not in ("", ",", ")", ".", "=")

    def _end_from(self, frame: _Frame, word: str) -> None:
        following = _ENDS[word]
        if self._cursor.word() in following if following else self._cursor.word() != ",":  # Else an alias.
            frame.in_from = frame.rows = False
