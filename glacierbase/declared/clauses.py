"""The changes of a table that a statement makes, one after another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, groupby

from glacierbase.declared.trees import declared, dotted
from glacierbase.formats.delta import CLUSTERED, clustering_text
from glacierbase.formats.iceberg import FORMAT_VERSION
from glacierbase.model.changes import (
    Change,
    ClusteringSet,
    ColumnAdded,
    ColumnCommented,
    ColumnDropped,
    ColumnMoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReplaced,
    ConstraintAdded,
    ConstraintDropped,
    DefaultSet,
    FieldAdded,
    FieldDropped,
    FieldReplaced,
    IdentifiersDropped,
    IdentifiersSet,
    LocationSet,
    NullabilitySet,
    OrderSet,
    PropertiesSet,
    PropertiesUnset,
    ReferenceCreated,
    ReferenceDropped,
    RowsWritten,
    TableCreated,
    TableDropped,
    TableRenamed,
    TableReplaced,
    Unknown,
)
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.partial_shape import COLUMNS, EVERY_PART, IDENTIFIERS, PARTITIONING, PROPERTIES, SORTING, Path
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.model.transforms import TRANSFORMS, given_name
from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.maintenance import is_action
from glacierbase.sql.operations import CREATES_TABLE, PARTITIONS, QUERIES, RIGHTS, ROWS, UPKEEP
from glacierbase.sql.statement import (
    AlterColumn,
    Call,
    ColumnClause,
    Constraint,
    DropColumn,
    Fields,
    ParsedStatement,
    Part,
    PartitionClause,
    Property,
    Reference,
    RenameColumn,
    SortClause,
    Transform,
    WriteOrder,
)
from glacierbase.sql.types import types_of

# Procedures of Iceberg that change files or snapshots, but no shape.
# https://iceberg.apache.org/docs/latest/spark-procedures/
_OF_FILES = frozenset(
    {
        "rewrite_data_files", "rewrite_manifests", "rewrite_position_delete_files", "expire_snapshots", "remove_orphan_files",
        "rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot", "cherrypick_snapshot", "publish_changes",
        "fast_forward", "compute_table_stats", "compute_partition_stats",
    }
)  # fmt: skip
_KEEPS_SHAPE = PARTITIONS | UPKEEP | QUERIES | RIGHTS


def changes_of(statement: ParsedStatement) -> tuple[Change, ...]:
    """Return the changes of the tables of a statement, in their order; `Unknown` for each clause that is not read."""
    if not statement.understood or statement.unread:
        return (Unknown(statement.why or statement.unread[0]),)
    return clause_changes(statement)


def clause_changes(statement: ParsedStatement) -> tuple[Change, ...]:
    """Return the changes that the clauses of a statement declare, whatever else it has that is not read."""
    if statement.operation in CREATES_TABLE:
        return (_created(statement),)
    if statement.operation in ROWS:
        return (RowsWritten(statement.options.evolves),)
    if statement.operation in _KEEPS_SHAPE or is_of_files(statement):
        return ()
    if statement.operation in _WHOLE and not statement.parts:
        return (_WHOLE[statement.operation](statement),)
    if not statement.parts or _changes_twice(statement):
        return (Unknown(statement.operation.replace("_", " ")),)
    grouped = groupby(statement.parts, key=type)
    changes = (change for kind, parts in grouped for change in _of_parts(kind, list(parts), statement))
    return tuple({_once(change): change for change in changes}.values())


def is_of_files(statement: ParsedStatement) -> bool:
    """Return whether a statement calls a procedure that changes no shape, of Iceberg or of glacierbase."""
    calls = (part for part in statement.parts if isinstance(part, Call))
    return any(part.name in _OF_FILES or is_action(part.procedure) for part in calls)


def _once(change: Change) -> object:
    """Return what is equal for two clauses that drop one column, which engines accept."""
    return tuple(map(str.lower, change.path)) if isinstance(change, ColumnDropped) else object()


_WHOLE: Mapping[str, Callable[[ParsedStatement], Change]] = {
    "drop_table": lambda statement: TableDropped(statement.options.if_exists),
    "rename_table": lambda statement: TableRenamed(statement.targets[-1].recorded),
    "set_location": lambda statement: LocationSet(statement.options.location or ""),
    "comment_on": lambda statement: PropertiesSet((("comment", statement.options.comment or ""),)),
}


def _changes_twice(statement: ParsedStatement) -> bool:
    """Return whether a statement of Spark changes a column twice, or with a field inside, which Spark refuses."""
    altered = dict[object, Path]()
    for part in statement.parts:
        if isinstance(part, AlterColumn) and not statement.subject:
            altered.setdefault(part.place, part.key)  # The parts of one CHANGE COLUMN have one place.
    pairs = combinations(altered.values(), 2)
    return any(path[: len(other)] == other[: len(path)] for path, other in pairs)


def _of_parts(kind: type[Part], parts: Sequence[Part], statement: ParsedStatement) -> Iterator[Change]:
    """Yield the changes of clauses of one kind that follow each other."""
    if kind is Property:
        yield from _properties(parts)
    elif kind is WriteOrder:
        yield _order([part for part in parts if isinstance(part, WriteOrder)])
    elif statement.operation == "replace_columns":
        made = [_column(part, statement) for part in parts if isinstance(part, ColumnClause)]
        yield ColumnsReplaced(tuple(column for columns, _ in made for column in columns))
        yield from (Unknown("a type", frozenset({part})) for _, part in made if part)
    else:
        for part in parts:
            yield from _of_part(part, statement)


def _properties(parts: Sequence[Part]) -> Iterator[Change]:
    listed = [part for part in parts if isinstance(part, Property)]
    if listed[0].operation == "unset_properties":
        yield PropertiesUnset(tuple(part.key for part in listed))
    elif any(part.value is None for part in listed):
        yield Unknown("a property without a value", frozenset({PROPERTIES}))
    else:
        yield PropertiesSet(tuple((part.key, part.value or "") for part in listed))


def _order(parts: Sequence[WriteOrder]) -> Change:
    ordered = [part for part in parts if part.operation == "set_write_order"]
    fields = [_sort_field(clause) for part in ordered for clause in part.fields]
    known = tuple(field for field in fields if field)
    if len(known) < len(fields):
        return Unknown("an expression in the order", frozenset({SORTING, "property write.distribution-mode"}))
    if len(ordered) < len(parts):
        return OrderSet(known if ordered else None, "hash")
    return OrderSet(known, "none" if not known else None if ordered[-1].locally else "range")


def _sort_field(clause: SortClause) -> SortField | None:
    """Return a field of a write order. https://iceberg.apache.org/docs/latest/spark-ddl/#alter-table--write-ordered-by"""
    if not _is_clear(clause.transform):
        return None
    direction = clause.direction or "asc"
    nulls = clause.nulls or ("first" if direction == "asc" else "last")
    return SortField(_source(clause.transform), clause.transform.iceberg, direction, nulls)


def _source(transform: Transform) -> str:
    return _recorded(transform.columns[0])


def _recorded(name: str) -> str:
    """Return the name of a column, whose parts dots join, as shapes have names."""
    return name_of(name.split("."))


def _is_clear(transform: Transform) -> bool:
    """Return whether a transform is one of Iceberg's, of one column."""
    known = TRANSFORMS.get(transform.name)
    return bool(known and len(transform.columns) == 1 and len(transform.widths) == known.has_width)


def _of_part(part: Part, statement: ParsedStatement) -> Iterator[Change]:
    match part:
        case ColumnClause():
            columns, unclear = _column(part, statement)
            yield ColumnAdded(columns, None if part.position is None else _after(part.position))
            if unclear:
                yield Unknown("a type", frozenset({unclear}))
        case DropColumn():
            yield ColumnDropped(_path(part, statement), statement.options.if_exists)
        case RenameColumn():
            yield ColumnRenamed(_path(part, statement), part.new_key if statement.subject else part.new)
        case AlterColumn():
            yield from _alter(part, _path(part, statement), statement)
        case PartitionClause():
            yield _partition(part)
        case Fields(operation="set_identifier_fields"):
            yield IdentifiersSet(tuple(map(_recorded, part.fields)))
        case Fields(operation="drop_identifier_fields"):
            yield IdentifiersDropped(tuple(map(_recorded, part.fields)))
        case Fields():
            yield ClusteringSet(tuple(tuple(name.split(".")) for name in part.fields))
        case Constraint():
            yield _constraint(part, statement)
        case Reference():
            verb, _, kind = part.operation.partition("_")
            yield (ReferenceDropped if verb == "drop" else ReferenceCreated)(kind, part.name)
        case _:
            yield Unknown(part.verb.lower())


def _path(part: ColumnClause | DropColumn | RenameColumn | AlterColumn, statement: ParsedStatement) -> Path:
    """Return the path of a column in the spelling of the engine, which folds names on Snowflake."""
    return part.key if statement.subject else part.path


def _after(position: str) -> str:
    return "" if position == "first" else position.removeprefix("after ")


def _column(part: ColumnClause, statement: ParsedStatement) -> tuple[tuple[Column, ...], str | None]:
    """Return a declared column with the fields inside, and the part that is not known of it."""
    path = _path(part, statement)
    default = None if part.default is None else json.dumps(part.default)
    facts = Column(None, name_of(path), part.type or "", not part.nullable, part.comment, default)
    try:
        return declared(path, _clear(part.type, statement), facts, _dialect(statement)), None
    except UnsupportedClause:
        return (facts,), f"type {name_of(path)}"


def _clear(text: str | None, statement: ParsedStatement) -> str:
    """Return the text of a type.

    Raises:
        UnsupportedClause: there is none, or a setting decides what it means.
    """
    if text is None or (statement.subject and len(types_of(text, SNOWFLAKE.name)) > 1):
        raise UnsupportedClause("the type")
    return text


def _dialect(statement: ParsedStatement) -> str:
    return SNOWFLAKE.name if statement.subject else SPARK.name


def _alter(part: AlterColumn, path: Path, statement: ParsedStatement) -> Iterator[Change]:
    if part.type is not None:
        try:
            column, *_ = declared(path, _clear(part.type, statement), Column(None, "", ""), _dialect(statement))
            yield ColumnRetyped(path, column.type)
        except UnsupportedClause:
            yield Unknown("a type", frozenset({f"type {name_of(path)}"}))
    elif part.nullable is not None:
        yield NullabilitySet(path, not part.nullable)
    elif part.comment is not None:
        yield ColumnCommented(path, part.comment)
    elif part.position is not None:
        yield ColumnMoved(path, _after(part.position))
    elif part.operation == "alter_column_default":
        yield DefaultSet(path, None if part.default is None else json.dumps(part.default))


def _partition(part: PartitionClause) -> Change:
    if not all(_is_clear(transform) for transform in (part.transform, part.replaces) if transform):
        return Unknown("a partition field", frozenset({PARTITIONING}))
    if part.operation == "drop_partition_field":
        return _dropped(part.transform)
    added = FieldAdded(_source(part.transform), part.transform.iceberg, part.name)
    return FieldReplaced(_dropped(part.replaces), added) if part.replaces else added


def _dropped(transform: Transform) -> FieldDropped:
    name, text = transform.columns[0], transform.text
    is_one = "." not in name or (text[0] == text[-1] == "`" and "`" not in text[1:-1].replace("``", ""))
    return FieldDropped(_source(transform), transform.iceberg, name if is_one and not transform.function else None)


def _constraint(part: Constraint, statement: ParsedStatement) -> Change:
    if part.operation == "drop_constraint" and part.text.upper().startswith("PRIMARY"):
        return IdentifiersSet(())
    if part.operation == "drop_constraint" and statement.subject:  # It may be the primary key.
        return Unknown("a constraint", frozenset({IDENTIFIERS}))
    if part.operation == "drop_constraint":
        return ConstraintDropped(part.name or "")
    if names := _primary_key(part, statement):
        return IdentifiersSet(names)
    condition = part.text.removeprefix("CHECK").strip()
    is_check = condition != part.text and condition.startswith("(") and condition.endswith(")")
    if part.name and (is_check or statement.subject):
        return ConstraintAdded(part.name, condition[1:-1])
    return Unknown("a constraint", frozenset({PROPERTIES}))


def _primary_key(part: Constraint, statement: ParsedStatement) -> tuple[str, ...]:
    """Return the columns of a primary key; nothing for another constraint."""
    cursor = Cursor(part.text, _dialect(statement))
    if cursor.take("CONSTRAINT"):
        cursor.table()
    if not cursor.take("PRIMARY", "KEY"):
        return ()
    cursor.expect("(")
    names = [name_of(cursor.names())]
    while cursor.take(","):
        names.append(name_of(cursor.names()))
    return tuple(names)


def _created(statement: ParsedStatement) -> TableCreated | TableReplaced:
    """Return the table of a CREATE or REPLACE TABLE, as far as the statement declares it."""
    options, parts = statement.options, statement.parts
    made = [_column(part, statement) for part in parts if isinstance(part, ColumnClause)]
    columns = tuple(column for listed, _ in made for column in listed)
    unknown = {part for _, part in made if part}
    if not columns:
        is_query = statement.query is not None or statement.operation == "create_table_as"
        unknown.add(COLUMNS if is_query or statement.sources == () else EVERY_PART)
    partitioning = [_declared_field(part, columns) for part in parts if isinstance(part, PartitionClause)]
    known_fields = tuple(field for field in partitioning if field)
    if len(known_fields) < len(partitioning):
        unknown.add(PARTITIONING)
    properties = {part.key: part.value or "" for part in parts if isinstance(part, Property)}
    for part in parts if not statement.subject else ():
        if isinstance(part, Fields):
            spelt = _spellings(columns)
            clustered = [name_parts(spelt.get(name.lower(), _recorded(name))) for name in part.fields]
            properties[CLUSTERED] = clustering_text(clustered)
    if options.comment is not None:
        properties["comment"] = options.comment
    version = properties.get(FORMAT_VERSION, "")
    if version.isdecimal():
        del properties[FORMAT_VERSION]
    keys = [_path(part, statement) for part in parts if isinstance(part, ColumnClause) and part.primary_key]
    identifiers = [name_of(path) for path in keys]
    for part in parts:
        if isinstance(part, Constraint):
            identifiers += _primary_key(part, statement)
    shape = Shape(
        statement.targets[0].recorded,
        None,
        "snowflake" if statement.subject else options.using or "",
        int(version) if version.isdecimal() else None,
        columns,
        known_fields,
        (),
        tuple(identifiers),
        properties,
    )
    if statement.operation == "replace_table":
        return TableReplaced(shape, options.only_replaces, frozenset(unknown))
    return TableCreated(shape, options.if_not_exists, frozenset(unknown))


def _declared_field(part: PartitionClause, columns: Sequence[Column]) -> PartitionField | None:
    """Return a partition field of a new table, with the column as the table spells it; None where it is not known."""
    transform = part.transform
    if not _is_clear(transform):
        return None
    source = _spellings(columns).get(transform.columns[0].lower(), _source(transform))
    given = given_name(dotted(source), transform.iceberg, with_width=False)
    return PartitionField(None, part.name or given, source, transform.iceberg)


def _spellings(columns: Sequence[Column]) -> Mapping[str, str]:
    """Return the names of columns as the table spells them, by their parts in lower case with dots between."""
    return {dotted(column.name).lower(): column.name for column in columns}
