"""What a replay in memory costs: each change of a table makes a schema with all columns, and nothing more."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from glacierbase.executors.copies.memory import shapes_after
from glacierbase.model.catalog import Catalog


def calls(catalog: Catalog, alter: str, count: int) -> int:
    """Return the number of calls of functions, in all threads, for `count` changes of one table. It is the same on each machine."""
    statements = ["CREATE TABLE lake.a.t (id int)"] + [alter.format(number) for number in range(count)]
    events: Counter[str] = Counter()

    def tally(_: object, event: str, __: object) -> None:
        events[event] += 1

    threading.setprofile(tally)  # Statements run in a thread.
    try:
        [shape] = shapes_after(catalog, statements)
    finally:
        threading.setprofile(None)
    assert shape.table == "lake.a.t"
    return events["call"] + events["c_call"]


@pytest.mark.parametrize(
    "alter",
    [
        "ALTER TABLE lake.a.t ADD COLUMN c{} int",
        "ALTER TABLE lake.a.t ALTER COLUMN id COMMENT '{}'",
        "ALTER TABLE lake.a.t SET TBLPROPERTIES ('p{}' = '1')",
    ],
)
def test_twice_as_many_changes_cost_at_most_four_times_as_much(iceberg_catalog: Catalog, alter: str) -> None:
    """Each schema has all columns so far, but no change copies or compares the columns of all schemas."""
    shapes_after(iceberg_catalog, ["CREATE TABLE lake.a.t (id int)"])  # Imports are counted in neither.
    assert calls(iceberg_catalog, alter, 60) / calls(iceberg_catalog, alter, 30) < 4
