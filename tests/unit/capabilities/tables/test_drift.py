"""`drift` on real Iceberg tables that another client changes."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from glacierbase.capabilities.tables.drift import DriftResult
from glacierbase.errors import GlacierbaseError, StatementRefused
from glacierbase.history.lockrow import free_row
from glacierbase.model.migration import Event, EventType, State
from glacierbase.stores.iceberg import open_store
from tests.support.documents import checked
from tests.support.hostileserver import metadata_file
from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables

CREATE = "CREATE TABLE lake.a.t (id bigint, name string) USING iceberg"


@pytest.fixture
def tables(project: ProjectFolder) -> RecordedTables:
    """The table `lake.a.t`, made and recorded by version 1."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    return tables


def create(client: SqlCatalog, name: str = "a.t") -> Table:
    columns = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    return client.create_table(name, columns, properties={"format-version": "2", "x": "1"})


def drifts(tables: RecordedTables, *arguments: str) -> tuple[int, list[tuple[str, str, str | None, str | None]]]:
    """Return the exit code, and what, class, expected and actual of each difference."""
    output = tables.run("drift", "--format", "json", *arguments)
    [entry] = checked(json.loads(output.stdout))["catalogs"]
    return output.code, [(each["what"], each["class"], each["expected"], each["actual"]) for each in entry["drifts"]]


def test_a_table_as_recorded_has_no_drift(tables: RecordedTables) -> None:
    """The text has the number of tables that were compared."""
    output = tables.run("drift")
    assert output.code == 0
    assert "1 table as recorded" in output.stdout


def test_a_column_added_past_the_migrations_is_structural(tables: RecordedTables) -> None:
    """The exit code is 7, and the time is that of the metadata which added it."""
    table = tables.client.load_table("a.t")
    before = datetime.now(timezone.utc)
    with table.update_schema() as update:
        update.add_column("legacy", StringType())
    with table.transaction() as transaction:
        transaction.set_properties(y="2")
    output = tables.run("drift", "--format", "json")
    [entry] = output.document["catalogs"]
    found = {each["what"]: each for each in entry["drifts"]}
    assert (output.code, set(found)) == (7, {"column legacy", "property y"})
    assert found["column legacy"]["class"] == "structural"
    at = {what: datetime.fromisoformat(each["since"].replace("Z", "+00:00")) for what, each in found.items()}
    assert before.replace(microsecond=0) <= at["column legacy"] < at["property y"]
    assert not found["column legacy"]["is_bound"]
    assert "glacierbase drift adopt" in entry["next"][0]


def test_a_table_that_cannot_be_read_fails_whatever_the_others_are(project: ProjectFolder) -> None:
    """The exit code is 5, the differences of other tables are printed, and the message names table, file and what is wrong."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    tables.apply("2_more.sql", CREATE.replace("a.t", "a.u"), lambda client: create(client, "a.u"), "lake.a.u")
    file = metadata_file(tables.client.load_table("a.t"))
    with tables.client.load_table("a.u").update_schema() as update:
        update.add_column("legacy", StringType())
    for content, why in ((b"", "EOF"), (b"[]", "object"), (b"\x80", "utf-8"), (b'{"format-version": 9}', "9")):
        file.write_bytes(content)
        output = tables.run("drift", "--format", "json")
        [entry] = output.document["catalogs"]
        assert (output.code, output.document["error"]["code"], entry["compared"]) == (5, "TABLES_NOT_READ", 1)
        assert [each["what"] for each in entry["drifts"]] == ["column legacy"]
        [unread] = entry["unread"]
        assert unread["table"] == "lake.a.t"
        assert f"{file} cannot be read as metadata of Iceberg: " in unread["why"]
        assert why in unread["why"]
    shown = tables.run("drift", "--table", "lake.a.t")
    assert shown.code == 5
    assert "as recorded" not in shown.stdout
    assert tables.run("drift", "--table", "lake.a.u").code == 7
    for action in ("adopt", "revert", "ignore"):
        more = () if action == "ignore" else ("--author", "me", "--yes")
        done = tables.run("drift", action, "--reason", "why", *more, "--format", "json")
        assert (done.code, done.document["error"]["code"]) == (5, "TABLES_NOT_READ"), done
        assert sorted(path.name for path in (project.root / "migrations").rglob("*.*")) == ["1_make.sql", "2_more.sql"]


def test_a_migration_file_that_is_broken_keeps_no_drift_from_being_found(tables: RecordedTables) -> None:
    """`drift` compares history and tables."""
    tables.project.file("2_broken.sql", "SELECT 1", description="")
    assert tables.run("drift").code == 0
    (tables.project.root / "migrations/shop/2_broken.sql").write_text("no headers")
    assert tables.run("drift").code == 0


def test_differences_are_shown_as_compare_shows_them(tables: RecordedTables) -> None:
    """The table, then a sign for what is added, removed or changed, and the part of the table."""
    with tables.client.load_table("a.t").update_schema() as update:
        update.add_column("legacy", StringType())
        update.delete_column("name")
    with tables.client.load_table("a.t").transaction() as transaction:
        transaction.set_properties(x="2")
    shown = tables.run("drift").stdout
    for line in ("+ column legacy: string", "- column name: string", "~ property x: 1 -> 2"):
        assert f"\n  lake.a.t  {line}  " in shown


def test_a_property_fails_only_with_fail_on_any(tables: RecordedTables) -> None:
    """Properties and comments do not change what is stored."""
    with tables.client.load_table("a.t").transaction() as transaction:
        transaction.set_properties(x="2")
    expected = [("property x", "property", "1", "2")]
    assert drifts(tables) == (0, expected)
    assert drifts(tables, "--fail-on", "any") == (7, expected)


def test_what_engines_set_themselves_is_no_drift(tables: RecordedTables) -> None:
    """A property that engines set is counted only."""
    with tables.client.load_table("a.t").transaction() as transaction:
        transaction.set_properties(numRows="7")
    output = tables.run("drift", "--fail-on", "any")
    assert output.code == 0
    assert "kept by the engine: 1 difference" in output.stdout


def test_a_dropped_table_and_another_one_of_its_name_are_structural(tables: RecordedTables) -> None:
    """Another table of the same name is not the recorded one."""
    tables.client.drop_table("a.t")
    assert drifts(tables) == (7, [("table lake.a.t", "structural", "2 columns", None)])
    create(tables.client)
    code, [(what, kind, *_)] = drifts(tables)
    assert (code, what, kind) == (7, "table", "structural")


def test_a_table_that_was_renamed_by_hand_is_said_to_be(tables: RecordedTables) -> None:
    """The renamed table is neither gone nor unmanaged; its other changes are differences, and it gets no statement."""
    tables.client.rename_table("a.t", "a.u")
    with tables.client.load_table("a.u").update_schema() as update:
        update.add_column("legacy", StringType())
    expected = [("table", "structural", "lake.a.t", "lake.a.u"), ("column legacy", "structural", None, "string")]
    assert drifts(tables) == (7, expected)
    shown = tables.run("drift").stdout
    assert "~ table: lake.a.t -> lake.a.u" in shown
    assert "unmanaged" not in shown
    for settle in ("adopt", "revert"):
        refused = tables.run("drift", settle, "--reason", "x", "--author", "Ann", "--yes")
        assert refused.code == 3
        assert "lake.a.t was renamed to lake.a.u" in refused.stdout + refused.stderr


def test_tables_that_no_migration_made_are_counted_and_listed_on_request(tables: RecordedTables) -> None:
    """The tables of glacierbase are not among them."""
    tables.client.create_table("a.other", Schema(NestedField(1, "id", IntegerType())))
    assert "unmanaged: 1 table" in tables.run("drift").stdout
    listed = tables.run("drift", "--list").stdout
    assert "unmanaged: lake.a.other" in listed
    assert "history_" not in listed


def test_a_namespace_that_cannot_be_listed_is_named(tables: RecordedTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login may read tables and not list them: no unmanaged table is found then, and a warning says so."""

    def refused(*_: object) -> None:
        raise StatementRefused("Forbidden", "not yours")

    monkeypatch.setattr("glacierbase.record.live.TableShapes.names_beside", refused)
    output = tables.run("drift")
    assert output.code == 0
    assert "unmanaged tables beside lake.a.t are not known" in output.stdout + output.stderr


def test_a_table_that_files_of_another_catalog_made_is_not_unmanaged(tables: RecordedTables) -> None:
    """The history of that catalog is in the same namespace."""
    for name in ("of_web", "of_nobody"):
        tables.client.create_table(f"a.{name}", Schema(NestedField(1, "id", IntegerType())))
    target = tables.target()
    web = replace(target, catalog=replace(target.catalog, name="web", stem="web"))
    started = Event(
        1, 1, "run", "web", "default", EventType.STARTED.value, State.RUNNING.value, "0001", tables='["lake.a.of_web"]'
    )
    with closing(open_store(web.catalog)) as store:
        store.create(replace(free_row(web.terms), fence=1))
        store.append([started])
    listed = tables.run("drift", "--list").stdout
    assert "unmanaged: lake.a.of_nobody" in listed
    assert "of_web" not in listed


def test_after_a_file_without_a_record_nothing_is_claimed(tables: RecordedTables) -> None:
    """The file may have made the difference."""

    def add(client: SqlCatalog) -> None:
        with client.load_table("a.t").update_schema() as update:
            update.add_column("legacy", StringType())

    tables.apply("2_add.sql", "ALTER TABLE lake.a.t ADD COLUMN legacy string", add, is_recorded=False)
    assert drifts(tables) == (0, [("column legacy", "not recorded", None, "string")])


def test_a_table_without_any_record_is_named(project: ProjectFolder) -> None:
    """Histories of former versions have none."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, is_recorded=False)
    output = tables.run("drift")
    assert output.code == 0
    assert "lake.a.t: not recorded, so not compared" in output.stdout
    assert "unmanaged" not in output.stdout


def test_a_rule_ignores_a_difference_and_says_why(project: ProjectFolder) -> None:
    """An ignored difference is listed with its reason, and fails nothing."""
    rules = "drift: {ignore: [{table: 'LAKE.a.*', what: column leg*, reason: of the old loader}]}\n"
    tables = RecordedTables(project, rules)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    with tables.client.load_table("a.t").update_schema() as update:
        update.add_column("legacy", StringType())
    output = tables.run("drift", "--fail-on", "any")
    assert output.code == 0
    assert "of the old loader" in output.stdout


@pytest.mark.parametrize("rule", ["{table: lake.a.t}", "{reason: x}", "lake.a.t", "{table: lake.a.t, reason: ' '}"])
def test_a_rule_that_is_not_whole_is_an_error_of_the_file(project: ProjectFolder, rule: str) -> None:
    """The error names the place of the rule, and no table is read."""
    project.catalog(f"migrationExecutor: {{type: spark}}\nstore: {{catalog: lake}}\ndrift:\n  ignore: [{rule}]\n")
    output = project.run("drift")
    assert output.code == 2
    assert "line 4: drift.ignore: " in output.stderr


def test_a_catalog_that_failed_is_not_reported_as_compared() -> None:
    """The text of its result is empty: no table of it was read."""
    failed = DriftResult("shop", "dev", error=GlacierbaseError("UNSET_REFERENCE", "${env:NAME} is not set"))
    assert failed.as_text() == ""
    assert DriftResult("shop", "dev").as_text() == "shop (dev)\n  0 tables as recorded"
