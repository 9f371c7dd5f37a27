"""Server access logs of S3 are read line by line: real records, damaged lines, gzip, hostile content."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import pytest

from glacierbase.capabilities.load.access_log import LONGEST_LINE, AccessLog, InvalidLine, Request, parse
from glacierbase.errors import GlacierbaseError
from tests.support.accesslogs import OWNER, record

SECOND = 1_549_411_238  # 06/Feb/2019:00:00:38 +0000


def written(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def test_a_record_gives_time_bucket_key_kind_status_and_error() -> None:
    """A PUT that was answered with 503 Slow Down."""
    line = record("data/ts_day=2026-11-24/a b.parquet", SECOND, status=503, error="SlowDown")
    key = b"data/ts_day=2026-11-24/a b.parquet"
    assert parse(line.encode()) == Request(SECOND, b"lake", key, False, b"503", b"SlowDown")


def test_a_record_of_2006_without_the_later_fields_is_read() -> None:
    """The first format of S3 ends with the user agent."""
    line = record("puppy.jpg", rest='2662992 3462992 70 10 "-" "curl/7.15.1"')
    request = parse(line.encode())
    assert request is not None
    assert request.key == b"puppy.jpg"


@pytest.mark.parametrize(
    ("operation", "is_read"),
    [
        ("REST.GET.OBJECT", True),
        ("REST.HEAD.OBJECT", True),
        ("WEBSITE.GET.OBJECT", True),
        ("REST.COPY.OBJECT_GET", True),
        ("REST.COPY.OBJECT", False),
        ("REST.PUT.PART", False),
        ("REST.POST.UPLOADS", False),
        ("REST.DELETE.OBJECT", False),
        ("BATCH.DELETE.OBJECT", False),
    ],
)
def test_operations_count_as_reads_or_writes(operation: str, is_read: bool) -> None:
    """The limits of S3 are for PUT, COPY, POST and DELETE, and for GET and HEAD. A copy reads its source."""
    request = parse(record("a", operation=operation).encode())
    assert request is not None
    assert request.is_read is is_read


@pytest.mark.parametrize("operation", ["S3.EXPIRE.OBJECT", "REST.OPTIONS.PREFLIGHT", "-"])
def test_operations_of_s3_itself_are_not_replayed(operation: str) -> None:
    """Lifecycle rules delete objects without a request of a client."""
    assert parse(record("a", operation=operation if operation != "-" else "-.-").encode()) is None


def test_a_request_without_a_key_is_not_replayed() -> None:
    """Listings and settings of a bucket reach no known part of the keys."""
    assert parse(record("-", operation="REST.GET.BUCKET").encode()) is None


def test_keys_are_encoded_twice_but_once_in_records_of_batches() -> None:
    """A key that holds a percent sign is the same in both kinds of records."""
    twice = parse(record("foo%Y ä/25%25.txt").encode())
    once = parse(record("foo%Y ä/25%25.txt", operation="BATCH.DELETE.OBJECT", encodings=1).encode())
    assert twice is not None
    assert once is not None
    assert twice.key == once.key == "foo%Y ä/25%25.txt".encode()


def test_quotes_in_the_request_uri_do_not_end_it() -> None:
    """The URI is what the client sent."""
    line = record("a", status=503, error="SlowDown").replace(" HTTP/1.1", '?x="y" HTTP/1.1')
    request = parse(line.encode())
    assert request is not None
    assert (request.status, request.error) == (b"503", b"SlowDown")


def test_times_are_converted_to_utc() -> None:
    """S3 logs UTC; other stores with this format may not."""
    line = record("a", SECOND).replace("06/Feb/2019:00:00:38 +0000", "06/Feb/2019:05:30:38 +0530")
    request = parse(line.encode())
    assert request is not None
    assert request.second == SECOND


@pytest.mark.parametrize(
    "line",
    [
        "not a record",
        record("a").replace("06/Feb/2019", "31/Feb/2019"),
        record("a").replace("06/Feb/2019", "06/Foo/2019"),
        record("a").replace("06/Feb/2019", "06/Feb/9999"),
        record("a").replace("+0000", "+9900"),
        record("a").replace("[06/Feb/2019:00:00:38 +0000]", "06/Feb/2019:00:00:38"),
        record("a").replace(" 200 ", " OK "),
        record("a")[:150],
        f"{OWNER} \x00\x01\x02",
        '" 200 - ' * 5000,
    ],
)
def test_damaged_lines_are_invalid(line: str) -> None:
    """A line that is no record raises an error that says why."""
    with pytest.raises(InvalidLine, match="it"):
        parse(line.encode())


def test_damaged_lines_are_counted_and_the_first_ones_shown(tmp_path: Path) -> None:
    """The requests around damaged lines are read; empty lines do not count."""
    log = AccessLog([written(tmp_path / "log", record("a"), "\n", *["x\n"] * 7, b"\xff\xfe\n", record("b"))])
    assert [request.key for request in log] == [b"a", b"b"]
    assert (log.lines, log.damaged) == (10, 8)
    assert [example.line for example in log.examples] == [3, 4, 5, 6, 7]


def test_a_line_of_100_mb_is_cut(tmp_path: Path) -> None:
    """The line counts as damaged, the next one is read, and the memory stays small."""
    path = written(tmp_path / "log", record("a"))
    os.truncate(path, 100_000_000)
    with path.open("ab") as file:
        file.write(b"\n" + record("b").encode())
    log = AccessLog([path])
    tracemalloc.start()
    keys = [request.key for request in log]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (keys, log.lines, log.damaged) == ([b"a", b"b"], 3, 1)
    assert log.examples[0].why == f"it is longer than {LONGEST_LINE} bytes"
    assert peak < 2_000_000


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    """A file, several and a folder are read, in the order of the names, whatever they are called."""
    written(tmp_path / "2.log", gzip.compress(record("b").encode()))
    written(tmp_path / "1.gz", record("a"))
    (tmp_path / "folder").mkdir()
    written(tmp_path / "folder/3", record("c"))
    assert [request.key for request in AccessLog([tmp_path])] == [b"a", b"b", b"c"]
    assert [request.key for request in AccessLog([tmp_path / "2.log", tmp_path / "1.gz"])] == [b"b", b"a"]


@pytest.mark.parametrize("cut", [slice(0, -12), slice(0, 40)])
def test_damaged_gzip_ends_a_file_only(tmp_path: Path, cut: slice) -> None:
    """The records before the damage and those of the next file are read."""
    written(tmp_path / "1.gz", gzip.compress(b"".join(record(f"{n}").encode() for n in range(50)))[cut])
    written(tmp_path / "2", record("last"))
    log = AccessLog([tmp_path])
    assert [request.key for request in log][-1] == b"last"
    assert log.damaged == 1
    assert log.examples[0].why.startswith("the rest of the file is no gzip: ")


def test_a_fifo_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    """Nothing waits for a writer."""
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path / "missing", Path("/proc/self/environ"), Path("a\0b")):
        with pytest.raises(GlacierbaseError) as caught:
            list(AccessLog([path]))
        assert caught.value.code == "UNREADABLE_FILE"
        assert caught.value.hint
