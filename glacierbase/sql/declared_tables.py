"""The tables that files leave behind and the columns that they declare, followed from CREATE through ALTER and RENAME to DROP.

What is not understood is not guessed: the table then has no columns, and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from glacierbase.model.migration import Statement
from glacierbase.sql import read
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.declared_columns import Columns, altered, created

# The USE statements before it, and the parts of its name.
_Key = tuple[tuple[str, ...], tuple[str, ...]]
_USE = re.compile(r"(?i)USE\b")
# USE statements that do not change what a name means.
_USE_ROLE = re.compile(r"(?i)USE\s+(?:ROLE|WAREHOUSE|SECONDARY)\b")
_FIRST_WORD = re.compile(r"\w+")
# Words between CREATE or ALTER and TABLE or VIEW.
_MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Declared:
    """A table or view that the files leave behind.

    Attributes:
        name: as the file writes it.
        uses: the USE statements before it in its file.
        version: of the file that creates it.
        columns: None where they are not known.
        why: why they are not known.
    """

    name: str
    uses: tuple[str, ...]
    version: str
    columns: Columns | None
    why: str = ""


def declared_tables(files: Iterable[tuple[str, Sequence[Statement]]], dialect: str) -> tuple[Declared, ...]:
    """Return the tables and views that the files create and do not drop again, by their last names.

    Args:
        files: the version and the statements of each.
    """
    follower = _Follower(dialect)
    for version, statements in files:
        uses: tuple[str, ...] = ()
        for statement in statements:
            if _USE.match(statement.text):
                uses = (*uses, statement.text)
            else:
                follower.follow(statement.text, uses, version)
    return tuple(follower.tables.values())


class _Follower:
    """Follows tables from statement to statement."""

    def __init__(self, dialect: str) -> None:
        self.tables: dict[_Key, Declared] = {}
        self._dialect = dialect
        # Of the statement that is followed.
        self._sql = ""
        self._uses: tuple[str, ...] = ()
        self._version = ""
        self._verbs: Mapping[str, Callable[[Cursor], None]] = {
            "CREATE": self._create, "REPLACE": self._create, "DROP": self._drop, "ALTER": self._alter,
            "BEGIN": self._script, "DECLARE": self._script, "EXECUTE": self._script,
        }  # fmt: skip

    def follow(self, sql: str, uses: tuple[str, ...], version: str) -> None:
        first = _FIRST_WORD.match(sql)
        verb = self._verbs.get(first[0].upper()) if first else None
        if verb:
            self._sql, self._uses, self._version = sql, uses, version
            try:
                verb(Cursor(sql, self._dialect))
            except NotUnderstood:  # The name of what it changes.
                self._forget((), "a later statement is not understood")

    def _create(self, cursor: Cursor) -> None:
        words = _words_before_object(cursor)
        if words is None:
            return
        is_new = not cursor.take("IF", "NOT", "EXISTS")
        key, name = self._name(cursor)
        if key in self.tables and not is_new:
            return
        try:
            columns, why = self._columns(cursor, words), ""
        except NotUnderstood as error:
            columns, why = None, str(error)
        self.tables[key] = Declared(name, self._uses, self._version, columns, why)

    def _columns(self, cursor: Cursor, words: Sequence[str]) -> Columns:
        if words[-1] == "VIEW":
            raise NotUnderstood("a view")
        if self._dialect == "snowflake" and not {"ICEBERG", "EXTERNAL"}.isdisjoint(words):
            raise NotUnderstood("Snowflake has types and columns of its own for Iceberg and external tables")
        statement = read(self._sql, self._dialect)
        if not statement.understood:
            raise NotUnderstood(statement.why)
        if cursor.word() == "(":
            cursor.parentheses()
        _check_no_query(cursor)
        return created(statement, self._dialect)

    def _drop(self, cursor: Cursor) -> None:
        if _words_before_object(cursor):
            cursor.take("IF", "EXISTS")
            self.tables.pop(self._name(cursor)[0], None)

    def _alter(self, cursor: Cursor) -> None:
        if not _words_before_object(cursor):
            return
        cursor.take("IF", "EXISTS")
        key, _ = self._name(cursor)
        table = self.tables.get(key)
        if table is None:
            self._forget(key[1])
        elif cursor.take("RENAME", "TO"):
            del self.tables[key]
            new, name = self._name(cursor)
            self.tables[new] = replace(table, name=name, uses=self._uses)
        elif cursor.take("SWAP", "WITH"):
            self._forget(key[1], "two tables were swapped")
            self._forget(cursor.names(), "two tables were swapped")
        elif table.columns is not None:
            self.tables[key] = self._altered(table, table.columns)

    def _altered(self, table: Declared, columns: Columns) -> Declared:
        statement = read(self._sql, self._dialect)
        if not statement.understood:
            return replace(table, columns=None, why=statement.why)
        try:
            return replace(table, columns=altered(columns, statement, self._dialect))
        except NotUnderstood as error:
            return replace(table, columns=None, why=str(error))

    def _script(self, cursor: Cursor) -> None:
        if cursor.word(2):  # Else it begins a transaction.
            self._forget((), "a script may have changed it")

    def _forget(self, parts: tuple[str, ...], why: str = "it is altered under another name") -> None:
        """Drop what is known of the columns of each table that this name may stand for."""
        for key, table in self.tables.items():
            shorter = min(len(parts), len(key[1]))
            if key[1][len(key[1]) - shorter :] == parts[len(parts) - shorter :]:
                self.tables[key] = replace(table, columns=None, why=table.why or why)

    def _name(self, cursor: Cursor) -> tuple[_Key, str]:
        """Move past the name of a table; return its key and the text of the name."""
        start = cursor.position
        parts = cursor.names()
        # A name of three parts means the same after any USE.
        relevant = () if len(parts) > 2 else tuple(use for use in self._uses if not _USE_ROLE.match(use))
        return (relevant, parts), cursor.text_since(start)


def _words_before_object(cursor: Cursor) -> list[str] | None:
    """Move past TABLE or VIEW and the words before it, and return them; None where the statement is about neither."""
    words: list[str] = []
    for _ in range(_MOST_WORDS):
        words.append(cursor.next())
        if words[-1] in ("TABLE", "VIEW"):
            return words
    return None


def _check_no_query(cursor: Cursor) -> None:
    """Refuse a table whose columns are those of a query or of another table. Does not move."""
    ahead, depth = 0, 0
    while word := cursor.word(ahead):
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in ("AS", "LIKE", "CLONE", "TEMPLATE"):
            raise NotUnderstood(f"CREATE … {word}")
        ahead += 1
