"""Which tables are read through PyIceberg, and under which names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.model.catalog import Catalog
from glacierbase.sql.qualified import qualified
from glacierbase.stores.live import TableShapes


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
