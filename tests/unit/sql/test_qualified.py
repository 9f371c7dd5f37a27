"""Names of tables with their catalog, as a new session of Spark resolves them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.model.catalog import Catalog
from glacierbase.sql.qualified import place_of, qualified

UNITY = {"spark.sql.catalog.main": "io.unitycatalog.spark.UCSingleCatalog"}
ICEBERG = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.defaultCatalog": "lake"}


@pytest.mark.parametrize(
    ("conf", "written", "whole", "place"),
    [
        ({}, "t", "spark_catalog.default.t", ("spark_catalog", "default")),
        ({}, "sales.t", "spark_catalog.sales.t", ("spark_catalog", "sales")),
        # The catalog `main` is the session's or the server's: `spark_catalog` has no namespace `main.sales`.
        ({}, "main.sales.t", "main.sales.t", ("main", "sales")),
        ({}, "a.main.sales.t", "a.main.sales.t", ("a", "main.sales")),
        ({}, "spark_catalog.sales.t", "spark_catalog.sales.t", ("spark_catalog", "sales")),
        (UNITY, "main.sales.t", "main.sales.t", ("main", "sales")),
        (UNITY, "other.sales.t", "other.sales.t", ("other", "sales")),
        (UNITY, "sales.t", "spark_catalog.sales.t", ("spark_catalog", "sales")),
        # Iceberg has namespaces of several levels.
        (ICEBERG, "main.sales.t", "lake.main.sales.t", ("lake", "main.sales")),
        (ICEBERG, "sales.t", "lake.sales.t", ("lake", "sales")),
    ],
)
def test_a_name_of_three_parts_begins_with_a_catalog_where_the_default_one_has_single_levels(
    conf: dict[str, str], written: str, whole: str, place: tuple[str, str], iceberg_catalog: Catalog
) -> None:
    """Unity Catalog's catalogs need not be in the catalog file."""
    catalog = replace(iceberg_catalog, spark_conf=conf)
    assert (qualified(catalog, written), place_of(catalog, written)) == (whole, place)
