"""The tutorial and the first page, run literally: every shell block in order, in one folder, without a Java."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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


def run_page(page: Path, tmp_path: Path) -> int:
    """Run the blocks of a page in order; return how many of its outputs were compared.

    Each block exits as the page says, and prints the lines that the page shows after it.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("glacierbase", " -m glacierbase"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        program.chmod(0o755)
    here = tmp_path / "here"
    here.write_text(str(tmp_path))
    environ = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HERE": str(here)}
    printed, outputs = "", 0
    for block in blocks(page):
        if block.language == "sh" and block.marker != "install":
            done = run(tmp_path, block, environ)
            expected = int(block.marker.removeprefix("exits ")) if block.marker.startswith("exits") else 0
            assert done.returncode == expected, f"{block}: {done.stderr}"
            printed = without_times(done.stdout)
        elif block.marker == "output":
            assert [line for line in without_times(block.text).splitlines() if line not in printed] == [], str(block)
            outputs += 1
    return outputs


def test_the_first_page_works_as_written(tmp_path: Path) -> None:
    """The example of the start page runs from an empty folder."""
    assert run_page(DOCS / "index.md", tmp_path) == 1


def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    """The page runs from an empty folder, and shows the first migration as `init` writes it."""
    assert run_page(_TUTORIAL, tmp_path) == 3
    written = (tmp_path / "lakehouse/migrations/web/0001_create_events.sql").read_text()
    assert written == next(blocks(_TUTORIAL, "sql")).text


def test_the_tutorial_for_a_team_works_as_written(tmp_path: Path) -> None:
    """Forty tables in three environments: imported, recorded, changed, compared."""
    assert run_page(DOCS / "team-tutorial.md", tmp_path) == 2
