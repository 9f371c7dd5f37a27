"""A run that sends itself a signal at a step: `python -m tests.crash.killed PROJECT AT SIGNAL WHOM`.

`AT` is a number of a step; `inside:N`, while the engine runs the N-th statement; or `after:S`, S seconds after the first step. At
`0` no signal is sent. `WHOM` is `python` (this process), `jvm`, or `both`. The last line of stdout is the number of all steps.
A run that survives its signal exits as the program does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

from glacierbase import cli
from glacierbase.executors.spark.gateway import Gateway
from tests.crash.steps import Steps


def main(project: str, at: str, name: str, whom: str) -> None:
    kind, _, number = at.rpartition(":")
    step, inside, after = (float(number) if kind == each else 0 for each in ("", "inside", "after"))
    jvm: list[int] = []
    start = Gateway.__init__

    def started(gateway: Gateway, *arguments: Any) -> None:
        start(gateway, *arguments)
        jvm.append(gateway.pid)

    def die() -> None:
        if whom in ("jvm", "both"):
            for pid in jvm:  # Empty before a JVM is started; the JVM may have ended already.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.Signals[name])
        if whom in ("python", "both"):
            os.kill(os.getpid(), signal.Signals[name])

    def on_step(number: int) -> None:
        if number == step:
            die()
        if number == 1 and after:
            threading.Timer(after, die).start()

    def on_statement(number: int) -> None:
        if number == inside:
            threading.Timer(0.3, die).start()

    Gateway.__init__ = started  # type: ignore[method-assign]
    steps = Steps()
    steps.on_step, steps.on_statement = on_step, on_statement
    try:
        cli.main(["migrate", "--project", project])
    finally:
        sys.stdout.write(f"{steps.count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
