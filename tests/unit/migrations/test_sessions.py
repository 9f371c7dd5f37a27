"""What the statements of a file do to its session, where it takes more than one statement to know."""

from __future__ import annotations

import pytest

from glacierbase.migrations.sessions import session_effects, unrepeatable
from tests.unit.migrations.rendering import split

VIEW = "CREATE TEMPORARY VIEW v AS SELECT * FROM lake.a.t"


def effects(sql: str, dialect: str = "spark") -> dict[int, str]:
    return {index: effect.name for index, effect in session_effects(split(sql, dialect)).items()}


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (f"{VIEW}; DROP VIEW v", {1: "SET", 2: "SET"}),
        (f"{VIEW}; DROP TABLE v", {1: "SET", 2: "SET"}),
        (f"{VIEW}; ALTER VIEW v RENAME TO w; DROP VIEW w; DROP VIEW IF EXISTS v", {1: "SET", 2: "SET", 3: "SET"}),
        (f"{VIEW}; DROP VIEW v; DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT 1", {1: "SET", 2: "SET"}),
        (f"{VIEW}; DROP VIEW lake.a.v", {1: "SET"}),
        ("DROP VIEW v", {}),
    ],
)
def test_a_view_is_of_the_session_while_there_is_a_temporary_one_of_its_name(sql: str, found: dict[int, str]) -> None:
    """Repeated later, a DROP would drop the view that lasts."""
    assert effects(sql) == found


@pytest.mark.parametrize(
    ("after", "effect"),
    [
        ("INSERT INTO lake.a.t VALUES (1)", "SET"),
        ("ALTER TABLE lake.a.u ADD COLUMN b INT", "SET"),
        ("ALTER TABLE lake.a.t ADD COLUMN b INT", "UNKNOWN"),
        ("DROP TABLE lake.a.t", "UNKNOWN"),
    ],
)
def test_a_view_of_a_table_that_is_changed_after_it_cannot_be_repeated(after: str, effect: str) -> None:
    """`SELECT *` has the columns of the moment in which the view is made; rows are read when it is used."""
    assert effects(f"{VIEW}; {after}")[1] == effect


def test_a_statement_that_reads_the_result_of_the_one_before_cannot_continue() -> None:
    """The result ends with its session."""
    sql = "INSERT INTO t VALUES (1); INSERT INTO u SELECT * FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))"
    file = split(sql, "snowflake")
    assert unrepeatable(file, 0) is None
    found = unrepeatable(file, 1)
    assert found is not None
    assert found[0].index == 2
