"""What `read` says of a statement about its session: what it changes for the statements after it, what USE selects."""

from __future__ import annotations

import pytest

from glacierbase.sql import read
from glacierbase.sql.statement import SessionEffect

EFFECTS = {
    SessionEffect.NONE: (
        ("spark", "INSERT INTO lake.a.t SELECT 1"),
        ("spark", "ALTER TABLE lake.a.t ADD COLUMN b INT"),
        ("spark", "CREATE NAMESPACE lake.a"),
        ("spark", "CREATE VIEW lake.a.v AS SELECT 1"),
        ("spark", "SET"),
        ("spark", "SET -v"),
        ("spark", "SET spark.sql.shuffle.partitions"),
        ("spark", "CACHE TABLE lake.a.t"),
        ("spark", "CALL lake.system.rewrite_data_files(table => 'a.t')"),
        ("spark", "BEGIN DECLARE x INT DEFAULT 1; INSERT INTO lake.a.t VALUES (x); END"),
        ("snowflake", "CREATE TABLE a.t (id INT)"),
        ("snowflake", "COMMIT"),
        ("snowflake", "BEGIN INSERT INTO t VALUES (1); LET x := 2; END"),
    ),
    SessionEffect.SET: (
        ("spark", "USE lake.a"),
        ("spark", "SET CATALOG lake"),
        ("spark", "SET spark.sql.sources.partitionOverwriteMode=dynamic"),
        ("spark", "SET TIME ZONE 'UTC'"),
        ("spark", "SET VAR x = 5"),
        ("spark", "SET VAR x = DATE '2026-01-01'"),
        ("spark", "SET VAR x = 'DATE today'"),
        ("spark", "RESET"),
        ("spark", "RESET spark.sql.shuffle.partitions"),
        ("spark", "DECLARE VARIABLE x INT DEFAULT 5"),
        ("spark", "DECLARE x STRING = 'now()'"),
        ("spark", "DECLARE x INT"),
        ("spark", "DROP TEMPORARY VARIABLE x"),
        ("spark", "CREATE TEMPORARY VIEW v AS SELECT * FROM lake.a.t"),
        ("spark", "CREATE OR REPLACE TEMP VIEW v AS SELECT current_date()"),
        ("spark", "CREATE TEMPORARY FUNCTION f AS 'a.b.C' USING JAR 'x.jar'"),
        ("spark", "DROP TEMPORARY FUNCTION f"),
        ("spark", "ADD JAR 'x.jar'"),
        ("snowflake", "USE SCHEMA db.a"),
        ("snowflake", "USE ROLE loader"),
        ("snowflake", "USE WAREHOUSE big"),
        ("snowflake", "USE SECONDARY ROLES ALL"),
        ("snowflake", "SET x = 5"),
        ("snowflake", "SET x = $y || 'z'"),
        ("snowflake", "UNSET x"),
        ("snowflake", "ALTER SESSION SET TIMEZONE = 'UTC'"),
        ("snowflake", "ALTER SESSION UNSET TIMEZONE"),
    ),
    SessionEffect.MOVE: (
        ("snowflake", "CREATE SCHEMA IF NOT EXISTS db.a"),
        ("snowflake", "CREATE DATABASE db"),
        ("snowflake", "DROP SCHEMA db.a"),
        ("snowflake", "ALTER SCHEMA db.a RENAME TO db.b"),
    ),
    SessionEffect.UNKNOWN: (
        ("spark", "EXECUTE IMMEDIATE 'USE lake.a'"),
        ("spark", "BEGIN USE lake.a; INSERT INTO t VALUES (1); END"),
        ("spark", "BEGIN SET x = 5; END"),
        ("spark", "USE IDENTIFIER('lake' || '.a')"),
        ("spark", "SET VAR x = (SELECT max(id) FROM lake.a.t)"),
        ("spark", "SET VAR x = current_date"),
        ("spark", "SET VAR x = DATE 'today'"),
        ("spark", "DECLARE x TIMESTAMP DEFAULT TIMESTAMP 'now'"),
        ("spark", "SET TIME ZONE LOCAL"),
        ("spark", "CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1"),
        ("spark", "DECLARE x DATE DEFAULT current_date()"),
        ("spark", "CACHE TABLE v AS SELECT * FROM lake.a.t"),
        ("spark", "CREATE TEMPORARY TABLE v USING csv OPTIONS (path '/x')"),
        ("spark", "CALL lake.system.create_changelog_view(table => 'a.t')"),
        ("spark", "CALL lake.custom.anything()"),
        ("spark", "SELCT 1"),
        ("snowflake", "CALL p()"),
        ("snowflake", "EXECUTE IMMEDIATE $$ BEGIN USE SCHEMA a; END $$"),
        ("snowflake", "USE SCHEMA IDENTIFIER($s)"),
        ("snowflake", "SET x = (SELECT COUNT(*) FROM t)"),
        ("snowflake", "SET x = current_timestamp"),
        ("snowflake", 'SET x = "c"'),
        ("snowflake", "CREATE TEMPORARY TABLE t (id INT)"),
        ("snowflake", "CREATE OR REPLACE TEMP STAGE s"),
        ("snowflake", "CREATE TEMPORARY SCHEMA s"),
    ),
}


@pytest.mark.parametrize(
    ("effect", "dialect", "sql"), [(effect, *case) for effect, cases in EFFECTS.items() for case in cases]
)
def test_a_statement_has_an_effect_on_its_session(effect: SessionEffect, dialect: str, sql: str) -> None:
    """Only what sets the same whenever it runs counts as repeatable; what may change the session unseen is unknown."""
    assert read(sql, dialect).session is effect


@pytest.mark.parametrize(
    ("dialect", "sql", "kind", "selected"),
    [
        ("spark", "USE lake", "", "lake"),
        ("spark", "USE lake.a.b", "", "lake.a.b"),
        ("spark", "USE NAMESPACE `a.b`", "namespace", "a.b"),
        ("spark", "USE DATABASE a", "namespace", "a"),
        ("spark", "USE namespace", "", "namespace"),
        ("spark", "SET CATALOG lake", "catalog", "lake"),
        ("spark", "SET CATALOG 'lake'", "catalog", "lake"),
        ("snowflake", "USE db", "catalog", "db"),
        ("snowflake", "USE DATABASE db", "catalog", "db"),
        ("snowflake", "USE db.a", "namespace", "db.a"),
        ("snowflake", "USE SCHEMA a", "namespace", "a"),
        ("snowflake", "USE ROLE loader", "role", "loader"),
        ("snowflake", "USE WAREHOUSE big", "warehouse", "big"),
        ("snowflake", "USE SECONDARY ROLES ALL", "secondary", "ALL"),
    ],
)
def test_use_selects_a_name(dialect: str, sql: str, kind: str, selected: str) -> None:
    """The object of USE is read with its kind; Spark decides at run time whether `USE x` names a catalog or a namespace."""
    found = read(sql, dialect)
    assert (found.operation, found.options.kind, str(found.selected), found.tables) == ("use", kind, selected, ())
