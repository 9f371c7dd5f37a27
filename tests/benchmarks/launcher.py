"""Runs one command and reports what it cost; a script of its own, started in an interpreter that has loaded next to nothing.

A process counts the memory of whoever started it into its own peak: started from here, that is some ten MiB.
"""

import json
import os
import sys
import time


def main(report: str, *command: str) -> None:
    """Write what the command cost to the file `report`, as a JSON list: seconds, bytes, processor seconds, exit code."""
    started = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    with open(report, "w") as file:  # noqa: PTH123 (pathlib is more than all the rest)
        json.dump([seconds, peak, usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status)], file)


if __name__ == "__main__":
    main(*sys.argv[1:])
