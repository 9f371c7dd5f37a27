"""The names of shards, and the shard that is calculated for an item."""

from __future__ import annotations

import subprocess
from decimal import Decimal

import pytest

from glacierbase.capabilities.sharding.keys import calculated_shard, partition_of, shard_key


@pytest.mark.parametrize("partition", ["d", "", "d_1", "_", "ü 7", "d_1_2"])
@pytest.mark.parametrize("shard", [1, 2, 10, 9999])
def test_the_partition_key_is_found_in_the_name_of_its_shard(partition: str, shard: int) -> None:
    """A key that ends like a shard keeps its end."""
    assert partition_of(shard_key(partition, shard)) == partition


def test_two_keys_share_no_shard() -> None:
    """The shards of `d`, and those of `d_1`."""
    names = [shard_key(partition, shard) for partition in ("d", "d_1", "d_1_1") for shard in range(1, 12)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("count", [1, 2, 7, 10, 256])
@pytest.mark.parametrize("sort", ["", "2026-11-28", "ü"])
def test_the_calculated_shard_is_the_md5_of_both_keys_by_another_program(sort: str, count: int) -> None:
    """Modulo the number of shards, plus 1."""
    digest = subprocess.run(
        ["md5sum"], input=f"device-1{sort}".encode(), capture_output=True, check=True
    ).stdout.split()[0]
    assert calculated_shard("device-1", sort, count) == int(digest, 16) % count + 1


@pytest.mark.parametrize(
    "equal",
    [
        (1, Decimal("1.0"), Decimal("1e0")),
        (100, Decimal("1E+2")),
        (0, Decimal("0.00"), Decimal("-0")),
        (10**37 + 1, Decimal(10**37 + 1)),
    ],
)
def test_equal_numbers_have_one_shard(equal: tuple[int | Decimal, ...]) -> None:
    """DynamoDB takes them for one sort key."""
    assert len({calculated_shard("d", number, 9973) for number in equal}) == 1


def test_different_numbers_of_38_digits_have_shards_of_their_own() -> None:
    """No digit is rounded away."""
    assert len({calculated_shard("d", 10**37 + digit, 10**9) for digit in range(10)}) == 10


def test_the_shards_of_many_items_are_even() -> None:
    """None of ten has less than 8 % or more than 12 % of 10,000 items."""
    shards = [calculated_shard("d", number, 10) for number in range(10_000)]
    counts = [shards.count(shard) for shard in range(1, 11)]
    assert sum(counts) == 10_000
    assert all(800 < count < 1200 for count in counts)
