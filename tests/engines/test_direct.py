"""Plain DDL without Spark makes the same metadata as on Spark, field by field, and refuses with the same error class."""

from __future__ import annotations

import pytest

from tests.support.beds import LakeBed
from tests.support.direct_tables import TABLES
from tests.support.twins import Twins

pytestmark = [pytest.mark.spark, pytest.mark.long]

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


@pytest.mark.parametrize("case", CASES)
def test_both_ways_make_the_same_metadata(lake: LakeBed, case: str) -> None:
    """Each statement is refused on both for the same reason, or leaves the same metadata."""
    outcomes = Twins(lake).run(CASES[case])
    assert [outcome for outcome in outcomes if not outcome.is_equal] == []
