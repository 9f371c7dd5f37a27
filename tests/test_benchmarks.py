"""The benchmarks run, with small sizes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.project_folder import REPOSITORY


@pytest.mark.spark
def test_one_command_prints_a_table_of_ratios() -> None:
    """Each row has its figures; no bound on their values is asserted."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.benchmarks",
        "questions",
        "history",
        "plain_review",
        "--runs",
        "1",
        "--largest",
        "100",
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("| ")
    ]
    head, _, *rows = lines
    assert head[0] == "measured"
    assert [row[0] for row in rows if row[1].startswith("failed") or not row[4]] == []
    assert len(rows) == 12
