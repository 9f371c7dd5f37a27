"""`sharding advise`: the shards that a rate needs, and what the methods cost."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.sharding.advise import advise
from glacierbase.errors import ConfigurationError
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder


@pytest.mark.parametrize(
    ("rate", "size", "shards", "units"),
    [
        (1, 1, 1, 1),
        (1000, 1024, 1, 1),
        (1001, 1024, 2, 1),
        (1000, 1025, 2, 2),
        (3500, 300, 4, 1),
        (10, 400 * 1024, 4, 400),
    ],
)
def test_the_shards_are_those_of_the_documented_limit(rate: float, size: int, shards: int, units: int) -> None:
    """1,000 write units a second in a partition, one for each KB of an item."""
    advice = advise(rate, size)
    assert (advice.shards, advice.write_units) == (shards, units)
    assert [method.shards for method in advice.methods] == [1, shards, shards]
    assert all(method.writes_per_second >= rate for method in advice.methods[1:])


@pytest.mark.parametrize(
    ("rate", "size"), [(0, 1), (-1, 1), (float("inf"), 1), (float("nan"), 1), (1, 0), (1, 400 * 1024 + 1)]
)
def test_a_rate_or_a_size_out_of_bounds_is_refused(rate: float, size: int) -> None:
    """DynamoDB has no larger item."""
    with pytest.raises(ConfigurationError):
        advise(rate, size)


def test_the_command_shows_the_methods(project: ProjectFolder) -> None:
    """As a table, and as JSON."""
    text = run_here(project, "sharding", "advise", "--put-per-second", "3.5k", "--item-size", "300B")
    assert text.code == 0, text.stderr
    assert "3,500 writes a second to one key need 4 shards: 1 write unit an item" in text.stdout
    assert "they grow from one shard in 106 s" in text.stdout
    document = ask_here(project, "sharding", "advise", "--put-per-second", "3500", "--cooldown", "10").document
    assert (document["schema"], document["shards"], document["growth_seconds"]) == (
        "glacierbase/sharding-advise/1",
        4,
        46.5,
    )
    assert [method["get_requests"] for method in document["methods"]] == [1, 6, 2]
    refused = run_here(project, "sharding", "advise", "--put-per-second", "0")
    assert (refused.code, refused.stderr.splitlines()[0]) == (2, "error: INVALID_VALUE: 0 writes a second")
