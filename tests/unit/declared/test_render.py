"""A shape as statements of Spark SQL; `tests/engines/test_creates.py` runs them."""

from __future__ import annotations

import pytest

from glacierbase.declared.render import literal, not_creatable, places
from glacierbase.declared.writer import create_statements
from glacierbase.migrations.statements import split_statements
from glacierbase.model.escape import escaped
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

ID = Column(None, "id", "bigint", required=True)


def shape(*columns: Column, partitioning: tuple[PartitionField, ...] = (), **properties: str) -> Shape:
    return Shape("lake.a.t", None, "iceberg", 2, columns or (ID,), partitioning, properties=properties)


def test_the_statements_are_these() -> None:
    """A field whose name PARTITIONED BY would not give is added afterwards, as are those behind it."""
    fields = (
        PartitionField(None, "id_bucket", "id", "bucket[4]"),
        PartitionField(None, "day", "at", "day"),
        PartitionField(None, "id", "id", "identity"),
    )
    table = Shape(
        "lake.`my ns`.t",
        "u",
        "iceberg",
        2,
        (ID, Column(2, "at", "timestamp", comment="it's late")),
        fields,
        (SortField("at", "day", "desc", "last"),),
        ("id",),
        {"comment": "of all", "write.parquet.compression-codec": "zstd", "owner": "me", "write.data.path": "s3://b/x"},
    )
    assert create_statements(table) == [
        "CREATE TABLE lake.`my ns`.t (\n  `id` bigint NOT NULL,\n  `at` timestamp_ltz COMMENT 'it\\'s late'\n)\nUSING iceberg\n"
        "PARTITIONED BY (bucket(4, `id`))\nCOMMENT 'of all'\n"
        "TBLPROPERTIES (\n  'format-version' = '2',\n  'write.parquet.compression-codec' = 'zstd'\n)",
        "ALTER TABLE lake.`my ns`.t ADD PARTITION FIELD days(`at`) AS `day`",
        "ALTER TABLE lake.`my ns`.t ADD PARTITION FIELD `id` AS `id`",
        "ALTER TABLE lake.`my ns`.t WRITE LOCALLY ORDERED BY days(`at`) DESC NULLS LAST",
        "ALTER TABLE lake.`my ns`.t SET IDENTIFIER FIELDS `id`",
    ]
    assert places(table) == {"write.data.path": "s3://b/x"}
    assert not_creatable(table) == []


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (Column(1, "u", "uuid"), "u is of type uuid"),
        (Column(1, "f", "fixed(16)"), "f is of type fixed(16)"),
        (Column(1, "d", "int", default="7"), "d has a default"),
        (Column(1, "`a${b}`", "int"), "the name 'a${b}'"),
        (Column(1, "`a\nb`", "int"), "the name 'a\\nb'"),
        (Column(1, "`a\xadb`", "int"), "the name 'a\\xadb'"),
        (Column(1, "`##[a]`", "int"), "the name '##[a]'"),
        (Column(1, "``", "int"), "the name ''"),
        (Column(1, "ID", "int"), "several columns have the name id"),
    ],
)
def test_what_spark_has_no_words_for_is_named(column: Column, why: str) -> None:
    """No statement leaves it out in silence."""
    assert not_creatable(shape(ID, column)) == [why]


def test_an_element_that_refuses_nulls_is_named() -> None:
    """Spark SQL declares a nullable element and a nullable value; the key of a map is never null."""
    columns = (
        Column(1, "tags", "array<int>"),
        Column(2, "tags.element", "int", required=True),
        Column(3, "m", "map<int,int>"),
        Column(4, "m.key", "int", required=True),
        Column(5, "m.value", "int", required=True),
    )
    assert not_creatable(shape(*columns)) == ["tags.element refuses nulls", "m.value refuses nulls"]


def test_an_unknown_transform_is_named() -> None:
    """A later version of Iceberg may have others."""
    field = PartitionField(None, "x", "id", "zorder")
    assert not_creatable(shape(partitioning=(field,))) == ["id has the transform zorder"]


def test_a_property_that_cannot_be_set_is_named() -> None:
    """Spark refuses its own keys, and Iceberg drops its own."""
    assert not_creatable(shape(**{"provider": "x", "format-version": "3", "a": "b"})) == [
        "it has the property provider", "it has the property format-version",
    ]  # fmt: skip


def test_a_name_of_a_partition_field_is_named() -> None:
    """ADD PARTITION FIELD could not name it."""
    field = PartitionField(None, "a${b}", "id", "bucket[2]")
    assert not_creatable(shape(partitioning=(field,))) == ["the name 'a${b}'"]


@pytest.mark.parametrize(
    "text",
    [
        "'; DROP TABLE t; --",
        "a\\",
        "\\'",
        "${x}",
        "\n\r\0\x1b[2J",
        "$$ -- /*",
        '"',
        "` ;",
        "##[a]",
        "\xad\u200b\U000e0001",
    ],
)
def test_a_hostile_text_stays_one_literal(text: str) -> None:
    """The splitter sees one statement on one line, without control characters, and printing it changes nothing."""
    sql = f"ALTER TABLE t SET TBLPROPERTIES ('a' = {literal(text)})"
    assert [each.text for each in split_statements(sql, "spark")] == [sql]
    assert sql.isprintable()
    assert escaped(sql) == sql
    assert "${" not in sql
