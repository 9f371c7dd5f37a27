"""A process that writes to a sharded table: `python -m tests.support.shard_writer ADDRESS NAME RATE SECONDS`.

With `aws` as ADDRESS, it writes to DynamoDB on AWS: into the table `events`, whose keys `device` and `at` are text, with the table
`shards`, whose key is `device`, for the metadata.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict

import boto3

from glacierbase.sharding import ShardedTable
from tests.support.dynamodb import NO_RETRIES, client

COOLDOWN = 0.5
WAITS = (0.01, 0.2)


def main(address: str, name: str, rate: str, seconds: str) -> None:
    """Write items at a rate, and print the sort keys of the acknowledged ones and what the table has counted."""
    opened = boto3.client("dynamodb", config=NO_RETRIES) if address == "aws" else client(address)
    table = ShardedTable(opened, "events", "shards", COOLDOWN, waits=WAITS, staleness=1.0)
    begin = following = time.monotonic()
    written: list[str] = []
    while time.monotonic() - begin < float(seconds):
        key = f"{time.time_ns():020d}-{name}"
        table.put({"device": "d", "at": key})
        written.append(key)
        # A writer that was held up does not catch up, which would be another rate.
        following = max(following + 1 / float(rate), time.monotonic())
        time.sleep(max(0, following - time.monotonic()))
    sys.stdout.write(json.dumps({"written": written, **asdict(table.counters)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
