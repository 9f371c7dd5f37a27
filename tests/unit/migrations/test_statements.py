"""Where a statement ends and the next one begins, as the engine's lexer sees it; what is refused, not guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Statement, checksum
from tests.unit.migrations.splitting import BLOCK, COMMENT, IDENTIFIER, STRING, refused, split, texts


def places(sql: str) -> list[tuple[int, int, int]]:
    return [(statement.index, statement.line, statement.column) for statement in split(sql)]


@pytest.mark.parametrize(
    "sql", ["a;b", "a;b;", " a ; b ", "\n;a\n;\n;b;;\n", "\fa\v;\u00a0b\u2003;\u3000", "a;\ufeffb"]
)
def test_a_semicolon_ends_a_statement_and_the_last_one_needs_none(sql: str) -> None:
    """Between two semicolons, whitespace of Spark's and byte order marks are no statement."""
    assert texts(sql) == ["a", "b"]


@pytest.mark.parametrize(
    "string",
    [
        "';'", '";"', "';;'", "'\n;\r\n'", "'\";'", '"\';"', "'`;'", "'--;'", "'/*;'", "'*/;'", "'é;😀'",
        # A backslash takes the next character with it, a line end too; a doubled quote is one quote.
        r"'\';'", r'"\";"', r"'\\\';'", "'\\\n;'", "'it''s;'", '"a"";"', "''';'", r"'\''';'", r"'\n;'",
        r"'''\';'",
        # Inside a raw string a backslash is a backslash; a quote cannot be doubled, the next string begins.
        r"r';\'", r"R';\'", r'r";\"', r'R";\"', 'r"\';"', "R'\";'", "r'a'';'",
        # Only a single r makes a string raw, and only as a word of its own before the quote.
        r"xr'\';'", r"rr'\';'", r"r '\';'", r"é_r'\';'", r"1r'\';'", r"N'\';'", r"r.r';\'",
    ],
)  # fmt: skip
def test_a_semicolon_inside_a_string_does_not_end_the_statement(string: str) -> None:
    """A semicolon after the last quote ends the statement, so the string ends where Spark ends it."""
    assert texts(f"SELECT {string};b") == [f"SELECT {string}", "b"]


@pytest.mark.parametrize(
    "name", ["`;`", "`a``;`", "`'`", '`"`', "`--`", "`/*`", "`*/`", "`\\`", "`\n;`", "````", "`BEGIN`"]
)
def test_a_semicolon_inside_a_quoted_identifier_does_not_end_the_statement(name: str) -> None:
    """In a quoted identifier a backslash is a letter, and a backtick is doubled."""
    assert texts(f"SELECT {name};b") == [f"SELECT {name}", "b"]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("inside", [";", "'", '"', "`", "/*", "*/", "--", " https://;", "\\", "\\ "])
def test_a_line_comment_hides_everything_up_to_the_end_of_its_line(inside: str, end: str) -> None:
    """CR ends a comment as LF does; a backslash continues it only over LF, here to an empty line."""
    sql = f"a --{inside}{end}{end};b"
    assert texts(sql) == [f"a --{inside}".rstrip(), "b"]


@pytest.mark.parametrize("space", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])
def test_no_other_character_ends_a_line_comment(space: str) -> None:
    """`str.splitlines` breaks lines at each of these characters; Spark does not."""
    assert texts(f"a --{space};b\n;c") == [f"a --{space};b", "c"]


@pytest.mark.parametrize(
    "comment",
    [
        "/*;*/", "/**;*/", "/*/;*/", "/***/", "/*';*/", '/*";*/', "/*`;*/", "/*--;*/", "/*--\n;*/", "/*\\*/",
        "/*r'*/",
        # They nest, to any depth; a hint inside one is a part of its text, so its end ends the comment.
        "/*/*;*/;*/", "/*/**/;/**/;*/", "/*/*/;*/;*/", "/*" * 9 + "*/;" * 8 + "*/", "/*;/*+*/", "/* +;*/",
    ],
)  # fmt: skip
def test_a_comment_in_brackets_hides_everything_and_nests(comment: str) -> None:
    """A comment between two words is a space, and remains in the text."""
    assert texts(f"SELECT{comment}1;b") == [f"SELECT{comment}1", "b"]


def test_a_hint_is_code_wherever_it_stands() -> None:
    """A hint changes how the engine runs the statement, so it is part of its text and checksum."""
    sql = "SELECT /*+ BROADCAST(t), x(';') */ * FROM t; /*+ odd; */ b; /* gone */ /*+ c */"
    assert texts(sql) == ["SELECT /*+ BROADCAST(t), x(';') */ * FROM t", "/*+ odd; */ b", "/*+ c */"]
    hinted = split("SELECT 1 /*+ a */; SELECT 1 /*+ b */; SELECT 1 /* a */")
    assert len({statement.checksum for statement in hinted}) == 3


@pytest.mark.parametrize("path", ["https://a.b/c--d/*e", "é://--", "a*/*.jar", "a*/--\n*.jar"])
def test_a_path_that_looks_like_a_comment_does_not_open_one(path: str) -> None:
    """Spark reads a URL as one word, and `*/` as one sign, so the `/*` in them opens no comment."""
    assert texts(f"ADD JAR {path};b") == [f"ADD JAR {path}", "b"]


@pytest.mark.parametrize("before", ["s3://", "_://", "a:/ /", "a: //"])
def test_a_text_that_is_not_a_url_may_be_followed_by_a_comment(before: str) -> None:
    """For Spark a scheme has letters only, so the comment in `s3://a--b` is a comment for the splitter too."""
    assert texts(f"{before}--;\n;b") == [f"{before}--;", "b"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("-- x\na", "a"), ("/* x */a", "a"), ("-- x\r/* y */ -- z\r\n\ta", "a"), (";-- x\n;/* y */;a", "a"),
        ("a -- x\n;", "a -- x"), ("a /* x */ ;", "a /* x */"), ("a\n-- x\n-- y \n", "a\n-- x\n-- y"),
        ("a;-- x", "a"), ("/* x */a/* y */", "a/* y */"), ("a /* x */ b", "a /* x */ b"),
        ("a -- x\r\nb", "a -- x\r\nb"),
    ],
)  # fmt: skip
def test_comments_before_a_statement_go_and_those_up_to_its_semicolon_stay(sql: str, expected: str) -> None:
    """A comment after the semicolon belongs to the text before the next statement."""
    assert texts(sql) == [expected]


@pytest.mark.parametrize(
    "sql",
    ["", " \t\r\n", ";", ";;\n;", "--a;", "--", "/* a; */", "/*/**/*/;--\n;", "\ufeff", "\ufeff--", "\u2003"],
)
def test_a_text_of_comments_only_has_no_statement(sql: str) -> None:
    """Spark raises a syntax error for an empty statement."""
    assert split(sql) == ()


def test_a_text_is_cut_out_of_the_input_and_never_changed() -> None:
    """Line ends, tabs, letter case and other Unicode spaces reach the engine as written."""
    sql = "select\t'A\r\nB',\r\u00a0\"c\"  --x\n FROM `T`"
    assert texts(f"\n {sql}\u00a0\t;\n\n{sql}\r\n") == [sql, sql]
    assert texts("a\u200b;\x85b\x1c") == ["a\u200b", "\x85b\x1c"]


def test_a_statement_has_its_index_and_the_place_of_its_first_character() -> None:
    """All five values of each statement are compared at once."""
    first = Statement(1, 2, 3, "SELECT 1", checksum(b"SELECT 1"))
    assert split("-- x\n  SELECT 1;\n\n;\tSELECT 1 -- y") == (
        first,
        replace(first, index=2, line=4, column=3, text="SELECT 1 -- y"),
    )


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_every_line_end_counts_as_one_line(end: str) -> None:
    """Line ends inside of strings and comments count too."""
    sql = end.join(["-- x", "/*", "*/  a; 'b", "' ;", "", "\tc;d"])
    assert places(sql) == [(1, 3, 5), (2, 3, 8), (3, 6, 2), (4, 6, 4)]


@pytest.mark.parametrize(
    ("sql", "line", "column"),
    [
        ("\r\n\n\r\rb", 5, 1), ("\n\r\n\rb", 4, 1),
        # None of these breaks a line.
        ("a;\v\f\u2028b", 1, 6), ("'\x85\u2029\x1c';b", 1, 7),
        # A column is a character, however wide or however many bytes.
        ("'é😀\t';b", 1, 7),
        # The mark at the start is no character of the text; any other is.
        ("\ufeffb", 1, 1), ("\ufeff\nb", 2, 1), ("\ufeff\ufeffb", 1, 2), ("\n\ufeffb", 2, 2),
    ],
)  # fmt: skip
def test_a_place_is_counted_as_an_editor_counts_it(sql: str, line: int, column: int) -> None:
    """Line and column match those of an editor."""
    last = split(sql)[-1]
    assert (last.text, last.line, last.column) == ("b", line, column)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;", "-- x\nSELECT 1", "SELECT 1 -- x", "SELECT 1/* x */\n;", "/* y */ SELECT 1 -- x\n-- z",
        "\ufeffSELECT 1", "\n\tSELECT 1 \r\n",
    ],
)  # fmt: skip
def test_a_checksum_ignores_what_surrounds_the_statement(sql: str) -> None:
    """Comments around a completed statement may be added."""
    assert [statement.checksum for statement in split(sql)] == [checksum(b"SELECT 1")]


def test_a_checksum_sees_every_change_inside_but_the_form_of_line_ends() -> None:
    """A comment between two words is part of the checksum; a checkout may change line ends."""
    changes = ["SELECT\n1", "SELECT  1", "select 1", "SELECT 2", "SELECT/**/ 1", "SELECT--\n1", "SELECT\r1"]
    assert len({split(sql)[0].checksum for sql in ["SELECT 1", *changes]}) == 8
    assert split("SELECT\r\n1")[0].checksum == split("SELECT\n1")[0].checksum


@pytest.mark.parametrize(
    ("sql", "code", "column", "mark", "hint"),
    [
        ("'b;", STRING, 1, "'", "\\'"), ('b "c;', STRING, 3, '"', '\\"'), (r"'b\';", STRING, 1, "'", "\\'"),
        ("'b''", STRING, 1, "'", "\\'"), ('"b""', STRING, 1, '"', '\\"'), ("'b\\", STRING, 1, "'", "\\'"),
        (r"'b\\\'''", STRING, 1, "'", "\\'"), ("b r'c\";", STRING, 3, "r'", "raw"),
        (r'bR"" R"\"";', STRING, 10, '"', '\\"'), (r"r'b\''", STRING, 6, "'", "\\'"),
        ("b.`c;", IDENTIFIER, 3, "`", "``"), ("`b``", IDENTIFIER, 1, "`", "``"),
        ("`b\\``", IDENTIFIER, 1, "`", "``"), ("b /* c;", COMMENT, 3, "/*", "nest"),
        ("/* b /* c */", COMMENT, 1, "/*", "nest"), ("/*/", COMMENT, 1, "/*", "nest"),
        ("b /*+ c;", COMMENT, 3, "/*+", "hint"), ("/*/*+*/*/ /*+ *", COMMENT, 11, "/*+", "hint"),
        ("BEGIN b;", BLOCK, 1, "BEGIN", "END"), ("begin b; BEGIN c; END;", BLOCK, 1, "BEGIN", "END"),
        ("b:BEGIN", BLOCK, 3, "BEGIN", "END"), ("BEGIN IF b THEN c; END;", BLOCK, 7, "IF", "END IF"),
        ("BEGIN CASE b WHEN 1 THEN c; END; END", BLOCK, 7, "CASE", "END CASE"),
        ("BEGIN b; x: loop c; END WHILE; END", BLOCK, 13, "LOOP", "END LOOP"),
        ("BEGIN b; END IF; c;", BLOCK, 1, "BEGIN", "END"),
        ("BEGIN FOR b AS c DO d; END; END", BLOCK, 7, "FOR", "END FOR"),
        ("BEGIN WHILE b DO c; END", BLOCK, 7, "WHILE", "END WHILE"),
        ("BEGIN REPEAT b; UNTIL c END; END", BLOCK, 7, "REPEAT", "END REPEAT"),
    ],
)  # fmt: skip
def test_what_is_never_closed_is_refused(sql: str, code: str, column: int, mark: str, hint: str) -> None:
    """The error has the place where it opens, for blocks of the innermost, even if the statements before are valid."""
    error = refused(f"a;\r\n{sql}")
    assert (error.code, error.exit_code, error.data) == (code, 3, {"line": 2, "column": column})
    what = code.removeprefix("UNTERMINATED_").lower()
    assert error.message == f"line 2, column {column}: the {what} that opens here with {mark} is never closed"
    assert hint in error.hint


@pytest.mark.parametrize(
    ("comment", "line", "column"),
    [
        ("-- c\\\nb", 1, 3), ("--\\\n b", 1, 3), ("-- c\\\\\n/* d */b", 1, 3), ("\n\t-- c\\\n;b", 2, 2),
        # Of a comment over several lines, it is the last that reaches into code.
        ("-- c\\\n-- d\\\nb", 2, 1), ("-- c\\\n  -- d\\\nb", 2, 3), ("-- c\\\n\ufeffb", 1, 3),
    ],
)  # fmt: skip
def test_a_comment_that_takes_the_next_line_with_it_is_refused(comment: str, line: int, column: int) -> None:
    """Spark continues a comment after a backslash and LF, so the next line would silently not run."""
    error = refused(f"a {comment}")
    assert (error.code, error.exit_code) == ("MISREAD_COMMENT", 3)
    assert error.data == {"line": line, "column": column}
    assert error.message.startswith(f"line {line}, column {column}: ")
    assert "space after the backslash" in error.hint


@pytest.mark.parametrize(
    "comment",
    ["--c\\ \nb", "--c\\\r\nb", "--c\\\rb", "-- c\\\n --\nb", "--c\\\n\nb", "--\\\n \t\r\nb", "/*--\\\n*/b"],
)
def test_a_backslash_that_joins_no_code_to_a_comment_is_allowed(comment: str) -> None:
    """A path at the end of a comment is harmless."""
    assert texts(f"a {comment};d") == [f"a {comment}", "d"]
    assert texts("a -- c\\\n \n;-- c\\\n--\\") == ["a -- c\\"]


@pytest.mark.parametrize(
    ("sql", "code", "line", "column", "said"),
    [
        ("\0", "NUL_CHARACTER", 1, 1, "UTF-8"), ("a;\n 'b\0", "NUL_CHARACTER", 2, 4, "UTF-8"),
        ("-- \0\ud800", "NUL_CHARACTER", 1, 4, "UTF-8"),
        ("SELECT 1".encode("utf-16-le").decode(), "NUL_CHARACTER", 1, 2, "UTF-8"),
        ("a\r/* \ud83d", "SURROGATE_CHARACTER", 2, 4, "U+D83D"),
        ("'\udfff'\0", "SURROGATE_CHARACTER", 1, 2, "U+DFFF"),
        ("\ufeff\n\udc00", "SURROGATE_CHARACTER", 2, 1, "U+DC00"),
    ],
)  # fmt: skip
def test_an_invalid_character_is_refused_everywhere(sql: str, code: str, line: int, column: int, said: str) -> None:
    """The character is refused in comments too, and before unclosed constructs, which it may cause."""
    error = refused(sql)
    assert (error.code, error.exit_code, error.data) == (code, 3, {"line": line, "column": column})
    assert error.message.startswith(f"line {line}, column {column}: ")
    assert said in error.message + error.hint
    assert error.hint


@pytest.mark.parametrize("dialect", ["Spark", "", "oracle"])
def test_an_unknown_dialect_is_an_error_that_lists_the_known_ones(dialect: str) -> None:
    """No dialect is a fallback for another, even for an empty text."""
    with pytest.raises(ConfigurationError, match=f"unknown SQL dialect {dialect}") as caught:
        split_statements("", dialect)
    assert (caught.value.code, caught.value.exit_code) == ("UNKNOWN_DIALECT", 2)
    assert caught.value.hint == "allowed: spark, snowflake"
