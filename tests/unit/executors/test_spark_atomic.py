"""Which Spark statements are atomic: only for these an error proves that nothing happened."""

from __future__ import annotations

from typing import Any, cast

import pytest

from glacierbase.errors import OutcomeUnknown, StatementRefused
from glacierbase.executors.spark.errors import is_atomic, map_error

ATOMIC = [
    "SELECT 1",
    "SELECT raise_error('${a.b}')",
    "(SELECT 1)",
    "VALUES (1)",
    "TABLE t",
    "-- a comment\nINSERT INTO a.t VALUES (1), (2)",
    "INSERT OVERWRITE a.t SELECT 'INSERT', `insert`, 1 /* INSERT */ FROM b",
    "FROM x INSERT INTO a SELECT b",
    "WITH x AS (SELECT 1 AS b) INSERT INTO a SELECT b FROM x",
    "UPDATE t SET a = 1",
    "delete from t",
    "MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED AND s.b THEN INSERT * WHEN NOT MATCHED THEN INSERT (a) VALUES (1)",
    "CREATE TABLE t (a INT)",
    "CREATE EXTERNAL TABLE IF NOT EXISTS t (a INT) USING parquet LOCATION '/x'",
    "CREATE TABLE t LIKE s",
    "CREATE TABLE t USING iceberg AS SELECT 1",
    "CREATE OR REPLACE TABLE t USING iceberg AS SELECT 1",
    "REPLACE TABLE t (a INT) USING delta",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1",
    "ALTER VIEW v AS SELECT 1",
    "DROP VIEW IF EXISTS v",
    "CREATE NAMESPACE IF NOT EXISTS lake.a",
    "DROP SCHEMA lake.a",
    "ALTER DATABASE d SET DBPROPERTIES ('a'='b')",
    "ALTER TABLE t ADD COLUMN a INT",
    "ALTER TABLE t ADD PARTITION FIELD bucket(16, a)",
    "ALTER TABLE t REPLACE PARTITION FIELD day(a) WITH hour(a)",
    "ALTER TABLE t SET TBLPROPERTIES ('a'='b')",
    "ALTER TABLE t WRITE ORDERED BY a",
    "ALTER TABLE t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY a",
    "INSERT OVERWRITE directory SELECT * FROM s",
    "INSERT OVERWRITE t PARTITION (a = 1) SELECT 1",
    "DROP TABLE t",
    "COMMENT ON TABLE t IS 'x'",
    "CREATE OR REPLACE TEMPORARY FUNCTION f AS 'a.B'",
    "DROP FUNCTION f",
    "ANALYZE TABLE t COMPUTE STATISTICS",
    "REFRESH TABLE t",
    "SET a.b=c",
    "SET",
    "USE a",
    "SHOW TABLES",
    "DESCRIBE HISTORY t",
    "EXPLAIN SELECT 1",
]
SEVERAL_STEPS = [
    "BEGIN INSERT INTO t VALUES (1); END",
    "begin insert into t values (1); end",
    "/* a */ BEGIN SELECT 1; END",
    "name: BEGIN SELECT 1; END",
    "`name`: BEGIN SELECT 1; END",
    "SET : BEGIN SELECT 1; END",
    "DECLARE a INT",
    "CALL lake.system.expire_snapshots('t')",
    "EXECUTE IMMEDIATE 'INSERT INTO t VALUES (1)'",
    "EXPLAIN EXECUTE IMMEDIATE 'INSERT INTO t VALUES (1)'",
    "FROM x INSERT INTO a SELECT b INSERT INTO c SELECT d",
    "WITH x AS (SELECT 1 AS b) FROM x INSERT INTO a SELECT b INSERT INTO c SELECT b",
    "FROM x INSERT INTO a SELECT '${more}'",
    "INSERT OVERWRITE DIRECTORY '/x' SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY '/x' SELECT 1",
    "FROM x INSERT OVERWRITE DIRECTORY '/x' SELECT a",
    "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT *",
    "INSERT INTO t WITH ('mergeSchema'='true') SELECT 1",
    "DROP TABLE t PURGE",
    "drop table if exists t purge",
    "CREATE OR REPLACE TABLE t AS SELECT 1",
    "CREATE OR REPLACE TABLE t USING parquet AS SELECT 'USING iceberg' /* USING iceberg */",
    "REPLACE TABLE t (a INT)",
    "DROP NAMESPACE a CASCADE",
    "ALTER TABLE t RECOVER PARTITIONS",
    "ALTER TABLE t ADD PARTITION (a=1)",
    "ALTER TABLE t ADD IF NOT EXISTS PARTITION (a=1) PARTITION (a=2)",
    "ALTER TABLE t DROP PARTITION (a=1)",
    "ALTER TABLE t DROP FEATURE deletionVectors",
    "ALTER TABLE t SET TBLPROPERTIES ('current-snapshot-id'='1', 'a'='b')",
    "ALTER TABLE t SET TBLPROPERTIES ('delta.enableRowTracking'='true')",
    "ALTER TABLE t PARTITION (a = 1) SET LOCATION '/x'",
    "ALTER TABLE t ALTER COLUMN id SYNC IDENTITY",
    "ALTER TABLE t SET TAGS ('x' = 'y')",
    "ALTER TABLE t ADD COLUMN a INT, and something else",
    "INSERT INTO t WITH ('branch' = 'b') SELECT 1",
    "TRUNCATE TABLE t",
    "LOAD DATA INPATH '/x' INTO TABLE t",
    "MSCK REPAIR TABLE t",
    "OPTIMIZE t",
    "VACUUM t",
    "RESTORE TABLE t TO VERSION AS OF 1",
    "CONVERT TO DELTA parquet.`/x`",
    "ANALYZE TABLES IN a COMPUTE STATISTICS",
    "SELECTED",
    "SELECT 'never closed",
    "",
]


@pytest.mark.parametrize("sql", ATOMIC)
def test_one_commit_is_atomic(sql: str) -> None:
    """The content of strings, names and comments is ignored."""
    assert is_atomic(sql)


@pytest.mark.parametrize("sql", SEVERAL_STEPS)
def test_what_is_several_steps_or_not_known_is_not_atomic(sql: str) -> None:
    """An unlisted statement counts as several steps."""
    assert not is_atomic(sql)


class OfIceberg:
    """A session all of whose tables are Iceberg."""

    def setting(self, key: str) -> str:
        return "org.apache.iceberg.spark.SparkCatalog" if ".catalog." in key else ""

    def query(self, sql: str) -> list[tuple[str, ...]]:
        if sql.startswith("DESCRIBE "):
            return [("# Detailed Table Information", "", ""), ("Provider", "iceberg", "")]
        return [("lake",)]


@pytest.mark.parametrize("sql", [*ATOMIC, *SEVERAL_STEPS])
def test_an_analysis_error_proves_something_of_atomic_statements_only(sql: str) -> None:
    """The missing table may belong to the second step of a script."""
    from pyspark.errors.exceptions.connect import AnalysisException

    error = map_error(AnalysisException("[TABLE_OR_VIEW_NOT_FOUND] no table t"), sql, cast("Any", OfIceberg()))
    assert isinstance(error, StatementRefused) is is_atomic(sql)


SCRIPT = "BEGIN\nINSERT INTO t VALUES (1);\nSELEKT 1;\nEND"
PRINTED = """
[PARSE_SYNTAX_ERROR] Syntax error at or near '1'. SQLSTATE: 42601 (line 3, pos 7)

== SQL ==
BEGIN
INSERT INTO t VALUES (1);
SELEKT 1;
-------^^^
END


JVM stacktrace:
org.apache.spark.sql.catalyst.parser.ParseException
"""
DYNAMIC = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEKT'. SQLSTATE: 42601
== SQL ==
SELEKT 1
^^^^^^^^


JVM stacktrace:
org.apache.spark.sql.catalyst.parser.ParseException
"""


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (PRINTED, StatementRefused),
        (PRINTED.replace(" SQLSTATE: 42601 (line", "(line"), StatementRefused),
        (PRINTED.replace("VALUES (1)", "VALUES (2)"), OutcomeUnknown),
        (PRINTED.replace("(line 3, pos 7)", ""), OutcomeUnknown),
        (PRINTED.replace("(line 3, pos 7)", "(line 99, pos 7)"), OutcomeUnknown),
        (DYNAMIC, OutcomeUnknown),
        ("", OutcomeUnknown),
    ],
)
def test_on_connect_a_parse_error_must_print_the_whole_script(message: str, kind: type) -> None:
    """A parse error of dynamic SQL comes after earlier statements took effect."""
    from pyspark.errors.exceptions.connect import ParseException

    assert type(map_error(ParseException(message), SCRIPT)) is kind
