"""What statements declare of tables: columns, partition fields, write order, identifier fields, properties.

The statements of a catalog's files are folded in their order. A part that may have changed in another way becomes None, which
means unknown, so that no value is wrong. Names are as the engine compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from glacierbase.formats.iceberg import DISTRIBUTION
from glacierbase.model.transforms import IDENTITY, given_name
from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.maintenance import is_action
from glacierbase.sql.operations import (
    CREATES_TABLE,
    FUNCTIONS,
    NAMESPACES,
    PARTITIONS,
    QUERIES,
    RIGHTS,
    ROWS,
    UPKEEP,
    VIEWS,
)
from glacierbase.sql.statement import (
    AlterColumn,
    Call,
    ColumnClause,
    Constraint,
    DropColumn,
    Fields,
    Name,
    ParsedStatement,
    Part,
    PartitionClause,
    Property,
    Query,
    RenameColumn,
    SortClause,
    Subject,
    Transform,
    WriteOrder,
)
from glacierbase.sql.types import type_tree, types_of

Path: TypeAlias = tuple[str, ...]
_WORD = re.compile(r"\w+")
# A quoted part of a name. With a dot in one, the text of a path does not tell its parts.
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column, or a field inside one.

    Attributes:
        text: its type, as declared.
        fields: the fields directly inside, by name; None where the type is not understood.
        default: the text of its default expression.
    """

    text: str | None
    required: bool
    comment: str | None = None
    default: str | None = None
    fields: KnownColumns | None = field(default_factory=dict)

    @property
    def type(self) -> str | None:
        """Its type in Spark in one spelling; None where it is not known."""
        return known_type(self.text)


KnownColumns: TypeAlias = Mapping[str, KnownColumn]


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field by which a table is partitioned or sorted.

    Attributes:
        source: the path of its column.
        transform: Iceberg's name of its function, with the width: `bucket(16)`; `identity` for the column itself.
        direction, nulls: only for a field of a write order.
        spelling: the name in the spelling of the statement, in which files have it.
    """

    name: str
    source: Path
    transform: str = IDENTITY.name
    direction: str = ""
    nulls: str = ""
    spelling: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class KnownTable:
    """What is known of a table.

    Attributes:
        using: its format, where the statement that creates it names one; `view` for a view.
        columns: the top-level columns, by name, in order.
        partitioning: the fields of new rows.
        former: fields by which older files of the table may be partitioned; new rows are not.
        ordering: the fields of the write order.
        identifiers: the paths of the identifier fields.
        properties: set by statements.
        unset: the keys of properties that statements removed.
        clustering: the words of the clustering key in capitals, among them its columns.
        sources: the tables that a view, a dynamic table or a shallow clone reads.
        query: of a view or a dynamic table.
        location: that a statement sets.
        subject: what the statement that creates it names; only on Snowflake.
        is_dropped: whether a statement dropped the table, and none creates it again.
    """

    using: str | None = None
    columns: Mapping[str, KnownColumn] | None = None
    partitioning: tuple[KnownField, ...] | None = None
    former: tuple[KnownField, ...] = ()
    ordering: tuple[KnownField, ...] | None = None
    identifiers: tuple[Path, ...] | None = None
    properties: Mapping[str, str] | None = None
    unset: frozenset[str] = frozenset()
    clustering: tuple[str, ...] = ()
    sources: tuple[Name, ...] = ()
    query: Query | None = None
    location: str | None = None
    subject: Subject | None = None
    is_dropped: bool = False

    def has(self, path: Path) -> bool | None:
        """Return whether the table has a column, or a field inside one; None where that is not known."""
        columns: KnownColumns | None = self.columns
        for number, name in enumerate(path):
            if columns is None or (number and not columns):
                return None
            if name not in columns:
                return False
            columns = columns[name].fields
        return True

    def column(self, path: Path) -> KnownColumn | None:
        """Return what is known of a column; None for a field inside a column, and for an unknown column."""
        return self.columns.get(path[0]) if self.columns and len(path) == 1 else None

    def use_of(self, path: Path) -> str | None:
        """Return what uses a column, or a field inside it, in the table; None if no use is known."""
        for partition in self.partitioning or ():
            if starts_with(partition.source, path):
                return f"the partition field {partition.name} uses it"
        if any(starts_with(field.source, path) for field in self.ordering or ()):
            return "the write order uses it"
        return (
            "it is an identifier field"
            if any(starts_with(identifier, path) for identifier in self.identifiers or ())
            else None
        )


NOTHING = KnownTable()


def starts_with(path: Path, start: Path) -> bool:
    """Return whether `path` is `start` or a field inside it."""
    return path[: len(start)] == start


def field_of(transform: Transform, name: str | None = None, *, is_added: bool = False) -> KnownField | None:
    """Return the field of a transform, or None where its column is not known.

    Args:
        name: given by AS; default the name that Iceberg gives.
        is_added: whether ADD PARTITION FIELD adds it to a table.
    """
    columns = transform.columns
    if len(columns) != 1 or any("." in quoted for quoted in _QUOTED.findall(transform.text)):
        return None
    spelling = name or given_name(columns[0], transform.iceberg, with_width=is_added)
    function = transform.iceberg.replace("[", "(").replace("]", ")")
    return KnownField(spelling.lower(), tuple(columns[0].lower().split(".")), function, spelling=spelling)


def known_type(text: str | None) -> str | None:
    """Return a type of Spark in one spelling, or None where it is not supported."""
    try:
        return types_of(text, SPARK.name)[0] if text else None
    except UnsupportedClause:
        return None


# Procedures of Iceberg that change files or snapshots, but no shape; the actions of glacierbase change none either.
# https://iceberg.apache.org/docs/latest/spark-procedures/
_OF_FILES = frozenset(
    {
        "rewrite_data_files", "rewrite_manifests", "rewrite_position_delete_files", "expire_snapshots", "remove_orphan_files",
        "rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot", "cherrypick_snapshot", "publish_changes",
        "fast_forward", "compute_table_stats", "compute_partition_stats",
    }
)  # fmt: skip


def created(statement: ParsedStatement, before: KnownTable | None) -> KnownTable:
    """Return a table after the statement that creates or replaces it.

    Args:
        before: the table that is replaced; its properties are kept, and its files may be.
    """
    options, parts = statement.options, statement.parts
    using = options.using
    before = None if statement.subject else before  # Snowflake keeps nothing of a table that is replaced.
    if _is_copied(statement):
        return KnownTable(using, sources=statement.sources or ()) if options.shallow else KnownTable(using)
    columns = _declared(parts)
    spellings = {part.key: part.path[0] for part in parts if isinstance(part, ColumnClause) and len(part.path) == 1}
    fields = tuple(
        _spelt(field_of(part.transform, part.name), spellings) for part in parts if isinstance(part, PartitionClause)
    )
    former = (*before.former, *(before.partitioning or ())) if before else ()
    properties = {**((before and before.properties) or {}), **_properties(parts)}
    if options.comment is not None:
        properties["comment"] = options.comment
    unset = (before.unset if before else frozenset()) - properties.keys()
    identifiers = tuple(part.key for part in parts if isinstance(part, ColumnClause) and part.primary_key)
    table = KnownTable(using, columns or None, _all_known(fields), former, (), identifiers, properties, unset)
    for part in parts:
        if isinstance(part, (Constraint, Fields)):
            table = _CHANGES[part.operation](table, part)
    table = replace(table, location=options.location or (before.location if before else None))
    if options.kind == "dynamic table":
        table = replace(table, sources=statement.sources or (), query=statement.query)
    return replace(table, subject=statement.subject)


def altered(table: KnownTable, statement: ParsedStatement) -> KnownTable:
    """Return a table after an ALTER TABLE, a COMMENT ON or a CALL."""
    if statement.operation == "replace_columns":
        return replace(table, columns=_declared(statement.parts))
    if statement.operation == "set_location":
        return replace(table, location=statement.options.location)
    if statement.operation == "comment_on" and not statement.parts:
        return _with_property(table, "comment", statement.options.comment or "")
    for part in statement.parts:
        change = _CHANGES.get(part.operation)
        if change is None:
            return NOTHING
        table = change(table, part)
    return table if statement.parts or _keeps_columns(table, statement) else NOTHING


def _keeps_columns(table: KnownTable, statement: ParsedStatement) -> bool:
    """Return whether a statement of Snowflake that has no clause in `OPERATIONS` leaves the columns of its table unchanged."""
    verb = statement.subject.verb if statement.subject else ""
    evolves = (table.properties or {}).get("ENABLE_SCHEMA_EVOLUTION") == "TRUE"
    return (verb in ("MERGE", "COPY") and not evolves) or (verb == "ALTER" and len(statement.targets) == 1)


def _is_copied(statement: ParsedStatement) -> bool:
    """Return whether the columns are those of another table or of a query."""
    has_columns = any(isinstance(part, ColumnClause) for part in statement.parts)
    is_query = statement.query is not None or statement.operation == "create_table_as"
    return not has_columns and not is_query and statement.sources != ()


def _declared(parts: Iterable[Part]) -> dict[str, KnownColumn]:
    return {part.key[0]: _column(part) for part in parts if isinstance(part, ColumnClause)}


def _column(part: ColumnClause) -> KnownColumn:
    return _known(part.type, not part.nullable, part.comment, part.default)


def _known(text: str | None, required: bool, comment: str | None, default: str | None = None) -> KnownColumn:
    try:
        inside = type_tree(text).fields if text and "<" in text else ()
        fields = {field.name.lower(): _known(field.text, field.required, field.comment) for field in inside}
    except UnsupportedClause:
        return KnownColumn(text, required, comment, default, None)
    return KnownColumn(text, required, comment, default, fields)


def _spelt(known: KnownField | None, spellings: Mapping[Path, str]) -> KnownField | None:
    """Return a field of a new table with the column in its name as the table spells it."""
    column = spellings.get(known.source) if known else None
    return known and replace(known, spelling=column + known.spelling[len(column) :] if column else known.spelling)


def _all_known(fields: Iterable[KnownField | None]) -> tuple[KnownField, ...] | None:
    all_fields = tuple(fields)
    known = tuple(field for field in all_fields if field is not None)
    return known if len(known) == len(all_fields) else None


def _properties(parts: Sequence[Part]) -> dict[str, str]:
    return {part.key: part.value or "" for part in parts if isinstance(part, Property)}


def _edited(
    table: KnownTable, path: Path, edit: Callable[[dict[str, KnownColumn], str], Mapping[str, KnownColumn]]
) -> KnownTable:
    """Return a table after an edit of the columns, or of the fields inside one, among which the path ends.

    Args:
        edit: returns the new columns, from the old ones and the last name of the path. KeyError: a column is not declared.
    """

    def inside(columns: KnownColumns | None, names: Path) -> KnownColumns:
        if columns is None:
            raise KeyError(names[0])
        edited = dict(columns)
        if len(names) == 1:
            return edit(edited, names[0])
        parent = edited[names[0]]
        return {**edited, names[0]: replace(parent, fields=inside(parent.fields, names[1:]))}

    if table.columns is None:
        return table
    try:
        return replace(table, columns=inside(table.columns, path))
    except KeyError:  # The engine refuses the statement, or the column is not known.
        return replace(table, columns=None)


def _placed(columns: dict[str, KnownColumn], name: str, position: str | None) -> dict[str, KnownColumn]:
    """Return columns with one of them moved to a position: `first`, or `after` and a name."""
    if position is None:
        return columns
    others = [column for column in columns if column != name]
    after = position.removeprefix("after ").lower()
    if position != "first" and after not in others:
        raise KeyError(after)
    others.insert(0 if position == "first" else others.index(after) + 1, name)
    return {name: columns[name] for name in others}


def _add_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, ColumnClause)
    added = _column(part)
    return _edited(
        table, part.key,
        lambda columns, name: _placed({**columns, name: columns.get(name, added)}, name, part.position),
    )  # fmt: skip


def _drop_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, DropColumn)
    return _edited(
        table, part.key, lambda columns, name: {key: column for key, column in columns.items() if key != name}
    )


def _rename_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, RenameColumn)
    new = (*part.key[:-1], part.new_key)

    def renamed(path: Path) -> Path:
        return (*new, *path[len(part.key) :]) if starts_with(path, part.key) else path

    def fields(known: tuple[KnownField, ...] | None) -> tuple[KnownField, ...] | None:
        return known and tuple(replace(field, source=renamed(field.source)) for field in known)

    def edit(columns: dict[str, KnownColumn], name: str) -> KnownColumns:
        columns[name]  # Raise KeyError if it is absent.
        return {part.new_key if key == name else key: column for key, column in columns.items()}

    return replace(
        _edited(table, part.key, edit), partitioning=fields(table.partitioning), former=fields(table.former) or (),
        ordering=fields(table.ordering), identifiers=table.identifiers and tuple(map(renamed, table.identifiers)),
    )  # fmt: skip


def _alter_column(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, AlterColumn)

    def edit(columns: dict[str, KnownColumn], name: str) -> KnownColumns:
        return _placed({**columns, name: _changed(columns[name], part)}, name, part.position)

    return _edited(table, part.key, edit)


def _changed(column: KnownColumn, part: AlterColumn) -> KnownColumn:
    if part.type is not None:
        return _known(part.type, column.required, column.comment, column.default)
    if part.nullable is not None:
        return replace(column, required=not part.nullable)
    if part.comment is not None:
        return replace(column, comment=part.comment)
    return replace(column, default=part.default) if part.operation == "alter_column_default" else column


def _add_field(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, PartitionClause)
    if table.partitioning is None:
        return table
    added = field_of(part.transform, part.name, is_added=True)
    return replace(table, partitioning=_all_known((*table.partitioning, added)))


def _drop_field(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, PartitionClause)
    return _without(table, part.transform)


def _replace_field(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, PartitionClause)
    assert part.replaces is not None
    old, new = _named_field(table, part.replaces), field_of(part.transform, part.name)
    if old and new and (old.source, old.transform) == (new.source, new.transform):  # The field stays where it is.
        kept = replace(old, name=new.name, spelling=new.spelling) if part.name else old
        return replace(table, partitioning=tuple(kept if field is old else field for field in table.partitioning or ()))
    return _add_field(_without(table, part.replaces), part)


def _without(table: KnownTable, transform: Transform) -> KnownTable:
    """Return a table without the partition field that has this name or transform."""
    dropped = _named_field(table, transform)
    if dropped is None:
        return replace(table, partitioning=None)
    kept = tuple(field for field in table.partitioning or () if field is not dropped)
    return replace(table, partitioning=kept, former=(*table.former, dropped))


def _named_field(table: KnownTable, transform: Transform) -> KnownField | None:
    """Return the partition field that has this name or transform, or None where not exactly one has."""
    named = field_of(transform)
    matching = [field for field in table.partitioning or () if named and is_named(field, named)]
    return matching[0] if len(matching) == 1 else None


def is_named(known: KnownField, dropped: KnownField) -> bool:
    """Return whether a statement that drops a field, by its name or its transform, means this field."""
    is_same = (known.source, known.transform) == (dropped.source, dropped.transform)
    return is_same or (dropped.transform == IDENTITY.name and known.name == dropped.name)


def _order(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, WriteOrder)
    # Whether writers shuffle rows. The effect of LOCALLY on it depends on the version.
    table = _with_property(table, DISTRIBUTION, None)
    # The effect of WRITE DISTRIBUTED BY on the order depends on the version.
    ordering = None if part.operation == "set_distribution" else _all_known(map(_sort_field, part.fields))
    return replace(table, ordering=ordering)


def _sort_field(part: SortClause) -> KnownField | None:
    """Return a field of a write order. https://iceberg.apache.org/docs/latest/spark-ddl/#alter-table--write-ordered-by"""
    known, direction = field_of(part.transform), part.direction or "asc"
    return known and replace(
        known, direction=direction, nulls=part.nulls or ("first" if direction == "asc" else "last")
    )


def _with_property(table: KnownTable, key: str, value: str | None) -> KnownTable:
    """Return a table with a new value of a property; None for an unknown value."""
    rest = {name: text for name, text in (table.properties or {}).items() if name != key}
    return replace(table, properties=rest if value is None else {**rest, key: value}, unset=table.unset - {key})


def _add_constraint(table: KnownTable, part: Part) -> KnownTable:
    """Return a table after ADD PRIMARY KEY or another constraint, with the columns of the key as identifiers."""
    assert isinstance(part, Constraint)
    cursor = Cursor(part.text, SNOWFLAKE.name)
    if cursor.take("CONSTRAINT"):
        cursor.table()
    if not cursor.take("PRIMARY", "KEY"):
        return table
    cursor.expect("(")
    names = [cursor.names()]
    while cursor.take(","):
        names.append(cursor.names())
    return replace(table, identifiers=tuple(names))


def _drop_constraint(table: KnownTable, part: Part) -> KnownTable:
    """Return a table after DROP PRIMARY KEY, or after DROP CONSTRAINT, whose constraint may be the key."""
    assert isinstance(part, Constraint)
    return replace(table, identifiers=() if part.text.upper().startswith("PRIMARY") else None)


def _is_of_files(part: Part) -> bool:
    """Return whether a clause calls a procedure that changes no shape; the name of its table may lack the catalog."""
    return isinstance(part, Call) and (part.name in _OF_FILES or is_action(part.procedure))


def _set_identifiers(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Fields)
    return replace(table, identifiers=_paths(part))


def _drop_identifiers(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Fields)
    dropped = _paths(part)
    return replace(table, identifiers=table.identifiers and tuple(p for p in table.identifiers if p not in dropped))


def _paths(part: Fields) -> tuple[Path, ...]:
    return tuple(tuple(field.lower().split(".")) for field in part.fields)


def _set_property(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Property)
    return _with_property(table, part.key, part.value or "")


def _unset_property(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Property)
    return replace(_with_property(table, part.key, None), unset=table.unset | {part.key})


def _cluster(table: KnownTable, part: Part) -> KnownTable:
    assert isinstance(part, Fields)
    return replace(table, clustering=tuple(_WORD.findall(" ".join(part.fields).upper())))


def _same(table: KnownTable, _part: Part) -> KnownTable:
    return table


def _other(table: KnownTable, part: Part) -> KnownTable:
    """Return a table after a mask or a tag of a column; any other clause may change more."""
    return table if isinstance(part, AlterColumn) else NOTHING


_CHANGES: Mapping[str, Callable[[KnownTable, Part], KnownTable]] = {
    "add_column": _add_column, "drop_column": _drop_column, "rename_column": _rename_column,
    "alter_column_type": _alter_column, "alter_column_nullability": _alter_column,
    "add_partition_field": _add_field, "drop_partition_field": _drop_field, "replace_partition_field": _replace_field,
    "set_write_order": _order, "set_distribution": _order, "set_identifier_fields": _set_identifiers,
    "drop_identifier_fields": _drop_identifiers, "set_properties": _set_property, "unset_properties": _unset_property,
    "alter_column_comment": _alter_column, "alter_column_position": _alter_column, "alter_column_default": _alter_column,
    "add_constraint": _add_constraint, "drop_constraint": _drop_constraint,
    **dict.fromkeys(("create_branch", "drop_branch", "create_tag", "drop_tag"), _same), "cluster_by": _cluster, "other": _other,
}  # fmt: skip


_Key = tuple[str, ...]
# Operations that change nothing that is known of a table.
_HARMLESS = (
    ((ROWS | PARTITIONS | NAMESPACES) - {"merge", "copy", "drop_namespace"})
    | QUERIES | UPKEEP | RIGHTS | FUNCTIONS | {"reset", "transaction"}
)  # fmt: skip
# Kinds of objects of Snowflake that are tables, or contain them.
_WITH_TABLES = ("TABLE", "SCHEMA", "DATABASE", "ACCOUNT", "VIEW", "")
# `KnownTable.using` of a view.
VIEW = "view"
# Catalog, namespace, table: USE does not change what such a name means.
_WHOLE_NAME = 3


class KnownTables:
    """What is known of tables after the statements followed so far.

    Attributes:
        is_complete: whether these are all statements since the catalog's first.
    """

    def __init__(self, *, is_complete: bool = True) -> None:
        self.is_complete = is_complete
        # By the last part of the name, which is the same in all names of one table.
        self._tables: dict[str, dict[_Key, KnownTable]] = {}
        self._objects: tuple[Subject, ...] = ()
        self._is_switched = False
        # The short names since the last USE: what they mean is known up to the next one.
        self._of_session: set[_Key] = set()

    def start_file(self) -> None:
        """Begin a file: the effect of USE in the file before has ended."""
        self._forget_session()
        self._is_switched = False

    def before(self, name: Name) -> KnownTable | None:
        """Return what is known of a table; None if nothing is, or a statement dropped it."""
        table = self.or_dropped(name)
        return None if table and table.is_dropped else table

    def or_dropped(self, name: Name) -> KnownTable | None:
        """Return what is known of a table, also that a statement dropped it."""
        return self._get(name.key)

    def inside(self, namespace: Name) -> tuple[str, ...]:
        """Return the last names of the tables and views that are known in a namespace."""
        known = (item for tables in self._tables.values() for item in tables.items())
        return tuple(sorted(key[-1] for key, table in known if key[:-1] == namespace.key and not table.is_dropped))

    @property
    def objects(self) -> tuple[Subject, ...]:
        """What the statements that created the present objects name, and the GRANTs on future ones; only on Snowflake."""
        return self._objects

    def readers(self, name: Name) -> tuple[tuple[Path, KnownTable], ...]:
        """Return the declared views, dynamic tables and shallow clones that read a table."""
        known = ((key, table) for tables in self._tables.values() for key, table in tables.items())
        return tuple((key, table) for key, table in known if any(_reads(key, source, name) for source in table.sources))

    def follow(self, statement: ParsedStatement, *, is_conditional: bool = False) -> None:
        """Add what a statement declares; nothing is known of the tables of one that may not run."""
        operation, names = statement.operation, statement.targets
        self._follow_object(statement.subject)
        if operation in ("use", "set"):
            if statement.moves:
                self._forget_session()
                self._is_switched = True
        elif forgets_all(statement):
            self._tables.clear()
        elif _is_harmless(statement):
            return
        elif is_conditional:
            for name in names:
                self._put(name.key, None)
        elif operation in CREATES_TABLE:
            self._create(names[0].key, statement)
        elif operation in VIEWS - {"rename_view"}:
            self._define(names[0].key, statement)
        elif operation in ("rename_table", "rename_view"):
            self._rename(names[0].key, names[-1].key)
        else:
            for name in names:
                self._change(name.key, statement)

    def _follow_object(self, subject: Subject | None) -> None:
        if subject is None or not (subject.verb in ("CREATE", "DROP") or subject.grants_future):
            return
        others = tuple(made for made in self._objects if not made.is_same_object(subject))
        if not (subject.if_not_exists and len(others) < len(self._objects)):
            self._objects = others if subject.verb == "DROP" else (*others, subject)

    def _create(self, key: _Key, statement: ParsedStatement) -> None:
        before = self._get(key)
        before = None if before and before.is_dropped else before
        if statement.options.if_not_exists and (before or self._may_exist(key)):
            return
        table = created(statement, before)
        is_whole = before or not self._may_exist(key) or statement.operation != "replace_table"
        # The replaced table, which is not known, may have had properties.
        self._put(key, table if is_whole else replace(table, properties=None))

    def _define(self, key: _Key, statement: ParsedStatement) -> None:
        """Add a view, with its columns where the statement lists them."""
        options, is_altered = statement.options, statement.operation == "alter_view" and statement.query is None
        if options.temporary or is_altered or (options.if_not_exists and (self._get(key) or self._may_exist(key))):
            return
        columns = view_columns(statement)
        known = {name: KnownColumn(None, required=False) for name in columns or ()}
        self._put(key, KnownTable(VIEW, known or None, sources=statement.sources or (), query=statement.query))

    def _rename(self, old: _Key, new: _Key) -> None:
        table = self._get(old)
        self._put(old, None)
        missing = len(old) - len(new)
        self._put((*old[:missing], *new) if missing > 0 else new, table)

    def _change(self, key: _Key, statement: ParsedStatement) -> None:
        table = self._get(key)
        if statement.operation == "drop_table":
            self._put(key, KnownTable(is_dropped=True))
        elif table is None or table.is_dropped:
            self._put(key, None)
        else:
            self._put(key, altered(table, statement))

    def _get(self, key: _Key) -> KnownTable | None:
        is_clear = self._is_lasting(key) or key in self._of_session
        return self._tables.get(key[-1], {}).get(key) if is_clear else None

    def _put(self, key: _Key, table: KnownTable | None) -> None:
        """Replace what is known of a table, and forget every other table that the name may mean."""
        others = self._tables.setdefault(key[-1], {})
        for other in [other for other in others if _may_be_same(other, key)]:
            del others[other]
        if table is not None and table != replace(NOTHING, using=table.using):
            others[key] = table
            if not self._is_lasting(key):
                self._of_session.add(key)

    def _may_exist(self, key: _Key) -> bool:
        """Return whether there may be a table of this name of which nothing is known."""
        return not self.is_complete or not self._is_lasting(key)

    def _is_lasting(self, key: _Key) -> bool:
        """Return whether a name means the same table wherever it is written."""
        return len(key) >= _WHOLE_NAME or not self._is_switched

    def _forget_session(self) -> None:
        for key in self._of_session:
            self._tables.get(key[-1], {}).pop(key, None)
        self._of_session.clear()


def forgets_all(statement: ParsedStatement) -> bool:
    """Return whether a statement may have changed any table."""
    if statement.operation in ("use", "set"):
        return False
    changes = not statement.understood or not (statement.targets or _is_harmless(statement))
    return changes or _empties_namespace(statement)


def _is_harmless(statement: ParsedStatement) -> bool:
    """Return whether a statement changes nothing that is known of a table."""
    is_comment = statement.operation == "comment_on" and not statement.targets
    is_harmless = statement.operation in _HARMLESS or is_comment or _is_apart(statement)
    return is_harmless or any(map(_is_of_files, statement.parts))


def _is_apart(statement: ParsedStatement) -> bool:
    """Return whether a statement of Snowflake is about an object that is no table and contains none."""
    kind = statement.subject.kind if statement.subject else ""
    return kind.split(" ")[-1] not in _WITH_TABLES


def _empties_namespace(statement: ParsedStatement) -> bool:
    subject = statement.subject
    return bool(subject and subject.replaces and subject.kind in ("SCHEMA", "DATABASE"))


def view_columns(statement: ParsedStatement) -> Path | None:
    """Return the columns of the view that a statement defines, as the engine compares them; None where they are not known."""
    listed = tuple(part.key[-1] for part in statement.parts if isinstance(part, ColumnClause))
    return listed or (statement.query and statement.query.columns) or None


def _reads(view: _Key, source: Name, name: Name) -> bool:
    """Return whether the source of a view is a table; a name of one part is in the namespace of the view."""
    whole = source.key if len(source.key) > 1 else (*view[:-1], *source.key)
    return len(whole) > 1 and len(name.key) > 1 and _may_be_same(whole, name.key)


def _may_be_same(key: _Key, other: _Key) -> bool:
    """Return whether two names may mean one table: the first parts of either may be left out."""
    shorter = min(len(key), len(other))
    return key[len(key) - shorter :] == other[len(other) - shorter :]
