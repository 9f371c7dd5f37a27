"""The parts of a table that statements are about, and what the statements declare about each, for comparing environments. Pure.

`subjects_of` names the parts as `Difference.subject` does, with names in lower case: `type user_id`, `property owner`,
`partitioning bucket(4, id)`. A subject without a name, such as `partitioning`, covers all parts of its kind, and `EVERY_PART`
all parts of the table.
"""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.formats.delta import CONSTRAINT
from glacierbase.model.names import name_of, name_parts
from glacierbase.sql.cursor import Cursor
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import (
    AlterColumn,
    ColumnClause,
    Constraint,
    DropColumn,
    Fields,
    ParsedStatement,
    Part,
    PartitionClause,
    Property,
    RenameColumn,
    WriteOrder,
)

EVERY_PART = "*"
# The subject of a rename of a column.
_NAME = "name"
# Facts of a column, each a separate part, by the operation that changes it.
_FACTS = {
    "alter_column_type": "type", "alter_column_nullability": "required", "alter_column_comment": "comment",
    "alter_column_default": "default", "alter_column_position": "order of columns",
}  # fmt: skip
COLUMN_FACTS = frozenset({"type", "required", "comment", "default"})


def subjects_of(statement: ParsedStatement, sql: str, dialect: str) -> Iterator[tuple[str, str]]:
    """Yield the subjects of a statement on one table, or of a rename of one, each with what it declares of the subject.

    Two statements that declare the same have the same text, whatever the catalog and the namespace of the tables that they name.

    Args:
        sql: the text of the statement.
    """
    operation, options = statement.operation, statement.options
    if operation in ("drop_table", "rename_table"):
        yield "table", operation
    elif operation in CREATES_TABLE:
        yield "table", "create_table"
        if operation == "replace_table":
            yield EVERY_PART, operation
        yield "property comment", options.comment or ""
        yield (
            "order of columns",
            ", ".join(_path(part.key) for part in statement.parts if isinstance(part, ColumnClause)),
        )
        if not any(isinstance(part, ColumnClause) for part in statement.parts):
            yield "column", _without_places(statement, sql, dialect)
    elif operation == "replace_columns":
        yield "column", operation
    elif operation == "comment_on":
        yield "comment" if options.kind == "column" else "property comment", options.comment or ""
    elif operation == "set_location":
        yield "property location", options.location or ""
    for part in statement.parts:
        yield from _part_subjects(part)


def _part_subjects(part: Part) -> Iterator[tuple[str, str]]:
    match part:
        case ColumnClause():
            yield from _column_subjects(part)
        case DropColumn():
            yield f"column {_path(part.key)}", "drop"
        case RenameColumn():
            new = (*part.key[:-1], part.new_key)
            yield f"{_NAME} {_path(part.key)}", f"rename to {_path(new)}"
            yield f"{_NAME} {_path(new)}", f"rename {_path(part.key)}"
        case AlterColumn() if part.operation in _FACTS:
            what = _FACTS[part.operation]
            name = "" if what == "order of columns" else f" {_path(part.key)}"
            yield f"{what}{name}", _of_alter(part)
        case Property():
            key = "format version" if part.key == "format-version" else f"property {part.key.lower()}"
            yield key, "" if part.value is None else f"={part.value}"
        case PartitionClause():
            for transform in filter(None, (part.transform, part.replaces)):
                # A field may be dropped by its name, which may be that of its column.
                is_field = bool(transform.function) or part.operation in _ADDS_FIELD
                is_clear = is_field and len(transform.columns) == 1 and len(transform.widths) <= 1
                name = f"partitioning {transform.normalised.lower()}" if is_clear else "partitioning"
                yield name, f"{part.operation} {_plain(transform.text)}"
        case WriteOrder():
            fields = (f"{_plain(field.transform.text)} {field.direction} {field.nulls}" for field in part.fields)
            text = f"{part.operation} {part.distribution} {'locally' if part.locally else ''} {', '.join(fields)}"
            yield "sorting", text
            yield "property write.distribution-mode", text
        case Fields(operation="cluster_by"):
            yield "sorting", ", ".join(part.fields)
        case Fields():
            if part.operation == "set_identifier_fields":
                yield "identifiers", ""  # All other fields cease to be identifiers.
            yield from ((f"identifiers {field.lower()}", part.operation) for field in part.fields)
        case Constraint():
            yield "identifiers", part.text
            if part.name:
                yield f"property {CONSTRAINT}{part.name.lower()}", part.text


_ADDS_FIELD = frozenset({"create_table", "add_partition_field"})


def _column_subjects(column: ColumnClause) -> Iterator[tuple[str, str]]:
    name = _path(column.key)
    yield f"column {name}", "add"
    if column.type is not None:
        yield f"type {name}", _plain(column.type)
    yield f"required {name}", "nullable" if column.nullable else "not null"
    yield f"comment {name}", column.comment or ""
    yield f"default {name}", column.default or ""
    if column.operation == "add_column":
        yield "order of columns", f"{name} {column.position or ''}"


def _of_alter(part: AlterColumn) -> str:
    if part.nullable is not None:
        return "nullable" if part.nullable else "not null"
    if part.position is not None:
        return f"{_path(part.key)} {part.position}"
    return part.comment or part.default or _plain(part.type or "")


def _path(key: tuple[str, ...]) -> str:
    return name_of(key).casefold()


def _plain(text: str) -> str:
    """Return a type or a transform without blanks, in lower case."""
    return "".join(text.split()).lower()


def _without_places(statement: ParsedStatement, sql: str, dialect: str) -> str:
    """Return the text of a statement with its tables' names without catalog and namespace."""
    cursor = Cursor(sql, dialect)
    start = cursor.position
    while cursor.word() not in ("", ";"):
        cursor.next()
    text = " ".join(cursor.text_since(start).split())
    for name in (*statement.targets, *(statement.sources or ())):
        text = text.replace(".".join(name.written), name.written[-1])
    return text


def covering(subject: str) -> Iterator[str]:
    """Yield the subjects that are about a part: its own subject, then those that cover more than it.

    Args:
        subject: the subject of the part, in lower case.
    """
    yield subject
    yield EVERY_PART
    what = next((kind for kind in _KINDS if subject.startswith(f"{kind} ")), subject)
    if what != subject and what != "property":
        yield what
    if what == "column" or what in COLUMN_FACTS:
        name = subject.removeprefix(f"{what} ")
        yield "column"
        yield f"column {name}"
        if what == "column":  # A rename is not about the type and other facts.
            yield f"{_NAME} {name}"
        parts = name_parts(name)
        for end in range(1, len(parts)):  # A field inside a column is declared in the column's type.
            around = name_of(parts[:end])
            yield from (f"column {around}", f"type {around}")


_KINDS = ("column", *sorted(COLUMN_FACTS), "partitioning", "identifiers", "property")
