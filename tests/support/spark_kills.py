"""Spark killed at a statement of a run. As a program: run `migrate` of a project, and kill Spark and the process there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from glacierbase.executors.spark.gateway import Gateway
from glacierbase.executors.spark.session import SparkSessionPort
from tests.support.program import call_program
from tests.support.project_folder import REPOSITORY, ProjectFolder


def migrate_killed(project: ProjectFolder, statement: int | str, when: str = "after") -> None:
    """Run `migrate`, of which Spark and the process are killed at a statement.

    Args:
        statement: its number among those of the files, from 1 on, or a part of its text.
        when: "before" or "after" it takes effect.
    """
    command = [sys.executable, "-m", __name__, str(project.root), str(statement), when]
    killed = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, (statement, when, killed.stderr)


def _main(root: str, statement: str, when: str) -> None:
    processes, start, execute, ran = [os.getpid()], Gateway.__init__, SparkSessionPort.execute, 0

    def started(gateway: Gateway, *arguments: Any) -> None:
        start(gateway, *arguments)
        processes.insert(0, gateway.pid)

    def killing(port: SparkSessionPort, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> None:
        nonlocal ran
        ran += tag is not None
        is_last = tag is not None and (ran == int(statement) if statement.isdecimal() else statement in sql)
        if not is_last or when == "after":
            execute(port, sql, parameters, tag=tag)
        for process in processes if is_last else ():
            os.kill(process, signal.SIGKILL)

    Gateway.__init__ = started  # type: ignore[method-assign]
    SparkSessionPort.execute = killing  # type: ignore[method-assign]
    sys.exit(call_program(["migrate", "--project", root]).stderr)


if __name__ == "__main__":
    _main(*sys.argv[1:])
