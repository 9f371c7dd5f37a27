"""The exact SQL of the key macros. Applied files hold these texts: to render another text, add a macro with another name."""

from __future__ import annotations

import pytest

from glacierbase.layout.expressions import DIALECTS, MACROS

# Never edit a line of this table: the rendered checksums of applied files would no longer be those of their files.
FROZEN = [
    ("spark", "reversed_id", ("id",), "reverse(CAST(id AS STRING))"),
    ("spark", "hash_prefix", ("customer_id", 2), "substr(md5(CAST(customer_id AS STRING)), 1, 2)"),
    (
        "spark",
        "hash_path",
        ("id", 2),
        "concat(substr(md5(CAST(id AS STRING)), 1, 1), '/', substr(md5(CAST(id AS STRING)), 2, 1), '/', CAST(id AS STRING))",
    ),
    (
        "spark",
        "bucket_prefix",
        ("id", 100),
        "lpad(CAST(mod(CAST(conv(substr(md5(CAST(id AS STRING)), 1, 16), 16, 10) AS DECIMAL(20, 0)), 100) AS STRING), 2, '0')",
    ),
    ("snowflake", "reversed_id", ("id",), "reverse(TO_VARCHAR(id))"),
    ("snowflake", "hash_prefix", ("customer_id", 2), "substr(md5(TO_VARCHAR(customer_id)), 1, 2)"),
    (
        "snowflake",
        "hash_path",
        ("id", 2),
        "concat(substr(md5(TO_VARCHAR(id)), 1, 1), '/', substr(md5(TO_VARCHAR(id)), 2, 1), '/', TO_VARCHAR(id))",
    ),
    (
        "snowflake",
        "bucket_prefix",
        ("id", 100),
        "lpad(TO_VARCHAR(mod(MD5_NUMBER_UPPER64(TO_VARCHAR(id)), 100)), 2, '0')",
    ),
]


@pytest.mark.parametrize(("dialect", "macro", "arguments", "sql"), FROZEN)
def test_the_sql_of_a_macro_is_frozen(dialect: str, macro: str, arguments: tuple[str | int, ...], sql: str) -> None:
    """What a file renders does not depend on the installed version of glacierbase."""
    assert getattr(DIALECTS[dialect], macro)(*arguments) == sql


def test_every_macro_of_every_dialect_is_frozen() -> None:
    """A new macro, or a new dialect, needs its lines in the table."""
    assert {(dialect, macro) for dialect in DIALECTS for macro in MACROS} == {line[:2] for line in FROZEN}


def test_the_padding_of_buckets_is_frozen() -> None:
    """Zeros are added up to the digits of the largest bucket."""
    texts = {n: DIALECTS["snowflake"].bucket_prefix("id", n) for n in (2, 10, 11, 101, 10_000)}
    widths = {n: text.rpartition("), ")[2] for n, text in texts.items()}
    assert widths == {2: "1, '0')", 10: "1, '0')", 11: "2, '0')", 101: "3, '0')", 10_000: "4, '0')"}


def test_an_expression_is_part_of_the_result_as_it_is_written() -> None:
    """Names with quotes, operators and braces are not changed."""
    for col in ("t.`a b`", "a + b", "concat(x, '{}')", "{0}", "'%s'", 'T."Id"'):
        assert DIALECTS["spark"].reversed_id(col) == f"reverse(CAST({col} AS STRING))"
        assert f"TO_VARCHAR({col})" in DIALECTS["snowflake"].bucket_prefix(col, 3)
