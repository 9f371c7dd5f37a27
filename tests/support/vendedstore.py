"""An object store that accepts short-lived credentials, and the REST catalog's part of handing them out."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKET = "lake"
# The credentials that never expire: those of the catalog server itself.
SERVER_TOKEN = "canary-of-the-server"
_CREDENTIALS = re.compile(r"/v1/namespaces/[^/]+/tables/[^/]+/credentials")
_EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"


@dataclass
class VendedStore:
    """The store, and the credentials so far.

    Attributes:
        seconds: how long credentials are accepted.
        refreshes: whether tables name the address of new credentials, which the server has then.
        accepted, refused: the number of the credentials of each request.
    """

    seconds: float = 5
    refreshes: bool = True
    accepted: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    address: str = ""
    _expires: dict[str, float] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def accepts(self, token: str) -> bool:
        """Return whether a request with a session token is executed, and count it."""
        if token == SERVER_TOKEN:
            return True
        is_valid = self._expires.get(token, 0) > time.monotonic()
        (self.accepted if is_valid else self.refused).append(int(token.rpartition("-")[2] or 0))
        return is_valid

    def vend(self, table: str) -> dict[str, str]:
        """Return new credentials for a table, in the properties of its files."""
        token = f"canary-session-{next(self._numbers)}"
        self._expires[token] = time.monotonic() + self.seconds
        expires = str(int((time.time() + self.seconds) * 1000))
        where = (
            {"client.refresh-credentials-endpoint": f"{table}/credentials".removeprefix("/")} if self.refreshes else {}
        )
        return {**properties(self.address, token), "s3.session-token-expires-at-ms": expires, **where}

    def in_front_of(
        self, answer: Callable[[str, str, str], tuple[int, str]]
    ) -> Callable[[str, str, str], tuple[int, str]]:
        """Return the answers of a catalog, with new credentials for each loaded table, and at the address of new ones."""

        def answered(method: str, url: str, body: str) -> tuple[int, str]:
            path = url.partition("?")[0]
            if _CREDENTIALS.fullmatch(path):
                config = self.vend(path.removesuffix("/credentials"))
                return 200, json.dumps({"storage-credentials": [{"prefix": f"s3://{BUCKET}/", "config": config}]})
            status, text = answer(method, url, body)
            document = json.loads(text) if status == 200 else {}
            if "metadata-location" not in document or "config" not in document:
                return status, text
            table = path if method == "GET" else f"{path}/{json.loads(body)['name']}"
            return status, json.dumps({**document, "config": self.vend(table)})

        return answered


def properties(address: str, token: str) -> dict[str, str]:
    """Return the properties with which Iceberg and PyIceberg reach the store."""
    return {
        "s3.endpoint": address,
        "s3.path-style-access": "true",
        "s3.force-virtual-addressing": "false",
        "client.region": "us-east-1",
        "s3.access-key-id": "key",
        "s3.secret-access-key": "canary-of-the-key",
        "s3.session-token": token,
    }


@contextmanager
def vended_store() -> Iterator[VendedStore]:
    """Run the store, with an empty bucket, while the block runs."""
    store, s3 = VendedStore(), DomainDispatcherApplication(create_backend_app)

    def checked(environ: Any, start: Any) -> Any:
        if store.accepts(environ.get("HTTP_X_AMZ_SECURITY_TOKEN", "")):
            return s3(environ, start)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("400 Bad Request", [("Content-Type", "application/xml"), ("Content-Length", str(len(_EXPIRED)))])
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else _EXPIRED]

    class Quiet(WSGIRequestHandler):
        def log(self, *_: object) -> None:
            """Log nothing."""

    server = make_server("127.0.0.1", 0, checked, threaded=True, request_handler=Quiet)
    store.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        login = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_session_token": SERVER_TOKEN}
        client = boto3.client("s3", endpoint_url=store.address, region_name="us-east-1", **login)
        client.create_bucket(Bucket=BUCKET)
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
