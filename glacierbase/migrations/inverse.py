"""The inverse of a migration: statements that undo what can be undone, and a comment for each that cannot.

The text of the file is inverted before it is rendered, so that the template expressions remain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from glacierbase.declared.render import literal
from glacierbase.migrations.statements import split_statements
from glacierbase.secrets import MASK, resembles_secret
from glacierbase.sql import read
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.statement import ColumnClause, ParsedStatement, Part, PartitionClause, Property, RenameColumn

P = TypeVar("P", bound=Part)
_EXPRESSION = re.compile(r"\{\{[^{}]*\}\}")
_TEMPLATE_START = re.compile(r"\{(?=[{%#])")
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
    statements = [statement.text for statement in split_statements(text, dialect)]
    lines: list[str] = []
    for index in reversed(range(len(statements))):
        try:
            if "{%" in text:
                raise NotInverted("the file has template blocks")
            lines += [*_inverted(statements[index], dialect, (*earlier, *statements[:index])), ""]
        except NotInverted as why:
            lines += [_comment(statements[index], why), ""]
    return "\n".join(lines), any(line and not line.startswith("--") for line in lines)


def inverse_of(statement: str, dialect: str) -> str | None:
    """Return the statement that undoes a rendered one, without a semicolon at its end; None if no inverse is known."""
    try:
        return "; ".join(line.removesuffix(";") for line in _inverted(statement, dialect, ()))
    except NotInverted:
        return None


@dataclass(frozen=True, slots=True)
class _Written:
    """A statement of a file.

    Attributes:
        text: with a word in place of each template expression.
        parsed: the statement read from that text.
        quote: the character that encloses a name in its dialect.
        earlier: the texts of the files and statements before it.
    """

    text: str
    parsed: ParsedStatement
    quote: str
    earlier: Sequence[str]

    @property
    def table(self) -> str:
        return ".".join(self.parsed.targets[0].written)

    def name(self, part: str, key: str) -> str:
        """Return a part of a column's name, in quotes if the statement has it in quotes.

        Args:
            key: the part as the engine compares it; a part that the engine folds to capitals has no quotes.
        """
        quoted = f"{self.quote}{part.replace(self.quote, self.quote * 2)}{self.quote}"
        return quoted if quoted in self.text and not part.upper() == key != part else part


def _inverted(statement: str, dialect: str, earlier: Sequence[str]) -> Iterator[str]:
    """Yield the lines that undo one statement."""
    expressions = _EXPRESSION.findall(statement)
    word = "expression"
    while word in statement.lower():
        word += "_"
    numbers = iter(range(len(expressions)))
    text = _EXPRESSION.sub(lambda _: f"{word}_{next(numbers)}_", statement)
    parsed = read(text, dialect)
    options = parsed.options
    if parsed.operation not in _INVERSES or options.kind != "table" or options.if_exists or options.partition:
        raise NotInverted("no inverse is known")
    quote = next(enclosure.closes for enclosure in dialect_of(dialect).enclosures if enclosure.name == "identifier")
    placed = re.compile(rf"{word}_([0-9]+)_")
    for line in _INVERSES[parsed.operation](_Written(text, parsed, quote, earlier)):
        yield placed.sub(lambda match: expressions[int(match[1])], line)


def _rename_column(statement: _Written) -> Iterator[str]:
    for part in _parts(statement, RenameColumn):
        *parents, old = map(statement.name, part.path, part.key)
        new = statement.name(part.new, part.new_key)
        yield f"ALTER TABLE {statement.table} RENAME COLUMN {'.'.join((*parents, new))} TO {old};"


def _rename_table(statement: _Written) -> Iterator[str]:
    old, new = (target.written for target in statement.parsed.targets)
    # The new name may lack the first parts, such as the catalog.
    shared = len(old) - len(new)
    if shared < 0:
        raise NotInverted("the new name has more parts than the old one")
    yield f"ALTER TABLE {'.'.join((*old[:shared], *new))} RENAME TO {'.'.join(old[shared:])};"


def _add_columns(statement: _Written) -> Iterator[str]:
    columns = _parts(statement, ColumnClause)
    if statement.parsed.options.if_not_exists or any(column.type is None for column in columns):
        raise NotInverted("the columns are not understood")
    names = (".".join(map(statement.name, column.path, column.key)) for column in columns)
    yield f"ALTER TABLE {statement.table} DROP COLUMN {', '.join(names)};"


def _add_field(statement: _Written) -> Iterator[str]:
    for part in _parts(statement, PartitionClause):
        name = statement.name(part.name, part.name) if part.name else part.transform.text
        yield f"ALTER TABLE {statement.table} DROP PARTITION FIELD {name};"


def _drop_field(statement: _Written) -> Iterator[str]:
    for part in _parts(statement, PartitionClause):
        if not part.transform.function:
            raise NotInverted("no inverse is known")  # The name may be that of a field with any transform.
        yield f"ALTER TABLE {statement.table} ADD PARTITION FIELD {part.transform.text};"


def _set_properties(statement: _Written) -> Iterator[str]:
    properties = _parts(statement, Property)
    if any(part.value is None for part in properties):
        raise NotInverted("the properties are not understood")
    known = [literal(part.key) for part in properties if any(part.key in text for text in statement.earlier)]
    if known:
        raise NotInverted(f"set {', '.join(known)} to the former value, see the files before")
    keys = ", ".join(literal(part.key) for part in properties)
    yield "-- no file before sets these keys; a value that was set in another way is not known"
    yield f"ALTER TABLE {statement.table} UNSET TBLPROPERTIES ({keys});"


def _parts(statement: _Written, kind: type[P]) -> list[P]:
    return [part for part in statement.parsed.parts if isinstance(part, kind)]


def _comment(statement: str, why: NotInverted) -> str:
    """Return a comment on one line with the beginning of the statement, in which template expressions are plain text."""
    text = MASK if resembles_secret(statement) else " ".join(statement.split())
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return _TEMPLATE_START.sub("{ ", f"-- not inverted: {text} ({' '.join(str(why).split())})")


# The key is the operation of the statement.
_INVERSES: Mapping[str, Callable[[_Written], Iterator[str]]] = {
    "rename_column": _rename_column,
    "rename_table": _rename_table,
    "add_column": _add_columns,
    "add_partition_field": _add_field,
    "drop_partition_field": _drop_field,
    "set_properties": _set_properties,
}
