"""Statements that are not replayed on the copy."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.review.statements import NotReplayed, names_local_path
from glacierbase.capabilities.review.statements import not_replayed as not_replayed_of
from glacierbase.sql import read

LOADS_OR_REACHES = [
    "ADD JAR '/tmp/evil.jar'",
    "add /* x */ file '/etc/passwd'",
    "ADD ARCHIVE 's3://b/x.zip'",
    "CREATE FUNCTION f AS 'com.evil.F' USING JAR 's3://b/evil.jar'",
    "CREATE TEMPORARY FUNCTION f AS 'com.evil.F'",
    "SELECT java_method('java.lang.Runtime', 'getRuntime')",
    "SELECT 1 WHERE reflect /* x */ ('java.lang.System', 'getenv') IS NULL",
    "SELECT try_reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT TRANSFORM (id) USING 'cat /etc/passwd' AS (x STRING) FROM lake.a.t",
    'SELECT TRANSFORM (id) USING r"cat /etc/passwd" AS (x STRING) FROM lake.a.t',
    "BEGIN SELECT TRANSFORM (id) USING 'sh' AS (x STRING) FROM lake.a.t; END",
    "EXECUTE IMMEDIATE 'ADD JAR ''/x'''",
    "BEGIN EXECUTE /* x */ IMMEDIATE 'ADD JAR ''/x'''; END",
    "BEGIN ADD JAR '/tmp/evil.jar'; END",
    "BEGIN IF 1 = 1 THEN SELECT 1; CREATE TEMPORARY FUNCTION f AS 'com.evil.F'; END IF; END",
    "a: BEGIN CREATE TEMPORARY VIEW v USING jdbc OPTIONS (url 'jdbc:derby:memory:x;create=true'); END",
    "BEGIN CREATE TEMPORARY VIEW v (then INT) USING jdbc OPTIONS (url 'jdbc:derby:memory:x'); END",
    "CREATE TEMPORARY FUNCTION returns AS 'com.evil.F'",
    "CREATE TABLE lake.a.t (a INT) USING com.evil.Source",
    "CREATE TABLE lake.a.t (a INT) USING iceberg.evil",
    "CREATE TABLE lake.a.t (a INT) USING `com.evil.Source`",
    "CREATE TEMPORARY VIEW v USING jdbc OPTIONS (url 'jdbc:sqlite:/home/x.db', dbtable 't')",
    "LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE lake.a.t",
    "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' USING csv SELECT 1",
    "FROM lake.a.t INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT *",
    "WITH c AS (SELECT 1) INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT * FROM c",
    "CREATE TABLE lake.a.t AS SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM parquet . `s3://bucket/x`",
    "SET spark.sql.catalog.lake.uri=https://evil.example.com",
    "SET spark.hadoop.fs.file.impl=com.evil.FileSystem",
    "SET fs.file.impl=com.evil.FileSystem",
    "SELECT 'never closed",
]
REPLAYED = [
    "ALTER TABLE lake.a.t ADD COLUMN reflect INT COMMENT 'computed using ''x'' with java_method(…)'",
    "CREATE TABLE lake.a.t (a INT) USING iceberg COMMENT 'made using \"x\"' LOCATION 's3://b/t'",
    "CREATE TABLE lake.a.t USING parquet AS SELECT * FROM lake.a.s JOIN lake.a.r USING (id)",
    "MERGE INTO lake.a.t USING lake.a.s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1",
    "BEGIN ALTER TABLE lake.a.t ADD COLUMN x INT; MERGE INTO a USING b ON a.i = b.i WHEN MATCHED THEN DELETE; END",
    "ALTER TABLE lake.a.t ADD COLUMN begin INT",
    "SET spark.sql.ansi.enabled = false",
    "SET TIME ZONE 'UTC'",
    "CALL lake.system.rewrite_data_files(table => 'a.t')",
    "SELECT transform(array(1), x -> x + 1)",
    "USE lake.a",
]
SKIPPED = [
    "CALL lake.system.remove_orphan_files(table => 'a.t')",
    "CALL lake.system.add_files(table => 'a.t', source_table => '`parquet`.`s3://b/x`')",
    "CALL lake.system.rollback_to_snapshot('a.t', 1)",
    "VACUUM lake.a.t",
    "OPTIMIZE lake.a.t",
    "SET spark.sql.adaptive.enabled = false",
]


def not_replayed(sql: str) -> NotReplayed | None:
    """Return why a statement is not replayed."""
    return not_replayed_of(sql, read(sql, "spark"))


@pytest.mark.parametrize("sql", LOADS_OR_REACHES)
def test_a_statement_that_loads_code_or_reaches_out_is_not_replayed(sql: str) -> None:
    """The statement is an error of the review, and the reason is a sentence without the statement's values."""
    found = not_replayed(sql)
    assert found is not None
    assert not found.is_skipped


def test_a_script_of_very_many_statements_is_not_replayed() -> None:
    """The rules are not applied to each of thousands of statements."""
    found = not_replayed("BEGIN " + "SELECT 1; " * 20_000 + "END")
    assert found is not None
    assert "more than" in found.why


def test_a_script_that_cannot_be_divided_into_statements_is_not_replayed() -> None:
    """No rule sees the statements of such a script; one statement that is not understood does not hide the others."""
    found = not_replayed("BEGIN IF 1 = 1 SELECT 1; END IF; END")
    assert found == NotReplayed("it is a script that is not understood")
    assert not_replayed("BEGIN FROBNICATE; SELECT 1; END") is None
    assert not_replayed("BEGIN FROBNICATE; ADD JAR 'x.jar'; END") == not_replayed("ADD JAR 'x.jar'")


@pytest.mark.parametrize("sql", REPLAYED)
def test_a_statement_that_only_looks_like_one_is_replayed(sql: str) -> None:
    """Strings, comments, MERGE and JOIN are told apart from what they resemble."""
    assert not_replayed(sql) is None


@pytest.mark.parametrize("sql", SKIPPED)
def test_a_statement_that_needs_files_of_the_real_table_is_skipped(sql: str) -> None:
    """A statement that needs files of the real table is listed, and is no error."""
    found = not_replayed(sql)
    assert found is not None
    assert found.is_skipped


@pytest.mark.parametrize(
    ("location", "is_local"),
    [("/tmp/x", True), ("file:///etc", True), ("x/y", True), ("s3://b/x", False), ("abfss://c@a.example/x", False)],
)
def test_a_location_without_an_address_is_local(location: str, is_local: bool) -> None:
    """Absolute and relative paths and `file:` name a place on the machine."""
    does = read(f"CREATE TABLE lake.a.t (a INT) USING iceberg LOCATION '{location}'", "spark")
    assert names_local_path(does) is is_local
