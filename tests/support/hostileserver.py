"""A catalog server that may be silent or endless, lead elsewhere, or name classes for its client to load; and its tables.

In Python alone: no engine, no JVM.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

CATALOG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: ADDRESS
      spark.sql.catalog.lake.rest.client.socket-timeout-ms: 1000
store: {type: iceberg}
"""
# Writes a file when it is imported, and another when its class is made.
CANARY = """\
from pathlib import Path
Path({folder!r}, "imported").touch()


class Canary:
    def __init__(self, *arguments, **named):
        Path({folder!r}, "made").touch()
"""


@dataclass
class HostileServer:
    """What it answers.

    Attributes:
        tables: the metadata of each table, by its name.
        config: of the catalog, as the server decides it; `defaults`, which the client's own go before.
        table_config: goes with every table.
        storage_credentials: the properties of the credentials that go with every table, for all locations.
        table_properties: in the metadata of every table; `commit_properties` only in the answer to a commit.
        silent: whether a request is never answered, by its method and path.
        writes: writes the answer to a request into the socket instead, by its method and path; returns whether it did.
        leads_to: the status and the address of a redirection, by the method and path of the request.
        received: the headers of each request.
    """

    address: str = ""
    tables: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    table_config: dict[str, Any] = field(default_factory=dict)
    storage_credentials: dict[str, Any] = field(default_factory=dict)
    table_properties: dict[str, str] = field(default_factory=dict)
    commit_properties: dict[str, str] = field(default_factory=dict)
    silent: Callable[[str], bool] = lambda request: False
    writes: Callable[[str, BinaryIO], bool] = lambda request, socket: False
    leads_to: dict[str, tuple[int, str]] = field(default_factory=dict)
    received: list[dict[str, str]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: str) -> tuple[int, Any] | None:
        """Return status and document; None, at the end of the test, for a request that stays unanswered."""
        self.requests.append(request)
        if self.silent(request):
            self.ended.wait()
            return None
        if request in self.leads_to:
            return self.leads_to[request]
        if request == "POST /v1/oauth/tokens":
            return 200, {"access_token": "fetched", "token_type": "bearer"}
        if request == "GET /v1/config":
            return 200, {"defaults": self.defaults, "overrides": self.config}
        found = re.fullmatch(r"(GET|POST) /v1/namespaces/\w+/tables/(\w+)", request)
        if not found or found[2] not in self.tables:
            return 404, {"error": {"message": request, "type": "NoSuchTableException", "code": 404}}
        metadata = self.tables[found[2]]
        properties = metadata["properties"] | self.table_properties
        if found[1] == "POST":
            properties |= self.commit_properties
        return 200, {
            "metadata-location": f"{metadata['location']}/metadata/00001-a.metadata.json",
            "metadata": metadata | {"properties": properties},
            "config": self.table_config,
            "storage-credentials": [{"prefix": "", "config": self.storage_credentials}],
        }


def metadata_of(table: Any) -> Any:
    """Return the metadata of a PyIceberg table, as a server sends it."""
    return json.loads(metadata_file(table).read_text())


def metadata_file(table: Any) -> Path:
    """Return the path of the table's metadata file."""
    return Path(urlsplit(table.metadata_location).path)


@contextmanager
def hostile_server() -> Iterator[HostileServer]:
    """Run a server without tables while the block runs."""
    made = HostileServer()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            made.received.append(dict(self.headers))
            request = f"{self.command} {urlsplit(self.path).path}"
            with suppress(ConnectionError):  # The client has closed the connection.
                if made.writes(request, cast("BinaryIO", self.wfile)):
                    return
            answer = made.answer(request)
            if answer is None:
                return
            status, document = answer
            said = json.dumps(document).encode()
            self.send_response(status)
            if isinstance(document, str):
                self.send_header("Location", document)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = _serve  # noqa: N815 (the names that the base class looks up)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield made
    finally:
        made.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
