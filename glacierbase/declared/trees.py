"""The columns of a shape as trees, in which fields are found, added, moved and renamed; and columns from declared types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from glacierbase.model.names import name_of, name_parts
from glacierbase.model.partial_shape import Path
from glacierbase.model.shape import Column
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.types import TypeTree, normalised, type_tree


@dataclass(frozen=True, slots=True)
class ColumnTree:
    """A column with the fields inside.

    Attributes:
        column: its facts; the name and the type may be those before an edit.
        name: the last part of its name.
    """

    column: Column
    name: str
    inside: tuple[ColumnTree, ...] = ()

    @property
    def kind(self) -> str:
        """`struct`, `array`, `map`, or a type without fields."""
        return self.column.type.partition("<")[0].lower()

    @property
    def is_clear(self) -> bool:
        """Whether the fields inside are known: a type that is not understood lists none."""
        return bool(self.inside) or "<" not in self.column.type.removesuffix("<>")

    @property
    def spelling(self) -> str:
        """Its type as shapes spell it; as declared where it is not understood."""
        if not self.inside:
            return self.column.type
        is_struct = self.kind == "struct"
        inside = (
            f"{name_of((field.name,))}:{field.spelling}" if is_struct else field.spelling for field in self.inside
        )
        return f"{self.kind}<{','.join(inside)}>"

    @property
    def type(self) -> str | None:
        """Its type in Spark in one spelling; None where it is not known."""
        return _in_spark(self.spelling)

    @property
    def required(self) -> bool:
        return self.column.required

    @property
    def comment(self) -> str | None:
        return self.column.comment

    @property
    def default(self) -> str | None:
        """The text of its default expression."""
        return None if self.column.default is None else str(json.loads(self.column.default))

    @property
    def fields(self) -> Mapping[str, ColumnTree] | None:
        """The fields directly inside, by name in lower case; None where the type is not understood."""
        return {field.name.lower(): field for field in self.inside} if self.is_clear else None

    def columns(self, above: Path = ()) -> Iterator[Column]:
        """Yield the column, and after it the fields inside."""
        if not above and not self.inside and self.column.name == self.name:
            yield self.column
            return
        path = (*above, self.name)
        name, spelling = name_of(path), self.spelling
        is_same = (self.column.name, self.column.type) == (name, spelling)
        yield self.column if is_same else replace(self.column, name=name, type=spelling)
        for field in self.inside:
            yield from field.columns(path)


@lru_cache(maxsize=1024)
def _in_spark(text: str) -> str | None:
    try:
        return normalised(text, SPARK.name) if text else None
    except UnsupportedClause:
        return None


Trees: TypeAlias = tuple[ColumnTree, ...]
# Returns the fields of a struct after an edit of the one at a position.
_Edit: TypeAlias = Callable[[Trees, int], Sequence[ColumnTree]]


# The trees of the columns that `columns_of` made last, by the identity of the columns, which are kept with them.
_MADE: dict[int, tuple[tuple[Column, ...], Trees]] = {}
_MOST_MADE = 256


def trees_of(columns: Sequence[Column]) -> Trees:
    """Return the columns of a shape as trees."""
    same, trees = _MADE.get(id(columns), (None, ()))
    if same is columns:
        return trees
    inside: dict[Path, list[tuple[Path, Column]]] = {}
    for column in columns:
        is_plain = "." not in column.name and "`" not in column.name
        path = (column.name,) if is_plain else tuple(name_parts(column.name))
        inside.setdefault(path[:-1], []).append((path, column))

    def made(above: Path) -> Trees:
        return tuple(
            ColumnTree(column, path[-1], made(path) if path in inside else ()) for path, column in inside.get(above, ())
        )

    return made(min(inside, key=len, default=()))


def columns_of(trees: Iterable[ColumnTree], above: Path = ()) -> tuple[Column, ...]:
    """Return trees as the columns of a shape."""
    return tuple(column for tree in trees for column in tree.columns(above))


def columns_of_table(trees: Trees) -> tuple[Column, ...]:
    """Return the trees of a table as its columns, of which `trees_of` returns the same trees again."""
    columns = columns_of(trees)
    if len(_MADE) >= _MOST_MADE:
        _MADE.clear()
    _MADE[id(columns)] = (columns, trees)
    return columns


def edited(trees: Trees, path: Path, edit: _Edit) -> Trees:
    """Return trees after an edit of the field with a path, which exists."""
    at = next(number for number, tree in enumerate(trees) if tree.name == path[0])
    if len(path) == 1:
        return tuple(edit(trees, at))
    return (*trees[:at], with_inside(trees[at], edited(trees[at].inside, path[1:], edit)), *trees[at + 1 :])


def with_inside(tree: ColumnTree, inside: Trees) -> ColumnTree:
    """Return a column with other fields inside, perhaps with none."""
    return replace(tree, column=tree.column if inside else replace(tree.column, type=f"{tree.kind}<>"), inside=inside)


def dotted_names(trees: Iterable[ColumnTree]) -> Mapping[str, Path]:
    """Return the paths of all columns by the names by which Iceberg finds them: those of structs in elements and values twice."""
    names: dict[str, Path] = {}

    def add(tree: ColumnTree, above: Path, short: Path, parent: str) -> None:
        path = (*above, tree.name)
        brief = (
            short
            if parent in ("array", "map") and tree.name != "key" and tree.kind == "struct"
            else (*short, tree.name)
        )
        names[".".join(path)] = path
        names.setdefault(".".join(brief), path)
        for field in tree.inside:
            add(field, path, brief, tree.kind)

    for tree in trees:
        add(tree, (), (), "")
    return names


def dotted(name: str) -> str:
    """Return the name of a column as Iceberg finds it: its parts without quotes."""
    return ".".join(name_parts(name)) if "`" in name or '"' in name else name


def declared(path: Path, text: str, facts: Column, dialect: str) -> tuple[Column, ...]:
    """Return a column of a declared type, with the fields inside.

    Raises:
        UnsupportedClause: the type is not supported.
    """
    tree, spelling = _parsed(text, dialect)
    if not tree.fields:
        return (replace(facts, type=spelling),)
    return columns_of((_tree(path[-1], tree, facts),), path[:-1])


@lru_cache(maxsize=1024)
def _parsed(text: str, dialect: str) -> tuple[TypeTree, str]:
    """Return the tree of a type, and its spelling."""
    tree = type_tree(text, dialect)
    return tree, tree.spelling()


def _tree(name: str, type_: TypeTree, facts: Column) -> ColumnTree:
    inside = tuple(_tree(field.name, field.type, _fact(field.required, field.comment)) for field in type_.fields)
    return ColumnTree(replace(facts, type=type_.spelling()), name, inside)


def _fact(required: bool, comment: str | None) -> Column:
    return Column(None, "", "", required, comment)


@lru_cache(maxsize=1024)
def stored(type_: str) -> str:
    """Return the type without fields as which Iceberg stores a declared one."""
    try:
        return type_tree(type_).spelling(stored=True)
    except UnsupportedClause:
        return type_


def stored_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return declared columns with the types as which Iceberg stores them."""
    types = [column.type if "<" in column.type else stored(column.type) for column in columns]
    trees = trees_of(
        [
            column if column.type == text else replace(column, type=text)
            for column, text in zip(columns, types, strict=True)
        ]
    )
    first = next(iter(columns), None)
    return columns_of(trees, tuple(name_parts(first.name))[:-1] if first else ())
