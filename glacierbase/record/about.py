"""The parts of a table that statements are about, and what the statements declare about each. Pure.

`StatementChanges` decides which differences of a table its statements explain: a statement explains a change only if it is about
the part that changed. Columns are followed through the renames of the statements. A statement that is not understood, a script, a
call and the like may have changed anything.

`subjects_of` names the parts as `Difference.subject` does, with names in lower case: `type user_id`, `property owner`,
`partitioning bucket(4, id)`. A subject without a name, such as `partitioning`, covers all parts of its kind, and `EVERY_PART`
all parts of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TypeVar

from glacierbase.formats.delta import CONSTRAINT
from glacierbase.formats.iceberg import OF_NEW_TABLES
from glacierbase.model.differences import Difference, partition_text, sort_text
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, Shape
from glacierbase.secrets import MASK
from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.operations import ALTERS, CREATES_TABLE, PARTITIONS, REFERENCES, ROWS, UPKEEP
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
    SortClause,
    Transform,
    WriteOrder,
)
from glacierbase.sql.types import types_of

_Path = tuple[str, ...]
_P = TypeVar("_P", bound=Part)

_ENDS = frozenset({"drop_table", "rename_table", "replace_table", "drop_namespace", "create_namespace"})
_KEEPS_SHAPE = ROWS | PARTITIONS | UPKEEP | REFERENCES


class Explanation(IntEnum):
    """How well statements explain a difference."""

    NONE = 0
    # A statement is about the part, or may be.
    ABOUT = 1
    # A statement declares the present state of the part.
    SAME = 2


class StatementChanges:
    """What statements declare of one table, in their order.

    Attributes:
        are_any: whether there is a statement.
        count: the number of statements.
        may_be_all: whether a statement may have changed any part, as one that is not understood.
        creates, ends: whether a statement creates the table, or drops or renames it, or may.
    """

    def __init__(
        self, statements: Iterable[ParsedStatement], dialect: str, later: Iterable[ParsedStatement] = ()
    ) -> None:
        """Args:
        later: statements of other files that ran after these statements and may have renamed columns.
        """
        self._statements = tuple(statements)
        self._dialect = dialect
        self._same: dict[_Path, _Path] = {}
        for part in (
            part
            for statement in (*self._statements, *later)
            for part in statement.parts
            if isinstance(part, RenameColumn)
        ):
            root, new = self._path(part.key), (*part.key[:-1], part.new_key)
            if _folded(new) != root:
                self._same[_folded(new)] = root
        self.are_any = bool(self._statements)
        self.count = len(self._statements)
        self.may_be_all = any(_may_be_all(statement) for statement in self._statements)
        operations = {statement.operation for statement in self._statements}
        self.creates = self.may_be_all or not operations.isdisjoint(CREATES_TABLE)
        self.ends = self.may_be_all or not operations.isdisjoint(_ENDS)
        self._used: set[int] = set()

    def fit(self, difference: Difference, before: Shape | None, after: Shape) -> Explanation:
        """Return how well the statements explain a difference between two shapes of the table."""
        grades = self._grades(difference, before, after)
        best = max((fit for fit, part in grades if id(part) not in self._used), default=Explanation.NONE)
        may_be = self.may_be_all or self._is_replaced(difference, before)
        return max(best, Explanation.ABOUT) if may_be or self._may_be_of_engine(difference, before, after) else best

    def use(self, differences: Iterable[Difference], before: Shape | None, after: Shape) -> None:
        """Remove the clauses that explain these differences: a clause has one effect."""
        for difference in differences:
            grades = self._grades(difference, before, after)
            same = [id(part) for fit, part in grades if fit is Explanation.SAME and part is not None]
            if (
                difference.what == "order of columns"
            ):  # Any clause explains it that moves a column; the others are left.
                same = [part for part in same if part not in self._used][:1]
            self._used.update(same)

    def is_about(self, difference: Difference, before: Shape | None, after: Shape) -> bool:
        """Return whether a statement is about a difference, whenever it ran: a column that it alters existed before it.

        A property must have the value that a statement sets.
        """
        fit = self.fit(difference, before, after)
        if difference.what == "property":
            is_named = difference.name == "comment" or any(
                part.key == difference.name for part in self._parts(Property)
            )
            return self.may_be_all or (is_named and fit is Explanation.SAME)
        if difference.what == "column" and difference.name:
            path = self._named(difference.name)
            keys = [
                *(part.key for part in self._parts(ColumnClause)),
                *(part.key for part in self._parts(AlterColumn)),
                *(part.key for part in self._parts(RenameColumn)),
            ]
            return fit is not Explanation.NONE or any(path[: len(key)] == self._path(key) for key in keys)
        return fit is not Explanation.NONE

    def _grades(
        self, difference: Difference, before: Shape | None, after: Shape
    ) -> Iterator[tuple[Explanation, Part | None]]:
        """Yield how well each clause explains a difference."""
        what = difference.what
        if what == "property":
            yield from self._property(difference)
        elif what == "column":
            yield from self._column(difference, after)
        elif what in ("type", "required", "comment", "default"):
            yield from self._attribute(difference, after)
        elif what == "order of columns":
            named: list[ColumnClause | AlterColumn] = [*self._parts(ColumnClause), *self._parts(AlterColumn)]
            yield from (
                (Explanation.SAME, column)
                for column in named
                if column.position or column.operation == "replace_columns"
            )
        elif what == "partitioning":
            yield self._partitioning(before, after), None
        elif what == "sorting":
            yield from self._sorting(before, after)
        elif what == "identifiers":
            yield from self._identifiers(before, after)
        elif what == "format version":
            yield from self._version(difference)
        elif what == "table":
            operations = CREATES_TABLE | {"drop_table"} if difference.destructive else {"rename_table"}
            is_same = any(statement.operation in operations for statement in self._statements)
            yield (Explanation.SAME if is_same else Explanation.NONE), None

    def _property(self, difference: Difference) -> Iterator[tuple[Explanation, Part | None]]:
        key, value = difference.name, difference.after
        for part in self._parts(Property):
            if part.key == key:
                is_same = value in (part.value, MASK) if part.operation != "unset_properties" else value is None
                yield (Explanation.SAME if is_same else Explanation.ABOUT), part
        if key == "write.distribution-mode":  # Spark sets it with the order.
            yield from ((Explanation.SAME, order) for order in self._parts(WriteOrder))
        for statement in self._statements:
            is_of_table = statement.operation in CREATES_TABLE and statement.options.comment is not None
            if key == "comment" and (
                is_of_table or (statement.operation == "comment_on" and statement.options.kind == "table")
            ):
                yield (Explanation.SAME if value in (statement.options.comment, MASK) else Explanation.ABOUT), None
            elif statement.operation in CREATES_TABLE:
                yield (
                    (
                        Explanation.SAME
                        if key in OF_NEW_TABLES
                        else Explanation.ABOUT
                        if difference.before is None
                        else Explanation.NONE
                    ),
                    None,
                )

    def _column(self, difference: Difference, after: Shape) -> Iterator[tuple[Explanation, Part | None]]:
        if not difference.name:  # It was renamed.
            old, new = self._named(difference.before or ""), name_parts(difference.after or "")[-1].casefold()
            for renamed in self._parts(RenameColumn):
                if self._path(renamed.key) == old and renamed.new_key.casefold() == new:
                    yield Explanation.SAME, renamed  # Any other name was not given by this clause.
            return
        path = self._named(difference.name)
        parts: list[ColumnClause | DropColumn | RenameColumn] = [
            *self._parts(ColumnClause), *self._parts(DropColumn), *self._parts(RenameColumn),
        ]  # fmt: skip
        for part in parts:
            if path[: len(part.key)] != self._path(part.key):
                continue
            if isinstance(part, ColumnClause) and difference.after is not None:
                column = next((column for column in after.columns if column.name == difference.name), None)
                is_inside = len(path) > len(part.key)
                yield (
                    (
                        Explanation.SAME
                        if is_inside or (column and self._is_declared(part, column))
                        else Explanation.ABOUT
                    ),
                    part,
                )
            # In a format without ids, a renamed column is a new one.
            elif isinstance(part, RenameColumn) or difference.after is None:
                yield Explanation.SAME, part
        for statement in self._statements:
            if difference.after is None and statement.operation in CREATES_TABLE | {"replace_columns"}:
                yield Explanation.SAME, None
            elif statement.operation in CREATES_TABLE and not any(
                isinstance(part, ColumnClause) for part in statement.parts
            ):
                yield Explanation.ABOUT, None  # The columns come from a query or another table.

    def _attribute(self, difference: Difference, after: Shape) -> Iterator[tuple[Explanation, Part | None]]:
        what, path = difference.what, self._named(difference.name)
        column = next((column for column in after.columns if column.name == difference.name), None)
        for part in self._parts(AlterColumn):
            if self._path(part.key) == path and part.operation == _ALTERS[what]:
                yield (Explanation.SAME if column and self._is_altered(part, what, column) else Explanation.ABOUT), part
        for declared in self._parts(ColumnClause):  # The column or its table is replaced.
            if declared.operation != "add_column" and self._path(declared.key) == path:
                yield Explanation.ABOUT, declared
        if what == "required":
            yield from ((Explanation.ABOUT, part) for part in (*self._parts(Constraint), *self._parts(Fields)))
        for statement in self._statements:
            if what == "comment" and statement.operation == "comment_on" and statement.options.kind == "column":
                text = statement.options.comment or None
                yield (Explanation.SAME if column and column.comment in (text, MASK) else Explanation.ABOUT), None

    def _partitioning(self, before: Shape | None, after: Shape) -> Explanation:
        was = {self._text(partition_text(field)): field.name for field in (before.partitioning if before else ())}
        now = {self._text(partition_text(field)): field.name for field in after.partitioning}
        if was.keys() == now.keys():
            return Explanation.SAME  # The statements have renamed a column of the partitioning.
        parts = list(self._parts(PartitionClause))
        drops = [field.transform if field.operation == "drop_partition_field" else field.replaces for field in parts]
        dropped = {
            text for transform in drops if transform for text in (self._transform(transform), transform.text.casefold())
        }
        added = {self._transform(field.transform) for field in parts if field.operation != "drop_partition_field"}
        gone = all(text in dropped or name.casefold() in dropped for text, name in was.items() if text not in now)
        is_declared = gone and all(text in added for text in now if text not in was)
        return Explanation.SAME if is_declared else Explanation.ABOUT if parts else Explanation.NONE

    def _sorting(self, before: Shape | None, after: Shape) -> Iterator[tuple[Explanation, Part | None]]:
        was, now = (
            [self._text(sort_text(field)) for field in (shape.sorting if shape else ())] for shape in (before, after)
        )
        if was == now:
            yield Explanation.SAME, None
        for part in self._parts(WriteOrder):
            declared = [self._order(field) for field in part.fields]
            yield (
                (Explanation.SAME if declared == now and part.operation == "set_write_order" else Explanation.ABOUT),
                part,
            )
        yield from ((Explanation.ABOUT, fields) for fields in self._parts(Fields) if fields.operation == "cluster_by")

    def _identifiers(self, before: Shape | None, after: Shape) -> Iterator[tuple[Explanation, Part | None]]:
        was, now = (
            {self._named(identifier) for identifier in (shape.identifiers if shape else ())}
            for shape in (before, after)
        )
        if was == now:
            yield Explanation.SAME, None
        for part in self._parts(Fields):
            named = {self._named(field) for field in part.fields}
            is_same = now == (was - named if part.operation == "drop_identifier_fields" else named)
            yield (Explanation.SAME if is_same else Explanation.ABOUT), part
        yield from ((Explanation.ABOUT, constraint) for constraint in self._parts(Constraint))

    def _version(self, difference: Difference) -> Iterator[tuple[Explanation, Part | None]]:
        for part in self._parts(Property):
            if part.key == "format-version":
                yield (Explanation.SAME if part.value == difference.after else Explanation.ABOUT), part
        if difference.before is None and any(statement.operation in CREATES_TABLE for statement in self._statements):
            yield Explanation.SAME, None

    def _is_replaced(self, difference: Difference, before: Shape | None) -> bool:
        """Return whether the table was replaced, which keeps its properties only; the statement lists the new columns."""
        is_kept = difference.what == "property" or (difference.what == "column" and difference.before is None)
        return (
            before is not None
            and not is_kept
            and any(statement.operation == "replace_table" for statement in self._statements)
        )

    def _may_be_of_engine(self, difference: Difference, before: Shape | None, after: Shape) -> bool:
        """Return whether a statement about another part may be the cause: Delta and Hudi set properties, writes add columns."""
        formats = {shape.format for shape in (before, after) if shape}
        if difference.what in ("property", "format version"):
            return formats != {"iceberg"} and any(
                statement.operation in ALTERS | CREATES_TABLE for statement in self._statements
            )
        if difference.what not in ("column", "type") or difference.after is None:
            return False
        writes = [
            statement
            for statement in self._statements
            if statement.operation in ("insert", "insert_overwrite", "merge", "update")
        ]
        return any(statement.options.evolves for statement in writes) or (bool(writes) and formats != {"iceberg"})

    def _is_declared(self, part: ColumnClause, column: Column) -> bool:
        is_nullable = part.nullable is not column.required
        return self._is_type(part.type, column) and is_nullable and column.comment in (part.comment or None, MASK)

    def _is_altered(self, part: AlterColumn, what: str, column: Column) -> bool:
        if what == "type":
            return self._is_type(part.type, column)
        if what == "required":
            return part.nullable is not column.required
        return what == "default" or column.comment in (part.comment or None, MASK)

    def _is_type(self, text: str | None, column: Column) -> bool:
        if text is None:
            return True
        try:
            spellings = (set(types_of(written, self._dialect)) for written in (text, column.type))
            return not next(spellings).isdisjoint(next(spellings))
        except UnsupportedClause:
            return text.casefold() == column.type.casefold()

    def _parts(self, kind: type[_P]) -> Iterator[_P]:
        return (part for statement in self._statements for part in statement.parts if isinstance(part, kind))

    def _path(self, key: Sequence[str]) -> _Path:
        """Return the path of a column before the renames of the statements."""
        path = _folded(key)
        for end in range(len(path), 0, -1):
            if (root := self._same.get(path[:end])) is not None:
                return (*root, *path[end:])
        return path

    def _named(self, name: str) -> _Path:
        return self._path(name_parts(name))

    def _text(self, text: str) -> str:
        """Return the text of a partition or sort field with its column as `_path` returns it."""
        function, opened, rest = text.partition("(")
        if not opened:
            column, _, order = text.partition(" ")
            return " ".join(filter(None, (".".join(self._named(column)), order))).casefold()
        inside, _, order = rest.rpartition(")")
        *width, column = inside.split(", ")
        return f"{function}({', '.join((*width, '.'.join(self._named(column))))}){order}".casefold()

    def _transform(self, transform: Transform) -> str:
        """Return the text of a field in a statement, comparable with the `_text` of a shape's field."""
        return self._text(transform.normalised)

    def _order(self, field: SortClause) -> str:
        direction = field.direction or "asc"
        nulls = field.nulls or ("first" if direction == "asc" else "last")
        return f"{self._transform(field.transform)} {direction} nulls {nulls}"


_ALTERS = {
    "type": "alter_column_type", "required": "alter_column_nullability", "comment": "alter_column_comment",
    "default": "alter_column_default",
}  # fmt: skip


def _folded(key: Iterable[str]) -> _Path:
    return tuple(name.casefold() for name in key)


def _may_be_all(statement: ParsedStatement) -> bool:
    """Return whether a statement may change any part of its table."""
    return not statement.understood or statement.operation not in ALTERS | CREATES_TABLE | _ENDS | _KEEPS_SHAPE


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
