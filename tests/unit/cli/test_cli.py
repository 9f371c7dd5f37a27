"""The command line itself: version, help, completion, and what it does about bugs of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import glacierbase
from glacierbase import GlacierbaseError, Project
from glacierbase.cli import commands as cli
from glacierbase.secrets import register
from tests.benchmarks.applied import numbered_project
from tests.conftest import ProjectFolder

COMMANDS = [
    "baseline", "doctor", "explain", "history", "init", "migrate", "new", "pending", "plan", "render", "repair", "show", "status",
    "unlock", "validate", "warm",
]  # fmt: skip


# Each option and argument that takes text, in a call that is whole without it.
TAKING_TEXT = [
    *(
        [command, "--" + name, ""]
        for command, names in {
            "migrate": ["project", "env", "catalog", "to", "only", "reason", "allow-out-of-order", "lock-timeout"],
            "plan": ["to", "only", "allow-out-of-order"],
            "pending": ["project", "env", "catalog"],
            "validate": ["base"],
            "repair": ["as", "environment-was", "reason"],
            "unlock": ["reason"],
            "new": ["author", "catalog"],
        }.items()
        for name in names
    ),
    ["baseline", "--to", "", "--reason", "a test"],
    ["baseline", "--to", "1", "--reason", ""],
    ["show", ""],
    ["render", "1", ""],
    ["repair", ""],
    ["new", ""],
    ["init", ""],
]

COUNTED = """\
import atexit, gc
from glacierbase.cli.commands import main
collections = []
gc.callbacks.append(lambda phase, _: collections.append(phase))
atexit.register(lambda: print(f"collections: {len(collections)}, few are left: {len(gc.get_objects()) < 100}"))
main(["pending"])
"""

OPENED = """\
import atexit, sys
from glacierbase.cli.commands import main
opened = []
sys.addaudithook(lambda event, values: opened.append(str(values[0])) if event == "open" else None)
atexit.register(lambda: print(sorted(path for path in opened if path.endswith(".sql"))))
main([sys.argv[1]])
"""


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "glacierbase", *arguments]
    return subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)


def test_it_says_its_version() -> None:
    """The one that stands in the package."""
    assert run("--version").stdout == f"glacierbase, version {glacierbase.__version__}\n"


def test_every_command_helps_and_takes_both_formats() -> None:
    """In a line each in the overview."""
    overview = run("--help").stdout
    listed = overview.partition("Commands:\n")[2].split("\n")
    assert [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "] == COMMANDS
    for command in COMMANDS:
        shown = run(command, "--help")
        assert shown.returncode == 0
        assert "--format [text|json]" in shown.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_it(shell: str, project: ProjectFolder) -> None:
    """Commands, options and the catalogs of the project."""
    assert "_GLACIERBASE_COMPLETE" in run(_GLACIERBASE_COMPLETE=f"{shell}_source").stdout
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\n", "analytics")
    words = {"COMP_WORDS": "glacierbase migrate --catalog ana", "COMP_CWORD": "ana" if shell == "fish" else "3"}
    if shell == "fish":
        words = {"COMP_WORDS": "glacierbase migrate --catalog ana", "COMP_CWORD": "ana"}
    found = run(_GLACIERBASE_COMPLETE=f"{shell}_complete", GLACIERBASE_PROJECT=str(project.root), **words)
    assert "analytics" in found.stdout


def test_a_question_does_not_look_for_garbage(sample: Callable[[], ProjectFolder]) -> None:
    """Neither while it is answered nor when the process ends."""
    asked = subprocess.run(
        [sys.executable, "-c", COUNTED], cwd=sample().root, capture_output=True, text=True, check=False
    )
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.splitlines()[-1] == "collections: 0, few are left: True"


@pytest.mark.parametrize("command", ["migrate", "pending", "status"])
def test_each_file_is_read_once(command: str, tmp_path: Path) -> None:
    """Of thousands of applied ones, that is most of what a command does."""
    project = numbered_project(tmp_path, 3)
    done = subprocess.run(
        [sys.executable, "-c", OPENED, command], cwd=project, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == str(sorted(map(str, project.rglob("*.sql"))))


def test_a_bug_is_two_lines_exit_70_and_a_file_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never a traceback on the terminal."""
    register("canary-in-a-bug")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("it broke at canary-in-a-bug")

    monkeypatch.setattr(Project, "load", broken)
    with pytest.raises(SystemExit) as caught:
        cli.main(["status"])
    told = capsys.readouterr().err
    assert caught.value.code == 70
    assert told.startswith("error: INTERNAL_ERROR: ")
    told, more = told.splitlines()
    assert more == "more: glacierbase explain INTERNAL_ERROR"
    report = Path(told.split()[-1])
    assert "RuntimeError: it broke at ***" in report.read_text()
    report.unlink()


def test_a_reader_that_closes_early_is_no_error(project: ProjectFolder) -> None:
    """As with `| head`."""
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\n")
    project.file("1_a.sql", "SELECT 1;\n" * 20_000)
    command = f"{sys.executable} -m glacierbase render | head -1"
    done = subprocess.run(command, shell=True, cwd=project.root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("shop (default)\n", "")


@pytest.mark.parametrize("arguments", TAKING_TEXT, ids=" ".join)
def test_an_empty_value_is_a_usage_error(arguments: list[str], lake_project: ProjectFolder) -> None:
    """It comes from a variable that a script forgot to set; ignored, it would mean everything."""
    lake_project.file("1_a.sql", "SELECT 1")
    more = ["a change"] if arguments[0] == "new" and len(arguments) > 2 else []
    told = lake_project.ask(*arguments, *more)
    assert (told.code, told.document["error"]["code"]) == (2, "USAGE")
    assert not (lake_project.root / "warehouse").exists()


@pytest.mark.parametrize("name", ["GLACIERBASE_ENV", "GLACIERBASE_PROJECT"])
def test_an_empty_environment_variable_is_an_error_too(name: str, lake_project: ProjectFolder) -> None:
    """The default environment is not what its author meant."""
    lake_project.file("1_a.sql", "SELECT 1")
    told = lake_project.ask("pending", environ={name: ""})
    assert (told.code, told.document["error"]["code"]) == (2, "EMPTY_VALUE")
    assert name in told.document["error"]["message"]


def test_the_api_takes_no_empty_name_either(lake_project: ProjectFolder) -> None:
    """Nothing is contacted."""
    lake_project.file("1_a.sql", "SELECT 1")
    project = Project.load(lake_project.root)
    calls: list[Callable[[], object]] = [
        lambda: Project.load(""),
        lambda: Project.load(lake_project.root, environment=""),
        lambda: project.migrate(to=""),
        lambda: project.migrate(only="", reason="a test"),
        lambda: project.migrate([""]),
        lambda: project.plan(allow_out_of_order=[""]),
        lambda: project.validate(base=""),
        lambda: project.repair(environment_was="", reason="a test"),
        lambda: project.show(""),
    ]
    for call in calls:
        with pytest.raises(GlacierbaseError) as caught:
            call()
        assert caught.value.exit_code == 2
    assert not (lake_project.root / "warehouse").exists()
