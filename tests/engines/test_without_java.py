"""No engine starts without a statement to run: read-only commands and a run without pending files need no Java."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.project_folder import REPOSITORY, ProjectFolder

pytestmark = pytest.mark.spark

QUESTIONS = [
    ("pending",), ("status",), ("history",), ("plan",), ("show", "1"), ("validate",), ("render", "1"), ("repair",),
    ("unlock", "--yes"), ("migrate",),
]  # fmt: skip
# Runs commands one after the other, and prints the exit code of each: PyIceberg is imported once.
IN_ONE_PROCESS = """
import shlex, sys
from tests.support.program import call_program

for question in sys.argv[2:]:
    done = call_program([*shlex.split(question), "--project", sys.argv[1]])
    print(done.code)
    print(question, done.stdout, done.stderr, file=sys.stderr)
"""


@pytest.fixture
def trap(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """An environment whose only Java creates a file and exits, and the path of that file."""
    home, mark = tmp_path / "java", tmp_path / "mark"
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text('JAVA_VERSION="17.0.1"\n')
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(home), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}, mark


def test_the_trap_works(sample: Callable[[], ProjectFolder], trap: tuple[dict[str, str], Path]) -> None:
    """A run with pending files starts Java, reports that Spark did not start, and creates no table before."""
    environ, mark = trap
    project = sample()
    done = project.run("migrate", environ=environ)
    assert (done.code, mark.exists()) == (5, True), done.stderr
    assert "SPARK_DID_NOT_START" in done.stderr
    assert list(project.root.rglob("catalog.db")) == []


def test_questions_start_no_java(sample: Callable[[], ProjectFolder], trap: tuple[dict[str, str], Path]) -> None:
    """Read-only commands start no Java before and after a run, and create no file before it."""
    environ, mark = trap
    project = sample()
    before = sorted(project.root.rglob("*"))
    told = project.ask("pending", environ=environ)
    assert (told.code, len(told.entry()["pending"])) == (0, 7), told.stderr
    assert project.ask("status", environ=environ).entry()["lock"] is None
    assert sorted(project.root.rglob("*")) == before
    assert project.run("migrate").code == 0
    command = [sys.executable, "-c", IN_ONE_PROCESS, str(project.root), *map(shlex.join, QUESTIONS)]
    done = subprocess.run(
        command, cwd=REPOSITORY, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["0"] * len(QUESTIONS), done.stderr
    assert "starting Spark" not in done.stderr
    assert not mark.exists()
