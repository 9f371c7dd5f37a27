"""Files on Snowflake: each hazard has its finding, and everyday files have none."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.review.rule import Facts
from tests.support.rules import codes, findings

SNOWFLAKE = Facts(engine="snowflake", given_parts=2)
ORDERS = "CREATE TABLE db.s.orders (id NUMBER(38,0) NOT NULL, name VARCHAR(100), amount NUMBER(12,2), note TEXT)"
# The earlier file, the file, and the code.
HAZARDS = [
    (ORDERS, "CREATE OR REPLACE TABLE db.s.orders (id NUMBER)", "SF101"),
    ("", "create or replace iceberg table db.s.orders (id number) base_location = 'x'", "SF101"),
    ("", "DROP STREAM IF EXISTS db.s.orders_stream", "SF105"),
    ("", "drop pipe db.s.p", "SF105"),
    ("", "DROP STAGE db.s.landing", "SF105"),
    ("", "DROP TASK db.s.t", "SF105"),
    ("", "DROP SEQUENCE db.s.ids", "SF105"),
    ("", "DROP FILE FORMAT db.s.csv", "SF105"),
    ("", "CREATE OR REPLACE STREAM db.s.st ON TABLE db.s.orders", "SF106"),
    ("", "CREATE OR REPLACE PIPE db.s.p AUTO_INGEST = TRUE AS COPY INTO db.s.orders FROM @db.s.files", "SF106"),
    ("", "CREATE OR REPLACE STAGE db.s.landing", "SF106"),
    ("", "CREATE OR REPLACE SEQUENCE db.s.ids START = 1", "SF106"),
    ("", "CREATE OR REPLACE DYNAMIC TABLE db.s.d TARGET_LAG = '1 hour' WAREHOUSE = w AS SELECT id FROM db.s.orders", "SF106"),
    ("CREATE FILE FORMAT db.s.csv TYPE = CSV", "CREATE OR REPLACE FILE FORMAT db.s.csv TYPE = CSV SKIP_HEADER = 1", "SF106"),
    ("CREATE STAGE db.s.ext URL = 's3://b/x'", "CREATE OR REPLACE STAGE db.s.ext URL = 's3://b/y'", "SF106"),
    ("", "DROP ROLE analyst", "SF107"),
    ("", "DROP USER IF EXISTS loader", "SF107"),
    ("", "DROP SHARE partner", "SF107"),
    ("", "DROP WAREHOUSE loading", "SF107"),
    ("", "DROP STORAGE INTEGRATION s3", "SF107"),
    ("", "DROP MASKING POLICY db.s.mask", "SF107"),
    ("", "DROP ROW ACCESS POLICY db.s.region", "SF107"),
    ("", "DROP NETWORK POLICY office", "SF107"),
    ("", "DROP TAG db.s.pii", "SF107"),
    ("", "CREATE OR REPLACE MASKING POLICY db.s.mask AS (v STRING) RETURNS STRING -> '***'", "SF107"),
    ("", "CREATE OR REPLACE ROW ACCESS POLICY db.s.r AS (v STRING) RETURNS BOOLEAN -> TRUE", "SF107"),
    ("", "CREATE OR REPLACE TAG db.s.pii", "SF107"),
    ("", "CREATE OR REPLACE WAREHOUSE loading WAREHOUSE_SIZE = LARGE", "SF107"),
    ("", "DROP SCHEMA db.s", "SF108"),
    ("", "DROP SCHEMA IF EXISTS db.s RESTRICT", "SF108"),
    ("", "DROP DATABASE db", "SF108"),
    ("", "DROP SCHEMA db.s CASCADE", "SF108"),
    ("", "CREATE OR REPLACE SCHEMA db.s", "SF108"),
    ("", "CREATE OR REPLACE DATABASE db CLONE other", "SF108"),
    ("", "ALTER TABLE db.s.orders SWAP WITH db.s.orders_new", "SF109"),
    ("", "ALTER DYNAMIC TABLE db.s.a SWAP WITH db.s.b", "SF109"),
    ("", "ALTER TABLE db.s.u MODIFY COLUMN email UNSET MASKING POLICY", "SF110"),
    ("", "ALTER TABLE db.s.u DROP ROW ACCESS POLICY db.s.region", "SF110"),
    ("", "ALTER TABLE db.s.u DROP ALL ROW ACCESS POLICIES", "SF110"),
    ("", "ALTER VIEW db.s.v UNSET AGGREGATION POLICY", "SF110"),
    ("", "ALTER ACCOUNT UNSET NETWORK_POLICY", "SF110"),
    ("", "ALTER MASKING POLICY db.s.mask SET BODY -> val", "SF110"),
    ("", "ALTER ROW ACCESS POLICY db.s.r SET BODY -> TRUE", "SF110"),
    ("", "ALTER TAG db.s.pii UNSET MASKING POLICY db.s.mask", "SF110"),
    ("", "ALTER TABLE db.s.orders SET DATA_RETENTION_TIME_IN_DAYS = 0", "SF111"),
    ("", "ALTER DATABASE db SET DATA_RETENTION_TIME_IN_DAYS=0", "SF111"),
    (ORDERS + " DATA_RETENTION_TIME_IN_DAYS = 30", "ALTER TABLE db.s.orders SET DATA_RETENTION_TIME_IN_DAYS = 7", "SF111"),
    ("", "CREATE TABLE db.s.ledger (id NUMBER) DATA_RETENTION_TIME_IN_DAYS = 0", "SF111"),
    ("", "ALTER TABLE db.s.orders SET CHANGE_TRACKING = FALSE", "SF112"),
    ("", "CREATE TRANSIENT TABLE db.s.ledger (id NUMBER)", "SF113"),
    ("", "CREATE TRANSIENT SCHEMA db.finance", "SF113"),
    ("", "CREATE TEMPORARY TABLE db.s.ledger (id NUMBER)", "SF114"),
    ("", "ALTER TABLE db.s.orders CLUSTER BY (TO_DATE(at), id)", "SF115"),
    ("", "ALTER TABLE db.s.orders DROP CLUSTERING KEY", "SF115"),
    ("", "ALTER TABLE db.s.orders RESUME RECLUSTER", "SF115"),
    ("", "ALTER TABLE db.s.orders ADD COLUMN region TEXT NOT NULL", "SF116"),
    ("", "ALTER TABLE db.s.orders ADD region NUMBER NOT NULL, other TEXT", "SF116"),
    ("", "ALTER TABLE db.s.orders ADD COLUMN n NUMBER DEFAULT db.s.ids.NEXTVAL", "SF117"),
    ("", "ALTER TABLE db.s.orders ALTER COLUMN name SET DEFAULT 'none'", "SF117"),
    (ORDERS, "ALTER TABLE db.s.orders ALTER COLUMN name SET NOT NULL", "SF118"),
    (ORDERS, "ALTER TABLE DB.S.ORDERS ALTER COLUMN NAME SET DATA TYPE VARCHAR(50)", "SF119"),
    (ORDERS, "ALTER TABLE db.s.orders MODIFY COLUMN name VARCHAR(50)", "SF119"),
    (ORDERS, "ALTER TABLE db.s.orders MODIFY id SET DATA TYPE VARCHAR", "SF119"),
    (ORDERS, "ALTER TABLE db.s.orders ALTER amount TYPE NUMBER(14,4)", "SF119"),
    (ORDERS, "ALTER TABLE db.s.orders ALTER note SET DATA TYPE VARCHAR(4000)", "SF119"),
    (ORDERS, "ALTER TABLE db.s.orders ALTER amount TYPE NUMBER(8,2)", "SF120"),
    ("CREATE SECURE VIEW db.s.v AS SELECT 1 AS a", "CREATE OR REPLACE VIEW db.s.v COPY GRANTS AS SELECT 1 AS a", "SF121"),
    ("", "COPY INTO db.s.orders FROM @db.s.files FILE_FORMAT = (TYPE = CSV) FORCE = TRUE", "SF122"),
    ("", "COPY INTO db.s.orders FROM @db.s.files PURGE=TRUE", "SF123"),
    ("", "REMOVE @db.s.files/2024", "SF123"),
    ("", "COPY INTO db.s.orders FROM @db.s.files ON_ERROR = 'CONTINUE'", "SF124"),
    ("", "GRANT OWNERSHIP ON TABLE db.s.orders TO ROLE loader", "SF125"),
    ("", "GRANT ALL PRIVILEGES ON SCHEMA db.s TO ROLE loader", "SF126"),
    ("", "GRANT ROLE ACCOUNTADMIN TO USER loader", "SF126"),
    ("", "ALTER WAREHOUSE loading SET WAREHOUSE_SIZE = 'XXLARGE'", "SF127"),
    ("", "CREATE WAREHOUSE loading WAREHOUSE_SIZE = 'X-LARGE' AUTO_SUSPEND = 60", "SF127"),
    ("", "CREATE WAREHOUSE loading WAREHOUSE_SIZE = SMALL AUTO_SUSPEND = 60000", "SF127"),
    ("", "CREATE WAREHOUSE loading AUTO_SUSPEND = NULL", "SF127"),
    ("", "ALTER WAREHOUSE loading SET AUTO_RESUME = FALSE", "SF127"),
    ("", "REVOKE SELECT ON ALL TABLES IN SCHEMA db.s FROM ROLE analyst", "SF104"),
    ("", "GRANT SELECT ON TABLE db.s.orders TO ROLE analyst WITH GRANT OPTION", "SF104"),
    ("CREATE TRANSIENT SCHEMA db.s", "CREATE TABLE db.s.ledger (id NUMBER)", "SF113"),
    ("CREATE TRANSIENT DATABASE db", "CREATE TABLE db.s.ledger (id NUMBER) DATA_RETENTION_TIME_IN_DAYS = 30", "SF113"),
    ("", "CREATE OR REPLACE TRANSIENT TABLE db.s.ledger (id NUMBER)", "SF101"),
    (ORDERS, "CREATE TEMPORARY TABLE db.s.orders AS SELECT id FROM db.s.x; DELETE FROM db.s.orders WHERE id = 1", "SF114"),
    ("", "CREATE MASKING POLICY db.s.m AS (v TEXT) RETURNS TEXT -> CASE CURRENT_ROLE() WHEN 'pii' THEN v ELSE '*' END", "SF140"),
    ("", "CREATE VIEW db.s.v AS SELECT id FROM db.s.orders WHERE 'analyst' = current_role()", "SF140"),
    ("", "ALTER MASKING POLICY db.s.m SET BODY -> CASE WHEN IS_ROLE_IN_SESSION('Pii') THEN v ELSE '*' END", "SF140"),
    ("", "CREATE MASKING POLICY db.s.m AS (v TEXT) RETURNS TEXT -> CASE WHEN CURRENT_ROLE() = 'X' THEN '*' ELSE v END", "SF141"),
    ("GRANT SELECT ON FUTURE VIEWS IN DATABASE db TO ROLE a", "GRANT SELECT ON FUTURE VIEWS IN SCHEMA db.s TO ROLE b", "SF142"),
    ("CREATE STREAM db.s.st ON TABLE db.s.orders", "INSERT INTO db.s.a SELECT id FROM db.s.st WHERE id > 0;"
     " MERGE INTO db.s.b USING db.s.st ON b.id = st.id WHEN NOT MATCHED THEN INSERT (id) VALUES (st.id)", "SF143"),
    ("", "BEGIN; INSERT INTO db.s.a SELECT id FROM db.s.st WHERE METADATA$ACTION = 'INSERT'; COMMIT;"
     " INSERT INTO db.s.b SELECT id FROM db.s.st WHERE METADATA$ACTION = 'INSERT'", "SF143"),
    ("CREATE DYNAMIC TABLE db.s.d TARGET_LAG = '1 hour' REFRESH_MODE = FULL WAREHOUSE = w AS SELECT id FROM db.s.orders",
     "ALTER DYNAMIC TABLE db.s.d SET TARGET_LAG = '90 seconds'", "SF144"),
    ("", "CREATE VIEW db.s.v AS SELECT date_format(at, 'yyyy') AS y FROM db.s.orders", "SF145"),
    ("", "UPDATE db.s.orders SET due = DATEADD(at, 3) WHERE due IS NULL", "SF145"),
    (f"{ORDERS}; CREATE VIEW db.s.v AS SELECT o.* FROM orders o", "ALTER TABLE db.s.orders RENAME COLUMN note TO n", "BC106"),
    (f"{ORDERS}; CREATE VIEW db.r.v AS SELECT upper(name) AS n FROM db.s.orders", "ALTER TABLE db.s.orders RENAME TO db.s.o",
     "BC106"),
    (f"{ORDERS}; CREATE VIEW db.s.v AS SELECT id FROM db.s.orders; CREATE VIEW db.s.w AS SELECT id FROM v",
     "DROP VIEW db.s.v", "BC106"),
    ("", "DELETE FROM db.s.orders o USING db.s.users u WHERE u.country = 'DE'", "SF146"),
    ("", "UPDATE db.s.orders SET name = u.name FROM db.s.users u WHERE u.country = 'DE'", "SF146"),
    ("", "CREATE ROW ACCESS POLICY db.s.r AS (v TEXT) RETURNS BOOLEAN -> TRUE", "SF141"),
    ("", "ALTER TABLE db.s.orders SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 0", "SF112"),
    ("", "EXECUTE IMMEDIATE FROM @db.s.scripts/fix.sql", "DS124"),
    ("", "CREATE TABLE db.s.prices (id NUMBER, unit_price NUMBER)", "TY120"),
    ("", "ALTER TABLE db.s.orders ADD COLUMN vat_rate DECIMAL(9)", "TY120"),
    ("", "BEGIN LET q VARCHAR := 'TRUNCATE TABLE ' || 'x'; EXECUTE IMMEDIATE :q; END", "DS124"),
    (ORDERS + " CLUSTER BY (name)", "ALTER TABLE db.s.orders DROP COLUMN name", "SF132"),
    ("", "ALTER TABLE db.s.orders CLUSTER BY (id); ALTER TABLE db.s.orders RESUME RECLUSTER", "SF115"),
    ("", "ALTER USER loader SET DEFAULT_ROLE = loader", "SF128"),
    ("", "ALTER NETWORK POLICY office SET ALLOWED_IP_LIST = ('0.0.0.0/0')", "SF128"),
    ("", "USE ROLE ACCOUNTADMIN; CREATE TABLE db.s.t (id NUMBER)", "SF129"),
    ("", "ALTER PIPE db.s.p REFRESH", "SF130"),
    ("CREATE TASK db.s.t AS SELECT 1", "CREATE OR REPLACE TASK db.s.t SCHEDULE = '5 MINUTE' AS SELECT 1", "SF131"),
    ("", "ALTER PIPE db.s.p SET PIPE_EXECUTION_PAUSED = TRUE", "SF131"),
    ("", "ALTER TABLE db.s.u MODIFY COLUMN email UNSET TAG db.s.pii", "SF133"),
    ("", "ALTER SESSION SET ERROR_ON_NONDETERMINISTIC_MERGE = FALSE", "SF134"),
    ("", "CREATE TABLE db.s.old CLONE db.s.orders BEFORE (STATEMENT => '8e5d0ca9')", "SF135"),
    ("", 'CREATE TABLE db.s."Orders" (id NUMBER)', "SF136"),
    ("", "ALTER SCHEMA db.s RENAME TO db.s2", "SF137"),
    ("", "ALTER STAGE db.s.ext SET URL = 's3://b/y'", "SF138"),
    ("", "ALTER TABLE db.s.orders ADD SEARCH OPTIMIZATION", "SF139"),
    ("", "ALTER TABLE db.s.orders ADD COLUMN n NUMBER AUTOINCREMENT", "SF117"),
    (ORDERS + " DATA_RETENTION_TIME_IN_DAYS = 30", "ALTER TABLE db.s.orders UNSET DATA_RETENTION_TIME_IN_DAYS", "SF111"),
    ("", "GRANT SELECT ON TABLE db.s.orders TO SHARE partner", "SF126"),
    ("", "DROP TABLE db.s.orders", "DS101"),
    (ORDERS, "ALTER TABLE db.s.orders DROP COLUMN note", "DS103"),
    (ORDERS, "ALTER TABLE db.s.orders DROP COLUMN note; ALTER TABLE db.s.orders ADD COLUMN note TEXT", "DS105"),
    (ORDERS, "TRUNCATE TABLE db.s.orders", "DS107"),
    ("", "CREATE STAGE db.s.e URL='s3://b' CREDENTIALS=(AWS_KEY_ID='AB' AWS_SECRET_KEY='abc/def')", "FL113"),
    ("", "CREATE STAGE db.s.e URL='azure://b' CREDENTIALS=(AZURE_SAS_TOKEN='?sv=2016&sig=abc')", "FL113"),
    ("", "CREATE STAGE db.s.e URL='s3://b' ENCRYPTION=(MASTER_KEY='eSxX0jzYfIamtnBKOEOwq80Au6NbSgPH5r4BDDwOaO8=')", "FL113"),
    ("", "CREATE SECRET db.s.git TYPE = PASSWORD USERNAME = 'x' PASSWORD = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'", "FL113"),
    ("", "CREATE STAGE db.s.e URL = 'https://loader:s3cr3t@files.example.com/a'", "FL113"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "sql", "code"), HAZARDS)
def test_a_hazard_on_snowflake_has_its_finding_and_no_other(before: str, sql: str, code: str) -> None:
    """Earlier files are known; one cause is one finding."""
    found = findings(*([before] if before else []), sql, facts=SNOWFLAKE)
    path = f"migrations/lake/{2 if before else 1:04}_a.sql"
    assert [finding.code for finding in found if finding.path == path] == [code]


HARMLESS = [
    ORDERS,
    "CREATE TABLE db.s.t2 (id INT AUTOINCREMENT, at TIMESTAMP_NTZ DEFAULT CURRENT_TIMESTAMP())",
    "CREATE OR ALTER TABLE db.s.orders (id NUMBER, device TEXT)",
    "CREATE TABLE db.s.days (d DATE) CLUSTER BY (d) DATA_RETENTION_TIME_IN_DAYS = 30 CHANGE_TRACKING = TRUE COMMENT = 'days'",
    "CREATE TRANSIENT TABLE db.staging.orders_raw (v VARIANT)",
    "CREATE DYNAMIC TABLE db.s.d TARGET_LAG = '1 hour' WAREHOUSE = w AS SELECT id FROM db.s.orders",
    "CREATE ICEBERG TABLE db.s.i (id INT) EXTERNAL_VOLUME = 'v' CATALOG = 'SNOWFLAKE' BASE_LOCATION = 'i'",
    "ALTER TABLE db.s.orders ADD COLUMN device TEXT",
    "ALTER TABLE db.s.orders ADD COLUMN IF NOT EXISTS device TEXT COMMENT 'of the rider', region TEXT",
    "ALTER TABLE db.s.orders ADD COLUMN state TEXT NOT NULL DEFAULT 'new'",
    "ALTER TABLE db.s.orders ADD COLUMN active BOOLEAN DEFAULT FALSE, cost NUMBER(10,2) DEFAULT 0.00",
    "ALTER TABLE db.s.orders ALTER COLUMN name DROP NOT NULL",
    "COMMENT ON TABLE db.s.orders IS 'one row an order'",
    "COMMENT ON COLUMN db.s.orders.name IS 'name of the buyer, with the access key of the shop'",
    "ALTER TABLE db.s.orders SET COMMENT = 'one row an order'",
    "ALTER TABLE db.s.orders SET TAG db.s.pii = 'none'",
    "ALTER TABLE db.s.orders SET DATA_RETENTION_TIME_IN_DAYS = 30",
    "ALTER TABLE db.s.orders SET CHANGE_TRACKING = TRUE",
    "ALTER TABLE db.s.orders ADD CONSTRAINT pk PRIMARY KEY (id)",
    "ALTER TABLE db.s.orders MODIFY COLUMN name SET MASKING POLICY db.s.mask",
    "ALTER TABLE db.s.orders DROP ROW ACCESS POLICY a, ADD ROW ACCESS POLICY b ON (region)",
    "CREATE VIEW db.s.v AS SELECT id FROM db.s.orders",
    "CREATE OR REPLACE VIEW db.s.v COPY GRANTS AS SELECT id FROM db.s.orders",
    "CREATE OR REPLACE SECURE VIEW db.s.v COPY GRANTS AS SELECT id FROM db.s.orders",
    "MERGE INTO db.s.orders USING db.s.new ON orders.id = new.id WHEN MATCHED THEN UPDATE SET name = new.name",
    "DELETE FROM db.s.orders WHERE id < 0",
    "UPDATE db.s.orders SET name = 'x' WHERE name IS NULL",
    "COPY INTO db.s.orders FROM @db.s.files FILE_FORMAT = (FORMAT_NAME = db.s.csv) ON_ERROR = ABORT_STATEMENT",
    "CREATE STREAM db.s.st ON TABLE db.s.orders",
    "CREATE TASK db.s.t WAREHOUSE = w SCHEDULE = '5 MINUTE' AS INSERT INTO db.s.a SELECT id FROM db.s.b",
    "CREATE TASK db.s.t SCHEDULE = '5 MINUTE' AS BEGIN DELETE FROM db.s.a WHERE id = 1; END",
    "ALTER TASK db.s.t SUSPEND; ALTER TASK db.s.t SET SCHEDULE = '1 MINUTE'; ALTER TASK db.s.t RESUME",
    "CREATE PIPE db.s.p AUTO_INGEST = TRUE AS COPY INTO db.s.orders FROM @db.s.files",
    "CREATE STAGE db.s.files DIRECTORY = (ENABLE = TRUE)",
    "CREATE STAGE db.s.ext URL = 's3://bucket/x' STORAGE_INTEGRATION = s3 FILE_FORMAT = (TYPE = PARQUET)",
    "CREATE OR REPLACE FILE FORMAT db.s.csv TYPE = CSV SKIP_HEADER = 1",
    "CREATE SEQUENCE db.s.ids START = 1 INCREMENT = 1",
    "CREATE MASKING POLICY db.s.mask AS (v STRING) RETURNS STRING -> CASE WHEN CURRENT_ROLE() = 'X' THEN v ELSE '*' END",
    "ALTER MASKING POLICY db.s.mask SET BODY -> '***'",
    "CREATE TAG db.s.pii ALLOWED_VALUES 'email', 'phone'",
    "CREATE TABLE db.s.orders_backup CLONE db.s.orders",
    "CREATE SCHEMA IF NOT EXISTS db.reports COMMENT = 'for readers'",
    "CREATE OR REPLACE FUNCTION db.s.f(a NUMBER) RETURNS NUMBER AS 'a + 1'",
    "CREATE OR REPLACE PROCEDURE db.s.p() RETURNS STRING LANGUAGE SQL AS $$ BEGIN RETURN 'x'; END $$",
    "UPDATE db.s.accounts SET password_expired = 'no' WHERE account_key = '0123456789abcdef0123'",
    "ALTER WAREHOUSE loading SET COMMENT = 'loads orders'",
    "ALTER ICEBERG TABLE db.s.i REFRESH",
    "USE SCHEMA db.s; ALTER TABLE orders ADD COLUMN device TEXT",
    "INSERT INTO db.s.states (id, name) VALUES (1, 'new'), (2, 'api-key = ''none''')",
    "UNDROP TABLE db.s.orders",
    'ALTER TABLE db.s.orders ADD COLUMN "order" TEXT',
    'ALTER ICEBERG TABLE db.s.i ADD COLUMN "deviceId" STRING',
    "ALTER TABLE db.s.orders ALTER COLUMN name SET DATA TYPE VARCHAR(200)",
    "COMMENT ON COLUMN db.s.orders.name IS 'see https://wiki.example.com/a:b?x=1 and api_key = none'",
    "CREATE TABLE db.s.api (id NUMBER, api_key_id TEXT, password_hash TEXT, secret_name TEXT DEFAULT 'none')",
    "CREATE PIPE db.s.p AS COPY INTO db.s.orders FROM @db.s.files ON_ERROR = SKIP_FILE",
    "CREATE ALERT db.s.a WAREHOUSE = w SCHEDULE = '1 minute' IF (EXISTS (SELECT 1 FROM db.s.orders)) THEN CALL db.s.p()",
    "CREATE EXTERNAL TABLE db.s.e WITH LOCATION = @db.s.files FILE_FORMAT = (TYPE = PARQUET) AUTO_REFRESH = TRUE",
    "ALTER TABLE db.s.orders SUSPEND RECLUSTER",
    "CREATE WAREHOUSE loading WAREHOUSE_SIZE = MEDIUM AUTO_SUSPEND = 300 AUTO_RESUME = TRUE MAX_CLUSTER_COUNT = 2",
    "ALTER WAREHOUSE loading SET AUTO_SUSPEND = 60 STATEMENT_TIMEOUT_IN_SECONDS = 3600",
    "GRANT SELECT ON TABLE db.s.orders TO ROLE analyst; GRANT USAGE ON SCHEMA db.s TO ROLE analyst",
    "GRANT SELECT ON FUTURE TABLES IN DATABASE db TO ROLE a; GRANT SELECT ON FUTURE VIEWS IN SCHEMA db.s TO ROLE b",
    "GRANT SELECT ON FUTURE TABLES IN DATABASE db TO ROLE a; GRANT SELECT, INSERT ON FUTURE TABLES IN SCHEMA db.s TO ROLE a",
    "CREATE TRANSIENT TABLE db.s.fixes (id NUMBER); INSERT INTO db.s.fixes VALUES (1); DROP TABLE db.s.fixes",
    "CREATE TRANSIENT SCHEMA db.staging; CREATE TABLE db.staging.orders (id NUMBER)",
    "CREATE VIEW db.s.v AS SELECT id FROM db.s.orders WHERE LOWER(CURRENT_ROLE()) = 'analyst' OR CURRENT_USER() = 'a@example.com'",
    "CREATE VIEW db.s.v AS SELECT id FROM db.s.orders WHERE CURRENT_ROLE() IN ('ANALYST', 'PII') AND name IN ('a', 'b')",
    "CREATE MASKING POLICY db.s.m AS (v STRING) RETURNS STRING -> CASE WHEN NOT IS_ROLE_IN_SESSION('PII') THEN '*' ELSE v END",
    "CREATE STREAM db.s.st ON TABLE db.s.orders; BEGIN; INSERT INTO db.s.a SELECT id FROM db.s.st;"
    " INSERT INTO db.s.b SELECT id FROM db.s.st; COMMIT",
    "INSERT INTO db.s.a SELECT id FROM db.s.orders; INSERT INTO db.s.b SELECT id FROM db.s.orders",
    "CREATE DYNAMIC TABLE db.s.d TARGET_LAG = '1 day' REFRESH_MODE = FULL WAREHOUSE = w AS SELECT id FROM db.s.orders",
    "CREATE VIEW db.s.v AS SELECT DATEDIFF(day, a, COALESCE(b, c)) AS d, db.s.explode(a) AS e FROM db.s.orders",
    "CREATE FUNCTION db.s.date_format(d DATE, f TEXT) RETURNS TEXT AS 'to_char(d, f)'; SELECT date_format(a, 'YYYY') FROM db.s.t",
    f"{ORDERS}; CREATE VIEW db.s.v AS SELECT note FROM db.s.orders; CREATE OR REPLACE VIEW db.s.v COPY GRANTS AS"
    " SELECT note FROM db.s.orders",
    "CREATE TABLE db.s.p (price_cents NUMBER, fee INT, tax NUMBER COMMENT 'in cents', tax_id NUMBER, amount NUMBER(18,0))",
    "CREATE TEMPORARY TABLE db.s.ids (id NUMBER); INSERT INTO db.s.ids VALUES (1);"
    " DELETE FROM db.s.orders USING db.s.ids WHERE orders.id = ids.id",
    "DELETE FROM db.s.orders USING (SELECT id FROM db.s.users) d WHERE db.s.orders.id = d.id",
    "ALTER WAREHOUSE loading SET WAREHOUSE_SIZE = SMALL",
    "CREATE TABLE db.s.d (discount_percent NUMBER(3))",
    "DELETE FROM db.s.orders AS o USING db.s.users u WHERE u.id = o.id",
    "UPDATE db.s.orders SET name = u.name FROM db.s.users u WHERE orders.id = u.id AND u.country = 'DE'",
    "DELETE FROM db.s.orders WHERE id IN (SELECT u.id FROM db.s.users u WHERE u.country = 'DE')",
    "INSERT INTO db.s.states (id, name) VALUES (1, 'new'); COMMENT ON TABLE db.s.states IS 'of orders'",
    "ALTER TABLE db.s.orders ADD COLUMN channel TEXT; UPDATE db.s.orders SET channel = 'web' WHERE channel IS NULL",
    "ALTER SESSION SET QUERY_TAG = 'x'; ALTER TABLE db.s.orders ADD COLUMN region TEXT",
]  # fmt: skip


@pytest.mark.parametrize("sql", HARMLESS)
def test_an_everyday_file_on_snowflake_has_no_finding(sql: str) -> None:
    """A new object, a nullable column, a comment, a tag, a policy, a view with its grants."""
    assert codes(sql, facts=SNOWFLAKE) == []


def test_an_object_that_the_file_creates_may_be_dropped() -> None:
    """An object has no state in the file that creates it."""
    sql = "CREATE STAGE db.s.tmp_files; DROP STAGE db.s.tmp_files"
    assert codes(sql, facts=SNOWFLAKE) == []


def test_the_message_says_what_is_lost_and_whether_undrop_restores_it() -> None:
    """The name of the object is in it."""
    (pipe,) = findings("DROP PIPE db.s.p", facts=SNOWFLAKE)
    assert pipe.message == (
        "DROP PIPE db.s.p: its load history of 14 days is lost, so that a new pipe may load files twice; there is no UNDROP"
    )
    (schema,) = findings("DROP SCHEMA db.s", facts=SNOWFLAKE)
    assert "UNDROP SCHEMA restores it within its retention" in schema.message


@pytest.mark.parametrize(
    ("before", "sql", "message"),
    [
        ("", "DROP TABLE db.s.t", "DROP TABLE; UNDROP TABLE restores it within its retention, a day by default"),
        (
            " DATA_RETENTION_TIME_IN_DAYS = 30",
            "DROP TABLE db.s.t",
            "DROP TABLE; UNDROP TABLE restores it within its retention, 30 days",
        ),
        (" DATA_RETENTION_TIME_IN_DAYS = 0", "DROP TABLE db.s.t", "DROP TABLE; there is no UNDROP, its retention is 0"),
        ("", "DROP EXTERNAL TABLE db.s.e", "DROP TABLE; there is no UNDROP"),
    ],
)  # fmt: skip
def test_a_dropped_table_is_restored_by_undrop_within_its_own_retention(before: str, sql: str, message: str) -> None:
    """The retention is known from the statement that creates the table."""
    *_, finding = findings(f"CREATE TABLE db.s.t (id NUMBER){before}", sql, facts=SNOWFLAKE)
    assert finding.message == message


def test_a_column_of_the_clustering_key_is_known_from_earlier_files() -> None:
    """DROP CLUSTERING KEY before it makes the drop possible."""
    create = "CREATE TABLE db.s.t (id NUMBER, day DATE) CLUSTER BY (TO_DATE(day))"
    drop = "ALTER TABLE db.s.t DROP COLUMN day"
    assert "SF132" in codes(create, drop, facts=SNOWFLAKE)
    assert "SF132" not in codes(create, "ALTER TABLE db.s.t DROP CLUSTERING KEY", drop, facts=SNOWFLAKE)


def test_a_view_that_does_not_read_a_dropped_column_is_no_finding() -> None:
    """Only the loss of the values is; nor is one that the file defines anew."""
    view = f"{ORDERS}; CREATE VIEW db.s.v AS SELECT id, {{}} AS x FROM db.s.orders"
    drop = "ALTER TABLE db.s.orders DROP COLUMN note"
    assert codes(view.format("name"), drop, facts=SNOWFLAKE) == ["DS103"]
    assert codes(view.format("note"), drop, facts=SNOWFLAKE) == ["BC106", "DS103"]
    again = "CREATE OR REPLACE VIEW db.s.v COPY GRANTS AS SELECT id, 1 AS x FROM db.s.orders"
    assert codes(view.format("note"), f"{drop}; {again}", facts=SNOWFLAKE) == ["DS103"]


def test_a_table_that_another_one_replaces_by_renames_keeps_its_views() -> None:
    """Each rename is a warning, and the view is not broken at the end."""
    view = f"{ORDERS}; CREATE VIEW db.s.v AS SELECT id FROM db.s.orders"
    renames = "ALTER TABLE db.s.orders RENAME TO db.s.old; ALTER TABLE db.s.new RENAME TO db.s.orders"
    assert codes(view, renames, facts=SNOWFLAKE) == ["BC102", "BC102"]


def test_a_role_that_was_created_in_quotes_keeps_its_case() -> None:
    """An earlier file shows it."""
    view = "CREATE VIEW db.s.v AS SELECT id FROM db.s.orders WHERE CURRENT_ROLE() IN ('analyst')"
    assert codes('CREATE ROLE "analyst"', view, facts=SNOWFLAKE) == []
    assert codes("CREATE ROLE analyst", view, facts=SNOWFLAKE) == ["SF140"]


def test_a_suspension_after_hours_says_that_the_unit_is_seconds() -> None:
    """Milliseconds are the usual mistake."""
    (finding,) = findings("ALTER WAREHOUSE w SET AUTO_SUSPEND = 300000", facts=SNOWFLAKE)
    assert finding.message == (
        "ALTER WAREHOUSE w: AUTO_SUSPEND = 300000 is in seconds: it runs for 83.3 hours after its last query"
    )


def test_a_new_table_that_swapped_its_rows_with_an_old_one_is_not_dropped_without_a_word() -> None:
    """After SWAP WITH, the new name has the old rows; without it, the new table has none."""
    new = "CREATE TABLE A.B.NEW (id INT);\n{}DROP TABLE A.B.NEW"
    swap = "-- GLACIERBASE_ALLOW: SF109 checked\nALTER TABLE A.B.OLD SWAP WITH A.B.NEW;\n"
    for sql, expected in ((new.format(""), []), (new.format(swap), ["DS101"])):
        found = findings(sql, facts=Facts(engine="snowflake"), spares_new=True)
        assert [finding.code for finding in found if finding.allowed is None] == expected
