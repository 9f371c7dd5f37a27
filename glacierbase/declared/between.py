"""The changes that turn one shape of a table into another, in an order in which the engine accepts them, and the inverse of one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from glacierbase.declared.applied import apply
from glacierbase.declared.column_edits import folded, is_widening
from glacierbase.declared.render import has_function
from glacierbase.declared.trees import trees_of
from glacierbase.formats.delta import CLUSTERED, CONSTRAINT, NOT_ALTERED
from glacierbase.formats.iceberg import DISTRIBUTION, FORMAT_VERSION, OF_NEW_TABLES
from glacierbase.model.changes import (
    COLUMNS,
    IDENTIFIERS,
    PARTITIONING,
    SORTING,
    Change,
    ClusteringSet,
    ColumnAdded,
    ColumnCommented,
    ColumnDropped,
    ColumnMoved,
    ColumnRenamed,
    ColumnRetyped,
    ConstraintAdded,
    ConstraintDropped,
    DefaultSet,
    FieldAdded,
    FieldDropped,
    IdentifiersDropped,
    IdentifiersSet,
    NullabilitySet,
    OrderSet,
    PartialShape,
    Path,
    PropertiesSet,
    PropertiesUnset,
    TableCreated,
    TableDropped,
    TableRenamed,
    Unknown,
    parts_of,
)
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.model.transforms import TRANSFORMS, given_name

_Key = int | str
_OWNER = "owner"
# The keys of locations.
_PLACES = re.compile(r"location|write\.(?:.+\.)?path")
_FEATURE = "delta.feature."
_MAPPING, _WIDENING = "delta.columnMapping.mode", "delta.enableTypeWidening"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
# How many digits a decimal has before the point at least, to hold the values of an integer type.
_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def between(before: Shape | None, after: Shape | None, table_format: str) -> tuple[Change, ...]:
    """Return the changes that turn the table `before` into `after`; `Unknown` for each step that no change makes.

    Columns are the same if their field ids are; of Delta without ids, if their names are. None stands for no table.
    """
    if after is None:
        return () if before is None else (TableDropped(),)
    if before is None:
        return tuple(_CREATIONS[table_format](after))
    renamed = (TableRenamed(after.table),) if before.table != after.table else ()
    return (*_ALTERATIONS[table_format](before, after), *renamed)


def inverse(change: Change, before: PartialShape | None, table_format: str) -> tuple[Change, ...] | None:
    """Return the changes that undo a change of a table; None where there are none, or the table is not known well enough.

    Rows, values and files that the change loses do not come back.

    Args:
        before: the table before the change; None where there is none.
    """
    if before is None:
        return (TableDropped(),) if isinstance(change, TableCreated) and not change.is_optional else None
    match change:
        case TableRenamed() if before.shape.table:
            return (TableRenamed(before.shape.table),)
        case ColumnAdded():
            return (ColumnDropped(change.path),)
        case FieldAdded() if not before.knows(PARTITIONING):
            return (FieldDropped(change.source, change.transform),)
        case FieldDropped(name=None) if not before.knows(PARTITIONING):
            return (FieldAdded(change.source, change.transform),)
        case ColumnRenamed() | ColumnCommented() | DefaultSet() | ColumnMoved() | NullabilitySet():
            return _column_inverse(change, before)
    parts = parts_of(change)
    after = apply(before, change, table_format)
    if not (before.knows_all(parts) and all(map(_is_restorable, parts)) and isinstance(after, PartialShape)):
        return None
    undone = between(after.shape, before.shape, table_format)
    return None if any(isinstance(step, Unknown) for step in undone) else undone


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


def is_place(key: str) -> bool:
    """Return whether a property locates the table's files."""
    return bool(_PLACES.fullmatch(key))


# Iceberg.


def _creation(shape: Shape) -> Iterator[Change]:
    at = inline(shape.partitioning)
    properties = {key: value for key, value in shape.properties.items() if key != _OWNER and not is_place(key)}
    yield TableCreated(_without_ids(replace(shape, partitioning=shape.partitioning[:at], properties=properties)))
    yield from (FieldAdded(field.source, field.transform, field.name) for field in shape.partitioning[at:])
    if shape.sorting:  # LOCALLY: the other form also changes the property write.distribution-mode.
        yield OrderSet(shape.sorting, None)
    if shape.identifiers:
        yield IdentifiersSet(shape.identifiers)
    if unset := tuple(key for key in OF_NEW_TABLES if key not in shape.properties):
        yield PropertiesUnset(unset)


def inline(fields: Sequence[PartitionField]) -> int:
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


def _without_ids(shape: Shape) -> Shape:
    """Return what CREATE TABLE declares of a shape."""
    return Shape(
        shape.table, None, shape.format, shape.format_version,
        tuple(replace(column, id=None) for column in shape.columns),
        tuple(replace(field, id=None) for field in shape.partitioning), properties=shape.properties,
    )  # fmt: skip


def _alteration(before: Shape, after: Shape) -> Iterator[Change]:
    columns = ColumnChanges(before.columns, after.columns, is_widening)
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


def _kept_identifiers(before: Shape, after: Shape, columns: ColumnChanges) -> set[_Key]:
    """Return the identifiers that stay: Iceberg renames no identifier inside a struct, nor what is around it."""
    wanted = {columns.after.keys[name]: name for name in after.identifiers}
    names = {columns.before.keys[name]: name for name in before.identifiers}
    is_kept = {key: len(name_parts(name)) == 1 or wanted.get(key) == name for key, name in names.items()}
    return {key for key in names if key in wanted and is_kept[key]}


def _sorts_by_dropped(before: Shape, columns: ColumnChanges) -> bool:
    """Return whether the sort order names a column that is dropped, which Iceberg refuses."""
    return any(columns.before.keys[field.source] not in columns.after.by_key for field in before.sorting)


_Field = tuple[str, _Key, str]


def _fields(shape: Shape, columns: dict[str, _Key]) -> dict[_Field, PartitionField]:
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


def _keys(fields: tuple[SortField, ...], columns: dict[str, _Key]) -> list[tuple[object, ...]]:
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
    yield from _other_table(before, after)
    yield from _taken_names(before, columns)
    kept, wanted = _fields(before, columns.before.keys), _fields(after, columns.after.keys)
    ends_as = [*(key for key in kept if key in wanted), *(key for key in wanted if key not in kept)]
    if ends_as != list(wanted):
        yield "the order of the partition fields cannot change"


def _other_table(before: Shape, after: Shape) -> Iterator[str]:
    if (after.format_version or 0) < (before.format_version or 0):
        yield f"the format version cannot go back from {before.format_version} to {after.format_version}"
    if before.format != after.format:
        yield f"the table cannot change from {before.format} to {after.format}"


def _taken_names(before: Shape, columns: ColumnChanges) -> Iterator[str]:
    """Yield the columns that get the name of a partition field of another column. Iceberg refuses it for dropped fields too."""
    names = {name: key for key in columns.after.by_key for name in columns.after.dotted(key)}
    for field in before.partitioning:
        source, key = columns.before.keys[field.source], names.get(field.name)
        if key is not None and key != source and source in columns.after.by_key:
            name = columns.after.by_key[key].name
            yield f"{name} cannot have the name of a partition field of {columns.after.by_key[source].name}"


# Delta. https://docs.delta.io/latest/delta-type-widening.html


def _delta_creation(shape: Shape) -> Iterator[Change]:
    listed = {
        key: value
        for key, value in shape.properties.items()
        if key in ("comment", CLUSTERED) or (not NOT_ALTERED.fullmatch(key) or key.startswith("delta.min"))
    }
    yield TableCreated(_without_ids(replace(shape, format_version=None, properties=listed)))
    for column in shape.columns:
        if column.default is not None:
            yield DefaultSet(tuple(name_parts(column.name)), column.default)
    yield from (ConstraintAdded(name, condition) for name, condition in _constraints(shape).items())


def _delta_alteration(before: Shape, after: Shape) -> Iterator[Change]:
    old, new, unclear = _comparable(before, after)
    if unclear:
        yield Unknown(unclear)
        return
    columns = ColumnChanges(old, new, _widens if _is_on(_WIDENING, before, after) else _lengthens)
    is_mapped = _is_on(_MAPPING, before, after)
    if settings := tuple(_settings(before, after)):
        yield PropertiesSet(settings)
    constraints, wanted = _constraints(before), _constraints(after)
    yield from (ConstraintDropped(name) for name in constraints if constraints[name] != wanted.get(name))
    for change in columns.changes:
        if is_mapped or not isinstance(change, ColumnDropped | ColumnRenamed):
            yield change
        else:
            what = "DROP" if isinstance(change, ColumnDropped) else "RENAME"
            yield Unknown(f"{what} COLUMN {name_of(change.path)}, which needs the property {_MAPPING} = name")
    if after.properties.get(CLUSTERED, "[]") != before.properties.get(CLUSTERED, "[]"):
        yield ClusteringSet(tuple(map(tuple, json.loads(after.properties.get(CLUSTERED, "[]")))))
    for name, condition in wanted.items():
        if constraints.get(name) != condition:
            yield ConstraintAdded(name, condition)
    lost = [key for key in before.properties if key not in after.properties and not NOT_ALTERED.fullmatch(key)]
    if kept := tuple(key for key in lost if not key.startswith(_FEATURE) and key != _MAPPING):
        yield PropertiesUnset(kept)
    comments = [shape.properties.get("comment") or "" for shape in (before, after)]
    if comments[0] != comments[1]:
        yield PropertiesSet((("comment", comments[1]),))
    yield from map(Unknown, (*columns.impossible, *_impossible_for_delta(before, after)))


def _comparable(before: Shape, after: Shape) -> tuple[Sequence[Column], Sequence[Column], str]:
    """Return the columns of both shapes with ids that can be compared, and why they cannot."""
    tops = [[column for column in shape.columns if len(name_parts(column.name)) == 1] for shape in (before, after)]
    if all(column.id is not None for columns in tops for column in columns):
        numbers: dict[tuple[int | None, str], int] = {}
        return _with_ids(before.columns, numbers), _with_ids(after.columns, numbers), ""
    old, new = ([replace(column, id=None) for column in shape.columns] for shape in (before, after))
    names = [{column.name for column in columns} for columns in (old, new)]
    had_ids = any(column.id is not None for columns in tops for column in columns)
    if had_ids and names[0] - names[1] and names[1] - names[0]:
        why = "was read once without the ids of its columns: a renamed column cannot be told from a dropped one"
        return old, new, f"{before.table} {why}"
    return old, new, ""


def _with_ids(columns: Iterable[Column], numbers: dict[tuple[int | None, str], int]) -> list[Column]:
    """Return columns with ids for the elements of arrays and maps, which have none in Delta.

    Args:
        numbers: the ids, by the id of the column around and the name.
    """
    ids: dict[tuple[str, ...], int] = {}
    made = []
    for column in columns:
        *above, name = name_parts(column.name)
        key = (ids.get(tuple(above)), name)
        number = column.id if column.id is not None else numbers.setdefault(key, -1 - len(numbers))
        ids[(*above, name)] = number
        made.append(replace(column, id=number))
    return made


def _is_on(key: str, *shapes: Shape) -> bool:
    """Return whether a property is set before the columns change."""
    return any(shape.properties.get(key, "none") not in ("none", "false") for shape in shapes)


def _lengthens(before: str, after: str) -> bool:
    """Return whether Delta changes a type without type widening: a longer string."""
    lengths = [re.fullmatch(r"varchar\((\d+)\)", kind) for kind in (before, after)]
    is_longer = bool(lengths[0] and lengths[1] and int(lengths[0][1]) < int(lengths[1][1]))
    return is_longer or (lengths[0] is not None and after == "string")


def _widens(before: str, after: str) -> bool:
    """Return whether Delta changes a type where type widening is on."""
    if _lengthens(before, after) or (before, after) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    if old and new:
        scales = int(new[2]) - int(old[2])
        return before != after and 0 <= scales <= int(new[1]) - int(old[1])
    if before not in _INTEGERS:
        return False
    if new:
        return int(new[1]) - int(new[2]) >= _DIGITS[before]
    return after in _INTEGERS[_INTEGERS.index(before) + 1 :] or (after == "double" and before != "bigint")


def _settings(before: Shape, after: Shape) -> Iterator[tuple[str, str]]:
    """Yield the properties to set; they are set first, because changes of columns need some of them."""
    for key, value in after.properties.items():
        if before.properties.get(key) != value and not NOT_ALTERED.fullmatch(key):
            yield key, value


def _constraints(shape: Shape) -> Mapping[str, str]:
    return {
        key.removeprefix(CONSTRAINT): value for key, value in shape.properties.items() if key.startswith(CONSTRAINT)
    }


def _impossible_for_delta(before: Shape, after: Shape) -> Iterator[str]:
    yield from _other_table(before, after)
    if [field.source for field in before.partitioning] != [field.source for field in after.partitioning]:
        yield "the partitioning of a Delta table cannot change"
    for key in before.properties:
        if key in after.properties:
            continue
        if key.startswith(_FEATURE):
            yield f"the table feature {key.removeprefix(_FEATURE)} stays; DROP FEATURE is written by hand"
        elif key == _MAPPING:
            yield "column mapping stays: without it, the table is rewritten"


_CREATIONS: Mapping[str, Callable[[Shape], Iterator[Change]]] = {"iceberg": _creation, "delta": _delta_creation}
_ALTERATIONS: Mapping[str, Callable[[Shape, Shape], Iterator[Change]]] = {
    "iceberg": _alteration,
    "delta": _delta_alteration,
}


# Columns.


class ColumnChanges:
    """How the columns of one shape become those of another.

    Attributes:
        changes: in the order in which they run.
        impossible: the steps that no change makes.
        before, after: the columns of both shapes.
    """

    def __init__(self, before: Sequence[Column], after: Sequence[Column], widens: Callable[[str, str], bool]) -> None:
        """Args:
        widens: returns whether a column of the first type can become one of the second.
        """
        self.before, self.after = _ColumnKeys(before), _ColumnKeys(after)
        self._widens = widens
        self._kept = [key for key in self.before.by_key if key in self.after.by_key]
        # The present name of each column, and the order of the fields inside it, after the changes yielded so far.
        self._name = {key: self.before.last(key) for key in self.before.by_key}
        self._order = {key: list(inside) for key, inside in self.before.inside.items()}
        self.impossible: list[str] = []
        steps = (self._drop(), self._rename(), self._change(), self._add(), self._arrange())
        self.changes: list[Change] = [change for step in steps for change in step]

    def _path(self, key: _Key) -> Path:
        parent = (self.before if key in self.before.by_key else self.after).parent(key)
        return (*(self._path(parent) if parent is not None else ()), self._name[key])

    def _drop(self) -> Iterator[Change]:
        for key, column in self.before.by_key.items():
            parent = self.before.parent(key)
            if key in self.after.by_key or (parent is not None and parent not in self.after.by_key):
                continue
            if self.before.is_part(key):
                self.impossible.append(f"{column.name} cannot be replaced by another type")
            else:
                yield ColumnDropped(self._path(key))
                self._order[parent].remove(key)

    def _rename(self) -> Iterator[Change]:
        """Yield the renames, each when its new name is free. Columns that exchange their names need one between."""
        waiting = [key for key in self._kept if self._name[key] != self.after.last(key)]
        while waiting:
            free = next((key for key in waiting if self.after.last(key).casefold() not in self._siblings(key)), None)
            if free is None:
                yield self._renamed(waiting[0], self._unused(waiting[0]))
            else:
                waiting.remove(free)
                yield self._renamed(free, self.after.last(free))

    def _renamed(self, key: _Key, name: str) -> Change:
        change = ColumnRenamed(self._path(key), name)
        self._name[key] = name
        return change

    def _unused(self, key: _Key) -> str:
        """Return a name that no column beside one has, before and after."""
        used = self._siblings(key) | {self.after.last(other).casefold() for other in self.after.by_key}
        return next(name for number in count(1) if (name := f"renamed_{number}") not in used)

    def _siblings(self, key: _Key) -> set[str]:
        """Return the names beside a column and its own: Spark ignores the case of letters."""
        return {self._name[sibling].casefold() for sibling in self._order[self.before.parent(key)]}

    def _change(self) -> Iterator[Change]:
        for key in self._kept:
            before, after = self.before.by_key[key], self.after.by_key[key]
            path = self._path(key)
            self.impossible += _impossible_changes(before, after, self._widens)
            if before.type != after.type and self._widens(before.type, after.type):
                yield ColumnRetyped(path, after.type)
            if before.required and not after.required:
                yield NullabilitySet(path, required=False)
            if (before.comment or "") != (after.comment or ""):
                yield ColumnCommented(path, after.comment or "")

    def _add(self) -> Iterator[Change]:
        names = {name for key in self._kept for name in self.after.dotted(key)}
        for key, column in self.after.by_key.items():
            parent, dotted = self.after.parent(key), self.after.dotted(key)
            if key in self.before.by_key:
                continue
            if parent is not None and parent not in self.before.by_key:
                names.update(dotted)  # Added with the column around it.
                continue
            self._name[key] = self.after.last(key)
            if self.after.is_part(key):
                continue  # `_drop` has reported its counterpart as impossible.
            if column.required or column.default is not None:
                self.impossible.append(f"{column.name} cannot be added as a column that refuses nulls or has a default")
            elif dotted[0] in names:
                self.impossible.append(f"{column.name} cannot be added: Iceberg finds another column by this name")
            else:
                first, *inside = self._with_fields(key, self._path(key))
                yield ColumnAdded((replace(first, comment=first.comment or None), *inside))
                self._order.setdefault(parent, []).append(key)
                names.update(dotted)

    def _with_fields(self, key: _Key, path: Path) -> Iterator[Column]:
        """Yield a new column under its present path, and the fields inside."""
        yield replace(self.after.by_key[key], name=name_of(path))
        for inner in self.after.inside.get(key, ()):
            yield from self._with_fields(inner, (*path, self.after.last(inner)))

    def _arrange(self) -> Iterator[Change]:
        """Yield the moves after which all columns are in order."""
        for parent, wanted in self.after.inside.items():
            now = self._order.get(parent)
            if now is None or self.impossible:
                continue
            for at, key in enumerate(wanted):
                if now[at] != key:
                    yield ColumnMoved(self._path(key), self._name[wanted[at - 1]] if at else "")
                    now.remove(key)
                    now.insert(at, key)


class _ColumnKeys:
    """The columns of a shape by their identity: the field id, or the name of a column without one.

    Attributes:
        keys: by name.
        inside: the fields directly inside each column, in order; the top-level columns under None.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.by_key: dict[_Key, Column] = {
            column.name if column.id is None else column.id: column for column in columns
        }
        self.keys: dict[str, _Key] = {column.name: key for key, column in self.by_key.items()}
        paths = {tuple(name_parts(column.name)): key for key, column in self.by_key.items()}
        self._parents = {key: paths.get(parts[:-1]) for parts, key in paths.items()}
        self._last = {key: parts[-1] for parts, key in paths.items()}
        self.inside: dict[_Key | None, list[_Key]] = {}
        for key, parent in self._parents.items():
            self.inside.setdefault(parent, []).append(key)

    def parent(self, key: _Key) -> _Key | None:
        """Return the column around a field; None for a column of the table."""
        return self._parents[key]

    def last(self, key: _Key) -> str:
        """Return the last part of the name."""
        return self._last[key]

    def dotted(self, key: _Key) -> tuple[str, str]:
        """Return the names by which Iceberg finds a column: the second one leaves out structs that are elements or values."""
        parts, short = [self._last[key]], [self._last[key]]
        while (parent := self._parents[key]) is not None:
            key = parent
            parts.insert(0, self._last[key])
            if not (self.is_part(key) and self._last[key] != "key"):
                short.insert(0, self._last[key])
        return ".".join(parts), ".".join(short)

    def is_part(self, key: _Key) -> bool:
        """Return whether the column is the element of an array, or the key or value of a map."""
        parent = self._parents[key]
        return parent is not None and _kind(self.by_key[parent].type) != "struct"


def _impossible_changes(before: Column, after: Column, widens: Callable[[str, str], bool]) -> Iterator[str]:
    kinds = _kind(before.type), _kind(after.type)
    is_nested = "<" in before.type and kinds[0] == kinds[1]  # The fields inside are compared separately.
    if before.type != after.type and not is_nested and not widens(before.type, after.type):
        yield f"{after.name} cannot change from {before.type} to {after.type}"
    if after.required and not before.required:
        yield f"{after.name} cannot begin to refuse nulls"
    if before.default != after.default:
        yield f"the default of {after.name} cannot change"


def _kind(type_: str) -> str:
    return type_.partition("<")[0]
