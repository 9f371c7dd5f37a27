"""The changes that turn one shape of a table into another, in an order in which the engine accepts them, and the inverse of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from glacierbase.declared import between_delta
from glacierbase.declared.applied import apply
from glacierbase.declared.between_columns import ColumnChanges, Key, new_table, other_table
from glacierbase.declared.column_edits import folded
from glacierbase.declared.render import has_function, is_place
from glacierbase.declared.trees import trees_of
from glacierbase.declared.widening import is_widening
from glacierbase.formats import ICEBERG, UPGRADES
from glacierbase.formats.iceberg import DISTRIBUTION, FORMAT_VERSION, OF_NEW_TABLES
from glacierbase.model.changes import (
    Change,
    ColumnAdded,
    ColumnCommented,
    ColumnDropped,
    ColumnMoved,
    ColumnRenamed,
    DefaultSet,
    FieldAdded,
    FieldDropped,
    IdentifiersDropped,
    IdentifiersSet,
    NullabilitySet,
    OrderSet,
    PropertiesSet,
    PropertiesUnset,
    TableCreated,
    TableDropped,
    TableRenamed,
    Unknown,
    parts_of,
)
from glacierbase.model.names import name_of, name_parts, recorded_parts
from glacierbase.model.partial_shape import COLUMNS, IDENTIFIERS, PARTITIONING, SORTING, PartialShape
from glacierbase.model.shape import PartitionField, Shape, SortField
from glacierbase.model.transforms import TRANSFORMS, given_name

_OWNER = "owner"


def between(before: Shape | None, after: Shape | None, table_format: str) -> tuple[Change, ...]:
    """Return the changes that turn the table `before` into `after`; `Unknown` for each step that no change makes.

    Columns are the same if their field ids are; of Delta without ids, if their names are. None stands for no table.
    """
    if after is None:
        return () if before is None else (TableDropped(),)
    if before is None:
        return tuple(CREATIONS[table_format](after))
    renamed = (TableRenamed(after.table),) if before.table != after.table else ()
    return (*ALTERATIONS[table_format](before, after), *renamed)


def inverse(change: Change, before: PartialShape | None, table_format: str) -> tuple[Change, ...] | None:
    """Return the changes that undo a change of a table; None where there are none, or the table is not known well enough.

    Rows, values and files that the change loses do not come back.

    Args:
        before: the table before the change; None where there is none.
    """
    if before is None:
        return (TableDropped(),) if isinstance(change, TableCreated) and not change.is_optional else None
    match change:
        case TableRenamed():
            return _renamed_back(before.shape.table, change.name, table_format)
        case ColumnAdded():
            return (ColumnDropped(change.path),)
        case PropertiesSet() | PropertiesUnset():
            return _former_properties(change, before)
        case FieldAdded() if not before.knows(PARTITIONING, COLUMNS):
            return (FieldDropped(change.source, change.transform),)
        case FieldDropped(name=None) if not before.knows(PARTITIONING, COLUMNS):
            return (FieldAdded(change.source, change.transform),)
        case ColumnRenamed() | ColumnCommented() | DefaultSet() | ColumnMoved() | NullabilitySet():
            return _column_inverse(change, before)
    parts = parts_of(change)
    after = apply(before, change, table_format)
    is_known = table_format in ALTERATIONS and before.knows(COLUMNS) and before.knows_all(parts)
    if not (is_known and parts and all(map(_is_restorable, parts)) and isinstance(after, PartialShape)):
        return None
    undone = between(after.shape, before.shape, table_format)
    return None if any(isinstance(step, Unknown) for step in undone) else undone


def _renamed_back(old: str, new: str, table_format: str) -> tuple[Change, ...] | None:
    """Return the rename that undoes another one, with as many parts: the new name may lack the first parts of the old one."""
    parts = recorded_parts(old)
    missing = len(parts) - len(recorded_parts(new))
    # Snowflake completes a name by the session.
    is_clear = missing == 0 or (missing > 0 and table_format != "snowflake")
    return (TableRenamed(".".join(parts[missing:])),) if parts and is_clear else None


def _former_properties(change: PropertiesSet | PropertiesUnset, before: PartialShape) -> tuple[Change, ...] | None:
    keys = change.keys if isinstance(change, PropertiesUnset) else tuple(key for key, _ in change.values)
    if any(key.lower().startswith(UPGRADES) or not before.knows_property(key) for key in keys):
        return None
    former = before.shape.properties
    values = tuple((key, former[key]) for key in keys if key in former)
    unset = tuple(key for key in keys if key not in former and isinstance(change, PropertiesSet))
    return (*([PropertiesSet(values)] if values else []), *([PropertiesUnset(unset)] if unset else []))


def _is_restorable(part: str) -> bool:
    return part in (PARTITIONING, SORTING, IDENTIFIERS) or part.startswith("property ")


def _column_inverse(
    change: ColumnRenamed | ColumnCommented | DefaultSet | ColumnMoved | NullabilitySet, before: PartialShape
) -> tuple[Change, ...] | None:
    trees, tree = trees_of(before.shape.columns), None
    siblings: list[str] = []
    for name in change.path if before.knows(COLUMNS) else ():
        tree = next((tree for tree in trees if folded((tree.name,)) == folded((name,))), None)
        if tree is None:
            return None
        siblings, trees = [sibling.name for sibling in trees], tree.inside
    if isinstance(change, ColumnRenamed):
        return (ColumnRenamed((*change.path[:-1], change.name), tree.name if tree else change.path[-1]),)
    if tree is None:
        return None
    match change:
        case ColumnCommented():
            return (ColumnCommented(change.path, tree.column.comment or ""),)
        case DefaultSet():
            return (DefaultSet(change.path, tree.column.default),)
        case ColumnMoved():
            at = siblings.index(tree.name)
            return (ColumnMoved(change.path, siblings[at - 1] if at else ""),)
    return () if tree.column.required == change.required else None


def _creation(shape: Shape) -> Iterator[Change]:
    at = _inline(shape.partitioning)
    properties = {key: value for key, value in shape.properties.items() if key != _OWNER and not is_place(key)}
    yield TableCreated(new_table(replace(shape, partitioning=shape.partitioning[:at], properties=properties)))
    yield from (FieldAdded(field.source, field.transform, field.name) for field in shape.partitioning[at:])
    if shape.sorting:  # LOCALLY: the other form also changes the property write.distribution-mode.
        yield OrderSet(shape.sorting, None)
    if shape.identifiers:
        yield IdentifiersSet(shape.identifiers)
    if unset := tuple(key for key in OF_NEW_TABLES if key not in shape.properties):
        yield PropertiesUnset(unset)


def _inline(fields: Sequence[PartitionField]) -> int:
    """Return how many of the first fields PARTITIONED BY can create; ADD PARTITION FIELD creates the others.

    PARTITIONED BY chooses their names, and refuses a second time unit of one column as redundant.
    """
    timed: set[str] = set()
    for at, field in enumerate(fields):
        name = given_name(".".join(name_parts(field.source)), field.transform, with_width=False)
        is_time = field.transform in TRANSFORMS and TRANSFORMS[field.transform].is_time
        if field.name != name or (is_time and field.source in timed):
            return at
        if is_time:
            timed.add(field.source)
    return len(fields)


def _alteration(before: Shape, after: Shape) -> Iterator[Change]:
    columns = ColumnChanges(before.columns, after.columns, ICEBERG.name, is_widening)
    yield from _drop_identifiers(before, after, columns)
    yield from _drop_partitions(before, after, columns)
    if _sorts_by_dropped(before, columns):
        yield OrderSet((), "none")
    yield from columns.changes
    yield from _add_partitions(before, after, columns)
    yield from _sort(before, after, columns)
    yield from _set_identifiers(before, after, columns)
    yield from _properties(before, after, columns)
    yield from map(Unknown, (*columns.impossible, *_impossible(before, after, columns)))


def _drop_identifiers(before: Shape, after: Shape, columns: ColumnChanges) -> Iterator[Change]:
    """Drop identifier fields before the columns that they name: Iceberg refuses to drop an identifier or make it nullable."""
    kept = _kept_identifiers(before, after, columns)
    if gone := tuple(identifier for identifier in before.identifiers if columns.before.keys[identifier] not in kept):
        yield IdentifiersDropped(gone)


def _set_identifiers(before: Shape, after: Shape, columns: ColumnChanges) -> Iterator[Change]:
    wanted = {columns.after.keys[identifier] for identifier in after.identifiers}
    if wanted - _kept_identifiers(before, after, columns):
        yield IdentifiersSet(after.identifiers)


def _kept_identifiers(before: Shape, after: Shape, columns: ColumnChanges) -> set[Key]:
    """Return the identifiers that stay: Iceberg renames no identifier inside a struct, nor what is around it."""
    wanted = {columns.after.keys[name]: name for name in after.identifiers}
    names = {columns.before.keys[name]: name for name in before.identifiers}
    is_kept = {key: len(name_parts(name)) == 1 or wanted.get(key) == name for key, name in names.items()}
    return {key for key in names if key in wanted and is_kept[key]}


def _sorts_by_dropped(before: Shape, columns: ColumnChanges) -> bool:
    """Return whether the sort order names a column that is dropped, which Iceberg refuses."""
    return any(columns.before.keys[field.source] not in columns.after.by_key for field in before.sorting)


_Field = tuple[str, Key, str]


def _fields(shape: Shape, columns: dict[str, Key]) -> dict[_Field, PartitionField]:
    """Return the partition fields by their identity: name, column and transform."""
    return {
        (field.name, columns.get(field.source, field.source), field.transform): field for field in shape.partitioning
    }


def _drop_partitions(before: Shape, after: Shape, columns: ColumnChanges) -> Iterator[Change]:
    kept = _fields(after, columns.after.keys)
    for key, field in _fields(before, columns.before.keys).items():
        if key not in kept:
            is_one = len(name_parts(field.source)) == 1
            if not has_function(field):
                yield FieldDropped(name_of((field.name,)), "identity", field.name)
            else:  # By its name, a field that is named as its column would be the one without a transform.
                name = name_parts(field.source)[0] if field.transform == "identity" and is_one else None
                yield FieldDropped(field.source, field.transform, name)


def _add_partitions(before: Shape, after: Shape, columns: ColumnChanges) -> Iterator[Change]:
    known = _fields(before, columns.before.keys)
    for key, field in _fields(after, columns.after.keys).items():
        if key not in known:
            yield FieldAdded(field.source, field.transform, field.name)


def _sort(before: Shape, after: Shape, columns: ColumnChanges) -> Iterator[Change]:
    if _keys(before.sorting, columns.before.keys) == _keys(after.sorting, columns.after.keys):
        return
    if after.sorting:
        yield OrderSet(after.sorting, None)
    elif not _sorts_by_dropped(before, columns):
        yield OrderSet((), "none")


def _keys(fields: tuple[SortField, ...], columns: dict[str, Key]) -> list[tuple[object, ...]]:
    return [
        (columns.get(field.source, field.source), field.transform, field.direction, field.nulls) for field in fields
    ]


def _properties(before: Shape, after: Shape, columns: ColumnChanges) -> Iterator[Change]:
    old, new = dict(before.properties), dict(after.properties)
    if (before.sorting and not after.sorting) or _sorts_by_dropped(before, columns):
        old[DISTRIBUTION] = "none"  # Set with the order.
    wanted = {key: value for key, value in new.items() if old.get(key) != value and key not in (_OWNER, "comment")}
    if (after.format_version or 0) > (before.format_version or 0):
        wanted = {FORMAT_VERSION: str(after.format_version), **wanted}
    if wanted:
        yield PropertiesSet(tuple(wanted.items()))
    if gone := tuple(key for key in old if key not in new and key != _OWNER):
        yield PropertiesUnset(gone)
    comment = new.get("comment")
    if comment is not None and comment != old.get("comment"):
        yield PropertiesSet((("comment", comment),))


def _impossible(before: Shape, after: Shape, columns: ColumnChanges) -> Iterator[str]:
    yield from other_table(before, after)
    yield from _taken_names(before, columns)
    kept, wanted = _fields(before, columns.before.keys), _fields(after, columns.after.keys)
    ends_as = [*(key for key in kept if key in wanted), *(key for key in wanted if key not in kept)]
    if ends_as != list(wanted):
        yield "the order of the partition fields cannot change"


def _taken_names(before: Shape, columns: ColumnChanges) -> Iterator[str]:
    """Yield the columns that get the name of a partition field of another column. Iceberg refuses it for dropped fields too."""
    names = {name: key for key in columns.after.by_key for name in columns.after.dotted(key)}
    for field in before.partitioning:
        source, key = columns.before.keys[field.source], names.get(field.name)
        if key is not None and key != source and source in columns.after.by_key:
            name = columns.after.by_key[key].name
            yield f"{name} cannot have the name of a partition field of {columns.after.by_key[source].name}"


CREATIONS: Mapping[str, Callable[[Shape], Iterator[Change]]] = {
    "iceberg": _creation,
    "delta": between_delta.creation,
}
ALTERATIONS: Mapping[str, Callable[[Shape, Shape], Iterator[Change]]] = {
    "iceberg": _alteration,
    "delta": between_delta.alteration,
}
