"""The commands that messages print."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import glacierbase
from glacierbase.cli.group import cli
from glacierbase.model.command import Scope, command, on_catalog
from glacierbase.run.waiting import start_thread

PACKAGE = Path(glacierbase.__file__).parent
EVERYTHING = Scope("../my lake", "prod", "analytics")


def options_of(name: str) -> set[str]:
    """The options of a command that choose project, environment and catalog."""
    return {option for param in cli.by_words()[name].params for option in param.opts} & {
        "--project",
        "--env",
        "--catalog",
    }


def test_a_command_is_complete_and_quoted() -> None:
    """A shell that runs the line as printed gets these arguments."""
    with EVERYTHING.in_use():
        line = command("repair", "0001", "--as", "edited", reason=True)
    assert (
        line == "glacierbase repair 0001 --as edited --reason '…' --catalog analytics --env prod --project '../my lake'"
    )


@pytest.mark.parametrize("value", ["a'; rm -rf ~; '", "$(id)", "a\nb", '"', "-x", "`id`", "prod #"])
def test_a_hostile_value_stays_one_argument(value: str) -> None:
    """A project or environment can have any name on the command line."""
    with Scope(value, value, value).in_use():
        assert shlex.split(command("status"))[2:] == ["--catalog", value, "--env", value, "--project", value]


def test_nothing_is_added_that_was_not_given() -> None:
    """In the default environment of a project with one catalog the command is short."""
    assert command("migrate") == "glacierbase migrate"


@pytest.mark.parametrize("name", cli.by_words())
def test_a_command_has_the_options_that_the_program_accepts(name: str) -> None:
    """A command gets each of the three options that it has, and no other."""
    with EVERYTHING.in_use():
        given = {word for word in shlex.split(command(*name.split())) if word.startswith("--")}
    assert given == options_of(name)


def test_a_thread_prints_the_commands_of_the_thread_that_started_it() -> None:
    """The scope of another thread is not changed."""
    lines: list[str] = []
    with EVERYTHING.in_use(), on_catalog("other"):
        start_thread(lambda: lines.append(command("status")), "a test").join()
    assert lines == ["glacierbase status --catalog other --env prod --project '../my lake'"]
    assert command("status") == "glacierbase status"


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module, docstrings excepted; a placeholder of an f-string is an empty text."""
    tree = ast.parse(path.read_text())
    documented = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documented:
            yield node.lineno, node.value


def test_no_other_module_writes_a_command() -> None:
    """Entries of the reference are about any project, and have no scope."""
    written = re.compile(rf"glacierbase ({'|'.join(cli.commands)})\b")
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {text}"
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "errors"
        for line, text in literals(path)
        if written.search(text)
    ]
    assert found == []
