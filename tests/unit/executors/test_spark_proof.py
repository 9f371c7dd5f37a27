"""For which Spark statements the version of a table proves the outcome."""

from __future__ import annotations

import pytest

from glacierbase.executors.direct import files as direct
from glacierbase.executors.spark.evidence import proving_table
from tests.unit.sql.cases import SPARK

PROVEN = [
    "INSERT INTO lake.a.t VALUES (1)",
    "insert into table lake.a.t select 1",
    "INSERT OVERWRITE lake.a.t SELECT * FROM lake.a.u",
    "INSERT INTO lake.a.t PARTITION (day = 1) SELECT 'INSERT INTO x'",
    "UPDATE lake.a.t SET a = 1",
    "DELETE FROM lake.a.t WHERE a = 1",
    "MERGE INTO lake.a.t USING lake.a.u AS s ON t.a = s.a WHEN NOT MATCHED THEN INSERT *",
    "ALTER TABLE lake.a.t ADD COLUMN b INT",
    "ALTER TABLE lake.a.t RENAME COLUMN a TO b",
    "ALTER TABLE lake . `a` . t SET TBLPROPERTIES ('x' = 'RENAME TO')",
    "ALTER TABLE lake.a.t CREATE BRANCH b",
    "INSERT INTO TABLE lake.a.t/* a comment */ (a, b) SELECT s.a, s.b FROM lake.a.u AS s",
]
OPEN = [
    "ALTER TABLE lake.a.t RENAME TO a.u",
    "alter table lake.a.t rename\n/* */ to a.u",
    "ALTER TABLE lake.a.t SET TBLPROPERTIES ('current-snapshot-id' = '1', 'a' = 'b')",
    "ALTER TABLE lake.a.t SET LOCATION 's3://lake/a/t'",
    "CREATE TABLE lake.a.t (a INT)",
    "CREATE OR REPLACE TABLE lake.a.t USING iceberg AS SELECT 1",
    "DROP TABLE lake.a.t",
    "TRUNCATE TABLE lake.a.t",
    "CALL lake.system.rollback_to_snapshot('a.t', 1)",
    "BEGIN INSERT INTO lake.a.t VALUES (1); INSERT INTO lake.a.t VALUES (2); END",
    "FROM lake.a.u INSERT INTO lake.a.t SELECT a INSERT INTO lake.a.v SELECT a",
    "WITH s AS (SELECT 1) INSERT INTO lake.a.t SELECT * FROM s",
    "MERGE WITH SCHEMA EVOLUTION INTO lake.a.t USING s ON true WHEN MATCHED THEN DELETE",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT 1",
    "INSERT INTO lake.a.${x} VALUES (1)",
    # Another table, in the namespace a.t.
    "INSERT INTO lake.a.t/* */.u VALUES (1)",
    "DELETE FROM lake.a.t -- a comment\n. u WHERE a = 1",
    "ALTER TABLE lake.a.t\ufeff.`u` ADD COLUMN b INT",
    "EXECUTE IMMEDIATE 'INSERT INTO lake.a.t VALUES (1)'",
    "COMMENT ON TABLE lake.a.t IS 'x'",
    "INSERT INTO lake.a.t WITH ('branch' = 'b') SELECT 1",
    "ALTER TABLE lake.a.t ALTER COLUMN comment COMMENT 'x'",
    "SELECT 1",
    "",
]


@pytest.mark.parametrize("sql", PROVEN)
def test_a_statement_whose_effects_are_commits_to_one_table_is_proven_by_that_table(sql: str) -> None:
    """The name is the one that the history records."""
    assert proving_table(sql, sql) == "lake.a.t"


@pytest.mark.parametrize("sql", OPEN)
def test_no_table_proves_the_outcome_of_any_other_statement(sql: str) -> None:
    """A statement of several steps, one that creates, drops or renames a table, and one that is not understood."""
    assert proving_table(sql, sql) is None


@pytest.mark.parametrize(
    "before",
    [
        "SET spark.sql.catalog.lake.uri = jdbc:sqlite:/elsewhere.db",
        "set `Spark.SQL.Catalog.lake.warehouse`=file:///elsewhere",
        "EXECUTE IMMEDIATE 'SET spark.sql.' || 'catalog.lake.uri=x'",
        "SET spark.sql.${part}.lake.uri=x",
    ],
)
def test_a_file_that_may_move_the_catalog_is_proven_by_no_table(before: str) -> None:
    """In its session the same name may lead to another table than the one that glacierbase looks at."""
    insert = "INSERT INTO lake.a.t VALUES (1)"
    assert proving_table(insert, f"USE lake.a;\n{insert}") == "lake.a.t"
    assert proving_table(insert, f"{before};\n{insert}") is None


def test_a_file_is_searched_once_for_all_its_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searched for each statement, a file of thousands of them would take minutes."""
    searched: list[str] = []

    class Search:
        def search(self, file: str) -> None:
            searched.append(file)

    monkeypatch.setattr(direct, "_MAY_MOVE_CATALOGS", Search())
    statements = [f"INSERT INTO lake.a.t VALUES ({number})" for number in range(100)]
    file = ";\n".join(statements)
    assert {proving_table(statement, file) for statement in statements} == {"lake.a.t"}
    assert searched == [file]


def test_only_plain_statements_that_change_one_table_are_proven() -> None:
    """Of the many forms that are understood, the version of a table proves only those of the list, by their own table."""
    proven = [case for case in SPARK if proving_table(case[0], case[0])]
    assert len(proven) > 30
    for sql, operation, tables, _ in proven:
        assert sql.startswith(
            ("INSERT INTO", "INSERT OVERWRITE ", "UPDATE", "DELETE FROM", "MERGE INTO", "ALTER TABLE")
        )
        assert operation not in ("rename_table", "add_partition", "drop_partition", "insert_multi", "other")
        assert proving_table(sql, sql) == tables


@pytest.mark.parametrize("sql", [sql for sql, *_ in SPARK])
def test_a_comment_before_the_end_of_the_name_leaves_the_outcome_open(sql: str) -> None:
    """The list holds plain forms only, so that its answers do not depend on how comments are read."""
    first, _, rest = sql.partition(" ")
    assert proving_table(f"/* c */ {sql}", sql) is None
    assert proving_table(f"{first} /* c */ {rest}", sql) is None
