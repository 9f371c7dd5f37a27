"""Shapes of Iceberg tables: any that Spark SQL can create, drawn by Hypothesis; and what is compared of two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

# No dot joins two of them to a third: Iceberg refuses two columns of one path.
NAMES = st.sampled_from(
    ["id", "a b", "x.y", "Z", "ünï", "check", "interval", "timestamp", "select", "table", "1", "9lives", "_", " a ", "a`b", "`",
     'a"b', '"', "it's", "a\\b", "-- a", "/* a", ";", "{{ a }}", "##a", "::a", "%s", "日本", "🧊", "element", "key",
     "value", "days"]
)  # fmt: skip
# PyIceberg does not read a table with a dot in its name.
TABLES = st.sampled_from(["t", "select", "table", "My-Table", "1", "a b", "a`b", "Ünï", "🧊"])
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8) | st.sampled_from(
    ["", " ", "'", "it's", '"', "\\", "\\'", "\n", "\r\n", "\0", "\t", "${a}", "$${a}", "{{ a }}", "'; DROP TABLE t; --", "*/",
     "\x1b[2J", "\xad", "\u200b\u202e\u2066\ufeff", "\U000e0001", "👩\u200d🔬", "##[group]", "##vso[a]", "::error::", "\n::error::"]
)  # fmt: skip
KEYS = st.text("abc.", min_size=1, max_size=5) | st.sampled_from(
    [
        "comment",
        "write.distribution-mode",
        "write.parquet.compression-codec",
        "it's",
        "a b",
        "${a}",
        "{{ a }}",
        "\n",
        "🧊",
        "##[a]",
    ]
)
WIDTHS = ["bucket[1]", "bucket[7]", "truncate[10]"]
TIMES = ["year", "month", "day", "hour", "bucket[2]"]
# By primitive type, the transforms by which its values can be partitioned and sorted, identity apart.
TRANSFORMS = {
    "boolean": [], "int": WIDTHS, "bigint": WIDTHS, "float": [], "double": [], "decimal(38,18)": WIDTHS, "decimal(1,0)": WIDTHS,
    "date": [each for each in TIMES if each != "hour"], "timestamp": TIMES, "timestamp_ntz": TIMES, "string": WIDTHS,
    "binary": WIDTHS,
}  # fmt: skip
APPENDED = {"bucket": "_bucket", "truncate": "_trunc"}


@st.composite
def fields(draw: st.DrawFn, above: tuple[str, ...] = (), depth: int = 3) -> list[Column]:
    """Draw a column, or a field of a struct, with the fields inside."""
    return draw(_typed((*above, draw(NAMES)), depth, st.booleans(), st.none() | TEXTS))


@st.composite
def _typed(
    draw: st.DrawFn, path: tuple[str, ...], depth: int, required: st.SearchStrategy[bool],
    comment: st.SearchStrategy[str | None],
) -> list[Column]:  # fmt: skip
    kind = draw(st.sampled_from(["primitive"] * 5 + ["struct", "struct", "array", "map"])) if depth else "primitive"
    column = Column(None, name_of(path), draw(st.sampled_from(list(TRANSFORMS))), draw(required), draw(comment))
    if kind == "primitive":
        return [column]
    inner = draw(_inside(path, depth - 1, kind))
    types = [each[0].type for each in inner]
    if kind == "struct":
        types = [f"{name_of(name_parts(each[0].name)[-1:])}:{each[0].type}" for each in inner]
    return [replace(column, type=f"{kind}<{','.join(types)}>"), *(column for each in inner for column in each)]


def _inside(path: tuple[str, ...], depth: int, kind: str) -> st.SearchStrategy[list[list[Column]]]:
    """Return the fields of a struct, the element of an array, or key and value of a map."""
    if kind == "struct":
        return st.lists(fields(path, depth), min_size=1, max_size=3, unique_by=lambda each: each[0].name.lower())
    nullable, nothing = _typed((*path, "element"), depth, st.just(False), st.none()), st.none()
    if kind == "array":
        return st.tuples(nullable).map(list)
    key = _typed((*path, "key"), 0, st.just(True), nothing)
    return st.tuples(key, _typed((*path, "value"), depth, st.just(False), nothing)).map(list)


@st.composite
def shapes(draw: st.DrawFn, versions: Sequence[int] = (1, 2, 2, 3)) -> Shape:
    """Draw a table."""
    groups = draw(st.lists(fields(), min_size=1, max_size=5, unique_by=lambda each: each[0].name.lower()))
    columns = tuple(column for group in groups for column in group)
    usable = list(sources(columns))
    chosen = st.lists(st.sampled_from(usable), max_size=4) if usable else st.just([])
    partitioning = draw(chosen.flatmap(lambda columns: st.tuples(*map(drawn_partition, columns))))
    unique = {each.name: each for each in partitioning}
    by = {(each.source, each.transform): each for each in unique.values()}
    possible = list(identifying(usable, columns))
    return Shape(
        f"lake.a.{name_of([draw(TABLES)])}", None, "iceberg", draw(st.sampled_from(versions)), columns, tuple(by.values()),
        draw(chosen.flatmap(lambda columns: st.tuples(*map(drawn_sort, {column.name: column for column in columns}.values())))),
        tuple(draw(st.lists(st.sampled_from(possible), unique=True, max_size=3))) if possible else (),
        draw(st.dictionaries(KEYS, TEXTS, max_size=3)),
    )  # fmt: skip


def sources(columns: tuple[Column, ...]) -> Iterator[Column]:
    """Yield the primitive columns, and the fields inside structs only: neither rows nor files are sorted by an element."""
    around = {tuple(name_parts(each.name)): each.type for each in columns}
    for each in columns:
        path = name_parts(each.name)
        is_reached = all(around[tuple(path[:end])].startswith("struct<") for end in range(1, len(path)))
        if is_reached and each.type in TRANSFORMS:
            yield each


def identifying(usable: Sequence[Column], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the names of the columns that Iceberg lets identify a row."""
    return (column.name for column in usable if _identifies(column, columns))


def _identifies(column: Column, columns: Sequence[Column]) -> bool:
    """Return whether Iceberg lets a column identify a row: neither it nor what is around it may be null."""
    path, known = name_parts(column.name), {column.name: column for column in columns}
    around = (known[name_of(path[:end])] for end in range(1, len(path) + 1))
    return column.type not in ("float", "double") and all(each.required for each in around)


@st.composite
def drawn_partition(draw: st.DrawFn, column: Column) -> PartitionField:
    """Draw a field with the name that Iceberg gives to it, or another one."""
    transform = draw(st.sampled_from(["identity", *TRANSFORMS[column.type]]))
    kind, source = transform.partition("[")[0], ".".join(name_parts(column.name))
    given = source if kind == "identity" else source + APPENDED.get(kind, f"_{kind}")
    other = st.sampled_from([source, "by it", "p.q", "P`", "ä"])
    return PartitionField(None, draw(st.just(given) | other), column.name, transform)


@st.composite
def drawn_sort(draw: st.DrawFn, column: Column) -> SortField:
    transform = draw(st.sampled_from(["identity", *TRANSFORMS[column.type]]))
    return SortField(
        column.name, transform, draw(st.sampled_from(["asc", "desc"])), draw(st.sampled_from(["first", "last"]))
    )


def comparable(shape: Shape) -> Shape:
    """Return the shape without what two equal tables do not share: ids, location and owner."""
    return replace(
        shape,
        uuid=None,
        columns=tuple(replace(each, id=None) for each in shape.columns),
        partitioning=tuple(replace(each, id=None) for each in shape.partitioning),
        identifiers=tuple(sorted(shape.identifiers)),  # A set, in the order of the ids.
        properties={key: value for key, value in shape.properties.items() if key != "owner"},
        metadata_location=None,
        schema_id=None,
        spec_id=None,
        sort_order_id=None,
    )
