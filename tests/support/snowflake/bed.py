"""The emulated Snowflake as tests use it: its virtual environment, process and log, and catalogs on it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.environments import environment
from tests.support.processes import free_port, one_at_a_time

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
    """An account of a running server, and the log of its requests."""

    port: int
    log: Path
    account: str

    @property
    def catalog(self) -> str:
        """A catalog file on the account."""
        return CATALOG.replace("PORT", str(self.port)).replace("account: test", f"account: {self.account}")

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
def snowflake_server(folder: Path, account: str = "test") -> Iterator[SnowflakeServer]:
    """Use an account of the server in `folder` while the block runs. Its first user starts it, and it ends with its last one.

    Its stdin is a pipe that users have open for writing: the kernel closes it also for one that is killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pipe, listening = folder / "users", folder / "port"
    with one_at_a_time(folder):
        if not pipe.exists():
            os.mkfifo(pipe)
        user = os.open(pipe, os.O_RDWR)
        try:
            if not listening.exists():
                listening.write_text(str(_start(folder, pipe)))
        except BaseException:
            os.close(user)
            raise
        port = int(listening.read_text())
    try:
        log = folder / f"{account}.jsonl"
        log.touch()
        yield SnowflakeServer(port, log, account)
    finally:
        os.close(user)


def _start(folder: Path, pipe: Path) -> int:
    """Start a server, and return its port once it listens."""
    port, output = free_port(), folder / "server.log"
    python = environment(ENVIRONMENT, REQUIREMENTS) / "python"
    command = [python, Path(__file__).with_name("server.py"), str(port), folder]
    with pipe.open("rb") as stdin, output.open("w") as printed:
        process = subprocess.Popen(command, stdin=stdin, stdout=printed, stderr=printed, start_new_session=True)
    _wait_for(port, process, output)
    return port


def _wait_for(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"the test bed's server did not start: {output.read_text()[-2000:]}")
