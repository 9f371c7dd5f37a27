"""The tutorial, run literally: every shell block in order, in one folder, with real Spark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, Block, blocks

_TUTORIAL = DOCS / "tutorial.md"


def without_times(line: str) -> str:
    return re.sub(r"\d+\.\d s", "N s", line)


def run(folder: Path, block: Block, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a block in the folder where the one before it ended."""
    script = f'cd "$(cat "$HERE")"\n{block.text}\npwd > "$HERE"'
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.spark
def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    """Each block exits as the page says, and prints the lines that the page shows after it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "glacierbase"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m glacierbase "$@"\n')
    program.chmod(0o755)
    here = tmp_path / "here"
    here.write_text(str(tmp_path))
    environ = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HERE": str(here)}
    printed, outputs = "", 0
    for block in blocks(_TUTORIAL):
        if block.language == "sh" and block.marker != "install":
            done = run(tmp_path, block, environ)
            expected = int(block.marker.removeprefix("exits ")) if block.marker.startswith("exits") else 0
            assert done.returncode == expected, f"{block}: {done.stderr}"
            printed = without_times(done.stdout)
        elif block.marker == "output":
            assert [line for line in without_times(block.text).splitlines() if line not in printed] == [], str(block)
            outputs += 1
    assert outputs == 3
    written = (tmp_path / "lakehouse/migrations/web/0001_create_events.sql").read_text()
    assert written == next(blocks(_TUTORIAL, "sql")).text
