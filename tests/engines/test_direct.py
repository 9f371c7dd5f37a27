"""Spark goes on with tables that plain DDL without Spark changed, and the metadata is the same as if Spark had changed them alone.

Each statement by itself is compared with the record of `tests/oracle`. These chains are not recorded: they look for differences
that the record does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.oracle.cases import CHAINS
from tests.support import alter_chains, chains
from tests.support.beds import LakeBed
from tests.support.twins import Twins

pytestmark = pytest.mark.spark

KINDS = {"chain": chains.chain, "alter chain": alter_chains.chain}


@pytest.mark.parametrize("seed", range(CHAINS, 500))
@pytest.mark.parametrize("kind", KINDS)
def test_a_generated_chain_makes_the_same_metadata(lake: LakeBed, kind: str, seed: int) -> None:
    """Each statement is refused on both for the same reason, or leaves the same metadata."""
    statements: Sequence[str] = KINDS[kind](seed)
    assert [outcome for outcome in Twins(lake).run(statements) if not outcome.is_equal] == []
