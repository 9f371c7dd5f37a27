"""Splitting by the rules of Snowflake."""

from __future__ import annotations

import pytest

from tests.unit.migrations.splitting import BLOCK, COMMENT, IDENTIFIER, SNOWFLAKE_AROUND, STRING, refused, texts


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
    """A BEGIN that starts a transaction is a statement inside a script too, and the END after it closes the script."""
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
def test_a_statement_without_a_script_ends_at_its_first_semicolon_in_snowflake(statement: str) -> None:
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
