"""The columns of a table after one change, as Spark and the table's format check it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from glacierbase.declared.trees import ColumnTree, Trees, edited, stored, stored_columns, trees_of, with_inside
from glacierbase.formats.iceberg import ICEBERG
from glacierbase.model.changes import (
    Change,
    ColumnAdded,
    ColumnCommented,
    ColumnDropped,
    ColumnMoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReplaced,
    DefaultSet,
    NullabilitySet,
)
from glacierbase.model.names import name_of
from glacierbase.model.partial_shape import Path, Refused

# Types that Spark reads as another one: a change to that one changes nothing.
_READ_AS = {"uuid": "string", "fixed": "binary"}


class Refusal(Exception):
    """The engine refuses a change."""

    def __init__(self, kind: str, reason: str) -> None:
        self.refused = Refused(kind, reason)


def folded(path: Iterable[str]) -> Path:
    """Return names in the form that Spark compares: letter by letter, in upper case and then in lower case."""
    return tuple(map(_folded, path))


@lru_cache(maxsize=4096)
def _folded(name: str) -> str:
    if name.isascii():
        return name.lower()
    upper = (letter.upper() if len(letter.upper()) == 1 else letter for letter in name)
    return "".join(letter.lower()[0] for letter in upper)


class ColumnEdit:
    """Columns to which one change is applied.

    Attributes:
        path: of the changed column, as the table spells it; empty where the change is of no column.
        moved: the new names of columns, and of the fields inside, by the old ones.
        dropped: the paths of dropped columns.
        cleared: the names of columns whose type is another one now.
    """

    def __init__(
        self,
        trees: Trees,
        table_format: str,
        names: Callable[[], Mapping[str, Path]],
        widens: Callable[[str, str], bool] | None,
    ) -> None:
        """Args:
        names: returns the paths of columns by the names by which Iceberg finds them.
        widens: returns whether a column of the first type can become one of the second; None where it is not known which types,
            NOT NULL and defaults the engine refuses.
        """
        self._trees = trees
        self._is_iceberg = table_format == ICEBERG.name
        self._is_exact = table_format == "snowflake"  # The names are folded when they are read.
        self._names = names
        self._widens = widens
        self.path: Path = ()
        self.moved: dict[str, str] = {}
        self.dropped: list[Path] = []
        self.cleared: set[str] = set()

    def after(self, change: Change) -> Trees:
        """Return the columns after a change.

        Raises:
            Refusal
        """
        match change:
            case ColumnAdded():
                return self._add(change)
            case ColumnsReplaced():
                return self._replace(change)
            case ColumnDropped():
                return self._drop(change)
            case ColumnRenamed():
                return self._rename(change)
            case ColumnMoved():
                return self._move(change)
            case ColumnRetyped() | NullabilitySet() | ColumnCommented() | DefaultSet():
                return self._alter(change)
        return self._trees

    def _replace(self, change: ColumnsReplaced) -> Trees:
        self.dropped = [(tree.name,) for tree in self._trees]
        self._trees = ()
        for tree in trees_of(change.columns):
            self._trees = self._add(ColumnAdded(tuple(tree.columns())))
        return self._trees

    def _add(self, change: ColumnAdded) -> Trees:
        column, above = change.columns[0], change.path[:-1]
        parent = self._resolved(above) if above else None
        if parent and self._tree(parent).kind != "struct" and self._tree(parent).is_clear:
            raise Refusal("place", f"{name_of(parent)} is no struct")
        if self._path(change.path) is not None:
            raise Refusal("exists", f"there is a column {name_of(change.path)} already")
        if self._widens and column.required:
            raise Refusal("required", f"the new column {column.name} refuses nulls")
        if self._widens and column.default is not None:
            raise Refusal("default", f"{column.name} has a default")
        if self._is_iceberg and self._names().get(".".join((*(parent or ()), change.path[-1]))) not in (
            None,
            *self.dropped,
        ):
            raise Refusal("exists", f"Iceberg finds another column by the name {name_of(change.path)}")
        self.path = (*(parent or ()), change.path[-1])
        self._check_not_in_key()
        [tree] = trees_of(stored_columns(change.columns) if self._is_iceberg else change.columns)
        siblings = self._tree(parent).inside if parent else self._trees
        at = len(siblings) if change.after is None else self._after(siblings, change.after)
        made = (*siblings[:at], tree, *siblings[at:])
        return self._with_inside(parent, made) if parent else made

    def _with_inside(self, path: Path, inside: Trees) -> Trees:
        return edited(
            self._trees, path, lambda trees, at: (*trees[:at], with_inside(trees[at], inside), *trees[at + 1 :])
        )

    def _after(self, siblings: Trees, name: str) -> int:
        """Return the position after a field of a struct; the first one for an empty name."""
        if not name:
            return 0
        places = [at for at, tree in enumerate(siblings) if self._is_same(tree.name, name)]
        if not places:
            raise Refusal("absent", f"there is no column {name}")
        return places[0] + 1

    def _drop(self, change: ColumnDropped) -> Trees:
        path = self._path(change.path)
        if path is None and change.is_optional:
            return self._trees
        self.path = self._resolved(change.path)
        self._check_no_part("dropped")
        self._check_not_in_key()
        self.dropped = [self.path]
        self.cleared = {name_of(self.path)}
        return edited(self._trees, self.path, lambda trees, at: (*trees[:at], *trees[at + 1 :]))

    def _check_no_part(self, how: str) -> None:
        """Check that the column is no element of an array, and no key or value of a map."""
        if self.path[:-1] and (kind := self._tree(self.path[:-1]).kind) != "struct":
            raise Refusal("place", f"{name_of(self.path)} is a part of the {kind}, and cannot be {how}")

    def _rename(self, change: ColumnRenamed) -> Trees:
        self.path = self._resolved(change.path)
        new = (*self.path[:-1], change.name)
        if self._path(new) is not None:
            raise Refusal("exists", f"there is a column {name_of(new)} already")
        self._check_no_part("renamed")
        self._check_not_in_key()
        tree = self._tree(self.path)
        renamed = replace(tree, name=change.name)
        self.moved = {
            old.name: fresh.name
            for old, fresh in zip(tree.columns(self.path[:-1]), renamed.columns(self.path[:-1]), strict=True)
        }
        return self._exchanged(renamed)

    def _exchanged(self, tree: ColumnTree) -> Trees:
        return edited(self._trees, self.path, lambda trees, at: (*trees[:at], tree, *trees[at + 1 :]))

    def _move(self, change: ColumnMoved) -> Trees:
        self.path = self._resolved(change.path)
        self._check_no_part("moved")
        self._check_not_in_key()
        tree = self._tree(self.path)
        if change.after and self._is_same(change.after, tree.name):
            raise Refusal("place", f"{name_of(self.path)} cannot come after itself")

        def moved(trees: Trees, at: int) -> Trees:
            others = (*trees[:at], *trees[at + 1 :])
            to = self._after(others, change.after)
            return (*others[:to], tree, *others[to:])

        return edited(self._trees, self.path, moved)

    def _alter(self, change: ColumnRetyped | NullabilitySet | ColumnCommented | DefaultSet) -> Trees:
        self.path = self._resolved(change.path)
        tree = self._tree(self.path)
        match change:
            case ColumnRetyped():
                made = self._retyped(tree, change.type)
            case NullabilitySet():
                if self._widens and change.required and not tree.column.required:
                    raise Refusal("required", f"{name_of(self.path)} cannot begin to refuse nulls")
                made = replace(tree, column=replace(tree.column, required=change.required))
            case ColumnCommented():
                made = replace(tree, column=replace(tree.column, comment=change.comment))
            case DefaultSet():
                if self._widens:
                    raise Refusal("default", f"the default of {name_of(self.path)} cannot change")
                made = replace(tree, column=replace(tree.column, default=change.default))
        if made != tree:
            self._check_not_in_key()
        if self._is_iceberg and self.path[:-1] and self._tree(self.path[:-1]).kind in ("array", "map"):
            made = replace(made, column=replace(made.column, comment=tree.column.comment))  # Iceberg keeps none.
        return self._exchanged(made)

    def _check_not_in_key(self) -> None:
        """Check that the column is no key of a map, and not inside one, as Iceberg does."""
        for at, name in enumerate(self.path if self._is_iceberg else ()):
            if at and name == "key" and self._tree(self.path[:at]).kind == "map":
                raise Refusal("place", f"{name_of(self.path)} is a part of the key of a map, which cannot change")

    def _retyped(self, tree: ColumnTree, text: str) -> ColumnTree:
        name, before = name_of(self.path), tree.spelling
        after = text
        if self._is_iceberg and "<" not in text:
            before, after = stored(before), stored(text)
        if before == after or _READ_AS.get(before.partition("(")[0]) == after:
            return tree
        if self._widens and not self._widens(before, after):
            raise Refusal("type", f"{name} cannot change from {before} to {after}")
        self.cleared = {name}
        if not self._is_iceberg:
            return ColumnTree(replace(tree.column, type=after), tree.name)
        return replace(tree, column=replace(tree.column, type=after))

    def _is_same(self, name: str, other: str) -> bool:
        return name == other if self._is_exact else _folded(name) == _folded(other)

    def _resolved(self, path: Path) -> Path:
        """Return the path of a column as the table spells it."""
        resolved = self._path(path)
        if resolved is None:
            raise Refusal("absent", f"there is no column {name_of(path)}")
        return resolved

    def _path(self, path: Path) -> Path | None:
        """Return the path of a column as the table spells it; None where there is no such column."""
        trees, above, is_struct = self._trees, Path(), True
        for name in path:
            compared = _folded if is_struct and not self._is_exact else str
            wanted = compared(name)
            same = [tree for tree in trees if compared(tree.name) == wanted]
            if not same and not is_struct:
                raise Refusal("place", f"{name_of(above)} is no struct")
            if len(same) > 1:
                raise Refusal("exists", f"several columns have the name {name_of(path)}")
            if not same:
                return None
            [tree] = same
            above, trees, is_struct = (*above, tree.name), tree.inside, tree.kind == "struct"
        return above

    def _tree(self, path: Path) -> ColumnTree:
        return tree_at(self._trees, path)


def tree_at(trees: Trees, path: Path) -> ColumnTree:
    """Return the field with a path, which exists."""
    *above, name = path
    for parent in above:
        trees = next(tree.inside for tree in trees if tree.name == parent)
    return next(tree for tree in trees if tree.name == name)
