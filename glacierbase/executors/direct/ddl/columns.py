"""ADD, DROP, RENAME, ALTER and REPLACE COLUMNS, and identifier fields, with the checks of Spark before those of Iceberg."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from glacierbase.declared.column_edits import folded
from glacierbase.errors import NotPlain, StatementRefused
from glacierbase.executors.direct.ddl.commit import Transaction, illegal
from glacierbase.executors.direct.ddl.schema_change import ROOT, SchemaChange
from glacierbase.executors.direct.ddl.transforms import field_named
from glacierbase.executors.direct.ddl.types import iceberg_type
from glacierbase.executors.direct.ddl.upcasts import spark_type, upcasts
from glacierbase.sql.statement import AlterColumn, ColumnClause, DropColumn, Fields, ParsedStatement, RenameColumn

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A field of the table.

    Attributes:
        path: its names as in the schema.
    """

    path: _Path
    field: NestedField

    @property
    def name(self) -> str:
        return ".".join(self.path)


def add_columns(transaction: Transaction, statement: ParsedStatement) -> None:
    """Add columns and fields inside of columns."""
    change = SchemaChange(transaction.table_metadata)
    parts = [part for part in statement.parts if isinstance(part, ColumnClause)]
    places = list(_places(change, parts))
    for part in parts:
        if _find(change, part.path):
            raise _exists("add", part.path)
    _check_duplicates(parts)
    names = dict[tuple[int, str], int]()
    for part, (parent, after) in zip(parts, places, strict=True):
        names[parent, part.path[-1]] = field_id = _add(change, part, parent)
        if part.position:
            change.move(part.path[-1], field_id, None if after is None else _sibling(change, names, parent, after))
    change.stage(transaction)


def replace_columns(transaction: Transaction, statement: ParsedStatement) -> None:
    """Drop all columns, and add others: a column of the same name is another one."""
    change = SchemaChange(transaction.table_metadata)
    parts = [part for part in statement.parts if isinstance(part, ColumnClause)]
    _check_duplicates(parts)
    for field in change.schema.fields:
        change.drop(field.field_id)
    for part in parts:
        _add(change, part, ROOT)
    change.stage(transaction)


def drop_columns(transaction: Transaction, statement: ParsedStatement) -> None:
    """Drop columns and fields inside of columns."""
    change = SchemaChange(transaction.table_metadata)
    parts = [part for part in statement.parts if isinstance(part, DropColumn)]
    columns = [(_find if statement.options.if_exists else _resolve)(change, part.path) for part in parts]
    if not any(columns):
        return
    for column in filter(None, columns):
        change.drop(column.field.field_id)
    change.stage(transaction)


def rename_column(transaction: Transaction, statement: ParsedStatement) -> None:
    """Rename a column or a field inside of one."""
    [part] = statement.parts
    assert isinstance(part, RenameColumn)
    change = SchemaChange(transaction.table_metadata)
    resolved = _resolve(change, part.path)
    path = (*resolved.path[:-1], part.new)
    if _find(change, path):
        raise _exists("rename", path)
    change.rename(resolved.path, resolved.field.field_id, part.new)
    change.stage(transaction)


def alter_columns(transaction: Transaction, statement: ParsedStatement) -> None:
    """Change types, nullability, comments and places of columns and of fields inside of them."""
    change = SchemaChange(transaction.table_metadata)
    parts = [part for part in statement.parts if isinstance(part, AlterColumn)]
    resolved = [_resolve(change, part.path) for part in parts]
    places = [_after(change, part, field) for part, field in zip(parts, resolved, strict=True)]
    _check_changed_once(parts, resolved)
    for part, field in zip(parts, resolved, strict=True):
        _check(part, field)
    for part, field, after in zip(parts, resolved, places, strict=True):
        _ALTERS[part.operation](change, part, field, after)
    change.stage(transaction)


def set_identifier_fields(transaction: Transaction, statement: ParsedStatement) -> None:
    """Set the identifier fields, by their exact names."""
    change = SchemaChange(transaction.table_metadata)
    change.identifiers = set(_identifiers(statement))
    change.stage(transaction)


def drop_identifier_fields(transaction: Transaction, statement: ParsedStatement) -> None:
    """Remove fields from the identifier fields."""
    change = SchemaChange(transaction.table_metadata)
    for name in _identifiers(statement):
        if field_named(change.schema, name) is None:
            raise illegal(f"Cannot complete drop identifier fields operation: field {name} not found")
        if name not in change.identifiers:
            raise illegal(f"Cannot complete drop identifier fields operation: {name} is not an identifier field")
        change.identifiers = change.identifiers - {name}
    change.stage(transaction)


def _identifiers(statement: ParsedStatement) -> _Path:
    [part] = statement.parts
    assert isinstance(part, Fields)
    return part.fields


def _places(change: SchemaChange, parts: Sequence[ColumnClause]) -> Iterator[tuple[int, str | None]]:
    """Yield the parent of each new field, and the name of the field that it follows.

    Raises:
        StatementRefused: there is no such parent or field.
    """
    added = defaultdict[int, list[str]](list)
    for part in parts:
        parent, struct = ROOT, change.schema.as_struct()
        if part.path[:-1]:
            above = _resolve(change, part.path[:-1])
            parent, struct = above.field.field_id, above.field.field_type
        if not isinstance(struct, StructType):
            raise _no_struct(part.path, part.path[:-1])
        names = [*(field.name for field in struct.fields), *added[parent]]
        yield parent, _followed(part, names)
        added[parent].append(part.path[-1])


def _followed(part: ColumnClause, names: Sequence[str]) -> str | None:
    if part.position is None or (wanted := _reference(part.position)) is None:
        return None
    name = next((name for name in names if folded([name]) == folded([wanted])), None)
    if name is None:
        raise StatementRefused("FIELD_NOT_FOUND", f"No such struct field `{wanted}` in {', '.join(names)}.")
    return name


def _sibling(change: SchemaChange, names: Mapping[tuple[int, str], int], parent: int, name: str) -> int:
    """Return the id of the field with a name in a struct."""
    if (parent, name) in names:
        return names[parent, name]
    struct = change.schema.as_struct() if parent == ROOT else change.schema.find_type(parent)
    assert isinstance(struct, StructType)
    return next(int(field.field_id) for field in struct.fields if field.name == name)


def _add(change: SchemaChange, part: ColumnClause, parent: int) -> int:
    """Add a field; return its id."""
    name, field_id = part.path[-1], change.next_id()
    if not part.nullable:
        raise illegal(f"Incompatible change: cannot add required column: {name}")
    type_ = iceberg_type(part.type or "", change.next_id)
    change.add(parent, NestedField(field_id, name, type_, required=False, doc=part.comment))
    return field_id


def _check_duplicates(parts: Sequence[ColumnClause]) -> None:
    for name, count in Counter(tuple(map(str.lower, part.path)) for part in parts).items():
        if count > 1:
            raise StatementRefused("COLUMN_ALREADY_EXISTS", f"The column {_quoted(name)} already exists.")


def _after(change: SchemaChange, part: AlterColumn, resolved: _Resolved) -> int | None:
    """Return the id of the field that the position of a change names."""
    if part.position is None or (wanted := _reference(part.position)) is None:
        return None
    return int(_resolve(change, (*resolved.path[:-1], wanted)).field.field_id)


def _reference(position: str) -> str | None:
    """Return the name after AFTER; None for FIRST."""
    word, _, name = position.partition(" ")
    return name if word == "after" else None


def _check_changed_once(parts: Sequence[AlterColumn], resolved: Sequence[_Resolved]) -> None:
    """Check that no column is changed twice, nor with a field inside. The parts of one CHANGE COLUMN have one place."""
    pairs = zip(parts, resolved, strict=True)
    paths = [next(group)[1].path for _, group in groupby(pairs, key=lambda pair: pair[0].place)]
    for at, path in enumerate(paths):
        if any(other[: len(path)] == path for number, other in enumerate(paths) if number != at):
            raise StatementRefused(
                "NOT_SUPPORTED_CHANGE_SAME_COLUMN",
                f"ALTER COLUMN does not change the column {_quoted(path)} or its fields more than once.",
            )


def _check(part: AlterColumn, resolved: _Resolved) -> None:
    """Check a change as Spark does."""
    if part.nullable is False and not resolved.field.required:
        raise StatementRefused(
            "_LEGACY_ERROR_TEMP_2330", f"Cannot change nullable column to non-nullable: {resolved.name}."
        )
    if part.type is None:
        return
    old, new = resolved.field.field_type, _parsed(part.type)
    if not upcasts(old, new):
        raise StatementRefused(
            "NOT_SUPPORTED_CHANGE_COLUMN", f"The type of {resolved.name} cannot change from {old} to {new}."
        )


def _retype(change: SchemaChange, part: AlterColumn, resolved: _Resolved, _: int | None) -> None:
    new = _parsed(part.type or "")
    if spark_type(resolved.field.field_type) != spark_type(new):
        change.retype(resolved.name, resolved.field.field_id, new)


def _relax(change: SchemaChange, part: AlterColumn, resolved: _Resolved, _: int | None) -> None:
    if part.nullable:
        change.relax(resolved.field.field_id)


def _comment(change: SchemaChange, part: AlterColumn, resolved: _Resolved, _: int | None) -> None:
    if part.comment is not None and part.comment != resolved.field.doc:
        change.comment(resolved.field.field_id, part.comment)


def _move(change: SchemaChange, _: AlterColumn, resolved: _Resolved, after: int | None) -> None:
    change.move(resolved.name, resolved.field.field_id, after)


_ALTERS: Mapping[str, Callable[[SchemaChange, AlterColumn, _Resolved, int | None], None]] = {
    "alter_column_type": _retype,
    "alter_column_nullability": _relax,
    "alter_column_comment": _comment,
    "alter_column_position": _move,
}


def _parsed(type_: str) -> IcebergType:
    """Return a type without fields."""
    return iceberg_type(type_, lambda: 0)


def _resolve(change: SchemaChange, path: _Path) -> _Resolved:
    """Return the field with a path, whose case does not matter.

    Raises:
        StatementRefused: there is none.
        NotPlain: there is none, and Spark refuses it for another reason.
    """
    if resolved := _find(change, path):
        return resolved
    if any("`" in field.name for field in change.schema.fields):
        raise NotPlain(f"the table has no column {_quoted(path)}, and one whose name holds a backtick")
    raise StatementRefused(
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        f"A column with name {_quoted(path)} cannot be resolved. Did you mean one of the following?"
        f" [{', '.join(_quoted((field.name,)) for field in change.schema.fields)}]",
    )


def _find(change: SchemaChange, path: _Path) -> _Resolved | None:
    """Return the field with a path, whose case does not matter; None if there is none.

    Raises:
        StatementRefused: it would be inside of a field that is no struct, or there are two.
    """
    type_: IcebergType = change.schema.as_struct()
    names: _Path = ()
    for name in path:
        fields = [field for field in _fields(type_) if _is_named(type_, field, name)]
        if not fields and not isinstance(type_, StructType):
            raise _no_struct(path, names)
        if len(fields) > 1:
            raise StatementRefused(
                "AMBIGUOUS_COLUMN_OR_FIELD",
                f"Column or field {_quoted(path)} is ambiguous and has {len(fields)} matches.",
            )
        if not fields:
            return None
        [field] = fields
        names, type_ = (*names, field.name), field.field_type
    return _Resolved(names, field)


def _fields(type_: IcebergType) -> tuple[NestedField, ...]:
    if isinstance(type_, StructType):
        return tuple(type_.fields)
    if isinstance(type_, ListType):
        return (type_.element_field,)
    return (type_.key_field, type_.value_field) if isinstance(type_, MapType) else ()


def _is_named(type_: IcebergType, field: NestedField, name: str) -> bool:
    return bool(folded([field.name]) == folded([name]) if isinstance(type_, StructType) else field.name == name)


def _exists(verb: str, path: _Path) -> StatementRefused:
    return StatementRefused("FIELD_ALREADY_EXISTS", f"Cannot {verb} column, because {_quoted(path)} already exists.")


def _no_struct(path: _Path, above: _Path) -> StatementRefused:
    return StatementRefused(
        "INVALID_FIELD_NAME", f"Field name {_quoted(path)} is invalid: {_quoted(above)} is not a struct."
    )


def _quoted(path: _Path) -> str:
    return ".".join(f"`{name}`" for name in path)
