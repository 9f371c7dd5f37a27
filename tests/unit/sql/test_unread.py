"""What no attribute of a statement holds, or what Spark may refuse, is noted."""

from __future__ import annotations

import pytest

from glacierbase.sql import read
from glacierbase.sql.statement import Property


@pytest.mark.parametrize(
    ("sql", "noted"),
    [
        ("CREATE TABLE t (id int) OPTIONS ('a' = 'b')", "the clause OPTIONS"),
        ("CREATE TABLE t (id int) COMMENT 'a' COMMENT 'b'", "the clause COMMENT"),
        ("CREATE TABLE t (id int) STORED AS ORC", "the clause STORED"),
        ("CREATE TABLE t LIKE u", "the clause LIKE"),
        ("CREATE TABLE t (id int,)", "an empty item of a list"),
        ("CREATE TABLE t ()", "an empty item of a list"),
        ("CREATE TABLE t (s string COLLATE x)", "the option COLLATE of a column"),
        ("CREATE TABLE t (id int NULL)", "the option NULL of a column"),
        ("CREATE TABLE t (id int COMMENT 'a' COMMENT 'b')", "the option COMMENT of a column"),
        ("CREATE TABLE t (id: int)", "a colon after the name of a column"),
        ("CREATE TABLE t (größe int)", "the name größe without quotes"),
        ('CREATE TABLE t ("a" int)', 'the string "a" as a name'),
        ('ALTER TABLE t ADD PARTITION FIELD days(at) AS "a"', 'the string "a" as a name'),
        ("ALTER TABLE IF EXISTS t ADD COLUMN a int", "ALTER TABLE IF EXISTS"),
        ("ALTER TABLE IF EXISTS t DROP COLUMN a", "ALTER TABLE IF EXISTS"),
        ("CREATE TABLE t (5L int)", "the name 5L without quotes"),
        ("CREATE TABLE t (id int) TBLPROPERTIES (a-b = 'c')", "the key of a property without quotes"),
        ("CREATE TABLE t (id int) TBLPROPERTIES ('a' = -1)", "a value of a property that begins with -"),
        ("CREATE TABLE t (id int) TBLPROPERTIES ('a' = 'b' 'c')", "a value of a property that begins with '"),
        ("CREATE NAMESPACE n PROPERTIES ('a' = 'b')", "the clause PROPERTIES"),
        ("CREATE NAMESPACE n COMMENT 'a' COMMENT 'b'", "the clause COMMENT"),
        ("CREATE NAMESPACE n MANAGED LOCATION 'x'", "the clause MANAGED"),
        ("ALTER NAMESPACE n SET OWNER x", "the clause OWNER"),
        ("ALTER NAMESPACE n UNSET PROPERTIES ('a')", "the clause UNSET"),
    ],
)
def test_what_is_not_held_is_noted(sql: str, noted: str) -> None:
    """The statement is understood, with a note for who must know the whole of it."""
    statement = read(sql, "spark")
    assert statement.understood
    assert noted in statement.unread


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE IF NOT EXISTS lake.n.`größe` (id int COMMENT 'a' NOT NULL, `5L` int) USING iceberg PARTITIONED BY"
        " (bucket(4, id)) COMMENT 'a' LOCATION 's3://b/t' TBLPROPERTIES ('a' = 1.5, b.c = TRUE, `d e` 'f')",
        "ALTER TABLE t ADD COLUMNS (a int COMMENT 'x' FIRST, b int AFTER a)",
        "CREATE DATABASE n COMMENT 'a' LOCATION 'x' WITH DBPROPERTIES ('a' = 'b')",
        "ALTER DATABASE n SET DBPROPERTIES ('a' = 'b')",
    ],
)
def test_what_is_held_is_not_noted(sql: str) -> None:
    """A statement whose attributes say all has no notes."""
    assert read(sql, "spark").unread == ()


def test_a_namespace_has_its_clauses() -> None:
    """COMMENT and LOCATION are options, and each property is a part; a boolean is in lower case, as Spark stores it."""
    created = read("CREATE SCHEMA n LOCATION 'l' COMMENT 'c' WITH PROPERTIES ('a' = TRUE)", "spark")
    assert (created.options.location, created.options.comment) == ("l", "c")
    assert [(part.key, part.value) for part in created.parts if isinstance(part, Property)] == [("a", "true")]
    assert read("ALTER NAMESPACE n SET LOCATION 'm'", "spark").options.location == "m"
