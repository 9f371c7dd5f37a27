"""Rules for Snowflake that decide by a word or a number: each word on its side, and each limit from both sides.

What is expected is written out here, from Snowflake's documentation: a table of the code would agree with itself.
"""

from __future__ import annotations

import pytest

from glacierbase.capabilities.review.rule import Facts
from tests.support.rules import codes, findings, raising

SNOWFLAKE = Facts(engine="snowflake", given_parts=2)


def found(code: str, template: str, values: set[str], *before: str) -> set[str]:
    """Return the values with which a file on Snowflake raises a rule."""
    return raising(code, template, values, *before, facts=SNOWFLAKE)


# https://docs.snowflake.com/en/sql-reference/sql/undrop lists what UNDROP restores; these it does not.
STATEFUL = {"STREAM", "PIPE", "STAGE", "TASK", "SEQUENCE", "ALERT", "FILE FORMAT"}
ACCESS = {
    "ROLE", "DATABASE ROLE", "USER", "SHARE", "WAREHOUSE", "RESOURCE MONITOR", "STORAGE INTEGRATION", "API INTEGRATION",
    "NOTIFICATION INTEGRATION", "EXTERNAL ACCESS INTEGRATION", "EXTERNAL VOLUME", "NETWORK POLICY", "NETWORK RULE", "SECRET", "TAG",
    "CONNECTION", "FAILOVER GROUP", "REPLICATION GROUP", "MASKING POLICY", "ROW ACCESS POLICY", "PASSWORD POLICY", "SESSION POLICY",
}  # fmt: skip


def test_objects_that_no_undrop_restores_are_not_dropped_silently() -> None:
    """Functions have no state, and other rules are about tables, schemas and databases."""
    kinds = STATEFUL | ACCESS | {"TABLE", "VIEW", "FUNCTION", "SCHEMA", "DATABASE"}
    drop = "DROP {} db.s.x"
    assert found("SF105", drop, kinds) == STATEFUL
    assert found("SF107", drop, kinds) == ACCESS
    assert found("SF108", drop, kinds) == {"SCHEMA", "DATABASE"}


def test_objects_whose_state_is_lost_are_not_replaced_silently() -> None:
    """Light ones are replaced where an earlier file creates them, as their state is their text."""
    light = {"FILE FORMAT", "ALERT", "TASK"}
    heavy = STATEFUL - light
    assert found("SF106", "CREATE OR REPLACE {} db.s.x", STATEFUL | {"FUNCTION", "VIEW"}) == heavy
    create, replace = "CREATE {} db.s.x", "CREATE OR REPLACE {} db.s.x"
    made = {kind for kind in light if "SF106" in codes(create.format(kind), replace.format(kind), facts=SNOWFLAKE)}
    assert made == light - {"TASK"}
    tables = {
        "EXTERNAL TABLE db.s.x LOCATION = @db.s.f",
        "DYNAMIC TABLE db.s.x TARGET_LAG = '1 day' WAREHOUSE = w AS SELECT 1 AS a",
    }
    assert found("SF106", "CREATE OR REPLACE {}", tables | {"TABLE db.s.x (id NUMBER)"}) == tables
    assert found("SF101", "CREATE OR REPLACE {}", tables | {"TABLE db.s.x (id NUMBER)"}) == {"TABLE db.s.x (id NUMBER)"}
    assert found("SF107", "CREATE OR REPLACE {} db.s.x", ACCESS | {"FUNCTION"}) == ACCESS


def test_each_consequence_is_that_of_its_object() -> None:
    """Only an external volume and a tag are restored by UNDROP."""
    for kind in sorted(STATEFUL | ACCESS):
        [finding] = [
            each for each in findings(f"DROP {kind} db.s.x", facts=SNOWFLAKE) if each.code in ("SF105", "SF107")
        ]
        assert finding.message.startswith("DROP ")
        assert ("there is no UNDROP" in finding.message) is (kind in STATEFUL)
        assert ("; UNDROP " in finding.message) is (kind in ("EXTERNAL VOLUME", "TAG"))
        # Stages and pipes use an integration for a store, not one for calls of functions.
        if kind.endswith(" INTEGRATION"):
            assert ("pipes" in finding.message) is ("ACCESS" not in kind)


def test_policies_that_are_detached_are_findings() -> None:
    """A statement that attaches another policy exchanges it."""
    kinds = {
        "MASKING",
        "PROJECTION",
        "AGGREGATION",
        "JOIN",
        "PRIVACY",
        "PASSWORD",
        "SESSION",
        "AUTHENTICATION",
        "NETWORK",
    }
    assert found("SF110", "ALTER TABLE db.s.t UNSET {} POLICY", kinds | {"STORAGE LIFECYCLE"}) == kinds
    rows = {"DROP ROW ACCESS POLICY db.s.r", "DROP ALL ROW ACCESS POLICIES"}
    exchanged = {
        "DROP ROW ACCESS POLICY db.s.r, ADD ROW ACCESS POLICY db.s.q ON (id)",
        "ADD ROW ACCESS POLICY db.s.q ON (id)",
    }
    assert found("SF110", "ALTER TABLE db.s.t {}", rows | exchanged) == rows
    messages = {}
    for kind in sorted(kinds):
        [finding] = [
            each
            for each in findings(f"ALTER TABLE db.s.t UNSET {kind} POLICY", facts=SNOWFLAKE)
            if each.code == "SF110"
        ]
        messages[kind] = finding.message.endswith("its limit on who may connect no longer holds")
    assert {kind for kind, is_limit in messages.items() if is_limit} == {
        "PASSWORD",
        "SESSION",
        "AUTHENTICATION",
        "NETWORK",
    }


def test_a_policy_that_hides_nothing_is_a_finding() -> None:
    """A body of one name, or TRUE, shows every value; NULL hides everything."""
    bodies = {"val", "TRUE"}
    others = {"NULL", "'***'", "upper(val)", "CASE WHEN a THEN val ELSE '*' END"}
    for kind in ("MASKING", "ROW ACCESS"):
        assert found("SF110", f"ALTER {kind} POLICY db.s.p SET BODY -> {{}}", bodies | others) == bodies


def test_a_lower_retention_is_a_finding() -> None:
    """0 is, in any statement; a temporary table has no more than a day."""
    table = "CREATE TABLE db.s.t (id NUMBER) DATA_RETENTION_TIME_IN_DAYS = {}"
    assert found("SF111", table, {"0", "1", "30"}) == {"0"}
    alter = "ALTER TABLE db.s.t SET DATA_RETENTION_TIME_IN_DAYS = {}"
    assert found("SF111", alter, {"0", "6", "7", "8"}, table.replace("{}", "7")) == {"0", "6"}
    unset = "ALTER TABLE db.s.t UNSET DATA_RETENTION_TIME_IN_DAYS"
    assert {days for days in ("1", "2") if "SF111" in codes(table.replace("{}", days), unset, facts=SNOWFLAKE)} == {"2"}
    kinds = {"TRANSIENT", "TEMPORARY", "TEMP"}
    assert found("SF111", "CREATE {} TABLE db.s.t (id NUMBER) DATA_RETENTION_TIME_IN_DAYS = 0", kinds) == set()


def test_a_transient_table_of_rows_that_can_be_loaded_again_is_no_finding() -> None:
    """The name of the table or its schema says so; a retention beyond a day is refused."""
    words = {
        "tmp", "temp", "stage", "stag", "stg", "staging", "landing", "raw", "scratch", "work", "wrk", "cache", "transient", "swap",
        "load",
    }  # fmt: skip
    table = "CREATE TRANSIENT TABLE db.s.{} (id NUMBER)"
    assert found("SF113", table, words | {"orders", "rawhide", "loads", "unload"}) == {
        "orders",
        "rawhide",
        "loads",
        "unload",
    }
    assert found("SF113", table.replace("{}", "a_{}_b"), words) == set()
    assert found("SF113", "CREATE TRANSIENT TABLE db.{}.t (id NUMBER)", words) == set()
    days = "CREATE TRANSIENT TABLE db.s.tmp (id NUMBER) DATA_RETENTION_TIME_IN_DAYS = {}"
    assert found("SF113", days, {"1", "2"}) == {"2"}


def test_a_default_of_a_new_column_is_a_constant() -> None:
    """https://docs.snowflake.com/en/sql-reference/sql/alter-table-column"""
    constants = {
        "1", "-1.5", "+2", "1e6", "1.5E-3", "'x'", "'it''s'", "TRUE", "FALSE", "NULL", "DATE '2026-01-01'",
        "TIMESTAMP '2026-01-01 00:00:00'", "'2026-01-01'::DATE",
    }  # fmt: skip
    others = {"CURRENT_TIMESTAMP()", "db.s.ids.NEXTVAL", "1 + 1", "UUID_STRING()"}
    assert found("SF117", "ALTER TABLE db.s.t ADD COLUMN x NUMBER DEFAULT {}", constants | others) == others
    assert found("SF117", "ALTER TABLE db.s.t ADD COLUMN x NUMBER {}", {"AUTOINCREMENT", "IDENTITY", ""}) == {
        "AUTOINCREMENT",
        "IDENTITY",
    }
    assert found("SF117", "ALTER TABLE db.s.t ALTER COLUMN x SET DEFAULT {}", {"1", "db.s.ids.NEXTVAL"}) == {"1"}


@pytest.mark.parametrize(
    ("old", "refused", "accepted", "fewer"),
    [
        ("VARCHAR(100)", {"VARCHAR(99)", "BINARY(100)", "NUMBER(9)"}, {"VARCHAR(100)", "VARCHAR(101)", "TEXT", "VARCHAR"}, set()),
        ("TEXT", {"VARCHAR(100)"}, {"VARCHAR", "STRING"}, set()),
        ("BINARY(10)", {"BINARY(9)", "VARCHAR(10)"}, {"BINARY(10)", "BINARY(11)"}, set()),
        ("NUMBER(12,2)", {"NUMBER(12,3)", "NUMBER(14,4)", "FLOAT", "NUMBER(14)"}, {"NUMBER(12,2)", "NUMBER(13,2)"},
         {"NUMBER(11,2)"}),
        ("DATE", {"TIMESTAMP_NTZ", "VARCHAR"}, {"DATE"}, set()),
    ],
)  # fmt: skip
def test_types_that_snowflake_changes_into_another_one(
    old: str, refused: set[str], accepted: set[str], fewer: set[str]
) -> None:
    """https://docs.snowflake.com/en/sql-reference/sql/alter-table-column"""
    table, alter = f"CREATE TABLE db.s.t (x {old})", "ALTER TABLE db.s.t ALTER COLUMN x SET DATA TYPE {}"
    values = refused | accepted | fewer
    assert found("SF119", alter, values, table) == refused
    assert found("SF120", alter, values, table) == fewer


def test_settings_of_a_load_that_lose_rows_or_files_are_findings() -> None:
    """https://docs.snowflake.com/en/sql-reference/sql/copy-into-table"""
    copy = "COPY INTO db.s.t FROM @db.s.f {}"
    skips = {"ON_ERROR = CONTINUE", "ON_ERROR = 'SKIP_FILE'", "ON_ERROR = SKIP_FILE_3", "TRUNCATECOLUMNS = TRUE"}
    others = {
        "ON_ERROR = ABORT_STATEMENT",
        "TRUNCATECOLUMNS = FALSE",
        "FORCE = FALSE",
        "PURGE = FALSE",
        "FORCE = TRUE",
        "PURGE = TRUE",
    }
    assert found("SF124", copy, skips | others) == skips
    assert found("SF122", copy, skips | others) == {"FORCE = TRUE"}
    assert found("SF123", copy, skips | others) == {"PURGE = TRUE"}
    assert found("SF123", "{} @db.s.f", {"REMOVE", "RM", "LIST", "LS"}) == {"REMOVE", "RM"}


def test_changes_that_act_on_the_whole_account_are_findings() -> None:
    """A comment, a tag and a new name change nobody's access."""
    kinds = {"ACCOUNT", "USER x", "NETWORK POLICY x", "NETWORK RULE db.s.x", "STORAGE INTEGRATION x", "SHARE x"}
    alter = "ALTER {} SET A = 1"
    assert found("SF128", alter, kinds | {"TABLE db.s.t", "WAREHOUSE x"}) == kinds
    for described in ("SET COMMENT = 'x'", "SET TAG a = 'b'", "UNSET COMMENT", "UNSET TAG a", "RENAME TO y"):
        assert found("SF128", f"ALTER {{}} {described}", kinds) == set()
    created = {"USER x", "NETWORK POLICY x", "SHARE x", "STORAGE INTEGRATION x"}
    assert found("SF128", "CREATE {}", created | {"NETWORK RULE db.s.x", "ROLE x", "WAREHOUSE x"}) == created


def test_what_runs_at_once_or_stays_stopped_is_a_finding() -> None:
    """A later statement of the file may start it again."""
    assert found("SF130", "EXECUTE {} db.s.x", {"TASK", "ALERT"}) == {"TASK", "ALERT"}
    assert found("SF130", "ALTER {} db.s.x REFRESH", {"PIPE", "ICEBERG TABLE", "DYNAMIC TABLE"}) == {"PIPE"}
    started = {"TASK", "ALERT", "DYNAMIC TABLE"}
    assert found("SF131", "ALTER {} db.s.x SUSPEND", started | {"WAREHOUSE"}) == started
    assert found("SF131", "ALTER {0} db.s.x SUSPEND; ALTER {0} db.s.x RESUME".replace("{0}", "{}"), started) == set()
    create, replace = "CREATE {} db.s.x", "CREATE OR REPLACE {} db.s.x"
    kinds = {"TASK", "ALERT", "FILE FORMAT"}
    replaced = {kind for kind in kinds if "SF131" in codes(create.format(kind), replace.format(kind), facts=SNOWFLAKE)}
    assert replaced == {"TASK", "ALERT"}
    paused = "ALTER PIPE db.s.x SET PIPE_EXECUTION_PAUSED = {}"
    assert found("SF131", paused, {"TRUE", "FALSE"}) == {"TRUE"}
    assert found("SF131", f"{paused.format('TRUE')}; {paused}", {"FALSE"}) == set()


def test_settings_of_the_session_that_change_results_are_findings() -> None:
    """The other value is the default."""
    keys = {
        "AUTOCOMMIT": "FALSE", "ERROR_ON_NONDETERMINISTIC_MERGE": "FALSE", "ERROR_ON_NONDETERMINISTIC_UPDATE": "FALSE",
        "QUOTED_IDENTIFIERS_IGNORE_CASE": "TRUE",
    }  # fmt: skip
    given = {f"{key} = {value}" for key in (*keys, "ABORT_DETACHED_QUERY") for value in ("TRUE", "FALSE")}
    assert found("SF134", "ALTER SESSION SET {}", given) == {f"{key} = {value}" for key, value in keys.items()}


# https://docs.snowflake.com/en/sql-reference/reserved-keywords
RESERVED = """
all alter and any as between by case cast check column connect constraint create cross current current_date current_time
current_timestamp current_user delete distinct drop else exists false following for from full grant group having ilike in increment
inner insert intersect into is join lateral left like localtime localtimestamp minus natural not null of on or order qualify regexp
revoke right rlike row rows sample schema select set some start table tablesample then to trigger true try_cast union unique update
using values view when whenever where with
"""


def test_a_name_that_is_in_quotes_for_its_case_alone_is_a_finding() -> None:
    """A reserved word and a name with another sign need the quotes."""
    names = {"orders", "Orders", "_x", "a$1"}
    others = {"ORDERS", "my orders", "1st", "größe", *RESERVED.split()}
    assert found("SF136", 'CREATE TABLE db.s."{}" (id NUMBER)', names | others) == names
    assert found("SF136", 'ALTER TABLE db.s.t ADD COLUMN "{}" NUMBER', names | others) == names
    assert found("SF136", 'CREATE {} db.s."orders" AS SELECT 1 AS a', {"TABLE", "VIEW"}) == {"TABLE", "VIEW"}


ADMINS = {"ACCOUNTADMIN", "SECURITYADMIN", "ORGADMIN", "GLOBALORGADMIN"}


def test_a_grant_to_everybody_or_of_everything_is_a_finding() -> None:
    """https://docs.snowflake.com/en/user-guide/security-access-control-considerations"""
    assert found("SF126", "GRANT ROLE {} TO USER x", ADMINS | {"ANALYST", "SYSADMIN"}) == ADMINS
    assert found("SF129", "USE ROLE {}", ADMINS | {"ANALYST", "SYSADMIN"}) == ADMINS
    wide = {
        "ALL ON TABLE db.s.t TO ROLE a", "SELECT ON TABLE db.s.t TO ROLE PUBLIC", "ROLE a TO ROLE PUBLIC", "ROLE a TO PUBLIC",
        "SELECT ON TABLE db.s.t TO SHARE x",
        "MANAGE GRANTS ON ACCOUNT TO ROLE a",
    }  # fmt: skip
    assert (
        found("SF126", "GRANT {}", wide | {"SELECT ON TABLE db.s.t TO ROLE a", "USAGE ON SCHEMA db.s TO ROLE a"})
        == wide
    )


def test_names_that_are_compared_with_the_context_are_in_capitals() -> None:
    """https://docs.snowflake.com/en/sql-reference/functions-context"""
    context = {
        "CURRENT_ROLE",
        "INVOKER_ROLE",
        "CURRENT_USER",
        "CURRENT_DATABASE",
        "CURRENT_SCHEMA",
        "CURRENT_WAREHOUSE",
    }
    view = "CREATE VIEW db.s.v AS SELECT id FROM db.s.t WHERE {}"
    compared = {f"{function}() = 'analyst'" for function in context}
    assert found("SF140", view, compared | {"CURRENT_DATE() = 'analyst'"}) == compared
    session = {"IS_ROLE_IN_SESSION", "IS_GRANTED_TO_INVOKER_ROLE", "IS_DATABASE_ROLE_IN_SESSION"}
    asked = {f"{function}('analyst')" for function in session}
    assert found("SF140", view, asked | {"upper('analyst')"}) == asked
    forms = {
        "= 'a'",
        "<> 'a'",
        "!= 'a'",
        "IN ('a', 'B')",
        "IN ('A', 'b')",
        "NOT IN ('a')",
        "LIKE 'a'",
        "LIKE ANY ('a')",
    }
    others = {"= 'A'", "IN ('A', 'B')", "= name AND name = 'a'", "|| 'a' = name", "= 'a b'", "= 'a@b.c'"}
    assert found("SF140", view, {f"CURRENT_ROLE() {form}" for form in forms | others}) == {
        f"CURRENT_ROLE() {form}" for form in forms
    }
    case = "CREATE VIEW db.s.v AS SELECT CASE CURRENT_ROLE() WHEN '{}' THEN id END AS id FROM db.s.t"
    assert found("SF140", case, {"analyst", "ANALYST"}) == {"analyst"}
    assert found("SF140", view, {"'analyst' = CURRENT_ROLE()", "'ANALYST' = CURRENT_ROLE()"}) == {
        "'analyst' = CURRENT_ROLE()"
    }


def test_a_masking_policy_shows_the_value_to_listed_roles_only() -> None:
    """ELSE with the value shows it to every role that is created later."""
    policy = "CREATE MASKING POLICY db.s.m AS (v TEXT) RETURNS TEXT -> {}"
    open_ = {
        "CASE WHEN CURRENT_ROLE() = 'X' THEN '*' ELSE v END",
        "CASE WHEN IS_ROLE_IN_SESSION('X') THEN '*' ELSE v END",
    }
    others = {
        "CASE WHEN CURRENT_ROLE() = 'X' THEN v ELSE '*' END", "CASE WHEN CURRENT_ROLE() = 'X' THEN v ELSE NULL END",
        "CASE WHEN CURRENT_ROLE() <> 'X' THEN '*' ELSE v END", "CASE WHEN CURRENT_ROLE() != 'X' THEN '*' ELSE v END",
        "CASE WHEN NOT IS_ROLE_IN_SESSION('X') THEN '*' ELSE v END", "CASE WHEN a = 'X' THEN '*' ELSE v END",
    }  # fmt: skip
    assert found("SF141", policy, open_ | others) == open_
    rows = "CREATE ROW ACCESS POLICY db.s.r AS (v TEXT) RETURNS BOOLEAN -> {}"
    assert found(
        "SF141", rows, {"TRUE", "TRUE COMMENT = 'x'", "FALSE", "CURRENT_ROLE() = 'X'", "TRUE AND v = 'a'"}
    ) == {
        "TRUE",
        "TRUE COMMENT = 'x'",
    }


def test_a_warehouse_that_spends_much_is_a_finding() -> None:
    """Such a warehouse is larger than medium, suspends itself after more than an hour or never, or has more than three clusters."""
    small = {"XSMALL", "X-SMALL", "SMALL", "MEDIUM"}
    large = {"LARGE", "XLARGE", "X-LARGE", "XXLARGE"}
    alter = "ALTER WAREHOUSE w SET {}"
    sizes = "ALTER WAREHOUSE w SET WAREHOUSE_SIZE = '{}'"
    assert found("SF127", sizes, small | large) == large
    assert found("SF127", "ALTER WAREHOUSE w SET AUTO_SUSPEND = {}", {"0", "NULL", "60", "3600", "3601"}) == {
        "0",
        "NULL",
        "3601",
    }
    assert found("SF127", "ALTER WAREHOUSE w SET MAX_CLUSTER_COUNT = {}", {"1", "3", "4"}) == {"4"}
    assert found("SF127", alter, {"AUTO_RESUME = FALSE", "AUTO_RESUME = TRUE"}) == {"AUTO_RESUME = FALSE"}
    kinds = {"COMPUTE POOL", "RESOURCE MONITOR"}
    for verb in ("CREATE {} x", "ALTER {} x SET A = 1"):
        assert found("SF127", verb, kinds | {"ROLE"}) == kinds
    assert found("SF127", "DROP {} x", kinds) == set()
    [finding] = findings("ALTER WAREHOUSE w SET AUTO_SUSPEND = 7200", facts=SNOWFLAKE)
    assert "it runs for 2.0 hours after its last query" in finding.message


def test_a_full_refresh_within_ten_minutes_is_a_finding() -> None:
    """A dynamic table with an incremental refresh may be that fresh."""
    table = "CREATE DYNAMIC TABLE db.s.d TARGET_LAG = '{}' REFRESH_MODE = FULL WAREHOUSE = w AS SELECT id FROM db.s.t"
    lags = {"1 minute", "9 minutes", "599 seconds", "10 minutes", "600 seconds", "1 hour", "1 day"}
    assert found("SF144", table, lags) == {"1 minute", "9 minutes", "599 seconds"}
    assert found("SF144", table.replace("FULL", "INCREMENTAL"), lags) == set()


def test_statements_that_move_the_offset_of_a_stream_are_findings_after_the_first() -> None:
    """https://docs.snowflake.com/en/user-guide/streams-intro"""
    stream = "CREATE STREAM db.s.st ON TABLE db.s.t"
    again = {
        "INSERT INTO db.s.b SELECT id FROM db.s.st", "INSERT OVERWRITE INTO db.s.b SELECT id FROM db.s.st",
        "INSERT ALL INTO db.s.b INTO db.s.c SELECT id FROM db.s.st", "CREATE TABLE db.s.b AS SELECT id FROM db.s.st",
        "MERGE INTO db.s.b USING db.s.st ON b.id = st.id WHEN MATCHED THEN DELETE",
        "UPDATE db.s.b SET x = 1 FROM db.s.st WHERE b.id = st.id", "DELETE FROM db.s.b USING db.s.st WHERE b.id = st.id",
        "COPY INTO @db.s.files FROM (SELECT id FROM db.s.st)",
    }  # fmt: skip
    first = "INSERT INTO db.s.a SELECT id FROM db.s.st;\n"
    assert (
        found(
            "SF143",
            first + "{}",
            again | {"SELECT id FROM db.s.st", "CREATE VIEW db.s.v AS SELECT id FROM db.s.st"},
            stream,
        )
        == again
    )
    assert found("SF143", "{};\n" + first, again, stream) == again


def test_functions_of_spark_are_refused_with_those_of_snowflake() -> None:
    """https://docs.snowflake.com/en/sql-reference/functions-all"""
    instead = {
        "collect_list": "ARRAY_AGG", "collect_set": "ARRAY_UNIQUE_AGG", "date_format": "TO_CHAR", "date_sub": "DATEADD",
        "explode": "FLATTEN", "from_json": "PARSE_JSON", "from_unixtime": "TO_TIMESTAMP", "get_json_object": "GET_PATH",
        "named_struct": "OBJECT_CONSTRUCT", "percentile_approx": "APPROX_PERCENTILE", "posexplode": "FLATTEN",
        "regexp_extract": "REGEXP_SUBSTR", "unix_timestamp": "DATE_PART(epoch_second, …)",
    }  # fmt: skip
    for function, other in instead.items():
        [finding] = findings(f"CREATE VIEW db.s.v AS SELECT {function}(a) AS x FROM db.s.t", facts=SNOWFLAKE)
        assert (finding.code, finding.message.rpartition(" write ")[2]) == ("SF145", other)
    view = "CREATE VIEW db.s.v AS SELECT {}(a, b) AS x FROM db.s.t"
    dates = {"datediff", "timediff", "timestampdiff", "dateadd", "timeadd", "timestampadd"}
    assert found("SF145", view, dates | {"coalesce", "to_char"}) == dates
    three = "CREATE VIEW db.s.v AS SELECT datediff({}) AS x FROM db.s.t"
    assert found(
        "SF145", three, {"day, a, b", "day, coalesce(a, b), c", "day, a[0], b", "a, [1, 2]", "a", "day, a, b, c"}
    ) == {
        "a, [1, 2]",
        "a",
        "day, a, b, c",
    }
    named = {
        "TABLE explode(a NUMBER)", "TABLE IF NOT EXISTS explode(a NUMBER)", "TABLE x (explode NUMBER)",
        "FUNCTION explode(a NUMBER) RETURNS NUMBER AS 'a'", "PROCEDURE explode(a NUMBER) RETURNS NUMBER AS 'a'",
    }  # fmt: skip
    assert found("SF145", "CREATE {}", named) == set()
    assert "SF145" not in codes("INSERT INTO explode(a) VALUES (1)", facts=SNOWFLAKE)
