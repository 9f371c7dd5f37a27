"""A run that kills itself: `python -m tests.killed PROJECT STEP SIGNAL` migrates, and sends itself the signal at a step.

Steps are counted on the main thread, before and behind everything that leaves the process: each verb of the store that writes
and each statement. Step 0 never comes: the number of all steps is written at the end. `inside:N` means while the N-th statement
is with the engine. What SIGSTOP stopped goes on with SIGCONT, and exits with the code of its error.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from glacierbase import GlacierbaseError, Project
from glacierbase.executors.snowflake.session import SnowflakeSession
from glacierbase.stores.sql import SqlStore


def main(project: str, at: str, name: str) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.Signals[name])

    step = 0 if at.startswith("inside") else int(at)
    inside = int(at.partition(":")[2] or 0)
    steps, statements = itertools.count(1), itertools.count(1)
    last = [0]

    def pass_step() -> None:
        if threading.current_thread() is threading.main_thread():
            last[0] = next(steps)
            if last[0] == step:
                die()

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            pass_step()
            answer = method(*arguments, **options)
            pass_step()
            return answer

        return wrapped

    def execute(session: Any, sql: str, parameters: Any = (), *, tag: str | None = None) -> Any:
        if tag is None:
            return original(session, sql, parameters)
        if next(statements) == inside:
            threading.Timer(0.3, die).start()
        return counted(original)(session, sql, parameters, tag=tag)

    original = SnowflakeSession.execute
    SnowflakeSession.execute = execute  # type: ignore[method-assign]
    for verb in ("create", "append", "compare_and_set"):
        setattr(SqlStore, verb, counted(getattr(SqlStore, verb)))
    try:
        Project.load(project).migrate()
    except GlacierbaseError as error:
        sys.exit(error.exit_code)
    sys.stdout.write(str(last[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
