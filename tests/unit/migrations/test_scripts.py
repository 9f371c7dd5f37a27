"""BEGIN … END scripts are one statement."""

from __future__ import annotations

import pytest

from tests.unit.migrations.splitting import refused, texts

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
    """The words of scripts open a block only as the first word of a script's statement."""
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
