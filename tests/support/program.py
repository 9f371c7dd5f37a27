"""The program run in the process of the tests, as a person at a terminal runs it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO
from unittest.mock import patch

from glacierbase.cli import main
from tests.support.project_folder import Output, ProjectFolder


class Keyboard(io.StringIO):
    """What a person types at a terminal."""

    def isatty(self) -> bool:
        return True


def call_program(
    arguments: Sequence[str], typed: str | Keyboard | None = None, stderr: io.StringIO | None = None
) -> Output:
    """Run the program to its end.

    Args:
        typed: the input of a terminal; without it, stdin is none.
        stderr: where the program writes; default a new stream.
    """
    stdout, stderr, code = io.StringIO(), stderr or io.StringIO(), 0
    keyboard: TextIO = io.StringIO() if typed is None else Keyboard(typed) if isinstance(typed, str) else typed
    with patch.object(sys, "stdin", keyboard), redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            main(arguments)
        except SystemExit as done:
            code = int(done.code or 0)
    return Output(code, stdout.getvalue(), stderr.getvalue())


def run_here(project: ProjectFolder, *arguments: str, environ: Mapping[str, str] | None = None) -> Output:
    """Run the program in the folder of a project, in this process, which has imported the vendors' packages already."""
    before = Path.cwd()
    os.chdir(project.root)
    try:
        with patch.dict(os.environ, environ or {}):
            return call_program(arguments)
    finally:
        os.chdir(before)


def ask_here(project: ProjectFolder, *arguments: str, environ: Mapping[str, str] | None = None) -> Output:
    """Run the program in this process, with its result as JSON."""
    return run_here(project, *arguments, "--format", "json", environ=environ)
