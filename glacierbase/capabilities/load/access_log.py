"""Read server access logs of S3: lines to requests, as a stream, in bounded memory. Nothing in a log is trusted.

Documented (Amazon S3 user guide, "Amazon S3 server access log format"): one request a line, fields separated by spaces, `-` for an
unknown value, time in brackets, request URI, referrer and user agent in quotes, new fields only at the end; a copy has two records,
one of them `REST.COPY.OBJECT_GET`. Keys are URL-encoded; observed by users and not documented: twice, but once in the records of
`BATCH.DELETE.OBJECT` and of S3's own operations.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote_to_bytes

from glacierbase.errors import ConfigurationError
from glacierbase.run import activity
from glacierbase.run.files import FileRefused, open_anywhere

# The longest line in bytes that is read; the rest of a longer one is skipped.
LONGEST_LINE = 64 * 1024
# Of keys of S3, in bytes; encoded twice, 5,120.
LONGEST_KEY = 1024
# The damaged lines that a result shows.
SHOWN_DAMAGED = 5
_GZIP = b"\x1f\x8b"
# Owner, bucket, time, address, requester, request id, operation, key, request URI, status, error code, bytes sent, size.
# The URI may hold quotes.
_LINE = re.compile(
    rb"\S+ (\S+) \[([^\]]{26})\] \S+ \S+ \S+ (\S+) (\S+) (?:-|\".*?\") (\d{3}|-) (\S+) (?:\d+|-) (?:\d+|-) "
)
_TIME = re.compile(r"(\d{2})/([A-Z][a-z]{2})/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# The years of S3; a time outside of them is damage.
_YEARS = range(2006, 2101)
# Of a time zone from UTC.
_FARTHEST = timedelta(hours=14)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WRITES = (b"PUT", b"COPY", b"POST", b"DELETE")
_READS = (b"GET", b"HEAD")


class Request(NamedTuple):
    """A request for an object, as a line of the log describes it.

    Attributes:
        second: since 1970, in UTC.
        key: decoded, at most 1,024 bytes.
        is_read: GET and HEAD; else PUT, COPY, POST or DELETE.
        error: the error code; `-` without an error.
    """

    second: int
    bucket: bytes
    key: bytes
    is_read: bool
    status: bytes
    error: bytes


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A line that is no record of a server access log.

    Attributes:
        line: its number in the file, from 1.
    """

    path: str
    line: int
    why: str


class AccessLog:
    """The requests in the files of a log, in the order of the files. They can be iterated once.

    Attributes:
        lines: that were read, without empty ones.
        damaged: lines that are no record.
        examples: the first of the damaged lines.
        not_replayed: records of no object (a listing, the settings of a bucket), or of an operation that S3 itself started.
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        """Args:
        paths: files, plain or gzip, and folders, of which every file is read.

        Raises:
            ConfigurationError: `UNREADABLE_FILE`: a path does not exist, or a folder cannot be read.
        """
        self._files = [file for path in paths for file in _files(Path(path))]
        self._bytes = self._file = 0
        self.lines = self.damaged = self.not_replayed = 0
        self.examples: list[DamagedLine] = []

    def __iter__(self) -> Iterator[Request]:
        """Yield the requests for objects.

        Raises:
            ConfigurationError: `UNREADABLE_FILE`.
        """
        with activity.doing("reading the access log", self._progress):
            for path in self._files:
                self._file += 1
                try:
                    yield from self._requests(path)
                except FileRefused as error:
                    raise ConfigurationError(error.code, f"{path}: {error.what}", error.hint, path=str(path)) from error

    def _progress(self) -> str:
        return f"file {self._file} of {len(self._files)}, {self.lines:,} lines, {self._bytes // 2**20:,} MiB"

    def _requests(self, path: Path) -> Iterator[Request]:
        number = 0
        try:
            for number, line in enumerate(_lines(path), 1):
                self._bytes += len(line)
                if line.isspace():
                    continue
                self.lines += 1
                try:
                    request = parse(line)
                except InvalidLine as damage:
                    self._count_damage(path, number, str(damage))
                    continue
                if request is None:
                    self.not_replayed += 1
                else:
                    yield request
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.lines += 1
            self._count_damage(path, number + 1, f"the rest of the file is no gzip: {error}")

    def _count_damage(self, path: Path, line: int, why: str) -> None:
        self.damaged += 1
        if len(self.examples) < SHOWN_DAMAGED:
            self.examples.append(DamagedLine(str(path), line, why))


class InvalidLine(ValueError):
    """A line is no record of a server access log; the message says why."""


def parse(line: bytes) -> Request | None:
    """Return the request of a line; None for a record that is not about an object, or of an operation of S3 itself.

    Raises:
        InvalidLine: the line is no record.
    """
    if len(line) >= LONGEST_LINE:
        raise InvalidLine(f"it is longer than {LONGEST_LINE} bytes")
    match = _LINE.match(line)
    if match is None:
        raise InvalidLine("it lacks the fields of a record")
    bucket, time, operation, key, status, error = match.groups()
    second = second_of(time)
    is_read = _is_read(operation)
    if is_read is None or key == b"-":
        return None
    return Request(second, bucket, _decoded(key, operation), is_read, status, error)


@lru_cache(maxsize=4096)
def second_of(time: bytes) -> int:
    """Return the time of a record in seconds since 1970.

    Raises:
        InvalidLine: it is no time, or not of the years of S3.
    """
    match = _TIME.fullmatch(time.decode("ascii", "replace"))
    if match is None or match[2] not in _MONTHS or int(match[3]) not in _YEARS:
        raise InvalidLine("its time is invalid")
    day, month, year, hour, minute, second, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    if abs(offset) > _FARTHEST:
        raise InvalidLine("its time is invalid")
    try:
        local = datetime(
            int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second), tzinfo=timezone.utc
        )
    except ValueError as error:
        raise InvalidLine("its time is invalid") from error
    return int((local - offset - _EPOCH).total_seconds())


@lru_cache(maxsize=256)
def _is_read(operation: bytes) -> bool | None:
    """Return whether an operation counts as GET or HEAD; None for one that counts neither as those nor as a write of a client."""
    family, _, rest = operation.partition(b".")
    method, _, resource = rest.partition(b".")
    if family not in (b"REST", b"WEBSITE", b"BATCH"):
        return None
    if method in _READS or (method == b"COPY" and resource.endswith(b"_GET")):
        return True
    return False if method in _WRITES else None


def _decoded(key: bytes, operation: bytes) -> bytes:
    if b"%" in key:
        key = unquote_to_bytes(key)
        if b"%" in key and not operation.startswith(b"BATCH."):
            key = unquote_to_bytes(key)
    return key[:LONGEST_KEY]


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or every file below a folder, in the order of the names."""
    if not path.is_dir():
        yield path
        return

    def refuse(error: OSError) -> None:
        what = f"{error.filename}: cannot be read: {error.strerror}"
        raise ConfigurationError("UNREADABLE_FILE", what, "correct the permissions of the folder", path=str(path))

    for folder, folders, names in os.walk(path, onerror=refuse):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, plain or gzip; of a line that is too long its first part.

    Raises:
        FileRefused: `UNREADABLE_FILE`.
        EOFError, zlib.error, gzip.BadGzipFile: damaged gzip.
    """
    with open_anywhere(path) as raw:
        is_gzip = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        stream: BinaryIO = gzip.GzipFile(fileobj=raw) if is_gzip else raw  # type: ignore[assignment]
        while line := stream.readline(LONGEST_LINE):
            yield line
            while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                line = stream.readline(LONGEST_LINE)
