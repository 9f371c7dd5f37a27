"""Differences as statements on real Spark: they turn a table of one shape into one of the other."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from glacierbase.declared.writer import alteration, create_statements
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.model.differences import compare
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from tests.support.beds import LakeBed

HOSTILE = "it's a `\"$${x} {{ y }}\n\\'; -- ä\u2028"
START = Shape(
    "lake.NAMESPACE.t",
    None,
    "iceberg",
    2,
    (
        Column(None, "id", "bigint", required=True, comment="of the row"),
        Column(None, "at", "timestamp"),
        Column(None, "small", "int"),
        Column(None, "price", "decimal(9,2)", comment="net"),
        Column(None, "home", "struct<city:string,zip:int>"),
        Column(None, "home.city", "string"),
        Column(None, "home.zip", "int"),
        Column(None, "tags", "array<struct<name:string>>"),
        Column(None, "tags.element", "struct<name:string>"),
        Column(None, "tags.element.name", "string"),
        Column(None, "old", "string"),
        Column(None, "older", "string"),
    ),
    (PartitionField(None, "at_day", "at", "day"), PartitionField(None, "old", "old", "identity")),
    (SortField("id", "identity", "asc", "first"),),
    ("id",),
    {"comment": "all", "x": "1", "y": "2", "write.parquet.compression-codec": "gzip"},
)
Edit = Callable[[Column], "Column | None"]


def columns(shape: Shape, **edits: Edit) -> tuple[Column, ...]:
    """Return the columns after edits by name, in which `__` stands for a dot; None drops a column."""
    by_name = {name.replace("__", "."): edit for name, edit in edits.items()}
    edited = ((by_name[each.name](each) if each.name in by_name else each) for each in shape.columns)
    return tuple(each for each in edited if each)


def drop(_: Column) -> None:
    return None


def with_(**values: object) -> Edit:
    return lambda column: replace(column, **values)  # type: ignore[arg-type]


def everything(start: Shape) -> Shape:
    """Columns, nested fields, partitions, sort order, identifiers, properties and the comment of the table."""
    edited = columns(
        start,
        id=with_(comment=None),
        small=with_(type="bigint", comment=HOSTILE),
        price=with_(type="decimal(18,2)", name="`net price`"),
        home=with_(name="address", type="struct<town:string>"),
        home__city=with_(name="address.town"),
        home__zip=drop,
        tags=with_(type="array<struct<name:string,rank:int>>"),
        tags__element=with_(type="struct<name:string,rank:int>"),
        old=drop,
        older=with_(name="old"),
    )
    at = next(index for index, each in enumerate(edited) if each.name == "tags.element.name") + 1
    new = (Column(900, "box", "struct<a:int,b:array<string>>", comment="new"), Column(901, "box.a", "int", True))
    more = (Column(902, "box.b", "array<string>"), Column(903, "box.b.element", "string"))
    rank = Column(904, "tags.element.rank", "int")
    return replace(
        start,
        columns=(*new, *more, *edited[:at], rank, *edited[at:]),
        partitioning=(start.partitioning[0], PartitionField(None, "a b", "id", "bucket[8]")),
        sorting=(SortField("at", "hour", "desc", "last"),),
        identifiers=(),
        properties={"y": HOSTILE, "z": "3", "comment": HOSTILE, "write.parquet.compression-codec": "gzip"},
    )


def nothing_left(start: Shape) -> Shape:
    """No sort order, partitions and comment, an optional column, the columns in reverse, exchanged names and other letters."""
    top = [each for each in start.columns if "." not in each.name]
    ordered = [inside for each in reversed(top) for inside in start.columns if inside.name.split(".")[0] == each.name]
    names = {"small": "older", "older": "small", "price": "Price"}
    optional = tuple(replace(column, required=False, name=names.get(column.name, column.name)) for column in ordered)
    properties = {key: value for key, value in start.properties.items() if key != "comment"}
    return replace(start, columns=optional, partitioning=(), sorting=(), identifiers=(), properties=properties)


@pytest.fixture
def start(lake: LakeBed) -> Iterator[tuple[Callable[[str], object], Callable[[], Shape]]]:
    """A table of the shape `START`: what runs a statement, and what reads the table."""
    namespace = f"a{uuid.uuid4().hex[:8]}"
    table = f"lake.{namespace}.t"
    with closing(ShapeReader(lake.catalog)) as reader, closing(lake.executor.open_session()) as session:

        def read() -> Shape:
            found = reader.read(table)
            assert found
            return found

        for sql in (f"CREATE NAMESPACE lake.{namespace}", *create_statements(replace(START, table=table))):
            session.execute(sql)
        yield session.execute, read


@pytest.mark.parametrize("change", [everything, nothing_left])
def test_the_statements_turn_one_shape_into_the_other(
    change: Callable[[Shape], Shape], start: tuple[Callable[[str], object], Callable[[], Shape]]
) -> None:
    """No difference is left but the ids of what is new, and renamed columns keep theirs."""
    execute, read = start
    before = read()
    wanted = change(before)
    alters = alteration(before, wanted)
    assert alters.impossible == ()
    for sql in alters.statements:
        execute(sql)
    made = read()
    assert [
        each.line() for change in compare({"t": without_ids(wanted)}, {"t": without_ids(made)}) for each in change.diff
    ] == []
    kept = {each.id for each in before.columns}
    assert {each.name: each.id for each in made.columns if each.id in kept} == {
        each.name: each.id for each in wanted.columns if each.id in kept
    }


def without_ids(shape: Shape) -> Shape:
    return replace(shape, columns=tuple(replace(each, id=None) for each in shape.columns))
