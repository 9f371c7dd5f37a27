"""Explicit transactions: what is one step, and what cannot be one."""

from __future__ import annotations

import pytest

from glacierbase.errors import MigrationFileError
from glacierbase.migrations.statements import split_statements, steps


def indexes(sql: str, dialect: str = "snowflake") -> list[list[int]]:
    return [[statement.index for statement in step] for step in steps(split_statements(sql, dialect), dialect)]


@pytest.mark.parametrize(
    "begin",
    [
        "BEGIN",
        "begin transaction",
        "BEGIN WORK",
        "BEGIN NAME load_1",
        "START TRANSACTION",
        "BEGIN -- all or nothing",
        "BEGIN /* all */ TRANSACTION NAME load_1",
    ],
)
@pytest.mark.parametrize("end", ["COMMIT", "rollback", "COMMIT WORK /* done */"])
def test_all_from_begin_to_commit_is_one_step(begin: str, end: str) -> None:
    """Every statement before and after the transaction is a step by itself."""
    sql = f"CREATE TABLE t (a INT);\n{begin}\n;INSERT INTO t SELECT 1;\nUPDATE t SET a = 2;\n{end};\nSELECT 1;"
    assert indexes(sql) == [[1], [2, 3, 4, 5], [6]]


def test_a_block_is_a_statement_and_opens_no_transaction() -> None:
    """`BEGIN` is the first word of a block and of a transaction."""
    assert indexes("BEGIN\n  INSERT INTO t SELECT 1;\n  COMMIT;\nEND;\nSELECT 1;") == [[1], [2]]


def test_spark_has_no_transactions() -> None:
    """Every statement for Spark is a step by itself."""
    assert indexes("INSERT INTO t VALUES (1); COMMIT", "spark") == [[1], [2]]


@pytest.mark.parametrize(
    "ddl", ["CREATE TABLE u (a INT)", "ALTER TABLE t ADD b INT", "CALL p()", "BEGIN", "GRANT ALL ON t TO r"]
)
def test_what_the_engine_commits_before_breaks_a_transaction(ddl: str) -> None:
    """If such a statement failed, the statements before it would have taken effect without a record."""
    with pytest.raises(MigrationFileError) as caught:
        indexes(f"BEGIN;\nINSERT INTO t SELECT 1;\n{ddl};\nCOMMIT;")
    assert caught.value.code == "TRANSACTION_BROKEN"
    assert caught.value.data["line"] == 3


def test_a_transaction_that_is_never_ended_is_refused() -> None:
    """The end of the session would roll it back after the history had recorded it as applied."""
    with pytest.raises(MigrationFileError) as caught:
        indexes("SELECT 1;\n  BEGIN;\nINSERT INTO t SELECT 1;")
    assert caught.value.code == "TRANSACTION_NOT_ENDED"
    assert (caught.value.data["line"], caught.value.data["column"]) == (2, 3)


@pytest.mark.parametrize("comment", ["-- " + "-" * 70, "/* a */" * 5000, "//" * 5000, "-- x\r"])
def test_comments_behind_begin_are_read_in_one_way(comment: str) -> None:
    """Comments after BEGIN are matched in linear time, and end where the splitter ends them."""
    assert indexes(f"BEGIN {comment}\n LET x := 1;\nEND;") == [[1]]
    assert indexes(f"BEGIN {comment}\n;SELECT 1; COMMIT {comment}") == [[1, 2, 3]]
