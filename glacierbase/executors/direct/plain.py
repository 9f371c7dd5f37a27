"""Which statements run without an engine, with the same result as in Spark, and why the others do not. Imports no PyIceberg."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from glacierbase.executors.direct.plain_tables import (
    why_no_plain_namespace,
    why_no_plain_property,
    why_no_plain_rename,
    why_no_plain_table,
)
from glacierbase.executors.direct.plain_types import MOST_DEPTH, why_no_plain_type
from glacierbase.model.transforms import by_function
from glacierbase.sql.statement import (
    AlterColumn,
    ColumnClause,
    ParsedStatement,
    PartitionClause,
    Property,
    Reference,
    Transform,
    WriteOrder,
)

# Returns why a statement of one operation is not plain; None where it is.
_Check: TypeAlias = Callable[[ParsedStatement], str | None]
# Properties that are no properties: Spark moves the table to a snapshot by them.
_MOVES = ("current-snapshot-id", "cherry-pick-snapshot-id")
# Types that are others in Iceberg, and types with fields, which Spark does not change as a whole.
_ONLY_SPARK = ("tinyint", "byte", "smallint", "short", "char", "character", "varchar", "struct", "array", "map")
# A string, or a column whose name is a number.
_NOT_A_COLUMN = re.compile(r"['\"]|`\d+`")


def why_not_plain(statement: ParsedStatement) -> str | None:
    """Return why a statement needs Spark, as a clause; None for one that runs without it."""
    if not statement.understood:
        return statement.why
    if statement.unread:
        return statement.unread[0]
    if statement.operation == "several" and not statement.parts:
        return "the statement has no clause"
    for operation in dict.fromkeys([statement.operation, *(part.operation for part in statement.parts)]):
        if operation == "several":
            continue
        check = (_ON_NAMESPACES if statement.namespace else _PLAIN).get(operation)
        if check is None:
            return f"{operation} needs the engine"
        if why := check(statement):
            return why
    return None


def _always(_: ParsedStatement) -> str | None:
    return None


def _purge(statement: ParsedStatement) -> str | None:
    return "PURGE deletes files" if statement.options.purge else None


def _properties(statement: ParsedStatement) -> str | None:
    if statement.options.kind == "view":
        return "views need the engine"
    parts = [part for part in statement.parts if isinstance(part, Property)]
    if len({part.key for part in parts}) < len(parts):
        return "a property is named twice"
    return next(filter(None, map(_property, parts)), None)


def _property(part: Property) -> str | None:
    key, value = part.key, part.value
    if part.operation == "unset_properties":
        return None if value is None else f"UNSET has a value for {key}"
    if key.lower() in _MOVES:
        return f"{key} moves the table to another snapshot"
    if key != "location" and key.lower() == "location":
        return f"{key} is `location` in other letters"
    if key == "format-version" and value == "3":
        return "PyIceberg does not upgrade a table to format version 3"
    return why_no_plain_property(part)


def _location(statement: ParsedStatement) -> str | None:
    if statement.options.partition:
        return "PARTITION"
    return "a location without a path" if (statement.options.location or "/x").endswith(("://", ":///")) else None


def _comment(statement: ParsedStatement) -> str | None:
    if statement.options.kind != "table":
        return f"COMMENT ON {statement.options.kind.upper()} needs the engine"
    return None


def _columns(statement: ParsedStatement) -> str | None:
    if statement.options.if_not_exists or statement.options.partition:
        return "IF NOT EXISTS or PARTITION"
    parts = [part for part in statement.parts if isinstance(part, ColumnClause)]
    return next(filter(None, map(_column, parts)), None)


def _column(part: ColumnClause) -> str | None:
    if part.default is not None or part.generated is not None or part.primary_key:
        return "Iceberg for Spark has no DEFAULT, GENERATED and PRIMARY KEY in ALTER TABLE"
    if part.operation == "replace_columns" and (not part.nullable or part.position or len(part.path) > 1):
        return "REPLACE COLUMNS with NOT NULL, a position or a nested field"
    if len(part.path) > MOST_DEPTH:
        return f"a field more than {MOST_DEPTH} levels deep"
    return why_no_plain_type(part.type)


def _drop_columns(statement: ParsedStatement) -> str | None:
    return "PARTITION" if statement.options.partition else None


def _rename_column(statement: ParsedStatement) -> str | None:
    return "CHANGE COLUMN with another name" if len(statement.parts) > 1 else None


def _alter_columns(statement: ParsedStatement) -> str | None:
    types = (part.type for part in statement.parts if isinstance(part, AlterColumn) and part.type is not None)
    return next(filter(None, map(_new_type, types)), None)


def _new_type(type_: str) -> str | None:
    """Return why a column's change to this type needs Spark, which knows more types than Iceberg."""
    word = re.match(r"\w*", type_)
    if not word or word[0].lower() in _ONLY_SPARK:
        return f"TYPE {type_}"
    return why_no_plain_type(type_)


def _partition_field(statement: ParsedStatement) -> str | None:
    fields = [part for part in statement.parts if isinstance(part, PartitionClause)]
    return next(filter(None, (_transform(inner) for part in fields for inner in (part.transform, part.replaces))), None)


def _transform(transform: Transform | None) -> str | None:
    if transform is None:
        return None
    text, known = transform.text, by_function(transform.function)
    if known is None:
        return f"the transform {transform.function}"
    if len(transform.columns) != 1 or len(transform.widths) != known.has_width or _NOT_A_COLUMN.search(text):
        return f"the arguments of {text}"
    return f"the width of {text}" if any(len(width) > 9 for width in transform.widths) else None


def _writes(statement: ParsedStatement) -> str | None:
    clauses = [part for part in statement.parts if isinstance(part, WriteOrder)]
    if len({part.operation for part in clauses}) < len(clauses):
        return "several orders or distributions"
    return next(filter(None, (_transform(field.transform) for clause in clauses for field in clause.fields)), None)


def _reference(statement: ParsedStatement) -> str | None:
    parts = [part for part in statement.parts if isinstance(part, Reference)]
    snapshot = parts[0].snapshot
    if snapshot is not None and not (snapshot.isdecimal() and int(snapshot) < 2**63):
        return f"the snapshot {snapshot}"
    return None


_PLAIN: Mapping[str, _Check] = {
    "create_table": why_no_plain_table,
    "set_properties": _properties,
    "unset_properties": _properties,
    "set_location": _location,
    "add_column": _columns,
    "replace_columns": _columns,
    "drop_column": _drop_columns,
    "rename_column": _rename_column,
    "alter_column_type": _alter_columns,
    "alter_column_nullability": _alter_columns,
    "alter_column_comment": _alter_columns,
    "alter_column_position": _alter_columns,
    "set_identifier_fields": _always,
    "drop_identifier_fields": _always,
    "comment_on": _comment,
    "add_partition_field": _partition_field,
    "drop_partition_field": _partition_field,
    "replace_partition_field": _partition_field,
    "set_write_order": _writes,
    "set_distribution": _writes,
    "create_branch": _reference,
    "create_tag": _reference,
    "drop_branch": _reference,
    "drop_tag": _reference,
    "drop_table": _purge,
    "rename_table": why_no_plain_rename,
    "replace_table": why_no_plain_table,
}
_ON_NAMESPACES: Mapping[str, _Check] = dict.fromkeys(
    ("create_namespace", "alter_namespace", "drop_namespace", "comment_on"), why_no_plain_namespace
)
