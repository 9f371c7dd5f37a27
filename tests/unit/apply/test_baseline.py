"""`baseline` records migrations as applied whose tables exist already; each table is looked up first."""

from __future__ import annotations

import json

import pytest

from glacierbase.apply.baseline import Baselined, baseline
from glacierbase.apply.results import BaselinedFile, BaselineResult
from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFailed
from glacierbase.history.details import details_of
from glacierbase.model.codec import error_to_json
from glacierbase.model.differences import DeclaredDifference
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

# The qualified name of the table that the files write as `orders`.
ORDERS = "spark_catalog.default.orders"


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
    assert (caught.value.code, caught.value.data["missing"]) == (
        "BASELINE_REFUSED",
        ["spark_catalog.default.b", "spark_catalog.default.c"],
    )
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
    assert (caught.value.code, caught.value.message) == ("UNKNOWN_VERSION", "there is no migration with version 0007")


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
    assert done.warnings == ("not compared: spark_catalog.default.sums: columns (not derived from the files)",)
    assert [details_of(event).differences for event in orders.events] == [(), ()]


def test_a_table_with_other_columns_is_refused_with_each_difference(orders: World) -> None:
    """A missing column, a further one and another type are named with both types; nothing is recorded."""
    exists(orders, "id BIGINT, amount DOUBLE, note STRING, legacy STRING")
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(orders.target(), 2, "made by hand")
    assert (caught.value.code, caught.value.exit_code, orders.events) == ("BASELINE_REFUSED", 3, [])
    found = [(each.column, each.declared, each.actual) for each in caught.value.data["differences"]]
    assert found == [("at", "timestamp", None), ("amount", "decimal(12,2)", "double"), ("legacy", None, "string")]
    assert f"{ORDERS}, type amount: declared decimal(12,2), actual double" in caught.value.message
    options = "--accept 'column at' --accept 'type amount' --accept 'column legacy' --reason '…'"
    assert f"glacierbase baseline --to 2 {options}" in caught.value.hint
    assert error_to_json(caught.value)["differences"][2] == {
        "table": ORDERS, "column": "legacy", "declared": None, "actual": "string", "what": "column",
    }  # fmt: skip


def test_accepted_differences_are_recorded_with_the_file_that_creates_the_table(orders: World) -> None:
    """The reason is required as for any baseline."""
    exists(orders, "id BIGINT, amount DOUBLE, note STRING, at TIMESTAMP")
    done = baseline(orders.target(), 2, "a float since 2019", accept=["type amount"])
    difference = DeclaredDifference(ORDERS, "amount", "decimal(12,2)", "double", "type")
    assert done.differences == (difference,)
    assert [details_of(event).differences for event in orders.events] == [(difference,), ()]
    assert {event.reason for event in orders.events} == {"a float since 2019"}


def test_only_the_differences_that_are_named_are_accepted(orders: World) -> None:
    """The refusal names the others, and its hint has all names."""
    exists(orders, "id BIGINT NOT NULL, amount DOUBLE, note STRING, at TIMESTAMP")
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(orders.target(), 2, "made by hand", accept=["type *"])
    assert [each.line() for each in caught.value.data["differences"]] == [
        f"{ORDERS}, required id: declared no, actual yes"
    ]
    assert "--accept 'type *' --accept 'required id'" in caught.value.hint
    assert orders.events == []
    done = baseline(orders.target(), 2, "made by hand", accept=["type *", "required id"])
    assert [each.subject for each in done.differences] == ["required id", "type amount"]


def test_a_later_file_is_compared_with_what_all_files_declare_together(orders: World) -> None:
    """The table was created by a file that is applied; tables that the new files are not about are not compared."""
    exists(orders, "id BIGINT, amount DECIMAL(12, 2), note STRING")
    baseline(orders.target(), 1, "made by hand")
    orders.engine.open_session().execute("ALTER TABLE orders ADD COLUMN wrong INT")
    orders.file("2_b.sql", "CREATE TABLE sums (a INT)")
    assert len(baseline(orders.target(), 2, "made by hand").files) == 1
    orders.file("3_c.sql", "ALTER TABLE orders ADD COLUMN at TIMESTAMP")
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(orders.target(), 3, "made by hand")
    assert [each.line() for each in caught.value.data["differences"]] == [
        f"{ORDERS}, column at: declared timestamp, actual absent",
        f"{ORDERS}, column wrong: declared nowhere, actual int",
    ]
    baseline(orders.target(), 3, "made by hand", accept=["column *"])
    assert [[each.subject for each in details_of(event).differences] for event in orders.events] == [
        [], [], ["column at", "column wrong"],
    ]  # fmt: skip


def test_a_statement_that_is_not_understood_is_named(orders: World) -> None:
    """What it may have changed is not compared."""
    exists(orders, "id BIGINT, amount DOUBLE, note STRING, at TIMESTAMP")
    orders.file("3_c.sql", "FROBNICATE orders")
    done = baseline(orders.target(), 3, "made by hand")
    why = "a statement that begins with FROBNICATE"
    effect = f"version 3, statement 1: it is not understood ({why}) may have changed it"
    assert done.warnings == (
        f"version 3, statement 1 is not understood: {why}", f"not compared: {ORDERS} ({effect})",
        f"not compared: spark_catalog.default.sums ({effect})",
    )  # fmt: skip


def test_accepted_differences_do_not_make_up_for_a_missing_table(orders: World) -> None:
    """A table that is not there has no columns to accept."""
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(orders.target(), 2, "made by hand", accept=["type amount"])
    assert caught.value.data["missing"] == [ORDERS]


def test_a_type_that_the_engine_spells_in_an_unknown_way_is_a_warning(orders: World) -> None:
    """An unknown spelling of a type is neither equal nor different."""
    exists(orders, 'id BIGINT, amount "?", note STRING, at TIMESTAMP')
    [warning, _] = baseline(orders.target(), 2, "made by hand").warnings
    assert warning == f"not compared: {ORDERS}: type of amount (not derived from the files)"


def test_the_result_of_baseline_names_what_was_accepted() -> None:
    """In text and JSON."""
    difference = DeclaredDifference("lake.s.t", "c", None, "string", "column")
    result = BaselineResult("shop", "dev", baselined=(BaselinedFile("1", "a.sql"),), differences=(difference,))
    assert result.lines() == ["baselined  a.sql", "accepted   lake.s.t, column c: declared nowhere, actual string"]
    assert result.to_dict()["differences"] == [
        {"table": "lake.s.t", "column": "c", "declared": None, "actual": "string", "what": "column"}
    ]
