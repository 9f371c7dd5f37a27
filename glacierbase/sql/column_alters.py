"""The columns of one shape as those of another: the clauses of ALTER TABLE, and what no clause does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Column
from glacierbase.sql.creates import columns_inside, literal, path, type_of

_Key = int | str
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# https://iceberg.apache.org/spec/#schema-evolution, as far as ALTER COLUMN does it.
_WIDER = {("int", "bigint"), ("float", "double")}


class ColumnAlters:
    """How the columns of one shape become those of another.

    Attributes:
        clauses: of ALTER TABLE, in the order in which they run.
        impossible: what no clause does.
        before, after: the columns of both shapes.
    """

    def __init__(self, before: Sequence[Column], after: Sequence[Column]) -> None:
        self.before, self.after = _Columns(before), _Columns(after)
        self._inside = columns_inside(after)
        self._kept = [key for key in self.before.by_key if key in self.after.by_key]
        # What each column is called at this point of the statements, and what is inside each in which order.
        self._name = {key: self.before.last(key) for key in self.before.by_key}
        self._order = {key: list(inside) for key, inside in self.before.inside.items()}
        self.impossible: list[str] = []
        steps = (self._drop(), self._rename(), self._change(), self._add(), self._arrange())
        self.clauses = [clause for step in steps for clause in step]

    def _path(self, key: _Key) -> str:
        return path(name_of(self._parts(key)))

    def _parts(self, key: _Key) -> tuple[str, ...]:
        parent = (self.before if key in self.before.by_key else self.after).parent(key)
        return (*(self._parts(parent) if parent is not None else ()), self._name[key])

    def _drop(self) -> Iterator[str]:
        for key, column in self.before.by_key.items():
            parent = self.before.parent(key)
            if key in self.after.by_key or (parent is not None and parent not in self.after.by_key):
                continue
            if self.before.is_part(key):
                self.impossible.append(f"{column.name} cannot be replaced by another type")
            else:
                yield f"DROP COLUMN {self._path(key)}"
                self._order[parent].remove(key)

    def _rename(self) -> Iterator[str]:
        """Yield the renames, each when its new name is free."""
        waiting = [key for key in self._kept if self._name[key] != self.after.last(key)]
        while waiting:
            free = next((key for key in waiting if self.after.last(key).casefold() not in self._siblings(key)), None)
            if free is None:
                names = ", ".join(self.before.by_key[key].name for key in waiting)
                self.impossible.append(
                    f"columns cannot exchange their names, or change only the case of letters: {names}"
                )
                return
            waiting.remove(free)
            yield f"RENAME COLUMN {self._path(free)} TO {spark_identifier(self.after.last(free))}"
            self._name[free] = self.after.last(free)

    def _siblings(self, key: _Key) -> set[str]:
        """Return the names beside a column and its own: Spark ignores the case of letters."""
        return {self._name[each].casefold() for each in self._order[self.before.parent(key)]}

    def _change(self) -> Iterator[str]:
        for key in self._kept:
            before, after = self.before.by_key[key], self.after.by_key[key]
            alter = f"ALTER COLUMN {self._path(key)}"
            self.impossible += _impossible_changes(before, after)
            if before.type != after.type and is_widening(before.type, after.type):
                yield f"{alter} TYPE {after.type}"
            if before.required and not after.required:
                yield f"{alter} DROP NOT NULL"
            if (before.comment or "") != (after.comment or ""):
                yield f"{alter} COMMENT {literal(after.comment or '')}"

    def _add(self) -> Iterator[str]:
        for key, column in self.after.by_key.items():
            parent = self.after.parent(key)
            if key in self.before.by_key or (parent is not None and parent not in self.before.by_key):
                continue
            self._name[key] = self.after.last(key)
            if self.after.is_part(key):
                continue  # Its counterpart was named when it was to be dropped.
            if column.required or column.default is not None:
                self.impossible.append(f"{column.name} cannot be added as a column that refuses nulls or has a default")
            else:
                comment = f" COMMENT {literal(column.comment)}" if column.comment else ""
                yield f"ADD COLUMN {self._path(key)} {type_of(column, self._inside)}{comment}"
                self._order.setdefault(parent, []).append(key)

    def _arrange(self) -> Iterator[str]:
        """Yield the moves after which all columns are in order."""
        for parent, wanted in self.after.inside.items():
            now = self._order.get(parent)
            if now is None or self.impossible:
                continue
            for at, key in enumerate(wanted):
                if now[at] != key:
                    place = f"AFTER {spark_identifier(self._name[wanted[at - 1]])}" if at else "FIRST"
                    yield f"ALTER COLUMN {self._path(key)} {place}"
                    now.remove(key)
                    now.insert(at, key)


class _Columns:
    """The columns of a shape, by what makes one the same: its field id, or its name where it has none.

    Attributes:
        keys: by name.
        inside: what is directly inside each column, in order; of the table itself under None.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.by_key: dict[_Key, Column] = {each.name if each.id is None else each.id: each for each in columns}
        self.keys: dict[str, _Key] = {each.name: key for key, each in self.by_key.items()}
        paths = {tuple(name_parts(each.name)): key for key, each in self.by_key.items()}
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

    def is_part(self, key: _Key) -> bool:
        """Return whether it is the element of an array, or the key or value of a map."""
        parent = self._parents[key]
        return parent is not None and _kind(self.by_key[parent].type) != "struct"


def is_widening(before: str, after: str) -> bool:
    """Return whether a column of the type `before` can become one of the type `after`."""
    if (before, after) in _WIDER:
        return True
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    return bool(old and new and old[2] == new[2] and int(old[1]) < int(new[1]))


def _impossible_changes(before: Column, after: Column) -> Iterator[str]:
    kinds = _kind(before.type), _kind(after.type)
    is_nested = "<" in before.type and kinds[0] == kinds[1]  # What is inside is compared by itself.
    if before.type != after.type and not is_nested and not is_widening(before.type, after.type):
        yield f"{after.name} cannot change from {before.type} to {after.type}"
    if after.required and not before.required:
        yield f"{after.name} cannot begin to refuse nulls"
    if before.default != after.default:
        yield f"the default of {after.name} cannot change"


def _kind(type_: str) -> str:
    return type_.partition("<")[0]
