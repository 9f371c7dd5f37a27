"""`baseline` records migrations as applied whose tables exist already; each table is looked up first."""

from __future__ import annotations

import json

import pytest

from glacierbase.apply.baseline import Baselined, baseline
from glacierbase.apply.results import BaselinedFile, BaselineResult
from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFailed
from glacierbase.history.details import details_of
from glacierbase.model.columns import ColumnDifference
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project whose engine and tables are in memory, and three files."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE a (x INT);\nCREATE TABLE scratch (x INT);\nDROP TABLE scratch;")
    world.file("2_b.sql", "CREATE TABLE old (x INT);\nALTER TABLE old RENAME TO b;")
    world.file("3_c.sql", "CREATE TABLE c (x INT)")
    return world


def test_what_is_there_is_recorded_as_applied_and_nothing_runs(world: World) -> None:
    """One append records both; a later version stays pending."""
    session = world.engine.open_session()
    session.execute("CREATE TABLE a (x INT)")
    session.execute("CREATE TABLE b (x INT)")
    files = baseline(world.target(), 2, "made by hand in 2024").files
    assert [prepared.migration.version for prepared in files] == ["1", "2"]
    assert [(event.event, event.state, event.version) for event in world.events] == [
        ("baselined", "applied", "1"),
        ("baselined", "applied", "2"),
    ]
    assert world.tables.appends == 1
    assert {event.reason for event in world.events} == {"made by hand in 2024"}
    assert len(json.loads(world.events[0].details or "")["statement_checksums"]) == 3
    assert [file.version for file in world.migrate().applied] == ["3"]
    assert baseline(world.target(), 3, "again") == Baselined()


def test_each_table_that_is_not_there_is_named_and_nothing_is_recorded(world: World) -> None:
    """A table that the files drop again is not looked up; a renamed one is, by its last name."""
    world.engine.open_session().execute("CREATE TABLE a (x INT)")
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(world.target(), 3, "made by hand")
    assert (caught.value.code, caught.value.data["missing"]) == ("BASELINE_REFUSED", ["b", "c"])
    assert world.events == []


def test_a_file_that_was_begun_is_repaired_first(world: World) -> None:
    """The file has already changed something in this environment."""
    world.file("1_a.sql", "CREATE TABLE a (x INT);\nINSERT INTO missing VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(world.target(), 2, "made by hand")
    assert "glacierbase repair 1" in caught.value.hint


def test_a_version_that_no_file_has_is_refused(world: World) -> None:
    """A typing error must not adopt more or fewer files than intended."""
    with pytest.raises(ConfigurationError) as caught:
        baseline(world.target(), 7, "made by hand")
    assert caught.value.code == "UNKNOWN_VERSION"


@pytest.fixture
def orders(project: ProjectFolder) -> World:
    """A project whose two files declare four columns of one table, and another table as a query."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE orders (id BIGINT, amount DECIMAL(12, 2), note STRING)")
    world.file("2_b.sql", "ALTER TABLE orders ADD COLUMN at TIMESTAMP; CREATE TABLE sums AS SELECT 1 AS a")
    world.engine.open_session().execute("CREATE TABLE sums (a INT)")
    return world


def exists(world: World, columns: str) -> None:
    world.engine.open_session().execute(f"CREATE TABLE orders ({columns})")


def test_a_table_with_the_declared_columns_is_baselined(orders: World) -> None:
    """Names and types are compared in one spelling; a table of a query is named in a warning."""
    exists(orders, "ID LONG, amount NUMERIC(12, 2), note string, at TIMESTAMP")
    done = baseline(orders.target(), 2, "made by hand")
    assert (len(done.files), done.differences) == (2, ())
    assert done.warnings == ("columns not compared: sums (CREATE … AS)",)
    assert [details_of(event).differences for event in orders.events] == [(), ()]


def test_a_table_with_other_columns_is_refused_with_each_difference(orders: World) -> None:
    """A missing column, a further one and another type are named with both types; nothing is recorded."""
    exists(orders, "id BIGINT, amount DOUBLE, note STRING, legacy STRING")
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(orders.target(), 2, "made by hand")
    assert (caught.value.code, caught.value.exit_code, orders.events) == ("BASELINE_REFUSED", 3, [])
    found = [(each.column, each.declared, each.actual) for each in caught.value.data["differences"]]
    assert found == [("amount", "decimal(12,2)", "double"), ("at", "timestamp", None), ("legacy", None, "string")]
    assert "orders, column amount: declared decimal(12,2), actual double" in caught.value.message
    assert "--accept-differences" in caught.value.hint


def test_accepted_differences_are_recorded_with_the_file_that_creates_the_table(orders: World) -> None:
    """The reason is required as for any baseline."""
    exists(orders, "id BIGINT, amount DOUBLE, note STRING, at TIMESTAMP")
    done = baseline(orders.target(), 2, "a float since 2019", accept_differences=True)
    difference = ColumnDifference("orders", "amount", "decimal(12,2)", "double")
    assert done.differences == (difference,)
    assert [details_of(event).differences for event in orders.events] == [(difference,), ()]
    assert {event.reason for event in orders.events} == {"a float since 2019"}


def test_accepted_differences_do_not_make_up_for_a_missing_table(orders: World) -> None:
    """A table that is not there has no columns to accept."""
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(orders.target(), 2, "made by hand", accept_differences=True)
    assert caught.value.data["missing"] == ["orders"]


def test_a_type_that_the_engine_spells_in_an_unknown_way_is_a_warning(orders: World) -> None:
    """It is neither equal nor different."""
    exists(orders, 'id BIGINT, amount "?", note STRING')
    [warning, _] = baseline(orders.target(), 2, "made by hand").warnings
    assert warning.startswith("columns not compared: orders (")


def test_the_result_of_baseline_names_what_was_accepted() -> None:
    """In text and JSON."""
    difference = ColumnDifference("lake.s.t", "c", None, "string")
    result = BaselineResult("shop", "dev", baselined=(BaselinedFile("1", "a.sql"),), differences=(difference,))
    assert result.lines() == ["baselined  a.sql", "accepted   lake.s.t, column c: declared nowhere, actual string"]
    assert result.to_dict()["differences"] == [
        {"table": "lake.s.t", "column": "c", "declared": None, "actual": "string"}
    ]
