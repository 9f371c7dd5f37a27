"""The changes that turn the columns of one shape into those of another, whatever the format of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from glacierbase.model.changes import (
    Change,
    ColumnAdded,
    ColumnCommented,
    ColumnDropped,
    ColumnMoved,
    ColumnRenamed,
    ColumnRetyped,
    NullabilitySet,
)
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.partial_shape import Path
from glacierbase.model.shape import Column, Shape

Key: TypeAlias = int | str


def new_table(shape: Shape) -> Shape:
    """Return what CREATE TABLE declares of a shape."""
    return Shape(
        shape.table, None, shape.format, shape.format_version,
        tuple(replace(column, id=None) for column in shape.columns),
        tuple(replace(field, id=None) for field in shape.partitioning), properties=shape.properties,
    )  # fmt: skip


def other_table(before: Shape, after: Shape) -> Iterator[str]:
    if (after.format_version or 0) < (before.format_version or 0):
        yield f"the format version cannot go back from {before.format_version} to {after.format_version}"
    if before.format != after.format:
        yield f"the table cannot change from {before.format} to {after.format}"


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

    def _path(self, key: Key) -> Path:
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

    def _renamed(self, key: Key, name: str) -> Change:
        change = ColumnRenamed(self._path(key), name)
        self._name[key] = name
        return change

    def _unused(self, key: Key) -> str:
        """Return a name that no column beside one has, before and after."""
        used = self._siblings(key) | {self.after.last(other).casefold() for other in self.after.by_key}
        return next(name for number in count(1) if (name := f"renamed_{number}") not in used)

    def _siblings(self, key: Key) -> set[str]:
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

    def _with_fields(self, key: Key, path: Path) -> Iterator[Column]:
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
        self.by_key: dict[Key, Column] = {column.name if column.id is None else column.id: column for column in columns}
        self.keys: dict[str, Key] = {column.name: key for key, column in self.by_key.items()}
        paths = {tuple(name_parts(column.name)): key for key, column in self.by_key.items()}
        self._parents = {key: paths.get(parts[:-1]) for parts, key in paths.items()}
        self._last = {key: parts[-1] for parts, key in paths.items()}
        self.inside: dict[Key | None, list[Key]] = {}
        for key, parent in self._parents.items():
            self.inside.setdefault(parent, []).append(key)

    def parent(self, key: Key) -> Key | None:
        """Return the column around a field; None for a column of the table."""
        return self._parents[key]

    def last(self, key: Key) -> str:
        """Return the last part of the name."""
        return self._last[key]

    def dotted(self, key: Key) -> tuple[str, str]:
        """Return the names by which Iceberg finds a column: the second one leaves out structs that are elements or values."""
        parts, short = [self._last[key]], [self._last[key]]
        while (parent := self._parents[key]) is not None:
            key = parent
            parts.insert(0, self._last[key])
            if not (self.is_part(key) and self._last[key] != "key"):
                short.insert(0, self._last[key])
        return ".".join(parts), ".".join(short)

    def is_part(self, key: Key) -> bool:
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
