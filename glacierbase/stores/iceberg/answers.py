"""The requests of a REST catalog: to which addresses they go, how long they take, and how large an answer may be."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from requests import PreparedRequest, Response, Session
from requests.exceptions import ConnectionError as NotRead
from urllib3.exceptions import HTTPError

from glacierbase.errors import OutcomeUnknown

# Of an uncompressed answer. The metadata of a table with 70,000 snapshots has this size; PyIceberg's objects take a multiple of it.
LARGEST = 64 * 2**20
_CHUNK = 2**16
_GZIP = ("gzip", "x-gzip")
_PORTS = {"http": 80, "https": 443}


class Origins:
    """The addresses that the catalog file names, which alone get requests: they carry its headers, credentials and tokens."""

    def __init__(self, catalog: str, *named: str) -> None:
        self._catalog = catalog
        self._named = named

    def check(self, url: str) -> None:
        """Check an address, to which nothing has been sent yet.

        Raises:
            OutcomeUnknown: it has another scheme, host or port than those that the catalog file names.
        """
        if _origin(url) in map(_origin, self._named):
            return
        scheme, host, port = _origin(url)
        raise OutcomeUnknown(
            "OtherOrigin",
            f"the server of the catalog {self._catalog} leads to {scheme}://{host}:{port}, which the catalog file does not "
            "name; nothing was sent there",
            hint=f"if it is the catalog's, set `spark.sql.catalog.{self._catalog}.uri` to it; for tokens, `oauth2-server-uri`",
        )


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def restrict(session: Session, origins: Origins, timeouts: tuple[float | None, float | None]) -> None:
    """Check the address of each request of a session, redirected ones included, and bound the time and the size of each answer.

    Args:
        timeouts: in seconds, to connect and to answer.
    """
    session.headers["Accept-Encoding"] = "gzip"
    session.hooks["response"].append(_read)
    session.request = partial(session.request, timeout=timeouts)  # type: ignore[method-assign]
    session.send = partial(_send, session.send, origins)  # type: ignore[method-assign]


def _send(send: Callable[..., Response], origins: Origins, request: PreparedRequest, **options: Any) -> Response:
    origins.check(request.url or "")
    return send(request, **options)


def _read(response: Response, **_: Any) -> None:
    """Read an answer, before `requests` does, which would read all of it.

    Raises:
        OutcomeUnknown: it is larger than `LARGEST`, or compressed in another way than by gzip.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", *_GZIP):
        raise _refused(response, f"is compressed with {encoding[:40]!r}, which was not asked for")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding in _GZIP else None
    content, size = bytearray(), 0
    try:
        # Not `stream`, which reads a line of any length for the size of a chunk.
        while part := response.raw.read(_CHUNK, decode_content=False):
            size += len(part)
            content += decoder.decompress(part, LARGEST + 1 - len(content)) if decoder else part
            if max(size, len(content)) > LARGEST:
                raise _refused(response, f"is larger than {LARGEST // 2**20} MiB")
            if decoder and decoder.unused_data:
                raise _refused(response, "goes on behind the end of what is compressed")
    except (HTTPError, zlib.error) as error:
        raise NotRead(error, request=response.request) from error
    response._content = bytes(content)
    response._content_consumed = True
    response.encoding = "utf-8"  # Of JSON. Without a header, `requests` would guess it from the whole text.


def _refused(response: Response, why: str) -> OutcomeUnknown:
    response.close()
    url = str(response.url).partition("?")[0]
    hint = "expire snapshots of the table if it has many; otherwise find out what answers at this address"
    return OutcomeUnknown("AnswerRefused", f"{url}: the answer {why}; the rest was not read", hint=hint)
