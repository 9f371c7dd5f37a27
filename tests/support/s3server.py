"""A server on loopback that answers ListObjectsV2 for one bucket, with as many keys as needed, and with faults.

It has neither objects nor signatures. `tests/unit/capabilities/load/test_listing.py` compares it with moto.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote_plus, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "shop"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
# Greater than every key that follows a prefix; it has no form in UTF-8 and stays inside this process.
_LAST = chr(0x10FFFF) + "\udfff"
# The status and text of each error, by its code.
_ERRORS = {
    "AccessDenied": (403, "Access Denied"),
    "ExpiredToken": (400, "The provided token has expired."),
    "InternalError": (500, "We encountered an internal error. Please try again."),
    "NoSuchBucket": (404, "The specified bucket does not exist"),
    "SlowDown": (503, "Please reduce your request rate."),
    "TooManyRequests": (429, "Please reduce your request rate."),
}


@dataclass
class S3Server:
    """What the server answers.

    Attributes:
        keys: ascending.
        page_size: keys of a page.
        latency: seconds before each answer.
        fault: what happens to a request, by its number from 0: the code of an error, `drop` (no answer), `truncate` (a part of
            the announced body), `part` (a part of a body of unknown length), `hang` (an answer after `ended`), `page` (a web
            page); None for the right answer.
        requests: the parameters of each.
        active, most_active: requests that are answered at this moment, and the most at one moment.
    """

    keys: Sequence[str] = ()
    page_size: int = 1000
    latency: float = 0
    fault: Callable[[int], str | None] = lambda number: None
    address: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)
    active: int = 0
    most_active: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def begin(self, parameters: dict[str, str]) -> int:
        """Count a request, and return its number."""
        with self.lock:
            self.requests.append(parameters)
            self.active += 1
            self.most_active = max(self.most_active, self.active)
            return len(self.requests) - 1

    def end(self) -> None:
        """Count an answer."""
        with self.lock:
            self.active -= 1

    def listed(self, parameters: dict[str, str]) -> str:
        """Return the document of a page."""
        prefix, token = parameters.get("prefix", ""), parameters.get("continuation-token")
        after = base64.b64decode(token).decode() if token else parameters.get("start-after", "")
        first = max(bisect_left(self.keys, prefix), bisect_right(self.keys, after) if after else 0)
        end = max(first, bisect_left(self.keys, prefix + _LAST))
        page = self.keys[first : min(first + int(parameters.get("max-keys", self.page_size)), end)]
        more = first + len(page) < end
        following = base64.b64encode(page[-1].encode()).decode() if more else ""
        return (
            f'{_HEAD}<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{BUCKET}</Name>'
            f"<Prefix>{_encoded(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount><EncodingType>url</EncodingType>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>"
            + (f"<NextContinuationToken>{following}</NextContinuationToken>" if more else "")
            + "".join(map(_entry, page))
            + "</ListBucketResult>"
        )


def etag(key: str) -> str:
    """Return the ETag of the object of a key."""
    return hashlib.md5(key.encode()).hexdigest()


def _encoded(text: str) -> str:
    return quote_plus(text, safe="/*-._")


@cache
def _entry(key: str) -> str:
    return (
        f"<Contents><Key>{_encoded(key)}</Key><LastModified>2026-11-20T12:03:11.000Z</LastModified>"
        f"<ETag>&quot;{etag(key)}&quot;</ETag><Size>{len(key)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
    )


def _refused(code: str) -> tuple[int, str]:
    status, message = _ERRORS[code]
    return status, f"{_HEAD}<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"


@contextmanager
def s3_server(keys: Sequence[str] = (), port: int = 0) -> Iterator[S3Server]:
    """Run a server with these keys while the block runs."""
    made = S3Server(sorted(keys))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            parameters = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
            number = made.begin(parameters)
            try:
                time.sleep(made.latency)
                with suppress(ConnectionError):  # The client has closed the connection.
                    self._answer(unquote(url.path).strip("/"), parameters, made.fault(number))
            finally:
                made.end()

        def _answer(self, bucket: str, parameters: dict[str, str], fault: str | None) -> None:
            if fault == "hang":
                made.ended.wait()
            if fault in ("drop", "hang"):
                self.close_connection = True
                return
            if fault == "page":
                self._send(200, "<html><body>welcome</body></html>")
            elif fault in _ERRORS or bucket != BUCKET:
                self._send(*_refused(fault or "NoSuchBucket"))
            else:
                self._send(200, made.listed(parameters), fault)

        def _send(self, status: int, text: str, fault: str | None = None) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/xml")
            if fault == "part":
                self.send_header("Connection", "close")
            else:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if fault else body)
            self.close_connection = self.close_connection or fault is not None

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 512

        def handle_error(self, *_: object) -> None:
            """Log nothing: clients close connections."""

    server = Server(("127.0.0.1", port), Handler)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
