"""`layout ls` against servers on loopback, through the genuine client."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError, SSOTokenLoadError
from botocore.loaders import create_loader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer

from glacierbase.capabilities.load import listing, objectstore
from glacierbase.capabilities.load.objectstore import KeyPlace
from glacierbase.errors import GlacierbaseError
from tests.support.documents import checked
from tests.support.hostile import check_safe
from tests.support.program import call_program
from tests.support.project_folder import Output
from tests.support.s3server import BUCKET, S3Server, etag, s3_server

SESSION, LOADER = botocore.session.get_session, create_loader()
LOGIN = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
# Beyond the BMP, between BMP and surrogates, what URLs and XML escape, control characters, folders, one name within another.
HOSTILE = sorted(
    {
        "data/", "data/0", "data/00", "data/00/", "data/0a", "data/0a/x y", "data/0a/x+y", "data/0a/x%20y", "data/0a/%",
        "data/a&b<c>\"d'", "data/a\nb", "data/a\x01b", "data/a\x7fb", "data/f\U0001f600", "data/f\uffee", "data/f\ue000",
        "data/ff", "data/ff/" + "\U0010ffff", "data/\u00e9", "data/e\u0301", "data/zz", "data/G", "data/1=2", "data/1::2",
        "data/c\u202ed", "data0", "dat", "0", "a##[group]b", "data/q?x#y", "data/" + "k" * 200,
    }
)  # fmt: skip
# Its web server takes no line feed in an address.
ON_MOTO = [key for key in HOSTILE if "\n" not in key]
KEYS = st.text(st.sampled_from("0af/g \U0001f600\uffee"), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of nobody, no configuration of the user, and short waits."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    nothing = {
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    for name, value in (LOGIN | nothing).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(objectstore, "_FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(botocore.session, "get_session", session_with_models)


def session_with_models() -> Any:
    """Return a new session that shares what is in the package's files, which take longer to read than a test."""
    session = SESSION()
    session.register_component("data_loader", LOADER)
    return session


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server without keys, as the one of the client's configuration."""
    with s3_server() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
        yield server


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """The address of moto, with the hostile keys in the bucket."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = a_client(f"http://{host}:{port}")
    client.create_bucket(Bucket=BUCKET)
    for key in ON_MOTO:
        client.put_object(Bucket=BUCKET, Key=key, Body=b"x" * len(key))
    yield f"http://{host}:{port}"
    server.stop()


def a_client(address: str) -> Any:
    login = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client("s3", endpoint_url=address, region_name="us-east-1", **login)


def listed(url: str, *options: str) -> Output:
    return call_program(["layout", "ls", url, *options])


def objects(output: Output) -> list[dict[str, Any]]:
    assert output.code == 0, output.stderr
    return [json.loads(line) for line in output.stdout.splitlines()]


def keys(url: str, *options: str) -> list[str]:
    return [item["key"] for item in objects(listed(url, *options, "--format", "json"))]


def numbered(count: int) -> list[str]:
    """Keys below `data/`, two letters of a hash first."""
    return sorted(f"data/{etag(str(number))[:2]}/{number}" for number in range(count))


def at(numbers: Sequence[int], fault: str) -> Callable[[int], str | None]:
    return lambda number: fault if number in numbers else None


def test_both_servers_list_alike(moto: str, server: S3Server) -> None:
    """Order, pages, prefixes and starting points of the small server are those of moto, which knows S3."""
    server.keys = ON_MOTO
    both = [a_client(address) for address in (moto, server.address)]
    for prefix in ("", "data/", "data/f", "data/0a/x", "none"):
        for after in ("", "data/0a", "data/f\uffee", "e"):
            parameters = {"Bucket": BUCKET, "Prefix": prefix, "StartAfter": after, "PaginationConfig": {"PageSize": 3}}
            paginators = [client.get_paginator("list_objects_v2").paginate(**parameters) for client in both]
            of_moto, of_ours = ([part(page) for page in pages] for pages in paginators)
            assert of_ours == of_moto


def part(page: dict[str, Any]) -> tuple[Any, ...]:
    return page["KeyCount"], page["IsTruncated"], [(entry["Key"], entry["Size"]) for entry in page.get("Contents", ())]


@pytest.mark.parametrize(
    ("url", "prefixes"),
    [
        ("s3://shop", "digits"),
        ("s3://shop/data/", "hex1"),
        ("s3://shop/data/f", "base2:2"),
        ("s3://shop/none", "digits"),
    ],
)
def test_the_keys_of_moto_are_those_of_one_listing(url: str, prefixes: str, moto: str) -> None:
    """Keys that begin with no prefix of the set, or are equal to one, are neither lost nor listed twice."""
    expected = [key for key in ON_MOTO if key.startswith(url.removeprefix("s3://shop").removeprefix("/"))]
    assert keys(url, "--prefixes", prefixes, "--endpoint", moto) == expected
    after = keys(url, "--prefixes", prefixes, "--endpoint", moto, "--after", "data/ff")
    assert after == [key for key in expected if key > "data/ff"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sets(KEYS, max_size=40),
    st.sets(KEYS, min_size=1, max_size=8),
    KEYS | st.just(""),
    KEYS | st.none(),
    st.integers(1, 9),
)
def test_any_keys_are_listed_once_and_in_order(
    server: S3Server, made: set[str], cuts: set[str], prefix: str, after: str | None, size: int
) -> None:
    """The prefixes may be nested or absent, the listing empty, the pages of any size."""
    server.keys, server.page_size = sorted(made), size
    place = KeyPlace(f"s3://shop/{prefix}", server.address, "us-east-1")
    read: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "open_client", lambda *_: CLIENTS.setdefault(server.address, a_client(server.address)))
        patch.setattr(listing, "prefix_set", lambda _: sorted(cuts))
        patch.setitem(listing._FORMS, "keys", lambda page: [item.key for item in page])  # type: ignore[misc]
        listing.ls(place, "any", after, 3, "keys", read.extend)
    expected = [key for key in server.keys if key.startswith(prefix) and (after is None or key > after)]
    assert read == expected


CLIENTS: dict[str, Any] = {}


@pytest.mark.parametrize(("count", "prefixes"), [(10_000, "hex1"), (100_000, "hex2")])
def test_many_keys_are_those_of_one_listing(count: int, prefixes: str, server: S3Server) -> None:
    """The keys of 17 or 257 listings side by side, hostile ones among them, are in the order of one listing."""
    server.keys = sorted({*HOSTILE, *numbered(count)})
    server.latency = 0.005
    below = [key for key in server.keys if key.startswith("data/")]
    assert keys("s3://shop/data/") == below
    assert len(server.requests) == count // 1000 + 1
    assert keys("s3://shop/data/", "--prefixes", prefixes) == below
    assert server.most_active > 2


@pytest.mark.parametrize("fault", ["SlowDown", "InternalError", "TooManyRequests", "drop", "truncate", "part"])
def test_a_fault_that_passes_loses_nothing_and_repeats_nothing(fault: str, server: S3Server) -> None:
    """Every third request fails: refused for a while, without an answer, or with a part of one."""
    server.keys, server.page_size = numbered(2000), 40
    server.fault = lambda number: None if number % 3 else fault
    assert keys("s3://shop/data/", "--prefixes", "hex1") == server.keys
    assert len(server.requests) > 2000 / 40 + 16 + 20


def test_a_burst_of_refusals_loses_nothing(server: S3Server) -> None:
    """All requests of a moment are refused, those of many listings side by side."""
    server.keys, server.page_size = numbered(2000), 40
    server.fault = at(range(30, 90), "SlowDown")
    assert keys("s3://shop/data/", "--prefixes", "hex2", "--parallel", "32") == server.keys


def test_a_refusal_that_stays_ends_the_attempts(server: S3Server) -> None:
    """An attempt after a refusal that passes may have another answer."""
    server.keys, server.fault = numbered(5), lambda number: "AccessDenied" if number else "SlowDown"
    output = listed("s3://shop/")
    assert (output.code, len(server.requests)) == (5, 2)
    assert "S3_ACCESS_DENIED" in output.stderr


@pytest.mark.parametrize(
    "answer",
    [
        {"Contents": [{"Key": "a"}]},
        {"Contents": [{"Size": 1}], "IsTruncated": False},
        {"Contents": [{"Key": "a", "Size": "much"}], "IsTruncated": False},
        {"Contents": [{"Key": "a"}], "KeyCount": 2, "IsTruncated": False},
        {"Contents": [{"Key": "a"}], "IsTruncated": True},
    ],
)
def test_an_answer_that_lacks_a_part_is_refused(answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys could be missing from it."""
    client = Mock(**{"list_objects_v2.return_value": answer, "meta.endpoint_url": "https://store"})
    monkeypatch.setattr(listing, "open_client", lambda *_: client)
    output = listed("s3://shop/")
    assert (output.code, output.stdout) == (5, "")
    assert "the answer is not that of ListObjectsV2" in output.stderr


def test_a_slow_answer_is_requested_again(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for an answer has a limit."""
    monkeypatch.setattr(objectstore, "_ANSWER_SECONDS", 0.1)
    server.keys, server.fault = numbered(10), at([1], "hang")
    assert keys("s3://shop/data/", "--prefixes", "digits") == server.keys


def test_a_listing_that_fails_prints_the_command_that_continues_it(server: S3Server, tmp_path: Path) -> None:
    """The keys before the failure and those of the printed command are together all keys, each once."""
    server.keys, server.page_size = sorted(f"data/{number // 4} 'x\n\u202e{number % 4}" for number in range(20)), 2
    server.fault = lambda number: "AccessDenied" if number > 4 else None
    failed = listed("s3://shop/data/", "--parallel", "2", "--format", "json", "--endpoint", server.address)
    assert failed.code == 5
    *objects_before, document = [json.loads(line) for line in failed.stdout.splitlines()]
    before, error = [item["key"] for item in objects_before], checked(document)["error"]
    hint = error["hint"]
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {hint}"], capture_output=True, text=True, check=True).stdout
    server.fault = lambda number: None
    assert words.split("\0")[:3] == ["glacierbase", "layout", "ls"]
    after = objects(call_program(words.split("\0")[1:-1]))
    assert 0 < len(before) < 20
    assert [*before, *(item["key"] for item in after)] == server.keys
    server.requests, server.fault = [], lambda number: "AccessDenied" if number > 4 else None
    as_text = listed("s3://shop/data/", "--parallel", "2", "--endpoint", server.address)
    assert f"state: {len(before)} keys were listed, the last is {before[-1][:9]}" in as_text.stderr


def test_text_is_safe_and_json_lines_are_exact(server: S3Server) -> None:
    """A key is one line on a terminal, whatever its characters; JSON has the key itself."""
    server.keys = HOSTILE
    text = listed("s3://shop")
    check_safe(text.stdout)
    assert len(text.stdout.splitlines()) == len(HOSTILE)
    assert "data/a\\nb\n" in text.stdout
    output = listed("s3://shop", "--format", "json")
    check_safe(output.stdout)
    assert objects(output) == [
        {"key": key, "size": len(key), "last_modified": "2026-11-20T12:03:11.000Z", "etag": etag(key)}
        for key in HOSTILE
    ]


@pytest.mark.parametrize(
    ("arguments", "fault", "code", "error", "says"),
    [
        (["s3://other/"], None, 2, "S3_BUCKET_NOT_FOUND", "bucket other"),
        (["s3://shop/"], "AccessDenied", 5, "S3_ACCESS_DENIED", "s3:ListBucket on arn:aws:s3:::shop"),
        (["s3://shop/"], "ExpiredToken", 5, "S3_ACCESS_DENIED", "expired"),
        (["s3://shop/"], "SlowDown", 5, "S3_LISTING_FAILED", "SlowDown"),
        (["s3://shop/"], "part", 5, "S3_LISTING_FAILED", ""),
        (["s3://shop/"], "page", 5, "S3_LISTING_FAILED", "not that of ListObjectsV2"),
        (["s3://shop/"], "drop", 5, "S3_UNREACHABLE", "no answer from http://127.0.0.1"),
        (["s3://shop/", "--endpoint", "http://127.0.0.1:9"], None, 5, "S3_UNREACHABLE", "127.0.0.1:9"),
        (["s3://shop/", "--endpoint", "ftp://shop"], None, 2, "S3_URL_INVALID", "ftp://shop"),
        (["s3://shop/", "--endpoint", "http://:x"], None, 2, "S3_URL_INVALID", "http://:x"),
        (["s3://shop/", "--region", "a b"], None, 2, "S3_URL_INVALID", "a b"),
        (["shop/data"], None, 2, "S3_URL_INVALID", "shop/data"),
        (["s3://"], None, 2, "S3_URL_INVALID", "s3://BUCKET/PREFIX"),
        (["s3://" + "a" * 300], None, 2, "S3_URL_INVALID", "s3://BUCKET/PREFIX"),
        (["s3://shop/\udcff"], None, 2, "S3_URL_INVALID", "UTF-8"),
        (["s3://shop/", "--after", "\udcff"], None, 2, "S3_URL_INVALID", "UTF-8"),
        (["s3://shop/", "--prefixes", "hex9"], None, 2, "PREFIXES_INVALID", "hex1 to hex4"),
        (["s3://shop/", "--prefixes", "base2:17"], None, 2, "PREFIXES_INVALID", "base2:16"),
        (["s3://shop/", "--prefixes", os.devnull], None, 2, "PREFIXES_INVALID", "0 prefixes"),
        (["s3://shop/", "--prefixes", sys.executable], None, 2, "PREFIXES_INVALID", "UTF-8"),
        (["s3://shop/", "--parallel", "0"], None, 2, "USAGE", "0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_error(
    arguments: list[str], fault: str | None, code: int, error: str, says: str, server: S3Server
) -> None:
    """A message with code, hint and exit code; no key is printed."""
    server.keys, server.fault = numbered(5), lambda number: fault
    output = listed(*arguments, "--format", "json")
    document = checked(json.loads(output.stdout))
    assert (output.code, document["error"]["code"]) == (code, error)
    assert says in document["error"]["message"] + document["error"]["hint"]
    assert "Traceback" not in output.stderr


def test_without_credentials_nothing_is_sent(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that are missing, or of which a part is missing, are named as such."""
    for name in LOGIN:
        monkeypatch.delenv(name)
        output = listed("s3://shop/")
        assert (output.code, output.stdout) == (2, "")
        monkeypatch.setenv("AWS_PROFILE", "nobody")
        assert "nobody" in listed("s3://shop/").stderr
        monkeypatch.delenv("AWS_PROFILE")
    assert output.stderr.startswith("error: S3_CREDENTIALS_MISSING: no credentials for http://127.0.0.1")
    assert server.requests == []


@pytest.mark.parametrize(
    "error",
    [
        SSOTokenLoadError(error_msg="the session of nobody has ended"),
        ClientError({"Error": {"Code": "AccessDenied", "Message": "nobody"}}, "AssumeRole"),
    ],
)
def test_a_role_or_a_session_without_credentials_is_named_as_such(
    error: Exception, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket is not to blame for what the provider of credentials refuses."""
    client = Mock(**{"list_objects_v2.side_effect": error, "meta.endpoint_url": "https://store"})
    monkeypatch.setattr(listing, "open_client", lambda *_: client)
    output = listed("s3://shop/")
    assert (output.code, output.stdout) == (2, "")
    assert output.stderr.startswith("error: S3_CREDENTIALS_MISSING: no credentials for https://store: ")
    assert "nobody" in output.stderr


def test_botocore_alone_reads_the_same(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shorter way to the objects of an answer, and the one for other forms of it, have one result."""
    server.keys = HOSTILE
    short = objects(listed("s3://shop/", "--format", "json"))
    monkeypatch.setattr(objectstore, "_read_entries", lambda **_: None)
    assert objects(listed("s3://shop/", "--format", "json")) == short


def test_a_store_with_another_order_is_refused(server: S3Server) -> None:
    """A directory bucket lists its keys in no order, and some stores ignore where a listing starts: keys would be lost."""
    server.keys, server.page_size = ["data/b", "data/a"], 2
    output = listed("s3://shop/")
    assert (output.code, output.stdout) == (5, "")
    assert "S3_LISTING_FAILED" in output.stderr
    assert "data/a comes after data/b" in output.stderr


def test_prefixes_come_from_a_file(server: S3Server, tmp_path: Path) -> None:
    """A prefix is a line; the order, empty lines and repetitions do not matter."""
    server.keys = sorted(f"data/{name}{number}" for name in ("\u00e9", "a b", "z") for number in range(9))
    chosen = tmp_path / "prefixes.txt"
    chosen.write_text("z\n\na b\n\u00e9\nz\n", "utf-8")
    assert keys("s3://shop/data/", "--prefixes", str(chosen)) == server.keys
    assert {parameters["prefix"] for parameters in server.requests} == {"data/", "data/a b", "data/z", "data/\u00e9"}


def test_a_closed_pipe_is_quiet_and_ends_the_listing() -> None:
    """`glacierbase layout ls … | head -1` prints one key while the other listings go on."""
    program = f"{shlex.quote(sys.executable)} -m glacierbase layout ls s3://shop/data/ --prefixes hex2"
    with s3_server(numbered(60_000)) as server:
        server.page_size = 10
        line = f"{program} --endpoint {server.address} | head -1; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (141, f"{server.keys[0]}\n", "")
    assert len(server.requests) < 6000


def test_a_signal_ends_it_at_once_with_the_command_that_continues() -> None:
    """The keys so far are printed; requests without an answer are not waited for."""
    with s3_server(numbered(100)) as server:
        server.page_size, server.fault = 10, lambda number: "hang" if number > 4 else None
        command = [sys.executable, "-m", "glacierbase", "layout", "ls", "s3://shop/data/", "--endpoint", server.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout
            printed = [process.stdout.readline().rstrip() for _ in range(50)]
            time.sleep(0.2)  # The page is counted after it is printed.
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            _, errors = process.communicate(timeout=20)
        assert time.monotonic() - sent < 10
    assert printed == server.keys[:50]
    assert process.returncode == 130
    assert f"50 keys were listed, the last is {printed[-1]}" in errors
    assert re.search(f"^next: glacierbase layout ls s3://shop/data/ .*--after {printed[-1]}$", errors, re.MULTILINE)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is imported when it is needed."""
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(GlacierbaseError) as caught:
        objectstore.open_client(KeyPlace("s3://shop/"), 1)
    assert caught.value.code == "LAYOUT_EXTRA_MISSING"
