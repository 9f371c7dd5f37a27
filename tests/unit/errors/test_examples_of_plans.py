"""The examples of errors of plan files are what a run prints, but for ids, times and names of users and machines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from glacierbase.apply import migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.planfile import read_plan, write_plan
from glacierbase.apply.results import MigrateResult, PlanResult
from glacierbase.errors import GlacierbaseError
from glacierbase.errors.reference import ENTRIES
from tests.support.errors import text_error
from tests.support.project_folder import ProjectFolder
from tests.unit.errors.test_examples_of_runs import Sleep, comparable


def migrate(world: Sleep, plan: str | None = None) -> None:
    """Run `migrate`, with a plan file if one is named."""
    target, empty = world.target("analytics"), MigrateResult("analytics", "prod")
    given = read_plan(plan) if plan else None
    error = migrator.migrate(target, empty, selection=Selection(), given=given).error
    if error:
        raise error


def write(world: Sleep) -> None:
    world.add("0007_add_source", "CREATE TABLE source (a INT)")
    world.add("0008_add_device", "SELECT {{ variables.size }}")
    target = world.target("analytics")
    write_plan("plan.json", [migrator.plan(target, PlanResult("analytics", "prod"), selection=Selection())])


def outdated(world: Sleep) -> None:
    write(world)
    world.migrate(Selection(to="0007"))
    world.variables = "variables: {size: 8}\n"
    world.add("0009_add_scores", "SELECT 1")
    migrate(world, "plan.json")


def required(world: Sleep) -> None:
    world.variables += "requirePlan: true\n"
    migrate(world)


def invalid(world: Sleep) -> None:
    write(world)
    document = json.loads(Path("plan.json").read_text())
    del document["catalogs"][0]["head"]
    Path("plan.json").write_text(json.dumps(document))
    migrate(world, "plan.json")


PLANS = {"PLAN_OUTDATED": outdated, "PLAN_REQUIRED": required, "PLAN_INVALID": invalid}


@pytest.mark.parametrize(("code", "run"), PLANS.items())
def test_the_example_of_an_entry_is_what_migrate_prints(
    code: str, run: Callable[[Sleep], None], project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Message and hint are reproduced by a run in memory."""
    monkeypatch.chdir(project.root)
    with pytest.raises(GlacierbaseError) as caught:
        run(Sleep(project))
    assert shown(text_error(caught.value)) == shown(ENTRIES[code].example)


def shown(text: str) -> str:
    return re.sub(r" of \S+@\S+ at ", " of USER@HOST at ", comparable(text))
