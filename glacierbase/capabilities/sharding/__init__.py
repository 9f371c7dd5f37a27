"""Dynamic write sharding on DynamoDB: a partition key that grows its own shards. Useful without the rest of glacierbase.

    import boto3
    from glacierbase.sharding import ShardedTable

    events = ShardedTable(boto3.client("dynamodb"), "events", "events-shards")
    events.put({"device": "d-1", "at": 1700000000, "value": "20.5"})
    for event in events.query("d-1"):
        ...

A shard is a partition key with a suffix, `KEY_1` to `KEY_n`. A metadata table has one item a key, with the number of its shards; a
writer whose shard is throttled raises that number. boto3 is of the extra `dynamodb`.

- `advise`: how many shards a rate needs, and what each method of sharding costs.
- `keys`: the names of shards, and the choice of one.
- `metadata`: the number of shards of a key, and its changes.
- `table`: write, query, read and shrink a sharded table.
"""

from __future__ import annotations

from glacierbase.capabilities.sharding.table import Counters as Counters
from glacierbase.capabilities.sharding.table import ShardedTable as ShardedTable

__all__ = ["Counters", "ShardedTable"]
