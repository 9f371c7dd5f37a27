"""Where a statement ends and the next one begins, as the engine's lexer sees it; what is refused, not guessed."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Statement, checksum


def split(sql: str, dialect: str = "spark") -> tuple[Statement, ...]:
    return split_statements(sql, dialect)


def texts(sql: str, dialect: str = "spark") -> list[str]:
    return [statement.text for statement in split(sql, dialect)]


def places(sql: str) -> list[tuple[int, int, int]]:
    return [(statement.index, statement.line, statement.column) for statement in split(sql)]


def refused(sql: str, dialect: str = "spark") -> MigrationFileError:
    with pytest.raises(MigrationFileError) as caught:
        split(sql, dialect)
    return caught.value


# --- Semicolons and what hides them


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
def test_a_semicolon_inside_a_string_ends_nothing(string: str) -> None:
    """A semicolon after the last quote ends the statement, so the string ends where Spark ends it."""
    assert texts(f"SELECT {string};b") == [f"SELECT {string}", "b"]


@pytest.mark.parametrize(
    "name", ["`;`", "`a``;`", "`'`", '`"`', "`--`", "`/*`", "`*/`", "`\\`", "`\n;`", "````", "`BEGIN`"]
)
def test_a_semicolon_inside_a_quoted_identifier_ends_nothing(name: str) -> None:
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
def test_a_path_that_looks_like_a_comment_opens_none(path: str) -> None:
    """Spark reads a URL as one word, and `*/` as one sign, so the `/*` in them opens no comment."""
    assert texts(f"ADD JAR {path};b") == [f"ADD JAR {path}", "b"]


@pytest.mark.parametrize("before", ["s3://", "_://", "a:/ /", "a: //"])
def test_what_is_no_url_may_be_followed_by_a_comment(before: str) -> None:
    """For Spark a scheme has letters only, so the comment in `s3://a--b` is a comment for the splitter too."""
    assert texts(f"{before}--;\n;b") == [f"{before}--;", "b"]


# --- What belongs to a statement


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
def test_what_holds_only_comments_is_no_statement(sql: str) -> None:
    """Spark raises a syntax error for an empty statement."""
    assert split(sql) == ()


def test_a_text_is_cut_out_of_the_input_and_never_changed() -> None:
    """Line ends, tabs, letter case and other Unicode spaces reach the engine as written."""
    sql = "select\t'A\r\nB',\r\u00a0\"c\"  --x\n FROM `T`"
    assert texts(f"\n {sql}\u00a0\t;\n\n{sql}\r\n") == [sql, sql]
    assert texts("a\u200b;\x85b\x1c") == ["a\u200b", "\x85b\x1c"]


def test_a_statement_knows_its_index_and_the_place_of_its_first_character() -> None:
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


# --- Scripts

# What may stand around a statement inside a script.
AROUND = [
    ("BEGIN ", "; END"), ("BEGIN NOT ATOMIC ", "; END"), ("BEGIN SELECT 1; ", "; SELECT 1; END"),
    ("l: BEGIN ", "; END l"), ("BEGIN IF a THEN ", "; END IF; END"),
    ("BEGIN IF a THEN SELECT 1; ELSEIF b THEN ", "; END IF; END"),
    ("BEGIN IF a THEN SELECT 1; ELSE ", "; END IF; END"), ("BEGIN LOOP ", "; END LOOP; END"),
    ("BEGIN WHILE a DO ", "; END WHILE; END"), ("BEGIN FOR r AS SELECT 1 DO ", "; END FOR; END"),
    ("BEGIN REPEAT ", "; UNTIL a END REPEAT; END"), ("BEGIN CASE WHEN a THEN ", "; END CASE; END"),
    ("BEGIN CASE a WHEN 1 THEN SELECT 1; ELSE ", "; END CASE; END"),
    ("BEGIN DECLARE EXIT HANDLER FOR NOT FOUND, SQLSTATE VALUE '22012' ", "; END"),
]  # fmt: skip


@pytest.mark.parametrize(
    "script",
    [
        "BEGIN END", "BEGIN SELECT 1; END", "begin\nselECT 1;\nend", "BEGIN NOT ATOMIC SELECT 1; END",
        "BEGIN SELECT handler FOR; SELECT a begin; END", "l: BEGIN SELECT 1; END l",
        "`a;b` : BEGIN SELECT 1; END `a;b`", "begin: BEGIN SELECT 1; END begin",
        "BEGIN SELECT 1; END -- ;\n/* END; */", "BEGIN /* END; */ SELECT 'END;'; -- END;\nEND",
        "BEGIN BEGIN END; l: BEGIN END l; END", "BEGIN DECLARE x INT DEFAULT 1; SET x = 2; SELECT x; END",
        "BEGIN IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE SELECT 3; END IF; END",
        "BEGIN WHILE a < 3 DO SET a = a + 1; END WHILE; END",
        "BEGIN w: WHILE a DO ITERATE w; END WHILE w; END", "BEGIN LOOP SELECT 1; END LOOP; END",
        "BEGIN l: LOOP LEAVE l; END LOOP l; END", "BEGIN REPEAT SET a = 1; UNTIL a > 3 END REPEAT; END",
        "BEGIN r: REPEAT SELECT 1; UNTIL f() END REPEAT r; END",
        "BEGIN REPEAT SELECT 1; UNTIL CASE WHEN a THEN b END END REPEAT; SELECT 2; END",
        "BEGIN FOR r AS SELECT 1 AS a DO SELECT r.a; END FOR; END",
        "BEGIN f: FOR SELECT 1 DO SELECT 2; END FOR f; END",
        "BEGIN CASE WHEN a THEN SELECT 1; WHEN b THEN SELECT 2; ELSE SELECT 3; END CASE; END",
        "BEGIN CASE a WHEN 1 THEN SELECT 1; END CASE; SELECT 2; END",
        "BEGIN IF a THEN LOOP CASE WHEN b THEN BEGIN LOOP c; END LOOP; END; END CASE; END LOOP; END IF; END",
        "BEGIN IF a THEN IF b THEN SELECT 1; END IF; ELSE IF c THEN SELECT 2; END IF; END IF; SELECT 3; END",
    ],
)  # fmt: skip
def test_a_script_is_one_statement(script: str) -> None:
    """The semicolons of a script belong to it, and every block is closed by its own END."""
    assert texts(f"a;{script};b") == ["a", script, "b"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT CASE WHEN a THEN 1 ELSE 2 END",
        "SET x = CASE CASE a WHEN 1 THEN 2 END WHEN 2 THEN if(b, 3, 4) END", "SET x = end",
        "SELECT CASE WHEN a THEN 1 END AS end",
        "SELECT CASE a WHEN 1 THEN if(b, 1, 2) END, CASE WHEN c THEN 2 END", "SELECT 1 AS begin",
        "SELECT 1 AS if, 2 AS loop, 3 AS for, 4 AS while, 5 AS repeat", "SELECT end FROM begin AS end",
        "SELECT if(a, 1, 2)", "SELECT repeat('a', 2)", "DROP TABLE IF EXISTS t",
        "CREATE TABLE IF NOT EXISTS t (begin INT)", "SELECT t.begin, t.end, `end`, 'END'",
        "SELECT end, if(a, 1, 2)", "SELECT FOR FROM t", "SELECT array(begin)[end]",
        "INSERT INTO t SELECT 1 end", "SELECT END IF FROM t", "SELECT handler AS if FROM t",
        "SHOW TABLES IN begin", "DELETE FROM t WHERE a BETWEEN begin AND end",
    ],
)  # fmt: skip
def test_the_words_of_scripts_are_names_functions_and_expressions_elsewhere(statement: str) -> None:
    """These words open a block only as the first word of a script's statement."""
    assert texts(f"{statement};b") == [statement, "b"]
    for before, after in AROUND:
        script = f"{before}{statement}{after}"
        assert texts(f"{script};b") == [script, "b"]


@pytest.mark.parametrize(("before", "after"), AROUND)
def test_a_block_opens_wherever_a_statement_of_a_script_starts(before: str, after: str) -> None:
    """An unclosed block is found although the blocks around it are closed."""
    script = f"{before}WHILE b DO c; END WHILE{after}"
    assert texts(f"{script};d") == [script, "d"]
    error = refused(f"{before}WHILE b DO c{after};d")
    assert (error.code, error.message.split()[-4]) == ("UNTERMINATED_BLOCK", "WHILE")


@pytest.mark.parametrize("kind", ["EXIT", "CONTINUE"])
@pytest.mark.parametrize(
    "conditions",
    [
        "SQLEXCEPTION", "NOT FOUND", "SQLSTATE '22012'", "SQLSTATE VALUE '22012'", "DIVIDE_BY_ZERO", "`a;b`",
        "SQLSTATE '22012', NOT FOUND,SQLEXCEPTION , SQLSTATE VALUE '22003'",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "body", ["BEGIN SELECT 1; SELECT 2; END", "BEGIN IF a THEN b; END IF; END", "SET x = 1", "SET x = end"]
)
def test_the_statement_of_a_handler_may_be_a_block(body: str, conditions: str, kind: str) -> None:
    """The block starts after the last condition, without a word before it."""
    script = f"BEGIN DECLARE {kind} HANDLER FOR {conditions} {body}; SELECT 3; END"
    assert texts(f"{script};b") == [script, "b"]


@pytest.mark.parametrize(
    "statement",
    [
        "DECLARE VARIABLE x INT DEFAULT 1", "DECLARE x = 'a;b'",
        "DECLARE OR REPLACE x INT DEFAULT CASE WHEN a THEN 1 END", "DECLARE begin INT",
        "SET VAR x = (SELECT 1)", "EXECUTE IMMEDIATE 'BEGIN SELECT 1; END'",
    ],
)  # fmt: skip
def test_a_declaration_outside_of_a_script_is_a_statement_of_its_own(statement: str) -> None:
    """A session variable's declaration is followed by no BEGIN."""
    assert texts(f"{statement};BEGIN SELECT x; END;b") == [statement, "BEGIN SELECT x; END", "b"]


@pytest.mark.parametrize("word", ["CASE", "FOR", "IF", "LOOP", "REPEAT", "WHILE", "END", "ELSE", "DO"])
def test_only_begin_starts_a_script(word: str) -> None:
    """Spark has no other block outside of a script; the engine refuses statements that start with such a word."""
    assert texts(f"{word} a;{word};b") == [f"{word} a", word, "b"]


# --- What is refused


STRING = "UNTERMINATED_STRING"
IDENTIFIER = "UNTERMINATED_IDENTIFIER"
COMMENT = "UNTERMINATED_COMMENT"
BLOCK = "UNTERMINATED_BLOCK"


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
def test_a_backslash_that_takes_no_code_along_is_let_through(comment: str) -> None:
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
def test_what_is_no_character_is_refused_wherever_it_stands(
    sql: str, code: str, line: int, column: int, said: str
) -> None:
    """It is refused in comments too, and before unclosed constructs, which it may cause."""
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


# --- Snowflake

# Where a statement of a script may stand.
SNOWFLAKE_AROUND = [
    ("BEGIN ", "; END"), ("DECLARE x INT; c CURSOR FOR SELECT 1; BEGIN ", "; END"),
    ("BEGIN DECLARE x INT; BEGIN ", "; END; END"), ("BEGIN BEGIN TRANSACTION; ", "; COMMIT; END"),
    ("BEGIN IF (a) THEN SELECT 1; ELSEIF (b) THEN ", "; END IF; END"), ("BEGIN IF :a THEN b; ELSE ", "; END IF; END"),
    ("BEGIN CASE WHEN r.case = :case + $case THEN ", "; END; END"), ('BEGIN CASE :"a" WHEN 1 THEN ', "; END; END"),
    ("BEGIN LOOP ", "; END LOOP; END"), ("BEGIN LOOP ", "; END LOOP name; END"),
    ("BEGIN WHILE (a) DO ", "; END WHILE; END"), ("BEGIN WHILE (a) LOOP ", "; END LOOP; END"),
    ("BEGIN FOR i IN REVERSE 1 TO 3 DO ", "; END FOR name; END"), ("BEGIN FOR i IN 1 TO 3 LOOP ", "; END LOOP; END"),
    ("BEGIN FOR r IN c DO ", "; END FOR; END"), ("BEGIN REPEAT ", "; UNTIL (a) END REPEAT; END"),
    ("BEGIN CASE (a) WHEN 1 THEN ", "; END; END"), ("BEGIN CASE WHEN a THEN b; ELSE ", "; END CASE; END"),
    ("BEGIN SELECT 1; EXCEPTION WHEN a OR b THEN c; WHEN OTHER THEN ", "; RAISE; END"),
    ("CREATE PROCEDURE p(end INT, case INT) RETURNS TABLE (a INT) LANGUAGE SQL EXECUTE AS CALLER AS BEGIN ", "; END"),
    ("CREATE OR REPLACE FUNCTION f() RETURNS INT AS DECLARE x INT; BEGIN ", "; END"),
    ("CREATE TASK t CONFIG = $$;$$ WHEN f(CAST(1 AS begin)) AS -- c;\n BEGIN ", "; END"),
    ("ALTER TASK t MODIFY AS DECLARE x INT; BEGIN ", "; END"), ("ALTER ALERT a MODIFY ACTION BEGIN ", "; END"),
    ("CREATE ALERT action IF (EXISTS (SELECT 1 AS begin)) THEN BEGIN ", "; END"),
    ("WITH p AS PROCEDURE () RETURNS INT AS BEGIN ", "; END CALL p()"),
    ("DECLARE p PROCEDURE () RETURNS INT AS BEGIN ", "; END; x INT; BEGIN CALL p(); END"),
    ("BEGIN CREATE TASK t AS DECLARE x INT; BEGIN ", "; END; SELECT 1; END"),
]  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "';'", "'it''s;'", r"'\';'", r"'\\\';'", "'\";'", "'$$;'", "'//;'", "'\r\n;'", "x'3b;'", "$$;$$", "$$$$", "$$it's;$$",
        r"$$\$$", '$$";--//;\n/*;$$', "$$a$;$$", "$$;$$ || $$;$$", '";"', '"a"";"', '"\\"', '"\';"', '"$$"', "a$$b, c$$d", "$1",
        "t.$2", "$a$$b", "a -- ;'\n", 'a // ;"\r', "a//;$$\r\n", "/*;'*/ a", "/*;/*;*/ a", "/*--;*/ a", "a:b//;\n", "a::INT//;\n",
        "1 / 2", "*", "a ->> b", "r'a'", "<% a %>",
    ],
)  # fmt: skip
def test_snowflake_hides_a_semicolon_by_its_own_rules(code: str) -> None:
    """`$$` quotes without escapes, `//` is a comment, comments do not nest, and a backslash escapes in single quotes only."""
    assert texts(f"SELECT {code};b", "snowflake") == [f"SELECT {code}".rstrip(), "b"]


@pytest.mark.parametrize("url", ["file:///tmp/a--b/*.csv", r"file://C:\a//b", "s3://a//b", "snow://a/*"])
def test_a_url_opens_no_comment_in_snowflake(url: str) -> None:
    """PUT and GET accept a URL without quotes; a semicolon ends it."""
    assert texts(f"PUT {url} @~ //;\n;GET @~ {url};b", "snowflake") == [f"PUT {url} @~ //;", f"GET @~ {url}", "b"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1", "RETURN CASE WHEN a THEN ';' END", "LET x := CASE a WHEN 1 THEN begin END", "name := 1", "loop:= 2",
        "DROP TABLE IF EXISTS t", "SELECT 1 AS begin, IFF(a, 1, 2) AS end, t.case, a:if", "RETURN :begin", "BEGIN;COMMIT",
        "BEGIN WORK; ROLLBACK", "BEGIN NAME a;COMMIT", "LET c CURSOR FOR SELECT 1 AS begin", "UPDATE t AS begin SET a = 1",
        "MERGE INTO t USING s ON a WHEN MATCHED THEN UPDATE SET b = CASE WHEN c THEN 1 END", "BREAK name",
        "BEGIN SELECT 1; END", "(SELECT 1) UNION (SELECT 2)",
        "DECLARE loop INT; name INT; e EXCEPTION (-20001, ';'); BEGIN name := 1; END", "CREATE VIEW v AS SELECT 1 AS begin",
    ],
)  # fmt: skip
def test_a_script_of_snowflake_is_one_statement(statement: str) -> None:
    """An anonymous script, and the body of a definition, are parts of one statement, with names in them that resemble blocks."""
    for before, after in SNOWFLAKE_AROUND:
        script = f"{before}{statement}{after}"
        assert texts(f"a;{script};b", "snowflake") == ["a", script, "b"]
        assert texts(script.lower(), "snowflake") == [script.lower()]


@pytest.mark.parametrize(
    "begin", ["BEGIN", "begin /* ; */", "BEGIN WORK", "BEGIN --;\n TRANSACTION", "BEGIN NAME a", "BEGIN WORK NAME a"]
)
def test_a_begin_that_starts_a_transaction_is_a_statement_of_its_own(begin: str) -> None:
    """It is one inside a script too, and the END after it closes the script."""
    parts = [begin, "CREATE TABLE a (b INT)", begin, "COMMIT", "BEGIN b; END", begin]
    assert texts(";".join(parts), "snowflake") == parts
    assert texts(f"BEGIN {begin}; a; END;b", "snowflake") == [f"BEGIN {begin}; a; END", "b"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 AS begin", "CREATE TABLE t AS (SELECT 1 AS begin)", "CREATE VIEW v AS SELECT 1 AS task, 2 AS begin",
        "CREATE TABLE t (begin DATE, end DATE)", "ALTER TABLE t RENAME COLUMN begin TO end",
        "WITH begin AS (SELECT 1) SELECT 2 AS declare",
        "CREATE TASK t AS SELECT 1 AS begin", "CREATE TASK t AS CALL p()", "CREATE ALERT a IF (EXISTS (SELECT 1)) THEN CALL p()",
        "CREATE PROCEDURE p() RETURNS INT AS $$ BEGIN BEGIN $$", "CREATE PROCEDURE p() RETURNS INT AS 'BEGIN; '", "CALL begin()",
        "EXECUTE IMMEDIATE $$ DECLARE x INT; BEGIN RETURN x; END; $$", "SHOW TABLES ->> SELECT 1 AS begin FROM $1",
        "CREATE VIEW v AS SELECT CASE WHEN a THEN begin END", "CREATE TASK t AS UPDATE t SET a = CASE WHEN b THEN begin ELSE c END",
        "DROP PROCEDURE p()", "IF (a) THEN b", "l: LOOP a", "END",
    ],
)  # fmt: skip
def test_what_holds_no_script_ends_at_its_first_semicolon_in_snowflake(statement: str) -> None:
    """BEGIN and DECLARE are aliases and names there; no other word opens a block outside of a script."""
    assert texts(f"{statement};b;c", "snowflake") == [statement, "b", "c"]


@pytest.mark.parametrize(
    ("sql", "code", "column", "mark", "hint"),
    [
        ("'b;", STRING, 1, "'", "\\'"), (r"'b\';", STRING, 1, "'", "\\'"), ("b $$c;", STRING, 3, "$$", "$$"),
        ("$$a$$ || $$b; $ $;", STRING, 10, "$$", "$$"), ("a$$b $$", STRING, 6, "$$", "$$"),
        ("BEGIN a $$; END;", STRING, 9, "$$", "$$"), ('b."c;', IDENTIFIER, 3, '"', '""'),
        (r'"b\"";', IDENTIFIER, 1, '"', '""'), ("/*/", COMMENT, 1, "/*", "*/"), ("/* b */ //c /*\r/*", COMMENT, 1, "/*", "*/"),
        ("DECLARE b INT; SELECT 1;", BLOCK, 1, "DECLARE", "BEGIN"), ("BEGIN b; END LOOP;", BLOCK, 1, "BEGIN", "END"),
        ("DECLARE b INT; BEGIN TRANSACTION; END", BLOCK, 1, "DECLARE", "BEGIN"), ("BEGIN BEGIN b; END;", BLOCK, 1, "BEGIN", "END"),
        ("BEGIN CASE b WHEN 1 THEN c; END;", BLOCK, 1, "BEGIN", "END"), ("CREATE TASK t AS BEGIN", BLOCK, 18, "BEGIN", "END"),
        ("BEGIN CASE b WHEN 1 THEN c; END IF; ", BLOCK, 7, "CASE", "END CASE"),
        ("BEGIN IF (b) THEN c; END", BLOCK, 7, "IF", "END IF"), ("BEGIN LOOP b; END FOR; END", BLOCK, 7, "LOOP", "END LOOP"),
        ("BEGIN FOR b IN c DO d; END WHILE; END", BLOCK, 7, "FOR", "END FOR"),
        ("BEGIN WHILE (b) LOOP c; END", BLOCK, 7, "WHILE", "END WHILE"),
        ("BEGIN REPEAT b; UNTIL (c); END", BLOCK, 7, "REPEAT", "END REPEAT"),
        ("DECLARE b PROCEDURE () RETURNS INT AS BEGIN c; END; END;", BLOCK, 1, "DECLARE", "BEGIN"),
        # An alias that cannot be distinguished from a script.
        ("CREATE TASK t AS UPDATE t AS begin SET a = 1", BLOCK, 30, "BEGIN", "quote BEGIN"),
    ],
)  # fmt: skip
def test_what_is_never_closed_is_refused_in_snowflake(sql: str, code: str, column: int, mark: str, hint: str) -> None:
    """The error has the place where it opens, for blocks of the innermost, even if the statements before are valid."""
    error = refused(f"a;\r\n{sql}", "snowflake")
    line = 2 + sql.count("\r")
    assert (error.code, error.exit_code, error.data) == (code, 3, {"line": line, "column": column})
    assert error.message.endswith(f" that opens here with {mark} is never closed")
    assert hint in error.hint


# --- Any text


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

moderately = settings(max_examples=300, deadline=None)


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
def test_statements_that_are_put_together_come_apart_again(parts: list[tuple[str, str, str]]) -> None:
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
def test_statements_of_snowflake_come_apart_again(parts: list[tuple[str, str, str]]) -> None:
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
def test_every_text_stands_in_the_input_at_its_place(dialect: str, text: str) -> None:
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
def test_what_is_between_the_statements_holds_none(dialect: str, text: str) -> None:
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
    """Neither recursion nor repeated searches make the time more than linear."""
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
