"""The parts of the interfaces of GitHub and GitLab that write a comment, on the loopback address."""

from __future__ import annotations

import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_BOT = "github-actions[bot]"
_PAGE = 100
# Answers of a server: a status, and a JSON value, bytes or the address of a redirection.
Answer = tuple[int, Any]


@dataclass
class CommentServer:
    """A repository `acme/lake` with pull request 7, or a project 5 with merge request 7.

    Attributes:
        comments: by number; each with its author and text.
        artifact: the files in the artifact of run 1; None without an artifact.
        size: of the artifact, as the service reports it; default its size.
        pull: what pull request 7 is now.
        tokens: the tokens of the requests, by the service: `api` or `storage`.
    """

    address: str = ""
    storage: str = ""
    comments: dict[int, tuple[str, str]] = field(default_factory=dict)
    artifact: Mapping[str, str | bytes] | None = None
    size: int | None = None
    pull: dict[str, Any] = field(default_factory=lambda: {"state": "open", "head": {"sha": "abc"}})
    tokens: dict[str, set[str | None]] = field(default_factory=lambda: {"api": set(), "storage": set()})

    def answer(self, method: str, path: str, page: int, body: Mapping[str, str]) -> Answer:
        path = path.removeprefix("/repos/acme/lake/").removeprefix("/projects/5/").removeprefix("/")
        if found := re.fullmatch(r"(?:issues|merge_requests/7)/(?:comments|notes)/(\d+)", path):
            assert method in ("PATCH", "PUT")
            self.comments[int(found[1])] = (self.comments[int(found[1])][0], body["body"])
            return 200, {}
        if path in ("issues/7/comments", "merge_requests/7/notes"):
            return self._comments(method, page, body)
        answers: dict[str, Callable[[], Answer]] = {
            "actions/runs/1/artifacts": lambda: (200, {"artifacts": self._artifacts()}),
            "actions/artifacts/2/zip": lambda: (302, self.storage),
            "pulls/7": lambda: (200, self.pull),
            "user": lambda: (200, {"id": 3}),
        }
        return answers[path]() if path in answers else (404, {})

    def _artifacts(self) -> list[dict[str, int]]:
        size = len(self.zipped()) if self.size is None else self.size
        return [] if self.artifact is None else [{"id": 2, "size_in_bytes": size}]

    def _comments(self, method: str, page: int, body: Mapping[str, str]) -> Answer:
        if method == "POST":
            self.comments[max(self.comments, default=0) + 1] = (_BOT, body["body"])
            return 201, {}
        listed = [
            {"id": number, "body": text, "user": {"login": author}, "author": {"id": 3 if author == _BOT else 4}}
            for number, (author, text) in self.comments.items()
        ]
        return 200, listed[_PAGE * (page - 1) : _PAGE * page]

    def zipped(self) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in (self.artifact or {}).items():
                archive.writestr(name, content)
        return file.getvalue()


@contextmanager
def comment_server() -> Iterator[CommentServer]:
    """Serve until the block ends. The artifact is on a server of its own, as with the services."""
    state = CommentServer()
    with _serving(_api(state)) as state.address, _serving(_storage(state)) as state.storage:
        yield state


def _api(state: CommentServer) -> type[BaseHTTPRequestHandler]:
    class Api(_Handler):
        def answer(self) -> None:
            state.tokens["api"].add(self.headers["Authorization"] or self.headers["PRIVATE-TOKEN"])
            length = int(self.headers["Content-Length"] or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            path, _, query = self.path.partition("?")
            page = re.search(r"\bpage=(\d+)", query)
            status, content = state.answer(self.command, path, int(page[1]) if page else 1, body)
            self.reply(
                status, b"" if status == 302 else json.dumps(content).encode(), content if status == 302 else None
            )

    return Api


def _storage(state: CommentServer) -> type[BaseHTTPRequestHandler]:
    class Storage(_Handler):
        def answer(self) -> None:
            state.tokens["storage"].add(self.headers["Authorization"])
            self.reply(200, state.zipped())

    return Storage


class _Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815 (the names of http.server)

    def reply(self, status: int, content: bytes, location: str | None = None) -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
