"""Which processes this machine proves to have ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from glacierbase.run import processes
from glacierbase.run.processes import engine_process, is_gone
from glacierbase.run.run import Run

# Prints, as an unprivileged user, whether the holder in argv[1] is gone; argv[2] is `hidden` where /proc hides its process.
AS_NOBODY = """\
import json, os, sys
from glacierbase.run import processes
holder, hidden = json.loads(sys.argv[1]), sys.argv[2] == "hidden"
read = processes._read
processes._read = lambda path: None if hidden and path == f"/proc/{holder['pid']}/stat" else read(path)
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
print(processes.is_gone(holder))
"""


@pytest.fixture
def here(tmp_path: Path) -> dict[str, object]:
    """The holder of a lock row that a run of this process writes."""
    return Run.here(tmp_path).holder({})


def test_a_number_that_is_no_process_id_is_gone(here: dict[str, object]) -> None:
    """A row with a number that no run wrote does not end a command with a traceback."""
    assert is_gone({**here, "pid": 10**30})


@pytest.mark.parametrize("shown", ["shown", "hidden"])
def test_another_users_process_that_lives_is_not_gone(shown: str, here: dict[str, object]) -> None:
    """The process counts as alive although the kernel hides its start (hidepid) and refuses a signal to it."""
    init = {**here, "pid": 1, "pid_started": processes._pid_started(1)}
    command = [sys.executable, "-c", AS_NOBODY, json.dumps(init), shown]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "False\n", done.stderr


def test_a_process_that_has_ended_is_gone_and_so_is_one_whose_id_is_used_again(here: dict[str, object]) -> None:
    """A zombie has ended, although its parent has not waited for it yet."""
    child = subprocess.Popen(["sleep", "60"])
    holder = {**here, "pid": child.pid, "pid_started": processes._pid_started(child.pid)}
    assert not is_gone(holder)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(holder)
    child.wait()
    assert is_gone(holder)
    assert is_gone({**here, "pid_started": "1"})


@pytest.mark.parametrize("started", [None, "12***9", 1])
def test_a_process_whose_start_is_not_recorded_counts_as_alive(started: object, here: dict[str, object]) -> None:
    """Masking may have hit the digits: a part of a long number may be a secret."""
    assert not is_gone({**here, "pid_started": started})


def test_a_run_whose_engine_lives_on_is_not_gone(here: dict[str, object]) -> None:
    """An orphaned JVM may finish its statement, so the run counts as alive until the JVM has ended."""
    child = subprocess.Popen(["sleep", "60"])
    holder = {**here, "pid_started": "1", **engine_process(child.pid)}
    assert not is_gone(holder)
    child.kill()
    child.wait()
    assert is_gone(holder)


@pytest.mark.parametrize("key", ["host", "boot_id", "pid_namespace"])
def test_a_process_on_another_machine_is_not_taken_to_be_gone(key: str, here: dict[str, object]) -> None:
    """The same id is another process on another machine, after a reboot, or in another process namespace."""
    assert is_gone({**here, "pid_started": "1"})
    assert not is_gone({**here, "pid_started": "1", key: "another"})
    assert not is_gone({**here, "pid_started": "1", key: None})
