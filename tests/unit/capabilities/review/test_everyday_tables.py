"""Everyday files for Iceberg, Delta and Hudi raise no error and no warning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.rules import FACTS, codes

HEADER = "-- MIGRATION_DESCRIPTION: Do what the team does each week\n-- MIGRATION_AUTHOR: Data Platform\n\n"
DELTA = replace(FACTS, formats={"spark_catalog": "delta"}, given_parts=1)
HUDI = replace(FACTS, formats={"spark_catalog": "hudi"}, given_parts=1)
ICEBERG_TABLES = (
    "CREATE TABLE lake.sales.orders (order_id BIGINT NOT NULL COMMENT 'id', customer_id BIGINT, status STRING, "
    "amount DECIMAL(12,2), qty INT, order_ts TIMESTAMP, order_date DATE, address STRUCT<city: STRING, zip: "
    "STRING>) USING iceberg PARTITIONED BY (days(order_ts)) TBLPROPERTIES ('format-version'='2');\n"
    "CREATE TABLE lake.sales.customers (customer_id BIGINT NOT NULL, email STRING, tier STRING, updated_at "
    "TIMESTAMP) USING iceberg PARTITIONED BY (bucket(32, customer_id));\n"
    "CREATE TABLE lake.sales.daily (day DATE, country STRING, revenue DECIMAL(18,2)) USING iceberg PARTITIONED BY "
    "(day);\n"
    "CREATE VIEW lake.sales.v_orders AS SELECT order_id, status, amount FROM lake.sales.orders"
)
ICEBERG_FILES = [
    (
        "DELETE FROM lake.sales.orders WHERE order_ts >= TIMESTAMP'2026-05-01 00:00:00' AND order_ts < "
        "TIMESTAMP'2026-05-02 00:00:00' AND status IN ('TEST', 'DRAFT')"
    ),
    (
        "INSERT OVERWRITE lake.sales.daily PARTITION (day = DATE'2026-05-01')\n"
        "SELECT country, sum(amount) AS revenue FROM lake.sales.orders_raw WHERE order_date = DATE'2026-05-01' GROUP "
        "BY country"
    ),
    (
        "SET spark.sql.sources.partitionOverwriteMode=dynamic;\n"
        "INSERT OVERWRITE lake.sales.daily SELECT order_date, country, sum(amount) FROM lake.sales.raw WHERE "
        "order_date BETWEEN DATE'2026-05-01' AND DATE'2026-05-07' GROUP BY 1, 2"
    ),
    (
        "MERGE INTO lake.sales.customers t USING (SELECT customer_id, max_by(email, ts) AS email, max(ts) AS ts FROM "
        "lake.staging.c GROUP BY customer_id) s ON t.customer_id = s.customer_id WHEN MATCHED AND s.ts > t.updated_at "
        "THEN UPDATE SET t.email = s.email, t.updated_at = s.ts WHEN NOT MATCHED THEN INSERT (customer_id, email, "
        "updated_at) VALUES (s.customer_id, s.email, s.ts)"
    ),
    (
        "MERGE INTO lake.sales.orders AS t USING lake.staging.orders AS s ON t.order_id = s.order_id AND t.order_ts >= "
        "TIMESTAMP'2026-05-01 00:00:00' WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    (
        "ALTER TABLE lake.sales.orders ADD COLUMNS (channel STRING COMMENT 'web or shop', discount DECIMAL(12,2) "
        "COMMENT 'in EUR');\n"
        "ALTER TABLE lake.sales.orders ADD COLUMN address.country STRING"
    ),
    (
        "ALTER TABLE lake.sales.orders ALTER COLUMN qty TYPE BIGINT;\n"
        "ALTER TABLE lake.sales.orders ALTER COLUMN amount TYPE DECIMAL(18,2)"
    ),
    (
        "ALTER TABLE lake.sales.orders SET TBLPROPERTIES "
        "('write.target-file-size-bytes'='134217728','write.delete.mode'='merge-on-read','commit.retry.num-retries'='10','history.expire.max-snapshot-age-ms'='1209600000','write.parquet.compression-codec'='zstd')"
    ),
    (
        "CREATE TABLE lake.sales.returns (return_id BIGINT NOT NULL COMMENT 'id', order_id BIGINT NOT NULL, reason "
        "STRING, at TIMESTAMP) USING iceberg PARTITIONED BY (months(at)) COMMENT 'returned parcels' TBLPROPERTIES "
        "('format-version'='2');\n"
        "ALTER TABLE lake.sales.returns SET IDENTIFIER FIELDS return_id;\n"
        "ALTER TABLE lake.sales.returns WRITE ORDERED BY return_id"
    ),
    (
        "CREATE OR REPLACE VIEW lake.sales.v_orders AS SELECT order_id, status, amount, order_date FROM "
        "lake.sales.orders WHERE status <> 'TEST'"
    ),
    (
        "CREATE VIEW lake.sales.v_daily (day, revenue) AS WITH d AS (SELECT order_date, amount FROM lake.sales.orders) "
        "SELECT order_date, sum(amount) FROM d GROUP BY order_date"
    ),
    (
        "CALL lake.system.rewrite_data_files(table => 'sales.orders', where => 'order_ts >= TIMESTAMP \"2026-05-01 "
        "00:00:00\"', options => map('min-input-files','5'))"
    ),
    "CALL lake.system.rewrite_manifests('sales.orders')",
    (
        "ALTER TABLE lake.sales.orders CREATE BRANCH audit_0501 RETAIN 7 DAYS;\n"
        "INSERT INTO lake.sales.orders.branch_audit_0501 (order_id, status) VALUES (1, 'OK');\n"
        "CALL lake.system.fast_forward('sales.orders', 'main', 'audit_0501');\n"
        "ALTER TABLE lake.sales.orders DROP BRANCH audit_0501"
    ),
    "ALTER TABLE lake.sales.orders CREATE TAG before_tax_change RETAIN 365 DAYS",
    (
        "UPDATE lake.sales.orders SET status = 'CLOSED' WHERE status = 'DONE' AND order_ts < TIMESTAMP'2026-01-01 "
        "00:00:00' AND (amount > 0 OR qty = 0)"
    ),
    (
        "DELETE FROM lake.sales.customers WHERE customer_id IN (SELECT customer_id FROM lake.gdpr.requests WHERE "
        "approved AND done = false)"
    ),
    (
        "DELETE FROM lake.sales.customers WHERE NOT EXISTS (SELECT 1 FROM lake.sales.orders o WHERE o.customer_id = "
        "customers.customer_id) AND updated_at < TIMESTAMP'2020-01-01 00:00:00'"
    ),
    (
        "INSERT INTO lake.sales.daily (day, country, revenue) VALUES (DATE'2026-05-01', 'CH', 12.50), "
        "(DATE'2026-05-02', 'CH', 7.00)"
    ),
    (
        "CREATE TABLE lake.sales.top USING iceberg PARTITIONED BY (tier) AS SELECT customer_id, tier FROM "
        "lake.sales.customers WHERE tier = 'gold'"
    ),
    (
        "ALTER TABLE lake.sales.orders ALTER COLUMN status COMMENT 'NEW, OK or DONE';\n"
        "COMMENT ON TABLE lake.sales.orders IS 'one row an order'"
    ),
    (
        "CREATE NAMESPACE IF NOT EXISTS lake.marketing COMMENT 'campaigns';\n"
        "CREATE TABLE lake.marketing.campaigns (id INT NOT NULL, name STRING, starts DATE, budget DECIMAL(12,2)) USING "
        "iceberg"
    ),
    (
        "INSERT INTO lake.sales.daily BY NAME SELECT order_date AS day, 'CH' AS country, sum(amount) AS revenue FROM "
        "lake.sales.orders WHERE order_date = DATE'2026-05-03' GROUP BY order_date"
    ),
    (
        "ALTER TABLE lake.sales.orders WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY customer_id, order_ts DESC "
        "NULLS LAST"
    ),
    "ALTER TABLE lake.sales.orders ALTER COLUMN customer_id DROP NOT NULL",
    (
        "CREATE TABLE lake.iot.raw (device STRING NOT NULL, at TIMESTAMP_NTZ NOT NULL, m MAP<STRING, DOUBLE>, tags "
        "ARRAY<STRING>) USING iceberg PARTITIONED BY (hours(at), bucket(16, device)) TBLPROPERTIES "
        "('format-version'='2','write.distribution-mode'='hash','write.metadata.delete-after-commit.enabled'='true','write.metadata.previous-versions-max'='50')"
    ),
    (
        "CALL lake.system.expire_snapshots(table => 'sales.orders', older_than => TIMESTAMP '2026-01-01 00:00:00', "
        "retain_last => 20)"
    ),
    (
        "BEGIN\n"
        "  DECLARE n INT;\n"
        "  SET n = (SELECT count(*) FROM lake.sales.daily WHERE day = DATE'2026-05-01');\n"
        "  IF n = 0 THEN\n"
        "    INSERT INTO lake.sales.daily VALUES (DATE'2026-05-01','CH',1.00);\n"
        "  END IF;\n"
        "END"
    ),
]
DELTA_TABLES = (
    "CREATE TABLE spark_catalog.sales.orders (order_id BIGINT NOT NULL COMMENT 'id', customer_id BIGINT, status "
    "STRING, amount DECIMAL(12,2), qty INT, order_ts TIMESTAMP, order_date DATE, address STRUCT<city: STRING, zip: "
    "STRING>) USING delta PARTITIONED BY (order_date);\n"
    "CREATE TABLE spark_catalog.sales.customers (customer_id BIGINT NOT NULL, email STRING, tier STRING, "
    "updated_at TIMESTAMP) USING delta PARTITIONED BY (tier);\n"
    "CREATE TABLE spark_catalog.sales.daily (day DATE, country STRING, revenue DECIMAL(18,2)) USING delta "
    "PARTITIONED BY (day)"
)
DELTA_FILES = [
    "DELETE FROM spark_catalog.sales.daily WHERE day = DATE'2026-05-01'",
    (
        "MERGE INTO spark_catalog.sales.orders t USING spark_catalog.staging.orders s ON t.order_id = s.order_id AND "
        "t.order_date = s.order_date WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    "ALTER TABLE spark_catalog.sales.orders ADD COLUMNS (channel STRING)",
    (
        "ALTER TABLE spark_catalog.sales.orders SET TBLPROPERTIES ('delta.deletedFileRetentionDuration'='interval 30 "
        "days','delta.autoOptimize.optimizeWrite'='true','team'='crm')"
    ),
    "OPTIMIZE spark_catalog.sales.orders WHERE order_date = DATE'2026-05-01'",
    (
        "CREATE TABLE spark_catalog.sales.returns (id BIGINT NOT NULL, reason STRING, day DATE) USING delta "
        "PARTITIONED BY (day)"
    ),
    "UPDATE spark_catalog.sales.orders SET status='X' WHERE order_date = DATE'2026-05-01' AND status='Y'",
    (
        "INSERT INTO spark_catalog.sales.daily SELECT order_date, 'CH', sum(amount) FROM spark_catalog.sales.orders "
        "WHERE order_date = DATE'2026-05-01' GROUP BY order_date"
    ),
    "VACUUM spark_catalog.sales.orders RETAIN 720 HOURS",
]
HUDI_TABLES = (
    "CREATE TABLE spark_catalog.sales.orders (order_id BIGINT, status STRING, ts BIGINT, day STRING) USING hudi "
    "PARTITIONED BY (day) TBLPROPERTIES (type='mor', primaryKey='order_id', preCombineField='ts')"
)
HUDI_FILES = [
    (
        "CREATE TABLE spark_catalog.sales.n (id INT, m STRUCT<ts: BIGINT>) USING hudi "
        "OPTIONS (primaryKey='id', preCombineField='m.ts')"
    ),
    (
        "MERGE INTO spark_catalog.sales.orders t USING (SELECT order_id, status, ts, day FROM spark_catalog.staging.o "
        "WHERE day = '2026-05-01') s ON t.order_id = s.order_id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN "
        "INSERT *"
    ),
    "UPDATE spark_catalog.sales.orders SET status = 'X' WHERE order_id = 5",
    "DELETE FROM spark_catalog.sales.orders WHERE day = '2026-05-01'",
    "ALTER TABLE spark_catalog.sales.orders ADD COLUMNS (note STRING)",
    "ALTER TABLE spark_catalog.sales.orders SET TBLPROPERTIES ('hoodie.keep.max.commits'='50')",
    (
        "CREATE TABLE spark_catalog.sales.r (id BIGINT, ts BIGINT, day STRING) USING hudi PARTITIONED BY (day) OPTIONS "
        "(primaryKey='id', preCombineField='ts')"
    ),
    "INSERT INTO spark_catalog.sales.orders VALUES (1, 'NEW', 5, '2026-05-01')",
]


@pytest.mark.parametrize("sql", ICEBERG_FILES)
def test_an_everyday_file_for_iceberg_raises_nothing(sql: str) -> None:
    """An earlier file declares the tables."""
    assert codes(HEADER + ICEBERG_TABLES, HEADER + sql) == []


@pytest.mark.parametrize("sql", DELTA_FILES)
def test_an_everyday_file_for_delta_raises_nothing(sql: str) -> None:
    """An earlier file declares the tables."""
    assert codes(HEADER + DELTA_TABLES, HEADER + sql, facts=DELTA) == []


@pytest.mark.parametrize("sql", HUDI_FILES)
def test_an_everyday_file_for_hudi_raises_nothing(sql: str) -> None:
    """An earlier file declares the table."""
    assert codes(HEADER + HUDI_TABLES, HEADER + sql, facts=HUDI) == []
