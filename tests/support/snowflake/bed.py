"""The emulated Snowflake as tests use it: its virtual environment, process and log, and catalogs on it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.environments import environment
from tests.support.processes import free_port

# fakesnow pins its dependencies, and its server needs version 4 of the connector: hence a separate environment.
REQUIREMENTS = ["fakesnow[server]==0.12.1", "snowflake-connector-python<5"]
ENVIRONMENT = Path(__file__).parents[3] / ".venv-fakesnow"

# Names a connection of the machine's connections.toml; then the same tests run on that account.
ACCOUNT = "GLACIERBASE_TEST_SNOWFLAKE"

CATALOG = """\
migrationExecutor:
  type: snowflake
  conf:
    connection:
      account: test
      host: 127.0.0.1
      port: PORT
      protocol: http
      user: deployer
      password: ${env:SNOWFLAKE_PASSWORD}
      role: ENGINEER
      warehouse: SMALL
      database: DEMO
      login_timeout: 30
      network_timeout: 30
      session_parameters: {CLIENT_OUT_OF_BAND_TELEMETRY_ENABLED: false}
"""


def account_catalog(connection_name: str) -> tuple[str, str]:
    """Return a catalog file on a real account, and the database that the connection names."""
    import snowflake.connector

    with snowflake.connector.connect(connection_name=connection_name) as connection:
        database = connection.database
    executor = f"{{type: snowflake, conf: {{connection: {{connection_name: {connection_name}}}}}}}"
    return f"migrationExecutor: {executor}\n", database


@dataclass
class SnowflakeServer:
    """A running server."""

    port: int
    log: Path

    @property
    def catalog(self) -> str:
        """A catalog file on the server."""
        return CATALOG.replace("PORT", str(self.port))

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests since the start: `path`, `session`, and for statements `sql` and `parameters`."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def statements(self) -> list[str]:
        """Return the statements that the server received, unchanged."""
        return [request["sql"] for request in self.requests if request["path"].endswith("/query-request")]

    def wait_for(self, sql: str) -> None:
        """Return once the server has received a statement."""
        deadline = time.monotonic() + 60
        while sql not in self.statements():
            assert time.monotonic() < deadline, sql
            time.sleep(0.05)


@contextmanager
def snowflake_server(folder: Path) -> Iterator[SnowflakeServer]:
    """Run a server with data and log in `folder` while the block runs."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    log, data = folder / "requests.jsonl", folder / "data"
    log.touch()
    data.mkdir(exist_ok=True)
    python = environment(ENVIRONMENT, REQUIREMENTS) / "python"
    command = [python, Path(__file__).with_name("server.py"), str(port), log, data]
    with (folder / "server.log").open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            _wait_for(port, process, folder / "server.log")
            yield SnowflakeServer(port, log)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def _wait_for(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"the test bed's server did not start: {output.read_text()[-2000:]}")
