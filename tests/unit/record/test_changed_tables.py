"""The tables that the statements of a file change, and the names by which they are read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.migrations.statements import split_statements
from glacierbase.model.catalog import Catalog
from glacierbase.record.table_records import changed_tables
from glacierbase.sql.file import named


def changed(catalog: Catalog, sql: str) -> dict[str, str | None]:
    return dict(changed_tables(named(split_statements(sql, catalog.dialect), catalog.dialect, catalog)))


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
        ("USE lake; DROP TABLE a.t; DROP TABLE lake.a.u", {"lake.a.t": "lake.a.t", "lake.a.u": "lake.a.u"}),
        ("USE lake.a; DROP TABLE t; USE b; DROP TABLE t", {"lake.a.t": "lake.a.t", "lake.b.t": "lake.b.t"}),
        ("USE lake; USE spark_catalog; DROP TABLE t", {"spark_catalog.default.t": "spark_catalog.default.t"}),
        (
            "USE web; DROP TABLE t; DROP TABLE a.u",
            {"spark_catalog.web.t": "spark_catalog.web.t", "spark_catalog.a.u": "spark_catalog.a.u"},
        ),
        ("SET CATALOG lake; USE SCHEMA `a b`; DROP TABLE t", {"lake.`a b`.t": "lake.`a b`.t"}),
        ("USE lake.a; ALTER TABLE t RENAME TO u", {"lake.a.t": "lake.a.t", "lake.a.u": "lake.a.u"}),
        ("USE lake.a; CALL lake.system.rewrite_data_files('t')", {"lake.a.t": "lake.a.t"}),
        ("USE lake.a; CALL lake.system.rewrite_data_files('b.t')", {"b.t": "lake.b.t"}),
        (
            "USE IDENTIFIER(x); DROP TABLE t; DROP TABLE a.t; DROP TABLE lake.a.u",
            {"t": None, "a.t": None, "lake.a.u": "lake.a.u"},
        ),
        ("USE IDENTIFIER(x); USE lake.a; DROP TABLE t", {"lake.a.t": "lake.a.t"}),
        ("USE unheard.of; DROP TABLE t", {"t": None}),
        ("EXECUTE IMMEDIATE 'USE lake.a'; DROP TABLE t; DROP TABLE lake.a.u", {"t": None, "lake.a.u": "lake.a.u"}),
        ("BEGIN USE lake.a; END; DROP TABLE t", {"t": None}),
        ("DROP TABLE t; USE lake.a; DROP TABLE t", {"t": "spark_catalog.default.t", "lake.a.t": "lake.a.t"}),
        ("SET spark.sql.defaultCatalog=lake; DROP TABLE a.t", {"a.t": None}),
        ("DROP TABLE web.t; USE lake", {"web.t": "spark_catalog.web.t"}),
        ("CREATE VIEW lake.a.v AS SELECT 1; DROP VIEW lake.a.v", {}),
        ("FROBNICATE t", {}),
        ("", {}),
    ],
)
def test_a_file_of_spark(sql: str, expected: dict[str, str | None], iceberg_catalog: Catalog) -> None:
    """A name is completed as Spark completes it, after USE too; one that a statement of the file computes is not guessed."""
    conf = {key: value for key, value in iceberg_catalog.spark_conf.items() if key != "spark.sql.defaultCatalog"}
    assert changed(replace(iceberg_catalog, spark_conf=conf), sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ALTER TABLE d.s.t RENAME TO u", {"d.s.t": "d.s.t", "u": "u"}),
        ('USE SCHEMA x; ALTER TABLE t ADD COLUMN a INT; DROP TABLE "d".s.t', {"x.t": "x.t", '"d".s.t': '"d".s.t'}),
        ('USE SCHEMA "X y"; DROP TABLE t; USE d.s; DROP TABLE t', {'"X y".t': None, "d.s.t": "d.s.t"}),
        ("USE DATABASE d; DROP TABLE t; DROP TABLE s.t", {"t": None, "d.s.t": "d.s.t"}),
        ("USE d; USE SCHEMA s; DROP TABLE t", {"d.s.t": "d.s.t"}),
        ("DROP TABLE t; DROP TABLE s.t; USE SCHEMA x", {"t": None, "s.t": "s.t"}),
        ("DROP TABLE s.t; USE DATABASE d", {"s.t": None}),
        ("USE SCHEMA IDENTIFIER($x); DROP TABLE t; DROP TABLE d.s.t", {"t": None, "d.s.t": "d.s.t"}),
        ("CREATE SCHEMA x; CREATE TABLE x.t (a INT); CREATE TABLE u (a INT)", {"x.t": "x.t", "u": None}),
        ("CREATE SCHEMA d.x; CREATE TABLE x.t (a INT)", {"x.t": None}),
        ("CREATE DATABASE d; CREATE TABLE x.t (a INT)", {"x.t": None}),
        ("USE WAREHOUSE w; DROP TABLE t", {"t": "t"}),
        ("CREATE TEMPORARY TABLE t (a INT); INSERT INTO t VALUES (1)", {}),
        ("CREATE STREAM s ON TABLE t", {}),
    ],
)
def test_a_file_of_snowflake(sql: str, expected: dict[str, str | None], iceberg_catalog: Catalog) -> None:
    """What USE chose completes a name. What the connection chose does not: a name that USE moves away from is not read."""
    assert (
        changed(replace(iceberg_catalog, executor_type="snowflake", dialect="snowflake", spark_conf={}), sql)
        == expected
    )
