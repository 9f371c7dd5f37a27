"""The hooks of a catalog file: when they run, what they get, and that they change nothing that is recorded."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from glacierbase import Project
from glacierbase.apply import hooks as hooks_module
from glacierbase.apply import migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.results import MigrateResult, PendingResult, PlanResult
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError, GlacierbaseError, Interrupted, MigrationFailed
from glacierbase.model.catalog import Hooks
from glacierbase.output.documents import text_document
from glacierbase.output.schemas import json_schema
from glacierbase.secrets import register
from tests.support.catalog_files import LAKE
from tests.support.errors import text_error
from tests.support.fakes import lost_answer
from tests.support.hostile import PAYLOAD, check_safe
from tests.support.processes import state_of
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder
from tests.support.world import World, wait_until

# Appends its name, its variables and its input to `calls.jsonl`.
RECORD = """\
import json, os, sys
with open("calls.jsonl", "a") as file:
    names = ("GLACIERBASE_HOOK", "GLACIERBASE_CATALOG", "GLACIERBASE_ENVIRONMENT", "TOKEN")
    print(json.dumps([[os.environ.get(name) for name in names], json.load(sys.stdin)]), file=file)
"""
NAMES = ("beforeMigrate", "afterMigrate", "onFailure")
NOTHING = ([], [], [])


def words(*parts: str) -> str:
    return json.dumps(parts)


def hooks(**commands: str) -> str:
    return "".join(["hooks:\n", *(f"  {name}: {command}\n" for name, command in commands.items())])


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project in memory that records every hook that runs."""
    (project.root / "record.py").write_text(RECORD)
    world = World(project)
    world.variables += hooks(**dict.fromkeys(NAMES, words(sys.executable, "record.py")))
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    return world


def with_hooks(world: World, **commands: str) -> None:
    world.variables = world.variables.partition("hooks:")[0] + hooks(**commands)


def migrate(world: World, cancelled: Callable[[], bool] = lambda: False) -> MigrateResult:
    """Run the command `migrate`."""
    return migrator.migrate(
        replace(world.target(), cancelled=cancelled), MigrateResult("shop", world.environment), selection=Selection()
    )


def calls(world: World) -> list[Any]:
    """Return what every hook got, in order."""
    path = world.project.root / "calls.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ran(world: World) -> list[str]:
    return [names[0] for names, _ in calls(world)]


def test_the_hooks_of_a_run_get_the_plan_and_the_result(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each hook reads a document of its schema, and has variables of the run and the program's environment."""
    monkeypatch.setenv("TOKEN", "canary")
    assert migrate(world).error is None
    [before, plan], [after, result] = calls(world)
    assert before == ["beforeMigrate", "shop", "default", "canary"]
    assert after == ["afterMigrate", "shop", "default", "canary"]
    validate(plan, json_schema("plan"))
    validate(result, json_schema("migrate"))
    assert (plan["schema"], plan["ok"]) == ("glacierbase/plan/1", True)
    [file] = plan["catalogs"][0]["plan"]
    assert [each["sql"] for each in file["statements"]] == ["CREATE TABLE t (a INT)"]
    assert [each["version"] for each in result["catalogs"][0]["applied"]] == ["1"]


def test_a_run_with_nothing_to_apply_runs_no_hook(world: World) -> None:
    """The second run finds everything applied."""
    migrate(world)
    assert ran(world) == ["beforeMigrate", "afterMigrate"]
    assert migrate(world).error is None
    assert ran(world) == ["beforeMigrate", "afterMigrate"]


def test_the_commands_that_write_nothing_run_no_hook(world: World) -> None:
    """`plan` and `pending` plan as `migrate` does; `validate` and `render` read the same file."""
    assert migrator.plan(world.target(), PlanResult("shop", "default"), selection=Selection()).plan
    assert migrator.pending(world.target(), PendingResult("shop", "default")).pending
    project = Project.load(world.project.root)
    assert project.validate()
    assert project.render()
    assert world.project.run("validate").code == 0
    assert ran(world) == []


def test_before_migrate_runs_before_the_lock_and_the_others_after_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables do not exist before the first run; the lock is free again after it, and the engine is closed."""
    seen: list[tuple[str, bool, str, int]] = []
    run_command = hooks_module.run_command

    def look(words: Any, content: Any, folder: Any, variables: Any, *rest: Any) -> Any:
        lock = world.tables.locks.get("shop")
        seen.append((variables["GLACIERBASE_HOOK"], lock is not None, lock.owner if lock else "", world.engine.closed))
        return run_command(words, content, folder, variables, *rest)

    monkeypatch.setattr(hooks_module, "run_command", look)
    migrate(world)
    assert seen == [("beforeMigrate", False, "", 0), ("afterMigrate", True, "", 1)]


def test_before_migrate_refuses_a_run(world: World) -> None:
    """Nothing is recorded or locked, no engine is opened, and `onFailure` gets the error."""
    world.project.root.joinpath("refuse.sh").write_text("echo the window opens at 18:00 >&2\nexit 3\n")
    with_hooks(world, beforeMigrate="[sh, refuse.sh]", onFailure=words(sys.executable, "record.py"))
    result = migrate(world)
    assert isinstance(result.error, ConfigurationError)
    assert (result.error.code, result.error.exit_code) == ("HOOK_FAILED", 2)
    assert result.error.message.endswith("hook beforeMigrate exited with 3\nthe window opens at 18:00")
    assert (world.tables.histories, world.tables.locks, world.engine.closed) == ({}, {}, 0)
    assert result.not_run == ("1",)
    [[names, document]] = calls(world)
    assert (names[0], document["ok"], document["error"]["code"]) == ("onFailure", False, "HOOK_FAILED")


def test_a_hook_that_fails_after_the_run_is_a_warning(world: World) -> None:
    """What was applied stays applied and recorded; the warning quotes the last lines of the output."""
    with_hooks(world, afterMigrate="[sh, -c, 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exit 1']")
    result = migrate(world)
    assert result.error is None
    [warning] = result.warnings
    assert warning.splitlines() == ["hook afterMigrate exited with 1", *(f"line {i}" for i in range(3, 13))]
    assert world.kinds == [("started", "1"), ("applied", "1")]


def test_on_failure_gets_the_failed_statement_and_its_failure_changes_no_exit_code(world: World) -> None:
    """The error of the run stays the error of the result."""
    world.file("2_b.sql", "INSERT INTO t VALUES (1); INSERT INTO nowhere VALUES (2)")
    with_hooks(world, onFailure=words(sys.executable, "-c", RECORD + "sys.exit(9)"))
    result = migrate(world)
    assert isinstance(result.error, MigrationFailed)
    assert result.error.exit_code == 1
    assert [warning.splitlines()[0] for warning in result.warnings] == ["hook onFailure exited with 9"]
    [[names, document]] = calls(world)
    assert names[0] == "onFailure"
    entry = document["catalogs"][0]
    assert (entry["failed"]["version"], entry["failed"]["statement"]) == ("2", 2)
    assert [each["version"] for each in entry["applied"]] == ["1"]
    assert world.kinds[-1] == ("failed", "2")


@pytest.mark.parametrize("cause", ["history", "files"])
def test_on_failure_runs_also_where_the_run_ended_before_its_plan(cause: str, world: World) -> None:
    """History that cannot be read, or files that differ from it: `beforeMigrate` does not run, `onFailure` does."""
    migrate(world)
    (world.project.root / "calls.jsonl").unlink()
    if cause == "files":
        world.file("1_a.sql", "CREATE TABLE other (a INT)")
    else:
        world.store_before = lost_answer
    error = migrate(world).error
    assert error
    assert error.code == {"files": "CHECKSUM_MISMATCH", "history": "STORE_UNAVAILABLE"}[cause]
    assert ran(world) == ["onFailure"]


def test_a_hook_that_takes_too_long_is_ended(world: World) -> None:
    """Before the run it refuses; after the run it is a warning."""
    with_hooks(world, beforeMigrate="[sleep, '600']", timeout="1s")
    error = migrate(world).error
    assert error
    assert "hook beforeMigrate was ended after 1 s, its time limit" in error.message
    with_hooks(world, afterMigrate="[sleep, '600']", timeout="1s")
    assert migrate(world).warnings == ("hook afterMigrate was ended after 1 s, its time limit",)


def test_no_hook_is_started_after_a_signal(world: World) -> None:
    """A run that was stopped runs neither `onFailure` nor `afterMigrate`."""
    cancel = threading.Event()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    world.break_at("CREATE", lambda _: cancel.set())
    assert isinstance(migrate(world, cancel.is_set).error, Interrupted)
    assert ran(world) == ["beforeMigrate"]


@pytest.mark.parametrize("name", ["beforeMigrate", "afterMigrate"])
def test_a_signal_ends_the_hook_that_runs(name: str, world: World) -> None:
    """The run is stopped before it began; a hook after it leaves a warning."""
    started = world.project.root / "started"
    with_hooks(world, **{name: "[sh, -c, 'echo > started; sleep 600']"})
    result = migrate(world, started.exists)
    if name == "beforeMigrate":
        assert isinstance(result.error, Interrupted)
        assert world.tables.histories == {}
    else:
        assert result.error is None
        assert result.warnings == ("hook afterMigrate was ended because the run was stopped",)


def test_documents_and_output_of_hooks_are_masked_and_escaped(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A secret is in no document, message, warning or log, also where the hook prints it."""
    caplog.set_level(logging.DEBUG, "glacierbase")
    register("canary-of-hooks")
    world.file("1_a.sql", "CREATE TABLE t (a INT); SELECT 'canary-of-hooks'")
    (world.project.root / "hostile.txt").write_text(f"canary-of-hooks\n{PAYLOAD}", "utf-8", "surrogatepass")
    with_hooks(
        world, beforeMigrate=words(sys.executable, "record.py"), afterMigrate="[sh, -c, 'cat hostile.txt; exit 1']"
    )
    result = migrate(world)
    printed = text_document([result])
    assert "hook afterMigrate exited with 1" in printed
    check_safe(printed)
    with_hooks(world, beforeMigrate="[sh, -c, 'cat hostile.txt; exit 1']")
    world.file("2_b.sql", "SELECT 1")
    error = migrate(world).error
    assert error
    check_safe(text_error(error))
    assert "output of hook afterMigrate" in caplog.text
    for text in (json.dumps(calls(world)), printed, str(result.to_dict()), text_error(error), caplog.text):
        assert "canary-of-hooks" not in text
        assert "***" in text


def test_a_secret_at_the_cut_of_the_quoted_output_is_masked(world: World) -> None:
    """The output is masked before it is cut: a part of a secret would not be found after it."""
    register("canary-of-hooks")
    (world.project.root / "output.txt").write_text(f"{'x' * 5_000} canary-of-hooks {'y' * 1_990}")
    with_hooks(world, afterMigrate="[sh, -c, 'cat output.txt; exit 1']")
    [warning] = migrate(world).warnings
    assert "yyy" in warning
    assert "hooks " not in warning.partition("\n")[2]


def loaded(project: ProjectFolder, text: str, environment: str = "default") -> Hooks:
    project.catalog(LAKE.replace("WAREHOUSE", "/nowhere") + text)
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    return file.for_environment(environment, project.root).hooks


def test_hooks_belong_to_an_environment(project: ProjectFolder) -> None:
    """A list replaces the one of the file, null removes it, and references are resolved."""
    text = """\
hooks: {beforeMigrate: [check, "${environment}", 1, true], afterMigrate: [notify], onFailure: [notify]}
environments:
  dev: {hooks: {afterMigrate: null, onFailure: null}}
  prod: {hooks: {onFailure: [page, "${catalog}"], timeout: 2m}}
"""
    assert loaded(project, text, "dev") == Hooks(("check", "dev", "1", "true"))
    assert loaded(project, text, "prod") == Hooks(("check", "prod", "1", "true"), ("notify",), ("page", "shop"), 120.0)
    assert loaded(project, "") == Hooks()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("beforeMigrate: notify.sh --all", "hooks.beforeMigrate: wrong kind of value", "a list is expected here: [notify.sh, …]"),
        ("onFailure: notify.sh", "hooks.onFailure: wrong kind of value", "a list is expected here: [notify.sh]"),
        ("onFailure: [[a]]", "hooks.onFailure: wrong kind of value", "a list of single values is expected here"),
        ("onFailure: [notify, ~]", "hooks.onFailure: wrong kind of value", "a list of single values is expected here"),
        ("onFailure: [{a: b}]", "hooks.onFailure: wrong kind of value", "a list of single values is expected here"),
        ("timeout: 2h", "hooks.timeout: '2h' is not a duration from 1s to 1h", "correct the value"),
        ("afterMigrat: [a]", "unknown key afterMigrat under hooks", "did you mean afterMigrate?"),
        (
            "afterMigrate: [curl, '${secret:URL}']",
            "hooks.afterMigrate: ${secret:URL} would be on a command line, which every user of the machine can read",
            "write it as a separate property, or let the program read it from its environment or a file",
        ),
    ],
)  # fmt: skip
def test_a_wrong_hook_is_an_error_of_its_line(text: str, message: str, hint: str, project: ProjectFolder) -> None:
    """A command in one string is never split, and no secret is put on a command line."""
    with pytest.raises(GlacierbaseError) as caught:
        loaded(project, f"hooks:\n  {text}\n")
    assert message in caught.value.message
    assert caught.value.hint == hint
    assert caught.value.data["line"] == len(LAKE.splitlines()) + 2


def sqlite_project(project: ProjectFolder, hooks_text: str) -> Path:
    """Write a project whose history is read without Spark."""
    warehouse = project.root / "warehouse"
    warehouse.mkdir()
    project.catalog(LAKE.replace("WAREHOUSE", str(warehouse)) + hooks_text)
    project.file("1_a.sql", "CREATE TABLE lake.t (a INT)")
    return warehouse


def test_the_command_exits_with_2_when_a_hook_refuses(project: ProjectFolder) -> None:
    """No Spark was started, and no table exists. Other commands do not run the hook."""
    sqlite_project(project, hooks(beforeMigrate="[sh, -c, 'echo > ran; exit 1']"))
    for command in (["pending"], ["plan"], ["migrate", "--dry-run"], ["status"], ["validate"], ["render"]):
        assert run_here(project, *command).code == 0
    assert not (project.root / "ran").exists()
    done = ask_here(project, "migrate")
    assert (done.code, done.document["error"]["code"], done.document["error"]["hook"]) == (
        2,
        "HOOK_FAILED",
        "beforeMigrate",
    )
    assert (project.root / "ran").exists()
    assert not (project.root / ".glacierbase").exists()
    assert ask_here(project, "history").entry()["events"] == []


def test_a_second_signal_kills_a_hook_that_ignores_the_first(project: ProjectFolder) -> None:
    """The program exits at once, and no process of the hook is left behind."""
    sqlite_project(project, hooks(beforeMigrate="""[sh, -c, "trap '' TERM; echo $$ > pid; exec sleep 600"]"""))
    process = project.start("migrate")
    pid = project.root / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, stderr
    wait_until(lambda: state_of(int(pid.read_text())) in (None, "Z"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_program_ends_its_hook(number: int, project: ProjectFolder) -> None:
    """The program exits with the code of the signal, and the hook is gone."""
    sqlite_project(project, hooks(beforeMigrate="[sh, -c, 'echo $$ > pid; exec sleep 600']"))
    process = project.start("migrate")
    pid = project.root / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number, stderr
    assert "INTERRUPTED" in stderr
    wait_until(lambda: state_of(int(pid.read_text())) in (None, "Z"))
