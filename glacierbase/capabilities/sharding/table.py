"""Write, query and read a table of DynamoDB whose partition keys are sharded."""

from __future__ import annotations

import heapq
import itertools
import operator
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeVar

from glacierbase.capabilities.sharding.keys import calculated_shard, partition_of, shard_key
from glacierbase.capabilities.sharding.metadata import MOST_SHARDS, ShardMetadata, Shards
from glacierbase.errors import ConfigurationError
from glacierbase.run.dynamodb import Limit, is_fault, limit_of, proves_no_effect

Sort = str | bytes | int | Decimal
T = TypeVar("T")

# In seconds: while a shard is throttled, its metadata is read at most this often by one writer.
_REFRESH_SECONDS = 1.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 5.0
# The share of its capacity above which a table, rather than one partition, is taken to be at its limit.
_EXHAUSTED = 0.9
_METRIC_SECONDS = 60
# A metric is published up to some minutes late.
_METRIC_DELAY_SECONDS = 300
# The partition keys whose number of shards an object keeps in memory, about 100 MB.
_MOST_CACHED = 100_000
# A key of DynamoDB has at most 2048 bytes.
_LONGEST_KEY = 2048 - len(shard_key("", MOST_SHARDS))


@dataclass
class Counters:
    """What a table object has counted so far.

    Attributes:
        growths: shards that it added.
        stood_down: growths that another writer had made first.
        throttles: writes that a partition refused.
        table_throttles: writes that the table refused; they add no shard.
        retries: repeated requests.
        unlisted: shards with items that the metadata does not count: it was deleted, or is older than the items.
    """

    growths: int = 0
    stood_down: int = 0
    throttles: int = 0
    table_throttles: int = 0
    retries: int = 0
    unlisted: int = 0


class ShardedTable:
    """A table with a partition key of text and a sort key. Threads may share it; each process needs its own, with its own client.

    An item is written once: an item with the same keys, written later, may be in another shard. Give the client no retries of its
    own, `botocore.config.Config(retries={"total_max_attempts": 1})`: they would hide that a shard is throttled.

    Attributes:
        counters: what this object has counted.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        metadata_table: str,
        cooldown: float = 30.0,
        suffix: Literal["random", "calculated"] = "random",
        *,
        waits: tuple[float, float] = (1.0, 10.0),
        staleness: float = 30.0,
        patience: float = 60.0,
        cloudwatch: Any = None,
    ) -> None:
        """Args:
        client: of boto3 for DynamoDB.
        metadata_table: has a partition key of text, and no sort key.
        cooldown: the seconds between two growths of one key.
        suffix: how a shard is chosen. With a calculated one, `get` takes one request for each count so far.
        waits: the least and the most seconds that a writer waits before it adds a shard, so that not all do at once.
        staleness: the seconds for which a writer uses the number of shards that it has read.
        patience: the seconds for which a refused request is repeated.
        cloudwatch: a client of boto3 for CloudWatch; with it, an error without a reason is a partition's only while the table
            consumes less than it has.
        """
        if suffix not in ("random", "calculated"):
            raise ConfigurationError("INVALID_VALUE", f"suffix is {suffix!r}", "use 'random' or 'calculated'")
        self.counters = Counters()
        self._client, self._table, self._metadata_table = client, table, metadata_table
        self._cooldown, self._is_random, self._waits = cooldown, suffix == "random", waits
        self._staleness, self._patience, self._cloudwatch = staleness, patience, cloudwatch
        self._cached: dict[str, tuple[float, Shards]] = {}
        self._growing: set[str] = set()
        self._exhausted = (0.0, False)
        self._lock = threading.Lock()

    def put(self, item: Mapping[str, Any]) -> None:
        """Write an item into one shard of its partition key, and add a shard where a partition is at its limit.

        Once this returns, the item is found by every later `query`.

        Args:
            item: plain Python values, with the keys of the table's description; numbers as int or Decimal.

        Raises:
            botocore.exceptions.ClientError: DynamoDB refuses the item, or refused it until `patience` was over.
            botocore.exceptions.BotoCoreError: no answer until then. After it, and after a ClientError, the item may be written.
            ConfigurationError: `NOT_SHARDABLE`, `SHARD_METADATA_INVALID`.
        """
        partition, sort = self._keys_in(item)
        stored = self._serialized(item)
        waiting = _Waiting(self._patience)
        kept: int | None = None
        while True:
            used = self._shards(partition, self._staleness)
            shard = kept or self._chosen(partition, sort, used.count)
            stored[self._partition] = {"S": shard_key(partition, shard)}
            try:
                self._client.put_item(TableName=self._table, Item=stored)
                return
            except self._refusals as error:
                limit = self._limit(error)
                if limit is None and not is_fault(error):
                    raise
                if not proves_no_effect(error):
                    kept = shard  # Written elsewhere, it could be there twice.
                if not (limit is Limit.PARTITION and self._has_grown(partition, used)):
                    waiting.wait(error)
                self._count("retries")

    def query(
        self, partition: str, between: tuple[Sort, Sort] | None = None, descending: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the items of a partition key from all its shards, in the order of the sort key, page by page.

        Args:
            between: the least and the greatest sort key, both included.

        Raises:
            botocore.exceptions.ClientError, ConfigurationError: as for `put`.
        """
        shards = range(1, self._last(partition) + 1)
        streams = (self._stream(partition, shard, between, descending) for shard in shards)
        for _, item in heapq.merge(*streams, key=operator.itemgetter(0), reverse=descending):
            yield item

    def get(self, partition: str, sort: Sort) -> dict[str, Any] | None:
        """Return the item with these keys, or None.

        With a calculated suffix, this reads one shard for each count so far; with a random one, every shard.

        Raises:
            botocore.exceptions.ClientError, ConfigurationError: as for `put`.
        """
        if self._is_random:
            return next(self.query(partition, (sort, sort)), None)
        written = self._serialized({self._sort: sort})[self._sort]
        known = self._repeated(self._metadata.read, partition)
        counts = known.counts if known else (1,)
        shards = [calculated_shard(partition, sort, count) for count in counts]
        for shard in dict.fromkeys(shards):
            key = {self._partition: {"S": shard_key(partition, shard)}, self._sort: written}
            answer = self._repeated(self._client.get_item, TableName=self._table, Key=key, ConsistentRead=True)
            if "Item" in answer:
                return self._deserialized(answer["Item"])
        # No entry for one shard, or items beyond the last shard: the metadata was edited, deleted or restored.
        if 1 not in counts or self._has_items(partition, counts[0] + 1):
            return next(self.query(partition, (sort, sort)), None)
        return None

    def _last(self, partition: str) -> int:
        """Return the last shard that may have items: of the largest count, and further while the next one has some.

        A shard that the metadata does not count is new, or the metadata was deleted, or restored from before it was added.
        """
        last = self._largest(partition)
        while self._has_items(partition, last + 1):
            last += 1
            if self._largest(partition) < last:
                self._count("unlisted")
        return last

    def _largest(self, partition: str) -> int:
        shards = self._repeated(self._metadata.read, partition)
        return shards.counts[0] if shards else 1

    def _has_items(self, partition: str, shard: int) -> bool:
        answer = self._repeated(
            self._client.query,
            TableName=self._table,
            KeyConditionExpression="#p = :p",
            ExpressionAttributeNames={"#p": self._partition},
            ExpressionAttributeValues={":p": {"S": shard_key(partition, shard)}},
            ConsistentRead=True,
            Limit=1,
        )
        return bool(answer["Items"])

    def shards(self, partition: str) -> int:
        """Return the number of shards to which a partition key is written now; 1 for a new key."""
        shards = self._repeated(self._metadata.read, partition)
        return shards.count if shards else 1

    def shrink(self, partition: str, to: int) -> None:
        """Write a partition key to fewer shards. Its items stay where they are, and are found as before.

        Other writers go on with the former number until their copy of it is stale.

        Raises:
            ConfigurationError: `INVALID_VALUE`: `to` is not between 1 and the number of shards.
            botocore.exceptions.ClientError, ConfigurationError: as for `put`.
        """
        to = operator.index(to)
        while True:
            shards = self._repeated(self._metadata.read, partition)
            if shards is None or not 1 <= to <= shards.count:
                written = shards.count if shards else 1
                raise ConfigurationError(
                    "INVALID_VALUE",
                    f"{partition} cannot have {to} shards",
                    f"it has {written}: give a number from 1 to that",
                )
            if to == shards.count:
                return
            if changed := self._repeated(self._metadata.change, partition, shards, to, _now()):
                self._remember(partition, changed)
                return

    def _chosen(self, partition: str, sort: Sort, count: int) -> int:
        return random.randint(1, count) if self._is_random else calculated_shard(partition, sort, count)

    def _shards(self, partition: str, most_seconds: float) -> Shards:
        """Return the shards of a key, read at most some seconds ago. A new key gets one."""
        with self._lock:
            at, cached = self._cached.get(partition, (float("-inf"), None))
        if cached is not None and time.monotonic() - at <= most_seconds:
            return cached
        shards = self._repeated(self._metadata.read, partition)
        shards = shards or self._repeated(self._metadata.create, partition, _now())
        self._remember(partition, shards)
        return shards

    def _remember(self, partition: str, shards: Shards) -> None:
        with self._lock:
            self._cached.pop(partition, None)  # The oldest are first.
            self._cached[partition] = (time.monotonic(), shards)
            if len(self._cached) > _MOST_CACHED:
                del self._cached[next(iter(self._cached))]

    def _has_grown(self, partition: str, used: Shards) -> bool:
        """Add a shard, unless another writer did, and return whether there are other shards than those that were used."""
        with self._lock:
            if partition in self._growing:
                return False
            self._growing.add(partition)
        try:
            shards = self._shards(partition, _REFRESH_SECONDS)
            if shards != used:
                return True
            if shards.count >= MOST_SHARDS or not self._is_cool(shards):
                return False
            time.sleep(random.uniform(*self._waits))
            grown = self._grown(partition, shards)
            self._count("growths" if grown else "stood_down")
            if grown:
                self._remember(partition, grown)
            else:
                self._shards(partition, 0.0)
            return True
        finally:
            with self._lock:
                self._growing.discard(partition)

    def _grown(self, partition: str, shards: Shards) -> Shards | None:
        """Add a shard, and return the shards then; None if the number has changed since it was read."""
        now, attempts = _now(), itertools.count()

        def change() -> Shards | None:
            return self._metadata.change(partition, shards, shards.count + 1, now, is_repeated=next(attempts) > 0)

        return self._repeated(change)

    def _is_cool(self, shards: Shards) -> bool:
        now = _now()
        return now - shards.updated >= self._cooldown * 1000 or shards.is_of_wrong_clock(now)

    def _limit(self, error: Any) -> Limit | None:
        limit = limit_of(error, is_on_demand=self._is_on_demand, table_is_exhausted=False)
        if limit is Limit.PARTITION and not error.response.get("ThrottlingReasons") and self._cloudwatch:
            limit = limit_of(error, is_on_demand=self._is_on_demand, table_is_exhausted=self._is_exhausted())
        if limit:
            self._count("throttles" if limit is Limit.PARTITION else "table_throttles")
        return limit

    def _is_exhausted(self) -> bool:
        """Return whether the table consumed nearly all of its provisioned capacity in the last minute that has a metric."""
        end = time.time() // _METRIC_SECONDS * _METRIC_SECONDS
        if self._exhausted[0] == end:
            return self._exhausted[1]
        provisioned = self._described(self._table)["ProvisionedThroughput"]["WriteCapacityUnits"]
        answer = self._repeated(
            self._cloudwatch.get_metric_statistics,
            Namespace="AWS/DynamoDB",
            MetricName="ConsumedWriteCapacityUnits",
            Dimensions=[{"Name": "TableName", "Value": self._table}],
            StartTime=end - _METRIC_DELAY_SECONDS,
            EndTime=end,
            Period=_METRIC_SECONDS,
            Statistics=["Sum"],
        )
        last = max(answer["Datapoints"], key=operator.itemgetter("Timestamp"), default={"Sum": 0.0})
        is_exhausted = bool(provisioned and last["Sum"] / _METRIC_SECONDS >= _EXHAUSTED * provisioned)
        self._exhausted = (end, is_exhausted)
        return is_exhausted

    def _stream(
        self, partition: str, shard: int, between: tuple[Sort, Sort] | None, descending: bool
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield the items of one shard in order, each after its sort key."""
        names, values = {"#p": self._partition}, {":p": {"S": shard_key(partition, shard)}}
        condition = "#p = :p"
        if between is not None:
            names["#s"] = self._sort
            values[":low"], values[":high"] = (self._serialized({self._sort: end})[self._sort] for end in between)
            condition += " AND #s BETWEEN :low AND :high"
        request = {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": not descending,
            "ConsistentRead": True,
        }
        while True:
            answer = self._repeated(self._client.query, **request)
            for item in answer["Items"]:
                yield _order(item[self._sort]), self._deserialized(item)
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _repeated(self, call: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Return the result of a request that may be made twice, repeated while the service is busy or does not answer."""
        waiting = _Waiting(self._patience)
        while True:
            try:
                return call(*arguments, **named)
            except self._refusals as error:
                if limit_of(error, is_on_demand=False, table_is_exhausted=True) is None and not is_fault(error):
                    raise
                waiting.wait(error)
                self._count("retries")

    def _count(self, name: str) -> None:
        with self._lock:
            setattr(self.counters, name, getattr(self.counters, name) + 1)

    def _keys_in(self, item: Mapping[str, Any]) -> tuple[str, Sort]:
        missing = [name for name in (self._partition, self._sort) if name not in item]
        if missing:
            raise ConfigurationError("NOT_SHARDABLE", f"the item has no {missing[0]}", f"give each item a {missing[0]}")
        partition = item[self._partition]
        if not isinstance(partition, str):
            raise ConfigurationError(
                "NOT_SHARDABLE",
                f"{self._partition} is {partition!r}, which takes no suffix",
                "use text as partition key",
            )
        if len(partition.encode()) > _LONGEST_KEY:
            raise ConfigurationError(
                "NOT_SHARDABLE",
                f"{self._partition} has {len(partition.encode())} bytes, which leaves no room for a suffix",
                f"use a partition key of at most {_LONGEST_KEY} bytes",
            )
        return partition, item[self._sort]

    def _serialized(self, item: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._types[0].serialize(value) for name, value in item.items()}

    def _deserialized(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        item = {name: self._types[1].deserialize(value) for name, value in stored.items()}
        return item | {self._partition: partition_of(item[self._partition])}

    @cached_property
    def _types(self) -> tuple[Any, Any]:
        from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

        return TypeSerializer(), type(
            "_Plain", (TypeDeserializer,), {"_deserialize_b": lambda _, value: bytes(value)}
        )()

    @cached_property
    def _refusals(self) -> tuple[type[Exception], ...]:
        from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

        return ClientError, ConnectionError, HTTPClientError

    @cached_property
    def _description(self) -> Mapping[str, Any]:
        return self._described(self._table)

    def _described(self, table: str) -> Mapping[str, Any]:
        description: Mapping[str, Any] = self._repeated(self._client.describe_table, TableName=table)["Table"]
        return description

    @cached_property
    def _is_on_demand(self) -> bool:
        mode: str = self._description.get("BillingModeSummary", {}).get("BillingMode", "")
        return mode == "PAY_PER_REQUEST"

    @cached_property
    def _partition(self) -> str:
        return _key(self._description, self._table, "HASH")

    @cached_property
    def _sort(self) -> str:
        return _key(self._description, self._table, "RANGE")

    @cached_property
    def _metadata(self) -> ShardMetadata:
        description = self._described(self._metadata_table)
        return ShardMetadata(self._client, self._metadata_table, _key(description, self._metadata_table, "HASH"))


class _Waiting:
    """Wait longer after each refusal, at random within a limit, until the patience is over."""

    def __init__(self, patience: float) -> None:
        self._deadline = time.monotonic() + patience
        self._pause = _FIRST_PAUSE_SECONDS

    def wait(self, error: Exception) -> None:
        """Wait, or raise the error where the patience is over."""
        pause = random.uniform(0, self._pause)
        if time.monotonic() + pause > self._deadline:
            raise error
        time.sleep(pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)


def _key(description: Mapping[str, Any], table: str, kind: str) -> str:
    """Return the name of a key of a table: HASH, of text, or RANGE."""
    types = {key["AttributeName"]: key["AttributeType"] for key in description["AttributeDefinitions"]}
    name = next((key["AttributeName"] for key in description["KeySchema"] if key["KeyType"] == kind), None)
    if name is None:
        raise ConfigurationError("NOT_SHARDABLE", f"the DynamoDB table {table} has no sort key", "use a table with one")
    if kind == "HASH" and types[name] != "S":
        raise ConfigurationError(
            "NOT_SHARDABLE",
            f"the partition key {name} of the DynamoDB table {table} is no text",
            "use a table with such a key",
        )
    return str(name)


def _order(value: Mapping[str, Any]) -> Any:
    """Return a sort key as DynamoDB orders it: numbers by value, text by its bytes in UTF-8."""
    [(kind, written)] = value.items()
    return Decimal(written) if kind == "N" else written.encode() if kind == "S" else bytes(written)


def _now() -> int:
    return time.time_ns() // 1_000_000
