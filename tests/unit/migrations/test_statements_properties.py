"""Properties of the splitter that hold for any text."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glacierbase.errors import MigrationFileError
from glacierbase.model.migration import Statement
from tests.unit.migrations.splitting import BLOCK, COMMENT, SNOWFLAKE_AROUND, STRING, refused, split, texts

# What an engine reads in one go, each with a mark of something else inside.
CODE = [
    "SELECT", "end", "BEGIN", "END", "CASE WHEN a THEN 1 END", "if(a, 1)", "(", "-", "1.5", "x.*", "é",
    "https://a--b/*c", "';'", "'it''s;'", r"'\';'", '"--;"', "'/*;'", r"r';\'", 'R";/*"', "`;`", "`a``;--`",
    "/*+ hint; */", "''", '""', "'\n;\r'",
]  # fmt: skip

# A word at the start, which opens no block and is no label.
FIRST = ["SELECT", "INSERT", "DECLARE", "IF", "`;`", "'BEGIN'", "END", "/*+ ; */", "("]
GAP = [
    " ", "\n", "\r\n\t", " /* ; ' */ ", "\n/* /* ` */ ; */\n", ' -- ; " /*\n', " -- ;\r", " --\r\n ",
    "\u00a0", "\u3000",
]  # fmt: skip

gaps = st.sampled_from(GAP)
plain = st.builds(
    lambda first, rest: first + "".join(gap + code for gap, code in rest),
    st.sampled_from(FIRST),
    st.lists(st.tuples(gaps, st.sampled_from(CODE)), max_size=6),
)
BODIES = [
    "BEGIN {}; END", "x: BEGIN {}; {}; END x", "BEGIN NOT ATOMIC {}; END",
    "IF a THEN {}; ELSEIF b THEN {}; ELSE {}; END IF", "WHILE a DO {}; END WHILE", "l: LOOP {}; END LOOP l",
    "REPEAT {}; {}; UNTIL CASE WHEN a THEN b END END REPEAT", "FOR r AS SELECT 1 AS end DO {}; END FOR",
    "CASE a WHEN 1 THEN {}; ELSE {}; END CASE", "CASE WHEN a THEN {}; END CASE",
    "DECLARE EXIT HANDLER FOR NOT FOUND, SQLSTATE '22012' BEGIN {}; END",
    "DECLARE CONTINUE HANDLER FOR SQLEXCEPTION {}",
]  # fmt: skip
SIMPLE = [
    "SELECT 1 AS end", "SET x = CASE WHEN a THEN 1 END", "SELECT if(a, ';', 2)", "DECLARE y INT",
    "DROP TABLE IF EXISTS t",
    "SELECT CASE a WHEN 1 THEN CASE WHEN b THEN 1 END END, repeat('END;', 2) -- END;\n", "LEAVE l",
    "/* BEGIN; */ SELECT `END;`",
]  # fmt: skip
inner = st.recursive(
    st.sampled_from(SIMPLE),
    lambda deeper: st.builds(str.format, st.sampled_from(BODIES), deeper, deeper, deeper),
    max_leaves=9,
)
scripts = st.builds(str.format, st.sampled_from(BODIES[:3]), inner, inner)
SNOWFLAKE_GAP = [" ", "\n", "\r\n\t", " /* ; ' /* */ ", "\n// ; $$ '\n", ' -- ; " /*\r', "\u00a0"]
SNOWFLAKE_SIMPLE = [
    "SELECT 1 AS end, 'it''s;'", "x := CASE WHEN a THEN 1 END", "LET name := 1",
    r"SELECT '\';', $$;'\$$, a$$b", 'SELECT ";""\'"',
    "BEGIN NAME t", "COMMIT", "PUT file:///a//*.csv @~", "BEGIN", "SELECT a:end //;\n::INT", "UPDATE t AS begin SET a = 1",
]  # fmt: skip
snowflake_gaps = st.sampled_from(SNOWFLAKE_GAP)
snowflake_codes = st.recursive(
    st.sampled_from(SNOWFLAKE_SIMPLE),
    lambda deeper: st.builds(
        lambda around, first, gap, last: f"{around[0]}{first};{gap}{last}{around[1]}",
        st.sampled_from(SNOWFLAKE_AROUND), deeper, snowflake_gaps, deeper,
    ),
    max_leaves=9,
)  # fmt: skip

# Marks that meet in every order; most of what comes out is refused, and what is not has many statements.
MARKS = [
    *"';`\"\\;-/*+\n\r rRa:é\ufeff", "--", "/*", "*/", "/*+", "\\\n", "r'", "://", "''", "BEGIN ", " END",
    " IF ", ";", ";\n", "$$", "//", ":=", "CREATE ", " AS ", "DECLARE ",
]  # fmt: skip
noise = st.lists(st.sampled_from(MARKS), max_size=30).map("".join)
parted = st.lists(st.one_of(plain, scripts, gaps, st.just(";"), noise), max_size=6).map(";".join)
anything = st.one_of(noise, parted, st.text(st.characters(exclude_categories=()), max_size=30))

moderately = settings(max_examples=100, deadline=None)


def outcome(sql: str, dialect: str = "spark") -> tuple[tuple[Statement, ...], MigrationFileError | None]:
    try:
        return split(sql, dialect), None
    except MigrationFileError as error:
        return (), error


def offset(sql: str, line: int, column: int) -> int:
    """Return the offset of a place, with lines counted as Python's text files count them."""
    before = list(io.StringIO(sql, newline=""))[: line - 1]
    return sum(map(len, before)) + column - 1


@moderately
@given(st.lists(st.tuples(gaps, plain | scripts, st.sampled_from(["", " /* ; */", "\n-- ; '"])), max_size=5))
def test_joined_statements_are_split_again(parts: list[tuple[str, str, str]]) -> None:
    """Joined statements split into exactly those statements, whatever is in and between them."""
    sql = "".join(f"{gap}{code}{comment}\r\n;" for gap, code, comment in parts)
    assert texts(sql) == [(code + comment).rstrip() for _, code, comment in parts]
    assert [s.checksum for s in split(sql)] == [split(code)[0].checksum for _, code, _ in parts]


@moderately
@given(
    st.lists(
        st.tuples(snowflake_gaps, snowflake_codes, st.sampled_from(["", " /* ; */", "\n-- ; '", "\t//"])), max_size=4
    )
)
def test_joined_statements_of_snowflake_are_split_again(parts: list[tuple[str, str, str]]) -> None:
    """Joined scripts and transactions split into exactly those statements, in any order and nesting."""
    sql = "".join(f"{gap}{code}{comment}\r\n;" for gap, code, comment in parts)
    assert texts(sql, "snowflake") == [code + comment for _, code, comment in parts]


@moderately
@given(scripts)
def test_a_script_without_its_last_end_is_refused_at_its_begin(script: str) -> None:
    """At any depth, no block's END closes another block."""
    error = refused(script[: script.rindex("END")] + ";b")
    assert (error.code, error.data) == (BLOCK, {"line": 1, "column": script.index("BEGIN") + 1})


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
@moderately
@given(anything)
def test_any_text_is_split_or_refused_with_a_place_in_it(dialect: str, text: str) -> None:
    """Any text splits, or raises one error with the place of the mark that it names."""
    _, error = outcome(text, dialect)
    if error:
        sql = text.removeprefix("\ufeff")
        at = offset(sql, error.data["line"], error.data["column"])
        assert 0 <= at < len(sql)
        if error.code.startswith("UNTERMINATED_"):
            mark = error.message.split()[-4]
            assert sql[at : at + len(mark)].upper() == mark.upper()
        assert error.hint


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
@moderately
@given(anything)
def test_every_text_is_in_the_input_at_its_place(dialect: str, text: str) -> None:
    """Statements are in order, without semicolon and without overlap."""
    sql = text.removeprefix("\ufeff")
    end = 0
    for number, statement in enumerate(outcome(text, dialect)[0], start=1):
        start = offset(sql, statement.line, statement.column)
        assert statement.index == number
        assert start >= end
        assert statement.text
        assert sql.startswith(statement.text, start)
        end = start + len(statement.text)


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
@moderately
@given(anything)
def test_the_text_between_statements_contains_no_statement(dialect: str, text: str) -> None:
    """Only spaces, comments and semicolons are left out, with at least one semicolon between two statements."""
    sql = text.removeprefix("\ufeff")
    statements, _ = outcome(text, dialect)
    end = 0
    for statement in statements:
        start = offset(sql, statement.line, statement.column)
        assert split(sql[end:start], dialect) == ()
        assert not end or ";" in sql[end:start]
        end = start + len(statement.text)
    assert not statements or split(sql[end:], dialect) == ()


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
@moderately
@given(anything)
def test_splitting_what_was_split_changes_nothing(dialect: str, text: str) -> None:
    """A statement alone splits into itself, because the engine receives it alone."""
    statements, _ = outcome(text, dialect)
    # A line of its own ends a comment at the end of a text, and an empty one what a backslash takes along.
    again = split("\n\n;\n".join(statement.text for statement in statements), dialect)
    assert [(s.text, s.checksum) for s in again] == [(s.text, s.checksum) for s in statements]
    for statement in statements:
        assert split(statement.text, dialect) == (replace(statement, index=1, line=1, column=1),)


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("/*", COMMENT), ("/*+", COMMENT), ("*/", 1), ("/*/", COMMENT), ("/", 1), ("'", 1), ("''a", 1),
        ("r'", 1), ("\\'", STRING), ("`", 1), ('"', 1), ("(", 1), ("-", 0), ("-- \\\n", 0),
        ("a--\\\n ", "MISREAD_COMMENT"), ("a;", 100_000), (";", 0), ("\r", 0), ("a", 1), ("a:", 1),
        ("a://", 1), ("é1", 1), ("\\", 1), (" \t", 0), ("BEGIN ", BLOCK), ("BEGIN IF ", BLOCK), ("END ", 1),
        ("BEGIN END;", 20_000), ("CASE ", 1), ("BEGIN CASE a ", BLOCK), ("BEGIN HANDLER FOR , ", BLOCK),
        ("/**/", 0), ("/**/a", 1),
    ],
)  # fmt: skip
def test_a_hostile_text_of_200_000_characters_ends(piece: str, expected: int | str) -> None:
    """Neither recursion nor repeated searches make the time for a hostile text more than linear."""
    statements, error = outcome(piece * (200_000 // len(piece)))
    assert (error.code if error else len(statements)) == expected


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("$$", 1), ("$$a", 1), ("$", 1), ("a$", 1), ("a ", 1), (":=", 1), ("a:= ", 1), ("a:", 1), (".", 1), ("//", 0), ("://", 1),
        ("a://", 1), ("a:// ", 1), ("/*", COMMENT), ("'", 1), ('"a', 1), ("(", 1), (")", 1), ("CREATE (", 1), ("BEGIN ", BLOCK),
        ("BEGIN;", 33_333), ("BEGIN a;", BLOCK), ("DECLARE ", BLOCK), ("DECLARE BEGIN ", BLOCK), ("CREATE AS BEGIN ", BLOCK),
    ],
)  # fmt: skip
def test_a_hostile_text_of_200_000_characters_ends_in_snowflake(piece: str, expected: int | str) -> None:
    """Snowflake's own marks take linear time too."""
    statements, error = outcome(piece * (200_000 // len(piece)), "snowflake")
    assert (error.code if error else len(statements)) == expected
