"""`managed` and `unmanaged` of the catalog file: `drift`, `compare`, `report`, `lint` and `import tables` follow them."""

from __future__ import annotations

import pytest
from pyiceberg.types import StringType

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.sql.qualified import why_unmanaged
from tests.support.fleet import Fleet
from tests.support.program import call_program
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.recorded import RecordedTables
from tests.unit.capabilities.adopt.test_listing import CREATE, create
from tests.unit.inspect.scenes import ENVIRONMENTS, added, created, fleet_of

RAW = "unmanaged: [{pattern: 'LAKE.a.raw*', reason: ingestion merges its schema}]\n"
WHY = "ingestion merges its schema"


def changed(project: ProjectFolder, more: str) -> RecordedTables:
    """Return a project with two recorded tables that another client has changed, and a table that no migration made."""
    tables = RecordedTables(project, more)
    for number, name in enumerate(("raw_clicks", "orders"), start=1):
        change = lambda client, name=name: create(client, f"a.{name}")  # noqa: E731
        tables.apply(f"{number}_make.sql", CREATE.format(name), change, f"lake.a.{name}")
        with tables.client.load_table(f"a.{name}").update_schema() as update:
            update.add_column("legacy", StringType())
    create(tables.client, "a.raw_views")
    create(tables.client, "a.other")
    return tables


def test_drift_compares_no_unmanaged_table_and_lists_it_with_the_reason(project: ProjectFolder) -> None:
    """A table that a migration made once is unmanaged by its pattern, as one that no migration made."""
    tables = changed(project, RAW)
    entry = tables.run("drift", "--format", "json").entry()
    assert [each["table"] for each in entry["drifts"]] == ["lake.a.orders"]
    assert entry["compared"] == 1
    assert entry["unmanaged"] == ["lake.a.raw_clicks", "lake.a.other", "lake.a.raw_views"]
    assert entry["reasons"] == {"lake.a.raw_clicks": WHY, "lake.a.raw_views": WHY}
    assert f"unmanaged: lake.a.raw_clicks ({WHY})" in tables.run("drift", "--list").stdout


def test_no_statement_is_written_for_an_unmanaged_table(project: ProjectFolder) -> None:
    """`drift revert` settles the differences of managed tables."""
    tables = changed(project, RAW)
    entry = tables.run("drift", "revert", "--reason", "x", "--author", "me", "--yes", "--format", "json").entry()
    assert entry["tables"] == ["lake.a.orders"]


def test_no_rule_is_shown_for_an_unmanaged_table(project: ProjectFolder) -> None:
    """`drift ignore` shows rules for the differences of managed tables."""
    tables = changed(project, RAW)
    written = tables.run("drift", "ignore", "--reason", "x", "--format", "json").entry()
    assert [rule["table"] for rule in written["rules"]] == ["lake.a.orders"]


def test_patterns_of_managed_tables_leave_all_others_to_others(project: ProjectFolder) -> None:
    """A project that manages a few tables of a namespace."""
    tables = changed(project, "managed: [lake.a.orders]\n")
    entry = tables.run("drift", "--format", "json").entry()
    assert [each["table"] for each in entry["drifts"]] == ["lake.a.orders"]
    assert set(entry["reasons"]) == {"lake.a.raw_clicks", "lake.a.raw_views", "lake.a.other"}


def test_the_list_of_tables_says_which_are_left_to_others(project: ProjectFolder) -> None:
    """An unmanaged table is neither recorded nor new, whatever the history has of it."""
    tables = changed(project, RAW)
    entry = tables.run("import", "tables", "--list", "--format", "json").entry()
    assert {each["table"]: (each["state"], each["reason"]) for each in entry["tables"]} == {
        "lake.a.orders": ("recorded", None),
        "lake.a.other": ("new", None),
        "lake.a.raw_clicks": ("unmanaged", WHY),
        "lake.a.raw_views": ("unmanaged", WHY),
    }


def test_compare_does_not_compare_an_unmanaged_table(project: ProjectFolder) -> None:
    """One environment that leaves the table to others is enough; the count has it."""
    more = RAW.replace("raw*", "users").replace("LAKE", "lake")
    project_of = ENVIRONMENTS.replace("prod: {variables", f"prod: {{{more.strip()}, variables")
    fleet = fleet_of(project)
    Fleet(project, project_of)  # The same environments, with the rule in one of them.
    for name in ("dev", "prod"):
        fleet[name].apply("0002", created("a.users"))
    added("a.users", "by_hand")(fleet["prod"].client)
    output = call_program(["compare", "dev", "prod", "--project", str(project.root), "--format", "json"])
    [table] = output.entry()["tables"]
    assert (table["table"], table["verdict"], table["differences"]) == ("lake.a.users", "unmanaged", [])
    assert output.entry()["differs"] is False
    assert (
        "1 table: 1 left to others" in call_program(["compare", "dev", "prod", "--project", str(project.root)]).stdout
    )


def test_the_page_of_report_has_the_reason(project: ProjectFolder) -> None:
    """The page lists unmanaged tables, and shows no difference of one."""
    tables = changed(project, RAW)
    output = tables.run("report", "-o", str(project.root / "page.html"), "--format", "json")
    assert (output.code, output.entry()["drifts"]) == (0, 1)


def test_lint_reports_a_migration_that_changes_an_unmanaged_table(project: ProjectFolder) -> None:
    """The message has the reason of the catalog file; an allow comment settles it as any other finding."""
    tables = RecordedTables(project, RAW)
    sql = "ALTER TABLE lake.a.raw_clicks ADD COLUMN b string;\nALTER TABLE lake.a.orders ADD COLUMN b string"
    project.file("1_a.sql", sql)
    output = tables.run("lint", "--format", "json")
    [finding] = output.entry()["findings"]
    assert output.code == 3
    assert (finding["code"], finding["table"]) == ("FL115", "lake.a.raw_clicks")
    assert finding["message"] == f"the table is unmanaged: {WHY}"
    project.file("1_a.sql", f"-- GLACIERBASE_ALLOW: FL115 agreed with ingestion\n{sql}")
    assert tables.run("lint").code == 0


SNOWFLAKE = """\
migrationExecutor:
  type: snowflake
  conf: {connection: {account: a, user: u, password: '${env:P}', database: DEMO, schema: RAW}}
unmanaged: [{pattern: demo.raw.*, reason: a pipe fills it}]
"""


@pytest.mark.parametrize("name", ["clicks", "raw.clicks", "DEMO.RAW.CLICKS", 'demo.raw."CLICKS"'])
def test_database_and_schema_of_the_connection_complete_a_name(project: ProjectFolder, name: str) -> None:
    """A pattern is about whole names."""
    project.catalog(SNOWFLAKE)
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    catalog = file.for_environment("default", project.root, resolve=False)
    assert why_unmanaged(catalog, name) == "a pipe fills it"
    assert why_unmanaged(catalog, "other.clicks") is None
    project.file("1_a.sql", f"ALTER TABLE {name} ADD COLUMN b INT")
    assert "FL115" in project.run("lint").stdout


def test_an_environment_has_its_own_patterns(project: ProjectFolder) -> None:
    """Lists replace those of the file."""
    project.catalog(
        "migrationExecutor: {type: spark}\nstore: {catalog: lake}\nmanaged: [lake.a.*]\n"
        "environments: {dev: {managed: [lake.b.*]}, prod: {}}\n"
    )
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    catalogs = {name: file.for_environment(name, project.root) for name in ("dev", "prod")}
    assert {name: catalog.management.managed for name, catalog in catalogs.items()} == {
        "dev": ("lake.b.*",),
        "prod": ("lake.a.*",),
    }


@pytest.mark.parametrize(
    "keys",
    [
        "unmanaged: [{pattern: lake.a.t}]",
        "unmanaged: [{reason: x}]",
        "unmanaged: [lake.a.t]",
        "unmanaged: [{pattern: lake.a.t, reason: ' '}]",
        "unmanaged: {pattern: lake.a.t, reason: x}",
        "managed: lake.a.t",
        "managed: [' ']",
        "managed: [{pattern: x}]",
        "unmanaged: [{pattern: lake.a.t, reason: x, what: y}]",
        "managed: ['${variables.lake}.a.*']",
        "unmanaged: [{pattern: '${env:LAKE}.a.*', reason: x}]",
    ],
)
def test_a_pattern_that_is_not_whole_is_an_error_of_the_file(project: ProjectFolder, keys: str) -> None:
    """The error names file and line, and nothing is contacted."""
    project.catalog(f"migrationExecutor: {{type: spark}}\nstore: {{catalog: lake}}\n{keys}\n")
    output = project.run("validate")
    assert output.code == 2
    assert "shop.yaml, line 3" in output.stderr


def test_a_catalog_without_these_keys_manages_all_tables(project: ProjectFolder) -> None:
    """As before there were such keys."""
    tables = RecordedTables(project)
    assert why_unmanaged(only_catalog(tables.project.root), "lake.a.t") is None
