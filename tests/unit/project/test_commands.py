"""The table of commands, against the functions, the types and the methods that it names."""

from __future__ import annotations

from inspect import signature

import pytest

from glacierbase import Project
from glacierbase.model.result import Result
from glacierbase.project.commands import COMMANDS

# Their rows have no function: the command line prints what the program knows of itself, or an answer about no catalog.
ANSWERS = tuple(name for name, row in COMMANDS.items() if row.answer)
PRINTED = (
    "rules",
    "layout",
    "layout-ls",
    "rekey",
    "sharding",
    "sharding-advise",
    "schemas",
    "completion",
    "explain",
    "help",
    *ANSWERS,
)
# Commands that only write or rename files are no methods.
WRITERS = ("new", "rebase", "init")


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row.function])
def test_the_function_of_a_command_returns_its_type_of_result(name: str) -> None:
    """A command on each catalog returns one result, a command on all files or environments several."""
    kind = COMMANDS[name].result_type()
    assert issubclass(kind, Result)
    returned = signature(COMMANDS[name].load()).return_annotation
    assert returned in (kind.__name__, f"tuple[{kind.__name__}, ...]", f"Results[{kind.__name__}]")


# A word of Python that is the name of a command.
METHODS = {"import": "import_project"}


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row.function and name not in WRITERS])
def test_a_command_on_catalogs_is_a_method_of_a_project(name: str) -> None:
    """The method returns a tuple of the results that the table names."""
    method = getattr(Project, METHODS.get(name, name.replace("-", "_")))
    assert signature(method).return_annotation == f"tuple[{COMMANDS[name].result_type().__name__}, ...]"
    assert method.__doc__


def test_a_command_without_a_function_has_no_results() -> None:
    """The commands without a function need no project, and their documents are about no catalog."""
    assert {name for name, row in COMMANDS.items() if row.function is None} == {*PRINTED}
    assert all(COMMANDS[name].result is None for name in PRINTED)
