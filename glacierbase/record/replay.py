"""The statements of files, replayed on one table: what it is after each of them, with its names as of then. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from glacierbase.declared.applied import apply_all
from glacierbase.declared.clauses import changes_of
from glacierbase.formats import ICEBERG
from glacierbase.model.changes import Change, TableCreated, TableDropped, TableReplaced, Unknown, parts_of
from glacierbase.model.partial_shape import (
    COLUMNS,
    EVERY_PART,
    FORMAT_VERSION,
    FORMER,
    IDENTIFIERS,
    PARTITIONING,
    SORTING,
    PartialShape,
    Refused,
)
from glacierbase.model.shape import Column, PartitionField, Shape
from glacierbase.secrets import MASK
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.file import FileStatement
from glacierbase.sql.statement import DroppedNamespace
from glacierbase.sql.types import types_of

_UNKNOWN = (Unknown("which table the statement changes is not certain"),)


@dataclass(frozen=True, slots=True)
class TableStatement:
    """What one statement does to one table.

    Attributes:
        name: the qualified name of the table after the statement.
    """

    statement: FileStatement
    changes: tuple[Change, ...]
    name: str

    @property
    def may_be_all(self) -> bool:
        """Whether it may change any part."""
        return any(isinstance(change, Unknown) and EVERY_PART in change.parts for change in self.changes)


def statements_on(table: str, statements: Sequence[FileStatement]) -> list[TableStatement]:
    """Return what statements do to the table that has a qualified name after all of them, in order."""
    named: list[TableStatement] = []
    for statement in reversed(statements):
        changes = _changes_on(table, statement)
        names = [whole for _, whole in statement.names]
        is_renamed = statement.parsed.operation == "rename_table"
        is_gone = (is_renamed and names[-1] != table) or any(isinstance(change, TableDropped) for change in changes)
        if table in names and is_gone:
            break  # This and earlier statements are about another table.
        if changes:
            named.append(TableStatement(statement, changes, table))
        if is_renamed and names[-1] == table and names[0]:
            table = names[0]
        elif any(isinstance(change, TableCreated) and not change.is_optional for change in changes):
            break
    return named[::-1]


def statements_naming(table: str, statements: Iterable[FileStatement]) -> list[TableStatement]:
    """Return what statements do to any table that has a qualified name."""
    named = ((statement, _changes_on(table, statement)) for statement in statements)
    return [TableStatement(statement, changes, table) for statement, changes in named if changes]


def ends(table: Shape, statements: Iterable[FileStatement]) -> bool:
    """Return whether statements drop a table, or replace one whose format does not keep it, or may."""
    kinds = (TableDropped, Unknown) if table.format == ICEBERG.name else (TableDropped, TableReplaced, Unknown)
    return any(
        isinstance(change, kinds)
        for name, statement in _followed(table.table, statements)
        for change in _changes_on(name, statement)
    )


def renamed_to(table: str, statements: Iterable[FileStatement]) -> str:
    """Return the qualified name that statements give the table that has a qualified name before them."""
    for name, statement in _followed(table, statements):
        if statement.parsed.operation == "rename_table" and statement.names[0][1] == name:
            table = statement.names[-1][1] or table
    return table


def _followed(table: str, statements: Iterable[FileStatement]) -> Iterator[tuple[str, FileStatement]]:
    """Yield each statement with the qualified name that a table has before it."""
    for statement in statements:
        yield table, statement
        if statement.parsed.operation == "rename_table" and statement.names[0][1] == table:
            table = statement.names[-1][1] or table


def _changes_on(table: str, statement: FileStatement) -> tuple[Change, ...]:
    """Return the changes by a statement of the table that has a name before it, or after it where it is a rename."""
    names = [whole for _, whole in statement.names]
    drops = any(isinstance(part, DroppedNamespace) for part in statement.parsed.parts)
    if table in names:
        return changes_of(statement.parsed)
    return _UNKNOWN if None in names or drops or not statement.parsed.understood else ()


class ReplayedTable:
    """A table to which statements are applied, one after another.

    Attributes:
        table: None where there is none.
    """

    def __init__(self, before: Shape | None, table_format: str) -> None:
        self.table = PartialShape(before, frozenset({FORMER})) if before else None
        self._format = table_format
        # New columns have negative ids until they are compared with an existing table.
        self._ids = count(-1, -1)

    def apply(self, changes: Sequence[Change], name: str) -> bool:
        """Apply the changes of a statement; return whether the table admits them. If not, another client has changed it before.

        Args:
            name: the qualified name of the table after the statement.
        """
        made = apply_all(self.table, changes, self._format)
        if isinstance(made, Refused):
            if self.table:
                parts = {part for change in changes for part in parts_of(change)}
                self.table = self.table.without(*parts - {COLUMNS, EVERY_PART})
            return False
        self.table = made and replace(made, shape=self._with_ids(replace(made.shape, table=name)))
        return True

    def _with_ids(self, shape: Shape) -> Shape:
        columns = (column if column.id is not None else replace(column, id=next(self._ids)) for column in shape.columns)
        return replace(shape, columns=tuple(columns))


def completed(table: PartialShape, actual: Shape, *, takes_properties: bool = True) -> Shape:
    """Return a table with the parts that are not known, the identity and the ids of the existing one.

    Args:
        takes_properties: whether it takes properties of which is not known whether they are set.
    """
    if not table.knows():
        return replace(actual, table=table.shape.table)
    shape = table.shape
    columns = tuple(_columns(table, actual)) if table.knows(COLUMNS) else actual.columns
    return replace(
        actual,
        table=shape.table,
        format_version=shape.format_version if table.knows(FORMAT_VERSION) else actual.format_version,
        columns=columns,
        partitioning=tuple(_partitioning(shape, actual)) if table.knows(PARTITIONING) else actual.partitioning,
        sorting=shape.sorting if table.knows(SORTING) else actual.sorting,
        identifiers=shape.identifiers if table.knows(IDENTIFIERS) else actual.identifiers,
        properties=dict(_properties(table, actual, takes_properties=takes_properties)),
    )


def _columns(table: PartialShape, actual: Shape) -> Iterator[Column]:
    by_id = {column.id: column for column in actual.columns if column.id is not None}
    kept = {column.id for column in table.shape.columns}
    by_name = {column.name.casefold(): column for column in actual.columns if column.id not in kept}
    for column in table.shape.columns:
        is_new = column.id is None or column.id < 0
        other = by_name.get(column.name.casefold()) if is_new else by_id.get(column.id or 0)
        yield _column(table, column, other) if other else column


def _column(table: PartialShape, column: Column, other: Column) -> Column:
    """Return a column with the id of the existing one, and with those of its facts that are not known or mean the same."""

    def fact(what: str, value: str | None, actual: str | None) -> str | None:
        return value if table.knows(f"{what} {column.name}") and MASK not in (actual or "") else actual

    is_same_type = not table.knows(f"type {column.name}") or _is_same_type(column.type, other.type, table.shape.format)
    return replace(
        column,
        id=other.id,
        name=other.name if column.name.casefold() == other.name.casefold() else column.name,
        type=other.type if is_same_type else column.type,
        required=column.required if table.knows(f"required {column.name}") else other.required,
        comment=fact("comment", column.comment, other.comment),
        default=fact("default", column.default, other.default),
    )


def _kind(type_: str) -> str:
    kind = type_.partition("<")[0].casefold()
    return "list" if kind == "array" else kind


def _is_same_type(type_: str, other: str, table_format: str) -> bool:
    if "<" in type_ or "<" in other:  # The fields inside are compared by themselves.
        return _kind(type_) == _kind(other)
    dialect = "snowflake" if table_format == "snowflake" else "spark"
    try:
        return not set(types_of(type_, dialect)).isdisjoint(types_of(other, dialect))
    except UnsupportedClause:
        return False


def _partitioning(shape: Shape, actual: Shape) -> Iterator[PartitionField]:
    known = {(field.source.casefold(), field.transform): field for field in actual.partitioning}
    for field in shape.partitioning:
        other = known.get((field.source.casefold(), field.transform))
        yield replace(field, id=other.id, name=other.name) if other and field.id is None else field


def _properties(table: PartialShape, actual: Shape, *, takes_properties: bool) -> Iterator[tuple[str, str]]:
    for key in sorted({*table.shape.properties, *actual.properties}):
        value = actual.properties.get(key)
        if table.knows_property(key) and not (value == MASK and key in table.shape.properties):
            if key in table.shape.properties:
                yield key, table.shape.properties[key]
        elif value is not None and (takes_properties or value == MASK):
            yield key, value


def with_ids_of(tables: Sequence[PartialShape], actual: Shape) -> list[PartialShape]:
    """Return a table at points of its replay with the ids of the existing one, which has the columns of the last point by name.

    Columns that the existing table does not have are left out.
    """
    by_name = {column.name.casefold(): column.id for column in actual.columns}
    last = tables[-1].shape.columns if tables else ()
    ids = {column.id: by_name.get(column.name.casefold()) for column in last if (column.id or 0) < 0}
    known = {column.id for column in actual.columns}

    def numbered(columns: Sequence[Column]) -> Iterator[Column]:
        for column in columns:
            number = ids.get(column.id, column.id)
            if number in known:
                yield replace(column, id=number)

    return [
        replace(table, shape=replace(table.shape, columns=tuple(numbered(table.shape.columns)))) for table in tables
    ]
