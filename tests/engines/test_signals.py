"""Signals to commands whose catalog does not answer: each exits with its code and one message, and releases its lock."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.beds import SnowBed
from tests.support.project_folder import ProjectFolder

# What a command may take to end after a signal on a busy machine; its catalog would answer after 30 s.
SECONDS = 20


@pytest.fixture
def silent_project(lake_project: ProjectFolder) -> Iterator[ProjectFolder]:
    """A project whose catalog's database is locked."""
    warehouse = lake_project.root / "warehouse"
    warehouse.mkdir()
    lake_project.file("1_a.sql", "SELECT 1")
    with closing(sqlite3.connect(warehouse / "catalog.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield lake_project


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[float, str, str]:
    """Send a signal once the process is at work; return the seconds that it took to end, and its output."""
    wait_until_it_asks(process)
    began = time.monotonic()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    return time.monotonic() - began, stdout, stderr


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["migrate", "pending", "repair", "doctor"])
def test_one_signal_ends_a_command_whose_catalog_hangs(
    command: str, number: signal.Signals, silent_project: ProjectFolder
) -> None:
    """It exits with the signal's code, in bounded time, and without a traceback."""
    process = silent_project.start(command)
    took, stdout, stderr = end(process, number)
    assert process.returncode == 128 + number, stderr
    assert took < SECONDS, stderr
    assert "Traceback" not in stdout + stderr
    assert "error: " in stderr


def test_the_second_signal_ends_it_at_once(silent_project: ProjectFolder) -> None:
    """A second signal waits for no answer."""
    process = silent_project.start("migrate")
    wait_until_it_asks(process)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert time.monotonic() - began < 5


def test_unlock_ends_after_it_has_freed_and_recorded(emulated: SnowBed, project: ProjectFolder) -> None:
    """`unlock` waits for the former holder's lease where the lease is the proof; SIGTERM meanwhile leaves no lock held."""
    text = emulated.catalog_file(lease="8s")
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
