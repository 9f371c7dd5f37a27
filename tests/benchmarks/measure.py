"""Commands run as whole processes, by turns, so that whatever else the machine does meets all of them alike."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Seconds. Whoever has used up so much gets no further turn; who takes longer for one is stopped.
PATIENCE = 120
LIMIT = 1800

_LAUNCHER = Path(__file__).with_name("launcher.py")
# What would make a command other than its user's: bytecode compiled anew at every start, another project.
_OTHERWISE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "GLACIERBASE_PROJECT", "GLACIERBASE_ENV")


class Failed(Exception):
    """A command ended with an error, or not in time; the message says which."""


@dataclass(frozen=True)
class Command:
    """A command line.

    Attributes:
        name: what the table calls it.
        folder: where it is run.
        environ: variables beside those of this process.
        before: done before each run, and not measured.
    """

    name: str
    arguments: Sequence[str | Path]
    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    before: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Sample:
    """One run: seconds, the peak memory of its largest process in bytes, and the seconds of processor time."""

    seconds: float
    peak: int
    worked: float = 0


def glacierbase(folder: Path, *arguments: str, **options: Any) -> Command:
    """The program as it was installed, run in the project `folder`."""
    program = Path(sysconfig.get_path("scripts"), "glacierbase")
    return Command(f"glacierbase {' '.join(arguments)}", (program, *arguments), folder, **options)


def python(name: str, script: str, folder: Path, **options: Any) -> Command:
    """A script for the same Python."""
    return Command(name, (sys.executable, "-c", script), folder, **options)


def run(command: Command) -> Sample:
    """Run it once.

    Raises:
        Failed: it ended with an error, or not within the limit.
    """
    command.before()
    with tempfile.TemporaryDirectory() as folder:
        report, log = Path(folder, "report"), Path(folder, "log")
        _wait([sys.executable, "-I", "-S", _LAUNCHER, report, *command.arguments], command, log)
        seconds, peak, worked, code = json.loads(report.read_text()) if report.exists() else (0, 0, 0, "unknown")
        if code:
            raise Failed(f"{command.name}: exit {code}: {last_line(log.read_text(errors='replace'))}")
    return Sample(seconds, peak, worked)


def last_line(output: str) -> str:
    """Where programs say why they failed, mostly: the last line that is no part of a stack trace."""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    return lines[-1] if lines else "it said nothing"


def _wait(arguments: Sequence[str | Path], command: Command, log: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key not in _OTHERWISE} | command.environ
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments, cwd=command.folder, env=environ, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            process.wait(LIMIT)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"{command.name}: not done in {LIMIT} s") from error
            raise


def by_turns(commands: Sequence[Command], runs: int) -> list[list[Sample] | Failed]:
    """Run the commands in turn, A B A B …; return for each its samples, or why it failed.

    A first round, which fills the caches of the machine, does not count, unless it took all of `PATIENCE`.
    """
    found: list[list[Sample] | Failed] = [[] for _ in commands]
    for _ in range(1 + runs):
        for number, command in enumerate(commands):
            samples = found[number]
            if isinstance(samples, list) and sum(sample.seconds for sample in samples) < PATIENCE:
                try:
                    samples.append(run(command))
                except Failed as error:
                    found[number] = error
    return [samples[1:] or samples if isinstance(samples, list) else samples for samples in found]
