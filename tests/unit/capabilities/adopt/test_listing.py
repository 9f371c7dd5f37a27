"""`import tables --list` on real Iceberg tables, without an engine."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from glacierbase.executors.pyiceberg import sql as ours
from glacierbase.history.lockrow import free_row
from glacierbase.stores.iceberg import open_store
from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables

CREATE = "CREATE TABLE lake.a.{} (id bigint) USING iceberg"


def create(client: SqlCatalog, name: str) -> Table:
    client.create_namespace_if_not_exists(name.rpartition(".")[0])
    return client.create_table(name, Schema(NestedField(1, "id", LongType())))


@pytest.fixture
def tables(project: ProjectFolder) -> RecordedTables:
    """A catalog with `lake.a.t`, which no migration made."""
    tables = RecordedTables(project)
    create(tables.client, "a.t")
    return tables


def listed(tables: RecordedTables, *patterns: str) -> dict[str, str]:
    """Return the state of each table."""
    output = tables.run("import", "tables", "--list", *patterns, "--format", "json")
    assert output.code == 0, output.stderr
    return {each["table"]: each["state"] for each in output.entry()["tables"]}


def test_a_project_without_history_lists_what_exists(tables: RecordedTables) -> None:
    """Tables of nested namespaces are listed, too, and nothing is created for that."""
    create(tables.client, "a.deep.er.u")
    before = sorted(tables.client.list_namespaces())
    assert listed(tables) == {"lake.a.t": "new", "lake.a.deep.er.u": "new"}
    assert sorted(tables.client.list_namespaces()) == before


def test_a_server_that_ignores_the_parent_of_namespaces_is_listed_once(
    tables: RecordedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each namespace seems to hold the outermost ones, itself included."""
    count = 0

    def outermost(*_: object) -> list[tuple[str, ...]]:
        nonlocal count
        count += 1
        assert count < 9
        return [("a",)]

    monkeypatch.setattr(SqlCatalog, "list_namespaces", outermost)
    assert listed(tables) == {"lake.a.t": "new"}


def test_a_catalog_whose_database_does_not_exist_has_no_tables(project: ProjectFolder) -> None:
    """The list is empty, and the database is not created by it."""
    tables = RecordedTables(project)
    database = project.root / "warehouse" / "catalog.db"
    database.unlink()
    assert listed(tables) == {}
    assert not database.exists()


def test_files_and_history_manage_their_tables(tables: RecordedTables) -> None:
    """A recorded table, one that a pending file creates, one that neither knows; history and lock are not among them."""
    tables.apply("1_make.sql", CREATE.format("made"), lambda client: create(client, "a.made"), "lake.a.made")
    create(tables.client, "a.later")
    tables.project.file("2_more.sql", CREATE.format("later"))
    assert listed(tables) == {"lake.a.t": "new", "lake.a.made": "recorded", "lake.a.later": "declared"}


def test_a_table_of_another_history_is_managed_by_its_catalog(tables: RecordedTables) -> None:
    """Catalogs of a project share a namespace of histories."""
    tables.apply("1_make.sql", CREATE.format("made"), lambda client: create(client, "a.made"), "lake.a.made")
    catalog = tables.project.root / "catalogs" / "shop.yaml"
    tables.project.catalog(catalog.read_text(), "web")
    output = tables.run("import", "tables", "--list", "--catalog", "web", "--format", "json")
    found = {each["table"]: (each["state"], each["reason"]) for each in output.entry()["tables"]}
    assert found == {"lake.a.t": ("new", None), "lake.a.made": ("recorded", "by catalog shop")}


def test_patterns_choose_tables(tables: RecordedTables) -> None:
    """Letters of either case fit, in any namespace."""
    create(tables.client, "b.orders")
    create(tables.client, "b.c.orders")
    assert set(listed(tables, "LAKE.b.*")) == {"lake.b.orders", "lake.b.c.orders"}
    assert set(listed(tables, "*.orders", "lake.a.?")) == {"lake.a.t", "lake.b.orders", "lake.b.c.orders"}


def test_only_namespaces_that_may_hold_a_chosen_table_are_read(
    tables: RecordedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large warehouse is not read for the tables of one namespace."""
    create(tables.client, "b.c.u")
    read: list[object] = []
    original = SqlCatalog.list_tables
    monkeypatch.setattr(SqlCatalog, "list_tables", lambda self, name: read.append(name) or original(self, name))
    listed(tables, "lake.a.*")
    assert [name for name in read if name != ("glacierbase",)] == [("a",)]


def test_a_pattern_that_fits_no_table_is_refused(tables: RecordedTables) -> None:
    """The message names the nearest table."""
    output = tables.run("import", "tables", "--list", "lake.a.tt")
    assert output.code == 2
    assert "UNKNOWN_TABLE: no table in the catalogs of the engine matches lake.a.tt" in output.stderr
    assert "lake.a.t" in output.stderr.partition("next: ")[2]


def test_the_text_has_a_line_for_each_table_and_the_counts(tables: RecordedTables) -> None:
    """The last line has the number of tables in each state."""
    output = tables.run("import", "tables", "--list")
    assert "lake.a.t  table  new" in output.stdout
    assert "1 table: 1 new" in output.stdout
    assert "warning" not in output.stdout


def test_views_are_listed_as_views(tables: RecordedTables) -> None:
    """The SQL catalog has them in the same table of its database, and PyIceberg lists no views there."""
    database = tables.project.root / "warehouse" / "catalog.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO iceberg_tables VALUES ('lake', 'a', 'v', '/nowhere.json', NULL, 'VIEW')")
    output = tables.run("import", "tables", "--list", "--format", "json")
    assert {each["table"]: each["kind"] for each in output.entry()["tables"]} == {
        "lake.a.t": "table",
        "lake.a.v": "view",
    }


def test_views_that_only_the_engine_lists_are_not_passed_over_silently(
    tables: RecordedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of a Glue or Hive catalog has a warning, and no engine is started for its views."""
    monkeypatch.setattr(ours.SqlCatalog, "list_views", SqlCatalog.list_views)
    output = tables.run("import", "tables", "--list")
    assert "warning: the views of lake are not listed" in output.stdout


def test_drift_and_schema_of_a_project_without_history_name_the_command(tables: RecordedTables) -> None:
    """A project on a full warehouse has no recorded table."""
    line = "glacierbase import tables --list"
    assert line in tables.run("drift", "--list").stdout
    assert line in tables.run("schema", "lake.a.t").stderr
    assert line in tables.run("drift", "--table", "lake.a.t").stderr
    assert line in tables.run("drift", "adopt", "--reason", "x", "--author", "me", "--yes").stdout


def test_a_table_that_was_dropped_by_a_migration_and_made_again_is_new(tables: RecordedTables) -> None:
    """The history knows another table of that name."""
    tables.apply("1_make.sql", CREATE.format("u"), lambda client: create(client, "a.u"), "lake.a.u")
    tables.apply("2_drop.sql", "DROP TABLE lake.a.u", lambda client: client.drop_table("a.u"), "lake.a.u")
    for path in (tables.project.root / "migrations" / "shop").glob("*.sql"):
        path.unlink()
    create(tables.client, "a.u")
    assert listed(tables)["lake.a.u"] == "new"


def test_a_lock_is_no_table_of_a_user(tables: RecordedTables) -> None:
    """The tables of glacierbase are in the namespace that the catalog file names."""
    target = tables.target()
    with closing(open_store(target.catalog)) as store:
        store.create(free_row(target.terms))
    assert listed(tables) == {"lake.a.t": "new"}


def test_a_namespace_that_cannot_be_listed_fails_and_hides_no_other(
    tables: RecordedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other tables are in the result; without all names, no file is written."""
    create(tables.client, "b.u")
    original = SqlCatalog.list_tables

    def refused(self: SqlCatalog, name: tuple[str, ...]) -> object:
        if name == ("b",):
            raise PermissionError("no right to list b")
        return original(self, name)

    monkeypatch.setattr(SqlCatalog, "list_tables", refused)
    output = tables.run("import", "tables", "--list", "--format", "json")
    assert (output.code, output.document["error"]["code"]) == (5, "TABLES_NOT_READ")
    assert "lake.b: no right to list b" in output.document["error"]["message"]
    assert [each["table"] for each in output.entry()["tables"]] == ["lake.a.t"]
    written = tables.run("import", "tables", "*", "--author", "me", "--format", "json")
    assert (written.code, written.entry()["files"]) == (5, [])
