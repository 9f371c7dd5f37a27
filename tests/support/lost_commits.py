"""The COMMIT of a direct statement whose answer is lost: before it takes effect, or after.

As a program: run `migrate` of a project, and end the process in place of the answer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from glacierbase.executors.pyiceberg.sql import SqlCatalog
from tests.support.program import call_program
from tests.support.project_folder import REPOSITORY, ProjectFolder

_begin = SqlCatalog.begin


def losing(statement: int, when: str, lose: Callable[[Any], None]) -> Callable[[SqlCatalog, str | None], None]:
    """Return what replaces `SqlCatalog.begin`, to lose the first COMMIT of a statement.

    Args:
        statement: its index in its file.
        when: "before" or "after" the COMMIT takes effect; "announced", before the statement sends anything.
        lose: is called with the connection in place of the answer.
    """

    def begin(catalog: SqlCatalog, tag: str | None) -> None:
        _begin(catalog, tag)
        if when == "announced" and tag and tag.endswith(f";{statement}"):
            lose(None)
        dialect = catalog.engine.dialect
        do_commit = type(dialect).do_commit.__get__(dialect)

        def commit(connection: Any) -> None:
            dialect.do_commit = do_commit
            if when == "after":
                do_commit(connection)
            lose(connection)

        dialect.do_commit = commit if tag and tag.endswith(f";{statement}") else do_commit

    return begin


def killed(project: ProjectFolder, statement: int, when: str) -> None:
    """Run `migrate` in a process that is killed at the COMMIT of a statement."""
    command = [sys.executable, "-m", __name__, str(project.root), str(statement), when]
    environ = {**os.environ, "JAVA_HOME": "/nowhere"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def _kill(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    SqlCatalog.begin = losing(int(sys.argv[2]), sys.argv[3], _kill)
    call_program(["migrate", "--project", sys.argv[1]])
