"""Each clause of ALTER TABLE makes the same metadata without Spark as on Spark, and is refused with the same error class."""

from __future__ import annotations

import pytest

from tests.support.alter_chains import chain
from tests.support.beds import LakeBed
from tests.support.direct_alters import ALTERS
from tests.support.twins import Twins

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", ALTERS)
def test_both_ways_make_the_same_metadata(lake: LakeBed, case: str) -> None:
    """Each statement is refused on both for the same reason, or leaves the same metadata."""
    outcomes = Twins(lake).run(ALTERS[case])
    assert [outcome for outcome in outcomes if not outcome.is_equal] == []


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.long if seed < 1 else pytest.mark.full) for seed in range(500)]
)
def test_chains_of_statements_make_the_same_metadata(lake: LakeBed, seed: int) -> None:
    """Twenty random clauses, one after the other, have the same effects and errors on both."""
    outcomes = Twins(lake).run(chain(seed))
    assert [outcome for outcome in outcomes if not outcome.is_equal] == []
