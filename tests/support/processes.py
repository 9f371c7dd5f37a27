"""What the processes of one test run share: locks between workers, and ports."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glacierbase.run.processes import engine_process

if TYPE_CHECKING:  # The documentation, which reads the matrix, is built without pytest.
    import pytest


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on an existing folder; other processes wait for it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of this run that its workers share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def free_port() -> int:
    """Return a free port below those that the kernel gives to outgoing connections, which could take it before the server."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("none of 100 ports is free")


def ended_process() -> dict[str, Any]:
    """Return the values that identify the process of an engine that has ended."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as ended:  # It ends with its input.
        return engine_process(ended.pid)


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started, from all of its threads (proc(5))."""
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for text in texts for child in text.split()]


def name_of(pid: int) -> str:
    """Return the name of a process's program."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def state_of(pid: int) -> str | None:
    """Return the state of a process, such as `T` (stopped) or `Z` (zombie), or None if there is no such process (proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    """Read the program's stderr up to a line that holds `text`."""
    assert process.stderr
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the program ended without {text!r}")
