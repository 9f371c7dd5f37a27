"""The inverse of a migration: statements that undo what can be undone, and a comment for each that cannot.

The text of the file is inverted before it is rendered, with words in place of its template expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from glacierbase.declared.known import KnownTable
from glacierbase.declared.known_tables import KnownTables
from glacierbase.declared.render import literal
from glacierbase.declared.writer import undoing
from glacierbase.errors import MigrationFileError
from glacierbase.formats import FORMATS, ICEBERG
from glacierbase.migrations.statements import split_statements
from glacierbase.secrets import MASK, resembles_secret
from glacierbase.sql import read
from glacierbase.sql.dialects import SNOWFLAKE, dialect_of
from glacierbase.sql.statement import ParsedStatement, Property

_TEMPLATE_START = re.compile(r"\{(?=[{%#])")
_BLOCK = re.compile(r"\{[{%]")
# The text before the width of a transform.
_BEFORE_WIDTH = re.compile(r"(?i)\b(?:bucket|truncate)\s*\(\s*\Z")
_LONGEST = 120


class NotInverted(Exception):
    """A statement that cannot be inverted; the message is the reason."""


def inverse(text: str, dialect: str, earlier: Sequence[str]) -> tuple[str, bool]:
    """Return the SQL that undoes a migration, in reverse order, and whether it holds a statement.

    Args:
        text: the text of the migration file, a template.
        earlier: the texts of the migrations before it.

    Raises:
        MigrationFileError: the text cannot be split before it is rendered.
    """
    words = _Words(dialect, (*earlier, text))
    replay = _Replay(dialect, words.word)
    for file in map(words.hidden, earlier):
        replay.follow_file(file)
    replay.known.start_file()
    shown, parts = words.hidden(text), list[str]()
    for statement in split_statements(shown, dialect):
        parsed = read(statement.text, dialect)
        try:
            if _BLOCK.search(shown):
                raise NotInverted("the file has template blocks")
            lines = list(replay.undoing(parsed))
        except NotInverted as why:
            parts.insert(0, _comment(words.restored(statement.text), why))
        else:
            parts.insert(0, words.restored("\n".join(lines)))
        replay.follow(statement.text, parsed)
    sql = "\n\n".join(parts)
    return f"{sql}\n", any(line and not line.startswith("--") for line in sql.splitlines())


class _Words:
    """Words in place of the template expressions of texts, and numbers in place of the widths of transforms."""

    def __init__(self, dialect: str, texts: Iterable[str]) -> None:
        whole = "\n".join(texts).lower()
        quote = next(enclosure.closes for enclosure in dialect_of(dialect).enclosures if enclosure.name == "identifier")
        self.word, digits = "expression", "816"
        while self.word in whole:
            self.word += "_"
        while digits in whole:
            digits += "7"
        self._digits, self._numbers = digits, dict[str, int]()
        bare = r"\{\{[^{}]*\}\}"
        self._expression = re.compile(f"{quote}{bare}{quote}|{bare}")
        word = rf"(?i:{self.word})_(\d+)_"
        self._placed = re.compile(rf"{quote}{word}{quote}|{word}|{digits}(\d{{6}})")

    def hidden(self, text: str) -> str:
        """Return a text with words in place of expressions, and of the quotes around one."""
        return self._expression.sub(self._word, text)

    def _word(self, expression: re.Match[str]) -> str:
        number = self._numbers.setdefault(expression[0], len(self._numbers))
        before = expression.string[max(0, expression.start() - 20) : expression.start()]
        return f"{self._digits}{number:06}" if _BEFORE_WIDTH.search(before) else f"{self.word}_{number}_"

    def restored(self, text: str) -> str:
        """Return a text with the expressions."""
        expressions = list(self._numbers)
        # A name that Snowflake folds to capitals has no quotes.
        bare = re.sub(rf'"([\w$]*{self.word.upper()}[\w$]*)"', r"\1", text)
        return self._placed.sub(lambda match: expressions[int(match[match.lastindex or 0])], bare)


class _Replay:
    """What the statements so far declare, before they are rendered."""

    def __init__(self, dialect: str, word: str) -> None:
        """Args:
        word: the begin of the words that stand for expressions.
        """
        self.known = KnownTables()
        self._dialect, self._word = dialect, word
        self._texts, self._names = list[str](), set[tuple[str, ...]]()

    def follow_file(self, text: str) -> None:
        """Add an earlier file. Nothing is known of a table after a template block."""
        self.known.start_file()
        try:
            statements = [statement.text for statement in split_statements(text, self._dialect)]
        except MigrationFileError:
            statements = [text]
        for sql in statements:
            self.follow(sql, read(sql, self._dialect), is_conditional=bool(_BLOCK.search(text)))

    def follow(self, text: str, parsed: ParsedStatement, *, is_conditional: bool = False) -> None:
        self._texts.append(text)
        self._names |= {name.key for name in parsed.targets}
        self.known.follow(parsed, is_conditional=is_conditional)

    def undoing(self, parsed: ParsedStatement) -> Iterator[str]:
        """Yield the lines that undo a statement.

        Raises:
            NotInverted
        """
        known = self._table(parsed)
        using = SNOWFLAKE.name if parsed.subject else known.using if known and known.using in FORMATS else ICEBERG.name
        sql = undoing(parsed, known, using or "")
        if sql is None:
            raise NotInverted("no inverse is known")
        keys = [
            part.key for part in parsed.parts if isinstance(part, Property) and parsed.operation == "set_properties"
        ]
        if keys and (known is None or known.properties is None):
            if former := [literal(key) for key in keys if any(key in text for text in self._texts)]:
                raise NotInverted(f"set {', '.join(former)} to the former value, see the files before")
            yield "-- no file before sets these keys; a value that was set in another way is not known"
        yield from (f"{statement};" for statement in sql)

    def _table(self, parsed: ParsedStatement) -> KnownTable | None:
        """Return what is declared of the table of a statement; None where it may have two names, by an expression."""
        if not parsed.targets:
            return None
        name = parsed.targets[0]
        may_be = (self._may_be_same(name.key, other) for other in self._names - {name.key})
        return None if any(may_be) else self.known.before(name)

    def _may_be_same(self, name: Sequence[str], other: Sequence[str]) -> bool:
        parts = zip(reversed(name), reversed(other), strict=False)
        return all(part == same or self._word in f"{part} {same}".lower() for part, same in parts)


def _comment(statement: str, why: NotInverted) -> str:
    """Return a comment on one line with the beginning of the statement, in which template expressions are plain text."""
    text = MASK if resembles_secret(statement) else " ".join(statement.split())
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return _TEMPLATE_START.sub("{ ", f"-- not inverted: {text} ({' '.join(str(why).split())})")
