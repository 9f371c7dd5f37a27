"""Repeatables in `compare`: environments that ran different texts, or not all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.lakes import Lakes
from tests.support.project_folder import ProjectFolder

MORE = """\
variables: {floor: 1}
environments: {dev: {}, prod: {}}
defaultEnvironment: dev
"""
VIEW = "DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT a FROM t WHERE a > {{ variables.floor }}"


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """A table and a view that both environments have."""
    lakes = Lakes(project, monkeypatch, MORE)
    project.file("0001_a.sql", "CREATE TABLE t (a INT)")
    project.file("repeatable/v.sql", VIEW)
    for name in ("dev", "prod"):
        migrate(lakes, name)
    return lakes


def migrate(lakes: Lakes, environment: str) -> None:
    assert lakes.run(f"migrate --catalog shop --env {environment} --yes").code == 0


def compared(lakes: Lakes, *sources: str) -> tuple[dict[str, str], bool]:
    """Return the verdict on each repeatable, and whether anything differs."""
    output = lakes.run("compare --catalog shop --format json", *(sources or ("dev", "prod")))
    entry: dict[str, Any] = output.entry()
    assert all(each["version"] is None for each in entry["repeatables"])
    return {each["name"]: each["verdict"] for each in entry["repeatables"]}, entry["differs"]


def test_environments_that_ran_the_same_are_equal(lakes: Lakes) -> None:
    """The text form counts repeatables where there are any."""
    assert compared(lakes) == ({"v": "equal"}, False)
    assert "1 repeatable: 1 equal" in lakes.run("compare --catalog shop dev prod").stdout


def test_an_environment_that_has_not_run_the_change_is_behind(lakes: Lakes) -> None:
    """Until it runs it, too."""
    lakes.project.file("repeatable/v.sql", VIEW.replace(">", ">="))
    assert compared(lakes) == ({"v": "pending"}, False)
    migrate(lakes, "dev")
    assert compared(lakes) == ({"v": "behind"}, True)
    rows = [line.split() for line in lakes.run("compare --catalog shop dev prod").stdout.splitlines()]
    [row] = [row for row in rows if row[:1] == ["v"]]
    assert {"applied", "pending", "behind"} <= set(row)
    migrate(lakes, "prod")
    assert compared(lakes) == ({"v": "equal"}, False)


def test_a_variable_is_a_difference_by_design(lakes: Lakes) -> None:
    """The file is the same."""
    path = lakes.project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("prod: {}", "prod: {variables: {floor: 2}}"))
    migrate(lakes, "prod")
    assert compared(lakes) == ({"v": "variables"}, False)
    assert "by design (variables): v" in lakes.run("compare --catalog shop dev prod").stdout


def test_state_files_of_two_checkouts_are_compared(lakes: Lakes) -> None:
    """One environment applied the edited file, and the other one the file before."""
    assert lakes.run("export-state --catalog shop --env prod --output prod.json").code == 0
    lakes.project.file("repeatable/v.sql", VIEW.replace(">", ">="))
    migrate(lakes, "dev")
    assert lakes.run("export-state --catalog shop --env dev --output dev.json").code == 0
    assert compared(lakes, "dev.json", "prod.json") == ({"v": "edited"}, True)


def test_one_that_only_one_environment_has_is_listed(lakes: Lakes) -> None:
    """A repeatable whose file is gone, and that prod never ran."""
    path = lakes.project.file("repeatable/w.sql", "SELECT 1")
    migrate(lakes, "dev")
    path.unlink()
    assert compared(lakes) == ({"v": "equal", "w": "extra"}, True)


def test_an_exported_state_counts_repeatables(lakes: Lakes) -> None:
    """The text form names them between versions and tables."""
    exported = lakes.run("export-state --catalog shop --env dev --output state.json")
    assert "1 version, 1 repeatable and 1 table exported" in exported.stdout


def test_a_table_that_a_repeatable_changed_last_has_that_change(lakes: Lakes) -> None:
    """The change came after the last version. No version is named as the cause."""
    lakes.project.file("repeatable/u.sql", "CREATE TABLE u (a INT); ALTER TABLE t ADD COLUMN b INT")
    migrate(lakes, "dev")
    lakes.run("export-state --catalog shop --env dev --output state.json")
    [state] = json.loads(Path("state.json").read_text())["catalogs"]
    changes = {table["table"].rpartition(".")[2]: table["parts"] for table in state["tables"]}
    assert [(change["version"], change["origin"]) for change in changes["u"]] == [(None, "not recorded")]
    assert [change["version"] for change in changes["t"]] == ["0001", None]
    lakes.project.file("repeatable/u.sql", "SELECT 1")
    migrate(lakes, "prod")
    entry = lakes.run("compare --catalog shop dev prod --format json").entry()
    assert [[each["versions"] for each in table["differences"]] for table in entry["tables"]] == [[[]], [[]]]
