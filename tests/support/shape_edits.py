"""Changes of a shape, drawn by Hypothesis: columns at every depth, partitioning, sort order, identifiers and properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from tests.support.shapes import (
    KEYS,
    NAMES,
    TEXTS,
    TRANSFORMS,
    drawn_partition,
    drawn_sort,
    fields,
    identifying,
    sources,
)

WIDER = {"int": "bigint", "float": "double", "decimal(1,0)": "decimal(20,0)"}


@dataclass(frozen=True)
class Node:
    """A column with the fields inside."""

    name: str
    column: Column
    inside: tuple[Node, ...] = ()

    @property
    def kind(self) -> str:
        return self.column.type.partition("<")[0]

    @property
    def type(self) -> str:
        if not self.inside:
            return self.column.type
        types = [node.type for node in self.inside]
        if self.kind == "struct":
            types = [f"{name_of((node.name,))}:{node.type}" for node in self.inside]
        return f"{self.kind}<{','.join(types)}>"

    def columns(self, above: tuple[str, ...] = ()) -> list[Column]:
        path = (*above, self.name)
        inside = [column for node in self.inside for column in node.columns(path)]
        return [replace(self.column, name=name_of(path), type=self.type), *inside]


def tree(columns: Sequence[Column], above: tuple[str, ...] = ()) -> tuple[Node, ...]:
    """Return the columns directly inside a path, with the fields inside each."""
    paths = [(tuple(name_parts(column.name)), column) for column in columns]
    return tuple(Node(path[-1], column, tree(columns, path)) for path, column in paths if path[:-1] == above)


@st.composite
def edited(draw: st.DrawFn, before: Shape, *, drops: bool = True) -> Shape:
    """Draw another shape of a table: what stays has its id.

    Args:
        drops: whether columns may be dropped.
    """
    nodes = draw(_fields(tree(before.columns), 1, drops))
    columns = tuple(column for node in nodes for column in node.columns())
    names = {column.id: column.name for column in columns if column.id is not None}
    ids = {column.name: column.id for column in before.columns}
    moved = {name: names[id_] for name, id_ in ids.items() if id_ in names}
    usable = list(sources(columns))
    return replace(
        before,
        columns=columns,
        format_version=draw(st.sampled_from([before.format_version, before.format_version, 2])),
        partitioning=draw(_partitioning(before, moved, usable)),
        sorting=draw(_sorting(before, moved, usable)),
        identifiers=draw(_identifiers(before, moved, [*identifying(usable, columns)])),
        properties=draw(_properties(before)),
    )


@st.composite
def _fields(draw: st.DrawFn, nodes: Sequence[Node], least: int, drops: bool) -> tuple[Node, ...]:
    """Draw what becomes of the fields of a struct."""
    kept = [draw(_node(node, drops)) for node in nodes if not drops or draw(st.integers(0, 4))]
    if kept and draw(st.integers(0, 5)) == 0:
        names = [node.name for node in kept]
        kept = [replace(node, name=name) for node, name in zip(kept, [*names[1:], names[0]], strict=True)]
    drawn = draw(st.lists(fields(depth=2), min_size=0 if len(kept) >= least else least, max_size=2))
    new = [node for columns in drawn for node in tree(columns)]
    optional = [replace(node, column=replace(node.column, required=draw(_rarely()))) for node in new]
    if not drops and len({node.name.casefold() for node in kept}) < len(kept):
        kept = [replace(node, name=before.name) for node, before in zip(kept, nodes, strict=True)]
    named = {
        node.name.casefold(): node for node in (*optional, *kept)
    }  # A name that is drawn twice is that of the last one.
    return tuple(draw(st.permutations(list(named.values()))) if draw(st.booleans()) else named.values())


def _rarely() -> st.SearchStrategy[bool]:
    return st.integers(0, 59).map(lambda number: number == 0)


@st.composite
def _node(draw: st.DrawFn, node: Node, drops: bool) -> Node:
    """Draw what becomes of a column, or of a field of a struct."""
    name = draw(NAMES | st.just(node.name.swapcase())) if draw(st.integers(0, 3)) == 0 else node.name
    required = (node.column.required and draw(st.booleans())) or draw(_rarely())
    comment = draw(st.none() | TEXTS) if draw(st.integers(0, 3)) == 0 else node.column.comment
    typed = draw(_typed(node, drops))
    return replace(typed, name=name, column=replace(typed.column, required=required, comment=comment))


@st.composite
def _typed(draw: st.DrawFn, node: Node, drops: bool) -> Node:
    if node.kind == "struct":
        return replace(node, inside=draw(_fields(node.inside, 1, drops)))
    if node.kind == "array":
        return replace(node, inside=(draw(_typed(node.inside[0], drops)),))
    if node.kind == "map":
        return replace(node, inside=(node.inside[0], draw(_typed(node.inside[1], drops))))
    if draw(_rarely()):
        return replace(node, column=replace(node.column, type=draw(st.sampled_from(list(TRANSFORMS)))))
    type_ = WIDER.get(node.column.type, node.column.type) if draw(st.booleans()) else node.column.type
    return replace(node, column=replace(node.column, type=type_))


@st.composite
def _partitioning(
    draw: st.DrawFn, before: Shape, moved: dict[str, str], usable: Sequence[Column]
) -> tuple[PartitionField, ...]:
    kept = [
        replace(field, source=moved[field.source])
        for field in before.partitioning
        if field.source in moved and draw(st.integers(0, 3))
    ]
    new = [
        draw(drawn_partition(draw(st.sampled_from(usable)))) for _ in range(draw(st.integers(0, 2)) if usable else 0)
    ]
    types = {column.name: column.type for column in usable}
    by = {(field.source, field.transform): field for field in (*new, *kept) if _fits(field, types)}
    fields_ = list({field.name: field for field in reversed(by.values())}.values())
    return tuple(draw(st.permutations(fields_)) if draw(_rarely()) else fields_)


def _fits(field: PartitionField | SortField, types: dict[str, str]) -> bool:
    return (
        field.transform in ("identity", *TRANSFORMS.get(types.get(field.source, ""), ["-"])) and field.source in types
    )


@st.composite
def _sorting(draw: st.DrawFn, before: Shape, moved: dict[str, str], usable: Sequence[Column]) -> tuple[SortField, ...]:
    types = {column.name: column.type for column in usable}
    kept = [replace(field, source=moved[field.source]) for field in before.sorting if field.source in moved]
    new = [draw(drawn_sort(draw(st.sampled_from(usable)))) for _ in range(draw(st.integers(0, 2)) if usable else 0)]
    chosen = draw(st.sampled_from([kept, kept, [*kept, *new], new, []]))
    return tuple({field.source: field for field in chosen if _fits(field, types)}.values())


@st.composite
def _identifiers(draw: st.DrawFn, before: Shape, moved: dict[str, str], possible: Sequence[str]) -> tuple[str, ...]:
    kept = [moved[name] for name in before.identifiers if moved.get(name) in possible]
    drawn = draw(st.lists(st.sampled_from(possible), unique=True, max_size=3)) if possible else []
    return tuple(draw(st.sampled_from([kept, kept, drawn])))


@st.composite
def _properties(draw: st.DrawFn, before: Shape) -> dict[str, str]:
    kept = {key: value for key, value in before.properties.items() if draw(st.integers(0, 3))}
    return kept | draw(st.dictionaries(KEYS, TEXTS, max_size=2))
