"""Shapes as statements on real Spark: the table that they make has the same shape."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.sql.creates import create_statements, not_creatable
from glacierbase.stores.iceberg.shape import ShapeReader
from tests.support.beds import LakeBed

HOSTILE = "it's a `\"$${x} {{ y }}\n\\'; -- ä\u2028\x1b[2J"
ADDRESS = (
    Column(None, "address", "struct<city:string,`the place`:struct<x:int>>", comment=HOSTILE),
    Column(None, "address.city", "string", required=True, comment="where"),
    Column(None, "address.`the place`", "struct<x:int>"),
    Column(None, "address.`the place`.x", "int"),
)
WHOLE = Shape(
    "lake.NAMESPACE.t",
    None,
    "iceberg",
    2,
    (
        Column(None, "id", "bigint", required=True, comment="of the row"),
        Column(None, "at", "timestamp"),
        Column(None, "select", "string"),
        *ADDRESS,
        Column(None, "tags", "array<struct<name:string>>"),
        Column(None, "tags.element", "struct<name:string>"),
        Column(None, "tags.element.name", "string", comment="of a tag"),
        Column(None, "prices", "map<string,decimal(9,2)>"),
        Column(None, "prices.key", "string", required=True),
        Column(None, "prices.value", "decimal(9,2)"),
    ),
    (
        PartitionField(None, "id_bucket", "id", "bucket[16]"),
        PartitionField(None, "address.city", "address.city", "identity"),
        PartitionField(None, "at_day", "at", "day"),
        PartitionField(None, "short", "select", "truncate[3]"),
        PartitionField(None, "at_hour", "at", "hour"),
    ),
    (SortField("id", "bucket[4]", "desc", "last"), SortField("address.city", "identity", "asc", "last")),
    ("id",),
    {"comment": HOSTILE, "x": HOSTILE, HOSTILE: "y", "write.parquet.compression-codec": "gzip"},
)


class Lake:
    """A namespace of its own, and a reader of its tables."""

    def __init__(self, lake: LakeBed, reader: ShapeReader) -> None:
        self._lake = lake
        self._reader = reader
        self._namespace = f"c{uuid.uuid4().hex[:8]}"
        lake.executor.open_session().execute(f"CREATE NAMESPACE lake.{self._namespace}")

    def made(self, shape: Shape) -> tuple[Shape, Shape]:
        """Make a table of the shape; return what was wanted and what was made, without what may differ."""
        wanted = replace(shape, table=f"lake.{self._namespace}.t{uuid.uuid4().hex[:8]}")
        assert not_creatable(wanted) == []
        with closing(self._lake.executor.open_session()) as session:
            for sql in create_statements(wanted):
                session.execute(sql)
        made = self._reader.read(wanted.table)
        assert made
        return without_ids(wanted), without_ids(made)


@pytest.fixture
def tables(lake: LakeBed) -> Iterator[Lake]:
    """A namespace on the catalog of `lake`."""
    with closing(ShapeReader(lake.catalog)) as reader:
        yield Lake(lake, reader)


def without_ids(shape: Shape) -> Shape:
    """Return the shape without what two equal tables do not share: ids, location and owner."""
    return replace(
        shape,
        uuid=None,
        columns=tuple(replace(each, id=None) for each in shape.columns),
        partitioning=tuple(replace(each, id=None) for each in shape.partitioning),
        properties={key: value for key, value in shape.properties.items() if key != "owner"},
        metadata_location=None,
        schema_id=None,
    )


def test_a_table_with_everything_is_made_anew(tables: Lake) -> None:
    """Nested fields, comments, transforms, sort order, identifiers and hostile texts are those of the shape."""
    wanted, made = tables.made(WHOLE)
    assert made == wanted


def test_a_table_with_little_is_made_anew(tables: Lake) -> None:
    """Its format version stays, and so does the absence of a property that new tables have."""
    wanted, made = tables.made(Shape("lake.a.t", None, "iceberg", 1, (Column(None, "id", "int"),)))
    assert made == wanted


NAMES = st.sampled_from(["id", "a b", "x.y", "Z", "ünï", "check", "interval", "constraint", "1", "not", "a`b", "days"])
TYPES = st.sampled_from(["boolean", "int", "bigint", "double", "decimal(38,18)", "date", "timestamp_ntz", "binary"])
TEXTS = st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
SOURCES = {"bigint": ["identity", "bucket[7]", "truncate[10]"], "date": ["identity", "year", "month", "bucket[2]"]}


@st.composite
def fields(draw: st.DrawFn, above: tuple[str, ...] = (), depth: int = 2) -> list[Column]:
    """Draw a column, or a field of a struct, with the fields inside."""
    name = draw(NAMES)
    path = (*above, name)
    column = Column(None, name_of(path), draw(TYPES), draw(st.booleans()), draw(TEXTS))
    if depth == 0 or draw(st.integers(0, 2)):
        return [column]
    inner = draw(st.lists(fields(path, depth - 1), min_size=1, max_size=2, unique_by=lambda each: each[0].name.lower()))
    types = ",".join(f"{name_of(name_parts(each[0].name)[-1:])}:{each[0].type}" for each in inner)
    return [replace(column, type=f"struct<{types}>"), *(column for each in inner for column in each)]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Draw a table."""
    groups = draw(st.lists(fields(), min_size=1, max_size=4, unique_by=lambda each: each[0].name.lower()))
    columns = tuple(column for group in groups for column in group)
    usable = [each for each in columns if each.type in SOURCES]
    partitioning: list[PartitionField] = []
    sorting: list[SortField] = []
    for number, column in enumerate(usable):
        transforms = st.sampled_from(SOURCES[column.type])
        if draw(st.booleans()):
            partitioning.append(PartitionField(None, f"p{number}", column.name, draw(transforms)))
        if draw(st.booleans()):
            nulls = draw(st.sampled_from(["first", "last"]))
            sorting.append(SortField(column.name, draw(transforms), draw(st.sampled_from(["asc", "desc"])), nulls))
    # Iceberg keeps the fields of a required path only.
    identifiers = sorted(each.name for each in usable if each.required and len(each.name) == 2)
    properties = draw(st.dictionaries(st.text("abc.", min_size=1, max_size=5), TEXTS.filter(bool), max_size=3))
    return Shape(
        "lake.a.t", None, "iceberg", 2, columns, tuple(partitioning), tuple(sorting), tuple(identifiers), properties
    )


@pytest.mark.long
@given(shapes())
@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_table_is_made_anew(tables: Lake, shape: Shape) -> None:
    """Whatever its columns, comments and properties are."""
    wanted, made = tables.made(shape)
    assert made == wanted
