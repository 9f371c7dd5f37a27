"""Which tables are read through PyIceberg, and under which names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.types import LongType, NestedField

from glacierbase.errors import StatementRefused, TableNotFound
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import Column, Shape
from glacierbase.record.live import TableShapes
from glacierbase.sql.qualified import qualified


@pytest.mark.parametrize(
    ("name", "default", "expected"),
    [
        ("lake.a.t", None, "lake.a.t"),
        ("a.t", "lake", "lake.a.t"),
        ("a.t", None, "spark_catalog.a.t"),
        ("t", None, "spark_catalog.default.t"),
        ("`a-b`.t", "lake", "lake.`a-b`.t"),
        ("spark_catalog.a.t", "lake", "spark_catalog.a.t"),
        ("delta.`/data/t`", "lake", "delta.`/data/t`"),
    ],
)
def test_a_name_is_resolved_as_a_new_session_does(
    name: str, default: str | None, expected: str, iceberg_catalog: Catalog
) -> None:
    """One table has one name, however a file writes it."""
    conf = {key: value for key, value in iceberg_catalog.spark_conf.items() if key != "spark.sql.defaultCatalog"}
    conf |= {"spark.sql.defaultCatalog": default} if default else {}
    assert qualified(replace(iceberg_catalog, spark_conf=conf), name) == expected


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("lake.a.t", False),
        ("lake.a.`b.c`", True),
        ("delta.`/data/t`", True),
        ("web.events", True),
        ("", True),
    ],
)
def test_only_what_pyiceberg_cannot_open_needs_an_engine(name: str, needed: bool, iceberg_catalog: Catalog) -> None:
    """A dot inside of a name may be read as a namespace of two levels."""
    assert TableShapes(iceberg_catalog).needs_engine(name) is needed


def test_snowflake_is_read_through_its_engine_only(iceberg_catalog: Catalog) -> None:
    """Snowflake's names stay as they are written."""
    catalog = replace(iceberg_catalog, executor_type="snowflake", dialect="snowflake", spark_conf={})
    assert TableShapes(catalog).needs_engine("lake.a.t")
    assert qualified(catalog, '"a b".t') == '"a b".t'


METADATA = new_table_metadata(
    Schema(NestedField(1, "a", LongType())), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "file:///t", {}
).model_dump_json()


class Engine:
    """A session of an engine with one table, and the names of what was requested of it.

    Attributes:
        metadata: the content of the metadata file; None if the table has none.
        described: the shape as the engine describes it.
    """

    def __init__(self, metadata: str | None, described: Shape | None) -> None:
        self.metadata = metadata
        self.described = described
        self.requests: list[str] = []

    def execute(self, sql: str) -> None:
        self.requests.append(sql.partition(" ")[0])
        if self.described is None:
            raise TableNotFound("TABLE_OR_VIEW_NOT_FOUND", "there is no such table")

    def query(self, sql: str) -> Sequence[tuple[Any, ...]]:
        of_file = " text." in sql
        self.requests.append("file" if of_file else "location")
        if self.metadata is None:
            raise StatementRefused("TABLE_OR_VIEW_NOT_FOUND", "no such table of Iceberg")
        return [(self.metadata,)] if of_file else [("file:///old.json",), ("file:///new.json",)]

    def shape(self, table: str) -> Shape | None:
        self.requests.append("description")
        return self.described and replace(self.described, table=table)


ICEBERG, DELTA = Shape("", None, "iceberg", 2, ()), Shape("", "1", "delta", 1, ())
BY_METADATA = ["REFRESH", "location", "file"]


@pytest.mark.parametrize(
    ("metadata", "described", "declared", "requests", "columns"),
    [
        (METADATA, ICEBERG, "org.apache.iceberg.spark.SparkCatalog", BY_METADATA, ["a"]),
        (METADATA, ICEBERG, None, ["description", *BY_METADATA], ["a"]),
        ("compressed", ICEBERG, "org.apache.iceberg.spark.SparkCatalog", [*BY_METADATA, "description"], []),
        (None, DELTA, "org.apache.iceberg.spark.SparkSessionCatalog", [*BY_METADATA[:2], "description"], []),
        (None, DELTA, None, ["description"], []),
        (None, None, "org.apache.iceberg.spark.SparkCatalog", ["REFRESH", "description"], None),
        (None, None, None, ["description"], None),
    ],
)
def test_a_table_of_iceberg_is_described_by_the_engine_only_without_its_metadata(
    metadata: str | None,
    described: Shape | None,
    declared: str | None,
    requests: list[str],
    columns: list[str] | None,
    iceberg_catalog: Catalog,
) -> None:
    """In a catalog of Iceberg, by the catalog file, three requests show everything; elsewhere the format is requested first."""
    conf = {"spark.sql.catalog.far": declared} if declared else {}
    engine = Engine(metadata, described)
    shape = TableShapes(replace(iceberg_catalog, spark_conf=conf)).read("far.a.t", engine)  # type: ignore[arg-type]
    assert engine.requests == requests
    assert (shape and [column.name for column in shape.columns]) == columns
    if columns:
        assert shape
        assert (shape.metadata_location, shape.columns) == (
            "file:///new.json",
            (Column(1, "a", "bigint", required=False),),
        )
