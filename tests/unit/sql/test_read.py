"""What `read` says of statements: the operation, the tables that they change, those that they only read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.sql import read
from glacierbase.sql.operations import OPERATIONS
from tests.support.project_folder import ProjectFolder
from tests.unit.sql.cases import NOT_UNDERSTOOD, SNOWFLAKE, SPARK, Case

CASES = [("spark", case) for case in SPARK] + [("snowflake", case) for case in SNOWFLAKE]


def names(text: str | None) -> set[str] | None:
    """Return the names in a case; a name that holds a blank is the only one."""
    return None if text is None else {text} if "My orders" in text else set(text.split())


@pytest.mark.parametrize(("dialect", "case"), CASES)
def test_a_statement_has_an_operation_and_tables(dialect: str, case: Case) -> None:
    """The answer for a statement names its operation, the tables that it changes and those that it only reads."""
    sql, operation, changed, sources = case
    found = read(sql, dialect)
    assert (found.operation, found.understood, found.why) == (operation, True, "")
    assert set(found.tables) == names(changed)
    assert (None if found.reads is None else set(found.reads)) == names(sources)


@pytest.mark.parametrize(("dialect", "case"), CASES)
def test_case_comments_and_blanks_change_nothing(dialect: str, case: Case) -> None:
    """A statement in other letters, with comments between its words and a semicolon after it, has the same answer."""
    plain = read(case[0], dialect)
    words = (
        case[0]
        .replace(", ", " /* , from x */ ,\n\t")
        .replace(" FROM ", " -- drop table y\n FROM ")
        .replace(" TABLE ", "\r\nTABLE  ")
    )
    found = read(f"\n/* ; */ {words} -- end\n;", dialect)
    assert (found.operation, found.tables, found.reads) == (plain.operation, plain.tables, plain.reads)
    assert [part.operation for part in found.parts] == [part.operation for part in plain.parts]


@pytest.mark.parametrize(("dialect", "sql"), NOT_UNDERSTOOD)
def test_what_cannot_be_determined_is_not_understood(dialect: str, sql: str) -> None:
    """A computed name, an unknown form, two statements and broken text give no tables, and the reason."""
    found = read(sql, dialect)
    assert not found.understood
    assert found.why
    assert (found.operation, found.tables, found.reads, found.parts) == ("other", (), None, ())


def test_every_operation_has_a_case() -> None:
    """The table of cases covers the whole vocabulary."""
    assert {case[1] for case in SPARK + SNOWFLAKE} == OPERATIONS


def test_an_unknown_dialect_is_an_error_of_the_caller() -> None:
    """`read` accepts the dialects of the splitter."""
    with pytest.raises(ConfigurationError) as error:
        read("SELECT 1", "oracle")
    assert error.value.code == "UNKNOWN_DIALECT"


def test_read_is_offered_by_the_package() -> None:
    """`import glacierbase` is enough; the grammar is imported by the first call."""
    code = "import glacierbase, sys; glacierbase.sql.read('SELECT 1', 'spark'); print('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_command_that_changes_nothing_imports_no_grammar(lake_project: ProjectFolder) -> None:
    """`pending`, with all that the facade needs, imports the lexer and the names of tables and operations, but no grammar."""
    lake_project.file("1_a.sql", "SELECT 1")
    code = (
        "import atexit, sys\n"
        "from glacierbase.cli import main\n"
        "atexit.register(lambda: print(*(name for name in sys.modules if name.startswith('glacierbase.sql'))))\n"
        "main(['pending'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=lake_project.root, capture_output=True, text=True, check=True
    )
    modules = ("", ".dialects", ".heads", ".kinds", ".misread", ".operations", ".qualified", ".targets", ".tokens")
    assert set(done.stdout.splitlines()[-1].split()) == {f"glacierbase.sql{name}" for name in modules}


def test_a_script_holds_its_statements() -> None:
    """SET is one of them, conditions are none; one that is not understood leaves the others readable."""
    sql = "BEGIN SET a = 1; IF (SELECT true FROM s) THEN DELETE FROM t; END IF; BEGIN DROP TABLE u; END; END"
    inner = read(sql, "spark").inner
    assert [(each.text, each.parsed.operation) for each in inner] == [
        ("SET a = 1", "set"),
        ("DELETE FROM t", "delete"),
        ("DROP TABLE u", "drop_table"),
    ]
    unclear = read("BEGIN FROBNICATE; DROP TABLE u; END", "spark")
    assert [each.parsed.understood for each in unclear.inner] == [False, True]
    assert (unclear.understood, unclear.tables) == (False, ())


CONDITIONAL = [
    ("spark", "BEGIN DELETE FROM t; IF a THEN DROP TABLE u; END IF; DELETE FROM v; END", "010"),
    ("spark", "BEGIN WHILE a DO DELETE FROM t; END WHILE; REPEAT DELETE FROM u; UNTIL b END REPEAT; DELETE FROM v; END", "110"),
    ("spark", "BEGIN DECLARE EXIT HANDLER FOR x BEGIN DELETE FROM t; END; DELETE FROM u; END", "10"),
    ("spark", "BEGIN DECLARE EXIT HANDLER FOR x DELETE FROM t; DELETE FROM u; END", "10"),
    ("spark", "a: BEGIN IF b THEN LEAVE a; END IF; DELETE FROM t; END", "1"),
    ("spark", "BEGIN IF a THEN EXECUTE IMMEDIATE 'DROP TABLE t'; END IF; END", "1"),
    ("snowflake", "BEGIN FOR i IN c DO DELETE FROM t; END FOR; DELETE FROM u; EXCEPTION WHEN OTHER THEN DROP TABLE v; END", "101"),
    ("snowflake", "EXECUTE IMMEDIATE $$ BEGIN IF (a) THEN DROP TABLE t; END IF; DROP TABLE u; END $$", "10"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql", "expected"), CONDITIONAL)
def test_a_script_says_which_of_its_statements_may_not_run(dialect: str, sql: str, expected: str) -> None:
    """A statement under a condition, in a loop or a handler, or after one that may leave the script, does not surely run."""
    assert "".join(str(int(inner.is_conditional)) for inner in read(sql, dialect).inner) == expected


def test_a_statement_of_a_script_has_its_place_in_the_script() -> None:
    """Places inside the literal of EXECUTE IMMEDIATE are also those in the whole text."""
    sql = "BEGIN\n  DROP TABLE t;\n  EXECUTE IMMEDIATE 'ALTER TABLE t\n    DROP COLUMN a';\nEND"
    first, second = read(sql, "spark").inner
    assert (first.place, second.place) == ((2, 3), (3, 22))
    assert second.parsed.parts[0].place == (4, 17)
