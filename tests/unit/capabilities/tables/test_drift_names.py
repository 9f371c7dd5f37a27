"""The names of tables in the files of `drift adopt` and `drift revert`: those of the environment that runs the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.types import StringType

from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables
from tests.unit.capabilities.tables.test_drift_files import create, rendered

ENVIRONMENTS = """\
environments:
  default: {variables: {ns: a, other: a, table: t}}
  other: {variables: {ns: b, other: c, table: u}, store: {namespace: elsewhere}}
defaultEnvironment: default
"""
COLUMNS = "(id bigint, name string) USING iceberg"


def drifted(project: ProjectFolder, sql: str, *more: str) -> RecordedTables:
    """Return a project whose first file makes `lake.a.t` with this SQL, and where that table was changed by hand."""
    tables = RecordedTables(project, ENVIRONMENTS)
    tables.apply("1_make.sql", sql, create, "lake.a.t")
    for number, each in enumerate(more, start=2):
        tables.apply(f"{number}_more.sql", each, lambda _: None, "lake.a.t")
    with tables.client.load_table("a.t").update_schema() as update:
        update.add_column("legacy", StringType(), doc="ALTER TABLE lake.a.t {{ x }}\nDROP TABLE lake.a.t;")
    return tables


def adopted(tables: RecordedTables) -> tuple[str, str]:
    """Adopt the change; return the statement in this environment and in the other one, without the comment."""
    done = tables.run("drift", "adopt", "--reason", "why", "--author", "Ann", "--yes")
    assert done.code == 0, done.stderr
    assert tables.run("drift").stdout.endswith("\n  1 table as recorded\n")
    here, there = (rendered(tables, each)[0].partition(" COMMENT ")[0] for each in ("default", "other"))
    return here, there


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("lake.{{ variables.ns }}.t", "lake.b.t"),
        ("`lake`.{{variables.ns}} . {{ variables.table }}", "`lake`.b . u"),
        ("lake.{{ .variables.ns }}.{{ variables['table'] | lower }}", "lake.b.u"),
    ],
)
def test_a_name_with_variables_follows_the_environment(project: ProjectFolder, name: str, there: str) -> None:
    """The file that made the table has the expression, and so has the file that changes it."""
    here, elsewhere = adopted(drifted(project, f"CREATE TABLE {name} {COLUMNS}"))
    assert elsewhere == f"ALTER TABLE {there} ADD COLUMN `legacy` string"
    assert here.replace("`lake`", "lake").replace(" . ", ".") == "ALTER TABLE lake.a.t ADD COLUMN `legacy` string"


@pytest.mark.parametrize(
    ("sql", "more"),
    [
        (f"CREATE TABLE lake.a.t {COLUMNS}", ()),
        # Another table in the other environment: which one is meant?
        ("CREATE TABLE lake.{{ variables.ns }}.t " + COLUMNS, ("ALTER TABLE lake.{{ variables.other }}.t RENAME COLUMN x TO y",)),
        # The name depends on another part of the file.
        ("{% set place = variables.ns %}\nCREATE TABLE lake.{{ place }}.t " + COLUMNS, ()),
    ],
)  # fmt: skip
def test_a_name_that_no_single_expression_gives_is_that_of_this_environment(
    project: ProjectFolder, sql: str, more: tuple[str, ...]
) -> None:
    """The guide says to check it before the file is committed."""
    expected = "ALTER TABLE lake.a.t ADD COLUMN `legacy` string"
    assert adopted(drifted(project, sql, *more)) == (expected, expected)


def test_only_the_name_of_the_table_is_replaced(project: ProjectFolder) -> None:
    """A comment with the text of a statement stays as it is, and is not read as a template."""
    tables = drifted(project, "CREATE TABLE lake.{{ variables.ns }}.t " + COLUMNS)
    adopted(tables)
    [path] = Path(project.root / "migrations" / "shop").glob("*_why.sql")
    assert path.read_text().count("{{ variables.ns }}") == 1
    [statement] = rendered(tables, "other")
    assert statement.endswith(r"COMMENT 'ALTER TABLE lake.a.t {{ x }}\nDROP TABLE lake.a.t;';")


def test_a_reverted_change_is_undone_under_the_name_that_files_use(project: ProjectFolder) -> None:
    """The statement runs in this environment only."""
    tables = drifted(project, "CREATE TABLE lake.{{ variables.ns }}.t " + COLUMNS)
    assert tables.run("drift", "revert", "--reason", "why", "--author", "Ann", "--yes").code == 0
    assert rendered(tables, "default") == ["ALTER TABLE lake.a.t DROP COLUMN `legacy`;"]
    assert rendered(tables, "other") == []
