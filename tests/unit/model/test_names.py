"""Names in SQL: as statements write them, as the history keeps them, and quoted so that they mean nothing else."""

from __future__ import annotations

import json

import pytest

from glacierbase.executors.spark.session import quoted_name
from glacierbase.migrations.statements import split_statements
from glacierbase.model.names import snowflake_identifier, spark_identifier
from glacierbase.sql.file import named
from glacierbase.sql.targets import target_tables
from glacierbase.stores import LockRow
from glacierbase.stores.sql import ddl, literal
from tests.support.project_folder import ProjectFolder, only_catalog

ROW = LockRow("shop", "dev", "", 0, 0, None, None, 0, 0, None, 1)


@pytest.mark.parametrize(
    ("written", "kept", "quoted"),
    [
        ("lake.sleep.events", "lake.sleep.events", "`lake`.`sleep`.`events`"),
        ("lake . `sleep`\n. events", "lake.sleep.events", "`lake`.`sleep`.`events`"),
        ("`a.b`.c", "`a.b`.c", "`a.b`.`c`"),
        ("a.`b.c`", "a.`b.c`", "`a`.`b.c`"),
        ("a.`my table`", "a.`my table`", "`a`.`my table`"),
        ("a.`b``; DROP TABLE c; --`", "a.`b``; DROP TABLE c; --`", "`a`.`b``; DROP TABLE c; --`"),
        ("delta.`/data/t`", "delta.`/data/t`", "`delta`.`/data/t`"),
        ('"a.b"."c""d"', '"a.b"."c""d"', '`a.b`.`c"d`'),
    ],
)
def test_a_statements_target_is_kept_so_that_it_can_be_quoted(written: str, kept: str, quoted: str) -> None:
    """`a.b`.c and a.`b.c` are two tables, in the history and in the query that searches for commits."""
    [statement] = split_statements(f"INSERT INTO {written} SELECT 1", "spark")
    tables = target_tables(named([statement], "spark"))
    assert tables == json.dumps([kept])
    assert quoted_name(kept) == quoted


@pytest.mark.parametrize(
    ("kept", "quoted"),
    [
        ("lake.a-b.c", "`lake`.`a-b`.`c`"),
        ("lake.mytable", "`lake`.`mytable`"),
        ("lake.a b; DROP TABLE c", "`lake`.`a b; DROP TABLE c`"),
        ("lake.`open", "`lake`.```open`"),
        ("`", "````"),
        ('a."', '`a`.`"`'),
        ("{}.{0}", "`{}`.`{0}`"),
    ],
)
def test_any_name_in_a_history_is_quoted_as_one(kept: str, quoted: str) -> None:
    """Names in older histories lack backticks and blanks; a damaged history may contain any text."""
    assert quoted_name(kept) == quoted


@pytest.mark.parametrize(
    ("part", "quoted"),
    [
        ("migrator", '"MIGRATOR"'),
        ("My_Role$1", '"MY_ROLE$1"'),
        ('"mine"', '"mine"'),
        ('"a""b"', '"a""b"'),
        ("my-db", '"my-db"'),
        ("X; DROP ROLE Y", '"X; DROP ROLE Y"'),
        ('X" TO ROLE Y; --', '"X"" TO ROLE Y; --"'),
        ('"a" TO ROLE "b"', '"""a"" TO ROLE ""b"""'),
        ('"', '""""'),
        ('""', '""""""'),
    ],
)
def test_snowflakes_names_keep_their_meaning_or_are_quoted(part: str, quoted: str) -> None:
    """A word becomes capitals, a quoted name does not change, and any other text is one identifier."""
    assert snowflake_identifier(part) == quoted


def test_a_backtick_ends_no_identifier() -> None:
    """Backticks inside an identifier are doubled, as Spark requires."""
    assert spark_identifier("a`.b; DROP TABLE c") == "`a``.b; DROP TABLE c`"


def test_a_quote_or_backslash_ends_no_literal() -> None:
    """Quotes and backslashes inside a literal are escaped, as both engines require."""
    assert literal("it's \\' here") == r"'it\'s \\\' here'"
    assert [literal(value) for value in (None, 7, "plain")] == ["NULL", "7", "'plain'"]


SNOW = """\
migrationExecutor:
  type: snowflake
  conf:
    connection: {account: a, user: b, database: lake, role: ROLE, warehouse: WAREHOUSE}
"""


@pytest.mark.parametrize("key", ["ROLE", "WAREHOUSE"])
@pytest.mark.parametrize("name", ["X; DROP ROLE Y", 'X"; DROP ROLE Y; --', "X TO ROLE Y", '"X"; DROP ROLE Y'])
def test_printed_ddl_contains_no_statement_from_a_name(name: str, key: str, project: ProjectFolder) -> None:
    """A hostile name adds no statement and no role to the printed DDL; it is one identifier."""
    project.catalog(SNOW.replace(key, f"'{name}'"))
    statements = [each.text for each in split_statements(printed(project), "snowflake")]
    assert len(statements) == 8
    assert not any(text.startswith("DROP") for text in statements)
    assert any(snowflake_identifier(name) in text for text in statements)


@pytest.mark.parametrize("name", ["X\\nDROP ROLE Y", "X\\rY", "X\\0", "X\\e[2J"])
def test_a_role_with_line_breaks_is_refused(name: str, project: ProjectFolder) -> None:
    """A role with line breaks is refused, because a tool may run the printed statements line by line."""
    project.catalog(SNOW.replace("ROLE", f'"{name}"'))
    done = project.ask("doctor", "--print-ddl")
    assert (done.code, done.document["error"]["code"]) == (2, "INVALID_VALUE")
    assert "connection.role" in done.document["error"]["message"]
    assert "DROP" not in done.stdout


def test_printed_grants_name_what_the_catalog_file_names(project: ProjectFolder) -> None:
    """A role without quotes is printed in capitals, one in quotes exactly as written."""
    project.catalog(SNOW.replace("ROLE", "migrator").replace("WAREHOUSE", "'\"my warehouse\"'"))
    assert 'GRANT USAGE ON WAREHOUSE "my warehouse" TO ROLE "MIGRATOR";\n' in printed(project)
    assert 'GRANT USAGE ON DATABASE "LAKE" TO ROLE "MIGRATOR";\n' in printed(project)


def printed(project: ProjectFolder) -> str:
    return "".join(f"{statement};\n" for statement in ddl(only_catalog(project.root), ROW))
