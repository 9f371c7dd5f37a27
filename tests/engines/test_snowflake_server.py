"""The emulated Snowflake that the processes of a test run share."""

from __future__ import annotations

import socket
import subprocess
import sys
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.beds import snow_bed
from tests.support.catalog_files import SNOWFLAKE_PASSWORD
from tests.support.snowflake.bed import SnowflakeServer, snowflake_server
from tests.support.world import wait_until

pytestmark = [pytest.mark.snowflake, pytest.mark.long]

CREATE = "CREATE TABLE demo.s.t (a INT)"
USER = """
import sys, time
from pathlib import Path
from tests.support.snowflake.bed import snowflake_server

with snowflake_server(Path(sys.argv[1]), "other") as server:
    print(server.port, flush=True)
    time.sleep(600)
"""


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def tables(server: SnowflakeServer, account: str, folder: Path, *statements: str) -> list[str]:
    """Return the names of an account's tables after the statements."""
    with snow_bed(replace(server, account=account).catalog, "DEMO", folder / uuid.uuid4().hex) as bed:
        with closing(bed.executor.open_session()) as session:
            for sql in statements:
                session.execute(sql)
        return [
            row[0] for row in bed.rows("SELECT table_name FROM demo.information_schema.tables WHERE table_name = 'T'")
        ]


def test_processes_share_a_server_that_ends_with_the_last_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process has an account with tables and a log; one that is killed neither ends the server nor keeps it."""
    monkeypatch.setenv("SNOWFLAKE_PASSWORD", SNOWFLAKE_PASSWORD)
    folder = tmp_path / "server"
    with subprocess.Popen([sys.executable, "-c", USER, folder], stdout=subprocess.PIPE, text=True) as first:
        try:
            assert first.stdout
            port = int(first.stdout.readline())
            with snowflake_server(folder) as server:
                assert server.port == port
                assert tables(server, "other", tmp_path, "CREATE SCHEMA demo.s", CREATE) == ["T"]
                assert tables(server, "test", tmp_path) == []
                assert CREATE not in server.statements()
                first.kill()
                first.wait()
                assert tables(server, "other", tmp_path) == ["T"]
            wait_until(lambda: not is_listening(port))
        finally:
            first.kill()
    with snowflake_server(folder) as server:
        assert tables(server, "new", tmp_path) == []
    wait_until(lambda: not is_listening(server.port))
