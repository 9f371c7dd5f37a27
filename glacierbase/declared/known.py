"""What statements declare of tables: columns, partition fields, write order, identifier fields, properties.

The statements of a catalog's files are folded in their order. A part that may have changed in another way becomes None, which
means unknown, so that no value is wrong. Names are as the engine compares them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from glacierbase.declared.applied import apply
from glacierbase.declared.clauses import clause_changes, is_of_files
from glacierbase.declared.trees import ColumnTree, trees_of
from glacierbase.formats.iceberg import DISTRIBUTION, FORMAT_VERSION
from glacierbase.model import changes as model
from glacierbase.model.changes import OrderSet, PartialShape, Path, Refused, TableReplaced, parts_of
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, Shape
from glacierbase.model.transforms import IDENTITY, given_name
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
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
    ColumnClause,
    Fields,
    MergeClause,
    Name,
    ParsedStatement,
    Query,
    Subject,
    Transform,
)
from glacierbase.sql.types import types_of

_WORD = re.compile(r"\w+")
# A quoted part of a name. With a dot in one, the text of a path does not tell its parts.
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")


KnownColumns: TypeAlias = Mapping[str, ColumnTree]


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field by which a table is partitioned or sorted.

    Attributes:
        source: the path of its column.
        transform: Iceberg's name of its function, with the width: `bucket(16)`; `identity` for the column itself.
        direction, nulls: only for a field of a write order.
    """

    name: str
    source: Path
    transform: str = IDENTITY.name
    direction: str = ""
    nulls: str = ""


# Nothing is known of the properties of a table that was replaced, and that is not known itself.
_REPLACED = "replaced properties"
_NOTHING = PartialShape(Shape("", None, "", None, ()), frozenset({model.EVERY_PART}))
# A table of which no statement declares anything; its changes do.
ANY_TABLE = replace(
    _NOTHING,
    unknown=frozenset(
        {model.COLUMNS, model.PARTITIONING, model.SORTING, model.IDENTIFIERS, model.PROPERTIES, model.FORMAT_VERSION}
    ),
)


@dataclass(frozen=True)
class KnownTable:
    """What is known of a table. Names are as the engine compares them.

    Attributes:
        using: its format, where the statement that creates it names one; `view` for a view.
        model: the table that the changes were applied to.
        clustering: the words of the clustering key in capitals, among them its columns.
        sources: the tables that a view, a dynamic table or a shallow clone reads.
        query: of a view or a dynamic table.
        location: that a statement sets.
        subject: what the statement that creates it names; only on Snowflake.
        is_dropped: whether a statement dropped the table, and none creates it again.
    """

    using: str | None = None
    model: PartialShape = _NOTHING
    clustering: tuple[str, ...] = ()
    sources: tuple[Name, ...] = ()
    query: Query | None = None
    location: str | None = None
    subject: Subject | None = None
    is_dropped: bool = False

    @cached_property
    def columns(self) -> KnownColumns | None:
        """The top-level columns, by name, in order."""
        if not self.model.knows(model.COLUMNS):
            return None
        trees = trees_of(self.model.shape.columns)
        return {tree.name: tree for tree in trees} if self._is_exact else {tree.name.lower(): tree for tree in trees}

    @cached_property
    def partitioning(self) -> tuple[KnownField, ...] | None:
        """The fields of new rows."""
        if not self.model.knows(model.PARTITIONING):
            return None
        return tuple(self._field(field.source, field.transform, field.name) for field in self.model.shape.partitioning)

    @cached_property
    def former(self) -> tuple[KnownField, ...]:
        """Fields by which older files of the table may be partitioned; new rows are not."""
        fields = (self._field(field.source, field.transform, field.name) for field in self.model.former)
        present = {(field.source, field.transform) for field in self.partitioning or ()}
        return tuple(field for field in fields if (field.source, field.transform) not in present)

    @cached_property
    def ordering(self) -> tuple[KnownField, ...] | None:
        """The fields of the write order."""
        if not self.model.knows(model.SORTING):
            return None
        return tuple(
            replace(self._field(field.source, field.transform), direction=field.direction, nulls=field.nulls)
            for field in self.model.shape.sorting
        )

    @cached_property
    def identifiers(self) -> tuple[Path, ...] | None:
        """The paths of the identifier fields."""
        known = self.model.knows(model.IDENTIFIERS)
        return tuple(self._path(name) for name in self.model.shape.identifiers) if known else None

    @cached_property
    def properties(self) -> Mapping[str, str] | None:
        """Set by statements."""
        if not self.model.knows(_REPLACED):
            return None
        shape = self.model.shape
        version = {} if shape.format_version is None else {FORMAT_VERSION: str(shape.format_version)}
        known = {key: text for key, text in shape.properties.items() if f"property {key}" not in self.model.unknown}
        return {**known, **(version if self.model.knows(model.FORMAT_VERSION) else {})}

    @property
    def unset(self) -> frozenset[str]:
        """The keys of properties that statements removed."""
        return self.model.absent

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known but the format."""
        return not self.model.knows() and replace(self, model=_NOTHING) == KnownTable(self.using)

    def _field(self, source: str, transform: str, name: str | None = None) -> KnownField:
        given = name or given_name(".".join(name_parts(source)), transform, with_width=False)
        return KnownField(given.lower(), self._path(source), transform.replace("[", "(").replace("]", ")"))

    def _path(self, name: str) -> Path:
        return tuple(map(self._key, name_parts(name)))

    def _key(self, name: str) -> str:
        """Return a name as the engine compares it: those of Snowflake are folded when they are read."""
        return name if self._is_exact else name.lower()

    @property
    def _is_exact(self) -> bool:
        return self.model.shape.format == SNOWFLAKE.name

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

    def column(self, path: Path) -> ColumnTree | None:
        """Return what is known of a column; None for a field inside a column, and for an unknown column."""
        return self.columns.get(path[0]) if self.columns and len(path) == 1 else None


def starts_with(path: Path, start: Path) -> bool:
    """Return whether `path` is `start` or a field inside it."""
    return path[: len(start)] == start


def field_of(transform: Transform, name: str | None = None) -> KnownField | None:
    """Return the field of a transform, or None where its column is not known.

    Args:
        name: given by AS; default the name that Iceberg gives.
    """
    columns = transform.columns
    if len(columns) != 1 or any("." in quoted for quoted in _QUOTED.findall(transform.text)):
        return None
    given = name or given_name(columns[0], transform.iceberg, with_width=False)
    function = transform.iceberg.replace("[", "(").replace("]", ")")
    return KnownField(given.lower(), tuple(columns[0].lower().split(".")), function)


def known_type(text: str | None) -> str | None:
    """Return a type of Spark in one spelling, or None where it is not supported."""
    try:
        return types_of(text, SPARK.name)[0] if text else None
    except UnsupportedClause:
        return None


def created(statement: ParsedStatement, before: KnownTable | None) -> KnownTable:
    """Return a table after the statement that creates or replaces it.

    Args:
        before: the table that is replaced; its properties are kept, and its files may be.
    """
    options = statement.options
    location = options.location or (before.location if before and not statement.subject else None)
    is_read = options.kind == "dynamic table" or options.shallow
    table = KnownTable(
        options.using, _NOTHING, (), (statement.sources or ()) if is_read else (),
        statement.query if options.kind == "dynamic table" else None, location, statement.subject,
    )  # fmt: skip
    [change] = clause_changes(statement)
    for present in (before.model if before else _NOTHING, None):  # A refused change of the table is not the reader's.
        made = apply(present if isinstance(change, TableReplaced) else None, change, _format(table))
        if isinstance(made, PartialShape):
            return _clustered(replace(table, model=made), statement)
    return table


def altered(table: KnownTable, statement: ParsedStatement) -> KnownTable:
    """Return a table after an ALTER TABLE, a COMMENT ON or a CALL."""
    if _may_change_all(table, statement):
        return KnownTable()
    present, is_whole = table.model, statement.operation in ("comment_on", "set_location")
    for change in clause_changes(statement) if statement.parts or is_whole else ():
        made = apply(present, change, _format(table))
        if isinstance(made, PartialShape):
            present = made
        elif isinstance(made, Refused) and made.kind in ("absent", "no field"):
            present = present.without(*parts_of(change))  # The columns were declared in another way.
        if isinstance(change, OrderSet):  # The effect of LOCALLY on the distribution depends on the version.
            present = present.without(f"property {DISTRIBUTION}")
    if statement.operation == "set_location":
        table = replace(table, location=statement.options.location)
    return _clustered(replace(table, model=present), statement)


def _format(table: KnownTable) -> str:
    return SNOWFLAKE.name if table.subject else ""


def _may_change_all(table: KnownTable, statement: ParsedStatement) -> bool:
    """Return whether a statement has a clause of rows, which may add columns, or none that is known."""
    if any(isinstance(part, MergeClause) for part in statement.parts):
        return True
    verb = statement.subject.verb if statement.subject else ""
    evolves = (table.properties or {}).get("ENABLE_SCHEMA_EVOLUTION") == "TRUE"
    is_kept = (verb in ("MERGE", "COPY") and not evolves) or (verb == "ALTER" and len(statement.targets) == 1)
    return not (statement.parts or is_kept or statement.operation in ("comment_on", "set_location"))


def _clustered(table: KnownTable, statement: ParsedStatement) -> KnownTable:
    for part in statement.parts:
        if isinstance(part, Fields) and part.operation == "cluster_by":
            table = replace(table, clustering=tuple(_WORD.findall(" ".join(part.fields).upper())))
    return table


def is_named(known: KnownField, dropped: KnownField) -> bool:
    """Return whether a statement that drops a field, by its name or its transform, means this field."""
    is_same = (known.source, known.transform) == (dropped.source, dropped.transform)
    return is_same or (dropped.transform == IDENTITY.name and known.name == dropped.name)


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
        if not before and self._may_exist(key) and statement.operation == "replace_table":
            # The replaced table, which is not known, may have had properties.
            table = replace(table, model=table.model.without(_REPLACED))
        self._put(key, table)

    def _define(self, key: _Key, statement: ParsedStatement) -> None:
        """Add a view, with its columns where the statement lists them."""
        options, is_altered = statement.options, statement.operation == "alter_view" and statement.query is None
        if options.temporary or is_altered or (options.if_not_exists and (self._get(key) or self._may_exist(key))):
            return
        columns = view_columns(statement)
        named = SNOWFLAKE.name if statement.subject else ""
        shape = replace(
            _NOTHING.shape, format=named, columns=tuple(Column(None, name_of((name,)), "") for name in columns or ())
        )
        unknown = {
            model.PARTITIONING,
            model.SORTING,
            model.IDENTIFIERS,
            _REPLACED,
            *([] if columns else [model.COLUMNS]),
        }
        known = PartialShape(shape, frozenset(unknown))
        self._put(key, KnownTable(VIEW, known, sources=statement.sources or (), query=statement.query))

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
        if table is not None and not table.is_empty:
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
    return is_harmless or is_of_files(statement)


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
