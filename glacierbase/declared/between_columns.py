"""The changes that turn the columns of one shape into those of another, whatever the format of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from glacierbase.declared.column_edits import ColumnEdit, Refusal, tree_at
from glacierbase.declared.trees import dotted_names, trees_of
from glacierbase.model.changes import (
    Change,
    ColumnAdded,
    ColumnCommented,
    ColumnDropped,
    ColumnMoved,
    ColumnRenamed,
    ColumnRetyped,
    DefaultSet,
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

    def __init__(
        self,
        before: Sequence[Column],
        after: Sequence[Column],
        table_format: str,
        widens: Callable[[str, str], bool],
    ) -> None:
        """Args:
        widens: returns whether a column of the first type can become one of the second.
        """
        self.before, self.after = _ColumnKeys(before), _ColumnKeys(after)
        self._format, self._widens = table_format, widens
        self._trees = trees_of(before)
        self._kept = [key for key in self.before.by_key if key in self.after.by_key]
        # The present name of each column, and the order of the fields inside it, after the changes yielded so far.
        self._name = {key: self.before.last(key) for key in self.before.by_key}
        self._order = {key: list(inside) for key, inside in self.before.inside.items()}
        self.impossible: list[str] = []
        steps = (self._drop(), self._rename(), self._change(), self._add(), self._arrange())
        self.changes: list[Change] = [change for step in steps for change in step if self._is_accepted(change)]

    def _is_accepted(self, change: Change) -> bool:
        """Apply a change, or add why the engine refuses it to what is impossible."""
        edit = ColumnEdit(self._trees, self._format, lambda: dotted_names(self._trees), self._widens)
        try:
            self._trees = edit.after(change)
            if isinstance(change, ColumnRetyped) and not edit.cleared:
                old = tree_at(self._trees, edit.path).spelling  # It is read or stored as the new type.
                raise Refusal("type", f"{name_of(edit.path)} cannot change from {old} to {change.type}")
        except Refusal as refusal:
            self.impossible.append(refusal.refused.reason)
            return False
        return True

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
            is_nested = "<" in before.type and _kind(before.type) == _kind(after.type)
            if before.type != after.type and not is_nested:  # The fields inside are compared separately.
                yield ColumnRetyped(path, after.type)
            if before.required != after.required:
                yield NullabilitySet(path, after.required)
            if (before.comment or "") != (after.comment or ""):
                yield ColumnCommented(path, after.comment or "")
            if before.default != after.default:
                yield DefaultSet(path, after.default)

    def _add(self) -> Iterator[Change]:
        for key in self.after.by_key:
            parent = self.after.parent(key)
            if key in self.before.by_key or (parent is not None and parent not in self.before.by_key):
                continue  # It was there, or is added with the column around it.
            self._name[key] = self.after.last(key)
            if self.after.is_part(key):
                continue  # `_drop` has reported its counterpart as impossible.
            first, *inside = self._with_fields(key, self._path(key))
            yield ColumnAdded((replace(first, comment=first.comment or None), *inside))
            self._order.setdefault(parent, []).append(key)

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


def _kind(type_: str) -> str:
    return type_.partition("<")[0]
