"""Which parts of its tables a statement is about, and what it says about each.

A part has the name that `Difference.subject` gives it, with names in lower case: `type user_id`, `property owner`,
`partitioning bucket(4, id)`. A subject without a name, such as `partitioning`, stands for all parts of its kind, and `EVERY_PART`
for all parts of the table.
"""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.model.names import name_of, name_parts
from glacierbase.sql.cursor import Cursor
from glacierbase.sql.parts import (
    AlterColumn,
    Column,
    Constraint,
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

EVERY_PART = "*"
# Of a column: what a rename is about.
_NAME = "name"
# Facts of a column, each a part of its own; by the operation that changes it.
_FACTS = {
    "alter_column_type": "type", "alter_column_nullability": "required", "alter_column_comment": "comment",
    "alter_column_default": "default", "alter_column_position": "order of columns",
}  # fmt: skip
COLUMN_FACTS = frozenset({"type", "required", "comment", "default"})
_UNITS = {"years": "year", "months": "month", "days": "day", "hours": "hour", "date": "day", "date_hour": "hour"}


def said_of(statement: ParsedStatement, sql: str, dialect: str) -> Iterator[tuple[str, str]]:
    """Yield the subjects of a statement on one table, or of a rename of one, each with what it says about the subject.

    Two statements that say the same have the same text, whatever the catalog and the namespace of the tables that they name.

    Args:
        sql: the text of the statement.
    """
    operation, options = statement.operation, statement.options
    if operation in ("drop_table", "rename_table"):
        yield "table", operation
    elif operation in ("create_table", "create_table_as", "replace_table"):
        yield "table", "create_table"
        if operation == "replace_table":
            yield EVERY_PART, operation
        yield "property comment", options.comment or ""
        yield "order of columns", ", ".join(_path(each.key) for each in statement.parts if isinstance(each, Column))
        if not any(isinstance(each, Column) for each in statement.parts):
            yield "column", _without_places(statement, sql, dialect)
    elif operation == "replace_columns":
        yield "column", operation
    elif operation == "comment_on":
        yield "comment" if options.kind == "column" else "property comment", options.comment or ""
    elif operation == "set_location":
        yield "property location", options.location or ""
    for part in statement.parts:
        yield from _said_by(part)


def field_text(transform: Transform) -> str | None:
    """Return a partition field as `partition_text` writes it, in lower case; None where that does not follow from the statement."""
    columns = [each for each in transform.arguments if not each.isdigit()]
    widths = [each for each in transform.arguments if each.isdigit()]
    if len(columns) != 1 or len(widths) > 1:
        return None
    if not transform.function:
        return columns[0].lower()
    function = _UNITS.get(transform.function, transform.function)
    return f"{function}({', '.join([*widths, *columns])})".lower()


def _said_by(part: Part) -> Iterator[tuple[str, str]]:
    match part:
        case Column():
            yield from _said_by_column(part)
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
        case PartitionField():
            for each in filter(None, (part.transform, part.replaces)):
                # A field may be dropped by its own name, which its column may have, too.
                text = field_text(each) if each.function or part.operation in _ADDS_FIELD else None
                yield f"partitioning {text}" if text else "partitioning", f"{part.operation} {_plain(each.text)}"
        case WriteOrder():
            fields = (f"{_plain(each.transform.text)} {each.direction} {each.nulls}" for each in part.fields)
            text = f"{part.operation} {part.distribution} {'locally' if part.locally else ''} {', '.join(fields)}"
            yield "sorting", text
            yield "property write.distribution-mode", text
        case Fields(operation="cluster_by"):
            yield "sorting", ", ".join(part.fields)
        case Fields():
            if part.operation == "set_identifier_fields":
                yield "identifiers", ""  # Other fields are identifiers no longer.
            yield from ((f"identifiers {each.lower()}", part.operation) for each in part.fields)
        case Constraint():
            yield "identifiers", part.text
            if part.name:
                yield f"property delta.constraints.{part.name.lower()}", part.text


_ADDS_FIELD = frozenset({"create_table", "add_partition_field"})


def _said_by_column(column: Column) -> Iterator[tuple[str, str]]:
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
    """Return a type or a transform without the blanks and the case of letters, which say nothing."""
    return "".join(text.split()).lower()


def _without_places(statement: ParsedStatement, sql: str, dialect: str) -> str:
    """Return the text of a statement, its tables without their catalogs and namespaces."""
    cursor = Cursor(sql, dialect)
    start = cursor.position
    while cursor.word() not in ("", ";"):
        cursor.next()
    text = " ".join(cursor.text_since(start).split())
    for name in (*statement.targets, *(statement.sources or ())):
        text = text.replace(".".join(name.written), name.written[-1])
    return text


def covering(subject: str) -> Iterator[str]:
    """Yield the subjects that are about a part: its own, then those that stand for it with others.

    Args:
        subject: of the part, in lower case.
    """
    yield subject
    yield EVERY_PART
    what = next((each for each in _KINDS if subject.startswith(f"{each} ")), subject)
    if what != subject and what != "property":
        yield what
    if what == "column" or what in COLUMN_FACTS:
        name = subject.removeprefix(f"{what} ")
        yield "column"
        yield f"column {name}"
        if what == "column":  # A rename says nothing about the type, and so on.
            yield f"{_NAME} {name}"
        parts = name_parts(name)
        for end in range(1, len(parts)):  # A field inside of a column is declared in the type of that.
            around = name_of(parts[:end])
            yield from (f"column {around}", f"type {around}")


_KINDS = ("column", *sorted(COLUMN_FACTS), "partitioning", "identifiers", "property")
