"""The shapes of Iceberg tables as PyIceberg reads them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField as Partitioned
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import NullOrder, SortDirection, SortOrder
from pyiceberg.table.sorting import SortField as Sorted
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, VoidTransform
from pyiceberg.types import (
    DecimalType,
    FixedType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from glacierbase.errors import ConfigurationError
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

LAKE = "spark.sql.catalog.lake"


@pytest.fixture
def vendor(iceberg_catalog: Catalog) -> SqlCatalog:
    """The catalog `lake`, opened by another client, with the namespace `a`."""
    file = database_of(iceberg_catalog)
    file.parent.mkdir(parents=True, exist_ok=True)
    vendor = SqlCatalog("lake", uri=f"sqlite:///{file}", warehouse=iceberg_catalog.spark_conf[f"{LAKE}.warehouse"])
    vendor.create_namespace("a")
    return vendor


@pytest.fixture
def reader(iceberg_catalog: Catalog) -> Iterator[ShapeReader]:
    """A reader of the catalog's tables."""
    with closing(ShapeReader(iceberg_catalog)) as reader:
        yield reader


def database_of(catalog: Catalog) -> Path:
    return Path(catalog.spark_conf[f"{LAKE}.uri"].removeprefix("jdbc:sqlite:").partition("?")[0])


def create(vendor: SqlCatalog, *fields: NestedField, version: str = "2") -> None:
    vendor.create_table("a.t", Schema(*fields), properties={"format-version": version})


def read(reader: ShapeReader, table: str = "lake.a.t") -> Shape:
    shape = reader.read(table)
    assert shape
    return shape


def test_a_table_is_read_whole(vendor: SqlCatalog, reader: ShapeReader) -> None:
    """Names, ids, types, comments, partitioning, sort order, identifiers and properties are those of the table."""
    table = vendor.create_table(
        "a.t",
        Schema(
            NestedField(1, "id", LongType(), required=True, doc="of the user"),
            NestedField(2, "at", TimestamptzType()),
            identifier_field_ids=[1],
        ),
        partition_spec=PartitionSpec(Partitioned(2, 1000, DayTransform(), "at_day")),
        sort_order=SortOrder(
            Sorted(1, BucketTransform(4), SortDirection.DESC, NullOrder.NULLS_FIRST), Sorted(2, IdentityTransform())
        ),
        properties={"write.format.default": "orc", "format-version": "2"},
    )
    assert read(reader) == Shape(
        table="lake.a.t",
        uuid=str(table.metadata.table_uuid),
        format="iceberg",
        format_version=2,
        columns=(
            Column(1, "id", "bigint", required=True, comment="of the user"),
            Column(2, "at", "timestamp"),
        ),
        partitioning=(PartitionField(1000, "at_day", "at", "day"),),
        sorting=(SortField("id", "bucket[4]", "desc", "first"), SortField("at", "identity", "asc", "first")),
        identifiers=("id",),
        properties={"write.format.default": "orc"},
        metadata_location=table.metadata_location,
        schema_id=0,
        spec_id=0,
        sort_order_id=1,
    )


def test_the_fields_inside_a_column_follow_it(vendor: SqlCatalog, reader: ShapeReader) -> None:
    """Each has its id and its path, in which a name with a dot is quoted."""
    prices = MapType(10, StringType(), 11, StructType(NestedField(12, "net.eur", DecimalType(9, 2), required=True)))
    tags = ListType(20, StructType(NestedField(21, "name", StringType(), doc="of a tag")), element_required=True)
    create(vendor, NestedField(1, "prices", prices), NestedField(2, "tags", tags))
    assert read(reader).columns == (
        Column(1, "prices", "map<string,struct<`net.eur`:decimal(9,2)>>"),
        Column(3, "prices.key", "string", required=True),
        Column(4, "prices.value", "struct<`net.eur`:decimal(9,2)>", required=True),
        Column(5, "prices.value.`net.eur`", "decimal(9,2)", required=True),
        Column(2, "tags", "array<struct<name:string>>"),
        Column(6, "tags.element", "struct<name:string>", required=True),
        Column(7, "tags.element.name", "string", comment="of a tag"),
    )


def test_types_that_spark_lacks_keep_their_names(vendor: SqlCatalog, reader: ShapeReader) -> None:
    """Spark shows a uuid as a string, but a table with a string is another one."""
    create(
        vendor,
        NestedField(1, "u", UUIDType()),
        NestedField(2, "f", FixedType(16)),
        NestedField(3, "local", TimestampType()),
    )
    assert [column.type for column in read(reader).columns] == ["uuid", "fixed(16)", "timestamp_ntz"]


def test_a_renamed_column_keeps_its_id(vendor: SqlCatalog, reader: ShapeReader) -> None:
    """The schema's id and the metadata's location show that the table was changed."""
    create(vendor, NestedField(1, "old", IntegerType()))
    before = read(reader)
    with vendor.load_table("a.t").update_schema() as update:
        update.rename_column("old", "new")
    after = read(reader)
    assert after == replace(
        before, columns=(Column(1, "new", "int"),), schema_id=1, metadata_location=after.metadata_location
    )
    assert after.metadata_location != before.metadata_location


def test_a_removed_partition_field_is_none(vendor: SqlCatalog, reader: ShapeReader) -> None:
    """Format version 1 keeps it with the transform `void`, which partitions by nothing."""
    vendor.create_table(
        "a.t",
        Schema(NestedField(1, "id", LongType())),
        partition_spec=PartitionSpec(Partitioned(1, 1000, VoidTransform(), "id_bucket")),
        properties={"format-version": "1"},
    )
    shape = read(reader)
    assert (shape.format_version, shape.partitioning) == (1, ())


@pytest.mark.parametrize("name", ["lake.a.missing", "lake.missing.t", "a.t", "t", "", "lake.`a.t`"])
def test_no_table_has_no_shape(vendor: SqlCatalog, reader: ShapeReader, name: str) -> None:
    """A missing table, and a name that does not begin with its catalog and so depends on `USE`, have no shape."""
    create(vendor, NestedField(1, "id", LongType()))
    assert reader.read(name) is None


def test_reading_creates_no_database(reader: ShapeReader, iceberg_catalog: Catalog) -> None:
    """A catalog whose SQLite file does not exist has no tables."""
    assert reader.read("lake.a.t") is None
    assert not database_of(iceberg_catalog).exists()


def test_a_catalog_that_pyiceberg_cannot_open_is_named(reader: ShapeReader) -> None:
    """The error says which catalog it is."""
    with pytest.raises(ConfigurationError, match="PyIceberg cannot open the catalog other"):
        reader.read("other.a.t")


def test_a_shape_is_a_value(vendor: SqlCatalog, reader: ShapeReader) -> None:
    """A shape can be compared, kept in a set, and turned into plain values with its field names."""
    create(vendor, NestedField(1, "id", LongType()))
    first, second = read(reader), read(reader)
    assert {first, second} == {first}
    assert asdict(first)["columns"] == (
        {"id": 1, "name": "id", "type": "bigint", "required": False, "comment": None, "default": None},
    )


def test_a_shape_from_metadata_loads_nothing_that_reads_files() -> None:
    """Reviews read metadata that they hold in memory, and the import of PyArrow would take longer than all else they do."""
    metadata = new_table_metadata(
        Schema(NestedField(1, "id", LongType())), PartitionSpec(), SortOrder(), "memory://t", {}
    )
    code = (
        "import sys; from glacierbase.executors.pyiceberg.shape import shape_from_json; "
        "print(shape_from_json('lake.a.t', sys.stdin.read()).columns[0].name, 'pyarrow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=metadata.model_dump_json(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["id", "False"]
