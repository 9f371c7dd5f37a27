"""Which types of Spark become types of Iceberg without an engine, and with which ids."""

from __future__ import annotations

import itertools
import json

import pytest

from glacierbase.executors.direct.ddl.types import iceberg_type
from glacierbase.executors.direct.plain_types import why_no_plain_type


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("boolean", "boolean"),
        ("TINYINT", "int"),
        ("short", "int"),
        ("Integer", "int"),
        ("LONG", "long"),
        ("real", "float"),
        ("double", "double"),
        ("dec", "decimal(10, 0)"),
        ("numeric(5)", "decimal(5, 0)"),
        ("decimal(38, 38)", "decimal(38, 38)"),
        ("date", "date"),
        ("timestamp", "timestamptz"),
        ("timestamp_ltz", "timestamptz"),
        ("timestamp_ntz", "timestamp"),
        ("string", "string"),
        ("char(3)", "string"),
        ("varchar(10)", "string"),
        ("binary", "binary"),
    ],
)
def test_a_simple_type_is_stored_as_spark_stores_it(text: str, stored: str) -> None:
    """A type without types inside has one type of Iceberg."""
    assert why_no_plain_type(text) is None
    assert str(iceberg_type(text, lambda: 0)) == stored


def test_the_fields_of_one_level_have_ids_before_those_inside() -> None:
    """Names keep their case, NOT NULL and comments stay, elements and values are optional."""
    text = "struct<X: int NOT NULL COMMENT 'it''s', `y z` array<struct<r:int>>, m map<struct<a:int>, string>>"
    assert why_no_plain_type(text) is None
    ids = itertools.count(10)
    assert json.loads(iceberg_type(text, lambda: next(ids)).model_dump_json()) == {
        "type": "struct",
        "fields": [
            {"id": 10, "name": "X", "type": "int", "required": True, "doc": "it's"},
            {"id": 11, "name": "y z", "required": False, "type": {
                "type": "list", "element-id": 13, "element-required": False, "element": {
                    "type": "struct", "fields": [{"id": 14, "name": "r", "type": "int", "required": False}],
                },
            }},
            {"id": 12, "name": "m", "required": False, "type": {
                "type": "map", "key-id": 15, "value-id": 16, "value-required": False, "value": "string", "key": {
                    "type": "struct", "fields": [{"id": 17, "name": "a", "type": "int", "required": False}],
                },
            }},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "variant", "void", "time", "time(6)", "interval day to second", "geometry(4326)", "timestamp_ns", "uuid", "struct<>",
        "string collate UTF8_LCASE", "decimal(39, 0)", "decimal(0, 0)", "decimal(5, 6)", "varchar", "char(0)", "int(5)",
        "struct<a:int,A:int>", "array<variant>", "map<int>", "struct<a b c: int>", "struct<a.b: int>", "set<int>", "array<int",
        "varchar(1,)", "decimal(1 2)", "", None, "struct<a:" * 2000,
        "array<" * 21 + "int" + ">" * 21,
    ],
)  # fmt: skip
def test_any_other_type_needs_spark(text: str | None) -> None:
    """Types that Spark refuses, or stores otherwise than these, are not plain."""
    assert why_no_plain_type(text)
