"""The columns of a table after its CREATE TABLE, and after an ALTER TABLE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from glacierbase.sql.column_types import types_of
from glacierbase.sql.cursor import NotUnderstood
from glacierbase.sql.parts import AlterColumn, Column, DropColumn, Part, RenameColumn
from glacierbase.sql.statement import ParsedStatement


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A declared column.

    Attributes:
        name: as the engine compares it.
        types: the spellings that the engine may report; the first one is the declared type.
    """

    name: str
    types: tuple[str, ...]


Columns = Mapping[str, DeclaredColumn]


def created(statement: ParsedStatement, dialect: str) -> Columns:
    """Return the columns of a CREATE TABLE.

    Raises:
        NotUnderstood: it lists none, or one has a type that is not supported.
    """
    found = [_declared(part, dialect) for part in statement.parts if isinstance(part, Column)]
    if not found:
        raise NotUnderstood("the statement lists no columns")
    return {column.name: column for column in found}


def altered(columns: Columns, statement: ParsedStatement, dialect: str) -> Columns:
    """Return the columns after an ALTER TABLE.

    Raises:
        NotUnderstood: it is about a nested field, a column that is not declared, or a type that is not supported.
    """
    if statement.operation == "replace_columns":
        return created(statement, dialect)
    found = dict(columns)
    for part in statement.parts:
        found = _after(found, part, statement.options.if_exists, dialect)
    return found


def _after(
    found: dict[str, DeclaredColumn], part: Part, may_be_absent: bool, dialect: str
) -> dict[str, DeclaredColumn]:
    """Return the columns after one clause."""
    if isinstance(part, Column):
        column = _declared(part, dialect)
        return {**found, column.name: found.get(column.name, column)}
    if isinstance(part, DropColumn):
        name = _name(part.key)
        if not may_be_absent:
            _check(found, name)
        return {key: column for key, column in found.items() if key != name}
    if isinstance(part, RenameColumn):
        old = _check(found, _name(part.key))
        return {
            (part.new_key if key == old.name else key): (
                DeclaredColumn(part.new_key, column.types) if column is old else column
            )
            for key, column in found.items()
        }
    if isinstance(part, AlterColumn) and part.type is not None:
        name = _check(found, _name(part.key)).name
        return {**found, name: DeclaredColumn(name, types_of(part.type, dialect))}
    return found


def _declared(column: Column, dialect: str) -> DeclaredColumn:
    name = _name(column.key)
    if column.type is None:
        raise NotUnderstood(f"the column {name} has no type")
    return DeclaredColumn(name, types_of(column.type, dialect))


def _name(key: tuple[str, ...]) -> str:
    if len(key) > 1:
        raise NotUnderstood(f"the nested field {'.'.join(key)}")
    return key[0]


def _check(columns: Columns, name: str) -> DeclaredColumn:
    if name not in columns:
        raise NotUnderstood(f"the column {name} is altered and nowhere declared")
    return columns[name]
