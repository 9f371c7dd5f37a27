"""The client of the object store for `layout ls`: pages of keys, repeated requests, errors.

The client is that of boto3, made by botocore, with the user's configuration of both: credentials, profile, region, endpoint.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event, Lock
from typing import Any
from xml.etree import ElementTree

from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.ranges import KeyRange
from glacierbase.errors import ConfigurationError, EngineUnavailable, GlacierbaseError
from glacierbase.model.command import command
from glacierbase.model.escape import on_one_line

# Of one request; the waits between them are at most 66 s altogether.
_ATTEMPTS = 10
# Until the store has answered once: its address is more likely wrong than its service interrupted.
_FIRST_ATTEMPTS = 3
_FIRST_WAIT_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 20.0
_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 30
# Refusals that end by themselves; https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
_PASSING_STATUS = (429, 500, 502, 503, 504)
_PASSING_CODES = ("RequestLimitExceeded", "RequestTimeout", "SlowDown", "Throttling", "ThrottlingException")
_WRONG_LOGIN = ("ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "RequestTimeTooSkewed", "SignatureDoesNotMatch")
_OPERATION = "ListObjectsV2"
# The parameter for the size of the first page.
_ONE_KEY, _ALL_KEYS = {"MaxKeys": 1}, dict[str, int]()
_OTHER_SERVER = "correct the name, or pass the server by --endpoint URL"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as the store lists it. `last_modified` is text as the store wrote it."""

    key: str
    size: int
    last_modified: str
    etag: str


Page = Sequence[StoredObject]


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where the keys are: a bucket, the prefix of all keys, and what chooses the server.

    Raises:
        ConfigurationError: `S3_URL_INVALID`: a part is not what its name says.
    """

    url: str
    endpoint: str | None = None
    region: str | None = None
    bucket: str = field(init=False)
    prefix: str = field(init=False)

    def __post_init__(self) -> None:
        match = re.fullmatch(r"s3://([\w.-]{1,255})(?:/(.*))?", check_utf8(self.url), re.DOTALL | re.ASCII)
        if match is None:
            raise _invalid(f"{self.url} is not the URL of a prefix, such as s3://BUCKET/PREFIX")
        if self.endpoint is not None and not re.fullmatch(r"https?://[^/@\s]+/?", self.endpoint):
            raise _invalid(f"{self.endpoint} is not the URL of a server, such as https://HOST:PORT")
        object.__setattr__(self, "bucket", match[1])
        object.__setattr__(self, "prefix", match[2] or "")


def check_utf8(text: str) -> str:
    """Return a text from the command line, in which Python replaces bytes that are not UTF-8 by half characters.

    Raises:
        ConfigurationError: `S3_URL_INVALID`: it has such bytes.
    """
    if re.search("[\ud800-\udfff]", text):
        raise _invalid(f"{text} is not UTF-8")
    return text


def _invalid(what: str) -> ConfigurationError:
    return ConfigurationError("S3_URL_INVALID", what, command("layout", "ls", "--help"))


def open_client(place: KeyPlace, parallel: int) -> Any:
    """Return a client that repeats no request: `ObjectStore` does, and can be stopped meanwhile.

    Args:
        parallel: how many threads use it.

    Raises:
        ConfigurationError: `S3_URL_INVALID`: the endpoint, the region or the profile is wrong.
    """
    session = required("botocore.session").get_session()
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    # Times stay text, as in the AWS command line: to parse them would take most of the time of a page.
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
    settings = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_ANSWER_SECONDS,
        max_pool_connections=parallel,
    )
    try:
        client = session.create_client("s3", endpoint_url=place.endpoint, region_name=place.region, config=settings)
    except (BotoCoreError, ValueError) as error:
        raise _invalid(f"the configuration of the client is wrong: {error}") from error
    client.meta.events.register(f"before-parse.s3.{_OPERATION}", _read_entries)
    return client


def _read_entries(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any] | None = None, **_: object
) -> None:
    """Read the objects of an answer, and leave the rest of it to botocore, which takes ten times as long for each object.

    An answer of another form is left to botocore whole; its event is not part of its documented interface.
    """
    body, tag = response_dict["body"], b"</Contents>"
    start, end = body.find(b"<Contents>"), body.rfind(tag) + len(tag)
    if customized_response_dict is None or response_dict["status_code"] != 200 or not 0 <= start < end:
        return
    with suppress(ElementTree.ParseError):
        entries = ElementTree.fromstring(b"<Entries>%b</Entries>" % body[start:end])
        customized_response_dict["Contents"] = [{part.tag: part.text or "" for part in entry} for entry in entries]
        response_dict["body"] = body[:start] + body[end:]


@dataclass(slots=True)
class ObjectStore:
    """The server, from which several threads read pages.

    Attributes:
        stopped: ends the waits between attempts.
        has_answered: whether a request succeeded.
        repeated: requests that were sent again.
    """

    place: KeyPlace
    client: Any
    stopped: Event = field(default_factory=Event)
    has_answered: bool = False
    repeated: int = 0
    _lock: Any = field(default_factory=Lock)

    def pages(self, keys: KeyRange) -> Iterator[Page]:
        """Yield the objects of a range, ascending; no page is empty.

        First those with the prefix of the range, by a listing that ends with them. Then the keys up to the end of the range: mostly
        there are none, so that the first request is for one key.

        Raises:
            GlacierbaseError: the store refused the request, could not be reached, or does not list in the order of keys.
        """
        last = keys.start
        rest = (self.place.prefix, _ONE_KEY if keys.end is not None else _ALL_KEYS)
        for prefix, size in ((keys.prefix, _ALL_KEYS), rest) if keys.prefix is not None else (rest,):
            for page in self._listing(prefix, last, size):
                inside = page if keys.end is None else page[: bisect_right(page, keys.end, key=lambda item: item.key)]
                if inside:
                    yield inside
                if len(inside) < len(page):
                    return
                last = page[-1].key

    def _listing(self, prefix: str, last: str | None, size: Mapping[str, int]) -> Iterator[Page]:
        """Yield the pages of one listing that starts after the key `last`; no page is empty.

        A request that fails is sent again as it was, from the same position, so that no key is lost and none is repeated.
        """
        position: Mapping[str, Any] | None = size if last is None else {"StartAfter": last, **size}
        while position is not None:
            answer = self._answer(prefix, position)
            page = self._page(answer, last)
            if page:
                yield page
                last = page[-1].key
            # A page may be empty although more follow.
            position = {"ContinuationToken": answer["NextContinuationToken"]} if answer["IsTruncated"] else None

    def _page(self, answer: Mapping[str, Any], last: str | None) -> Page:
        """Return the objects of an answer. Refuse one by which keys would be lost or listed twice."""
        try:
            page = [_object(entry) for entry in answer.get("Contents", ())]
            is_whole = answer.get("KeyCount", len(page)) == len(page)
            is_whole = is_whole and (not answer["IsTruncated"] or "NextContinuationToken" in answer)
        except (KeyError, ValueError):
            is_whole = False
        if not is_whole:
            raise self._failed(f"the answer is not that of {_OPERATION}", _OTHER_SERVER)
        names = [*([] if last is None else [last]), *(item.key for item in page)]
        if wrong := next(((before, after) for before, after in pairwise(names) if before >= after), None):
            before, after = map(on_one_line, wrong)
            what = f"the keys are not listed in their order: {after} comes after {before}"
            raise self._failed(what, f"aws s3api list-objects-v2 --bucket {self.place.bucket}")
        return page

    def _answer(self, prefix: str, position: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request until it succeeds, and return the answer."""
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        for attempt in range(1, _ATTEMPTS + 1):
            with self._lock:
                self.repeated += attempt > 1
            try:
                answer: Mapping[str, Any] = self.client.list_objects_v2(
                    Bucket=self.place.bucket, Prefix=prefix, **position
                )
            except (BotoCoreError, ClientError, ResponseParserError) as error:
                if attempt >= self._attempts(error) or self.stopped.wait(_wait_seconds(attempt)):
                    raise self._error_of(error) from error
            else:
                self.has_answered = True
                return answer
        raise AssertionError("the last attempt returns or raises")

    def _attempts(self, error: Exception) -> int:
        """Return how often a request is sent that ended with this error."""
        from botocore import exceptions, parsers

        if isinstance(error, exceptions.ClientError):
            status, code, _ = _refusal(error)
            return _ATTEMPTS if status in _PASSING_STATUS or code in _PASSING_CODES else 1
        if isinstance(error, exceptions.SSLError):
            return 1
        if isinstance(error, exceptions.ConnectionError | exceptions.HTTPClientError | parsers.ResponseParserError):
            return _ATTEMPTS if self.has_answered else _FIRST_ATTEMPTS
        return 1

    def _error_of(self, error: Exception) -> GlacierbaseError:
        from botocore import exceptions

        no_login = (
            exceptions.CredentialRetrievalError, exceptions.NoCredentialsError, exceptions.PartialCredentialsError,
            exceptions.SSOError,
        )  # fmt: skip
        # Another operation is a request for credentials, such as AssumeRole.
        if isinstance(error, no_login) or getattr(error, "operation_name", _OPERATION) != _OPERATION:
            what = f"no credentials for {self._server}: {error}"
            return ConfigurationError("S3_CREDENTIALS_MISSING", what, "aws configure")
        if isinstance(error, exceptions.ClientError):
            return self._refused(error)
        if isinstance(error, exceptions.ConnectionError | exceptions.HTTPClientError):
            return EngineUnavailable("S3_UNREACHABLE", f"no answer from {self._server}: {error}", _OTHER_SERVER)
        return self._failed(str(error))

    def _refused(self, error: Any) -> GlacierbaseError:
        status, code, message = _refusal(error)
        bucket, answered = self.place.bucket, f"{code}: {message}"
        if code == "NoSuchBucket":
            return ConfigurationError("S3_BUCKET_NOT_FOUND", f"no bucket {bucket} on {self._server}", _OTHER_SERVER)
        if code in _WRONG_LOGIN:
            what = f"{self._server} refuses the credentials: {answered}"
            return EngineUnavailable("S3_ACCESS_DENIED", what, "aws sts get-caller-identity")
        if status == 403:
            what = f"{self._server} refuses to list bucket {bucket}: {answered}"
            return EngineUnavailable("S3_ACCESS_DENIED", what, f"allow s3:ListBucket on arn:aws:s3:::{bucket}")
        return self._failed(answered)

    def _failed(self, why: str, hint: str = "run the same command again") -> GlacierbaseError:
        what = f"bucket {self.place.bucket} on {self._server} cannot be listed: {why}"
        return EngineUnavailable("S3_LISTING_FAILED", what, hint)

    @property
    def _server(self) -> str:
        return str(self.client.meta.endpoint_url)


def _refusal(error: Any) -> tuple[int, str, str]:
    """Return status, code and message of an answer that is an error."""
    parts = error.response.get("Error", {})
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status, str(parts.get("Code", "")), str(parts.get("Message", ""))


def _wait_seconds(attempt: int) -> float:
    """Return a random wait after a failed attempt, whose limit doubles from one to the next."""
    return random.uniform(0.5, 1) * min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1))


def _object(entry: Mapping[str, Any]) -> StoredObject:
    return StoredObject(
        entry["Key"], int(entry.get("Size", 0)), entry.get("LastModified", ""), entry.get("ETag", "").strip('"')
    )
