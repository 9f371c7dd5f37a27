"""The metadata table: how many shards a partition key has, and had. Changed by conditional writes alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glacierbase.errors import ConfigurationError

# An item with more shards than this is invalid: a query reads each of them.
MOST_SHARDS = 10_000
_DAY_MILLISECONDS = 86_400_000
# With more entries than this, a change keeps only the last one of each count: an item of DynamoDB has at most 400 KB.
_LONGEST_HISTORY = 1_000
_LATEST = 10**20 - 1
_ENTRY = re.compile(r"\d{1,20}:(\d{1,5})")


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of one partition key.

    Attributes:
        count: how many of them are written to.
        updated: when the count last changed, in milliseconds since 1970 by the clock of the writer that changed it.
        history: each count so far, as `milliseconds:count`; of a long history, the last change to each count.
    """

    count: int
    updated: int
    history: frozenset[str]

    def is_of_wrong_clock(self, now: int) -> bool:
        """Return whether the last change is so far in the future that it must not stop growth until then."""
        return self.updated > now + _DAY_MILLISECONDS

    @property
    def recorded(self) -> frozenset[int]:
        """The counts in the history."""
        return frozenset(int(entry.rpartition(":")[2]) for entry in self.history)

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts so far, the largest first. The items of each are still where it placed them."""
        return tuple(sorted({self.count, *self.recorded}, reverse=True))


class ShardMetadata:
    """The metadata table of one sharded table."""

    def __init__(self, client: Any, table: str, key: str) -> None:
        """Args:
        client: of boto3 for DynamoDB.
        key: the name of the metadata table's partition key.
        """
        self._client = client
        self._table = table
        self._key = key

    def read(self, partition: str) -> Shards | None:
        """Return the shards of a partition key by a consistent read; None for a new key.

        Raises:
            ConfigurationError: `SHARD_METADATA_INVALID`.
            botocore.exceptions.ClientError: DynamoDB refuses the request.
        """
        answer = self._client.get_item(TableName=self._table, Key={self._key: {"S": partition}}, ConsistentRead=True)
        item = answer.get("Item")
        return None if item is None else self._read(partition, item)

    def create(self, partition: str, now: int) -> Shards:
        """Insert one shard for a new key, unless another writer did, and return the stored shards.

        Args:
            now: in milliseconds since 1970.

        Raises: as `read`.
        """
        created = Shards(1, now, frozenset((f"{now}:1",)))
        while True:
            if self._put(partition, created, "attribute_not_exists(#key)", {}):
                return created
            if shards := self.read(partition):
                return shards

    def change(
        self, partition: str, former: Shards, count: int, now: int, *, is_repeated: bool = False
    ) -> Shards | None:
        """Set the number of shards, unless it has changed since it was read; None if it has, or if the item is gone.

        Args:
            former: as it was read.
            now: in milliseconds since 1970.
            is_repeated: whether the same change was requested before, and its answer was lost.

        Raises:
            botocore.exceptions.ClientError: DynamoDB refuses the request.
        """
        # Later than what it replaces, so that no two changes have the same time.
        at = now if former.is_of_wrong_clock(now) else max(now, former.updated + 1)
        missing = () if former.count in former.recorded else (f"{former.updated}:{former.count}",)
        entry = f"{at}:{count}"
        changed = Shards(count, at, _shortened(former.history.union(missing, (entry,))))
        condition = "last_updated = :seen AND number_of_shards = :count"
        values = {":seen": {"N": str(former.updated)}, ":count": {"N": str(former.count)}}
        if self._put(partition, changed, condition, values):
            return changed
        stored = self.read(partition) if is_repeated else None
        return stored if stored and entry in stored.history else None

    def _put(self, partition: str, shards: Shards, condition: str, values: Mapping[str, Any]) -> bool:
        item = {
            self._key: {"S": partition},
            "number_of_shards": {"N": str(shards.count)},
            "last_updated": {"N": str(shards.updated)},
            "shard_history": {"SS": sorted(shards.history)},
        }
        more: dict[str, Any] = {"ExpressionAttributeValues": dict(values)} if values else {}
        if "#key" in condition:
            more["ExpressionAttributeNames"] = {"#key": self._key}
        try:
            self._client.put_item(TableName=self._table, Item=item, ConditionExpression=condition, **more)
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def _read(self, partition: str, item: Mapping[str, Any]) -> Shards:
        try:
            count, updated = (int(item[name]["N"]) for name in ("number_of_shards", "last_updated"))
            history = frozenset(item.get("shard_history", {"SS": ()})["SS"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._invalid(partition) from error
        if not all(map(_ENTRY.fullmatch, history)):
            raise self._invalid(partition)
        shards = Shards(count, updated, history)
        if not (1 <= shards.counts[-1] <= shards.counts[0] <= MOST_SHARDS and 0 <= updated <= _LATEST):
            raise self._invalid(partition)
        return shards

    def _invalid(self, partition: str) -> ConfigurationError:
        return ConfigurationError(
            "SHARD_METADATA_INVALID",
            f"the item {partition} of the DynamoDB table {self._table} has no valid number of shards",
            f"set number_of_shards to the highest suffix of the key's items, at most {MOST_SHARDS}, last_updated to milliseconds "
            "since 1970, and remove shard_history",
        )


def _shortened(history: frozenset[str]) -> frozenset[str]:
    """Return a history that is not too long: readers need each count once."""
    if len(history) <= _LONGEST_HISTORY:
        return history
    ordered = sorted(history, key=lambda entry: int(entry.partition(":")[0]))
    return frozenset({entry.rpartition(":")[2]: entry for entry in ordered}.values())
