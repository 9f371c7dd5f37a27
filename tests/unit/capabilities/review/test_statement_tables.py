"""Rules that decide by a word of a statement: each word on its side, and each limit from both sides.

What is expected is written out here, from the pages that the tests name: a table of the code would agree with itself.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo

import pytest

from glacierbase.capabilities.review.rule import Facts
from glacierbase.capabilities.review.rules import maintenance
from glacierbase.model.catalog import LintOptions
from tests.support.rules import FACTS, codes, findings, raising

SNOWFLAKE = Facts(engine="snowflake", given_parts=2)
DELTA = replace(FACTS, formats={"spark_catalog": "delta"}, given_parts=1)
HUDI = replace(FACTS, formats={"spark_catalog": "hudi"}, given_parts=1)
TABLE = "CREATE TABLE lake.a.t (id INT, name STRING, at TIMESTAMP, day DATE) USING iceberg"
CALL = "CALL lake.system.{}(table => 'a.t')"


def test_procedures_that_discard_commits_are_findings() -> None:
    """https://iceberg.apache.org/docs/latest/spark-procedures/#snapshot-management"""
    discards = {"rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot"}
    assert raising("DS109", CALL, discards | {"rewrite_manifests", "fast_forward"}) == discards
    publishes = {"fast_forward", "cherrypick_snapshot", "publish_changes"}
    drop = f"{CALL};\nALTER TABLE lake.a.t DROP BRANCH b"
    assert raising("DS109", drop, publishes | {"rewrite_manifests"}) == {"rewrite_manifests"}
    dropped = {"DROP BRANCH b", "DROP TAG b", "CREATE OR REPLACE BRANCH b", "CREATE OR REPLACE TAG b"}
    assert raising("DS109", "ALTER TABLE lake.a.t {}", dropped | {"CREATE BRANCH b", "CREATE TAG b"}) == dropped


def test_procedures_that_share_files_are_findings() -> None:
    """https://iceberg.apache.org/docs/latest/spark-procedures/#table-migration"""
    shares = {"migrate", "snapshot", "add_files", "register_table"}
    assert raising("MT109", CALL, shares | {"rewrite_data_files"}) == shares


def test_procedures_of_hudi_that_discard_commits_are_findings() -> None:
    """https://hudi.apache.org/docs/procedures"""
    discards = {"rollback_to_instant", "rollback_to_savepoint", "delete_savepoint", "truncate_table", "drop_partition"}
    assert (
        raising("HU108", "CALL {}(table => 'a.t')", discards | {"create_savepoint", "show_commits"}, facts=HUDI)
        == discards
    )


def test_changes_of_columns_of_hudi_need_their_settings() -> None:
    """https://hudi.apache.org/docs/schema_evolution"""
    read = "SET hoodie.schema.on.read.enable=true;\n"
    drops = "SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true;\n"
    changes = {"RENAME COLUMN x TO y", "DROP COLUMN x", "ALTER COLUMN x AFTER z", "ALTER COLUMN x TYPE BIGINT"}
    others = {"ADD COLUMNS (y INT)", "ALTER COLUMN x COMMENT 'x'"}
    alter = "ALTER TABLE a.t {}"
    assert raising("HU101", alter, changes | others, facts=HUDI) == changes
    assert raising("HU101", read + alter, changes, facts=HUDI) == {"RENAME COLUMN x TO y", "DROP COLUMN x"}
    assert raising("HU101", drops + alter, changes, facts=HUDI) == changes
    assert raising("HU101", read + drops + alter, changes | {"ALTER COLUMN x FIRST"}, facts=HUDI) == {
        "ALTER COLUMN x FIRST"
    }
    assert raising("HU101", read + alter, {"ALTER COLUMN s.x FIRST"}, facts=HUDI) == set()
    keyed = "CREATE TABLE a.t (id INT) USING hudi TBLPROPERTIES ('primaryKey'='id')"
    settings = {"hoodie.spark.sql.insert.into.operation=bulk_insert", "hoodie.sql.bulk.insert.enable=true"}
    inserts = {"hoodie.spark.sql.insert.into.operation=upsert", "hoodie.sql.bulk.insert.enable=false"}
    insert = "SET {};\nINSERT INTO a.t VALUES (1)"
    assert raising("HU106", insert, settings | inserts, keyed, facts=HUDI) == settings


def test_vacuum_retains_at_least_a_week() -> None:
    """Delta refuses less unless its check is off. https://docs.delta.io/delta-utility/#remove-files-no-longer-referenced-by-a-delta-table"""
    hours = {"0", "167", "167.9", "168", "168.0", "720"}
    assert raising("MT104", "VACUUM a.t RETAIN {} HOURS", hours, facts=DELTA) == {"0", "167", "167.9"}


def test_snapshots_that_expire_up_to_now_are_a_finding() -> None:
    """A time of the past is none, by name or as the second argument."""
    now = {
        "current_timestamp",
        "now()",
        "current_timestamp()",
        "current_date",
        "current_date()",
        "TIMESTAMP '2999-01-01 00:00:00'",
    }
    past = {"TIMESTAMP '2020-01-01 00:00:00'", "DATE '2020-01-01'"}
    assert raising("MT108", "CALL lake.system.expire_snapshots(table => 'a.t', older_than => {})", now | past) == now
    assert raising("MT108", "CALL lake.system.expire_snapshots('a.t', {})", now | past) == now
    assert raising(
        "MT101", "CALL lake.system.expire_snapshots('a.t', {})", past | {"TIMESTAMP '2020-01-01', 5"}
    ) == past | {"TIMESTAMP '2020-01-01', 5"}


def test_a_time_after_tomorrow_expires_all_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tomorrow is the present in another time zone."""

    class Clock(datetime):
        """A clock that stands still."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2026, 5, 30, 12, tzinfo=tz)

    monkeypatch.setattr(maintenance, "datetime", Clock)
    days = {"2026-05-30", "2026-05-31", "2026-06-01", "2026-06-02"}
    call = "CALL lake.system.expire_snapshots('a.t', TIMESTAMP '{} 00:00:00')"
    assert raising("MT108", call, days) == {"2026-06-01", "2026-06-02"}
    assert codes("CALL lake.system.expire_snapshots('a.t')") == ["MT101"]


def test_the_id_of_a_snapshot_has_at_least_twelve_digits() -> None:
    """A shorter number is a version, which another table has, too."""
    ids = {"123456789012", "5781947118336215154"}
    for sql in (
        "CALL lake.system.cherrypick_snapshot('a.t', {})",
        "ALTER TABLE lake.a.t CREATE TAG x AS OF VERSION {}",
        "CREATE VIEW lake.a.v AS SELECT * FROM lake.a.t VERSION AS OF {}",
    ):
        assert raising("MT107", sql, ids | {"12345678901", "3"}) == ids
    assert raising("MT107", "INSERT INTO lake.a.t VALUES ({})", ids) == set()


def test_random_values_are_findings() -> None:
    """https://spark.apache.org/docs/latest/api/sql/ and https://docs.snowflake.com/en/sql-reference/functions-data-generation"""
    random = {"rand", "randn", "random", "uuid", "uuid_string", "shuffle", "monotonically_increasing_id", "randstr"}
    insert = "INSERT INTO lake.a.t SELECT {}() AS x FROM lake.a.s"
    assert raising("MT110", insert, random | {"upper", "current_user", "hash"}) == random
    assert "MT110" not in codes("INSERT INTO lake.a.t SELECT rand AS x FROM lake.a.s")


def test_rows_that_the_clock_chooses_are_findings() -> None:
    """A clock in the new value of a column is none."""
    clocks = {"current_date", "current_timestamp", "now()", "sysdate", "getdate()", "curdate()"}
    assert raising("MT111", "DELETE FROM lake.a.t WHERE at < {}", clocks | {"TIMESTAMP '2020-01-01'"}) == clocks
    assert raising("MT111", "UPDATE lake.a.t SET at = {} WHERE id = 1", clocks) == set()


def test_a_fast_forward_to_main_is_a_finding() -> None:
    """The branch that moves is the second argument, and the branch that it follows the third."""
    named = "CALL lake.system.fast_forward(table => 'a.t', branch => '{}', to => 'main')"
    assert raising("MT115", named, {"audit", "main"}) == {"audit"}
    places = {"'audit', 'main'", "'main', 'audit'", "'main', 'main'"}
    assert raising("MT115", "CALL lake.system.fast_forward('a.t', {})", places) == {"'audit', 'main'"}


def test_a_text_that_is_compared_with_a_number_is_a_finding() -> None:
    """A number has up to three digits before its point: longer ones are years and dates, whose texts have one length."""
    table = "CREATE TABLE lake.a.t (x {}) USING iceberg"
    numbers = {"9", "10", "999", "1.2.3", "v2", "v1.10", "100.5"}
    others = {"1000", "2026", "20260101", "2026-01-01", "a", "v", "1a"}
    delete = "DELETE FROM lake.a.t WHERE x {}"
    given = {f"< '{value}'" for value in numbers | others}
    assert raising("DS127", delete, given, table.replace("{}", "STRING")) == {f"< '{value}'" for value in numbers}
    signs = {f"{sign} '9'" for sign in ("<", ">", "<=", ">=")}
    assert raising("DS127", delete, signs | {"= '9'"}, table.replace("{}", "STRING")) == signs
    texts = {"STRING", "VARCHAR(9)", "CHAR(9)", "TEXT"}
    of_type = {type_ for type_ in texts | {"INT"} if raising("DS127", delete, {"< '9'"}, table.replace("{}", type_))}
    assert of_type == texts


@pytest.mark.parametrize(
    ("type_", "is_time"), [("TIMESTAMP", True), ("TIMESTAMP_NTZ", True), ("DATETIME", True), ("DATE", False)]
)
def test_a_day_that_is_compared_with_a_time_is_a_finding(type_: str, is_time: bool) -> None:
    """`<` and `>=` include the whole day before, or from its beginning."""
    table = f"CREATE TABLE db.s.t (x {type_})"
    found = {"= '2026-01-01'", "<= '2026-01-01'", "BETWEEN '2026-01-01' AND '2026-01-02'"}
    others = {"< '2026-01-01'", ">= '2026-01-01'", "<= '2026-01-01 10:00:00'", "> '2026-01-01'"}
    delete = "DELETE FROM db.s.t WHERE x {}"
    assert raising("DS128", delete, found | others, table, facts=SNOWFLAKE) == (found if is_time else set())
    spark = f"CREATE TABLE lake.a.t (x {type_}) USING iceberg"
    assert ("DS128" in codes(spark, "DELETE FROM lake.a.t WHERE x == '2026-01-01'")) is is_time


def test_the_message_about_a_day_says_which_rows_match() -> None:
    """An equality matches midnight only."""
    messages = {}
    for sign in ("=", "==", "<="):
        [finding] = [
            each
            for each in findings(TABLE, f"DELETE FROM lake.a.t WHERE at {sign} '2026-01-01'")
            if each.code == "DS128"
        ]
        messages[sign] = finding.message.partition("matches ")[2]
    midnight = "rows of midnight only"
    assert messages == {"=": midnight, "==": midnight, "<=": "rows up to midnight, at which 2026-01-01 begins"}


def test_a_destructive_statement_in_a_computed_text_is_a_finding() -> None:
    """The text is put together while the script runs."""
    script = "BEGIN LET q VARCHAR := '{} ' || 'x'; EXECUTE IMMEDIATE :q; END"
    texts = {"DROP TABLE", "DROP SCHEMA", "TRUNCATE TABLE", "DELETE FROM", "CREATE OR REPLACE TABLE", "drop  view"}
    others = {"INSERT INTO", "CREATE OR REPLACE VIEW", "CREATE TABLE", "DROPPED TABLE", "SELECT"}
    assert raising("DS124", script, texts | others, facts=SNOWFLAKE) == texts


def test_a_view_that_the_file_makes_may_be_dropped() -> None:
    """By CREATE, with or without OR REPLACE."""
    makes = {"CREATE VIEW", "CREATE OR REPLACE VIEW"}
    drop = "DROP VIEW lake.a.v;\n{} lake.a.v AS SELECT id FROM lake.a.t"
    assert raising("DS116", drop, makes) == set()
    assert "DS116" in codes("DROP VIEW lake.a.v")


def test_a_stream_is_broken_by_changes_of_rows_and_not_by_new_rows() -> None:
    """https://iceberg.apache.org/docs/latest/spark-structured-streaming/#streaming-reads"""
    changes = {
        "UPDATE lake.a.t SET id = 1 WHERE id = 2", "DELETE FROM lake.a.t WHERE id = 1", "TRUNCATE TABLE lake.a.t",
        "INSERT OVERWRITE lake.a.t SELECT * FROM lake.a.s",
        "MERGE INTO lake.a.t USING lake.a.s ON t.id = s.id WHEN MATCHED THEN DELETE",
    }  # fmt: skip
    others = {
        "INSERT INTO lake.a.t VALUES (1)", "MERGE INTO lake.a.t USING lake.a.s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
    }  # fmt: skip
    options = LintOptions(streaming=("*",))
    assert {sql for sql in changes | others if "DS120" in codes(TABLE, sql, options=options)} == changes


def test_a_description_has_at_least_ten_letters() -> None:
    """A shorter one says nothing to a reviewer."""
    head = "-- MIGRATION_DESCRIPTION: {}\n-- MIGRATION_AUTHOR: Data Platform\n\nSELECT 1"
    assert raising("FL102", head, {"x" * 9, "x" * 10}) == {"x" * 9}


def test_a_name_has_three_parts() -> None:
    """Session settings may give the others."""
    insert = "INSERT INTO {} VALUES (1)"
    assert raising("FL110", insert, {"t", "a.t", "lake.a.t"}) == {"t", "a.t"}
    assert raising("FL110", insert, {"t", "a.t"}, facts=replace(FACTS, given_parts=1)) == {"t"}
    assert raising("FL111", insert, {"lake.a.t", "spark_catalog.a.t", "lkae.a.t", "other.t"}) == {"lkae.a.t"}


ROWS = {
    "INSERT INTO lake.a.t (id) VALUES (1)", "INSERT OVERWRITE lake.a.t SELECT * FROM lake.a.s",
    "UPDATE lake.a.t SET id = 1 WHERE id = 2", "DELETE FROM lake.a.t WHERE id = 1",
    "MERGE INTO lake.a.t USING lake.a.s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE lake.a.t", "FROM lake.a.s INSERT INTO lake.a.t SELECT id INSERT INTO lake.a.u SELECT id",
}  # fmt: skip
SCHEMA = {
    "ALTER COLUMN id TYPE BIGINT", "REPLACE COLUMNS (id INT)", "DROP COLUMN name", "RENAME COLUMN name TO title",
    "RENAME TO lake.a.u", "ADD PARTITION FIELD day", "DROP PARTITION FIELD day", "REPLACE PARTITION FIELD day WITH days(at)",
    "WRITE ORDERED BY id",
    "WRITE DISTRIBUTED BY PARTITION",
}  # fmt: skip


def test_changes_of_rows_and_of_the_schema_are_in_two_files() -> None:
    """Comments, properties and new columns belong with the rows that the file writes."""
    others = {
        "ADD COLUMN x INT",
        "SET TBLPROPERTIES ('a' = 'b')",
        "ALTER COLUMN id COMMENT 'x'",
        "SET IDENTIFIER FIELDS id",
    }
    delete = "ALTER TABLE lake.a.t {};\nDELETE FROM lake.a.t WHERE id = 1"
    assert raising("FL109", delete, SCHEMA | others) == SCHEMA
    retype = "ALTER TABLE lake.a.t ALTER COLUMN id TYPE BIGINT;\n{}"
    assert raising("FL109", retype, ROWS | {"SELECT 1", "CALL lake.system.rewrite_manifests('a.t')"}) == ROWS
    delta = "ALTER TABLE a.t {};\nDELETE FROM a.t WHERE id = 1"
    assert raising("FL109", delta, {"CLUSTER BY (id)"}, facts=DELTA) == {"CLUSTER BY (id)"}
    load = "ALTER TABLE db.s.t ALTER COLUMN id TYPE NUMBER(38);\nCOPY INTO db.s.t FROM @db.s.files"
    assert "FL109" in codes(load, facts=SNOWFLAKE)


@pytest.mark.parametrize(
    ("template", "found", "others"),
    [
        ("'{}'", ["AKIA" + "A1" * 8, "ASIA" + "A1" * 8], ["AKIA" + "A" * 15, "ABIA" + "A1" * 8]),
        ("'{}'", [f"gh{letter}_{'a1' * 18}" for letter in "pousr"], ["ghx_" + "a1" * 18, "ghp_" + "a" * 35]),
        ("'-----BEGIN {}'", ["PRIVATE KEY", "RSA PRIVATE KEY"], ["PUBLIC KEY"]),
        ("'AccountKey={}'", ["a" * 40], ["a" * 39]),
        ("'https://{}'", ["me:pw1@host", "m:abcd@h"], ["me:pw@host", "host:1234/db", f"{'u' * 65}:abcd@h"]),
        ("'https://h/x?sig={}'", ["a" * 20], ["a" * 19]),
        ("{}_key = 'aaaabbbbccccdddd'", ["master", "private"], ["record", "sort"]),
        ("{} = 'hunter2'",
         ["password", "passwd", "secret", "access_key", "api.key", "apikey", "api-key", "auth_token", "sas_token", "refresh.token",
          "bearer_token", "accesstoken", "my_password_1"],
         ["pass", "key", "token", f"secret{'x' * 51}"]),
        ("password = '{}'", ["hunter2", "x"], ["y", "n", "yes", "no", "true", "false", "none", "null"]),
    ],
)  # fmt: skip
def test_texts_that_resemble_secrets_are_findings(template: str, found: list[str], others: list[str]) -> None:
    """Keys of cloud providers and code hosts, private keys, passwords in addresses, and values of such properties."""
    sql = f"CALL x.y({template})"
    assert raising("FL113", sql, [*found, *others]) == set(found)


# https://docs.snowflake.com/en/sql-reference/sql-all
HEADS = """
ALTER BEGIN CALL COMMENT COMMIT COPY CREATE DECLARE DELETE DESC DESCRIBE DROP EXECUTE EXPLAIN FROM GET GRANT INSERT LET LIST LS
MERGE PUT REMOVE RETURN REVOKE RM ROLLBACK SELECT SET SHOW START TRUNCATE UNDROP UNSET UPDATE USE VALUES WITH FOR IF CASE WHILE
REPEAT LOOP ASYNC AWAIT OPEN CLOSE FETCH
"""


def test_a_statement_of_snowflake_that_no_rule_reads_is_none_of_another_engine() -> None:
    """A first word that Snowflake does not have is a finding."""
    heads = set(HEADS.split())
    others, blocks = {"OPTIMIZE", "FROB", "REFRESH"}, {"BEGIN", "DECLARE"}
    assert raising("FL117", "{} frob 1", (heads - blocks) | others, facts=SNOWFLAKE) == others
    assert raising("FL117", "{} frob 1; BEGIN SELECT 1; END", {"DECLARE"}, facts=SNOWFLAKE) == set()
    assert "FL117" not in codes("(SELECT 1)", facts=SNOWFLAKE)
    assert raising("FL117", "{} frob 1", {"EXECUTE", "DECLARE", "FROB"}) == {"FROB"}


@pytest.mark.parametrize(
    ("template", "found", "others"),
    [
        ("{} SELECT ON lake.a.t TO x", ["GRANT", "REVOKE"], []),
        ("CREATE {} lake.a.x",
         ["ROLE", "USER", "SEQUENCE", "TRIGGER", "PROCEDURE", "STAGE", "STREAM", "TASK", "PIPE", "WAREHOUSE", "DOMAIN", "UNIQUE",
          "OR REPLACE ROLE", "OR ALTER TABLE", "INDEX"], ["NAMESPACE"]),
        ("DROP {} lake.a.x", ["INDEX"], ["TABLE", "VIEW"]),
        ("{}", ["UNDROP TABLE lake.a.t", "COPY INTO lake.a.t FROM 'x'", "COMMIT", "ROLLBACK", "START TRANSACTION",
                "LOCK TABLE lake.a.t", "MSCK REPAIR TABLE lake.a.t", "REPAIR TABLE lake.a.t",
                "COMMENT ON COLUMN lake.a.t.x IS 'y'", "INSERT IGNORE INTO lake.a.t VALUES (1)",
                "INSERT OR REPLACE INTO lake.a.t VALUES (1)", "REPLACE INTO lake.a.t VALUES (1)", "UPSERT INTO lake.a.t VALUES (1)",
                "DELETE lake.a.t WHERE id = 1", "TRUNCATE lake.a.t", "EXEC x", "OPTIMIZE lake.a.t", "VACUUM lake.a.t",
                "RESTORE TABLE lake.a.t TO VERSION AS OF 1", "ANALYZE TABLE lake.a.t COMPUTE STATISTICS"],
         ["COMMENT ON TABLE lake.a.t IS 'y'", "INSERT INTO lake.a.t VALUES (1)", "DELETE FROM lake.a.t WHERE id = 1",
          "TRUNCATE TABLE lake.a.t"]),
        ("ALTER TABLE lake.a.t {}",
         ["MODIFY x INT", "SWAP WITH lake.a.u", "OWNER TO x", "SET OWNER TO x", "ADD INDEX x (y)", "DROP INDEX x",
          "SET PROPERTIES ('a' = 'b')", "ALTER COLUMN x SET DATA TYPE INT", "ALTER x SET DATA TYPE INT", "ADD PARTITION (day = 1)",
          "ADD IF NOT EXISTS PARTITION (day = 1)"],
         ["ALTER COLUMN x TYPE INT", "ADD PARTITION FIELD day", "SET TBLPROPERTIES ('a' = 'b')"]),
        ("DROP TABLE lake.a.t {}", ["CASCADE", "RESTRICT"], ["", "PURGE"]),
        ("CREATE TABLE lake.a.u {} lake.a.t", ["LIKE", "CLONE", "SHALLOW CLONE", "DEEP CLONE"], []),
        ("CREATE TABLE {} lake.a.u LIKE lake.a.t", ["IF NOT EXISTS"], []),
    ],
)  # fmt: skip
def test_statements_of_other_engines_are_findings(template: str, found: list[str], others: list[str]) -> None:
    """Spark has no such statement for tables of Iceberg. https://iceberg.apache.org/docs/latest/spark-ddl/"""
    assert raising("FL118", template, [*found, *others]) == set(found)
    assert (
        raising("FL118", template, found, facts=replace(FACTS, formats={"lake": "iceberg", "other": "delta"})) == set()
    )


@pytest.mark.parametrize("facts", [FACTS, SNOWFLAKE])
def test_a_slip_of_the_keys_is_an_error_and_names_the_word(facts: Facts) -> None:
    """Words of statements, and words that only resemble them by their first letters, are not misspelt."""
    slips = ["ATLER TABLE a", "ALTR TABLE a", "CREAT TABLE a", "DORP TABLE a", "INSRET INTO a", "SELET 1", "DELTE FROM a",
             "UDPATE a", "MEREG INTO a", "TRUNCATE TABEL a", "CREATE TABEL a", "DROP VEIW a", "ALTER SCHMA a"]  # fmt: skip
    others = ["ALTER TABLE lake.a.t ADD COLUM x int", "FROBNICATE a", "UPSERT INTO a", "IMPORT TABLE a", "LOCK TABLE a",
              "CREATE STAGE a", "CREATE STREAM a", "ALTER SHARE a", "CREATE TYPE a", "DFS -ls"]  # fmt: skip
    assert raising("FL119", "{}", [*slips, *others], facts=facts) == {*slips} - {"TRUNCATE TABEL a"}


def test_a_reversed_id_is_a_text() -> None:
    """A number loses the zeros at its start. In accounting, a reversed payment is another thing."""
    names = {"reversed_id", "reversed_user_id", "user_reversed_id", "id_reversed", "id_rev", "user_id_reversed"}
    booked = {
        f"reversed_{word}_id"
        for word in (
            "payment", "transaction", "txn", "transfer", "entry", "journal", "posting", "booking", "charge", "invoice", "order",
            "line", "document",
        )
    }  # fmt: skip
    table = "CREATE TABLE lake.a.t ({} BIGINT) USING iceberg"
    assert raising("KL105", table, names | booked | {"id", "reversed", "user_id"}) == names
    types = {
        "tinyint", "smallint", "int", "integer", "bigint", "long", "short", "decimal(9)", "dec(9)", "numeric(9)", "float", "double",
        "real",
    }  # fmt: skip
    of_type = "CREATE TABLE lake.a.t (reversed_id {}) USING iceberg"
    assert raising("KL105", of_type, types | {"string", "binary", "date"}) == types
    casts = {"CAST(reverse(x) AS BIGINT)", "TRY_CAST(reverse(x) AS INT)", "reverse(x)::BIGINT"}
    others = {"CAST(reverse(x) AS STRING)", "reverse(CAST(x AS STRING))", "CAST(x AS BIGINT)", "reverse(x)::STRING"}
    assert (
        raising("KL105", "CREATE TABLE lake.a.u USING iceberg AS SELECT {} AS y FROM lake.a.t", casts | others) == casts
    )


def test_a_view_is_broken_unless_the_file_defines_it_again() -> None:
    """By any statement that creates, changes, drops or renames it."""
    views = f"{TABLE};\nCREATE VIEW lake.a.v AS SELECT name FROM lake.a.t"
    again = {
        "CREATE OR REPLACE VIEW lake.a.v AS SELECT 1 AS name", "ALTER VIEW lake.a.v AS SELECT 1 AS name", "DROP VIEW lake.a.v",
        "CREATE VIEW lake.a.v AS SELECT 1 AS name", "ALTER VIEW lake.a.v RENAME TO lake.a.w",
        "ALTER VIEW lake.a.w RENAME TO lake.a.v",
    }  # fmt: skip
    others = {"SELECT 1", "CREATE VIEW lake.a.other AS SELECT 1 AS name"}
    drop = "ALTER TABLE lake.a.t DROP COLUMN name;\n{}"
    assert raising("BC106", drop, again | others, views) == others
    gone = {
        "DROP TABLE lake.a.t",
        "ALTER TABLE lake.a.t RENAME TO lake.a.u",
        "ALTER TABLE lake.a.t RENAME COLUMN name TO title",
    }
    assert raising("BC106", "{}", gone | {"ALTER TABLE lake.a.t DROP COLUMN id"}, views) == gone
