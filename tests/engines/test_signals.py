"""Signals to commands whose catalog does not answer: each exits with its code and one message, and releases its lock."""

from __future__ import annotations

import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from glacierbase.run.waiting import CANCELLED_SECONDS
from tests.support.beds import SnowBed
from tests.support.processes import wait_for_line
from tests.support.project_folder import ProjectFolder

# What a command may take to end after a signal on a busy machine; its catalog would answer after 30 s.
SECONDS = 25


@pytest.fixture
def silent_project(lake_project: ProjectFolder) -> Iterator[ProjectFolder]:
    """A project whose catalog's database is locked."""
    warehouse = lake_project.root / "warehouse"
    warehouse.mkdir()
    lake_project.file("1_a.sql", "SELECT 1")
    with closing(sqlite3.connect(warehouse / "catalog.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield lake_project


def wait_until_it_asks(process: subprocess.Popen[str]) -> None:
    """Return once the process has opened the catalog's database, for whose answer it then waits."""
    deadline = time.monotonic() + 60
    while not any(link.endswith("/catalog.db") for link in open_files(process.pid)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def open_files(pid: int) -> list[str]:
    """Return what the file descriptors of a process point to; one may be closed meanwhile."""
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.append(str(descriptor.readlink()))
    return found


def is_program(pid: int) -> bool:
    return b"\0glacierbase\0" in Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.parametrize("command", ["migrate", *(name for name in ("pending", "repair", "doctor"))])
def test_one_signal_ends_a_command_whose_catalog_hangs(command: str, silent_project: ProjectFolder) -> None:
    """The command exits with the code of the signal, in bounded time, and without a traceback."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    running = {number: silent_project.start(command) for number in numbers}
    for process in running.values():
        wait_until_it_asks(process)
    began = time.monotonic()
    for number, process in running.items():
        process.send_signal(number)
    for number, process in running.items():
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 128 + number, stderr
        assert "Traceback" not in stdout + stderr
        assert "error: " in stderr
    assert time.monotonic() - began < SECONDS


@pytest.mark.parametrize("command", ["migrate", "pending"])
def test_a_closed_terminal_ends_a_command_as_sigterm_does(command: str, silent_project: ProjectFolder) -> None:
    """The kernel sends SIGHUP, and nothing can be printed any more; the exit code is that of the signal all the same."""
    pid, terminal = pty.fork()
    if pid == 0:  # A process of its own session, whose terminal is the pseudo-terminal.
        os.execv(sys.executable, [sys.executable, "-m", "glacierbase", command, "--project", str(silent_project.root)])
    deadline = time.monotonic() + 60
    # Before it is the program, the child has the files of this process.
    while not (is_program(pid) and any(link.endswith("/catalog.db") for link in open_files(pid))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    began = time.monotonic()
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert time.monotonic() - began < SECONDS


def test_under_nohup_a_closed_terminal_ends_nothing(silent_project: ProjectFolder) -> None:
    """The caller chose that the program survives it."""
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "glacierbase", "pending", "--project", str(silent_project.root)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until_it_asks(process)
    process.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


def test_the_second_signal_ends_it_at_once(silent_project: ProjectFolder) -> None:
    """A second signal waits for no answer."""
    process = silent_project.start("migrate")
    wait_until_it_asks(process)
    process.send_signal(signal.SIGTERM)
    wait_for_line(process, "stopping: ")
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert time.monotonic() - began < CANCELLED_SECONDS


def test_unlock_ends_after_it_has_freed_and_recorded(emulated: SnowBed, project: ProjectFolder) -> None:
    """`unlock` waits for the former holder's lease where the lease is the proof; SIGTERM meanwhile leaves no lock held."""
    text = emulated.catalog_file(lease="3s")
    project.catalog(text)
    project.file("1_a.sql", "SELECT 1")
    assert project.run("migrate").code == 0
    namespace = text.rpartition("namespace: ")[2].partition(",")[0]
    emulated.executor.open_session().execute(
        f"UPDATE DEMO.{namespace}.LOCK_SHOP SET OWNER = 'other', EXPIRES_AT = DATEADD(hour, 1, SYSDATE()), HOLDER = '{{}}'"
    )
    process = project.start("unlock", "--yes", "--force", "--reason", "a test")
    assert process.stderr
    assert any("waiting until the former holder's lease is over" in line for line in process.stderr)
    process.send_signal(signal.SIGTERM)
    stderr = process.communicate(timeout=120)[1]
    assert process.returncode == 143, stderr
    assert project.ask("history").entry()["events"][-1]["event"] == "unlocked"
    assert emulated.rows(f"SELECT OWNER FROM DEMO.{namespace}.LOCK_SHOP") == [("",)]
