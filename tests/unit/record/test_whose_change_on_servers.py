"""Whose change each part of a table is where the server of a REST catalog names the metadata files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.types import IntegerType

from tests.support.checkingproxy import RESET, CheckingProxy, Fault, checking_proxy
from tests.support.program import ask_here, run_here
from tests.support.project_folder import Output, ProjectFolder
from tests.support.pythoncatalog import PythonCatalog

CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: rest, uri: ADDRESS, credential: "${secret:MIGRATOR_LOGIN}"}
"""
CREATE = "CREATE NAMESPACE lake.web;\nCREATE TABLE lake.web.t (a INT)"
ALTER = "ALTER TABLE lake.web.t ADD COLUMN b INT"
COMMIT = "POST /v1/namespaces/web/tables/t"


class Server(PythonCatalog):
    """The catalog, in which another client adds a column before the next commit to the table."""

    interferes = False

    def answer(self, method: str, url: str, body: str) -> tuple[int, str]:
        if self.interferes and f"{method} {url}" == COMMIT:
            self.interferes = False
            with self.catalog.load_table("web.t").transaction() as change, change.update_schema() as update:
                update.add_column("hand", IntegerType())
        return super().answer(method, url, body)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """The catalog's server."""
    return Server(tmp_path)


@pytest.fixture
def proxy(server: Server, project: ProjectFolder) -> Iterator[CheckingProxy]:
    """The server at an address, after a file has created the table."""
    with checking_proxy(server.answer) as proxy:
        project.catalog(CATALOG.replace("ADDRESS", proxy.address))
        project.file("1_a.sql", CREATE)
        created = run_here(project, "migrate")
        assert (created.code, "warning" in created.stdout + created.stderr) == (0, False)
        project.file("2_b.sql", ALTER)
        yield proxy


def altered(project: ProjectFolder) -> tuple[Output, dict[str, str | None]]:
    """Run the next file; return its output, and the version of each column."""
    done = run_here(project, "migrate")
    assert done.code == 0, done.stderr
    [table] = ask_here(project, "blame", "lake.web.t").document["catalogs"]
    lines = [line for line in table["lines"] if line["kind"] == "column"]
    return done, {line["name"]: line["version"] for line in lines}


@pytest.mark.usefixtures("proxy")
def test_what_a_file_does_is_the_files(project: ProjectFolder) -> None:
    """The answer to its commit names the metadata file that the server wrote for it."""
    done, columns = altered(project)
    assert "warning" not in done.stdout + done.stderr
    assert columns == {"a": "1", "b": "2"}


def test_what_is_done_meanwhile_is_the_other_clients(
    server: Server, proxy: CheckingProxy, project: ProjectFolder
) -> None:
    """No answer to this run names the metadata file of the other client."""
    server.interferes = True
    done, columns = altered(project)
    assert proxy.statuses(COMMIT) == [409, 200]
    assert "+ column hand: int: during 2, not by it" in done.stdout
    assert "column b" not in done.stdout
    assert columns == {"a": "1", "hand": None, "b": "2"}


def test_after_a_lost_answer_the_statements_say_whose_it_is(proxy: CheckingProxy, project: ProjectFolder) -> None:
    """The commit took effect, and nothing names its metadata file."""
    proxy.faults.append(Fault(COMMIT, [RESET], is_after=True))
    done, columns = altered(project)
    assert "during 2" not in done.stdout
    assert columns == {"a": "1", "b": "2"}
