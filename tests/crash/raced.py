"""A racer: `python -m tests.crash.raced` answers each line of stdin, `PROJECT SECONDS STORE`, by migrating there.

The seconds are its lock time-out; with `ready?` in their place it only starts its engine, with
`rebuild` it rebuilds the lock table. `STORE` is set in its environment, for
the project's catalog file. The answer is a JSON document on one line. One Spark starts with the first project and serves all later
ones, so that the race is between the paths of runs, not between the starts of engines.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from glacierbase import GlacierbaseError, Project
from glacierbase.executors import open_executor
from glacierbase.run.run import Run
from tests.support.project_folder import only_catalog


def main() -> None:
    executor: Any = None
    for line in sys.stdin:
        root, seconds, os.environ["STORE"] = line.split()
        spark = None
        catalog = only_catalog(Path(root))
        if catalog.executor_type == "spark":
            executor = executor or open_executor(catalog, Run.here(Path(root)))
            spark = executor._spark
        if seconds == "ready?":
            answer: dict[str, Any] = {"ready": True}
        else:
            try:
                project = Project.load(root)
                if seconds == "rebuild":
                    [freed] = project.unlock(rebuild=True, reason="a race", spark=spark)
                    answer = {"applied": [], "rebuilt": freed.released, "error": None}
                else:
                    [result] = project.migrate(lock_timeout=float(seconds), spark=spark)
                    answer = {"applied": [each.label for each in result.applied], "error": None}
            except GlacierbaseError as error:
                answer = {"applied": [], "error": error.code, "says": error.message, "pid": error.data.get("pid")}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    if executor:
        executor.close()


if __name__ == "__main__":
    main()
