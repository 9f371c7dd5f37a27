"""The comments above a statement, and what they allow."""

from __future__ import annotations

import pytest

from glacierbase.migrations.allows import allows_of, without_effect
from glacierbase.migrations.statements import split_statements


def allows(sql: str) -> list[tuple[int, str, str]]:
    """Return statement, code and reason of each."""
    found = allows_of(split_statements(sql, "spark"))
    return [(each.statement_index, each.code, each.reason) for each in found]


def test_a_statement_has_the_comments_on_the_lines_above_it() -> None:
    """Comments behind the statement before do not count; the text and the checksum are as without comments."""
    first, second = split_statements(
        "-- one\nSELECT 1; -- behind\n/* two */\n-- three\n\nSELECT 2 -- inside\n", "spark"
    )
    assert first.comments == "-- one"
    assert second.comments == "/* two */\n-- three"
    [bare] = split_statements("SELECT 2", "spark")
    assert (second.text, second.checksum) == ("SELECT 2 -- inside", bare.checksum)


def test_an_allow_has_a_code_and_a_reason() -> None:
    """Several allow several rules, and each belongs to the statement below it."""
    first = "-- GLACIERBASE_ALLOW: DS103 no readers (#912)\nSELECT 1"
    second = "--GLACIERBASE_ALLOW : bc101: a: b\r\n\n-- GLACIERBASE_ALLOW: X\nSELECT 2"
    sql = f"{first};\n{second}"
    assert allows(sql) == [(1, "DS103", "no readers (#912)"), (2, "BC101", "a: b"), (2, "X", "")]


@pytest.mark.parametrize(
    "sql",
    [
        "/*\n-- GLACIERBASE_ALLOW: DS103 x\n*/\nSELECT 1",
        "SELECT 1 -- GLACIERBASE_ALLOW: DS103 x",
        "SELECT '\n-- GLACIERBASE_ALLOW: DS103 x\n'",
        "-- see GLACIERBASE_ALLOW: DS103 x\nSELECT 1",
        "-- GLACIERBASE_ALLOW DS103 x\nSELECT 1",
        "-- GLACIERBASE_ALOW: DS103 x\nSELECT 1",
        "-- glacierbase: allow DS103 x\nSELECT 1",
        "-- GLACIERBASE ALLOW DS103 x\nSELECT 1",
    ],
)
def test_what_is_no_such_comment_allows_nothing(sql: str) -> None:
    """A comment in a comment, behind a statement or in a string, another text, and a misspelled one; it is counted."""
    assert allows(sql) == []
    assert without_effect(sql, ()) == 1


@pytest.mark.parametrize(
    "sql", ["-- Allow with GLACIERBASE_ALLOW where needed\nSELECT 1", "SELECT 'GLACIERBASE_ALLOW'"]
)
def test_a_text_that_only_names_the_word_is_not_meant_to_allow_anything(sql: str) -> None:
    """A word that neither a colon nor a code follows allows nothing."""
    assert without_effect(sql, allows_of(split_statements(sql, "spark"))) == 0
