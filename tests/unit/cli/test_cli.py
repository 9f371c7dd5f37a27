"""The command line: version, help, completion, empty values, and the report of a bug."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import glacierbase
from glacierbase import GlacierbaseError, Project
from glacierbase.cli import main
from glacierbase.cli.group import cli
from glacierbase.secrets import register
from tests.benchmarks.applied import numbered_project
from tests.support.documents import checked
from tests.support.forked import run_forked
from tests.support.project_folder import Output, ProjectFolder

# By the section of the list of commands, in its order.
COMMANDS = {
    "Write migrations": ["new", "rebase", "squash", "import", "rekey", "init"],
    "Check files and connections": [
        "check",
        "validate",
        "render",
        "doctor",
        "lint",
        "rules",
        "review",
        "layout",
        "sharding",
        "access",
        "schemas",
        "completion",
    ],
    "Apply migrations": ["migrate", "baseline", "env", "warm"],
    "Read (nothing is changed)": [
        "pending",
        "plan",
        "status",
        "history",
        "show",
        "schema",
        "blame",
        "compare",
        "export-state",
        "drift",
        "report",
    ],
    "Recover and look up": ["repair", "unlock", "explain", "help"],
}


# Each option and argument that takes text, in a call that is valid apart from the empty value.
TAKING_TEXT = [
    *(
        [command, "--" + name, ""]
        for command, names in {
            "migrate": ["project", "env", "catalog", "to", "only", "reason", "allow-out-of-order", "lock-timeout"],
            "plan": ["to", "only", "allow-out-of-order"],
            "pending": ["project", "env", "catalog"],
            "validate": ["base"],
            "review": ["base"],
            "lint": ["base"],
            "check": ["base"],
            "history": ["table", "column", "author", "since", "version"],
            "repair": ["as", "environment-was", "reason"],
            "unlock": ["reason"],
            "new": ["author", "catalog"],
        }.items()
        for name in names
    ),
    ["baseline", "--to", "", "--reason", "a test"],
    ["baseline", "--to", "1", "--reason", ""],
    ["show", ""],
    ["schema", ""],
    ["schema", "t", "--at", ""],
    ["schema", "t", "--diff", ""],
    ["blame", ""],
    ["report", "-o", ""],
    ["render", "1", ""],
    ["repair", ""],
    ["new", ""],
    ["init", ""],
    ["schemas", ""],
    ["layout", "ls", ""],
    *(["layout", "ls", "s3://shop", f"--{name}", ""] for name in ("prefixes", "after", "endpoint", "region")),
]

COUNTED = """\
import atexit, gc
from glacierbase.cli import main
collections = []
gc.callbacks.append(lambda phase, _: collections.append(phase))
atexit.register(lambda: print(f"collections: {len(collections)}, few are left: {len(gc.get_objects()) < 100}"))
main(["pending"])
"""

OPENED = """\
import atexit, sys
from glacierbase.cli import main
opened = []
sys.addaudithook(lambda event, values: opened.append(str(values[0])) if event == "open" else None)
atexit.register(lambda: print(sorted(path for path in opened if path.endswith(".sql"))))
main([sys.argv[1]])
"""


def run(*arguments: str, **environ: str) -> Output:
    return Output(*run_forked(arguments, Path.cwd(), {**os.environ, **environ}, timeout=60))


def test_the_version_option_names_version_commit_and_extras() -> None:
    """A checkout has no commit of a build. The tests run with the extra `iceberg`."""
    printed = run("--version").stdout
    assert printed.startswith(f"glacierbase {glacierbase.__version__} (commit ")
    assert "; extras " in printed
    assert " iceberg" in printed


def listed(text: str) -> dict[str, list[str]]:
    """Return the commands in the lists of a help text, by their titles."""
    lists: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            lists[line[:-1]] = []
        elif line.startswith("  ") and lists:
            lists[list(lists)[-1]].append(line.split()[0])
    lists.pop("Options", None)
    return lists


def test_the_help_lists_every_command_by_section() -> None:
    """Each command is in one section, in the order of use; in JSON too."""
    assert listed(run("help", "--all").stdout) == COMMANDS
    names = [name for names in COMMANDS.values() for name in names]
    assert sorted(names) == sorted(cli.commands)
    document = checked(json.loads(run("help", "--all", "--format", "json").stdout))
    assert [row["command"] for row in document["commands"]] == names


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_the_first_help_is_short_and_names_the_command_that_lists_all(arguments: tuple[str, ...]) -> None:
    """The commands of every day in at most 45 lines of 80 columns."""
    done = run(*arguments, COLUMNS="80")
    text = done.stdout + done.stderr
    daily = ["init", "new", "check", "pending", "plan", "migrate", "status", "blame", "compare", "repair"]
    assert listed(text) == {"Every day": daily} == listed(run("help").stdout)
    assert f"`help --all` lists all {len(cli.commands)} commands" in text
    lines = text.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80


def test_a_command_that_the_table_lacks_cannot_be_defined() -> None:
    """Such a command would be missing from the list of commands."""
    with pytest.raises(KeyError, match="count"):
        cli.command("count")(lambda: None)


@pytest.mark.parametrize("command", cli.by_words())
def test_every_command_has_help_both_formats_and_colours(command: str) -> None:
    """The options of the output are the same everywhere."""
    shown = run(*command.split(), "--help")
    assert shown.code == 0
    assert "--format [text|json" in shown.stdout
    assert "--color [auto|always|never]" in shown.stdout


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_list_of_commands_shows_each_first_sentence_whole(columns: str) -> None:
    """The first sentence of a help text has at most 60 characters, and is neither cut off nor broken."""
    overview = run("help", "--all", COLUMNS=columns).stdout
    assert "..." not in overview
    width = max(map(len, cli.commands))
    for name, command in cli.commands.items():
        first = (command.help or "").split("\n")[0].partition(". ")[0].rstrip(".")
        assert len(first) <= 60, first
        assert f"  {name:<{width}}  {first}." in overview


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_it(shell: str, project: ProjectFolder) -> None:
    """The shell scripts complete commands, options and the names of the project's catalogs."""
    lines = run("completion", shell).stdout.splitlines()
    assert any("_GLACIERBASE_COMPLETE" in line for line in lines)
    assert lines[-1].startswith("# To install it: ")
    assert f"glacierbase completion {shell}" in lines[-1]
    document = json.loads(run("completion", shell, "--format", "json").stdout)
    assert lines[:-2] == document["script"].splitlines()
    assert lines[-1].endswith(document["install"])
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\n", "analytics")
    words = {"COMP_WORDS": "glacierbase migrate --catalog ana", "COMP_CWORD": "ana" if shell == "fish" else "3"}
    if shell == "fish":
        words = {"COMP_WORDS": "glacierbase migrate --catalog ana", "COMP_CWORD": "ana"}
    found = run(_GLACIERBASE_COMPLETE=f"{shell}_complete", GLACIERBASE_PROJECT=str(project.root), **words)
    assert "analytics" in found.stdout


def test_a_read_only_command_collects_no_garbage(sample: Callable[[], ProjectFolder]) -> None:
    """There is no garbage collection while it runs or when the process ends."""
    asked = subprocess.run(
        [sys.executable, "-c", COUNTED], cwd=sample().root, capture_output=True, text=True, check=False
    )
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.splitlines()[-1] == "collections: 0, few are left: True"


@pytest.mark.parametrize("command", ["migrate", "pending", "status"])
def test_each_file_is_read_once(command: str, tmp_path: Path) -> None:
    """With thousands of applied files, reading them takes most of a command's time."""
    project = numbered_project(tmp_path, 3)
    done = subprocess.run(
        [sys.executable, "-c", OPENED, command], cwd=project, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == str(sorted(map(str, project.rglob("*.sql"))))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("render", 141),
        ("explain", 141),
        ("migrate --help", 141),
        ("nothing --format json", 141),
        ("render 9 --format json", 2),
    ],
)
def test_a_closed_pipe_is_not_a_failed_migration(line: str, code: int, sample: Callable[[], ProjectFolder]) -> None:
    """The exit code is that of SIGPIPE, or of the error where the command failed; nothing else is reported."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "glacierbase", *line.split()],
            cwd=sample().root, stdout=closed, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, "")


def test_a_bug_is_two_lines_exit_70_and_a_file_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The terminal shows one line; the traceback is in the file, masked."""
    register("canary-in-a-bug")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("it broke at canary-in-a-bug")

    monkeypatch.setattr(Project, "load", broken)
    with pytest.raises(SystemExit) as caught:
        main(["status"])
    output = capsys.readouterr().err
    assert caught.value.code == 70
    assert output.startswith("error: INTERNAL_ERROR: ")
    output, more = output.splitlines()
    assert more == "more: glacierbase explain INTERNAL_ERROR"
    report = Path(output.split()[-1])
    assert "RuntimeError: it broke at ***" in report.read_text()
    report.unlink()


@pytest.mark.parametrize(("command", "schema"), [("status", "status"), ("init", "init"), ("schemas", "usage")])
def test_a_bug_has_a_document_as_well(
    command: str, schema: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The document of a bug is that of the command, without catalogs; stderr is as for text."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("it broke")

    for name in (
        "project.project.Project.load",
        "capabilities.authoring.init.init",
        "output.schemas.described_schemas",
    ):
        monkeypatch.setattr(f"glacierbase.{name}", broken)
    with pytest.raises(SystemExit) as caught:
        main([command, "--format=json"])
    output = capsys.readouterr()
    document = checked(json.loads(output.out))
    assert (caught.value.code, document["schema"], document["catalogs"]) == (70, f"glacierbase/{schema}/1", [])
    assert (document["error"]["code"], document["error"]["exit_code"]) == ("INTERNAL_ERROR", 70)
    assert output.err.startswith("error: INTERNAL_ERROR: ")
    Path(document["error"]["message"].split()[-1]).unlink()


def test_a_reader_that_closes_early_causes_no_error(project: ProjectFolder) -> None:
    """`glacierbase render | head` ends without a message."""
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\n")
    project.file("1_a.sql", "SELECT 1;\n" * 20_000)
    command = f"{sys.executable} -m glacierbase render | head -1"
    done = subprocess.run(command, shell=True, cwd=project.root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("shop (default)\n", "")


@pytest.mark.parametrize("arguments", TAKING_TEXT, ids=" ".join)
def test_an_empty_value_is_a_usage_error(arguments: list[str], lake_project: ProjectFolder) -> None:
    """An empty value comes from an unset variable of a script; if it were ignored, it would mean all."""
    lake_project.file("1_a.sql", "SELECT 1")
    more = ["a change"] if arguments[0] == "new" and len(arguments) > 2 else []
    output = lake_project.ask(*arguments, *more)
    assert (output.code, output.document["error"]["code"]) == (2, "USAGE")
    assert not (lake_project.root / "warehouse").exists()


@pytest.mark.parametrize("name", ["GLACIERBASE_CATALOG", "GLACIERBASE_ENV", "GLACIERBASE_PROJECT"])
def test_an_empty_environment_variable_is_an_error_too(name: str, lake_project: ProjectFolder) -> None:
    """An empty variable is not taken for the default environment or project."""
    lake_project.file("1_a.sql", "SELECT 1")
    output = lake_project.ask("pending", environ={name: ""})
    assert (output.code, output.document["error"]["code"]) == (2, "EMPTY_VALUE")
    assert name in output.document["error"]["message"]


def test_the_api_refuses_empty_values(lake_project: ProjectFolder) -> None:
    """An empty argument of the API is refused before anything is contacted."""
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
        lambda: project.schema(""),
        lambda: project.schema("t", at=""),
        lambda: project.blame(" "),
        lambda: project.history(table=""),
        lambda: project.history(author=""),
    ]
    for call in calls:
        with pytest.raises(GlacierbaseError) as caught:
            call()
        assert caught.value.exit_code == 2
    assert not (lake_project.root / "warehouse").exists()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["migrate", "prod"], "Got unexpected extra argument (prod); --env names the environment."),
        (["help", "migrate"], "Got unexpected extra argument (migrate); a command is explained by `COMMAND --help`."),
        (["init", "web", "shop"], "Got unexpected extra argument (shop)"),
        (["new", "add", "device"], "Got unexpected extra argument (device); write the description in quotes."),
        (["check", "migrations/web"], "Got unexpected extra argument (migrations/web); --catalog names a catalog."),
        (["--env", "prod", "status"], "write it after the command: `COMMAND --env …`."),
        (["--nope"], "No such option '--nope'."),
    ],
)
def test_an_argument_too_many_is_answered_with_what_is_meant(arguments: list[str], hint: str) -> None:
    """Newcomers name the environment as they name a command's object, or before the command as in git."""
    done = run(*arguments)
    assert done.code == 2
    assert hint in done.stderr
