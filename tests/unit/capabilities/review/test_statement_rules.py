"""Rules on statements: hazards in several spellings are found, and everyday files are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.model.catalog import LintOptions
from tests.support.rules import FACTS, HEADER, codes, findings

TABLE = "CREATE TABLE lake.a.t (id BIGINT NOT NULL, name STRING, day DATE, amount DOUBLE) USING iceberg PARTITIONED BY (day)"
VIEW = "CREATE OR REPLACE VIEW lake.a.v AS SELECT id, name FROM lake.a.t"
MATCH = "MERGE INTO lake.a.t USING lake.a.source AS s ON t.id = s.id"
OTHER = "CREATE TABLE lake.a.u (key INT) USING iceberg"
SMALL = "UPDATE lake.a.t SET name = 'x' WHERE id = 1"

HAZARDS = [
    ("DELETE FROM lake.a.t WHERE true", "DS107"),
    ("DELETE FROM lake.a.t WHERE id IS NOT NULL", "DS107"),
    ("DELETE FROM lake.a.t WHERE day = DATE '2026-01-01' OR 1 = 1", "DS107"),
    ("DELETE FROM lake.a.t WHERE id IN (SELECT id FROM lake.a.t)", "DS107"),
    ("DELETE FROM lake.a.t WHERE EXISTS (SELECT 1 FROM lake.a.source)", "DS107"),
    ("INSERT OVERWRITE lake.a.t SELECT * FROM lake.a.source", "DS107"),
    ("INSERT OVERWRITE lake.a.t PARTITION (day) SELECT * FROM lake.a.source", "DS107"),
    ("INSERT INTO lake.a.t REPLACE WHERE 1 = 1 SELECT * FROM lake.a.source", "DS107"),
    ("UPDATE lake.a.t SET amount = 0", "DS110"),
    ("UPDATE lake.a.t SET amount = 0 WHERE amount = amount", "DS110"),
    ("MERGE INTO lake.a.t AS x USING lake.a.source AS s ON x.day = DATE '2026-01-01' WHEN MATCHED THEN DELETE", "DS111"),
    ("MERGE INTO lake.a.t USING lake.a.source AS s ON 1 = 1 WHEN MATCHED THEN UPDATE SET *", "DS111"),
    (f"{MATCH} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET name = NULL", "DS112"),
    (f"{MATCH} WHEN NOT MATCHED BY SOURCE AND t.id IS NOT NULL THEN DELETE", "DS112"),
    ("INSERT INTO lake.a.t SELECT id, upper(name), day, amount FROM lake.a.t WHERE amount > 1", "DS113"),
    ("TRUNCATE TABLE lake.a.t PARTITION (day = '2026-01-01')", "DS114"),
    (f"{VIEW};\nALTER VIEW lake.a.v AS SELECT id, upper(name) AS upper_name FROM lake.a.t", "DS117"),
    (f"{VIEW};\nCREATE OR REPLACE VIEW lake.a.v (id, title) AS SELECT id, name FROM lake.a.t", "DS117"),
    ("DROP NAMESPACE lake.a", "DS119"),
    ("INSERT INTO lake.a.t SELECT name, id, day, amount FROM lake.a.source", "DS122"),
    ("INSERT INTO lake.a.t (name, id) SELECT id, name FROM lake.a.source", "DS122"),
    ("CREATE OR REPLACE TABLE lake.a.t USING iceberg AS SELECT * FROM lake.a.t WHERE id > 0", "DS106"),
    ("ALTER TABLE lake.a.t CREATE OR REPLACE BRANCH audit", "DS109"),
    ("INSERT INTO lake.a.t.branch_b VALUES (1, 'a', NULL, 1);\nALTER TABLE lake.a.t DROP BRANCH b", "DS109"),
    ("CALL lake.system.expire_snapshots(table => 'a.t', older_than => now())", "MT108"),
    ("CALL lake.system.expire_snapshots('a.t', TIMESTAMP '2999-01-01 00:00:00', 1)", "MT108"),
    ("CALL lake.system.cherrypick_snapshot('a.t', 5781947118336215154)", "MT107"),
    ("INSERT INTO lake.a.u SELECT id, rand() AS r FROM lake.a.t", "MT110"),
    ("ALTER TABLE lake.a.t ALTER COLUMN id TYPE BIGINT;\nDELETE FROM lake.a.t WHERE id < 0", "FL109"),
    ("ALTER TABLE lake.a.t ADD COLUMNS (unit_price DECIMAL, sku STRING)", "TY120"),
    (f"{VIEW};\nDROP TABLE lake.a.t", "BC106"),
    ("DELETE FROM lake.a.t WHERE rand() < 0.1", "MT110"),
    ("ALTER TABLE lake.a.t ADD COLUMN ts TIMESTAMP;\nDELETE FROM lake.a.t WHERE ts <= DATE '2026-05-31'", "DS128"),
    ("INSERT INTO lake.a.t SELECT id, name AS title, day FROM lake.a.source WHERE id = 1", "TY118"),
    ("ALTER TABLE lake.a.t ADD PARTITION (day = '2026-01-01')", "FL118"),
    ("UPDATE lake.a.t SET nmae = 'x' WHERE id = 1", "TY114"),
    ("DELETE FROM lake.a.t WHERE (id = 1 OR id = 2 AND name = 'x') AND day = DATE '2026-01-01'", "DS129"),
    ("UPDATE lake.a.t SET name = 'x' WHERE day BETWEEN DATE '2026-01-01' AND DATE '2026-01-02' AND id = 1 OR id = 2", "DS129"),
    (f"{MATCH} AND t.day = s.day WHEN MATCHED AND s.deleted OR s.old AND t.name = 'x' THEN DELETE", "DS129"),
    ("DELETE FROM lake.a.u WHERE id NOT IN (SELECT DISTINCT x.name FROM lake.a.t AS x)", "DS125"),
    (f"{OTHER};\nDELETE FROM lake.a.t WHERE id IN (SELECT id FROM lake.a.u WHERE key > 1)", "DS126"),
    ("UPDATE lake.a.t SET amount = 1 WHERE name >= '10' AND day = DATE '2026-01-01'", "DS127"),
    (f"{MATCH} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", "MT114"),
    ("CALL lake.system.fast_forward(table => 'a.t', branch => 'audit', to => 'main')", "MT115"),
    (f"BEGIN\n  WHILE true DO\n    {SMALL};\n  END WHILE;\nEND", "MT116"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "code"), HAZARDS)
def test_a_hazard_is_found(sql: str, code: str) -> None:
    """An earlier file declares the table; other rules may object, too."""
    assert code in codes(TABLE, sql)


EVERYDAY = [
    "CREATE TABLE lake.a.tmp USING iceberg AS SELECT id, name FROM lake.a.source;\n"
    "INSERT INTO lake.a.t (id, name) SELECT id, name FROM lake.a.tmp;\nDROP TABLE lake.a.tmp",
    "INSERT INTO lake.a.t SELECT * FROM lake.a.source",
    "INSERT INTO lake.a.t (id, name) VALUES (1, 'a');\nALTER TABLE lake.a.t SET TBLPROPERTIES ('comment'='orders')",
    "ALTER TABLE lake.a.t ADD COLUMN state STRING;\nUPDATE lake.a.t SET state = 'new' WHERE state IS NULL",
    "CREATE TABLE lake.a.cents (amount DECIMAL(18) COMMENT 'in cents', order_rate_id DECIMAL) USING iceberg",
    "DELETE FROM lake.a.t WHERE day = DATE '2026-11-01'",
    "DELETE FROM lake.a.t WHERE name IS NOT NULL AND day < DATE '2020-01-01'",
    "DELETE FROM lake.a.t WHERE id IN (SELECT id FROM lake.a.gdpr_requests WHERE approved)",
    "DELETE FROM lake.a.t AS x WHERE EXISTS (SELECT 1 FROM lake.a.gdpr_requests AS r WHERE r.id = x.id)",
    "UPDATE lake.a.t SET name = 'unknown' WHERE name IS NULL",
    "UPDATE lake.a.t SET amount = round(amount, 2) WHERE day >= DATE '2026-10-01' AND day < DATE '2026-11-01'",
    f"{MATCH} AND t.day BETWEEN s.day AND s.day + 1 WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    f"{MATCH} AND t.day = s.day WHEN MATCHED AND s.deleted THEN DELETE WHEN MATCHED THEN UPDATE SET t.name = s.name",
    f"{MATCH} AND t.day = s.day WHEN MATCHED THEN UPDATE SET t.name = s.name, t.amount = current_timestamp()",
    f"{MATCH} WHEN NOT MATCHED BY SOURCE AND t.day = DATE '2026-11-01' THEN DELETE",
    "MERGE INTO lake.a.t AS t USING (SELECT * FROM lake.a.source WHERE day = DATE '2026-11-01') AS s"
    " ON t.id = s.id AND t.day = DATE '2026-11-01' WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO lake.a.t USING lake.a.source ON lake.a.t.id = lake.a.source.id WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO lake.a.t USING lake.a.source AS s ON id = s.key AND day = s.day WHEN MATCHED THEN DELETE",
    "INSERT OVERWRITE lake.a.t PARTITION (day = '2026-11-01') SELECT id, name, amount FROM lake.a.source",
    "SET spark.sql.sources.partitionOverwriteMode = dynamic;\nINSERT OVERWRITE lake.a.t SELECT * FROM lake.a.source",
    "INSERT INTO lake.a.t REPLACE WHERE day = DATE '2026-11-01' SELECT * FROM lake.a.source",
    "INSERT INTO lake.a.t SELECT s.* FROM lake.a.source AS s LEFT ANTI JOIN lake.a.t AS t ON t.id = s.id",
    "INSERT INTO lake.a.t SELECT id, name, day, amount FROM lake.a.source WHERE day = DATE '2026-11-01'",
    "DELETE FROM lake.a.t WHERE id IN (SELECT id FROM lake.a.source)",
    "DELETE FROM lake.a.t WHERE id IN (SELECT id FROM lake.a.t WHERE name IS NULL)",
    "DELETE FROM lake.a.t WHERE id IN (SELECT id FROM lake.a.t) AND name IS NULL",
    "ALTER TABLE lake.a.t CREATE BRANCH audit;\nINSERT INTO lake.a.t.branch_audit VALUES (1, 'a', NULL, 1.0);\n"
    "CALL lake.system.fast_forward('a.t', 'main', 'audit');\nALTER TABLE lake.a.t DROP BRANCH audit",
    "WITH s AS (SELECT * FROM lake.a.source WHERE day = DATE '2026-11-01') INSERT INTO lake.a.t BY NAME SELECT * FROM s",
    "INSERT INTO lake.a.t SELECT * FROM lake.a.t TIMESTAMP AS OF '2026-11-01 00:00:00' WHERE day = DATE '2026-11-01'",
    "DROP NAMESPACE lake.b",
    "INSERT INTO lake.a.t VALUES (1, 'a', DATE '2026-11-01', 1.0)",
    "INSERT INTO lake.a.t (id, name) VALUES (1, 'a')",
    "CREATE TABLE lake.a.u (id BIGINT, name STRING) USING iceberg;\nINSERT INTO lake.a.u SELECT id, name FROM lake.a.t",
    "CREATE TABLE lake.a.u (id BIGINT, name STRING) USING iceberg;\nINSERT INTO lake.a.u BY NAME SELECT name, id FROM lake.a.t",
    "CREATE TABLE lake.a.u USING iceberg AS SELECT id, name FROM lake.a.t ORDER BY id LIMIT 10",
    "ALTER TABLE lake.a.t ADD COLUMN device STRING",
    "ALTER TABLE lake.a.t ADD COLUMN device STRING;\nALTER TABLE lake.a.t DROP COLUMN device",
    VIEW,
    f"{VIEW};\nCREATE OR REPLACE VIEW lake.a.v AS SELECT id, name, day FROM lake.a.t",
    f"{VIEW};\nCREATE OR REPLACE VIEW lake.a.v AS SELECT * FROM lake.a.t",
    "DROP VIEW IF EXISTS lake.a.w;\nCREATE VIEW lake.a.w AS SELECT id FROM lake.a.t",
    "ALTER TABLE lake.a.t CREATE BRANCH audit;\nALTER TABLE lake.a.t DROP BRANCH audit",
    "CALL lake.system.fast_forward('a.t', 'main', 'audit');\nALTER TABLE lake.a.t DROP BRANCH audit",
    "ALTER TABLE lake.a.t CREATE TAG end_of_year RETAIN 365 DAYS",
    "CALL lake.system.rewrite_data_files(table => 'a.t', where => 'day = DATE \"2026-11-01\"')",
    "BEGIN\n  IF true THEN\n    DELETE FROM lake.a.t WHERE day = DATE '2026-11-01';\n  END IF;\nEND",
    "DELETE FROM lake.a.t WHERE day = DATE '2026-11-01' AND (name = 'a' OR name = 'b')",
    "DELETE FROM lake.a.t WHERE (day = DATE '2026-11-01' AND name = 'a') OR (day BETWEEN DATE '2026-11-02' AND DATE '2026-11-03')",
    "DELETE FROM lake.a.t WHERE CASE WHEN day = DATE '2026-11-01' AND name = 'a' THEN true ELSE name = 'b' OR id = 1 END",
    "DELETE FROM lake.a.u WHERE id NOT IN (SELECT id FROM lake.a.t)",
    "DELETE FROM lake.a.t WHERE id IN (SELECT u.id FROM lake.a.u AS u WHERE u.day = t.day)",
    "DELETE FROM lake.a.t WHERE name >= '2026-01-01' AND name < '20270101'",
    "DELETE FROM lake.a.t WHERE day = DATE '2026-11-01';\nINSERT INTO lake.a.t VALUES (1, 'a', DATE '2026-11-01', 1.0)",
]  # fmt: skip


@pytest.mark.parametrize("sql", EVERYDAY)
def test_an_everyday_file_raises_nothing(sql: str) -> None:
    """An earlier file declares the table."""
    header = "-- MIGRATION_DESCRIPTION: Correct the rows of a day\n-- MIGRATION_AUTHOR: Data Platform\n\n"
    assert codes(header + TABLE, header + sql) == []


@pytest.mark.parametrize(
    ("clause", "code", "effect"),
    [
        ("DROP COLUMN nope", "TY114", "DS103"),
        ("DROP COLUMN day", "TY108", "DS103"),
        ("RENAME COLUMN nope TO other", "TY114", "BC101"),
        ("RENAME COLUMN name TO id", "TY115", "BC101"),
        ("ADD PARTITION FIELD days(nope)", "TY114", "PA101"),
        ("ADD PARTITION FIELD days(name)", "PA107", "PA101"),
        ("DROP PARTITION FIELD nope", "PA109", "PA101"),
    ],
)
def test_what_a_refused_statement_would_do_is_no_second_finding(clause: str, code: str, effect: str) -> None:
    """Where the refusal is allowed, the effect is a finding."""
    statement = f"ALTER TABLE lake.a.t {clause}"
    assert codes(TABLE, statement) == [code]
    assert codes(TABLE, f"{HEADER}-- GLACIERBASE_ALLOW: {code} a job adds it\n{statement}") == [effect]


def test_expiry_with_a_time_and_a_number_of_snapshots_is_no_finding() -> None:
    """Both say what is kept."""
    call = "CALL lake.system.expire_snapshots(table => 'a.t', older_than => TIMESTAMP '2026-01-01 00:00:00'{})"
    assert codes(TABLE, call.format("")) == ["MT101"]
    assert codes(TABLE, call.format(", retain_last => 20")) == []


def test_an_update_of_a_column_that_the_file_adds_is_no_loss() -> None:
    """No row had a value; another column of the same statement has some."""
    add = "ALTER TABLE lake.a.t ADD COLUMN country STRING;\nUPDATE lake.a.t SET country = 'DE'"
    assert "DS110" not in codes(TABLE, add)
    assert "DS110" in codes(TABLE, f"{add}, name = 'x'")


def test_a_column_that_the_branch_adds_and_drops_is_no_loss() -> None:
    """Without a base, the files before may have been applied long ago."""
    files = (TABLE, "ALTER TABLE lake.a.t ADD COLUMN x INT", "ALTER TABLE lake.a.t DROP COLUMN x")
    assert [finding.code for finding in findings(*files[1:], spares_new=True)] == []
    assert "DS103" in codes(*files)


def test_an_update_of_a_column_that_a_file_of_the_branch_adds_is_no_loss() -> None:
    """A column of the base has values."""
    files = ("ALTER TABLE lake.a.t ADD COLUMN x INT", "UPDATE lake.a.t SET x = 1")
    assert "DS110" not in [finding.code for finding in findings(*files, spares_new=True)]
    assert "DS110" in [finding.code for finding in findings(*files)]


def test_an_overwrite_of_a_catalog_in_dynamic_mode_replaces_what_it_writes() -> None:
    """The mode is that of the catalog file, unless the file sets it."""
    dynamic = replace(FACTS, overwrites_partitions=True)
    overwrite = "INSERT OVERWRITE lake.a.t SELECT * FROM lake.a.source"
    assert codes(TABLE, overwrite, facts=dynamic) == []
    assert "DS107" in codes(
        TABLE, f"SET spark.sql.sources.partitionOverwriteMode = static;\n{overwrite}", facts=dynamic
    )


def test_a_merge_that_only_inserts_does_not_fail_a_stream() -> None:
    """An update does."""
    options = LintOptions(streaming=("*",))
    assert "DS120" not in codes(TABLE, f"{MATCH} WHEN NOT MATCHED THEN INSERT *", options=options)
    assert "DS120" in codes(TABLE, f"{MATCH} WHEN MATCHED THEN DELETE", options=options)


def test_a_table_that_may_have_been_made_is_not_known() -> None:
    """Under IF, neither the table nor its columns are sure."""
    made = TABLE.replace("lake.a.t", "lake.a.u")
    insert = "INSERT INTO lake.a.u SELECT name, id, day, amount FROM lake.a.source"
    assert "DS122" in codes(f"BEGIN {made}; END", insert)
    assert "DS122" not in codes(f"BEGIN IF a THEN {made}; END IF; END", insert)
