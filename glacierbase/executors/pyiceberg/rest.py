"""PyIceberg's REST catalog: where its requests go, how long they take, which are repeated, and how large an answer may be."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from threading import local
from typing import Any
from urllib.parse import urlsplit

from pyiceberg.catalog.rest import OAUTH2_SERVER_URI, Endpoints, TableResponse
from pyiceberg.catalog.rest import RestCatalog as _RestCatalog
from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError
from requests import PreparedRequest, Response, Session
from requests.exceptions import ConnectionError as NotRead
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProtocolError

from glacierbase.errors import OutcomeUnknown
from glacierbase.executors.pyiceberg.guard import Guarded, check_implementations
from glacierbase.executors.pyiceberg.metadata import REFUSED, invalid, with_kept_types
from glacierbase.executors.pyiceberg.opened import WAIT_SECONDS
from glacierbase.model.logins import client_of
from glacierbase.run.waiting import CALL_SECONDS
from glacierbase.secrets import register_answer

# Iceberg's properties and defaults in milliseconds. 0 waits without limit, as in the engine.
_CONNECT = ("rest.client.connection-timeout-ms", "10000")
_ANSWER = ("rest.client.socket-timeout-ms", "30000")
# The limit of an uncompressed answer: the metadata of a table with 70,000 snapshots. PyIceberg's objects take a multiple of it.
LARGEST = 64 * 2**20
_CHUNK = 2**16
_GZIP = ("gzip", "x-gzip")
# What the server's answers may set; of all other keys, the catalog file's value or PyIceberg's default counts. The keys of files
# are those by which a server places files and hands out credentials. Not listed: what signs requests, chooses certificates, roles
# and profiles of this machine, requests tokens for another audience, or leads credentials elsewhere.
_OF_FILES = (
    r"s3\.(endpoint|region|access-key-id|secret-access-key|session-token|force-virtual-addressing)|client\.region"
    r"|s3\.(signer|signer\.uri|signer\.endpoint|retry-strategy-impl)|py-io-impl"
    r"|gcs\.(project-id|oauth2\.token|oauth2\.token-expires-at)|adls\.sas-token(\..+)?"
)
_OF_CATALOG = (
    r"uri|prefix|warehouse|oauth2-server-uri|token|namespace-separator|view-endpoints-supported"
    r"|header\.X-Iceberg-Access-Delegation"
)
_SETS_FILES = re.compile(_OF_FILES)
_SETS = re.compile(f"{_OF_CATALOG}|{_OF_FILES}")
# The credentials for S3: of one source only, because a session token belongs to its key.
_S3_LOGIN = ("s3.access-key-id", "s3.secret-access-key")
# With a service that signs, this access to files sends no credentials to the store.
_UNSIGNED_FILES = "pyiceberg.io.fsspec.FsspecFileIO"
_OWN_LOGIN = (
    *_S3_LOGIN,
    "s3.session-token",
    *(f"client.{key}" for key in ("access-key-id", "secret-access-key", "session-token")),
)
_PORTS = {"http": 80, "https": 443}
# Answers after which a request may succeed. PyIceberg repeats a request after a refused token only.
_BUSY = (429, 500, 502, 503, 504)
# Answers that prove that the request had no effect: the errors of the client, and that of a server without such a request. A
# proxy may answer 408 in place of the server. One that sends a change a second time, because the first answer was lost, gets 404
# or 409 where the first one took effect.
_WITHOUT_EFFECT = frozenset((*range(400, 500), 501)) - {404, 408, 409}
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0
# The waits before a read is repeated whose connection the server closed before it had answered.
_RESET_PAUSES_SECONDS = (0.1, 0.2, 0.4)


class RestCatalog(Guarded, _RestCatalog):  # type: ignore[misc]
    """Restrict every request, including those for the configuration and for a token; PyIceberg bounds none."""

    adds_properties = False
    notes_changes = True
    properties: dict[str, Any]

    def __init__(self, name: str, wait_seconds: float = WAIT_SECONDS, **properties: str) -> None:
        """Args:
        wait_seconds: the limit of the waits of one request.
        """
        self.wait_seconds = wait_seconds
        # Read from the catalog file, because the server's answer replaces the catalog's properties.
        connect, answer = (int(properties.get(*timeout)) / 1000 or None for timeout in (_CONNECT, _ANSWER))
        self._timeouts = connect, answer
        self._origins = Origins(name, properties["uri"], properties.get("oauth2-server-uri", properties["uri"]))
        self._stores = Origins(name, properties.get("s3.endpoint", ""))
        # Properties of files that the server's configuration sets.
        self._configured: dict[str, Any] = {}
        self._client_id = client_of(properties.get("credential", ""))
        self._login: tuple[str, Any] | None = None
        # The last answer that a thread got.
        self._answered = local()
        # The time-outs of this catalog are the only bound that the catalog file gives for the server's work.
        self.commit_seconds = sum(timeout or CALL_SECONDS for timeout in self._timeouts)
        super().__init__(name, **properties)
        self.server = str(self.properties.get("prefix", ""))  # Such as the branch of Nessie.

    def _fetch_config(self) -> None:
        """Keep of the server's configuration, its defaults included, only what it may set."""
        own = self.properties
        super()._fetch_config()
        check_implementations(self.properties, f"the server of the catalog {self.name}")
        answered = {
            key: value for key, value in self.properties.items() if _SETS.fullmatch(key) and own.get(key) != value
        }
        self._configured = {key: value for key, value in answered.items() if _SETS_FILES.fullmatch(key)}
        self.properties = {**own, **answered}

    def _create_session(self) -> Any:
        session = super()._create_session()
        # The adapter of SigV4 would wait as long as a server requests, and read its answer.
        for adapter in session.adapters.values():
            adapter.max_retries.respect_retry_after_header = False
        return session

    def _config_headers(self, session: Any) -> None:
        """Restrict the session: PyIceberg calls this first with every session, before it requests a token."""
        super()._config_headers(session)
        restrict(session, self._origins, self._timeouts, self.wait_seconds, self._client_id)
        session.send = partial(self._noted, session.send)

    def _create_legacy_oauth2_auth_manager(self, session: Any) -> Any:
        """Return what has the token: the one so far, unless the server's configuration changes the login."""
        login = self.auth_url, self.properties.get("token")
        if self._login != login:
            self._login = login
            return super()._create_legacy_oauth2_auth_manager(session)
        return self._auth_manager

    def another(self, properties: Mapping[str, str], wait_seconds: float) -> RestCatalog:  # noqa: ARG002 (the port's)
        """Open a connection of its own with the same token and the same answer of the server to the first one."""
        made = copy(self)
        made.wait_seconds, made.in_doubt, made.statement = wait_seconds, True, None
        made._session = made._create_session()
        return made

    @property
    def auth_url(self) -> str:
        """Return the address for tokens: below the catalog's address unless `oauth2-server-uri` names it, as in Iceberg.

        PyIceberg returns the same, with a DeprecationWarning that its default will be removed.
        """
        return str(self.properties.get(OAUTH2_SERVER_URI) or self.url(Endpoints.get_token, prefixed=False))

    def _noted(self, send: Callable[..., Response], request: PreparedRequest, **options: Any) -> Response:
        """Send a request, and note whether it may have changed something."""
        before = self.in_doubt
        self.in_doubt = before or not _changes_nothing(request)
        try:
            response = send(request, **options)
        except NotRead as error:
            if _was_not_sent(error):
                self.in_doubt = before
            raise
        if response.status_code in _WITHOUT_EFFECT:
            self.in_doubt = before
        self._answered.content = response.content
        return response

    def load_table(self, identifier: Any) -> Any:
        """Load a table; once more if PyIceberg refuses the answer, to read it with the types that PyIceberg does not know."""
        try:
            table = super().load_table(identifier)
            table.answer = self._answered.content
            return table
        except REFUSED as error:
            response = self._session.get(self.url(Endpoints.load_table, **self._split_identifier_for_path(identifier)))
            response.raise_for_status()
            with invalid(error):
                answer = response.json()
                loaded = TableResponse.model_validate(answer | {"metadata": with_kept_types(answer["metadata"])})
            return self._response_to_table(self.identifier_to_tuple(identifier), loaded)

    def raw_metadata(self, table: Any) -> Any:
        """Return what the server sent; only where it answered a commit, the file is read."""
        return json.loads(table.answer)["metadata"] if hasattr(table, "answer") else super().raw_metadata(table)

    def new_replacement(self, identifier: Any, schema: Any, location: str | None, spec: Any, properties: Any) -> None:
        """Create a table in two requests, as Iceberg does: the server may give it other properties."""
        staged = self.create_table_transaction(identifier, schema, location, spec, properties=properties)
        try:
            staged.commit_transaction()
        except CommitFailedException as error:
            raise TableAlreadyExistsError(f"{'.'.join(identifier)} already exists") from error

    def _of_files(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the server sets for the files of a table, after a check of the addresses that get credentials.

        The service that signs requests to S3 gets the token and the headers. A store gets requests with credentials: those of the
        server, if it hands out any, else those of the catalog file or of this machine.
        """
        answered = self._configured | {key: value for key, value in properties.items() if _SETS_FILES.fullmatch(key)}
        every = {**self.properties, **answered}
        if every.get("s3.signer"):
            self._origins.check(str(every.get("s3.signer.uri") or every["uri"]))
        if all(map(answered.get, _S3_LOGIN)):
            return dict.fromkeys(_OWN_LOGIN, "") | answered
        if answered.get("s3.endpoint") and not (every.get("s3.signer") and every.get("py-io-impl") == _UNSIGNED_FILES):
            self._stores.check(str(answered["s3.endpoint"]))
        return answered


class Origins:
    """The addresses that the catalog file names. Only they get requests, which carry headers, credentials and tokens."""

    def __init__(self, catalog: str, *named: str) -> None:
        self._catalog = catalog
        self._named = named

    def check(self, url: str) -> None:
        """Check an address, to which nothing has been sent yet.

        Raises:
            OutcomeUnknown: the catalog file names no address with this scheme, host and port.
        """
        if _origin(url) in map(_origin, self._named):
            return
        scheme, host, port = _origin(url)
        raise OutcomeUnknown(
            "OtherOrigin",
            f"the server of the catalog {self._catalog} leads to {scheme}://{host}:{port}, which the catalog file does not "
            "name; nothing was sent there",
            hint=f"if it is the catalog's, set `spark.sql.catalog.{self._catalog}.uri` to it; for tokens, `oauth2-server-uri`; for "
            "files, `s3.endpoint`",
        )


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def restrict(
    session: Session,
    origins: Origins,
    timeouts: tuple[float | None, float | None],
    wait_seconds: float,
    client_id: str,
) -> None:
    """Check the address of each request of a session, redirected ones included, and bound the time and the size of each answer.

    Args:
        timeouts: in seconds, to connect and to answer.
        wait_seconds: the limit of the waits of one request.
        client_id: of the credential, for the message of a refusal.
    """
    session.headers["Accept-Encoding"] = "gzip"
    session.hooks["response"].append(_read)
    session.request = partial(session.request, timeout=timeouts)  # type: ignore[method-assign]
    session.send = partial(_send, session.send, origins, wait_seconds, client_id)  # type: ignore[method-assign]


def _send(
    send: Callable[..., Response],
    origins: Origins,
    wait_seconds: float,
    client_id: str,
    request: PreparedRequest,
    **options: Any,
) -> Response:
    """Send a request, and repeat it with back-off while the server is busy and the request changes nothing.

    A change may have taken effect. It is answered after the wait that the server requests: the caller reads what is there first.
    """
    origins.check(request.url or "")
    deadline, pause = time.monotonic() + wait_seconds, _FIRST_PAUSE_SECONDS
    while True:
        response = _answered(send, request, **options)
        vars(response)["client_id"] = client_id
        wait = max(pause, _requested_seconds(response)) if _changes_nothing(request) else _requested_seconds(response)
        if response.status_code not in _BUSY or time.monotonic() + wait > deadline:
            return response
        time.sleep(wait)
        if not _changes_nothing(request):
            return response
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _answered(send: Callable[..., Response], request: PreparedRequest, **options: Any) -> Response:
    """Send a request, and repeat it some times while the server closes the connection, if the request changes nothing."""
    for pause in _RESET_PAUSES_SECONDS:
        try:
            return send(request, **options)
        except NotRead as error:  # Also the error for a server that cannot be reached, which is an answer soon enough.
            if not (_changes_nothing(request) and isinstance(next(iter(error.args), None), ProtocolError)):
                raise
            time.sleep(pause)
    return send(request, **options)


def _was_not_sent(error: NotRead) -> bool:
    """Return whether there was no connection on which a request could be sent."""
    reason = getattr(next(iter(error.args), None), "reason", None)
    return isinstance(reason, (NewConnectionError, ConnectTimeoutError))


def _changes_nothing(request: PreparedRequest) -> bool:
    """Return whether the request reads, or fetches a token. Only that is sent as a form."""
    return request.method in ("GET", "HEAD") or "form" in str(request.headers.get("Content-type"))


def _requested_seconds(response: Response) -> float:
    """Return the wait that the server requests; 0 without one, or where it is a date."""
    seconds = response.headers.get("Retry-After", "")
    return float(seconds) if re.fullmatch(r"\d{1,9}", seconds) else 0.0


def _read(response: Response, **_: Any) -> None:
    """Read an answer before `requests` does, which has no limit.

    Raises:
        OutcomeUnknown: the answer is larger than `LARGEST`, or not compressed by gzip but in another way.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", *_GZIP):
        raise _refused(response, f"is compressed with {encoding[:40]!r}, which was not requested")
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
                raise _refused(response, "continues after the end of the compressed data")
    except (HTTPError, zlib.error) as error:
        raise NotRead(error, request=response.request) from error
    register_answer(content)
    response._content = bytes(content)
    response._content_consumed = True
    response.encoding = "utf-8"  # JSON. Without a header, `requests` would guess the encoding from the whole text.


def _refused(response: Response, why: str) -> OutcomeUnknown:
    response.close()
    url = str(response.url).partition("?")[0]
    hint = "expire snapshots of the table if it has many; otherwise find out what answers at this address"
    return OutcomeUnknown("AnswerRefused", f"{url}: the answer {why}; the rest was not read", hint=hint)
