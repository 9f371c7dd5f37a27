"""Everyday statements raise no rule about properties, types, names or partitions that stops a reviewer."""

from __future__ import annotations

import re

import pytest

from tests.support.rules import codes

TABLE = """
CREATE TABLE lake.a.t (id BIGINT NOT NULL, name STRING, amount DECIMAL(12,2), ts TIMESTAMP, day DATE,
  tags MAP<STRING, STRING>, items ARRAY<STRUCT<sku: STRING, n: INT>>, p STRUCT<x: INT, y: INT>)
USING iceberg PARTITIONED BY (days(ts))
TBLPROPERTIES ('format-version'='2', 'write.parquet.compression-codec'='zstd', 'write.delete.mode'='merge-on-read')
"""
CONCERNED = re.compile(r"PR1(?:01|02|1[2-9]|2\d)|TY11\d|PA10[6-9]|FL11[178]")
EVERYDAY = (
    "ALTER TABLE lake.a.t ADD COLUMN note STRING COMMENT 'x'",
    "ALTER TABLE lake.a.t ADD COLUMNS (n1 INT AFTER id, n2 STRUCT<a: INT>)",
    "ALTER TABLE lake.a.t ADD COLUMN p.z INT AFTER x",
    "ALTER TABLE lake.a.t ADD COLUMN items.element.price DECIMAL(10,2)",
    "ALTER TABLE lake.a.t ALTER COLUMN amount TYPE DECIMAL(14,2)",
    "ALTER TABLE lake.a.t ALTER COLUMN Name COMMENT 'y'",
    (
        "ALTER TABLE lake.a.t SET TBLPROPERTIES "
        "('write.target-file-size-bytes'='268435456','commit.retry.num-retries'='10','history.expire.max-snapshot-age-ms'='604800000')"
    ),
    "ALTER TABLE lake.a.t REPLACE PARTITION FIELD days(ts) WITH hours(ts)",
    "ALTER TABLE lake.a.t REPLACE PARTITION FIELD ts_day WITH months(ts)",
    "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(16, id) AS shard",
    "ALTER TABLE lake.a.t DROP PARTITION FIELD days(ts)",
    "ALTER TABLE lake.a.t DROP PARTITION FIELD ts_day",
    "ALTER TABLE lake.a.t WRITE ORDERED BY id, ts DESC",
    "ALTER TABLE lake.a.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id",
    "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS id",
    "CREATE OR REPLACE VIEW lake.a.v AS SELECT id, name FROM lake.a.t",
    "ALTER TABLE lake.a.t RENAME COLUMN name TO full_name",
    "INSERT INTO lake.a.t (id, name) VALUES (1,'a')",
    "INSERT INTO lake.a.t SELECT * FROM lake.a.s",
    (
        "MERGE INTO lake.a.t t USING lake.a.s s ON t.id=s.id WHEN MATCHED THEN UPDATE SET name = s.name "
        "WHEN NOT MATCHED THEN INSERT (id,name) VALUES (s.id, s.name)"
    ),
    "CREATE TABLE lake.a.c USING iceberg AS SELECT id FROM lake.a.t",
    "CREATE NAMESPACE lake.n",
    "COMMENT ON TABLE lake.a.t IS 'x'",
    "ALTER TABLE lake.a.t CREATE TAG x",
    "CALL lake.system.rewrite_data_files(table => 'a.t', options => map('rewrite-all','true'))",
    "DELETE FROM lake.a.t WHERE id=1",
    "UPDATE lake.a.t SET name='x' WHERE id=1",
    "ALTER TABLE lake.a.t SET TBLPROPERTIES ('owner.team'='x','comment'='y')",
    (
        "CREATE TABLE lake.a.e (k STRING, v VARCHAR(20), c CHAR(2), b BINARY, n NUMERIC(10), tz "
        "TIMESTAMP_NTZ, l ARRAY<INT>, f FLOAT, bo BOOLEAN, s SMALLINT) USING iceberg PARTITIONED BY "
        "(truncate(4, k), bucket(8, v), day(tz))"
    ),
    "DROP TABLE lake.a.t; CREATE TABLE lake.a.t (id BIGINT) USING iceberg",
    "ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('write.delete.mode')",
    "CREATE TABLE IF NOT EXISTS lake.a.t (id INT) USING iceberg",
    "ALTER TABLE lake.a.t ADD COLUMN gps STRUCT<lat: DOUBLE, lon: DOUBLE>",
    "SET spark.sql.shuffle.partitions=10",
    "ALTER TABLE lake.a.t DROP COLUMN name",
    "BEGIN INSERT INTO lake.a.t (id) VALUES (1); END",
    "CREATE TABLE lake.a.h (id INT) USING iceberg PARTITIONED BY (dt STRING)",
    "CREATE FUNCTION lake.a.f AS 'x'",
    "TRUNCATE TABLE lake.a.t",
    "DESCRIBE lake.a.t",
    "CREATE TABLE lake.a.q (id INT, region STRING) PARTITIONED BY (region)",
    "ALTER TABLE lake.a.t RENAME TO lake.a.u; ALTER TABLE lake.a.u ADD COLUMN zz INT",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "REFRESH TABLE lake.a.t",
    "SHOW TABLES IN lake.a",
    "INSERT OVERWRITE lake.a.t PARTITION (day) SELECT * FROM lake.a.s",
)


@pytest.mark.parametrize("sql", EVERYDAY)
def test_an_everyday_statement_raises_none_of_these_rules(sql: str) -> None:
    """The table that the statement changes is declared by an earlier file."""
    assert [code for code in codes(TABLE, sql) if CONCERNED.fullmatch(code)] == []


def test_a_catalog_is_another_one_if_its_name_differs_in_case() -> None:
    """Spark finds no catalog `LAKE` where `lake` is declared."""
    assert "FL111" in codes("ALTER TABLE LAKE.a.t ADD COLUMN note STRING")


def test_a_table_that_is_created_again_after_its_drop_is_known() -> None:
    """The drop ends what is known, and the new table has the new columns only."""
    files = (TABLE, "DROP TABLE lake.a.t", "CREATE TABLE lake.a.t (id BIGINT) USING iceberg")
    assert "TY114" in codes(*files, "ALTER TABLE lake.a.t ALTER COLUMN name COMMENT 'x'")
    assert not {"TY116", "TY117"} & set(codes(*files, "ALTER TABLE lake.a.t ADD COLUMN note STRING"))
