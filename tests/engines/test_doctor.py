"""`doctor`: its checks, its reports of failures, and that it leaves nothing behind."""

from __future__ import annotations

import functools
import sqlite3

import pytest

from tests.support.beds import SnowBed
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder
from tests.support.snowflake.bed import SnowflakeServer


def names(done: object) -> list[tuple[str, bool]]:
    return [(check["name"], check["error"] is None) for check in done.entry()["checks"]]  # type: ignore[attr-defined]


TABLES = """\
SELECT schema_name, table_name FROM DEMO.information_schema.schemata
LEFT JOIN DEMO.information_schema.tables ON table_schema = schema_name ORDER BY 1, 2"""
ALL = ["configuration", "store", "files", "connection", "history", "rights", "lock"]


@pytest.mark.spark
def test_on_spark_all_is_well_and_nothing_stays(lake_project: ProjectFolder) -> None:
    """Of four sessions exactly one acquires the lock; namespace, tables and files are removed afterwards."""
    lake_project.file("0001_create.sql", "CREATE TABLE lake.web.t (a INT) USING iceberg;")
    done = lake_project.ask("doctor", "--catalog", "shop")
    assert done.code == 0, done.stdout
    assert names(done) == [
        (name, True) for name in ("configuration", "store", "files", "history", "connection", "rights", "lock")
    ]
    assert "3 × 1 winners" in done.entry()["checks"][-1]["detail"]
    with sqlite3.connect(lake_project.root / "warehouse" / "catalog.db") as catalog:
        assert catalog.execute("SELECT table_name FROM iceberg_tables").fetchall() == []
        assert catalog.execute("SELECT namespace FROM iceberg_namespace_properties").fetchall() == []
    status = lake_project.ask("status")
    assert status.entry()["migrations"][0]["state"] == "pending"


def test_on_snowflake_all_is_well_and_nothing_stays(emulated: SnowBed, project: ProjectFolder) -> None:
    """The schema of history and lock may exist before or not."""
    text = emulated.catalog_file()
    namespace = text.rpartition("namespace: ")[2].partition(",")[0]
    project.catalog(text)
    before = emulated.rows(TABLES)
    done = ask_here(project, "doctor")
    assert done.code == 0, done.stdout
    assert names(done) == [(name, True) for name in ALL]
    assert emulated.rows(TABLES) == before
    emulated.executor.open_session().execute(f"CREATE SCHEMA DEMO.{namespace}")
    before = emulated.rows(TABLES)
    assert ask_here(project, "doctor").code == 0
    assert emulated.rows(TABLES) == before


def test_each_failing_line_has_a_hint(emulated: SnowBed, project: ProjectFolder) -> None:
    """The exit code is that of the first failing check."""
    project.catalog(emulated.catalog_file().replace("127.0.0.1", "127.0.0.2").replace("_timeout: 30", "_timeout: 1"))
    project.file("0001_open.sql", "SELECT 'never closed;")
    done = ask_here(project, "doctor")
    assert done.code == 3
    assert names(done) == [("configuration", True), ("store", True), ("files", False), ("connection", False)]
    assert all(check["error"]["hint"] for check in done.entry()["checks"] if check["error"])
    text = run_here(project, "doctor").stdout
    assert "FAILED  files" in text
    assert text.count("next: ") == 2


def test_a_role_without_create_rights_gets_a_hint_who_should_create(emulated: SnowBed, project: ProjectFolder) -> None:
    """A role needs no right to create once both tables exist."""
    text = emulated.catalog_file()
    project.catalog(text.replace("ENGINEER", "READER"))
    done = ask_here(project, "doctor")
    assert done.code == 5
    assert names(done)[-1] == ("rights", False)
    assert "--print-ddl" in done.entry()["checks"][-1]["error"]["hint"]
    project.catalog(text)
    project.file("0001_create.sql", f"CREATE TABLE {emulated.schema()}.t (a INT);")
    assert run_here(project, "migrate").code == 0
    project.catalog(text.replace("ENGINEER", "READER"))
    done = ask_here(project, "doctor")
    assert done.code == 0, done.stdout
    assert "both exist" in done.entry()["checks"][-1]["detail"]


@pytest.mark.parametrize("engine", [pytest.param("spark", marks=pytest.mark.spark), "snowflake"])
def test_the_printed_ddl_makes_tables_that_a_run_works_on(
    engine: str,
    emulated: SnowBed,
    project: ProjectFolder,
    lake_project: ProjectFolder,
    snowflake_server: SnowflakeServer,
) -> None:
    """Printing contacts no engine; after the printed DDL a run creates nothing more."""
    place, table, using = "lake", "lake.web.t", " USING iceberg"
    if engine == "snowflake":
        project.catalog(emulated.catalog_file())
        place, table, using = "DEMO", f"{emulated.schema()}.t", ""
    done = run_here(project, "doctor", "--print-ddl")
    assert done.code == 0, done.stderr
    ddl = done.stdout.partition("\n")[2]
    create = "".join(line for line in ddl.splitlines(keepends=True) if not line.startswith(("GRANT", "--")))
    assert ("GRANT SELECT, INSERT ON TABLE" in ddl) == (engine == "snowflake")
    # Another catalog of the same project runs it, as somebody with more rights would.
    text = (project.root / "catalogs" / "shop.yaml").read_text()
    project.catalog(text.partition("store:")[0] + f"store: {{catalog: {place}, namespace: elsewhere}}\n", "admin")
    project.file("0001_ours.sql", create, catalog="admin")
    # A process has one Spark session, and that of the tests may be there.
    ask = project.ask if engine == "spark" else functools.partial(ask_here, project)
    made = ask("migrate", "--catalog", "admin")
    assert made.code == 0, made.stdout
    schema = "CREATE NAMESPACE lake.web;\n" if engine == "spark" else ""
    project.file("0001_create.sql", f"{schema}CREATE TABLE {table} (a INT){using};")
    begin = len(snowflake_server.requests)
    run = ask("migrate", "--catalog", "shop")
    assert run.code == 0, run.stdout
    sent = [each["sql"] for each in snowflake_server.requests[begin:] if "sql" in each]
    assert [sql for sql in sent if sql.startswith("CREATE")] == ([f"CREATE TABLE {table} (a INT)"] if sent else [])
