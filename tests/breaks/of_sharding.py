"""Breaks of the sharded keys of DynamoDB."""

from __future__ import annotations

from tests.breaks.running import Break

_ENGINE = "engines/test_sharding.py::"
_UNIT = "unit/run/test_dynamodb.py::"

BREAKS = (
    Break(
        "a number of shards replaces one that was not read",
        "capabilities/sharding/metadata.py",
        "last_updated = :seen AND number_of_shards = :count",
        "last_updated <= :seen OR number_of_shards >= :count",
        f"{_ENGINE}test_writers_at_the_end_of_the_cooldown_add_one_shard",
    ),
    Break(
        "a growth whose answer was lost counts as another writer's",
        "capabilities/sharding/metadata.py",
        "self.read(partition) if is_repeated else None",
        "None",
        f"{_ENGINE}test_a_growth_whose_answer_is_lost_counts_once",
    ),
    Break(
        "a write whose answer was lost goes to another shard",
        "capabilities/sharding/table.py",
        "kept = shard  #",
        "pass  #",
        f"{_ENGINE}test_a_lost_answer_doubles_nothing",
    ),
    Break(
        "a point read trusts metadata that was deleted or edited",
        "capabilities/sharding/table.py",
        "if 1 not in counts or self._has_items(partition, counts[0] + 1):",
        "if False:",
        f"{_ENGINE}test_a_point_read_finds_what_the_metadata_does_not_place",
    ),
    Break(
        "a gateway's answer proves that nothing was written",
        "run/dynamodb.py",
        ">= 500",
        ">= 600",
        f"{_UNIT}test_a_write_without_an_answer_may_have_taken_effect",
    ),
)
