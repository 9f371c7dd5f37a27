"""A missing semicolon and the syntax of other tools are found in the text of a statement, wherever it is not read to its end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import glacierbase
from glacierbase.errors import MigrationFileError
from glacierbase.migrations.statements import split_statements
from glacierbase.sql import read
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.misread import Misread, misread
from tests.oracle.cases import groups
from tests.unit.sql import cases

PACKAGE = Path(glacierbase.__file__).parent
DOCS = PACKAGE.parent / "docs"
# Statements of both dialects that are complete where they end, and those of each.
_BOTH = [
    "USE SCHEMA x", "CREATE SCHEMA s", "CREATE SCHEMA s COMMENT 'it''s'", "DROP SCHEMA s CASCADE",
    "CREATE TABLE t (a int, b string)", "CREATE TABLE t LIKE u", "DROP TABLE IF EXISTS t",
    "ALTER TABLE a.t ADD COLUMN b int",
    "ALTER TABLE t RENAME TO u", "ALTER TABLE t DROP COLUMN b", "CREATE VIEW v AS SELECT 1 AS a FROM u", "DROP VIEW v",
    "GRANT SELECT ON TABLE t TO r", "REVOKE SELECT ON TABLE t FROM r", "DESCRIBE TABLE t", "COMMENT ON TABLE t IS 'c'",
    "SHOW TABLES",
    "INSERT INTO t VALUES (1)", "INSERT INTO t (a) SELECT b FROM u", "UPDATE t SET a = 1 WHERE b = 2",
    "DELETE FROM t WHERE a = 1",
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET a = u.b WHEN NOT MATCHED THEN INSERT (a) VALUES (u.a)",
    "TRUNCATE TABLE t", "CALL lake.system.expire_snapshots('t')", "SELECT count(*) FROM t", "EXPLAIN SELECT 1 FROM t",
    "WITH x AS (SELECT 1 AS a) SELECT a FROM x", "CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2",
]  # fmt: skip
_OWN = {
    "spark": [
        "USE lake.a", "SET spark.wap.id=backfill", "SET spark.wap.id=(", "RESET spark.wap.id", "SET TIME ZONE 'UTC'",
        "SET CATALOG c",
        "SET VAR x = 1", "DECLARE VARIABLE x INT DEFAULT 1", "CREATE NAMESPACE lake.a", "REFRESH TABLE t",
        "CACHE TABLE t AS SELECT 1",
        "UNCACHE TABLE t", "CLEAR CACHE", "ANALYZE TABLE t COMPUTE STATISTICS", "OPTIMIZE t",
        "VACUUM t RETAIN 168 HOURS",
        "RESTORE TABLE t TO VERSION AS OF 1", "MSCK REPAIR TABLE t", "CONVERT TO DELTA t", "ADD JAR /a/b.jar",
        "ALTER TABLE t WRITE ORDERED BY a",
        "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", "ALTER TABLE t ADD PARTITION FIELD bucket(4, id)",
        "ALTER TABLE t CREATE BRANCH b",
        "ALTER TABLE t ADD COLUMN b array<array<int>>", "ALTER TABLE t ALTER COLUMN b TYPE bigint",
        "FROM u INSERT INTO t SELECT a",
        "BEGIN INSERT INTO t VALUES (1); END", "LOAD DATA INPATH '/a' INTO TABLE t",
        "REPLACE TABLE t (a int) USING iceberg",
    ],
    "snowflake": [
        "USE ROLE r", "USE WAREHOUSE w", "SET x = 1", "UNSET x", "ALTER SESSION SET TIMEZONE = 'UTC'", "CREATE ROLE r",
        "CREATE TAG g",
        "CREATE WAREHOUSE w WAREHOUSE_SIZE = XSMALL", "ALTER WAREHOUSE w SUSPEND",
        "ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 1",
        "CREATE TASK k WAREHOUSE = w SCHEDULE = '5 MINUTES' AS INSERT INTO t VALUES (1)", "ALTER TASK k RESUME",
        "EXECUTE TASK k",
        "CREATE STREAM s ON TABLE t", "CREATE PROCEDURE p() RETURNS INT LANGUAGE SQL AS $$ BEGIN RETURN 1; END $$",
        "UNDROP TABLE t",
        "CREATE STAGE g", "COPY INTO t FROM @g", "PUT file:///a/b.csv @g", "LIST @g", "REMOVE @g",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN TRANSACTION", "ALTER TABLE t CLUSTER BY (a)", "ALTER TABLE t ADD ROW ACCESS POLICY p ON (a)",
        "GRANT ROLE a TO ROLE b",
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = w AS SELECT a FROM t",
        "ALTER USER u SET DEFAULT_ROLE = r",
        "INSERT ALL INTO t INTO u SELECT 1 FROM v", "BEGIN INSERT INTO t VALUES (1); END",
    ],
}  # fmt: skip
_EVERY = {dialect: [*_BOTH, *own] for dialect, own in _OWN.items()}
# What may follow a statement as a part of it: Spark reads a CREATE without AS, and several INSERT after one FROM.
_CONTINUED = {
    ("spark", "CREATE TABLE", "SELECT"), ("spark", "CREATE TABLE", "WITH"), ("spark", "REPLACE TABLE", "SELECT"),
    ("spark", "REPLACE TABLE", "WITH"), ("spark", "FROM u", "SELECT"), ("spark", "FROM u", "INSERT"),
}  # fmt: skip
_PAIRS = [
    (dialect, first, second)
    for dialect, statements in _EVERY.items()
    for first in statements
    for second in statements
    if not second.startswith("FROM")
    and (" AS " in first or (dialect, " ".join(first.split()[:2]), second.split()[0]) not in _CONTINUED)
]


def found(sql: str, dialect: str) -> Misread | None:
    return misread(dialect_of(dialect), sql)


@pytest.mark.parametrize("dialect", _OWN)
@pytest.mark.parametrize("between", ["\n", "\r\n", " -- a note\n\n", "\n/* a note */ "])
def test_each_statement_after_each_other_without_a_semicolon_is_found(dialect: str, between: str) -> None:
    """The place is the end of the first of two statements, and the text is the beginning of the second."""
    missed = []
    for of, first, second in _PAIRS:
        if of == dialect:
            mark = found(f"{first}{between}{second}", dialect)
            if mark is None or (mark.code, mark.at, mark.text) != ("MISSING_SEMICOLON", len(first), second):
                missed.append((first, second, mark))
    assert missed == []


@pytest.mark.parametrize("dialect", _OWN)
@pytest.mark.parametrize("between", ["\n", " "])
def test_no_statement_that_contains_another_is_understood(dialect: str, between: str) -> None:
    """`read` says so also for two statements in one line, except after a setting or a path, which may be any text of that line."""
    understood = [
        (first, second)
        for of, first, second in _PAIRS
        if of == dialect and read(f"{first}{between}{second}", dialect).understood
        if between == "\n" or not first.startswith(("SET spark", "ADD JAR"))
    ]
    assert understood == []


_QUERIES = [
    "VALUES (1), (2)",
    "FROM u SELECT a",
    "FROM lake.a.u x WHERE a = 1",
    "TABLE u",
    "TABLE u ORDER BY a",
    "(SELECT 1 AS a)",
]
_NO_QUERY = (
    "USE",
    "SET",
    "RESET",
    "DROP",
    "UNDROP",
    "TRUNCATE",
    "COMMENT",
    "GRANT",
    "ALTER",
    "UNCACHE",
    "CLEAR",
    "MSCK",
    "CALL",
)


@pytest.mark.parametrize("dialect", _OWN)
@pytest.mark.parametrize("between", ["\n", " -- a note\n", "\n\n  "])
def test_a_query_after_a_statement_that_holds_none_is_found(dialect: str, between: str) -> None:
    """VALUES, FROM, TABLE and a parenthesis begin a query where the statement before has no clause that begins so."""
    missed = []
    firsts = [sql for sql in _EVERY[dialect] if sql.split()[0] in _NO_QUERY and not sql.endswith(("=(", "AS a"))]
    for first in firsts:
        for query in _QUERIES:
            mark = found(f"{first}{between}{query}", dialect)
            if query.startswith("(") and first.startswith("CALL"):
                continue  # More arguments.
            if mark is None or (mark.code, mark.at, mark.text) != ("MISSING_SEMICOLON", len(first), query):
                missed.append((first, query, mark))
            if read(f"{first}{between}{query}", dialect).understood:
                missed.append((first, query, "understood"))
    assert len(firsts) > 12
    assert missed == []


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("INSERT INTO t\nVALUES (1)", "spark"), ("INSERT INTO t\n(SELECT 1)", "spark"), ("INSERT INTO t\nTABLE u", "spark"),
        ("INSERT INTO t\nFROM u SELECT a", "spark"), ("CREATE VIEW v AS\nVALUES (1)", "spark"),
        ("ALTER VIEW v AS\nTABLE u", "spark"), ("ALTER VIEW v AS\n(SELECT 1)", "spark"),
        ("ALTER TABLE t ADD COLUMNS\n(values int)", "spark"),
        ("DROP\nTABLE t", "spark"), ("GRANT SELECT ON\nTABLE t TO r", "spark"), ("SHOW TABLES\nFROM lake.a", "spark"),
        ("REVOKE SELECT ON TABLE t\nFROM r", "spark"), ("DELETE\nFROM t\nWHERE a IN\n(SELECT 1)", "spark"),
        ("MERGE INTO t USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (a)\nVALUES (u.a)", "spark"),
        ("SELECT a\nFROM u\nWHERE a IN\n(SELECT 1)", "spark"), ("SELECT * FROM\nVALUES (1)", "spark"),
        ("SET x =\n(SELECT 1)", "snowflake"), ("CALL p\n('a')", "snowflake"), ("CREATE DATABASE d\nFROM SHARE s", "snowflake"),
        ("ALTER TABLE t ADD CONSTRAINT c CHECK\n(a > 1)", "spark"), ("SET VAR x =\n(SELECT 1)", "spark"),
    ],
)  # fmt: skip
def test_a_part_that_begins_as_a_query_does_is_no_statement(sql: str, dialect: str) -> None:
    """A clause on a line of its own may begin with VALUES, FROM, TABLE or a parenthesis."""
    assert found(sql, dialect) is None


@pytest.mark.parametrize("sql", ["USE lake.a b", "USE SCHEMA a, b", "SET CATALOG c d"])
def test_use_is_read_to_its_end(sql: str) -> None:
    """The engine refuses what follows the name, so that the namespace stays what it was."""
    assert not read(sql, "spark").understood


@pytest.mark.parametrize("dialect", _OWN)
def test_a_statement_alone_is_read_to_its_end(dialect: str) -> None:
    """Each of the statements of these tests is found to be one, with each of its words on a line of its own too."""
    for sql in _EVERY[dialect]:
        assert found(sql, dialect) is None
        assert found(f"EXPLAIN\n{sql}", dialect) is None
        assert not read(sql, dialect).why.startswith("another statement")


def test_no_statement_that_spark_ran_or_that_other_tests_read_is_refused() -> None:
    """The statements of the oracle and those of `cases` are one statement each, as they are and with every blank a new line."""
    spark = [sql for group in groups().values() for statements in group.values() for sql in statements]
    known = [(sql, "spark") for sql in spark] + [(case[0], "spark") for case in cases.SPARK]
    known += [(case[0], "snowflake") for case in cases.SNOWFLAKE]
    assert len(known) > 7000
    assert [sql for sql, dialect in known if found(sql, dialect) or _joined(sql, dialect)] == []


def test_no_statement_of_the_documentation_is_refused() -> None:
    """Each block of SQL in the docs and in the texts of rules and errors is accepted in the dialect in which it is written."""
    blocks = [
        block
        for folder in (DOCS, PACKAGE)
        for path in sorted(folder.rglob("*.md"))
        for block in re.findall(r"```sql\n(.*?)```", path.read_text(), re.DOTALL)
    ]
    assert len(blocks) > 300
    assert [block for block in blocks if all(_is_refused(block, dialect) for dialect in _OWN)] == []


def _is_refused(block: str, dialect: str) -> bool:
    try:
        return any(found(statement.text, dialect) for statement in split_statements(block, dialect))
    except MigrationFileError:  # A block of the other dialect.
        return True


def _joined(sql: str, dialect: str) -> bool:
    return read(sql, dialect).why.startswith("another statement")


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("spark", "INSERT INTO t\nSELECT 1\nUNION ALL\nSELECT 2"),
        ("spark", "INSERT INTO t\nWITH x AS (SELECT 1)\nSELECT * FROM x"),
        ("spark", "CREATE TABLE t\nUSING iceberg\nAS\n-- a note\nSELECT 1"),
        ("spark", "CREATE TABLE t USING iceberg\nSELECT 1"),
        ("spark", "WITH x AS (SELECT 1)\nINSERT INTO t\nSELECT * FROM x"),
        ("spark", "FROM s\nINSERT INTO t\nSELECT a\nINSERT INTO u\nSELECT b"),
        ("spark", "EXPLAIN EXTENDED\nALTER TABLE t\nADD COLUMN a int"),
        ("spark", "UPDATE t\nSET a = 1\nWHERE b = 2"),
        ("spark", "MERGE INTO t USING u ON a = b WHEN MATCHED THEN\nUPDATE\nSET a = 1\nWHEN NOT MATCHED THEN\nINSERT *"),
        ("spark", "ALTER TABLE t\nDROP TAG x"),
        ("spark", "ALTER TABLE t\nCREATE OR REPLACE TAG x"),
        ("spark", "ALTER TABLE t\nALTER COLUMN a\nSET NOT NULL"),
        ("spark", "SELECT a\nFROM t\nORDER BY a\nDESC\nLIMIT 3"),
        ("spark", "FROM t\n|> WHERE a\n|>\nSELECT a"),
        ("spark", "GRANT\n  CREATE TABLE,\n  USE SCHEMA\nON SCHEMA s\nTO `a b`"),
        ("spark", "BEGIN\nDECLARE EXIT HANDLER FOR SQLEXCEPTION\nSELECT 1;\nINSERT INTO t\nSELECT 1;\nEND"),
        ("spark", "CREATE\nOR\nREPLACE TABLE t (a int)"),
        ("spark", "SELECT 'a\nALTER TABLE t ADD COLUMN b int' /*\nDROP TABLE t\n*/ FROM (\nSELECT 1)"),
        ("spark", "SET spark.app.name = SELECT the best"),
        ("snowflake", "ALTER SESSION\nSET TIMEZONE = 'UTC'"),
        ("snowflake", "ALTER TABLE t\nSET COMMENT = 'a'"),
        ("snowflake", "ALTER TABLE t\nMODIFY COLUMN a\nUNSET MASKING POLICY"),
        ("snowflake", "CREATE TASK k\nWAREHOUSE = w\nAS\nINSERT INTO t\nSELECT 1"),
        ("snowflake", "CREATE PROCEDURE p()\nRETURNS INT\nEXECUTE AS OWNER\nAS\nBEGIN\nINSERT INTO t\nSELECT 1;\nEND"),
        ("snowflake", "INSERT ALL\nINTO t VALUES (a)\nINTO u VALUES (b)\nSELECT a, b FROM v"),
        ("snowflake", "SHOW TABLES\n->>\nSELECT * FROM $1"),
        ("snowflake", "GRANT OWNERSHIP ON TABLE t\nTO ROLE r\nREVOKE CURRENT GRANTS"),
        ("snowflake", "GRANT ROLE a TO USER b\nWITH\nGRANT OPTION"),
        ("snowflake", "CREATE ALERT a IF (EXISTS (SELECT 1))\nTHEN\nCALL p()"),
        ("snowflake", "SELECT '&a', 'R&D'"),
    ],
)  # fmt: skip
def test_a_statement_that_contains_the_beginning_of_another_is_accepted(dialect: str, sql: str) -> None:
    """A query, the statement of a task, the SET of an UPDATE and the like begin on a line of their own."""
    assert found(sql, dialect) is None


@pytest.mark.parametrize(
    ("dialect", "sql", "text", "counterpart"),
    [
        ("snowflake", "!set variable_substitution=true\nUSE ROLE x", "!set variable_substitution=true", "remove it"),
        ("snowflake", "USE ROLE x\n!source other.sql", "!source other.sql", "the statements of that file"),
        ("snowflake", "CREATE TABLE t (a int)\n/\nCREATE TABLE u (a int)", "/", "`;`"),
        ("spark", "/\nCREATE TABLE u (a int)", "/", "`;`"),
        ("spark", "CREATE TABLE t (a int)\nGO\nSELECT 1", "GO", "`;`"),
        ("spark", "CREATE TABLE t (a int)\r\ngo\r\n", "go", "`;`"),
        ("spark", "SELECT 1\n\n-- COMMAND ----------\n\nSELECT 2", "-- COMMAND ----------", "`;`"),
        ("snowflake", "CREATE TABLE &{env}.t (a int)", "&{env}", "{{ variables.NAME }}"),
        ("snowflake", "USE DATABASE &db", "&db", "{{ variables.NAME }}"),
        ("snowflake", "SELECT '&{env}'", "&{env}", "{{ variables.NAME }}"),
        ("spark", "\\c lake\nSELECT 1", "\\c lake", "USE"),
        ("snowflake", "USE ROLE x\n\\i other.sql", "\\i other.sql", "remove it"),
        ("snowflake", "DELIMITER $$\nCREATE TABLE t (a int) $$", "DELIMITER $$", "`;`"),
    ],
)
def test_the_syntax_of_other_tools_is_named_with_its_counterpart(
    dialect: str, sql: str, text: str, counterpart: str
) -> None:
    """The error says whose syntax it is, and what a migration has in its place."""
    mark = found(sql, dialect)
    assert mark
    assert (mark.code, mark.text, sql[mark.at : mark.at + len(text)]) == ("OTHER_TOOLS_SYNTAX", text, text)
    assert counterpart in mark.hint


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("spark", "SELECT a &b, a & b FROM t WHERE c AND\n!d"),
        ("spark", "SELECT 6\n/\n2 AS a, 'x\nGO\n\\c y'"),
        ("spark", "SELECT\n  go\nFROM t"),
        ("spark", "SELECT 1 -- COMMAND ----------\n, 2"),
        ("spark", "SELECT 1\n-- COMMAND ----------\n"),
        ("snowflake", "SELECT $$\n!set x\n/\n&{y}\n$$ /*\nGO\n*/"),
        ("snowflake", "COPY INTO t FROM @s FILE_FORMAT = (\n  FIELD_DELIMITER = ','\n)"),
    ],
)
def test_what_only_resembles_the_syntax_of_other_tools_is_accepted(dialect: str, sql: str) -> None:
    """An operator, an alias, a string and a comment are no commands."""
    assert found(sql, dialect) is None


def test_a_dialect_of_a_package_is_not_searched() -> None:
    """What begins a statement of another engine is not known."""
    from dataclasses import replace

    other = replace(dialect_of("spark"), name="other", substituted=r"(?!)")
    assert misread(other, "SELECT 1\nSELECT 2\nGO") is None
