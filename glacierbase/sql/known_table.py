"""What statements declare of one table of Spark: columns, partition fields, write order, identifier fields, properties.

A part that is None is not known. Types are in the spelling of `column_types`, names in lower case, as Spark compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from glacierbase.sql.column_types import types_of
from glacierbase.sql.cursor import NotUnderstood
from glacierbase.sql.parts import (
    AlterColumn,
    Column,
    DropColumn,
    Fields,
    Part,
    PartitionField,
    Property,
    RenameColumn,
    Transform,
    WriteOrder,
)
from glacierbase.sql.statement import ParsedStatement

Path: TypeAlias = tuple[str, ...]
# What Iceberg appends to a column's name for the name of a partition field.
_APPENDED = {
    **{unit: f"_{unit.removesuffix('s')}" for unit in ("years", "months", "days", "hours", "year", "month", "day", "hour")},
    "date": "_day", "date_hour": "_hour", "bucket": "_bucket", "truncate": "_trunc",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A top-level column; its type is None where it is not known."""

    type: str | None
    required: bool


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field by which a table is partitioned or sorted.

    Attributes:
        source: the path of its column.
        transform: its function with the width: `bucket(16)`; empty for the column itself.
    """

    name: str
    source: Path
    transform: str = ""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """What is known of a table.

    Attributes:
        using: its format, where the statement that creates it names one.
        columns: the top-level ones, by name.
        partitioning: the fields of new rows.
        former: fields that files of the table may still have, and new rows do not.
        ordering: the fields of the write order.
        identifiers: the paths of the identifier fields.
        properties: those that statements set.
    """

    using: str | None = None
    columns: Mapping[str, KnownColumn] | None = None
    partitioning: tuple[KnownField, ...] | None = None
    former: tuple[KnownField, ...] = ()
    ordering: tuple[KnownField, ...] | None = None
    identifiers: tuple[Path, ...] | None = None
    properties: Mapping[str, str] | None = field(default=None)

    def column(self, path: Path) -> KnownColumn | None:
        """Return what is known of a column; None for a field inside of one, and for a column that is not known."""
        return self.columns.get(path[0]) if self.columns and len(path) == 1 else None

    def use_of(self, path: Path) -> str | None:
        """Return what of the table uses a column, or a field inside of it; None where nothing is known to."""
        for each in self.partitioning or ():
            if starts_with(each.source, path):
                return f"the partition field {each.name} uses it"
        if any(starts_with(each.source, path) for each in self.ordering or ()):
            return "the write order uses it"
        return "it is an identifier field" if any(starts_with(each, path) for each in self.identifiers or ()) else None


NOTHING = KnownTable()


def created(statement: ParsedStatement, before: KnownTable | None) -> KnownTable:
    """Return a table after the statement that creates or replaces it.

    Args:
        before: the table that is replaced, whose properties stay, and whose files may.
    """
    using = statement.options.using
    if _is_copied(statement):
        return KnownTable(using)
    columns = {part.key[0]: _declared(part) for part in statement.parts if isinstance(part, Column)}
    fields = tuple(_field(part) for part in statement.parts if isinstance(part, PartitionField))
    former = (*before.former, *(before.partitioning or ())) if before else ()
    properties = {**((before and before.properties) or {}), **_properties(statement.parts)}
    return KnownTable(using, columns or None, _all_known(fields), former, (), (), properties)


def altered(table: KnownTable, statement: ParsedStatement) -> KnownTable:
    """Return a table after an ALTER TABLE."""
    if statement.operation == "replace_columns":
        columns = {part.key[0]: _declared(part) for part in statement.parts if isinstance(part, Column)}
        return replace(table, columns=columns)
    for part in statement.parts:
        change = _CHANGES.get(part.operation)
        if change is None:
            return NOTHING
        table = change(table, part)
    return table if statement.parts else NOTHING


def starts_with(path: Path, start: Path) -> bool:
    """Return whether a path is that of a column, or of a field inside of it."""
    return path[: len(start)] == start


def field_of(transform: Transform, name: str | None = None) -> KnownField | None:
    """Return the field of a transform, or None where its column is not known.

    Args:
        name: the one given by AS; default the one that Iceberg gives.
    """
    columns = [each for each in transform.arguments if not each.isdigit()]
    widths = ",".join(each for each in transform.arguments if each.isdigit())
    if len(columns) != 1 or "`" in transform.text:
        return None
    source = columns[0].lower()
    given = source + _APPENDED.get(transform.function, f"_{transform.function}" if transform.function else "")
    function = f"{transform.function}({widths})" if widths else transform.function
    return KnownField((name or given).lower(), tuple(source.split(".")), function)


def _is_copied(statement: ParsedStatement) -> bool:
    """Return whether the columns are those of another table or of a query."""
    has_columns = any(isinstance(part, Column) for part in statement.parts)
    return not has_columns and statement.operation != "create_table_as" and statement.sources != ()


def _declared(column: Column) -> KnownColumn:
    return KnownColumn(known_type(column.type), not column.nullable)


def known_type(text: str | None) -> str | None:
    """Return a type of Spark in one spelling, or None where it is not supported."""
    try:
        return types_of(text, "spark")[0] if text else None
    except (NotUnderstood, RecursionError):  # A type may be nested as deep as its file is long.
        return None


def _field(part: PartitionField) -> KnownField | None:
    return field_of(part.transform, part.name)


def _all_known(fields: Iterable[KnownField | None]) -> tuple[KnownField, ...] | None:
    found = tuple(fields)
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


def _properties(parts: Sequence[Part]) -> dict[str, str]:
    return {part.key: part.value or "" for part in parts if isinstance(part, Property)}


def _add_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Column)
    if table.columns is None or len(part.key) > 1:
        return table
    return replace(table, columns={part.key[0]: _declared(part), **table.columns})


def _drop_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, DropColumn)
    if table.columns is None or len(part.key) > 1:
        return table
    return replace(table, columns={name: each for name, each in table.columns.items() if name != part.key[0]})


def _rename_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, RenameColumn)
    new = (*part.key[:-1], part.new_key)

    def renamed(path: Path) -> Path:
        return (*new, *path[len(part.key) :]) if starts_with(path, part.key) else path

    def fields(known: tuple[KnownField, ...] | None) -> tuple[KnownField, ...] | None:
        return known and tuple(replace(each, source=renamed(each.source)) for each in known)

    columns = table.columns and {renamed((name,))[0]: each for name, each in table.columns.items()}
    return replace(
        table, columns=columns, partitioning=fields(table.partitioning), former=fields(table.former) or (),
        ordering=fields(table.ordering), identifiers=table.identifiers and tuple(map(renamed, table.identifiers)),
    )  # fmt: skip


def _alter_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, AlterColumn)
    column = table.column(part.key)
    if column is None or table.columns is None:
        return table
    if part.type is not None:
        column = replace(column, type=known_type(part.type))
    if part.nullable is not None:
        column = replace(column, required=not part.nullable)
    return replace(table, columns={**table.columns, part.key[0]: column})


def _add_field(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, PartitionField)
    if table.partitioning is None:
        return table
    return replace(table, partitioning=_all_known((*table.partitioning, _field(part))))


def _drop_field(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, PartitionField)
    return _without(table, part.transform)


def _replace_field(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, PartitionField)
    return _add_field(_without(table, part.replaces) if part.replaces else table, part)


def _without(table: KnownTable, transform: Transform) -> KnownTable:
    """Return a table without the partition field that has this name or transform."""
    dropped = field_of(transform)
    found = [each for each in table.partitioning or () if dropped and _is_named(each, dropped)]
    if len(found) != 1:
        return replace(table, partitioning=None)
    kept = tuple(each for each in table.partitioning or () if each is not found[0])
    return replace(table, partitioning=kept, former=(*table.former, *found))


def _is_named(known: KnownField, dropped: KnownField) -> bool:
    if dropped.transform:
        return (known.source, known.transform) == (dropped.source, dropped.transform)
    return known.name == dropped.name or (known.source == dropped.source and not known.transform)


def _order(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, WriteOrder)
    # What WRITE DISTRIBUTED BY leaves of the order depends on the version.
    ordering = None if part.operation == "set_distribution" else _all_known(field_of(f.transform) for f in part.fields)
    return replace(table, ordering=ordering)


def _set_identifiers(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Fields)
    return replace(table, identifiers=_paths(part))


def _drop_identifiers(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Fields)
    dropped = _paths(part)
    return replace(table, identifiers=table.identifiers and tuple(p for p in table.identifiers if p not in dropped))


def _paths(part: Fields) -> tuple[Path, ...]:
    return tuple(tuple(each.lower().split(".")) for each in part.fields)


def _set_property(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Property)
    return replace(table, properties={**(table.properties or {}), part.key: part.value or ""})


def _unset_property(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Property)
    return replace(table, properties={k: v for k, v in (table.properties or {}).items() if k != part.key})


def _same(table: KnownTable, _part: Part) -> KnownTable:
    return table


_CHANGES: Mapping[str, Callable[[KnownTable, Part], KnownTable]] = {
    "add_column": _add_column, "drop_column": _drop_column, "rename_column": _rename_column,
    "alter_column_type": _alter_column, "alter_column_nullability": _alter_column,
    "add_partition_field": _add_field, "drop_partition_field": _drop_field, "replace_partition_field": _replace_field,
    "set_write_order": _order, "set_distribution": _order, "set_identifier_fields": _set_identifiers,
    "drop_identifier_fields": _drop_identifiers, "set_properties": _set_property, "unset_properties": _unset_property,
    **dict.fromkeys(
        ("alter_column_comment", "alter_column_position", "alter_column_default", "create_branch", "drop_branch",
         "create_tag", "drop_tag", "add_constraint", "drop_constraint", "cluster_by"),
        _same,
    ),
}  # fmt: skip
