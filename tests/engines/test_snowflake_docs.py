"""docs/guides/snowflake.md and `init --type snowflake`: the catalogs are read, the migrations run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from glacierbase.migrations.statements import split_statements
from tests.support.beds import SnowBed
from tests.support.program import ask_here, run_here
from tests.support.project_folder import REPOSITORY, ProjectFolder
from tests.support.snowflake.bed import SnowflakeServer

PAGE = (REPOSITORY / "docs" / "guides" / "snowflake.md").read_text()
CATALOG = re.search(r"<!-- catalog -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
MIGRATIONS = re.findall(r"<!-- migration (\S+) -->\n```sql\n(.*?)```", PAGE, re.DOTALL)
ACCOUNT = {
    "SNOWFLAKE_ACCOUNT": "org-account",
    "SNOWFLAKE_USER": "DEPLOYER",
    "SNOWFLAKE_PRIVATE_KEY_FILE": "/keys/deployer.p8",
}


def on_the_emulator(text: str, emulated: SnowBed) -> str:
    """Return the catalog with a login that the emulator accepts."""
    content = yaml.safe_load(text)
    connection = content["migrationExecutor"]["conf"]["connection"]
    for key in ("authenticator", "private_key_file", "session_parameters"):
        connection.pop(key, None)
    emulators = yaml.safe_load(emulated.text)["migrationExecutor"]["conf"]["connection"]
    connection |= {key: value for key, value in emulators.items() if key not in ("role", "warehouse", "database")}
    return yaml.safe_dump(content)


@pytest.fixture
def pages_project(project: ProjectFolder) -> ProjectFolder:
    """The examples of the page as a project."""
    assert CATALOG
    project.catalog(CATALOG[1], "warehouse")
    for name, sql in MIGRATIONS:
        (project.root / "migrations" / "warehouse" / name).write_text(sql)
    return project


def test_the_pages_project_is_valid_as_it_stands(pages_project: ProjectFolder) -> None:
    """For both environments: a standard table, an Iceberg table, a view, a task and a procedure."""
    done = ask_here(pages_project, "validate")
    assert done.code == 0, done.stdout
    assert [(each["environment"], each["files"]) for each in done.document["catalogs"]] == [("dev", 5), ("prod", 5)]


def test_its_migrations_run_and_their_bytes_arrive(
    pages_project: ProjectFolder, emulated: SnowBed, snowflake_server: SnowflakeServer
) -> None:
    """The task's block and the procedure's body each arrive as one statement."""
    path = pages_project.root / "catalogs" / "warehouse.yaml"
    path.write_text(on_the_emulator(path.read_text(), emulated))
    begin = len(snowflake_server.requests)
    done = ask_here(pages_project, "migrate", environ=ACCOUNT)
    assert done.code == 0, done.stdout
    sent = [each["sql"] for each in snowflake_server.requests[begin:] if "sql" in each]
    rendered = ask_here(pages_project, "render", "--env", "dev", environ=ACCOUNT).entry()["files"]
    statements = [statement.text for file in rendered for statement in split_statements(file["sql"], "snowflake")]
    assert len(statements) == 7
    assert [sql for sql in sent if sql in statements] == statements
    assert emulated.rows("SELECT * FROM LAKE_DEV.SALES.DAILY_ORDERS") == []


def test_init_writes_a_snowflake_project_that_runs(emulated: SnowBed, tmp_path: Path) -> None:
    """The project runs after its connection is replaced by the emulator's."""
    project = ProjectFolder(tmp_path / "new")
    done = ask_here(project, "init", "--type", "snowflake", "web")
    assert done.code == 0, done.stdout
    assert run_here(project, "validate").code == 0
    assert run_here(project, "validate", "--resolve", environ=ACCOUNT).code == 0
    path = project.root / "catalogs" / "web.yaml"
    path.write_text(on_the_emulator(path.read_text(), emulated))
    assert run_here(project, "migrate", environ=ACCOUNT).code == 0
    assert emulated.rows("SELECT * FROM LAKE_DEV.WEB.EVENTS") == []
    again = ask_here(project, "init", "--type", "snowflake", "web")
    assert (again.code, again.document["error"]["code"]) == (2, "ALREADY_EXISTS")
