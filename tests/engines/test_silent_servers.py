"""Catalog servers that accept a request and never answer it: every wait times out."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.catalog_files import POSTGRES
from tests.support.hostileserver import CATALOG, HostileServer, hostile_server
from tests.support.project_folder import Output, ProjectFolder

# Far above the time-out of a second, and far below "for good".
DEADLINE_SECONDS = 60


@pytest.fixture
def server(project: ProjectFolder) -> Iterator[HostileServer]:
    """A server that has no tables yet, and a catalog file for it."""
    with hostile_server() as server:
        project.catalog(CATALOG.replace("ADDRESS", server.address))
        project.file("1_a.sql", "SELECT 1")
        yield server


def run(project: ProjectFolder, *arguments: str) -> Output:
    """Run the program; kill it at the deadline."""
    process = project.start(*arguments)
    try:
        stdout, stderr = process.communicate(timeout=DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Output(process.returncode, stdout, stderr)


def check_unavailable(said: Output, asked: str) -> None:
    """Check that the output is one message, which names the request."""
    assert said.code == 5, said.stderr
    assert said.stderr.count("error: STORE_UNAVAILABLE") == 1
    assert said.stderr.count("STORE_UNAVAILABLE") == 2  # The other one is in `glacierbase explain`.
    assert f"{asked}: " in said.stderr
    assert "timed out" in said.stderr.lower()
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("command", ["pending", "migrate"])
def test_a_server_that_never_answers_is_given_up(server: HostileServer, project: ProjectFolder, command: str) -> None:
    """The first request already has the time-out that the catalog file sets."""
    server.silent = lambda request: True
    check_unavailable(run(project, command), f"{server.address}/v1/config")


def test_a_server_that_stops_to_answer_is_given_up(server: HostileServer, project: ProjectFolder) -> None:
    """The server's configuration cannot remove the time-out."""
    server.config = {"rest.client.socket-timeout-ms": "0", "rest.client.connection-timeout-ms": "0"}
    server.silent = lambda request: request.endswith("lock_shop")
    check_unavailable(run(project, "pending"), f"{server.address}/v1/namespaces/glacierbase/tables/lock_shop")


def test_a_login_that_is_never_answered_is_given_up(server: HostileServer, project: ProjectFolder) -> None:
    """The request for a token is the first one."""
    path = project.root / "catalogs/shop.yaml"
    path.write_text(
        path.read_text().replace("store:", "      spark.sql.catalog.lake.credential: ${secret:MIGRATOR_LOGIN}\nstore:")
    )
    server.silent = lambda request: True
    said = run(project, "pending")
    check_unavailable(said, f"{server.address}/v1/oauth/tokens")
    assert "canary" not in said.stderr


def test_a_database_server_that_never_answers_is_given_up(project: ProjectFolder) -> None:
    """The login to PostgreSQL has the time-out of the JDBC address, `connectTimeout`."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"jdbc:postgresql://127.0.0.1:{silent.getsockname()[1]}/lake?connectTimeout=2"
        project.catalog(POSTGRES.replace("ADDRESS", uri).replace("POSTGRES_PASSWORD", "MIGRATOR_LOGIN"))
        said = run(project, "pending")
    assert said.code == 5, said.stderr
    assert said.stderr.count("error: STORE_UNAVAILABLE") == 1
    assert said.stderr.count("STORE_UNAVAILABLE") == 2  # The other one is in `glacierbase explain`.
    assert "timeout expired" in said.stderr
    assert "Traceback" not in said.stderr
