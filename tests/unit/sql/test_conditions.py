"""Conditions that their text decides for all rows, and the ones that depend on the rows."""

from __future__ import annotations

import pytest

from glacierbase.sql import read
from glacierbase.sql.statement import Condition, MergeClause

ALWAYS = [
    "true", "1 = 1", "(true)", "NOT false", "a = 1 OR 1 = 1", "true AND 'x' = 'x'", "1 < 2", "1 <> 2", "1 != 2", "a <=> a",
    "((2 >= 2))",
]  # fmt: skip
NEVER = [
    "false",
    "1 = 0",
    "a = NULL",
    "a <> a",
    "a != a",
    "a < a",
    "a > a",
    "1 != 1",
    "1 <> 1",
    "a = 1 AND 1 = 2",
    "a IN (1) AND a = NULL",
    "a NOT IN (1, NULL)",
    "'a' = 'b'",
]
DEPENDS = [
    "a = 1", "a = b", "a > 0 AND true", "id IN (SELECT id FROM s) AND true", "id IN (SELECT b FROM s)",
    "CASE WHEN a OR true OR b THEN 1 END = 1",
    "day BETWEEN 1 AND 2", "NOT a = a", "rand() = rand()",
    "EXISTS (SELECT 1 FROM s WHERE s.id = id)", "a IN (1, NULL)", "a NOT IN (1, 2)", "a = 'x OR 1 = 1'",
    "a = -a", "1 = '1'", "a IS NULL", "NOT (a = NULL)", "date '2026-01-01' = day",
]  # fmt: skip


def where(text: str, dialect: str = "spark") -> Condition:
    condition = read(f"DELETE FROM t WHERE {text}", dialect).options.condition
    assert condition is not None
    return condition


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
@pytest.mark.parametrize(
    ("text", "holds"),
    [(text, holds) for texts, holds in ((ALWAYS, True), (NEVER, False), (DEPENDS, None)) for text in texts],
)
def test_a_condition_is_decided_by_its_text_or_depends_on_the_rows(text: str, holds: bool | None, dialect: str) -> None:
    """No column is compared with itself, so that there is no exception for NULL."""
    condition = where(text, dialect)
    assert (condition.holds, condition.unless_null, condition.if_required) == (holds, frozenset(), frozenset())


def test_a_column_that_is_compared_with_itself_is_an_exception_for_null() -> None:
    """IS NOT NULL holds for all rows only where the column is required."""
    assert where("id = id AND t.a >= t.a").unless_null == {("id",), ("t", "a")}
    for sign in ("=", "==", "<=", ">="):
        assert (where(f"a {sign} a").holds, where(f"a {sign} a").unless_null) == (True, {("a",)}), sign
    assert where("a LIKE '%'").unless_null == {("a",)}
    assert where("length(a)  = length(a)").unless_null == {("length(a)",)}
    queried = where("id IN (SELECT id FROM t)")
    assert (queried.holds, queried.unless_null, queried.queried) == (None, {("id",)}, ("t",))
    condition = where("id IS NOT NULL")
    assert (condition.holds, condition.unless_null, condition.if_required) == (True, frozenset(), {("id",)})


def test_a_condition_of_any_depth_is_read() -> None:
    """Beyond a depth it is not decided."""
    assert where("(" * 5000 + "true" + ")" * 5000).holds is None


def test_a_condition_with_the_quotes_of_another_engine_is_read() -> None:
    """Snowflake refuses the backticks of Spark when the statement runs."""
    assert where("`a` = 1", "snowflake").named == {"A"}


def test_a_merge_has_its_condition_and_its_clauses() -> None:
    """A CASE in a condition has its own WHEN and THEN."""
    merge = read(
        "MERGE INTO lake.a.t AS t USING (SELECT * FROM s) AS s ON CASE WHEN t.a THEN t.id END = s.id"
        " WHEN MATCHED AND CASE WHEN s.a THEN s.b END THEN UPDATE SET t.a = CASE WHEN s.a THEN 1 END"
        " WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND true THEN DELETE",
        "spark",
    )
    clauses = [part for part in merge.parts if isinstance(part, MergeClause)]
    assert [(clause.rows, clause.action) for clause in clauses] == [
        ("matched", "update"), ("not matched", "insert"), ("not matched by source", "delete"),
    ]  # fmt: skip
    assert [clause.condition and clause.condition.holds for clause in clauses] == [None, None, True]
    assert merge.options.alias == "t"


QUERIES = [
    ("INSERT INTO t SELECT a, b.c AS d, count(*) AS n, x y FROM s", ("a", "d", "n", "y"), False, True, False),
    ("INSERT INTO t SELECT * FROM t WHERE a", None, False, False, True),
    ("INSERT INTO t WITH x AS (SELECT 1) SELECT a FROM x LIMIT 5", ("a",), True, False, False),
    ("INSERT INTO t SELECT a FROM s ORDER BY a LIMIT 5", ("a",), False, False, False),
    ("INSERT INTO t SELECT a + b, 1, NULL FROM s", None, False, True, False),
    ("CREATE VIEW v AS SELECT `a b`, t.c FROM t AS t", ("a b", "c"), False, True, False),
    ("ALTER VIEW v AS SELECT a FROM v", ("a",), False, True, True),
    ("INSERT INTO t VALUES (1)", None, False, False, False),
]


@pytest.mark.parametrize(("sql", "columns", "limits", "is_whole", "reads"), QUERIES)
def test_a_query_shows_its_columns_and_whether_it_keeps_all_rows(
    sql: str, columns: tuple[str, ...] | None, limits: bool, is_whole: bool, reads: bool
) -> None:
    """A column without a name leaves the list undetermined."""
    query = read(sql, "spark").query
    assert query is not None
    assert (query.columns, query.limits, query.is_whole_table, query.reads_target) == (columns, limits, is_whole, reads)
