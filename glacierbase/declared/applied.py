"""What a table is after a change, or why the engine refuses the change. A part that is not determined is not known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property

from glacierbase.declared.column_edits import ColumnEdit, Refusal, folded, tree_at
from glacierbase.declared.trees import (
    ColumnTree,
    Trees,
    columns_of_table,
    dotted,
    dotted_names,
    stored_columns,
    trees_of,
)
from glacierbase.declared.widening import is_widening
from glacierbase.formats import FORMATS, ICEBERG, OF_SPARK
from glacierbase.formats.delta import CLUSTERED, CONSTRAINT, clustering_of, clustering_text
from glacierbase.formats.iceberg import DISTRIBUTION, METRICS_OF_COLUMN, OF_NEW_TABLES
from glacierbase.formats.iceberg import FORMAT_VERSION as VERSION_KEY
from glacierbase.formats.table_format import TableFormat
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
    NullabilitySet,
    OrderSet,
    PropertiesSet,
    PropertiesUnset,
    RowsWritten,
    TableCreated,
    TableDropped,
    TableRenamed,
    TableReplaced,
    Unknown,
)
from glacierbase.model.differences import partition_text
from glacierbase.model.names import completed_like, name_of, name_parts
from glacierbase.model.partial_shape import (
    COLUMNS,
    EVERY_PART,
    FORMAT_VERSION,
    FORMER,
    IDENTIFIERS,
    PARTITION_NAMES,
    PARTITIONING,
    PROPERTIES,
    SORTING,
    FormerField,
    PartialShape,
    Path,
    Refused,
)
from glacierbase.model.shape import PartitionField, Shape, SortField
from glacierbase.model.transforms import TRANSFORMS, given_name, name_and_width

_ICEBERG, _SNOWFLAKE = ICEBERG.name, "snowflake"
# Properties about one column, which follow its name.
_OF_COLUMN = (METRICS_OF_COLUMN, "write.parquet.bloom-filter-enabled.column.", "write.parquet.stats-enabled.column.")
_NAME_MAPPING = "schema.name-mapping.default"


def apply(table: PartialShape | None, change: Change, table_format: str) -> PartialShape | Refused | None:
    """Return a table after a change; None where it does not exist.

    Args:
        table_format: the name of the format of the table, or `snowflake`; empty where it is not known.
    """
    try:
        return _applied(table, change, table_format)
    except Refusal as refusal:
        return refusal.refused


def apply_all(
    table: PartialShape | None, changes: Iterable[Change], table_format: str
) -> PartialShape | Refused | None:
    """Return a table after all changes of a statement, or why the engine refuses one of them, and with it the statement."""
    for change in changes:
        made = apply(table, change, table_format)
        if isinstance(made, Refused):
            return made
        table = made
    return table


def _applied(table: PartialShape | None, change: Change, table_format: str) -> PartialShape | None:
    match change:
        case TableCreated():
            if table is None:
                return _created(change, table_format)
            if change.is_optional:
                return table
            raise Refusal("exists", f"there is a table {change.shape.table} already")
        case TableReplaced():
            if table is None and change.is_only:
                raise Refusal("no table", f"there is no table {change.shape.table}")
            return _replaced(table, change, table_format)
        case TableDropped() if table is None and change.is_optional:
            return None
        case Unknown() if table is None:
            return PartialShape(Shape("", None, table_format, None, ()), change.parts | {EVERY_PART})
    if table is None:
        raise Refusal("no table", "there is no such table")
    match change:
        case TableDropped():
            return None
        case TableRenamed():
            name = completed_like(change.name, name_parts(table.shape.table))
            return replace(table, shape=replace(table.shape, table=name))
        case Unknown():
            return table.without(*change.parts)
        case RowsWritten():
            return _after_rows(table, change, table_format)
    made = _Table(table, table_format).after(change)
    is_other = table_format in FORMATS and table_format != _ICEBERG
    return _with_engine_properties(made, FORMATS[table_format]) if is_other else made


def _after_rows(table: PartialShape, change: RowsWritten, table_format: str) -> PartialShape:
    evolves = change.evolves or (
        table_format == _SNOWFLAKE and table.shape.properties.get("ENABLE_SCHEMA_EVOLUTION") == "TRUE"
    )
    return table.without(COLUMNS) if evolves else table


def _with_engine_properties(table: PartialShape, table_format: TableFormat) -> PartialShape:
    """Return a table with the properties that its engine sets with a change as not known."""
    keys = table.shape.properties
    changed = (key for key in keys for pattern in table_format.kept if fnmatchcase(key, pattern))
    others = [f"property {prefix}*" for prefix in table_format.prefixes]
    return table.without(FORMAT_VERSION, *others, *(f"property {key}" for key in changed))


def _created(change: TableCreated | TableReplaced, table_format: str) -> PartialShape:
    """Return a new table. The catalog and the engine may add properties."""
    shape, unknown = change.shape, {PROPERTIES, *change.unknown}
    if shape.format and table_format and shape.format != table_format:
        table_format = shape.format
    if shape.format_version is None:
        unknown.add(FORMAT_VERSION)
    if table_format == _ICEBERG:
        unknown |= {f"property {key}" for key in OF_NEW_TABLES if key not in shape.properties}
        shape = replace(
            shape,
            columns=stored_columns(shape.columns),
            properties={key: value for key, value in shape.properties.items() if key not in ICEBERG.not_stored},
        )
    made = _Table(PartialShape(shape, frozenset(unknown)), table_format)
    if table_format == _ICEBERG:
        made.check_created()
    return made.result(replace(shape, format=table_format))


def _replaced(table: PartialShape | None, change: TableReplaced, table_format: str) -> PartialShape:
    made = _created(change, table_format)
    if table is None or table_format == _SNOWFLAKE:  # Snowflake keeps nothing of a table that is replaced.
        return made
    version = change.shape.format_version
    if version is not None and table.knows(FORMAT_VERSION) and version < (table.shape.format_version or 0):
        raise Refusal("version", f"the format version cannot go back from {table.shape.format_version} to {version}")
    given = {f"property {key}" for key in made.shape.properties}
    before, ids = table.shape, {column.name: column.id for column in table.shape.columns}
    columns = tuple(replace(column, id=ids.get(column.name)) for column in made.shape.columns)
    names = {dotted(column.name) for column in columns} if made.knows(COLUMNS) else set()
    former = (*table.former, *(_former(field) for field in before.partitioning))
    shape = replace(
        made.shape, table=before.table, uuid=before.uuid, columns=columns,
        format_version=made.shape.format_version or before.format_version,
        properties={**before.properties, **made.shape.properties},
    )  # fmt: skip
    unknown = set(made.unknown) - {FORMAT_VERSION}
    kept = {FORMER, *([] if version else [FORMAT_VERSION])}
    if table.knows():
        unknown |= table.unknown & kept
        unknown |= {part for part in table.unknown if part.startswith("property ")} - given
        unknown -= set() if PROPERTIES in table.unknown else {PROPERTIES}
    else:
        unknown |= kept
    return PartialShape(
        shape,
        frozenset(unknown),
        table.absent - shape.properties.keys(),
        tuple(field for field in former if field.source in names),
    )


def _former(field: PartitionField) -> FormerField:
    return FormerField(field.name, dotted(field.source), field.transform)


class _Table:
    """A table to which one change is applied."""

    def __init__(self, table: PartialShape, table_format: str) -> None:
        self._table = table
        self._format = table_format
        self._has_columns = table.knows(COLUMNS)

    @cached_property
    def _trees(self) -> Trees:
        return trees_of(self._table.shape.columns)

    @cached_property
    def _names(self) -> Mapping[str, Path]:
        """The paths of columns by the names by which Iceberg finds them."""
        return dotted_names(self._trees) if self._is_iceberg else {}

    @property
    def _is_iceberg(self) -> bool:
        return self._format == _ICEBERG

    def after(self, change: Change) -> PartialShape:
        """Return the table after a change.

        Raises:
            Refusal: the engine refuses it.
        """
        shape = self._table.shape
        match change:
            case PropertiesSet():
                return self._set_properties(change)
            case PropertiesUnset():
                return self._unset_properties(change)
            case FieldAdded() | FieldDropped() | FieldReplaced():
                return self._repartitioned(change)
            case OrderSet():
                return self._ordered(change)
            case IdentifiersSet():
                names = tuple(dict.fromkeys(map(self._identifier, map(dotted, change.names))))
                return self._remapped(self._known(replace(shape, identifiers=names), IDENTIFIERS))
            case IdentifiersDropped():
                return self._drop_identifiers(change)
            case ConstraintAdded() | ConstraintDropped() | ClusteringSet():
                return self._of_delta(change)
            case ColumnAdded() | ColumnsReplaced() | ColumnDropped() | ColumnRenamed() | ColumnRetyped():
                return self._with_columns(change)
            case NullabilitySet() | ColumnCommented() | DefaultSet() | ColumnMoved():
                return self._with_columns(change)
        return self._table

    def result(self, shape: Shape) -> PartialShape:
        """Return the table with another shape, whose metadata has no file."""
        if shape.metadata_location or shape.format != self._format or shape.schema_id is not None:
            made = replace(shape, metadata_location=None, schema_id=None, spec_id=None, sort_order_id=None)
            shape = replace(made, format=made.format or self._format)
        return replace(self._table, shape=shape)

    def _known(self, shape: Shape, *parts: str) -> PartialShape:
        """Return the table with another shape, in which these parts are known now."""
        if not self._table.knows():
            return self._table
        made = self.result(shape)
        return replace(made, unknown=made.unknown - set(parts))

    # Columns.

    def _with_columns(self, change: Change) -> PartialShape:
        if not self._has_columns:
            if isinstance(change, ColumnsReplaced):
                return self._known(replace(self._table.shape, columns=change.columns), COLUMNS)
            self._check_unused([change.path] if isinstance(change, ColumnDropped) else [])
            return self._renamed_only(change) if isinstance(change, ColumnRenamed) else self._table
        edit = ColumnEdit(self._trees, self._format, lambda: self._names, is_widening if self._is_iceberg else None)
        trees = edit.after(change)
        identifiers = [edit.moved.get(name, name) for name in self._table.shape.identifiers]
        if self._is_iceberg and isinstance(change, ColumnRenamed):
            # Iceberg gives an identifier field the new name without what is around it, and finds no other one then.
            old, new = name_of(edit.path), name_of((change.name,))
            identifiers = [new if name == old else name for name in self._table.shape.identifiers]
        self._check_unused(edit.dropped)
        made = self._followed(edit, tuple(identifiers), trees)
        if self._is_iceberg and (made.shape.columns, identifiers) != (
            self._table.shape.columns,
            list(self._table.shape.identifiers),
        ):
            _Table(made, self._format).check()
        return made

    def _check_unused(self, dropped: Sequence[Path]) -> None:
        """Check that neither the identifier fields nor the order and the partitioning of new rows use dropped columns."""
        shape, knows, gone = self._table.shape, self._table.knows, {folded(path) for path in dropped}
        uses = [
            *(
                (field.source, f"the partition field {field.name} uses")
                for field in shape.partitioning
                if knows(PARTITIONING)
            ),
            *((field.source, "the write order uses") for field in shape.sorting if knows(SORTING)),
            *((name, "an identifier field is") for name in shape.identifiers if knows(IDENTIFIERS)),
        ]
        for source, use in uses if self._is_iceberg and dropped else ():
            path = folded(name_parts(source))
            if any(path[:end] in gone for end in range(1, len(path) + 1)):
                raise Refusal("in use", f"{use} {source}")

    def _renamed_only(self, change: ColumnRenamed) -> PartialShape:
        """Return the table after a rename of one of its columns, which are not known."""
        new = (*change.path[:-1], change.name)
        shape, moved = self._table.shape, dict[str, str]()
        sources = (*(field.source for field in shape.partitioning), *(field.source for field in shape.sorting))
        for name in {*sources, *shape.identifiers}:
            path = tuple(name_parts(name))
            if folded(path[: len(new)]) == folded(change.path):
                moved[name] = name_of((*new, *path[len(new) :]))
        shape = _with_sources(shape, moved)
        return self.result(replace(shape, identifiers=tuple(moved.get(name, name) for name in shape.identifiers)))

    def _followed(self, edit: ColumnEdit, identifiers: tuple[str, ...], trees: Trees) -> PartialShape:
        """Return the table with other columns; what refers to a column follows it."""
        table = self._table
        shape = _with_sources(
            replace(table.shape, columns=columns_of_table(trees), identifiers=identifiers), edit.moved
        )
        is_followed = self._format in (_ICEBERG, "")
        dots = {dotted(old): dotted(new) for old, new in edit.moved.items()}
        gone, path = {".".join(path) for path in edit.dropped}, ".".join(edit.path)
        renamed = {path: dots[path]} if dots else {}
        properties = dict(following(shape.properties, renamed, gone) if is_followed else shape.properties)
        if clustered := clustering_of(properties.get(CLUSTERED, "")):
            names = (edit.moved.get(name_of(path), name_of(path)) for path in clustered)
            properties[CLUSTERED] = clustering_text(map(name_parts, names))
        former = tuple(
            replace(field, source=dots.get(field.source, field.source))
            for field in table.former
            if not any(f"{field.source}.".startswith(f"{name}.") for name in gone)
        )
        unknown = {_moved_part(part, edit) for part in table.unknown} - {""}
        if self._format not in FORMATS and not self._is_exact and edit.moved:
            unknown.add(PROPERTIES)
        made = self.result(replace(shape, properties=properties))
        return self._remapped(replace(made, unknown=frozenset(unknown), former=former))

    @property
    def _is_exact(self) -> bool:
        """Whether names are compared by their letters: those of Snowflake are folded when they are read."""
        return self._format == _SNOWFLAKE

    # What a table of Iceberg must fulfil after each change.

    def check_created(self) -> None:
        """Check a new table as Spark and Iceberg do.

        Raises:
            Refusal
        """
        shape = self._table.shape
        for key in shape.properties:
            if key in OF_SPARK:
                raise Refusal("reserved", f"{key} is a reserved table property")
        paths = Counter(folded(name_parts(column.name)) for column in shape.columns)
        for path, count in paths.items():
            if count > 1:
                raise Refusal("exists", f"the column {path[-1]} is declared twice")
        for column in shape.columns:
            if column.default is not None:
                raise Refusal("default", f"{column.name} has a default")
        if not self._has_columns:
            return
        self._check_metrics(shape.properties)
        timed = dict[str, str]()
        for field in shape.partitioning:
            self._source(field.source, field.transform)
            if (
                TRANSFORMS[field.transform.partition("[")[0]].is_time
                and timed.setdefault(field.source, field.name) != field.name
            ):
                raise Refusal(
                    "duplicate", f"{field.source} has two units of time: {timed[field.source]} and {field.name}"
                )
        self.check()

    def check(self) -> None:
        """Check what refers to columns.

        Raises:
            Refusal
        """
        shape, table = self._table.shape, self._table
        if len({dotted(column.name) for column in shape.columns}) < len(shape.columns):
            raise Refusal("exists", "two columns have one name")
        if table.knows(IDENTIFIERS):
            for name in shape.identifiers:
                if dotted(name) not in self._names:
                    raise Refusal("in use", f"an identifier field is {name}, and follows no rename")
                self._identifier(dotted(name))
        used: list[PartitionField | SortField] = [*(shape.sorting if table.knows(SORTING) else ())]
        if table.knows(PARTITIONING):
            used += shape.partitioning
            for field in shape.partitioning:
                self._check_name(field.name, dotted(field.source))
            names = Counter(field.name for field in shape.partitioning)
            if twice := next((name for name, count in names.items() if count > 1), None):
                raise Refusal("duplicate", f"two partition fields have the name {twice}")
        for former in table.former:
            self._check_name(former.name, former.source)
        for by in used:
            if path := self._names.get(dotted(by.source)):
                self._check_transform(path, by.transform)

    def _check_name(self, name: str, source: str) -> None:
        """Check that a partition field has not the name of another column than its own."""
        column = self._names.get(name)
        if column is not None and self._names.get(source) not in (None, column):
            raise Refusal("name", f"{name} is the name of a partition field of {source}")

    def _check_transform(self, path: Path, transform: str) -> None:
        tree = self._tree(path)
        if tree.inside:
            raise Refusal("type", f"{name_of(path)} is of type {tree.spelling}, which has no transform")
        kind, width = name_and_width(transform)
        accepts = TRANSFORMS[kind].accepts if kind in TRANSFORMS else None
        base = tree.column.type.partition("(")[0]
        is_known = base in _PRIMITIVES
        if accepts is not None and is_known and base not in accepts:
            raise Refusal("type", f"{name_of(path)} is of type {tree.column.type}, which {kind} does not transform")
        if width and not width.strip("0"):
            raise Refusal("width", f"the width of {transform} is 0")

    def _check_reachable(self, path: Path) -> None:
        for end in range(1, len(path)):
            if self._tree(path[:end]).kind != "struct":
                raise Refusal("type", f"{name_of(path)} is inside {self._tree(path[:end]).spelling}")

    def _tree(self, path: Path) -> ColumnTree:
        return tree_at(self._trees, path)

    def _identifier(self, name: str) -> str:
        """Return the name of a column as a shape has it, if it can identify rows."""
        if not self._is_iceberg or not self._has_columns:
            spelt = {folded(name_parts(column.name)): column.name for column in self._table.shape.columns}
            return spelt.get(folded(name.split(".")), name_of(name.split(".")))
        path, cannot = self._names.get(name), f"{name} cannot be an identifier field"
        if path is None:
            raise Refusal("absent", f"there is no column {name}")
        tree = self._tree(path)
        if tree.inside:
            raise Refusal("type", f"{cannot}: it is of type {tree.spelling}")
        if not tree.column.required:
            raise Refusal("required", f"{cannot}: it may be null")
        if tree.column.type in ("float", "double"):
            raise Refusal("type", f"{cannot}: it is of type {tree.column.type}")
        for end in range(1, len(path)):
            above = self._tree(path[:end])
            if above.kind != "struct" or not above.column.required:
                raise Refusal("required", f"{cannot}: {name_of(path[:end])} is no struct, or may be null")
        return name_of(path)

    def _drop_identifiers(self, change: IdentifiersDropped) -> PartialShape:
        shape, known = self._table.shape, self._table.knows(IDENTIFIERS)
        present = {dotted(name): name for name in shape.identifiers}
        dropped = set(map(dotted, change.names))
        for name in sorted(dropped) if self._is_iceberg else ():
            if self._has_columns and name not in self._names:
                raise Refusal("absent", f"there is no column {name}")
            if known and name not in present:
                raise Refusal("no identifier", f"{name} is no identifier field")
        left = tuple(name for dots, name in present.items() if dots not in dropped)
        return self._remapped(self.result(replace(shape, identifiers=left)))

    def _remapped(self, made: PartialShape) -> PartialShape:
        """Return a table whose schema changed. The property that maps names to columns is written anew with it."""
        return made.without(f"property {_NAME_MAPPING}") if _NAME_MAPPING in made.shape.properties else made

    # Properties.

    def _set_properties(self, change: PropertiesSet) -> PartialShape:
        values = dict(change.values)
        for key in values:
            if key in OF_SPARK and self._format != _SNOWFLAKE:
                raise Refusal("reserved", f"{key} is a reserved table property")
            if self._is_iceberg and key.lower() in ("sort-order", "identifier-fields"):
                raise Refusal("reserved", f"{key} is a reserved table property")
        shape = self._table.shape
        version = values.get(VERSION_KEY) if self._is_iceberg else None
        not_stored = FORMATS[self._format].not_stored if self._format in FORMATS else frozenset()
        kept = {key: value for key, value in values.items() if key not in not_stored}
        made = self._with_properties({**shape.properties, **kept}, kept)
        if version is None:
            return made
        if not version.isdecimal():
            raise Refusal("version", f"{version} is no format version")
        if self._table.knows(FORMAT_VERSION) and int(version) < (shape.format_version or 0):
            raise Refusal("version", f"the format version cannot go back from {shape.format_version} to {version}")
        made = replace(made, shape=replace(made.shape, format_version=int(version)))
        return replace(made, unknown=made.unknown - {FORMAT_VERSION})

    def _unset_properties(self, change: PropertiesUnset) -> PartialShape:
        for key in change.keys:
            if key in OF_SPARK and self._format != _SNOWFLAKE:
                raise Refusal("reserved", f"{key} is a reserved table property")
        left = {key: value for key, value in self._table.shape.properties.items() if key not in change.keys}
        made = self._with_properties(left, change.keys)
        return replace(made, absent=made.absent | set(change.keys))

    def _with_properties(self, properties: Mapping[str, str], changed: Iterable[str]) -> PartialShape:
        """Return the table with other properties. Iceberg then checks those about columns, also those that were there."""
        if self._is_iceberg and self._has_columns:
            self._check_metrics(properties)
        keys = set(changed)
        made = self.result(replace(self._table.shape, properties=dict(properties)))
        unknown = made.unknown - {f"property {key}" for key in keys}
        return replace(made, unknown=unknown, absent=made.absent - keys)

    def _check_metrics(self, keys: Iterable[str]) -> None:
        for key in keys:
            name = key.removeprefix(METRICS_OF_COLUMN)
            if key != name and name not in self._names:
                raise Refusal("absent", f"there is no column {name}")

    def _of_delta(self, change: ConstraintAdded | ConstraintDropped | ClusteringSet) -> PartialShape:
        if self._is_iceberg:
            raise Refusal("type", "Iceberg has neither constraints nor clustering")
        if self._format not in ("delta", ""):  # Where the format is not known, the statement shows that it is Delta.
            return self._table
        properties = dict(self._table.shape.properties)
        value: str | None = None
        if isinstance(change, ClusteringSet):
            name = CLUSTERED
            columns = [self._clustered(path) for path in change.columns]
            value = clustering_text(columns) if columns else None
        else:
            name = f"{CONSTRAINT}{change.name.lower()}"
            value = change.condition if isinstance(change, ConstraintAdded) else None
        if value is None:
            properties.pop(name, None)
            return replace(self._with_properties(properties, ()), absent=self._table.absent | {name})
        return self._with_properties({**properties, name: value}, (name,))

    def _clustered(self, path: Path) -> Path:
        """Return the path of a column as the table spells it."""
        return tuple(name_parts(self._spelt(name_of(path)))) if self._has_columns else path

    # Partitioning and order.

    def _repartitioned(self, change: FieldAdded | FieldDropped | FieldReplaced) -> PartialShape:
        table = self._table
        if self._format in FORMATS and not self._is_iceberg:
            raise Refusal("type", f"{self._format} has no partition fields that change")
        old = change if isinstance(change, FieldDropped) else getattr(change, "dropped", None)
        new = change if isinstance(change, FieldAdded) else getattr(change, "added", None)
        source = self._source(new.source, new.transform) if new else ""
        if not table.knows(PARTITIONING):
            return table
        fields, former = list(table.shape.partitioning), list(table.former)
        if old and old.name and old.name not in self._names and not table.knows(PARTITION_NAMES):
            return table.without(PARTITIONING)
        removed = self._field(old) if old else None
        if old and not removed:  # Whether there is such a field is not known.
            return table.without(PARTITIONING) if new else table
        at = len(fields)
        if removed:
            at = fields.index(removed)
            fields.remove(removed)
            former.append(_former(removed))
        names_known = True
        if new:
            is_restored = removed and (removed.source, removed.transform) == (source, new.transform)
            if is_restored and removed:
                fields.insert(at, replace(removed, name=new.name or removed.name))
            else:
                name, names_known = self._name_of(new, source, fields)
                fields.append(PartitionField(None, name, source, new.transform))
        shape = replace(table.shape, partitioning=tuple(fields))
        made = replace(self.result(shape), former=tuple(dict.fromkeys(former)))
        if self._is_iceberg and self._has_columns and new:
            self._check_name(fields[-1].name, dotted(fields[-1].source))
        return made if names_known else made.without(PARTITION_NAMES)

    def _field(self, dropped: FieldDropped) -> PartitionField | None:
        """Return the partition field that a clause removes; None for one without a transform, which version 1 keeps."""
        fields, name = self._table.shape.partitioning, dotted(dropped.source)
        column = self._names.get(name) if self._has_columns else None
        is_by_name = dropped.name is not None and column is None
        named = (
            [field for field in fields if self._compared(field.name) == self._compared(dropped.name or "")]
            if is_by_name
            else []
        )
        if not named and not (is_by_name and self._has_columns and self._is_iceberg):
            source = ".".join(column) if column else name
            wanted = (self._compared(source), dropped.transform)
            named = [field for field in fields if (self._compared(dotted(field.source)), field.transform) == wanted]
        if named:
            return named[-1]
        if is_by_name and self._may_be_kept(dropped.name or ""):
            return None
        text = dropped.name or partition_text(PartitionField(None, "", dropped.source, dropped.transform))
        raise Refusal("no field", f"the table has no partition field {text}")

    def _compared(self, name: str) -> str:
        return name if self._is_iceberg else name.lower()

    def _may_be_kept(self, name: str) -> bool:
        """Return whether a removed field may have this name: format version 1 keeps its place."""
        if self._is_of_version_2():
            return False
        is_former = any(field.name == name for field in self._table.former)
        return is_former or not self._table.knows(FORMER) or bool(re.search(r"_[1-9]\d{3,}\Z", name))

    def _is_of_version_2(self) -> bool:
        return self._table.knows(FORMAT_VERSION) and self._table.shape.format_version != 1

    def _source(self, name: str, transform: str, *, any_case: bool = False) -> str:
        """Return the column of a partition or sort field as the table spells it."""
        if not self._has_columns:
            return name
        if not self._is_iceberg:
            return self._spelt(name)
        name = dotted(name)
        path = self._names.get(name)
        if path is None and any_case:
            path = next((path for dots, path in self._names.items() if dots.lower() == name.lower()), None)
        if path is None:
            raise Refusal("absent", f"there is no column {name}")
        self._check_transform(path, transform)
        if not any_case:
            self._check_reachable(path)
        return name_of(path)

    def _spelt(self, name: str) -> str:
        """Return the name of a column as the table spells it, in any case of letters."""
        spelt = {dotted(column.name).lower(): column.name for column in self._table.shape.columns}
        top = folded(name_parts(name)[:1])
        if dotted(name).lower() not in spelt and all(
            tree.is_clear for tree in self._trees if folded((tree.name,)) == top
        ):
            raise Refusal("absent", f"there is no column {name}")
        return spelt.get(dotted(name).lower(), name)

    def _name_of(self, new: FieldAdded, source: str, fields: Sequence[PartitionField]) -> tuple[str, bool]:
        """Return the name of a new partition field, and whether it is known."""
        table = self._table
        dots = dotted(source)
        if any((field.source, field.transform) == (source, new.transform) for field in fields):
            text = partition_text(PartitionField(None, "", source, new.transform))
            raise Refusal("duplicate", f"the table has the partition field {text}")
        former = {
            field.name
            for field in table.former
            if (field.source, field.transform) == (dots, new.transform) and new.name in (None, field.name)
        }
        is_first_version = table.knows(FORMAT_VERSION) and table.shape.format_version == 1
        name = new.name or given_name(dots, new.transform, with_width=True)
        is_known = new.name is not None or (
            table.knows(FORMER) and (not former or is_first_version or table.knows(FORMAT_VERSION))
        )
        if former and not is_first_version:
            is_known = is_known and len(former) == 1
            name = next(iter(former))
        if is_known and any(field.name == name for field in fields) and table.knows(PARTITION_NAMES):
            raise Refusal("duplicate", f"the table has a partition field {name}")
        return name, is_known

    def _ordered(self, change: OrderSet) -> PartialShape:
        shape = self._table.shape
        fields = [
            replace(field, source=self._source(field.source, field.transform, any_case=True))
            for field in change.fields or ()
        ]
        made = self._known(replace(shape, sorting=tuple(fields)), SORTING)
        if change.fields is None:
            made = made.without(SORTING)
        if change.distribution is None:
            return made
        properties = {**shape.properties, DISTRIBUTION: change.distribution}
        return _Table(made, self._format)._with_properties(properties, (DISTRIBUTION,))


_PRIMITIVES = frozenset(
    {"boolean", "int", "bigint", "float", "double", "decimal", "date", "timestamp", "timestamp_ntz", "string", "binary"}
)


def _with_sources(shape: Shape, moved: Mapping[str, str]) -> Shape:
    """Return a shape whose partition and sort fields follow renamed columns."""

    def followed(field: PartitionField) -> PartitionField:
        return replace(field, source=moved.get(field.source, field.source))

    def sorted_by(field: SortField) -> SortField:
        return replace(field, source=moved.get(field.source, field.source))

    return replace(
        shape,
        partitioning=tuple(map(followed, shape.partitioning)),
        sorting=tuple(map(sorted_by, shape.sorting)),
    )


def following(
    properties: Mapping[str, str], renamed: Mapping[str, str], dropped: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the properties with the new names of columns, without those of dropped ones. Fields inside these do not count."""
    for key, value in properties.items():
        prefix = next((prefix for prefix in _OF_COLUMN if key.startswith(prefix)), None)
        column = key.removeprefix(prefix) if prefix else ""
        if column in renamed:
            yield f"{prefix}{renamed[column]}", value
        elif column not in dropped:
            yield key, value


def _moved_part(part: str, edit: ColumnEdit) -> str:
    """Return a part that is not known after a change of columns; empty for one that is gone."""
    kind, _, name = part.partition(" ")
    if kind != "type":
        return part
    return "" if name in edit.cleared else f"type {edit.moved.get(name, name)}"
