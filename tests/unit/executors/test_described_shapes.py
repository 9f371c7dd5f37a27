"""The shapes of tables from what an engine describes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from glacierbase.executors.snowflake.shape import shape_of
from glacierbase.executors.spark.shape import columns_of, read_shape
from glacierbase.model.shape import Column


def field(name: str, kind: Any, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def test_columns_of_spark_are_spelled_as_those_of_iceberg_are() -> None:
    """A field inside a column follows it; ids are those of Delta's column mapping; columns of Hudi's own are left out."""
    inner = {"type": "struct", "fields": [field("c d", "string")]}
    fields = [
        field("_hoodie_commit_time", "string"),
        field("id", "long", nullable=False, comment="key", **{"delta.columnMapping.id": 1}),
        field("code", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(10)", CURRENT_DEFAULT="'x'"),
        field("n", "integer", CURRENT_DEFAULT="42"),
        field("list", {"type": "array", "elementType": inner, "containsNull": False}),
        field("map", {"type": "map", "keyType": "string", "valueType": "decimal(10,2)", "valueContainsNull": True}),
    ]
    assert list(columns_of(fields)) == [
        Column(1, "id", "bigint", required=True, comment="key"),
        Column(None, "code", "varchar(10)", default="\"'x'\""),
        Column(None, "n", "int", default="42"),
        Column(None, "list", "array<struct<`c d`:string>>"),
        Column(None, "list.element", "struct<`c d`:string>", required=True),
        Column(None, "list.element.`c d`", "string"),
        Column(None, "map", "map<string,decimal(10,2)>"),
        Column(None, "map.key", "string", required=True),
        Column(None, "map.value", "decimal(10,2)"),
    ]


class Described:
    """A Spark that describes one table of Hudi."""

    def __init__(self, **properties: str) -> None:
        details = [
            ("id", "bigint", None),
            ("", "", ""),
            ("# Detailed Table Information", "", ""),
            ("Provider", "hudi", ""),
        ]
        self._rows = {"DESCRIBE": details, "SHOW": list(properties.items())}

    def sql(self, sql: str) -> Any:
        return SimpleNamespace(collect=lambda: self._rows.get(sql.partition(" ")[0], []))

    def table(self, _: str) -> Any:
        return SimpleNamespace(schema=SimpleNamespace(json=lambda: json.dumps({"fields": [field("id", "long")]})))


def test_what_an_engine_counts_and_where_files_are_is_no_part_of_a_shape() -> None:
    """A write, a column, or another way to load the table would each look like a change of a property."""
    counted = {"current-snapshot-id": "7", "delta.columnMapping.maxColumnId": "3", "last_commit_time_sync": "20261101"}
    places = {"path": "file:/lake/t", "option.path": "file:/lake/t"}
    found = read_shape(Described(**counted, **places, primaryKey="id"), "t")
    assert found
    assert found.properties == {"primaryKey": "id"}


def test_a_table_of_snowflake_has_its_primary_key() -> None:
    """Names are written as SQL needs them."""
    rows = [
        ("ID", "NUMBER(38,0)", "COLUMN", "N", None, "Y", "N", None, None, "the key"),
        ('odd "name"', "VARCHAR(10)", "COLUMN", "Y", "'a'", "N", "N", None, None, None),
    ]
    shape = shape_of("DEMO.S.T", rows)
    assert shape.columns == (
        Column(None, "ID", "NUMBER(38,0)", required=True, comment="the key"),
        Column(None, '"odd ""name"""', "VARCHAR(10)", default="\"'a'\""),
    )
    assert (shape.table, shape.format, shape.uuid, shape.identifiers) == ("DEMO.S.T", "snowflake", None, ("ID",))
