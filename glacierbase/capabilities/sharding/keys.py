"""The partition keys of shards, and the choice of one: at random, or calculated from the keys of the item."""

from __future__ import annotations

import hashlib
from decimal import Context, Decimal

# More digits than a number of DynamoDB has, which are 38.
_EXACT = Context(prec=50)


def shard_key(partition: str, shard: int) -> str:
    """Return the partition key of a shard, counted from 1."""
    return f"{partition}_{shard}"


def partition_of(stored: str) -> str:
    """Return the partition key without the suffix of its shard."""
    return stored.rpartition("_")[0]


def calculated_shard(partition: str, sort: str | bytes | int | Decimal, count: int) -> int:
    """Return the shard of an item among `count`, by the MD5 of its partition key and its sort key.

    Numbers that are equal for DynamoDB, such as 1 and 1.0, have the same shard.
    """
    if isinstance(sort, str):
        written = sort.encode()
    elif isinstance(sort, int | Decimal):
        written = format(_EXACT.normalize(_EXACT.add(Decimal(sort), 0)), "f").encode()  # Without -0.
    else:
        written = bytes(sort)
    digest = hashlib.md5(partition.encode() + written, usedforsecurity=False)
    return int.from_bytes(digest.digest(), "big") % count + 1
