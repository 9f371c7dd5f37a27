"""What the tasks of an engine do with objects of S3: list, copy, compare and delete them.

Each function gets rows and yields rows. The module is sent to the tasks, whose Python has no glacierbase: it imports nothing of
it, and botocore where it is needed. The requests are those of https://docs.aws.amazon.com/AmazonS3/latest/API/.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache, partial
from typing import Any

# CopyObject takes at most 5 GiB; a larger object is copied in at most 10,000 parts.
_MOST_BYTES, _MOST_PARTS = 5 * 1024**3, 10_000
_PART_BYTES = 512 * 1024**2
# Requests in flight of one task. The number doubles for as many answers until a refusal for the rate; that halves it, and then it
# rises by one for as many answers.
_FIRST_WINDOW, _LARGEST_WINDOW = 8, 64
_LONGEST_PAUSE_SECONDS = 20.0
# Without one answer for so long, a store is not reachable.
_PATIENCE_SECONDS = 300.0
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 300
# Refusals that end by themselves: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html. 409 is that of a
# conditional write beside another one.
_PASSING_STATUS = (409, 429, 500, 502, 503, 504)
_PASSING_CODES = ("RequestLimitExceeded", "RequestTimeout", "SlowDown", "Throttling", "ThrottlingException")
# What CreateMultipartUpload takes of what HeadObject returns.
_HEADERS = (
    "CacheControl", "ContentDisposition", "ContentEncoding", "ContentLanguage", "ContentType", "Metadata",
    "WebsiteRedirectLocation",
)  # fmt: skip
_CHECKSUMS = ("ChecksumCRC32", "ChecksumCRC32C", "ChecksumCRC64NVME", "ChecksumSHA1", "ChecksumSHA256")

Row = tuple[Any, ...]


def client() -> Any:
    """Return a client of S3 with the configuration of this machine: credentials, profile, region, endpoint. It repeats nothing."""
    import botocore.session
    from botocore.config import Config

    settings = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_ANSWER_SECONDS,
        max_pool_connections=_LARGEST_WINDOW,
    )
    session = botocore.session.get_session()
    session.register_component("data_loader", _loader())
    return session.create_client("s3", config=settings)


@cache
def _loader() -> Any:
    """Return the reader of botocore's description of S3, which it keeps: reading that takes most of the time of a client."""
    import botocore.session

    return botocore.session.get_session().get_component("data_loader")


def list_objects(rows: Iterable[Row]) -> Iterator[Row]:
    """List the objects of ranges of keys.

    Args:
        rows: `bucket, prefix, after, until`: the last two are keys, the second one included, or None.

    Yields:
        `key, size, etag, modified, storage_class`; `modified` in milliseconds since 1970.
    """
    s3 = client()
    for bucket, prefix, after, until in rows:
        request = {"Bucket": bucket, "Prefix": prefix, **({"StartAfter": after} if after else {})}
        while request:
            page = repeated(partial(s3.list_objects_v2, **request))
            for entry in page.get("Contents", ()):
                if until is not None and entry["Key"].encode() > until.encode():
                    page["IsTruncated"] = False
                    break
                modified = round(entry["LastModified"].timestamp() * 1000)
                yield entry["Key"], entry["Size"], entry["ETag"], modified, entry.get("StorageClass", "STANDARD")
            token = {"ContinuationToken": page["NextContinuationToken"]} if page["IsTruncated"] else None
            request = {"Bucket": bucket, "Prefix": prefix, **token} if token else {}


def copy_objects(rows: Iterable[Row]) -> Iterator[Row]:
    """Copy objects within their bucket, with metadata, tags, storage class and checksum.

    An object that changed since it was listed is left, and a target that somebody wrote since.

    Args:
        rows: `bucket, key, new_key, size, etag, storage_class, new_etag, chunk`; `new_etag` is that of the target, or None.

    Yields:
        `chunk, key, new_key, size, etag, new_etag, outcome`: `copied`, `left`, or why it failed.
    """
    s3 = client()

    def copy(row: Row) -> Row:
        bucket, key, new_key, size, etag, storage_class, new_etag, chunk = row
        target = {"Bucket": bucket, "Key": new_key}
        condition = {"IfMatch": new_etag} if new_etag else {"IfNoneMatch": "*"}
        source = {"Bucket": bucket, "Key": key}
        if size > _MOST_BYTES:
            made = _copy_parts(s3, target, source, etag, size, storage_class, condition)
        else:
            made = _copy_whole(s3, target, source, etag, storage_class, condition)
        return chunk, key, new_key, size, etag, made, "copied"

    def failed(row: Row, error: Exception) -> Row:
        _, key, new_key, size, etag, _, new_etag, chunk = row
        # The next listing shows whether its other version, or the other target, needs a copy.
        outcome = "left" if _status(error) in (404, 412) else _text(error)
        return chunk, key, new_key, size, etag, new_etag, outcome

    return _at_once(rows, copy, failed)


def compare_objects(rows: Iterable[Row]) -> Iterator[Row]:
    """Compare the content of objects with that of others: by the checksums that S3 keeps, otherwise by reading both.

    Args:
        rows: `bucket, key, new_key`.

    Yields:
        `key, outcome`: `same`, `differs`, or why it failed.
    """
    s3 = client()

    def compare(row: Row) -> Row:
        bucket, key, new_key = row
        checksums = []
        for name in (key, new_key):
            head = s3.head_object(Bucket=bucket, Key=name, ChecksumMode="ENABLED")
            checksums.append({name: head[name] for name in _CHECKSUMS if name in head})
        if any(checksums[0][name] == checksums[1].get(name) for name in checksums[0]):
            return key, "same"
        return key, "same" if len({_digest(s3, bucket, name) for name in (key, new_key)}) == 1 else "differs"

    return _at_once(rows, compare, lambda row, error: (row[1], "differs" if _status(error) == 404 else _text(error)))


def delete_objects(rows: Iterable[Row]) -> Iterator[Row]:
    """Delete objects that did not change, and whose twins did not. In a bucket with versions, their versions stay.

    Args:
        rows: `bucket, key, etag, new_key, new_etag`.

    Yields:
        `key, outcome`: `deleted`, or why it was not.
    """
    s3 = client()

    def delete(row: Row) -> Row:
        bucket, key, etag, new_key, new_etag = row
        if s3.head_object(Bucket=bucket, Key=new_key)["ETag"] != new_etag:
            return key, f"its twin {new_key} is another object than in the manifest"
        try:
            if s3.head_object(Bucket=bucket, Key=key)["ETag"] != etag:
                return key, "it is another object than in the manifest"
            s3.delete_object(Bucket=bucket, Key=key, IfMatch=etag)
        except Exception as error:
            if _status(error) != 404:  # A run that was stopped had deleted it, or tasks that outlive it did just now.
                raise
        return key, "deleted"

    def failed(row: Row, error: Exception) -> Row:
        return row[1], f"its twin {row[3]} is missing" if _status(error) == 404 else _text(error)

    return _at_once(rows, delete, failed)


def repeated(request: Callable[[], Any]) -> Any:
    """Return the answer to a request, repeated while the store is busy or does not answer. Raises what ends otherwise."""
    began, failures = time.monotonic(), 0
    while True:
        try:
            return request()
        except Exception as error:
            if not _passes(error) or time.monotonic() - began > _PATIENCE_SECONDS:
                raise
            failures += 1
            time.sleep(_pause(failures))


def _at_once(rows: Iterable[Row], work: Callable[[Row], Row], failed: Callable[[Row, Exception], Row]) -> Iterator[Row]:
    """Yield the result for each row, of as many requests at once as the store bears.

    A refusal for the rate halves that number and makes a pause, once for all requests that were in flight; each answer raises it,
    by less after the first refusal (AIMD). A row that was refused is tried again.
    """
    window, steep, failures, answered = float(_FIRST_WINDOW), float(_LARGEST_WINDOW), 0, time.monotonic()
    source, again = iter(rows), list[Row]()
    flying: dict[Future[Row], tuple[Row, float]] = {}
    slowed = time.monotonic()
    with ThreadPoolExecutor(_LARGEST_WINDOW) as threads:
        while True:
            while len(flying) < max(1, int(window)):
                row = again.pop() if again else next(source, None)
                if row is None:
                    break
                flying[threads.submit(work, row)] = row, time.monotonic()
            if not flying:
                return
            for done in wait(flying, return_when=FIRST_COMPLETED).done:
                (row, sent), error = flying.pop(done), done.exception()
                if error is None:
                    window += 1 if window < steep else 1 / window
                    window, failures, answered = min(_LARGEST_WINDOW, window), 0, time.monotonic()
                    yield done.result()
                elif not isinstance(error, Exception):
                    raise error
                elif not _passes(error) or time.monotonic() - answered > _PATIENCE_SECONDS:
                    yield failed(row, error)
                else:
                    again.append(row)
                    if sent >= slowed:
                        window = steep = max(1.0, window / 2)
                        failures += 1
                        time.sleep(_pause(failures))
                        slowed = time.monotonic()


def _pause(failures: int) -> float:
    return random.uniform(0.5, 1) * min(_LONGEST_PAUSE_SECONDS, 0.1 * 2.0 ** min(failures, 10))


def _passes(error: Exception) -> bool:
    """Return whether the same request may succeed later."""
    from botocore import exceptions

    if isinstance(error, exceptions.ClientError):
        return _status(error) in _PASSING_STATUS or error.response.get("Error", {}).get("Code") in _PASSING_CODES
    return isinstance(error, (exceptions.ConnectionError, exceptions.HTTPClientError)) and not isinstance(
        error, exceptions.SSLError
    )


def _status(error: Exception) -> int:
    answer = getattr(error, "response", {}).get("ResponseMetadata", {})
    return int(answer.get("HTTPStatusCode", 0))


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _copy_whole(s3: Any, target: Any, source: Any, etag: str, storage_class: str, condition: Any) -> str:
    """Copy an object by one request. S3 copies metadata and tags, and keeps the algorithm of the checksum."""
    answer = s3.copy_object(
        **target, CopySource=source, CopySourceIfMatch=etag, StorageClass=storage_class, **condition
    )
    return str(answer["CopyObjectResult"]["ETag"])


def _copy_parts(s3: Any, target: Any, source: Any, etag: str, size: int, storage_class: str, condition: Any) -> str:
    """Copy an object by parts. S3 copies only bytes then."""
    head = s3.head_object(**source, ChecksumMode="ENABLED", IfMatch=etag)
    tags = s3.get_object_tagging(**source)["TagSet"]
    kept = {name: head[name] for name in _HEADERS if name in head}
    if tags:
        from urllib.parse import urlencode

        kept["Tagging"] = urlencode([(tag["Key"], tag["Value"]) for tag in tags])
    if checksum := next((name for name in _CHECKSUMS if name in head), None):
        kept["ChecksumAlgorithm"] = checksum.removeprefix("Checksum")
        # That of the whole object; that of its parts would be another one with other parts.
        if head.get("ChecksumType") == "FULL_OBJECT":
            kept["ChecksumType"] = "FULL_OBJECT"
    upload = {
        **target,
        "UploadId": s3.create_multipart_upload(**target, StorageClass=storage_class, **kept)["UploadId"],
    }
    try:
        length = max(_PART_BYTES, -(-size // _MOST_PARTS))
        parts = []
        for number, start in enumerate(range(0, size, length), start=1):
            answer = repeated(
                partial(
                    s3.upload_part_copy,
                    **upload,
                    PartNumber=number,
                    CopySource=source,
                    CopySourceIfMatch=etag,
                    CopySourceRange=f"bytes={start}-{min(start + length, size) - 1}",
                )
            )["CopyPartResult"]
            checksums = {name: answer[name] for name in _CHECKSUMS if name in answer}
            parts.append({"PartNumber": number, "ETag": answer["ETag"], **checksums})
        return str(s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts}, **condition)["ETag"])
    except BaseException:
        s3.abort_multipart_upload(**upload)
        raise


def _digest(s3: Any, bucket: str, key: str) -> str:
    """Return the SHA-256 of an object's content."""
    digest = hashlib.sha256()
    for part in s3.get_object(Bucket=bucket, Key=key)["Body"].iter_chunks(1024 * 1024):
        digest.update(part)
    return digest.hexdigest()
