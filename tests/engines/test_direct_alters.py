"""Each clause of ALTER TABLE makes the same metadata without Spark as on Spark, and is refused with the same error class."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.alter_chains import chain
from tests.support.beds import LakeBed
from tests.support.twins import Twins

pytestmark = pytest.mark.spark

# Statements that follow each other on one table, by what they show: a line each, after the name of the case.
_TEXT = Path(__file__).with_name("direct_alters.sql").read_text()
CASES = {
    name: lines.strip().splitlines() for name, _, lines in (case.partition("\n") for case in _TEXT.split("-- ")[1:])
}
_OLD = (
    "BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,0)", "DECIMAL(12,2)", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
    "STRING", "BINARY",
)  # fmt: skip
_NEW = (*_OLD, "DECIMAL(20,0)", "DECIMAL(30,2)", "DECIMAL", "INTEGER", "LONG", "REAL", "DEC(5)", "NUMERIC(11,1)")
_COLUMNS = ", ".join(f"c{number} {old}" for number, old in enumerate(_OLD))
CASES["types"] = [
    f"CREATE TABLE lake.NS.t ({_COLUMNS}, s STRUCT<a: INT>) USING iceberg",
    *(f"ALTER TABLE lake.NS.t ALTER COLUMN c{number} TYPE {new}" for number in range(len(_OLD)) for new in _NEW),
    *(f"ALTER TABLE lake.NS.t ALTER COLUMN s TYPE {new}" for new in _OLD),
]


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_both_ways_make_the_same_metadata(lake: LakeBed, case: str) -> None:
    """Each statement is refused on both for the same reason, or leaves the same metadata."""
    outcomes = Twins(lake).run(CASES[case])
    assert [outcome for outcome in outcomes if not outcome.is_equal] == []


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.long if seed < 1 else pytest.mark.full) for seed in range(500)]
)
def test_chains_of_statements_make_the_same_metadata(lake: LakeBed, seed: int) -> None:
    """Twenty random clauses, one after the other, have the same effects and errors on both."""
    outcomes = Twins(lake).run(chain(seed))
    assert [outcome for outcome in outcomes if not outcome.is_equal] == []
