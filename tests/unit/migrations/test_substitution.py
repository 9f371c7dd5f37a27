"""`${…}` in a Spark file: found in the code of statements only, with its place in the file, and refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from glacierbase.apply import migrator
from glacierbase.apply.migrator import plan
from glacierbase.apply.plan import Selection
from glacierbase.apply.results import PlanResult
from glacierbase.errors import GlacierbaseError, MigrationFailed, MigrationFileError
from glacierbase.migrations.compiled import compile_migration, refused_misreading
from glacierbase.model.migration import Migration
from tests.support.catalog_files import LAKE
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.support.world import World

CATALOG = LAKE.replace("WAREHOUSE", "/nowhere")
NAMES = SimpleNamespace(name="shop", environment="dev", variables={"names": ["a", "b"], "brace": "{env:X}"})


def places(text: str, dialect: str = "spark") -> list[tuple[int, int, int, str]]:
    file = Migration("1", "a", "d", "a", Path("1_a.sql"), "migrations/shop/1_a.sql", text, "v1:sha256:0")
    found = compile_migration(file, NAMES, dialect).misread
    return [(each.index, each.line, each.column, each.text) for each in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT '${env:X}'", [(1, 1, 9, "${env:X}")]),
        ('SELECT "${env:X}"', [(1, 1, 9, "${env:X}")]),
        ("SELECT r'${x}'", [(1, 1, 10, "${x}")]),
        ("${x} JAR '/a.jar'", [(1, 1, 1, "${x}")]),
        ("SELECT 1 AS `${x}`", [(1, 1, 14, "${x}")]),
        ("SELECT /*+ ${x} */ 1", [(1, 1, 12, "${x}")]),
        ("SET a=${hiveconf:b}", [(1, 1, 7, "${hiveconf:b}")]),
        ("SELECT '${env:${x}}'", [(1, 1, 9, "${env:${x}")]),
        ("SELECT '${never closed'", [(1, 1, 9, "${never")]),
        ("SELECT 1;\n\n  SELECT 1,\n  '${x}', '${y}';\nSELECT '${z}'", [(2, 4, 4, "${x}"), (3, 5, 9, "${z}")]),
        ("{% for n in variables.names %}SELECT\n'{{ n }}${x}';\n{% endfor %}", [(1, 2, 3, "${x}"), (2, 2, 3, "${x}")]),
        ("SELECT '${{ variables.brace }}'", [(1, 1, 9, "${env:X}")]),
        ("SELECT '$' -- ${x}\n, 1 /* ${x} */; -- ${y}\n/* ${z} */ SELECT 2", []),
        ("SELECT /* ${x} */ '${y}'", [(1, 1, 20, "${y}")]),
        (r"SELECT '\u0024{x}', '$' '{x}', concat('$', '{x}'), '$\{x}'", []),
        ("SET spark.sql.variable.substitute=true", [(1, 1, 5, "spark.sql.variable.substitute")]),
        ("BEGIN\nRESET `spark.sql.variable.substitute`; END", [(1, 2, 8, "spark.sql.variable.substitute")]),
        ("RESET; SET -- spark.sql.variable.substitute\n", []),
    ],
)
def test_what_spark_would_replace_is_found_outside_of_comments(
    text: str, found: list[tuple[int, int, int, str]]
) -> None:
    """With statement, line and column in the file; the first one of each statement."""
    assert places(text) == found


def test_snowflake_replaces_nothing() -> None:
    """Snowflake's session variables are its own, and `&name` belongs to another client."""
    assert places("SET a = '${x}'; SELECT $a, '${x} &a'", "snowflake") == []


def test_the_text_in_the_hint_is_that_of_the_file() -> None:
    """`tests/engines/test_substitution.py` runs it."""
    file = Migration("1", "a", "d", "a", Path("1_a.sql"), "migrations/shop/1_a.sql", "SELECT '${env:X}'", "v1:sha256:0")
    error = refused_misreading(file.location, compile_migration(file, NAMES, "spark").misread)
    assert error
    assert error.message == (
        "migrations/shop/1_a.sql, line 1, column 9: Spark may replace `${env:X}` before it reads the statement"
    )
    assert r"write `\u0024{env:X}`" in error.hint
    assert (error.code, error.exit_code, error.data["column"]) == ("SPARK_SUBSTITUTION", 3, 9)


@pytest.fixture
def based(project: ProjectFolder) -> ProjectFolder:
    """A project whose only committed file holds a form."""
    project.catalog(CATALOG)
    project.file("0001_a.sql", "SELECT '${x}'")
    commit_all(project.root)
    return project


def test_validate_refuses_every_file_and_with_a_base_those_that_the_base_lacks(based: ProjectFolder) -> None:
    """A file of the base may be applied, and must not change any more. `render` shows it."""
    done = run_here(based, "validate")
    assert done.code == 3
    assert "SPARK_SUBSTITUTION: migrations/shop/0001_a.sql, line 4, column 9" in done.stderr
    assert "validate --base REF` accepts a file that REF has" in done.stderr
    assert run_here(based, "validate", "--base", "main").code == 0
    assert "${x}" in run_here(based, "render", "1").stdout
    path = based.file("0002_b.sql", "SELECT '${y}'")
    done = run_here(based, "validate", "--base", "main")
    assert done.code == 3
    assert "0002_b.sql, line 4, column 9" in done.stderr
    assert "0001_a.sql" not in done.stderr
    path.write_text(path.read_text().replace("$", r"\u0024"))
    assert run_here(based, "validate", "--base", "main").code == 0


def test_validate_says_where_a_semicolon_is_missing(project: ProjectFolder) -> None:
    """Spark takes the second statement into the value of the setting, so that it never runs; the line is that of the file."""
    project.catalog(CATALOG)
    project.file("0001_a.sql", "SELECT 1;\nSET spark.wap.id=backfill\nALTER TABLE t ADD COLUMN audited boolean;")
    done = run_here(project, "validate")
    assert done.code == 3
    assert "MISSING_SEMICOLON: migrations/shop/0001_a.sql, line 5, column" in done.stderr
    assert "`ALTER TABLE t ADD COLUMN audited boolean` begins another statement" in done.stderr


@pytest.mark.parametrize("sql", ["USE lake\nALTER TABLE t ADD COLUMN b INT", "SELECT 1\nGO"])
def test_migrate_refuses_a_pending_file_with_text_that_the_engine_misreads(world: World, sql: str) -> None:
    """Nothing of it runs, and nothing is recorded; the dialect of the executor of these tests is Spark's."""
    world.file("1_a.sql", f"CREATE TABLE t (a INT);\n{sql}")
    with pytest.raises(MigrationFileError) as caught:
        world.migrate()
    assert caught.value.code in ("MISSING_SEMICOLON", "OTHER_TOOLS_SYNTAX")
    assert world.kinds == []


def test_migrate_and_plan_refuse_a_pending_file_before_anything_runs(world: World) -> None:
    """The pending file is refused, also after valid files; an applied file with a form stays applied."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    path = world.file("2_b.sql", "INSERT INTO t VALUES (1);\nSELECT '${x}'")
    for command in (world.migrate, lambda: plan(world.target(), PlanResult("shop", "default"), selection=Selection())):
        with pytest.raises(MigrationFileError) as caught:
            command()
        assert (caught.value.code, caught.value.data["line"]) == ("SPARK_SUBSTITUTION", 5)
    assert world.kinds == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrator, "check_statements", lambda *_: None)
        world.migrate()
    assert world.migrate().applied == []
    assert "${x}" in path.read_text()


def test_a_file_is_resumed_after_a_statement_that_holds_a_form(world: World) -> None:
    """What is done must not change any more; what is to run must not hold one."""
    path = world.file("1_a.sql", "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('${x}'); INSERT INTO u VALUES (1)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrator, "check_statements", lambda *_: None)
        with pytest.raises(MigrationFailed):
            world.migrate()
    path.write_text(path.read_text().replace("u VALUES (1)", "t VALUES ('${y}')"))
    with pytest.raises(GlacierbaseError) as caught:
        world.migrate()
    assert caught.value.code == "SPARK_SUBSTITUTION"
    path.write_text(path.read_text().replace("${y}", "y"))
    world.migrate()
    assert world.values() == ["${x}", "y"]
