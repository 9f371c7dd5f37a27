"""Plain DDL without Spark makes the same metadata as on Spark, field by field, and refuses with the same error class."""

from __future__ import annotations

import pytest

from tests.support.beds import LakeBed
from tests.support.chains import chain
from tests.support.direct_tables import TABLES
from tests.support.twins import Outcome, Twins

pytestmark = pytest.mark.spark

# Chains of the long tests, and of the full form.
FEW, MANY = range(2), range(2, 500)
# Statements that follow each other, by what they show.
CASES = {
    "properties": (
        "CREATE TABLE lake.NS.t (id BIGINT) USING iceberg",
        "ALTER TABLE lake.NS.t SET TBLPROPERTIES ('a' = '1', 'b' = '2')",
        "ALTER TABLE lake.NS.t UNSET TBLPROPERTIES ('a')",
        "DROP TABLE lake.NS.t",
        "DROP TABLE lake.NS.t",
        "DROP TABLE IF EXISTS lake.NS.t",
    ),
    **TABLES,
}


@pytest.mark.parametrize("case", ["properties", *(case for case in TABLES)])
def test_both_ways_make_the_same_metadata(lake: LakeBed, case: str) -> None:
    """Each statement is refused on both for the same reason, or leaves the same metadata."""
    assert different(Twins(lake).run(CASES[case])) == []


@pytest.mark.parametrize("seed", [*FEW, *(seed for seed in MANY)], ids=lambda seed: f"seed {seed}")
def test_a_generated_chain_makes_the_same_metadata(lake: LakeBed, seed: int) -> None:
    """After each of twenty statements, whatever came before it."""
    assert different(Twins(lake).run(chain(seed))) == []


def different(outcomes: list[Outcome]) -> list[Outcome]:
    """Return the statements that did not do the same on both."""
    return [outcome for outcome in outcomes if not outcome.is_equal]
