"""Repeatables on the command line: `new`, `render`, `status`, `pending`, plan files, `show`, `history` and `repair`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.fakes import lost_answer
from tests.support.lakes import Lakes
from tests.support.project_folder import ProjectFolder

MORE = """\
variables: {floor: 1}
environments: {dev: {}, prod: {variables: {floor: 2}}}
defaultEnvironment: dev
"""
VIEW = "DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT a FROM t WHERE a > {{ variables.floor }}"
PLACE = "migrations/shop/repeatable/v.sql"


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """A table and a view of two environments with different variables; nothing has run."""
    lakes = Lakes(project, monkeypatch, MORE)
    project.file("0001_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2), (3)")
    project.file("repeatable/v.sql", VIEW)
    return lakes


@pytest.fixture
def applied(lakes: Lakes) -> Lakes:
    """The same after a run in both environments."""
    for name in ("dev", "prod"):
        assert lakes.run(f"migrate --catalog shop --env {name} --yes").code == 0
    return lakes


def entry(lakes: Lakes, command: str, exit_code: int = 0) -> dict[str, object]:
    output = lakes.run(f"{command} --format json")
    assert output.code == exit_code, output
    return output.entry()


def names(found: object) -> list[tuple[str | None, str | None]]:
    assert isinstance(found, list)
    return [(each["version"], each["name"]) for each in found]


def values(lakes: Lakes, environment: str) -> list[int]:
    return [row[0] for row in lakes.place(environment).engine.rows("SELECT a FROM v ORDER BY a")]


def test_documents_have_a_name_in_place_of_a_version(lakes: Lakes) -> None:
    """`pending`, `plan` and `migrate` list versions and repeatables in one list."""
    both = [("0001", None), (None, "v")]
    assert names(entry(lakes, "pending --catalog shop")["pending"]) == both
    assert names(entry(lakes, "plan --catalog shop")["plan"]) == both
    assert names(entry(lakes, "migrate --catalog shop")["applied"]) == both
    status = entry(lakes, "status --catalog shop")
    assert names(status["migrations"]) == [("0001", None)]
    [repeatable] = status["repeatables"]  # type: ignore[misc]
    assert (repeatable["name"], repeatable["state"]) == ("v", "applied")
    assert repeatable["applied_at"] is not None


def test_text_shows_the_name_where_it_shows_a_version(applied: Lakes) -> None:
    """The rows of repeatables are below those of versions."""
    rows = [line.split()[:2] for line in applied.run("status --catalog shop").stdout.splitlines()]
    assert rows[-2:] == [["0001", "applied"], ["v", "applied"]]
    both = applied.run("status --catalog shop --env dev --env prod").stdout
    assert ["v", "applied", "applied"] in [line.split()[:3] for line in both.splitlines()]


def test_one_that_is_to_run_again_has_no_statements_that_are_done(applied: Lakes) -> None:
    """The statements that ran are of its former text; when it was applied remains."""
    applied.project.file("repeatable/v.sql", "DROP VIEW v")
    [repeatable] = entry(applied, "status --catalog shop")["repeatables"]  # type: ignore[misc]
    assert (repeatable["state"], repeatable["statements_done"], repeatable["statements_total"]) == ("pending", 0, None)
    assert repeatable["applied_at"] is not None
    assert "2/2" not in applied.run("show v --catalog shop").stdout.partition("statement 1")[0]


def test_a_variable_that_changes_in_one_environment_runs_it_there_alone(applied: Lakes) -> None:
    """The other environment renders the same text as before."""
    path = applied.project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("floor: 2", "floor: 0"))
    assert entry(applied, "pending --catalog shop --env dev")["pending"] == []
    assert names(entry(applied, "migrate --catalog shop --env prod --yes")["applied"]) == [(None, "v")]
    assert (values(applied, "dev"), values(applied, "prod")) == ([2, 3], [1, 2, 3])


def test_a_plan_file_holds_it(lakes: Lakes) -> None:
    """What was planned is applied, or nothing."""
    assert lakes.run("plan --catalog shop --output plan.json").code == 0
    [plan] = json.loads(Path("plan.json").read_text())["catalogs"]
    assert [file["name"] for file in plan["plan"]] == [None, "v"]
    lakes.project.file("repeatable/v.sql", VIEW.replace(">", ">="))
    refused = lakes.run("migrate --plan plan.json --format json")
    assert refused.document["error"]["code"] == "PLAN_OUTDATED"
    assert f"{PLACE}: the file was edited" in refused.document["error"]["changes"]
    lakes.project.file("repeatable/v.sql", VIEW)
    assert lakes.run("migrate --plan plan.json").code == 0
    assert values(lakes, "dev") == [2, 3]


@pytest.mark.parametrize("change", ["added", "removed"])
def test_a_plan_names_repeatables_that_came_and_went(change: str, lakes: Lakes) -> None:
    """The plan is of all files."""
    assert lakes.run("plan --catalog shop --output plan.json").code == 0
    if change == "added":
        lakes.project.file("repeatable/w.sql", "SELECT 1")
    else:
        (lakes.project.root / PLACE).unlink()
    error = lakes.run("migrate --plan plan.json --format json").document["error"]
    assert error["changes"] == [
        f"migrations/shop/repeatable/{'w' if change == 'added' else 'v'}.sql: the file was {change}"
    ]


def test_show_and_history_take_the_name(applied: Lakes) -> None:
    """The events have their own kinds, and `history` lists the outcome."""
    shown = entry(applied, "show v --catalog shop")
    assert (shown["migration"]["name"], shown["migration"]["state"]) == ("v", "applied")  # type: ignore[index]
    assert [statement["state"] for statement in shown["statements"]] == ["done", "done"]  # type: ignore[union-attr]
    history = entry(applied, "history --version v --catalog shop")
    kinds = [event["event"] for event in history["events"]]  # type: ignore[union-attr]
    assert kinds == ["started", "statement_done", "applied"]
    assert names(history["outcomes"]) == [(None, "v")]
    assert "v  " in applied.run("history --catalog shop").stdout
    unknown = applied.run("show w --catalog shop --format json")
    assert unknown.document["error"]["code"] == "UNKNOWN_VERSION"


def test_show_prints_the_statements_that_are_to_run(applied: Lakes) -> None:
    """A repeatable that changed since it ran shows its new text."""
    applied.project.file("repeatable/v.sql", "DROP VIEW v")
    shown = entry(applied, "show v --catalog shop")
    assert [(each["state"], each["sql"]) for each in shown["statements"]] == [("pending", "DROP VIEW v")]  # type: ignore[union-attr]


def test_repair_takes_the_name(lakes: Lakes) -> None:
    """The commands of the case record each choice as printed."""
    lakes.place("dev").engine.before = lambda sql: lost_answer(sql) if "CREATE VIEW" in sql else None
    failed = entry(lakes, "migrate --catalog shop", exit_code=6)
    assert failed["failed"]["name"] == "v"  # type: ignore[index]
    lakes.place("dev").engine.before = lambda sql: None
    [case] = entry(lakes, "repair --catalog shop")["cases"]  # type: ignore[misc]
    assert (case["version"], case["name"], case["state"]) == (None, "v", "unknown")
    assert lakes.paste(case["commands"][2].replace("…", "later"), "--yes").code == 0
    assert names(entry(lakes, "repair v --catalog shop")["cases"]) == [(None, "v")]
    assert entry(lakes, "status --catalog shop")["repeatables"][0]["state"] == "abandoned"  # type: ignore[index]


def test_render_takes_the_name(lakes: Lakes) -> None:
    """Environments that render it differently have a result each."""
    output = lakes.run("render v --catalog shop --format json")
    assert [[file["name"] for file in found["files"]] for found in output.document["catalogs"]] == [["v"], ["v"]]
    assert "a > 2" in output.entry(1)["files"][0]["sql"]
    assert lakes.run("render w --catalog shop").code == 2


def test_new_writes_one(lakes: Lakes) -> None:
    """The file has its headers, and a line that is refused until SQL replaces it; nothing is overwritten."""
    command = "new --catalog shop --author Ann --repeatable daily_orders"
    assert lakes.run(command, "Orders per day").code == 0
    path = lakes.project.root / "migrations/shop/repeatable/daily_orders.sql"
    assert path.read_text().startswith("-- MIGRATION_DESCRIPTION: Orders per day\n-- MIGRATION_AUTHOR: Ann\n")
    assert lakes.run("validate --catalog shop").code == 3
    assert lakes.run(command, "Orders per day", "--format", "json").document["error"]["code"] == "ALREADY_EXISTS"
    path.write_text(path.read_text().replace("{{", "SELECT 1; --"))
    assert lakes.run("validate --catalog shop").code == 0


@pytest.mark.parametrize(
    ("options", "code"), [("Daily", "INVALID_VALUE"), ("a --reverting 0001", "CONFLICTING_OPTIONS")]
)
def test_new_refuses_what_it_cannot_write(options: str, code: str, lakes: Lakes) -> None:
    """Nothing is written."""
    output = lakes.run(f"new --catalog shop --author Ann --format json --repeatable {options}", "why")
    assert output.document["error"]["code"] == code
    assert [path.name for path in (lakes.project.root / "migrations/shop/repeatable").iterdir()] == ["v.sql"]


def test_a_cycle_is_an_error_of_every_command_that_reads_the_files(lakes: Lakes) -> None:
    """Nothing runs."""
    path = lakes.project.root / PLACE
    path.write_text(path.read_text().replace("\n\n", "\n-- MIGRATION_AFTER: v\n\n", 1))
    for command in ("validate", "pending", "migrate", "status"):
        output = lakes.run(f"{command} --catalog shop --format json")
        assert (output.code, output.document["error"]["code"]) == (3, "AFTER_CYCLE")
    assert lakes.place("dev").events() == []


def test_the_page_for_the_team_has_it(applied: Lakes) -> None:
    """The page counts it as a migration, and as pending once it changed."""
    for pending in (0, 1):
        report = entry(applied, "report --catalog shop --output page.html")
        assert (report["migrations"], report["pending"]) == (2, pending)
        applied.project.file("repeatable/v.sql", "DROP VIEW v")
    assert "repeatable/v.sql" in Path("page.html").read_text()


def test_the_confirmation_of_a_baseline_lists_versions_only(lakes: Lakes) -> None:
    """The repeatable is pending, and `baseline` does not record it."""
    lakes.place("dev").engine.rows("CREATE TABLE t (a INT)")
    output = lakes.run("baseline --catalog shop --to 0001 --reason old", typed="y\n")
    assert output.code == 0, output
    assert "0001_a.sql" in output.stdout + output.stderr
    assert "repeatable/v.sql" not in output.stdout + output.stderr
