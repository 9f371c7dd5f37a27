"""What the history records of a statement's tables, and in which logs `repair` looks for evidence."""

from __future__ import annotations

import json

import pytest

from glacierbase.migrations.statements import split_statements
from glacierbase.sql.file import named
from glacierbase.sql.targets import logged_tables, target_tables


def recorded(sql: str, dialect: str = "spark") -> list[str] | None:
    found = target_tables(named(split_statements(sql, dialect), dialect))
    return None if found is None else list(json.loads(found))


def logged(sql: str, dialect: str = "spark") -> tuple[str, ...]:
    return logged_tables(named(split_statements(sql, dialect), dialect))


def test_all_tables_that_statements_change_are_recorded_once() -> None:
    """A rename names both tables, an INSERT into several all of them, and a USE or a query none."""
    sql = "USE a; ALTER TABLE t ADD COLUMN b INT; ALTER TABLE t RENAME TO u;"
    assert recorded(f"{sql} FROM s INSERT INTO v SELECT 1 INSERT INTO `w x` SELECT 2") == ["t", "u", "v", "`w x`"]
    assert recorded("SELECT * FROM t") == []


def test_a_statement_that_is_not_understood_leaves_no_list() -> None:
    """An empty or short list would say that nothing else changed."""
    assert recorded("DELETE FROM t; EXECUTE IMMEDIATE statement") is None
    assert recorded("CALL p()", "snowflake") is None


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO /* c */ a.b VALUES (1)",
        "INSERT INTO a /* c */ . -- d\n b VALUES (1)",
        "WITH s AS (SELECT 1) INSERT INTO a.b SELECT * FROM s",
    ],
)
def test_comments_and_a_query_before_the_name_hide_no_table(sql: str) -> None:
    """The name is read by the engine's tokens."""
    assert recorded(sql) == ["a.b"]
    assert logged(sql) == ("a.b",)


@pytest.mark.parametrize(
    "sql",
    [
        "FROM s INSERT INTO t SELECT 1 INSERT INTO u SELECT 2",
        "CALL lake.system.rewrite_data_files('a.t')",
        "VACUUM t",
        "OPTIMIZE t",
        "BEGIN DELETE FROM t; END",
        "ALTER VIEW v AS SELECT 1",
        "SELECT 1",
        "DELETE FROM t; VACUUM t",
    ],
)
def test_no_log_is_evidence_for_a_statement_of_another_kind(sql: str) -> None:
    """The commits of one table suggest nothing about a statement that changes several, or that commits nothing."""
    assert logged(sql) == ()


def test_the_log_of_a_renamed_table_is_that_of_its_old_name() -> None:
    """The log under the new name holds only older commits, which would suggest that the rename did not happen."""
    assert logged("ALTER TABLE a.t RENAME TO a.u") == ("a.t",)
