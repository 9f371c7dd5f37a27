"""The guide "Only the migrator may alter", on a real REST server behind an authorizing proxy."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from glacierbase.errors import EngineError
from tests.docs.pages import DOCS, blocks
from tests.docs.test_blocks import commands
from tests.support.authorizing import Authorizer, authorizing_proxy
from tests.support.beds import CatalogBed, LakeBed, WebBed, catalog_bed
from tests.support.catalog_files import WEB_TOKEN
from tests.support.project_folder import ProjectFolder

PAGE = DOCS / "guides" / "only-the-migrator.md"
[FILE] = [block.text for block in blocks(PAGE, "yaml") if block.marker == "file catalogs/analytics.yaml"]
[SHOWN] = [block.text for block in blocks(PAGE, "text") if block.marker == "output of doctor"]
SECRETS = {role: f"canary-{uuid.uuid4().hex}" for role in ("migrator", "writer", "break-glass")}


@pytest.fixture(scope="module")
def empty_web(web: WebBed) -> WebBed:
    """The server without the table that tests of other files may have left."""
    web.rows("CREATE NAMESPACE IF NOT EXISTS lake.web")
    web.rows("DROP TABLE IF EXISTS lake.web.events")
    return web


@pytest.fixture
def authorizer(empty_web: WebBed) -> Iterator[Authorizer]:
    """A server that lets the migrator and the break-glass role change tables, and writers write rows outside of `glacierbase`."""
    changers = {SECRETS[role]: role for role in ("migrator", "break-glass")}
    authorizer = Authorizer(changers, {SECRETS["writer"]: "writer"}, {"glacierbase"})
    with authorizing_proxy(authorizer, empty_web.catalog.spark_conf["spark.sql.catalog.lake.uri"], WEB_TOKEN):
        yield authorizer


@pytest.fixture
def analytics(project: ProjectFolder, authorizer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """The project of the page, with one table; commands of the page run in it."""
    monkeypatch.setenv("CATALOG_URI", authorizer.address)
    monkeypatch.setenv("MIGRATOR_CREDENTIAL", f"migrator:{SECRETS['migrator']}")
    monkeypatch.setenv("WRITER_CREDENTIAL", f"etl:{SECRETS['writer']}")
    project.catalog(FILE, "analytics")
    project.file("0001_web.sql", "CREATE NAMESPACE IF NOT EXISTS lake.web", "analytics")
    project.file("0002_events.sql", "CREATE TABLE lake.web.events (id BIGINT) USING iceberg", "analytics")
    return project


def as_role(role: str, lake: LakeBed, authorizer: Authorizer, folder: Path) -> CatalogBed:
    """Return the catalog `lake` of the page as this role uses it, in sessions of Spark."""
    text = FILE.replace("${env:CATALOG_URI}", authorizer.address).partition("access:")[0]
    return catalog_bed(lake, text.replace("${secret:MIGRATOR_CREDENTIAL}", f"x:{SECRETS[role]}"), folder / role)


def test_prevention_is_shown_and_holds_for_another_role(
    lake: LakeBed, web: WebBed, authorizer: Authorizer, analytics: ProjectFolder, tmp_path: Path
) -> None:
    """The writer writes rows and can change no table; the break-glass role can, and `drift` detects it."""
    done = analytics.run("migrate")
    assert done.code == 0, done.stderr
    shown = analytics.run("doctor", "--catalog", "analytics")
    assert shown.code == 0, shown.stdout
    assert all(f"  {line}\n" in shown.stdout for line in SHOWN.splitlines())
    writer, glass = (as_role(role, lake, authorizer, tmp_path) for role in ("writer", "break-glass"))
    with closing(writer.executor.open_session()) as session:
        session.execute("INSERT INTO lake.web.events VALUES (1)")
        for statement in (
            "ALTER TABLE lake.web.events ADD COLUMN device STRING",
            "ALTER TABLE lake.web.events SET TBLPROPERTIES ('a' = '1')",
            "DROP TABLE lake.web.events",
            "CREATE TABLE lake.web.mine (id BIGINT) USING iceberg",
            "DELETE FROM lake.glacierbase.history_analytics WHERE true",
        ):
            with pytest.raises(EngineError, match="not authorized"):
                session.execute(statement)
    assert web.rows("SELECT * FROM lake.web.events") == [(1,)]
    assert analytics.ask("drift").entry()["drifts"] == []
    analytics.file("0003_device.sql", "ALTER TABLE lake.web.events ADD COLUMN device STRING", "analytics")
    refused = analytics.run("migrate", environ={"MIGRATOR_CREDENTIAL": f"etl:{SECRETS['writer']}"})
    assert refused.code == 5, refused.stderr
    assert "not authorized" in refused.stderr
    assert analytics.ask("pending").entry()["pending"][0]["version"] == "0003"
    with closing(glass.executor.open_session()) as session:
        session.execute("ALTER TABLE lake.web.events ADD COLUMN urgent STRING")
    (analytics.root / "migrations" / "analytics" / "0003_device.sql").unlink()
    check_break_glass(analytics)
    output = "".join(text for run in (done, shown, refused) for text in (run.stdout, run.stderr))
    assert "canary" not in output


def check_break_glass(analytics: ProjectFolder) -> None:
    """Run the page's commands about a change with the break-glass role."""
    section = PAGE.read_text().partition("## Break the glass")[2].partition("\n## ")[0]
    drift, adopt = (
        words for block in section.split("```sh\n")[1:] for words in commands(block.partition("```")[0]) if words
    )
    found = analytics.run(*drift[1:])
    assert found.code == 7, found.stdout
    assert "urgent" in found.stdout
    adopted = analytics.run(*adopt[1:])
    assert adopted.code == 0, adopted.stderr
    assert analytics.run(*drift[1:]).code == 0


def test_a_server_that_lets_writers_change_tables_is_shown_as_such(
    authorizer: Authorizer, analytics: ProjectFolder
) -> None:
    """The same project on a server that authorizes less."""
    authorizer.changers[SECRETS["writer"]] = "writer"
    assert analytics.run("migrate").code == 0
    access = analytics.ask("doctor").entry()["access"]
    assert {found["verdict"] for found in access} == {"only detected"}
    assert "may add a column" in access[0]["detail"]
