"""The tables that the statements of a file touch, and the names by which they are read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.apply.touched import touched_tables
from glacierbase.migrations.statements import split_statements
from glacierbase.model.catalog import Catalog


def touched(catalog: Catalog, sql: str) -> dict[str, str | None]:
    return dict(touched_tables(catalog, split_statements(sql, catalog.executor_type)))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ALTER TABLE lake.a.t RENAME TO a.u", {"lake.a.t": "lake.a.t", "a.u": "lake.a.u"}),
        ("ALTER TABLE lake.a.t RENAME TO lake.b.u", {"lake.a.t": "lake.a.t", "lake.b.u": "lake.b.u"}),
        ("ALTER TABLE web.t RENAME TO u", {"web.t": "spark_catalog.web.t", "u": "spark_catalog.web.u"}),
        ("CALL lake.system.rewrite_data_files('a.t')", {"a.t": "lake.a.t"}),
        ("CALL lake.system.rewrite_data_files('lake.a.t')", {"lake.a.t": "lake.a.t"}),
        ("MERGE INTO lake.a.t USING lake.a.s ON t.a = s.a WHEN MATCHED THEN DELETE", {"lake.a.t": "lake.a.t"}),
        ("DELETE FROM delta.`/x/y`", {"delta.`/x/y`": "delta.`/x/y`"}),
        ("USE lake; DROP TABLE a.t; DROP TABLE lake.a.u", {"a.t": None, "lake.a.u": "lake.a.u"}),
        ("SET spark.sql.defaultCatalog=lake; DROP TABLE a.t", {"a.t": None}),
        ("DROP TABLE web.t; USE lake", {"web.t": "spark_catalog.web.t"}),
        ("CREATE VIEW lake.a.v AS SELECT 1; DROP VIEW lake.a.v", {}),
        ("FROBNICATE t", {}),
        ("", {}),
    ],
)
def test_a_file_of_spark(sql: str, expected: dict[str, str | None], iceberg_catalog: Catalog) -> None:
    """A name is completed as Spark completes it; one that a statement of the file decides about is not guessed."""
    conf = {key: value for key, value in iceberg_catalog.spark_conf.items() if key != "spark.sql.defaultCatalog"}
    assert touched(replace(iceberg_catalog, spark_conf=conf), sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ALTER TABLE d.s.t RENAME TO u", {"d.s.t": "d.s.t", "u": "u"}),
        ('USE SCHEMA x; ALTER TABLE t ADD COLUMN a INT; DROP TABLE "d".s.t', {"t": None, '"d".s.t': '"d".s.t'}),
        ("USE WAREHOUSE w; DROP TABLE t", {"t": "t"}),
        ("CREATE TEMPORARY TABLE t (a INT); INSERT INTO t VALUES (1)", {}),
        ("CREATE STREAM s ON TABLE t", {}),
    ],
)
def test_a_file_of_snowflake(sql: str, expected: dict[str, str | None], iceberg_catalog: Catalog) -> None:
    """Its session completes a name, so the name stays as it is written."""
    assert touched(replace(iceberg_catalog, executor_type="snowflake", spark_conf={}), sql) == expected
