"""A prefix of a bucket for one test: of S3, or of moto on loopback.

Moto has here what it lacks of S3: conditions of copies and deletes. It counts requests, and fails on demand.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

KEY, SECRET = "key", "canary-of-the-moto-store"
_REFUSED = b"<Error><Code>%s</Code><Message>%s</Message></Error>"
_CODES = {403: "403 Forbidden", 404: "404 Not Found", 412: "412 Precondition Failed", 503: "503 Slow Down"}
_NAMES = {403: b"AccessDenied", 404: b"NoSuchKey", 412: b"PreconditionFailed", 503: b"SlowDown"}


@dataclass
class Store:
    """A bucket with versions, of the server that the environment of this process names.

    Attributes:
        prefix: of all keys of a test; empty, or with a slash at its end.
    """

    bucket: str = field(default_factory=lambda: f"shop-{uuid.uuid4().hex[:8]}")
    prefix: str = ""

    def client(self) -> Any:
        """Return a client of boto3."""
        return boto3.client("s3")

    def put_all(self, objects: Mapping[str, bytes]) -> None:
        """Write objects."""
        s3 = self.client()
        for key, content in objects.items():
            s3.put_object(Bucket=self.bucket, Key=key, Body=content)

    def contents(self, prefix: str) -> dict[str, bytes]:
        """Return the objects below a prefix."""
        s3 = self.client()
        return {key: s3.get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in self.keys(prefix)}

    def keys(self, prefix: str) -> list[str]:
        """Return the keys below a prefix."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", ())]


@contextmanager
def own_prefix(address: str) -> Iterator[Store]:
    """Yield a new prefix below `s3://BUCKET/PREFIX`, and delete all versions below it afterwards."""
    bucket, _, folder = address.removeprefix("s3://").partition("/")
    store = Store(bucket, f"{folder.strip('/')}/rekey-{uuid.uuid4().hex}/".removeprefix("/"))
    try:
        yield store
    finally:
        s3 = store.client()
        pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=store.prefix)
        entries = [entry for page in pages for kind in ("Versions", "DeleteMarkers") for entry in page.get(kind, ())]
        versions = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in entries]
        for first in range(0, len(versions), 1000):
            s3.delete_objects(Bucket=bucket, Delete={"Objects": versions[first : first + 1000]})


@dataclass
class MotoStore(Store):
    """The server, and a bucket of its own: all servers of a process have one memory.

    Attributes:
        fault: returns the status of an error for a request, by its kind and key, instead of the answer; None for the answer.
        requests: by kind: GET, HEAD, LIST, COPY, PUT, POST, DELETE.
        sees: called before each request is answered, with kind and key.
    """

    address: str = ""
    fault: Callable[[str, str], int | None] = lambda *_: None
    sees: Callable[[str, str], object] = lambda *_: None
    requests: Counter[str] = field(default_factory=Counter)
    _lock: Any = field(default_factory=threading.RLock)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a client finds the server."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def client(self) -> Any:
        """Return a client of boto3."""
        return boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )

    def put_all(self, objects: Mapping[str, bytes]) -> None:
        """Write objects into the memory of the server, which takes no requests."""
        for key, content in objects.items():
            self._backend.put_object(self.bucket, key, content)

    def contents(self, prefix: str) -> dict[str, bytes]:
        """Return the objects below a prefix from the memory of the server."""
        return {key: self._backend.get_object(self.bucket, key).value for key in self.keys(prefix)}

    def answer(self, application: Any, request: dict[str, Any], start: Any) -> Iterable[bytes]:
        """Answer a request of WSGI."""
        method = request["REQUEST_METHOD"]
        key = unquote(request["PATH_INFO"].encode("latin-1").decode()).removeprefix(f"/{self.bucket}").removeprefix("/")
        source = request.get("HTTP_X_AMZ_COPY_SOURCE")
        kind = "COPY" if source else "LIST" if method == "GET" and not key else method
        with self._lock:
            self.requests[kind] += 1
        self.sees(kind, key)
        status = self.fault(kind, key)
        with self._lock:  # A condition and what it is for are one step, as at S3.
            status = status or self._broken(method, key, request, is_copy=source is not None)
            if status is None:
                return list(application(request, start))
        request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0))
        start(_CODES[status], [("Content-Type", "application/xml")])
        return [_REFUSED % (_NAMES[status], _NAMES[status])]

    def _broken(self, method: str, key: str, request: dict[str, Any], *, is_copy: bool) -> int | None:
        wanted, absent = request.pop("HTTP_IF_MATCH", None), request.get("HTTP_IF_NONE_MATCH")
        if method == "GET" or not (is_copy or method == "DELETE"):
            if wanted is not None:
                request["HTTP_IF_MATCH"] = wanted
            return None
        source = unquote(request.get("HTTP_X_AMZ_COPY_SOURCE", "")).removeprefix(f"{self.bucket}/")
        listed = request.get("HTTP_X_AMZ_COPY_SOURCE_IF_MATCH")
        if listed is not None and self._etag(source) not in (None, listed):
            return 412
        present = self._etag(key)
        if wanted is not None and present is None:
            return 404
        is_broken = (absent == "*" and present is not None) or (wanted is not None and present != wanted)
        return 412 if is_broken else None

    def _etag(self, key: str) -> str | None:
        bucket = self._backend.buckets.get(self.bucket)
        # A marker of a deleted object has none.
        return getattr(bucket.keys.get(key), "etag", None) if bucket else None

    @property
    def _backend(self) -> Any:
        from moto.s3.models import s3_backends

        return next(iter(s3_backends.values()))["aws"]


@contextmanager
def moto_store(*, has_versions: bool = False) -> Iterator[MotoStore]:
    """Run the server, with an empty bucket, while the block runs."""
    store = MotoStore()
    application = DomainDispatcherApplication(create_backend_app)

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, *_: object) -> None:
            """Log nothing."""

    server = make_server(
        "127.0.0.1",
        0,
        lambda request, start: store.answer(application, request, start),
        threaded=True,
        request_handler=Quiet,
    )
    server.daemon_threads = True  # type: ignore[attr-defined]
    store.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        s3 = store.client()
        s3.create_bucket(Bucket=store.bucket)
        if has_versions:
            s3.put_bucket_versioning(Bucket=store.bucket, VersioningConfiguration={"Status": "Enabled"})
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
