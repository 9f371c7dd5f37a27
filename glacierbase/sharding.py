"""The library of `capabilities.sharding` under its public name."""

from __future__ import annotations

from glacierbase.capabilities.sharding import Counters as Counters
from glacierbase.capabilities.sharding import ShardedTable as ShardedTable

__all__ = ["Counters", "ShardedTable"]
