"""What a REST catalog that refuses a login is reported as: in words, with the keys that may be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

import pytest

from tests.support.hostileserver import CATALOG, HostileServer, hostile_server
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder

SECRET = "canary-of-the-credential"
FORBIDDEN = {"error": {"message": "Principal 'ann' is not authorized", "type": "ForbiddenException", "code": 403}}
OAUTH = {"error": "invalid_client", "error_description": "the secret is unknown"}


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with hostile_server() as server:
        yield server


def answering(status: int, body: str, path: str) -> HostileServer:
    """Return a function that writes this answer to requests of a path."""

    def write(request: str, socket: BinaryIO) -> bool:
        if not request.endswith(path):
            return False
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        socket.write(head.encode() + body.encode())
        return True

    return write  # type: ignore[return-value]


CASES = [
    ("credential", 401, json.dumps(OAUTH), "/oauth/tokens", "invalid_client: the secret is unknown", "`credential`"),
    ("credential", 401, "<html>no</html>", "/oauth/tokens", "it does not accept the credential", "`oauth2-server-uri`"),
    ("token", 401, '{"message": "no"}', "/config", "it does not accept the token", "`token`"),
    ("token", 401, "", "/config", "it does not accept the token", "`token`"),
    ("", 401, "Unauthorized", "/config", "the server requires a login: Unauthorized", "`credential` or `token`"),
    ("token", 401, '["no", "entry"]', "/config", "it does not accept the token: [", "`token`"),
    ("token", 401, "null", "/config", "it does not accept the token", "`token`"),
    ("token", 403, json.dumps(FORBIDDEN), "/lock_shop", "Principal 'ann' is not authorized", "grant the right"),
]


@pytest.mark.parametrize(("key", "status", "body", "path", "words", "hint"), CASES)
def test_a_refused_login_is_reported_in_words(
    key: str,
    status: int,
    body: str,
    path: str,
    words: str,
    hint: str,
    server: HostileServer,
    project: ProjectFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message has address and status, what it means and what the server wrote; the hint has the key. No secret is in it."""
    server.writes = answering(status, body, path)  # type: ignore[assignment]
    monkeypatch.setenv("REFUSED_LOGIN", SECRET)
    login = f"      spark.sql.catalog.lake.{key}: ${{secret:REFUSED_LOGIN}}\n" if key else ""
    project.catalog(CATALOG.replace("ADDRESS", server.address).replace("store:", f"{login}store:"))
    project.file("1_a.sql", "SELECT 1")
    for command in ("pending", "doctor"):
        done = ask_here(project, command)
        error = done.document["error"]
        assert (done.code, error["code"]) == (5, "STORE_UNAVAILABLE")
        assert f"HTTP {status}: " in error["message"]
        assert f"{server.address}/v1/" in error["message"]
        assert words in error["message"]
        assert hint in error["hint"]
        assert SECRET not in done.stdout
        assert not any(word in error["message"] for word in ("pydantic", "JSON", "html", "Field required"))
