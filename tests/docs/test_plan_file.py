"""The section on plan files of the page "CI/CD, Airflow and Dagster", its commands run on a project in memory."""

from __future__ import annotations

import pytest

from tests.docs.pages import DOCS, blocks
from tests.docs.test_blocks import commands
from tests.support.lakes import Lakes
from tests.support.project_folder import ProjectFolder

PAGE = list(blocks(DOCS / "guides" / "ci-and-airflow.md"))
COMMANDS = next(block.text for block in PAGE if block.language == "sh" and "--output" in block.text)
REQUIRED = next(block.text for block in PAGE if block.language == "yaml" and "requirePlan" in block.text)


def test_the_commands_of_the_section_approve_and_apply_a_plan(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the environment that the page declares, `migrate` alone is refused, and the commands of the page apply the file."""
    lakes = Lakes(project, monkeypatch, REQUIRED)
    project.file("0001_a.sql", "CREATE TABLE a (a INT)")
    assert "PLAN_REQUIRED" in lakes.run("migrate --env prod").stderr
    [plan, migrate] = [" ".join(words[1:]) for words in commands(COMMANDS)]
    assert "CREATE TABLE a (a INT)" in lakes.run(plan).stdout
    project.file("0002_b.sql", "CREATE TABLE b (a INT)")
    assert "error: PLAN_OUTDATED" in lakes.run(migrate).stderr
    assert lakes.run(plan).code == 0
    assert lakes.run(migrate).code == 0
    assert [event.version for event in lakes.place("prod").events() if event.event == "applied"] == ["0001", "0002"]
