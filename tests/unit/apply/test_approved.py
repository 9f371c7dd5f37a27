"""`migrate --plan` applies exactly the plan in the file, or nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase import GlacierbaseError, Project
from glacierbase.errors import StatementRefused
from glacierbase.output.schemas import json_schema
from tests.support.documents import checked
from tests.support.fakes import lost_answer
from tests.support.lakes import Lakes, printed_commands
from tests.support.world import once
from tests.unit.apply.plans import MIGRATE, PLAN, applied, refused


def values(lakes: Lakes, environment: str = "prod") -> list[int]:
    return [row[0] for row in lakes.place(environment).engine.rows("SELECT a FROM t ORDER BY a")]


def variables(lakes: Lakes, size: int) -> None:
    path = lakes.project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("size: 4", f"size: {size}"))


def test_an_unchanged_plan_is_applied_statement_by_statement(planned: Lakes) -> None:
    """The statements in the file are those that the engine gets."""
    ran: list[str] = []
    planned.place("prod").engine.before = ran.append
    assert applied(planned.run(MIGRATE, "--format", "json")) == ["0002", "0003"]
    [entry] = json.loads(Path("plan.json").read_text())["catalogs"]
    expected = [statement["sql"] for file in entry["plan"] for statement in file["statements"]]
    assert [sql for sql in ran if "t VALUES" in sql] == expected
    assert values(planned) == [4, 5, 6]


def test_the_file_is_the_document_of_plan(planned: Lakes) -> None:
    """The file fits the schema of `glacierbase schemas plan`, and a redirected stdout can be applied as well."""
    written = Path("plan.json").read_text()
    output = planned.run("plan --catalog shop --format json")
    assert output.stdout == written
    [entry] = checked(json.loads(written))["catalogs"]
    assert entry["head"].keys() == {"fence", "sequence", "run_id"}
    assert entry["plan"][0]["checksum"].startswith("v1:sha256:")
    assert entry["plan"][0]["checksum"] != entry["plan"][0]["rendered_checksum"]
    assert "rendered_checksum" in json_schema("plan")["$defs"]["PlannedFile"]["required"]
    Path("plan.json").write_text(output.stdout)
    assert applied(planned.run(MIGRATE, "--format", "json")) == ["0002", "0003"]


def added(lakes: Lakes) -> None:
    lakes.project.file("0004_d.sql", "INSERT INTO t VALUES (7)")


def edited(lakes: Lakes) -> None:
    lakes.project.file("0003_c.sql", "INSERT INTO t VALUES (8)")


def removed(lakes: Lakes) -> None:
    (lakes.project.root / "migrations/shop/0003_c.sql").unlink()


def moved(lakes: Lakes) -> None:
    folder = lakes.project.root / "migrations/shop"
    (folder / "late").mkdir()
    (folder / "0003_c.sql").rename(folder / "late/0003_c.sql")


def another_run(lakes: Lakes) -> None:
    assert lakes.run("migrate --catalog shop --to 0002").code == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (added, ["migrations/shop/0004_d.sql: the file was added"]),
        (edited, ["migrations/shop/0003_c.sql: the file was edited"]),
        (removed, ["migrations/shop/0003_c.sql: the file was removed"]),
        (moved, ["migrations/shop/0003_c.sql: the file was moved to migrations/shop/late/0003_c.sql"]),
        (
            lambda lakes: variables(lakes, 9),
            ["migrations/shop/0002_b.sql: it renders differently: a variable changed"],
        ),
        (another_run, [": 0002 applied"]),
        (
            lambda lakes: (added(lakes), variables(lakes, 9)),
            ["0002_b.sql: it renders differently: a variable changed", "0004_d.sql: the file was added"],
        ),
    ],
    ids=["added", "edited", "removed", "moved", "variable", "run", "several"],
)
def test_what_moved_since_is_named_and_nothing_runs(
    change: Callable[[Lakes], object], named: list[str], planned: Lakes
) -> None:
    """The printed command makes the plan again, which is then applied."""
    change(planned)
    error = refused(planned)
    assert len(error["changes"]) == len(named)
    assert all(line.endswith(expected) for line, expected in zip(error["changes"], named, strict=True))
    assert all(line in error["message"] for line in error["changes"])
    [again] = printed_commands(error["hint"])
    assert planned.paste(again).code == 0
    assert planned.run(MIGRATE).code == 0
    assert planned.run("pending --catalog shop --format json").entry()["pending"] == []


def test_a_run_since_is_named_with_its_id_time_and_user(planned: Lakes) -> None:
    """The facts are those of its events."""
    another_run(planned)
    last = planned.place("prod").events()[-1]
    [line] = refused(planned)["changes"]
    assert line.startswith(f"run {last.run_id} of {last.os_user}@{last.host} at ")
    assert last.recorded_at is not None
    assert f"{last.recorded_at:%Y-%m-%d %H:%M}" in line


def test_a_plan_that_was_applied_is_not_applied_again(planned: Lakes) -> None:
    """Nothing is pending, and the plan is refused all the same: its history has moved."""
    assert planned.run(MIGRATE).code == 0
    assert refused(planned)["changes"][0].endswith(": 0002 applied, 0003 applied")


def test_a_run_between_the_first_look_and_the_lock_is_found(planned: Lakes) -> None:
    """The plan is compared with the history that is read under the lock."""
    # A run looks at the history before it acquires the lock.
    other = Project.load(planned.project.root)
    planned.place("prod").store_before = once("compare_and_set", lambda: other.migrate(["shop"], to="0002"))
    output = planned.run(MIGRATE, "--format", "json")
    assert (output.code, output.document["error"]["code"]) == (3, "PLAN_OUTDATED"), output
    assert output.document["error"]["changes"][0].endswith(": 0002 applied")
    assert values(planned) == [4, 5]


def test_another_history_with_as_many_events_is_refused(planned: Lakes) -> None:
    """The run that wrote the newest event is part of the plan."""
    events = planned.place("prod").events()
    events[:] = [replace(event, run_id="another") for event in events]
    assert "the history no longer holds event 2 of run" in refused(planned)["changes"][-1]


def fail(lakes: Lakes, command: str) -> None:
    """Run a command whose second statement of 0002 is rejected once."""

    def reject(sql: str) -> None:
        if "(5)" in sql:
            raise StatementRefused("X", "no")

    engine = lakes.place("prod").engine
    engine.before = reject
    assert lakes.run(command).code == 1
    engine.before = lambda _: None


def test_a_plan_of_a_failed_file_begins_where_it_resumes(lakes: Lakes) -> None:
    """The statement that is done is not in the plan and does not run again."""
    fail(lakes, "migrate --catalog shop")
    assert lakes.run(PLAN).code == 0
    [entry] = json.loads(Path("plan.json").read_text())["catalogs"]
    first = entry["plan"][0]
    assert (first["resumes_at"], [each["index"] for each in first["statements"]]) == (2, [2])
    assert applied(lakes.run(MIGRATE, "--format", "json")) == ["0002", "0003"]
    assert values(lakes) == [4, 5, 6]


def test_a_plan_whose_run_failed_is_outdated(planned: Lakes) -> None:
    """What is left is another plan, which resumes."""
    fail(planned, MIGRATE)
    assert refused(planned)["changes"][0].endswith(": 0002 failed")
    assert planned.run(PLAN).code == 0
    assert applied(planned.run(MIGRATE, "--format", "json")) == ["0002", "0003"]
    assert values(planned) == [4, 5, 6]


def test_an_outcome_that_is_unknown_comes_before_the_plan(planned: Lakes) -> None:
    """The outcome is settled first; the plan is outdated afterwards, and nothing of it runs meanwhile."""
    engine = planned.place("prod").engine
    engine.before = lambda sql: lost_answer() if "(5)" in sql else None
    assert planned.run(MIGRATE).code == 6
    engine.before = lambda _: None
    refused(planned, code="OUTCOME_UNKNOWN", exit_code=6)
    assert planned.run("repair 0002 --as done --reason seen --catalog shop --yes").code == 0
    assert [line.rpartition(": ")[2] for line in refused(planned)["changes"]] == ["0002 unknown", "0002 repaired"]


@pytest.mark.parametrize("options", ["--to 0002", "--only 0003 --reason hotfix"])
def test_the_versions_that_were_selected_are_those_of_the_plan(options: str, lakes: Lakes) -> None:
    """`migrate --plan` repeats none of the options; a file that was not selected does not outdate the plan."""
    assert lakes.run(f"{PLAN} {options}").code == 0
    chosen = options.split()[1]
    assert applied(lakes.run(MIGRATE, "--format", "json")) == [chosen]
    started = lakes.place("prod").events()[-2 if chosen == "0003" else -3]
    assert started.reason == ("hotfix" if "--only" in options else None)


def test_a_selected_file_that_is_gone_outdates_the_plan(lakes: Lakes) -> None:
    """The version of `--to` has no file any more; the error names the file and not the option."""
    assert lakes.run(f"{PLAN} --to 0003").code == 0
    removed(lakes)
    assert refused(lakes)["changes"] == ["migrations/shop/0003_c.sql: the file was removed"]


def test_a_file_that_only_would_newly_pass_by_outdates_the_plan(lakes: Lakes) -> None:
    """A version that is passed by is allowed to run later, so that it must have been in the plan."""
    removed(lakes)
    lakes.project.file("0009_z.sql", "SELECT 1")
    assert lakes.run(f"{PLAN} --only 0009 --reason hotfix").code == 0
    lakes.project.file("0003_c.sql", "SELECT 3")
    assert refused(lakes)["changes"] == ["--only now passes by 0002, 0003; in the plan: 0002"]


def test_a_file_out_of_order_runs_if_the_plan_allows_it(lakes: Lakes) -> None:
    """The option is part of the plan and of the command that makes it again."""
    assert lakes.run("migrate --catalog shop").code == 0
    lakes.project.file("0000_late.sql", "INSERT INTO t VALUES (7)")
    assert lakes.run(f"{PLAN} --allow-out-of-order 0000").code == 0
    lakes.project.file("0009_z.sql", "SELECT 1")
    [again] = printed_commands(refused(lakes)["hint"])
    assert "--allow-out-of-order 0000" in again
    assert lakes.paste(again).code == 0
    assert applied(lakes.run(MIGRATE, "--format", "json")) == ["0000", "0009"]


def test_several_catalogs_are_in_one_file(lakes: Lakes) -> None:
    """Each is compared by itself: one that changed is refused, the other is applied; `--catalog` chooses among them."""
    lakes.project.file("0001_w.sql", "CREATE TABLE w (a INT)", "web")
    assert lakes.run("plan --output plan.json").code == 0
    lakes.project.file("0002_w.sql", "SELECT 1", "web")
    output = lakes.run(MIGRATE, "--format", "json")
    assert output.code == 3
    assert [len(entry["applied"]) for entry in output.document["catalogs"]] == [2, 0]
    [again] = printed_commands(output.document["error"]["hint"])
    assert "--catalog" not in again
    assert lakes.paste(again).code == 0
    assert applied(lakes.run(f"{MIGRATE} --catalog web", "--format", "json")) == ["0001", "0002"]


def test_the_catalogs_of_the_plan_are_the_default(planned: Lakes) -> None:
    """Another catalog of the project is left alone; one that is named and not in the plan is refused."""
    planned.project.file("0001_w.sql", "CREATE TABLE w (a INT)", "web")
    error = refused(planned, f"{MIGRATE} --catalog web")
    assert error["changes"] == ["catalog web is not in the plan; nothing ran"]
    [again] = printed_commands(error["hint"])
    assert "--catalog" not in again  # Both catalogs are all of them.
    assert planned.run(MIGRATE).code == 0
    assert planned.place("prod").events("web") == []


def test_the_command_that_plans_again_names_the_catalogs_of_the_plan(planned: Lakes) -> None:
    """A plan of one catalog of two is made again for that one."""
    added(planned)
    [again] = printed_commands(refused(planned)["hint"])
    assert "--catalog shop" in again
    assert "--output plan.json" in again


def test_a_plan_of_another_environment_is_refused(lakes: Lakes) -> None:
    """The other environment's statements may be the same; the tables are not."""
    assert lakes.run(f"{PLAN} --env dev").code == 0
    error = refused(lakes, f"{MIGRATE} --env prod", "ENVIRONMENT_MISMATCH")
    assert "the plan belongs to environment dev, this run to environment prod" in error["message"]
    assert values(lakes) == []


@pytest.mark.parametrize("more", ["", "--yes", "--to 0002"])
def test_without_a_plan_file_nothing_runs_where_one_is_required(more: str, lakes: Lakes) -> None:
    """The two printed commands write the plan and apply it. Other environments are as before."""
    output = lakes.run(f"migrate --catalog shop --env guarded {more}", "--format", "json")
    error = output.document["error"]
    assert (output.code, error["code"]) == (2, "PLAN_REQUIRED")
    assert lakes.place("guarded").content() == ({}, {})
    write, apply = printed_commands(error["hint"])
    assert lakes.paste(write).code == 0
    assert lakes.paste(apply).code == 0
    assert values(lakes, "guarded") == [4, 5, 6]
    assert lakes.run("migrate --env dev").code == 0


def test_a_required_plan_is_a_file_also_for_a_program_and_a_person(lakes: Lakes) -> None:
    """Results of `plan` in a program, and a plan that is confirmed on a terminal, are not enough; nobody is asked."""
    path = lakes.project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("requirePlan: true", "requirePlan: true, protected: true"))
    output = lakes.run("migrate --catalog shop --env guarded", typed="")
    assert (output.code, "type its name" in output.stderr) == (2, False), output
    assert "error: PLAN_REQUIRED" in output.stderr
    project = Project.load(lakes.project.root, "guarded")
    plan = project.plan(["shop"], output="plan.json")
    assert plan[0].plan_required
    with pytest.raises(GlacierbaseError) as caught:
        project.migrate(["shop"], plan=plan)
    assert caught.value.code == "PLAN_REQUIRED"
    assert project.migrate(["shop"], plan=Path("plan.json"))[0].applied


def test_require_plan_is_inherited_and_overridden_as_every_key(lakes: Lakes) -> None:
    """`_shared.yaml` holds it for all catalogs; a catalog's environment wins."""
    (lakes.project.root / "catalogs/_shared.yaml").write_text("requirePlan: true\n")
    assert lakes.run("migrate --catalog shop --env dev").code == 2
    path = lakes.project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("dev: {}", "dev: {requirePlan: false}"))
    assert lakes.run("migrate --catalog shop --env dev").code == 0


def test_a_protected_environment_shows_the_plan_of_the_file(planned: Lakes) -> None:
    """The environment's name is typed, or `--yes` is given, as without a plan file."""
    path = planned.project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("prod: {}", "prod: {protected: true}"))
    assert planned.run(MIGRATE).code == 2
    output = planned.run(MIGRATE, typed="prod\n")
    assert output.code == 0
    assert "INSERT INTO t VALUES (4)" in output.stderr.partition("type its name")[0]


def test_a_program_writes_a_plan_and_applies_it(lakes: Lakes) -> None:
    """`Project.plan` and `Project.migrate` take what the command line takes; the plan may also stay in memory."""
    project = Project.load(lakes.project.root)
    plan = project.plan(["shop"], output=Path("plan.json"))
    assert [file.version for file in project.migrate(plan=plan)[0].applied] == ["0002", "0003"]
    with pytest.raises(GlacierbaseError) as caught:
        project.migrate(plan="plan.json")
    assert (caught.value.code, caught.value.exit_code) == ("PLAN_OUTDATED", 3)
    with pytest.raises(GlacierbaseError) as caught:
        project.migrate(plan="plan.json", to="0002")
    assert caught.value.code == "CONFLICTING_OPTIONS"


@pytest.mark.parametrize("more", ["--to 0002", "--only 0002 --reason x", "--allow-out-of-order 0002", "--dry-run"])
def test_options_that_select_versions_exclude_a_plan(more: str, planned: Lakes) -> None:
    """A plan file already contains the options that select versions."""
    refused(planned, f"{MIGRATE} {more}", "USAGE", 2)


def test_one_environment_is_written_to_a_file(lakes: Lakes) -> None:
    """`migrate` takes one environment, too."""
    assert lakes.run(f"{PLAN} --env dev --env prod").code == 2
    assert not Path("plan.json").exists()


def test_the_history_holds_the_digest_of_the_plan_file(planned: Lakes) -> None:
    """`show` prints it as `sha256sum` does."""
    digest = hashlib.sha256(Path("plan.json").read_bytes()).hexdigest()
    assert planned.run(MIGRATE).code == 0
    assert f"sha256:{digest}" in planned.run("show 0003 --catalog shop").stdout
    assert planned.run("show 0003 --catalog shop --format json").entry()["run"]["plan"] == f"sha256:{digest}"
    assert planned.run("show 0001 --catalog shop --format json").entry()["run"]["plan"] is None
