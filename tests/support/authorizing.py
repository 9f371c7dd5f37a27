"""A REST catalog that lets only some identities change tables: a proxy in front of a real server, as Polaris authorizes.

A commit is allowed if each of its updates is: https://github.com/apache/polaris/blob/main/polaris-core/src/main/java/org/apache/
polaris/core/auth/RbacOperationSemantics.java. The proxy knows its identities by their tokens, and reaches the server with its own.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

# The updates of a commit of rows.
ROWS = frozenset({"add-snapshot", "set-snapshot-ref", "set-statistics", "remove-statistics"})
_TABLE = re.compile(r"/v1/namespaces/([^/]+)/tables/[^/]+")


@dataclass
class Authorizer:
    """Who may do what.

    Attributes:
        address: of the proxy.
        changers: the tokens of identities that may change tables.
        writers: those that may read, and write rows.
        read_only: namespaces in which writers may only read.
        refused: identity and operation of each refused request so far.
    """

    changers: dict[str, str]
    writers: dict[str, str]
    read_only: set[str] = field(default_factory=set)
    refused: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""

    def refusal(self, token: str, method: str, path: str, body: bytes) -> tuple[int, str] | None:
        """Return status and reason of a request that is not allowed, else None."""
        if token in self.changers or method in ("GET", "HEAD"):
            return None if token in {**self.changers, **self.writers} else (401, "the token is not known")
        if token not in self.writers:
            return 401, "the token is not known"
        operations = self._operations(method, path, body) - ROWS
        if not operations:
            return None
        self.refused += [(self.writers[token], operation) for operation in sorted(operations)]
        return 403, f"Principal '{self.writers[token]}' is not authorized for {', '.join(sorted(operations))}"

    def _operations(self, method: str, path: str, body: bytes) -> set[str]:
        table = _TABLE.fullmatch(path)
        if path.endswith("/metrics"):
            return set()
        if method == "POST" and table:
            updates = {update["action"] for update in json.loads(body)["updates"]}
            return updates | ({"write to a read-only namespace"} if table[1] in self.read_only else set())
        return {f"{method} {path.rpartition('/')[2] if table else path}"}


@contextmanager
def authorizing_proxy(authorizer: Authorizer, server: str, server_token: str) -> Iterator[str]:
    """Run the proxy in front of the address of a server while the block runs; yield its own address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path).path
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            if (self.command, path) == ("POST", "/v1/oauth/tokens"):
                self._answer(200, json.dumps(_logged_in(body)).encode())
            elif refused := authorizer.refusal(token, self.command, path, body):
                status, why = refused
                kind = "ForbiddenException" if status == 403 else "NotAuthorizedException"
                self._answer(status, json.dumps({"error": {"message": why, "type": kind, "code": status}}).encode())
            else:
                self._answer(*_forwarded(f"{server}{self.path}", self.command, body, server_token))

        def _answer(self, status: int, said: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said)

        do_GET = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 (the names that the base class looks up)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    authorizer.address = f"http://127.0.0.1:{proxy.server_port}"
    thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield authorizer.address
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


def _logged_in(body: bytes) -> dict[str, object]:
    """Answer a client's credential with a token: its secret."""
    [secret] = parse_qs(body.decode())["client_secret"]
    kind = "urn:ietf:params:oauth:token-type:access_token"
    return {"access_token": secret, "token_type": "bearer", "issued_token_type": kind, "expires_in": 3600}


def _forwarded(url: str, method: str, body: bytes, token: str) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, body or None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
