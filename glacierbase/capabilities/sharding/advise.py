"""`sharding advise`: how many shards a rate of writes needs, and what each method of sharding costs readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from glacierbase.errors import ConfigurationError
from glacierbase.model.amounts import amount
from glacierbase.model.result import StandaloneResult
from glacierbase.model.text import Line, counted, table

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
PARTITION_WRITES, PARTITION_READS = 1000, 3000
_WRITE_UNIT, _READ_UNIT = 1024, 4096
LARGEST_ITEM = 400 * 1024


@dataclass(frozen=True, slots=True)
class Method:
    """The capacity and the costs of a method of sharding at a rate.

    Attributes:
        name: `none`, `random` or `calculated`.
        shards: how many it writes to.
        writes_per_second: the most that its shards accept.
        get_requests: the requests that read one item by its keys, including the one to the metadata. A calculated suffix takes one
            more for each former number of shards that places the item elsewhere, and one more for an absent item.
        query_requests: the fewest requests that read all items of the key, including the one to the metadata.
    """

    name: str
    shards: int
    writes_per_second: float
    get_requests: int
    query_requests: int


@dataclass(frozen=True, slots=True)
class ShardingAdvice(StandaloneResult):
    """The shards that one partition key needs.

    Attributes:
        shards: how many.
        write_units: of one item.
        growth_seconds: from one shard to that number; each growth takes a cooldown and the mean of the random wait.
        methods: the costs of each.
    """

    puts_per_second: float
    item_bytes: int
    shards: int
    write_units: int
    growth_seconds: float
    methods: tuple[Method, ...]

    def lines(self) -> Sequence[Line]:
        """Return the advice, and the methods as a table."""
        rate, limit = amount(self.puts_per_second), amount(PARTITION_WRITES)
        units = f"{counted(self.write_units, 'write unit')} an item, {limit} write units a second in one partition"
        advice = f"{rate} writes a second to one key need {counted(self.shards, 'shard')}: {units}"
        grown = (
            f"they grow from one shard in {self.growth_seconds:.0f} s" if self.shards > 1 else "sharding is not needed"
        )
        rows = [
            (
                method.name,
                str(method.shards),
                amount(method.writes_per_second),
                str(method.get_requests),
                str(method.query_requests),
            )
            for method in self.methods
        ]
        header = ("method", "shards", "writes a second", "requests of a get", "requests of a query")
        return [advice, grown, *table(header, rows)]


def advise(puts_per_second: float, item_bytes: int, cooldown: float = 30.0, mean_wait: float = 5.5) -> ShardingAdvice:
    """Return how many shards one partition key needs. Contacts nothing.

    Args:
        puts_per_second: of items with this key, at the peak.
        item_bytes: the size of an item.
        cooldown, mean_wait: of a `ShardedTable`, in seconds.

    Raises:
        ConfigurationError: `INVALID_VALUE`.
    """
    if not 0 < puts_per_second <= 1e9:
        raise ConfigurationError(
            "INVALID_VALUE", f"{puts_per_second:g} writes a second", "give a rate above 0, at most 1G"
        )
    if not 0 < item_bytes <= LARGEST_ITEM:
        raise ConfigurationError(
            "INVALID_VALUE", f"an item of {item_bytes} bytes", "give a size of 1 byte to 400KB, DynamoDB's limit"
        )
    units = math.ceil(item_bytes / _WRITE_UNIT)
    shards = math.ceil(puts_per_second * units / PARTITION_WRITES)
    accepted = shards * PARTITION_WRITES / units
    return ShardingAdvice(
        puts_per_second,
        item_bytes,
        shards,
        units,
        (shards - 1) * (cooldown + mean_wait),
        (
            Method("none", 1, PARTITION_WRITES / units, 1, 1),
            # One request to the metadata; one beyond the last shard finds items that the metadata does not count.
            Method("random", shards, accepted, shards + 2, shards + 2),
            Method("calculated", shards, accepted, 2, shards + 2),
        ),
    )
