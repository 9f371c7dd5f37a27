"""Text that no engine accepts, or that is made to cost time: `read` answers, in time that grows with the length."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glacierbase.sql import read
from glacierbase.sql.operations import OPERATIONS
from tests.unit.sql.cases import SNOWFLAKE, SPARK

LARGE = {
    "rows": lambda n: f"INSERT INTO t VALUES {', '.join(['(1, (2), x)'] * n)}",
    "columns": lambda n: f"CREATE TABLE t ({', '.join(f'c{i} int' for i in range(n))})",
    "properties": lambda n: f"ALTER TABLE t SET TBLPROPERTIES ({', '.join(['a.b = 1'] * n)})",
    "parentheses": lambda n: f"SELECT {'(' * n}1{')' * n} FROM t",
    "open parentheses": lambda n: f"SELECT {'(' * n}",
    "queries": lambda n: f"SELECT * FROM {'(SELECT * FROM a, ' * n}t{')' * n}",
    "relations": lambda n: f"SELECT * FROM {'(' * n}t{')' * n}",
    "expressions": lambda n: f"WITH {', '.join(f'x{i} AS (SELECT * FROM x{i - 1})' for i in range(n))} SELECT 1",
    "types": lambda n: f"ALTER TABLE t ADD COLUMN a {'array<' * n}int{'>' * n}",
    "blocks": lambda n: f"{'BEGIN ' * n}{'END; ' * n}",
    "statements": lambda n: f"BEGIN {'DELETE FROM t; ' * n}END",
    "explanations": lambda n: f"{'EXPLAIN ' * n}SELECT 1",
    "labels": lambda n: f"{'a: ' * n}BEGIN END",
    "names": lambda n: f"DROP TABLE {'.'.join(['a'] * n)}",
    "blanks": lambda n: f"DROP{' ' * n}TABLE{' ' * n}t",
    "words": lambda n: "CREATE " + "TEMPORARY " * n,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "dialect"), list(product(LARGE, ("spark", "snowflake"))))
def test_time_grows_with_the_length(kind: str, dialect: str) -> None:
    """Ten times the text costs at most some thirty times the time: quadratic time would cost a hundred times."""
    seconds = [_seconds(LARGE[kind](size), dialect) for size in (1_000, 10_000)]
    assert seconds[1] < 30 * seconds[0] + 0.5


def _seconds(sql: str, dialect: str) -> float:
    started = time.process_time()
    read(sql, dialect)
    return time.process_time() - started


WORDS = sorted({word for sql, *_ in SPARK + SNOWFLAKE for word in sql.replace("(", " ( ").replace(")", " ) ").split()})
TEXTS = st.lists(
    st.sampled_from([*WORDS, "'", "`", '"', "/*", "--", "\n", "$$", "${", "{{", "\x00", "\ud800", "."]), max_size=12
)


@given(TEXTS, st.sampled_from(["spark", "snowflake"]))
def test_any_text_has_an_answer(words: list[str], dialect: str) -> None:
    """Any words in any order give an operation of the vocabulary, and a reason where they are not understood."""
    found = read(" ".join(words), dialect)
    assert found.operation in OPERATIONS
    assert found.understood or (found.why and not found.tables)
    assert all(part.operation in OPERATIONS for part in found.parts)


@pytest.mark.parametrize(("cases", "dialect"), [(SPARK, "spark"), (SNOWFLAKE, "snowflake")])
def test_a_statement_that_is_cut_anywhere_has_an_answer(cases: list[tuple[str, ...]], dialect: str) -> None:
    """The beginning of a statement is a statement, or not understood."""
    for sql, *_ in cases:
        assert all(read(sql[:end], dialect).operation in OPERATIONS for end in range(len(sql))), sql


BROKEN = [
    "DROP TABLE a.",
    "DROP TABLE .a",
    "DROP TABLE ``",
    "INSERT INTO",
    "ALTER TABLE t ADD",
    "CALL x(",
    "BEGIN END; END",
]


@pytest.mark.parametrize("sql", BROKEN)
def test_a_statement_without_its_end_is_not_understood(sql: str) -> None:
    """A part of a name, of a clause or of a block that is missing is never guessed."""
    assert not read(sql, "spark").understood
