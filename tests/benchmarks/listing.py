"""How long `layout ls` takes on a store whose answers have a latency, against one listing by boto3's paginator."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.measure import Command, by_turns, glacierbase, python
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared
from tests.support.project_folder import REPOSITORY

KEYS = 100_000
# Of a near store, and what S3 documents for small requests (100 to 200 ms):
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html.
LATENCIES = (0.02, 0.1)
# Of the single listing.
LIMIT = 0.5
SERVER = """\
import sys
from tests.benchmarks.listing import hashed
from tests.support.s3server import s3_server
with s3_server(hashed()) as server:
    server.latency = float(sys.argv[1])
    print(server.address, flush=True)
    sys.stdin.read()
"""
PLAIN = """\
import boto3, json, sys
for page in boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket="shop", Prefix="data/"):
    for item in page["Contents"]:
        print(json.dumps(item, default=str))
"""


def hashed() -> list[str]:
    """Keys below `data/`, as even as hashes are."""
    return [f"data/{hashlib.md5(b'%d' % number).hexdigest()}/{number:06d}.parquet" for number in range(KEYS)]


def rows(order: Order) -> Iterator[Row | Absent]:
    """One listing, then 17 and 257 of them, at each latency."""
    for latency in LATENCIES:
        with _store(latency) as address:
            environ = {
                "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": address,
            }  # fmt: skip
            plain = python("a loop of boto3", PLAIN, order.folder, environ=environ)
            words = ("layout", "ls", "s3://shop/data/", "--format", "json")
            ours: list[Command] = [
                glacierbase(order.folder, *words, *chosen, environ=environ)
                for chosen in ((), ("--prefixes", "hex1"), ("--prefixes", "hex2"))
            ]
            *samples, theirs = by_turns([*ours, plain], order.runs)
            for what, own in zip(("one listing", "16 prefixes", "256 prefixes"), samples, strict=True):
                which = f"{KEYS:,} keys at {latency * 1000:.0f} ms a request, {what}"
                yield compared(which, own, plain.name, theirs, None if what == "one listing" else LIMIT)


@contextmanager
def _store(latency: float) -> Iterator[str]:
    """Run the server in a process of its own, and return its address."""
    command = [sys.executable, "-c", SERVER, str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.terminate()
