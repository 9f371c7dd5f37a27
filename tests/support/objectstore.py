"""An S3 server on loopback that holds objects in memory, counts its requests by kind, and fails on demand."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import struct
import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, islice
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

BUCKET = "lake"
KEY, SECRET, REGION = "key", "canary-of-the-object-store", "us-east-1"
# Holds the secret for catalog files while a server runs.
VARIABLE = "OBJECT_STORE_SECRET"
_NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
_ERRORS = {
    400: "ExpiredToken",
    403: "AccessDenied",
    404: "NoSuchKey",
    412: "PreconditionFailed",
    500: "InternalError",
    503: "SlowDown",
}
# Of one answer to LIST.
_MOST_ENTRIES = 1000
_MODIFIED = "2020-11-20T12:00:00.000Z"
_KEYS = re.compile("<Key>(.*?)</Key>")
Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class ObjectStore:
    """The objects of one bucket, and each request so far.

    Attributes:
        latency: seconds before each answer.
        fault: what happens to a request, by its number from 0, its method and its key: the status of an error, `drop` (no answer,
            no effect), `lose` (the effect without an answer), `cut` (a part of the answer); None for the right answer.
        log: method and key of each request.
        sent, received: bytes of objects in answers and requests.
    """

    latency: float = 0
    fault: Callable[[int, str, str], int | str | None] = lambda *_: None
    address: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    log: list[tuple[str, str]] = field(default_factory=list)
    sent: int = 0
    received: int = 0
    _uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a client of AWS reaches the server."""
        return {
            "AWS_ENDPOINT_URL_S3": self.address,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": REGION,
        }

    def properties(self) -> dict[str, str]:
        """Return the properties with which PyIceberg reaches the bucket."""
        return {
            "s3.endpoint": self.address,
            "s3.access-key-id": KEY,
            "s3.secret-access-key": SECRET,
            "s3.region": REGION,
            "s3.path-style-access": "true",
            "s3.force-virtual-addressing": "false",
        }

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """Yield a counter that holds after the block the number of its requests, by method and file ending."""
        kinds: Counter[str] = Counter()
        before = len(self.log)
        yield kinds
        kinds.update(f"{method} {key.rpartition('.')[2]}" for method, key in self.log[before:])

    def begin(self, method: str, key: str) -> int | str | None:
        """Count a request, and return its fault."""
        with self._lock:
            self.log.append((method, key))
            number = len(self.log) - 1
        time.sleep(self.latency)
        return self.fault(number, method, key)

    def answer(
        self, method: str, key: str, query: dict[str, list[str]], headers: dict[str, str], body: bytes
    ) -> Answer:
        """Return status, body and headers of the answer to a request."""
        with self._lock:
            if method == "GET" and not key:
                return self._listed(query)
            if method in ("GET", "HEAD"):
                return self._read(key, headers)
            if method == "PUT":
                return self._put(key, query, headers, body)
            if method == "DELETE":
                if not self._is_met(headers, "if-match", key):
                    return refusal(412)
                self.objects.pop(key, None)
                return 204, b"", {}
            return self._posted(key, query, body)

    def _is_met(self, headers: dict[str, str], condition: str, key: str) -> bool:
        """Return whether the object is the one that the header names."""
        return headers.get(condition) in (None, key in self.objects and _etag(self.objects[key]))

    def _read(self, key: str, headers: dict[str, str]) -> Answer:
        if not key:
            return 200, b"", {}
        content = self.objects.get(key)
        if content is None:
            return refusal(404)
        about = {"ETag": _etag(content), "Last-Modified": "Fri, 20 Nov 2026 12:00:00 GMT", "Accept-Ranges": "bytes"}
        if match := re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("range", "")):
            first, last = match.groups()
            size = len(content)
            start = int(first) if first else max(0, size - int(last))
            end = min(int(last) + 1, size) if first and last else size
            about["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
            return 206, content[start:end], about
        return 200, content, about

    def _put(self, key: str, query: dict[str, list[str]], headers: dict[str, str], body: bytes) -> Answer:
        if (headers.get("if-none-match") == "*" and key in self.objects) or not self._is_met(headers, "if-match", key):
            return refusal(412)
        if source := unquote(headers.get("x-amz-copy-source", "")).removeprefix(f"{BUCKET}/"):
            if not self._is_met(headers, "x-amz-copy-source-if-match", source):
                return refusal(412)
            self.objects[key] = self.objects[source]
            etag = escape(_etag(self.objects[key]))
            return 200, f"<CopyObjectResult {_NAMESPACE}><ETag>{etag}</ETag></CopyObjectResult>".encode(), {}
        if "uploadId" in query:
            self._uploads[query["uploadId"][0]][int(query["partNumber"][0])] = body
        else:
            self.objects[key] = body
        return 200, b"", {"ETag": _etag(body)}

    def _posted(self, key: str, query: dict[str, list[str]], body: bytes) -> Answer:
        if "delete" in query:
            names = _KEYS.findall(body.decode())
            for name in names:
                self.objects.pop(unescape(name), None)
            deleted = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            return 200, f"<DeleteResult {_NAMESPACE}>{deleted}</DeleteResult>".encode(), {}
        if "uploads" in query:
            upload = str(next(self._numbers))
            self._uploads[upload] = {}
            tag = "InitiateMultipartUploadResult"
            text = f"<Bucket>{BUCKET}</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId>"
        else:
            parts = self._uploads.pop(query["uploadId"][0])
            self.objects[key] = b"".join(parts[number] for number in sorted(parts))
            tag, text = "CompleteMultipartUploadResult", f"<Key>{escape(key)}</Key><ETag>&quot;0&quot;</ETag>"
        return 200, f"<{tag} {_NAMESPACE}>{text}</{tag}>".encode(), {}

    def _listed(self, query: dict[str, list[str]]) -> Answer:
        prefix, delimiter = (query.get(name, [""])[0] for name in ("prefix", "delimiter"))
        after = query.get("continuation-token", query.get("start-after", [""]))[0]
        keys = sorted(self.objects)
        entries: dict[str, str] = {}
        token = ""
        for key in islice(keys, max(bisect_left(keys, prefix), bisect_right(keys, after)), None):
            if not key.startswith(prefix):
                break
            folder = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key if folder < 0 else key[: folder + len(delimiter)]
            if name == after or name in entries:
                continue
            if len(entries) == _MOST_ENTRIES:
                token = f"<NextContinuationToken>{escape([*entries][-1])}</NextContinuationToken>"
                break
            entries[name] = f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            if folder < 0:
                content = self.objects[key]
                about = f"<Key>{escape(key)}</Key><Size>{len(content)}</Size><ETag>{escape(_etag(content))}</ETag>"
                entries[name] = f"<Contents>{about}<LastModified>{_MODIFIED}</LastModified></Contents>"
        about = f"<Name>{BUCKET}</Name><KeyCount>{len(entries)}</KeyCount>{token}"
        is_cut = f"<IsTruncated>{str(bool(token)).lower()}</IsTruncated>"
        listed = f"<ListBucketResult {_NAMESPACE}>{about}{is_cut}{''.join(entries.values())}</ListBucketResult>"
        return 200, listed.encode(), {}


def refusal(status: int) -> Answer:
    """Return the answer of S3 with an error."""
    code = _ERRORS[status]
    return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode(), {}


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def _decoded(body: bytes) -> bytes:
    """Return the content of a body in chunks, each of which may be signed: `aws-chunked`."""
    content, at = b"", 0
    while size := int(body[at : (end := body.index(b"\r\n", at))].partition(b";")[0], 16):
        content += body[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
    return content


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run the server, with an empty bucket, while the block runs."""
    store = ObjectStore()
    os.environ[VARIABLE] = SECRET

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def handle_expect_100(self) -> bool:
            """Answer `Expect: 100-continue` at once: the AWS SDK waits for it a second before it sends a body."""
            super().handle_expect_100()
            self.wfile.flush()
            return True

        def _serve(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self._body(headers)
            url = urlsplit(self.path)
            key = unquote(url.path).removeprefix(f"/{BUCKET}").removeprefix("/")
            fault = store.begin(self.command, key)
            if fault == "drop":
                self._drop()
                return
            if isinstance(fault, int):
                status, content, about = refusal(fault)
            else:
                query = parse_qs(url.query, keep_blank_values=True)
                status, content, about = store.answer(self.command, key, query, headers, body)
            if fault == "lose":
                self._drop()
                return
            store.received += len(body)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **about}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                store.sent += len(content)
                self.wfile.write(content[: len(content) // 2] if fault == "cut" else content)
            self.close_connection = self.close_connection or fault == "cut"

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 (the names that the base class looks up)

        def _body(self, headers: dict[str, str]) -> bytes:
            if headers.get("transfer-encoding") == "chunked":
                parts = []
                while size := int(self.rfile.readline().partition(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                body = b"".join(parts)
            else:
                body = self.rfile.read(int(headers.get("content-length") or 0))
            return _decoded(body) if "aws-chunked" in headers.get("content-encoding", "") else body

        def _drop(self) -> None:
            # Closing with data or time to linger sends no RST: https://man7.org/linux/man-pages/man7/socket.7.html
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            """Log nothing: clients close connections."""

    server = Server(("127.0.0.1", 0), Handler)
    store.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def catalog_file(store: ObjectStore, database: Path) -> str:
    """Return a catalog file of `type: iceberg` whose tables are in the bucket, and whose catalog is a SQLite file."""
    named = {**store.properties(), "s3.secret-access-key": f"${{secret:{VARIABLE}}}"}
    lines = "".join(f'      {name}: "{value}"\n' for name, value in named.items())
    return (
        "migrationExecutor:\n  type: iceberg\n  conf:\n    name: lake\n    properties:\n      type: sql\n"
        f"      uri: sqlite:///{database}\n      warehouse: s3://{BUCKET}/tables\n{lines}"
    )
