"""A server or a database that breaks off during the login is an error about the server, never a bug."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

SNOWFLAKE = """\
migrationExecutor:
  type: snowflake
  conf:
    connection: {account: a, host: 127.0.0.1, port: PORT, protocol: http, user: u, password: "${env:LOST_LOGIN}", warehouse: SMALL,
      database: DEMO, role: R, login_timeout: 1, network_timeout: 1}
"""
ICEBERG = """\
migrationExecutor:
  type: iceberg
  conf: {name: lake, properties: {type: sql, uri: "URI", warehouse: "file://FOLDER/tables"}}
"""
STATE = {"databaseName": "DEMO", "schemaName": "PUBLIC", "warehouseName": "SMALL", "roleName": "R"}
LOGGED_IN = json.dumps({
    "success": True, "code": None, "message": None,
    "data": {"token": "t", "masterToken": "m", "sessionId": 1, "parameters": [], "sessionInfo": STATE},
}).encode()  # fmt: skip
_RESET = struct.pack("ii", 1, 0)


def closed(_: socket.socket) -> None:
    """Close the connection without an answer."""


def reset(connection: socket.socket) -> None:
    """Reset it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def garbage(connection: socket.socket) -> None:
    """Write what is no answer of any protocol."""
    connection.sendall(b"\x00\xffno answer\r\n\r\n" * 20)


def html(connection: socket.socket) -> None:
    """Write the page of a proxy."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>")


HOW = (closed, reset, garbage, html)
COMMANDS = (
    ("status",), ("migrate", "--yes"), ("doctor",), ("repair",), ("drift",), ("baseline", "--to", "1", "--reason", "it exists"),
    ("import", "tables", "--list"), ("unlock", "--yes", "--reason", "it ended"),
)  # fmt: skip


@contextmanager
def server(how: Callable[[socket.socket], None], first: int = 0) -> Iterator[int]:
    """Listen; answer as Snowflake does at a login, and break from a connection on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            number = 0
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    if number >= first:
                        how(connection)
                    else:
                        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(LOGGED_IN) + LOGGED_IN)
                number += 1

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_login_to_snowflake_that_is_lost_is_an_error_about_the_server(
    first: int, how: Callable[[socket.socket], None], project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real connector: at the login, and at the requests after it."""
    monkeypatch.setenv("LOST_LOGIN", "canary-of-the-login")
    project.file("1_a.sql", "CREATE TABLE DEMO.A.T (id INT)")
    with server(how, first) as port:
        project.catalog(SNOWFLAKE.replace("PORT", str(port)))
        done = run_here(project, "status")
    assert done.code == 5, done.stdout + done.stderr
    assert "INTERNAL_ERROR" not in done.stderr
    assert "canary" not in done.stdout + done.stderr


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_database_that_hangs_up_is_an_error_about_the_server(
    command: tuple[str, ...], how: Callable[[socket.socket], None], project: ProjectFolder
) -> None:
    """The real driver of PostgreSQL, for a catalog without a server in between."""
    project.file("1_a.sql", "CREATE NAMESPACE lake.a")
    with server(how) as port:
        project.catalog(
            ICEBERG.replace("FOLDER", "/none").replace(
                "URI", f"postgresql+psycopg2://u@127.0.0.1:{port}/d?connect_timeout=2"
            )
        )
        done = run_here(project, *command)
    assert (done.code, "INTERNAL_ERROR" in done.stderr) == (5, False), done.stdout + done.stderr


@pytest.mark.parametrize("damage", ["no database", "cut", "a folder"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_damaged_file_of_sqlite_is_an_error_about_the_database(
    command: tuple[str, ...], damage: str, project: ProjectFolder
) -> None:
    """The file of the catalog is another file, a part of one, or a folder."""
    file = project.root / "lake.db"
    project.file("1_a.sql", "CREATE NAMESPACE lake.a")
    project.catalog(ICEBERG.replace("URI", f"sqlite:///{file}").replace("FOLDER", str(project.root)))
    if damage == "a folder":
        file.mkdir()
    elif damage == "cut":
        assert run_here(project, "migrate").code == 0
        file.write_bytes(file.read_bytes()[:5_000])
        project.file("2_b.sql", "CREATE NAMESPACE lake.b")
    else:
        file.write_bytes(b"this is no database " * 500)
    done = run_here(project, *command)
    assert (done.code, "INTERNAL_ERROR" in done.stderr) == (5, False), done.stdout + done.stderr
