"""Commands and statements on one engine, whose tables end with it: `python -m tests.support.one_engine PROJECT < STEPS`.

The steps are a JSON list of lists: the arguments of a command, or `sql` and a statement that runs past the tool.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.executors import Executor, open_executor
from glacierbase.history.target import CatalogRun
from glacierbase.project import each as running
from glacierbase.run.run import Run
from tests.support.program import call_program
from tests.support.project_folder import REPOSITORY, Output, ProjectFolder


class _Kept:
    """An engine that a command does not close."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def close(self) -> None:
        """Leave the engine open."""


def steps_of(
    project: ProjectFolder, steps: Sequence[Sequence[str]], python: str | Path = sys.executable
) -> list[Output]:
    """Run steps on an engine of their own; return the outputs of the commands."""
    done = subprocess.run(
        [python, "-m", "tests.support.one_engine", str(project.root)],
        input=json.dumps(steps), capture_output=True, text=True, check=False, cwd=REPOSITORY,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-9000:]
    return [Output(*each) for each in json.loads(done.stdout.splitlines()[-1])]


def main(root: Path, steps: Sequence[Sequence[str]]) -> list[tuple[int, str, str]]:
    """Run the steps; return code, stdout and stderr of each command."""
    outputs = []
    [file] = load_catalog_files(root / "catalogs", root)
    catalog = file.for_environment(file.environments[0], root)
    with closing(open_executor(catalog, Run.here(root))) as executor:
        _share(executor)
        os.chdir(root)
        for first, *more in steps:
            if first == "sql":
                with closing(executor.open_session()) as session:
                    session.execute(*more)
            else:
                done = call_program([first, *more])
                sys.stderr.write(done.stdout + done.stderr)  # For the message of a step that fails.
                outputs.append((done.code, done.stdout, done.stderr))
    return outputs


def _share(executor: Executor) -> None:
    """Let all commands of this process use the engine."""
    load = running.load_targets

    def load_targets(*arguments: Any) -> list[CatalogRun]:
        return [replace(target, open_executor=lambda *_: _Kept(executor)) for target in load(*arguments)]

    running.load_targets = load_targets


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), json.load(sys.stdin))))  # noqa: T201
