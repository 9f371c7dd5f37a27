"""The statements by which a review tries a table: built from its shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.capabilities.review.trials import kind_of, may_differ, table_trials
from glacierbase.model.shape import Column, PartitionField, Shape

TABLE = Shape(
    table="lake.shop.`a.b`",
    uuid="u",
    format="iceberg",
    format_version=2,
    columns=(
        Column(1, "id", "bigint", required=True),
        Column(2, "tags", "array<string>"),
        Column(3, "tags.element", "string"),
    ),
)
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def statements(shape: Shape) -> dict[str, str]:
    return {trial.action: trial.sql for trial in table_trials(shape)}


def test_a_table_is_read_and_written_by_statements_that_fit_its_columns() -> None:
    """An optional column without a simple type gets no value; no row is deleted where no file of deletes is written."""
    assert statements(TABLE) == {
        "SELECT": "SELECT * FROM lake.shop.`a.b` LIMIT 1",
        "INSERT": "INSERT INTO lake.shop.`a.b` SELECT * FROM VALUES (CAST('0' AS bigint), NULL), (CAST('1' AS bigint), NULL)"
        " AS rows(`id`, `tags`)",
        "DELETE": "DELETE FROM lake.shop.`a.b` WHERE false",
    }


def test_one_row_of_a_file_is_deleted_where_that_writes_a_file_of_deletes() -> None:
    """Rows of two partitions are in two files: a column of the partitioning does not tell rows of one file apart."""
    shape = replace(TABLE, properties=MERGE_ON_READ)
    assert statements(shape)["DELETE"].endswith("WHERE id = CAST('1' AS bigint)")
    partitioned = replace(shape, partitioning=(PartitionField(1000, "id", "id", "identity"),))
    assert statements(partitioned)["DELETE"].endswith("WHERE false")


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        (
            [Column(4, "s", "struct<`it s`:int>", True), Column(5, "s.`it s`", "int", True)],
            "named_struct('it s', CAST('0' AS int))",
        ),
        ([Column(4, "u", "uuid", True)], "'00000000-0000-0000-0000-000000000000'"),
        ([Column(4, "f", "fixed(2)", True)], "CAST('00' AS binary)"),
        ([Column(4, "d", "decimal(2,2)", True)], "CAST('0' AS decimal(2,2))"),
        ([Column(4, "m", "map<int,int>", True)], "map()"),
        ([Column(4, "g", "geometry(srid:0)", True)], None),
    ],
)
def test_a_required_column_gets_a_value_of_its_type(columns: list[Column], value: str | None) -> None:
    """A table with a required column of another type is not written."""
    sql = statements(replace(TABLE, columns=tuple(columns))).get("INSERT")
    assert sql is None if value is None else f"VALUES ({value})" in (sql or "")


def test_a_table_whose_writers_need_more_than_the_copy_has_is_only_read() -> None:
    """The copy has no class that a property names, and no keys."""
    assert list(statements(replace(TABLE, properties={"write.location-provider.impl": "com.acme.Places"}))) == [
        "SELECT"
    ]


def test_a_table_is_tried_where_the_engine_may_treat_it_in_another_way() -> None:
    """Names of columns do not matter, unless they may be reserved; numbers matter only to writers."""
    more = replace(TABLE, columns=(*TABLE.columns, Column(9, "more", "bigint", required=True)))
    assert not may_differ(TABLE, more)
    assert kind_of(TABLE) == kind_of(more)
    assert may_differ(None, TABLE)
    assert may_differ(more, TABLE)  # A dropped column may be one of an older partitioning.
    assert may_differ(TABLE, replace(TABLE, columns=(*TABLE.columns, Column(9, "_file", "bigint", required=True))))
    assert may_differ(TABLE, replace(TABLE, properties=MERGE_ON_READ))
    retries = [replace(TABLE, properties={"commit.retry.num-retries": number}) for number in ("4", "10", "ten")]
    assert not may_differ(retries[0], retries[1])
    assert may_differ(retries[0], retries[2])
    sizes = [replace(TABLE, properties={"write.parquet.page-size-bytes": number}) for number in ("4", "-1")]
    assert may_differ(*sizes)
