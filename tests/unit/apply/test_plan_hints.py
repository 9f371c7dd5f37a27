"""The commands that hints print work where plan files are required, and where files of a plan are gone."""

from __future__ import annotations

import os

import pytest

from glacierbase.errors import StatementRefused
from glacierbase.model.shape import TableVersion
from glacierbase.run.processes import engine_process
from tests.support.fakes import lost_answer
from tests.support.lakes import Lakes, printed_commands
from tests.unit.apply.plans import MIGRATE, PLAN, refused


@pytest.mark.parametrize(
    ("options", "again"), [("--to 0003", "--to 0002"), ("--only 0003 --reason hotfix", None), ("--to 0002", None)]
)
def test_the_command_that_plans_again_names_no_version_that_is_gone(
    options: str, again: str | None, lakes: Lakes
) -> None:
    """`--to` becomes the highest version below it that has a file, so that nothing more is planned than before."""
    assert lakes.run(f"{PLAN} {options}").code == 0
    for name in ("0003_c.sql",) if "0003" in options else ("0001_a.sql", "0002_b.sql"):
        (lakes.project.root / "migrations/shop" / name).unlink()
    if options == "--to 0002":  # 0001 is applied, and its file is needed.
        lakes.project.file("0001_a.sql", "CREATE TABLE t (a INT)")
        again = "--to 0001"
    [command] = printed_commands(refused(lakes)["hint"])
    assert (again in command) if again else ("--to" not in command and "--only" not in command)
    assert lakes.paste(command).code == 0


@pytest.mark.parametrize(("chosen", "named"), [("", ""), ("--catalog shop", " --catalog shop")])
def test_one_command_plans_all_catalogs_that_require_it(chosen: str, named: str, lakes: Lakes) -> None:
    """A command for each catalog would replace the file of the one before it."""
    lakes.project.file("0001_w.sql", "CREATE TABLE w (a INT)", "web")
    error = lakes.run(f"migrate --env guarded {chosen}", "--format", "json").document["error"]
    assert error["code"] == "PLAN_REQUIRED"
    write, apply = printed_commands(error["hint"])
    assert write.startswith(f"glacierbase plan --output plan.json{named} --env guarded")
    assert lakes.paste(write).code == 0
    assert lakes.paste(apply).code == 0
    assert {event.version for event in lakes.place("guarded").events("web")} == (set() if chosen else {"0001"})


def both(lakes: Lakes, text: str) -> None:
    """Paste two commands, of which the second runs after the first."""
    for each in text.split(" && "):
        assert lakes.paste(each).code == 0


def test_where_plan_files_are_required_a_hint_prints_commands_that_work(lakes: Lakes) -> None:
    """`migrate` alone is refused there, so that the hint of a failed run writes a plan and applies it."""

    def reject(sql: str) -> None:
        if "(5)" in sql:
            raise StatementRefused("X", "no")

    engine = lakes.place("guarded").engine
    engine.before = reject
    assert lakes.run(f"{PLAN} --env guarded").code == 0
    failed = lakes.run(f"{MIGRATE} --env guarded", "--format", "json")
    assert failed.code == 1
    engine.before = lambda _: None
    found = printed_commands(failed.document["error"]["hint"])[0]
    assert found.startswith("glacierbase plan --output plan.json --catalog shop --env guarded")
    both(lakes, found)
    assert engine.rows("SELECT a FROM t ORDER BY a") == [(4,), (5,), (6,)]
    shown = lakes.run("show 0003 --catalog shop --env dev").stdout
    assert "glacierbase migrate --catalog shop --env dev" in shown


def test_where_plan_files_are_required_no_hint_says_that_migrate_settles_an_outcome(lakes: Lakes) -> None:
    """A plan cannot be made while an outcome is unknown, so that `repair` is the only way."""
    engine = lakes.place("guarded").engine
    engine.process, engine.proving = engine_process(os.getpid()), "lake.a.t"
    lakes.place("guarded").tables.versions["lake.a.t"] = TableVersion("lake.a.t", "u", "m", 1)
    engine.before = lambda sql: lost_answer() if "(5)" in sql else None
    assert lakes.run(f"{PLAN} --env guarded").code == 0
    assert lakes.run(f"{MIGRATE} --env guarded").code == 6
    for command in ("pending", "plan"):
        error = lakes.run(f"{command} --catalog shop --env guarded", "--format", "json").document["error"]
        assert error["code"] == "OUTCOME_UNKNOWN"
        [printed] = printed_commands(error["hint"])
        assert printed.startswith("glacierbase repair 0002 ")
