"""A proxy in front of a REST catalog: it checks tokens and headers, vends credentials, and answers errors in the server's place."""

from __future__ import annotations

import base64
import json
import re
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.catalog_files import LOGIN
from tests.support.pythoncatalog import refusal

TOKENS = "POST /v1/oauth/tokens"
RESET, CUT, CLOSED, GARBAGE = range(4)
# How long a signature is accepted; AWS accepts one for 5 minutes.
_SIGNED_SECONDS = 4
_BUSY = {429: "TooManyRequestsException", 503: "SlowDownException", 403: "ForbiddenException"}
# Method, path with query, and body of a request, to status and JSON.
Answer = Callable[[str, str, str], tuple[int, str]]


@dataclass
class Fault:
    """Answers in place of the server's.

    Attributes:
        request: matches the method and path of a request.
        statuses: one for each answer; when they are used up, the server answers. `RESET` resets the connection instead, `CUT` does
            so after a half of the server's answer, `CLOSED` closes it, and `GARBAGE` writes what is no answer of HTTP.
        is_after: whether the server executes the request before.
        retry_after: the header of that name.
    """

    request: str
    statuses: list[int]
    is_after: bool = False
    retry_after: str | None = None


@dataclass
class CheckingProxy:
    """What the proxy checks and does.

    Attributes:
        answer: the server.
        token_seconds: how long a token is accepted.
        headers: that each request must have.
        aws_key: id and secret of the key that must have signed each request, in place of a token.
        clock: the time by which a signature expires.
        vends: returns the credentials that go with the next table.
        faults: the first that matches a request is used.
        breaks: the index of the first request that is answered by a status of `Fault`, and the status; so are all after it.
        log: method, path and status of each answer so far.
    """

    answer: Answer
    token_seconds: float = 3600
    headers: dict[str, str] = field(default_factory=dict)
    aws_key: tuple[str, str] | None = None
    clock: Callable[[], float] = time.time
    vends: Callable[[], dict[str, str]] = dict
    faults: list[Fault] = field(default_factory=list)
    breaks: tuple[int, int] | None = None
    log: list[tuple[str, int]] = field(default_factory=list)
    received: list[dict[str, str]] = field(default_factory=list)
    address: str = ""
    _tokens: dict[str, float] = field(default_factory=dict)

    def statuses(self, request: str) -> list[int]:
        """Return the status of each answer to requests that match."""
        return [status for made, status in self.log if re.search(request, made)]

    def expire_tokens(self) -> None:
        """Accept none of the tokens so far any more."""
        self._tokens.update(dict.fromkeys(self._tokens, 0))

    def respond(self, method: str, url: str, body: str, headers: dict[str, str]) -> tuple[int, str, dict[str, str]]:
        """Return status, JSON and headers of the answer to a request."""
        request = f"{method} {urlsplit(url).path}"
        if self.breaks and len(self.log) >= self.breaks[0]:
            self.log.append((request, self.breaks[1]))
            return self.breaks[1], "", {}
        fault = next((fault for fault in self.faults if fault.statuses and re.search(fault.request, request)), None)
        status, text = (0, "") if fault and not fault.is_after else self._checked(request, method, url, body, headers)
        more: dict[str, str] = {}
        if fault:
            status = fault.statuses.pop(0)
            if status not in (RESET, CUT, CLOSED, GARBAGE):
                status, text = refusal(status, _BUSY.get(status, "ServerError"), "not now")
            more = {"Retry-After": fault.retry_after} if fault.retry_after else {}
        self.log.append((request, status))
        self.received.append(headers)
        return status, text, more

    def _checked(self, request: str, method: str, url: str, body: str, headers: dict[str, str]) -> tuple[int, str]:
        if request == TOKENS:
            return self._log_in(parse_qs(body), headers.get("Authorization", ""))
        if self.aws_key:
            return self._signed(self.aws_key, method, url, body, headers)
        expires = self._tokens.get(headers.get("Authorization", "").removeprefix("Bearer "), 0)
        if expires < time.monotonic():
            return refusal(401, "NotAuthorizedException", "the token has expired")
        if lacking := [name for name, value in self.headers.items() if headers.get(name) != value]:
            return refusal(400, "BadRequestException", f"the request lacks {', '.join(lacking)}")
        return self._vended(method, url, body)

    def _signed(
        self, key: tuple[str, str], method: str, url: str, body: str, headers: dict[str, str]
    ) -> tuple[int, str]:
        """Answer a request whose signature is right, and made within the last seconds."""
        made = datetime.strptime(
            f"{headers.get('X-Amz-Date', '19700101T000000Z')}+0000", "%Y%m%dT%H%M%SZ%z"
        ).timestamp()
        is_new = self.clock() - made < _SIGNED_SECONDS
        if is_new and signature_of(method, f"{self.address}{url}", body, headers, key) == headers["Authorization"]:
            return self._vended(method, url, body)
        return refusal(403, "ForbiddenException", "the signature does not match, or has expired")

    def _vended(self, method: str, url: str, body: str) -> tuple[int, str]:
        status, text = self.answer(method, url, body)
        document = json.loads(text) if status == 200 else {}
        if "config" in document:
            text = json.dumps(document | {"config": document["config"] | self.vends()})
        return status, text

    def _log_in(self, form: dict[str, list[str]], header: str) -> tuple[int, str]:
        """Answer the credential of the client, or its earlier token, with a new token."""
        user, _, secret = LOGIN.partition(":")
        basic = f"Basic {base64.b64encode(LOGIN.encode()).decode()}"
        is_known = (form.get("client_id"), form.get("client_secret")) == ([user], [secret]) or header == basic
        is_exchange = form.get("subject_token", [""])[0] in self._tokens
        if not is_known and not is_exchange:
            return 401, json.dumps({"error": "invalid_client", "error_description": "the secret is unknown"})
        token = f"canary-{uuid.uuid4()}"
        self._tokens[token] = time.monotonic() + self.token_seconds
        kind = "urn:ietf:params:oauth:token-type:access_token"
        answer = {"access_token": token, "token_type": "bearer", "issued_token_type": kind}
        return 200, json.dumps(answer | {"expires_in": int(self.token_seconds)})


def signature_of(method: str, url: str, body: str, headers: dict[str, str], key: tuple[str, str]) -> str:
    """Return the header `Authorization` of a request that was signed with a key at its `X-Amz-Date`, with the same headers."""
    _, _, signed = headers["Authorization"].partition(" ")
    parts = dict(part.split("=", 1) for part in signed.split(", "))
    _, _, region, service, _ = parts["Credential"].split("/")
    signer = SigV4Auth(Credentials(*key), service, region)
    address, _, query = url.partition("?")
    names = parts["SignedHeaders"].split(";")
    chosen = {name: value for name, value in headers.items() if name.lower() in names}
    request = AWSRequest(method, address, chosen, body.encode(), dict(parse_qsl(query)))
    request.context["timestamp"] = headers["X-Amz-Date"]
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return (
        f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )


@contextmanager
def checking_proxy(answer: Answer) -> Iterator[CheckingProxy]:
    """Run a proxy in front of a server while the block runs."""
    proxy = CheckingProxy(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, text, more = proxy.respond(self.command, self.path, body, dict(self.headers))
            content = text.encode()
            if status in (CLOSED, GARBAGE):
                self.close_connection = True
                self.wfile.write(b"\x15\x03\x01 \xff garbage\r\n" if status == GARBAGE else b"")
                return
            if status in (RESET, CUT):
                # Closing with data or time to linger sends no RST: https://man7.org/linux/man-pages/man7/socket.7.html
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                if status == RESET:
                    self.connection.close()
                    return
            self.send_response(200 if status == CUT else status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(content)),
                **more,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content[: len(content) // 2] if status == CUT else content)

        do_GET = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 (the names that the base class looks up)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
