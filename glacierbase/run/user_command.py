"""Run commands without a shell, in a process group that is ended at a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from glacierbase.run.waiting import Caller, start_thread

_KEPT_BYTES = 65_536
_POLL_SECONDS = 0.1
# How long a command may take to end after SIGTERM, and its output to end after the command.
_GRACE_SECONDS = 1.0

# The process groups of running commands. The lock is held while a command is started and not yet listed.
_groups: set[int] = set()
_starting = threading.Lock()


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """How a command ended.

    Attributes:
        failure: in words, after the name of the command; empty if it exited with 0.
        output: the last 64 KiB of its stdout and stderr.
    """

    failure: str
    output: str


def run_command(
    words: Sequence[str],
    content: bytes,
    folder: Path,
    variables: Mapping[str, str],
    seconds: float,
    cancelled: Callable[[], bool],
    inherited: Sequence[int] = (),
) -> ProgramOutcome:
    """Run a command to its end and return how it ended. Processes that it started and that outlive it keep running.

    Args:
        words: the program and its arguments. A program with a `/` in its name is relative to `folder`.
        content: its stdin, which it need not read.
        folder: its working directory.
        variables: added to the environment of this process.
        seconds: the time limit, at which the command and its process group are ended.
        cancelled: returns True once the run is cancelled, which also ends the command.
        inherited: the descriptors that the command gets, such as one that holds a lock.
    """
    try:
        process = _started(words, folder, variables, inherited)
    except (OSError, ValueError) as error:  # ValueError: a null byte.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return ProgramOutcome(f"could not be started: {reason}", "")
    try:
        start_thread(lambda: _write(process, content), "glacierbase-command-input")
        output = _Output(process)
        failure = _failure(process, seconds, cancelled)
    except BaseException:
        _end(process)
        raise
    finally:
        _groups.discard(process.pid)
    return ProgramOutcome(failure, output.text())


def kill_running() -> None:
    """Kill the running commands with their process groups, from a signal handler that is about to end the process."""
    is_held = _starting.acquire(timeout=_GRACE_SECONDS)
    try:
        for group in tuple(_groups):
            _signal(group, signal.SIGKILL)
    finally:
        if is_held:
            _starting.release()


def _started(
    words: Sequence[str], folder: Path, variables: Mapping[str, str], inherited: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start a command in a thread, so that a signal handler in this thread finds it in `_groups` even if it runs meanwhile."""
    caller = Caller()
    starting = caller.submit(lambda: _start(words, folder, variables, inherited))
    caller.end()
    try:
        return starting.result()
    except KeyboardInterrupt:
        with suppress(OSError, ValueError):
            process = starting.result()
            _end(process)
            _groups.discard(process.pid)
        raise


def _start(
    words: Sequence[str], folder: Path, variables: Mapping[str, str], inherited: Sequence[int]
) -> subprocess.Popen[bytes]:
    with _starting:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=inherited,
            start_new_session=True,  # A separate process group, which Ctrl-C on the terminal does not reach.
        )
        _groups.add(process.pid)
    return process


def _write(process: subprocess.Popen[bytes], content: bytes) -> None:
    """Write the input of a command, which may ignore it."""
    assert process.stdin
    with suppress(OSError), process.stdin:
        process.stdin.write(content)


def _failure(process: subprocess.Popen[bytes], seconds: float, cancelled: Callable[[], bool]) -> str:
    """Wait for the end of the process, or end it, and return what failed."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if cancelled():
            _end(process)
            return "was ended because the run was stopped"
        if time.monotonic() >= deadline:
            _end(process)
            return f"was ended after {seconds:g} s, its time limit"
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)
    code = process.returncode
    return "" if code == 0 else f"exited with {code}" if code > 0 else f"was ended by {_signal_name(-code)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # A real-time signal.
        return f"signal {number}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group by SIGTERM, then its remaining processes by SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)


def _signal(group: int, number: int) -> None:
    with suppress(
        ProcessLookupError, PermissionError
    ):  # The group has ended, for which macOS also raises PermissionError.
        os.killpg(group, number)


class _Output:
    """Read the output of a command, and keep its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        self._pipe = process.stdout
        # The kept output, and whether output before it was dropped: one value, because the thread may replace it while it is read.
        self._kept = (b"", False)
        self._thread = start_thread(self._read, "glacierbase-command-output")

    def _read(self) -> None:
        with self._pipe:
            while part := os.read(self._pipe.fileno(), _KEPT_BYTES):
                kept, is_cut = self._kept
                kept += part
                self._kept = kept[-_KEPT_BYTES:], is_cut or len(kept) > _KEPT_BYTES

    def text(self) -> str:
        """Return the output, once the command has ended."""
        # A process that outlives the command may keep the pipe open.
        self._thread.join(_GRACE_SECONDS)
        is_writing = self._thread.is_alive()
        kept, is_cut = self._kept
        # An incomplete line may contain a part of a secret, which would not be masked.
        if is_cut:
            kept = kept.partition(b"\n")[2]
        if is_writing:
            kept = b"".join(kept.rpartition(b"\n")[:2])
        return kept.decode(errors="replace")
