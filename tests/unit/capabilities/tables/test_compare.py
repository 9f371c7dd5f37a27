"""`compare` on environments whose tables and histories are real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.capabilities.tables.compare.exporting import export
from glacierbase.capabilities.tables.compare.state import StateResult
from glacierbase.model.migration import EventType
from glacierbase.record.live import LiveTables
from tests.support.fakes import lost_answer
from tests.support.fleet import Fleet
from tests.support.lakes import Lakes
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder
from tests.unit.inspect.scenes import ENVIRONMENTS, added, apply_all, created, fleet_of

WITHOUT_ENGINE = """\
import atexit, sys
from glacierbase.cli import main
atexit.register(lambda: print({"pyspark", "py4j"} & sys.modules.keys(), file=sys.stderr))
main(sys.argv[1:])
"""


@pytest.fixture
def fleet(project: ProjectFolder) -> Fleet:
    """Three environments in which nothing is applied yet."""
    return fleet_of(project)


@pytest.fixture(scope="module")
def different(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Three environments that differ in every way; tests only read them."""
    fleet = fleet_of(ProjectFolder(tmp_path_factory.mktemp("different") / "project"))
    apply_all(fleet)
    return fleet


def compared(fleet: Fleet, *arguments: str) -> Output:
    return call_program(["compare", *arguments, "--project", str(fleet.project.root)])


def document(fleet: Fleet, *arguments: str) -> dict[str, Any]:
    """Return the only entry of the JSON document."""
    [entry] = compared(fleet, *arguments, "--format", "json").document["catalogs"]
    return dict(entry)


def verdicts(entry: dict[str, Any]) -> dict[str, str]:
    return {each["version"]: each["verdict"] for each in entry["versions"]}


def causes(entry: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return table, environment and cause of each difference of a table."""
    return [
        (table["table"], each["environment"], each["cause"])
        for table in entry["tables"]
        for each in table["differences"]
    ]


def test_each_difference_is_named_and_nothing_else(different: Fleet) -> None:
    """One environment is behind, one has another file, one failed, one has a hotfix and a table that somebody altered."""
    output = compared(different, "dev", "staging", "prod", "--exit-code")
    assert (output.code, output.stderr) == (7, "")
    assert [line.split() for line in output.stdout.splitlines()] == [
        line.split()
        for line in (
            "shop (dev, staging, prod)",
            "version dev staging prod description",
            "0003 applied 2d applied 2d out_of_order behind Name the users",
            "0004 applied 2d 7d2f34 changed 2d 77ab91 applied 2d 7d2f34 edited Set a property",
            "0005 applied 2d failed at 1/1 out_of_order failed Drop the legacy column",
            "0006 - - missing 2d extra Hotfix",
            "7 versions: 2 equal, 1 rendered with other variables, 4 different",
            "by design (variables): 0001, lake.dev.orders",
            "table environment difference why",
            "lake.a.events prod + column debug_flag: string not from a migration",
            "3 tables: 1 different by their variables, 1 different as the versions above are, 1 different",
        )
    ]


def test_json_says_which_table_differs_and_why(different: Fleet) -> None:
    """A table under another name is found by the first file that touches it and its place there."""
    entry = document(different, "dev", "staging", "prod")
    assert verdicts(entry) == {
        "0001": "variables", "0002": "equal", "0003": "behind", "0004": "edited", "0005": "failed", "0006": "extra",
        "0007": "equal",
    }  # fmt: skip
    assert causes(entry) == [
        ("lake.a.events", "prod", "outside"), ("lake.a.users", "prod", "versions"), ("lake.dev.orders", "prod", "variables"),
    ]  # fmt: skip
    assert entry["tables"][2]["names"] == {"staging": "lake.live.orders", "prod": "lake.live.orders"}
    assert entry["differs"]


def test_exported_states_compare_as_their_environments_do(
    different: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a project, and mixed with an environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("dev", "staging", "prod"):
        done = call_program(
            ["export-state", "--env", name, "-o", f"{name}.json", "--project", str(different.project.root)]
        )
        assert done.code == 0, done.stderr
    files = call_program(["compare", "dev.json", "staging.json", "prod.json", "--exit-code", "--format", "json"])
    assert files.code == 7
    whole = {"versions", "tables", "differs"}
    live = document(different, "dev", "staging", "prod")
    for entry in (files.entry(), document(different, "dev", "staging.json", "prod")):
        assert {key: entry[key] for key in whole} == {key: live[key] for key in whole}
    assert [each["file"] for each in files.entry()["environments"]] == ["dev.json", "staging.json", "prod.json"]
    assert "  prod: as of " in call_program(["compare", "dev.json", "prod.json"]).stdout


def test_equal_environments_exit_with_0_and_so_do_different_ones_without_the_option(fleet: Fleet) -> None:
    """What variables make different is no difference."""
    for name, namespace, buckets in (("dev", "dev", 4), ("prod", "live", 32)):
        fleet[name].apply("0001", created(f"{namespace}.orders", buckets))
    output = compared(fleet, "dev", "prod", "--exit-code")
    assert output.code == 0
    assert output.stdout.splitlines()[1:] == [
        "  7 versions: 1 rendered with other variables, 6 pending in all",
        "  by design (variables): 0001, lake.dev.orders",
        "  1 table: 1 different by their variables",
    ]
    added("dev.orders", "x")(fleet["dev"].client)
    assert compared(fleet, "dev", "prod").code == 0
    assert compared(fleet, "dev", "prod", "--exit-code").code == 7


def test_no_engine_is_loaded_and_nothing_is_written(different: Fleet) -> None:
    """`compare` imports neither pyspark nor py4j, and no file of the project is new."""
    root = different.project.root
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    command = [sys.executable, "-c", WITHOUT_ENGINE, "compare", "dev", "staging", "prod", "--project", str(root)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "JAVA_HOME": "/nowhere"}
    )
    assert done.stderr.strip() == "set()"
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_other_commands_load_nothing_of_it() -> None:
    """`pending` starts as fast as without `compare`."""
    script = "import sys, glacierbase; glacierbase.Project; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {name for name in loaded if ".inspect." in name}
    assert "glacierbase.record.live" not in loaded


def test_a_table_dropped_by_hand_is_named(fleet: Fleet) -> None:
    """The others still have it."""
    for name in ("dev", "staging", "prod"):
        fleet[name].apply("0002", created("a.users"))
    fleet["prod"].client.drop_table("a.users")
    entry = document(fleet, "dev", "staging", "prod")
    assert causes(entry) == [("lake.a.users", "prod", "outside")]
    assert entry["tables"][0]["differences"][0]["before"] == "1 columns"


def test_a_renamed_table_is_read_under_its_whole_name(fleet: Fleet) -> None:
    """The statement names it in part; nothing is said of its former name, under which there is no table."""
    fleet.project.file("0003_rename.sql", "ALTER TABLE lake.a.users RENAME TO a.people")
    (fleet.project.root / "migrations/shop/0003_name.sql").unlink()
    for name in ("dev", "prod"):
        fleet[name].apply("0002", created("a.users"))
        rename = partial(SqlCatalog.rename_table, from_identifier="a.users", to_identifier="a.people")
        fleet[name].apply("0003", rename, names={"a.people": "lake.a.people"})
    entry = document(fleet, "dev", "prod")
    assert [(each["table"], each["verdict"]) for each in entry["tables"]] == [("lake.a.people", "equal")]
    assert entry["warnings"] == []
    added("a.people", "x")(fleet["prod"].client)
    assert causes(document(fleet, "dev", "prod")) == [("lake.a.people", "prod", "outside")]


def test_without_a_record_a_column_by_hand_is_a_difference_that_nothing_explains(fleet: Fleet) -> None:
    """In histories of former versions, and after a kill, nobody knows who made it; it is never called a variable's."""
    for name, namespace in (("dev", "dev"), ("prod", "live")):
        fleet[name].apply("0001", created(f"{namespace}.orders", 4), is_recorded=False)
    added("live.orders", "x")(fleet["prod"].client)
    entry = document(fleet, "dev", "prod")
    assert verdicts(entry)["0001"] == "variables"
    assert causes(entry) == [("lake.dev.orders", "prod", "unexplained")]
    assert entry["differs"]


def test_a_migration_that_ends_while_tables_are_read_is_no_change_by_hand(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history is read again where a table is not as its record says."""
    place = fleet["dev"]
    place.apply("0002", created("a.users"))
    read, runs = LiveTables.read, ["0003"]

    def meanwhile(*arguments: Any) -> Any:
        for version in runs:
            runs.remove(version)
            place.apply(version, added("a.users", "name"))
        return read(*arguments)

    monkeypatch.setattr(LiveTables, "read", meanwhile)
    state = export(place.target, StateResult("shop", "dev"))
    assert [each.version for each in state.versions if each.applied_at] == ["0002", "0003"]
    [table] = state.tables
    assert table.altered == ()
    assert table.shape
    assert [column.name for column in table.shape.columns] == ["id", "name"]


def test_a_table_of_a_version_whose_outcome_is_unknown_was_altered_by_nobody(fleet: Fleet) -> None:
    """The engine may still be at it."""
    for name in ("dev", "prod"):
        fleet[name].apply("0002", created("a.users"))
    fleet["prod"].apply("0003", end=EventType.UNKNOWN, statement_index=1)
    added("a.users", "name")(fleet["prod"].client)
    entry = document(fleet, "dev", "prod")
    assert verdicts(entry)["0003"] == "unknown"
    assert causes(entry) == [("lake.a.users", "prod", "versions")]


def test_a_secret_in_a_property_is_in_no_state_file(fleet: Fleet, tmp_path: Path) -> None:
    """The value under such a key is masked, and that is no difference from the record."""
    fleet["dev"].apply("0002", created("a.users"))
    with fleet["dev"].client.load_table("a.users").transaction() as change:
        change.set_properties({"s3.secret-access-key": "canary", "note": "kept"})
    path = tmp_path / "dev.json"
    call_program(["export-state", "--env", "dev", "-o", str(path), "--project", str(fleet.project.root)])
    text = path.read_text()
    assert "canary" not in text
    [table] = json.loads(text)["catalogs"][0]["tables"]
    assert {each["name"]: each["after"] for each in table["altered"]} == {"note": "kept", "s3.secret-access-key": "***"}


def test_what_drift_ignores_and_what_engines_set_is_no_difference(project: ProjectFolder) -> None:
    """A rule of the catalog file, and the statistics of a metastore."""
    rules = "drift: {ignore: [{table: 'lake.a.*', what: 'property job.*', reason: compaction}]}\n"
    fleet = fleet_of(project, rules)
    for name in ("dev", "prod"):
        fleet[name].apply("0002", created("a.users"))
    with fleet["prod"].client.load_table("a.users").transaction() as change:
        change.set_properties({"job.last": "7", "numRows": "12"})
    assert causes(document(fleet, "dev", "prod")) == []
    with fleet["prod"].client.load_table("a.users").transaction() as change:
        change.set_properties({"other": "1"})
    assert causes(document(fleet, "dev", "prod")) == [("lake.a.users", "prod", "outside")]


def test_an_environment_that_is_unreachable_hides_no_other(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the environment is printed, and decides the exit code."""
    lakes = Lakes(project, monkeypatch, f"environments: {ENVIRONMENTS}\n")
    lakes.place("staging").store_before = lost_answer
    output = lakes.run("compare dev staging prod --catalog shop --exit-code")
    assert output.code == 5
    assert "  staging: not compared: STORE_UNAVAILABLE" in output.stdout.splitlines()
    assert output.stderr.count("error: STORE_UNAVAILABLE") == 1
    assert "--env staging" in output.stderr
    alone = lakes.run("compare dev staging --catalog shop")
    assert alone.code == 5
    assert "fewer than two environments are known (staging: not compared: STORE_UNAVAILABLE)" in alone.stdout


def test_a_catalog_without_one_of_the_environments_is_compared_in_the_others(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line says which one is skipped."""
    lakes = Lakes(project, monkeypatch, "environments: {dev: {}, staging: {}, prod: {}}\n")
    text = (project.root / "catalogs/web.yaml").read_text()
    project.catalog(text.replace("prod: {}", "other: {}"), "web")
    output = lakes.run("compare dev staging prod")
    assert output.code == 0
    assert output.stdout.split("\n\n")[1].splitlines() == [
        "web (dev, staging, prod)", "  0 versions: none", "  0 tables: none",
        "  prod: not compared: it does not have this environment",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("", "ENVIRONMENT_NOT_CHOSEN"),
        ("dev", "ENVIRONMENT_NOT_CHOSEN"),
        ("dev dev", "ENVIRONMENT_NOT_CHOSEN"),
        ("dev prd", "UNKNOWN_ENVIRONMENT"),
        ("dev nowhere.json", "UNREADABLE_FILE"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_contacted(
    arguments: str, code: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, one error."""
    lakes = Lakes(project, monkeypatch, f"environments: {ENVIRONMENTS}\n")
    for name in ("dev", "prod"):
        lakes.place(name).store_before = lambda _: pytest.fail("contacted")
    output = lakes.run(f"compare {arguments} --format json")
    assert (output.code, output.document["error"]["code"]) == (2, code)
