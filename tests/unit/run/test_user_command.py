"""Commands of the user: what they get, and that they end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glacierbase.run.user_command import ProgramOutcome, kill_running, run_command
from tests.support.processes import state_of

LARGE = b"x" * 5_000_000


def run(folder: Path, *words: str, **options: Any) -> ProgramOutcome:
    given = {"content": b"", "variables": {}, "seconds": 60.0, "cancelled": lambda: False, **options}
    return run_command(words, folder=folder, **given)


def sh(folder: Path, script: str, **options: Any) -> ProgramOutcome:
    return run(folder, "sh", "-c", script, **options)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; init may not have reaped it yet."""
    deadline = time.monotonic() + 60
    while state_of(pid) not in (None, "Z") and time.monotonic() < deadline:
        time.sleep(0.05)
    return state_of(pid) in (None, "Z")


def test_a_command_gets_its_input_its_folder_and_its_variables(tmp_path: Path) -> None:
    """The command also has the environment of this process. No shell reads its words."""
    (tmp_path / "program").write_text('#!/bin/sh\npwd; cat; echo "$NAMED $HOME"; echo "$@"\n')
    (tmp_path / "program").chmod(0o755)
    ending = run(tmp_path, "./program", "$(id); *", "", content=b"document\n", variables={"NAMED": "named"})
    assert ending == ProgramOutcome("", f"{tmp_path}\ndocument\nnamed {os.environ['HOME']}\n$(id); * \n")


def test_both_outputs_are_in_the_order_of_writing(tmp_path: Path) -> None:
    """The output of a failed command contains its error message."""
    assert sh(tmp_path, "echo one; echo two >&2; exit 3") == ProgramOutcome("exited with 3", "one\ntwo\n")


def test_input_that_is_not_read_blocks_nothing(tmp_path: Path) -> None:
    """Five megabytes do not fit into a pipe."""
    assert run(tmp_path, "true", content=LARGE) == ProgramOutcome("", "")
    assert sh(tmp_path, "wc -c", content=LARGE).output.split() == ["5000000"]


def test_the_end_of_a_long_output_is_kept_from_the_start_of_a_line(tmp_path: Path) -> None:
    """Memory is bounded, and no part of a secret remains at the cut, where it would not be masked."""
    output = sh(tmp_path, "i=0; while [ $i -lt 20000 ]; do echo canary-$i; i=$((i+1)); done").output
    assert 60_000 < len(output) <= 65_536
    assert output.endswith("\ncanary-19999\n")
    assert output.startswith("canary-")
    assert sh(tmp_path, "head -c 100000 /dev/zero").output == ""


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        (["./missing"], "could not be started: No such file or directory"),
        (["./text"], "could not be started: Permission denied"),
        ([""], "could not be started: "),
        (["echo", "a\0b"], "could not be started: embedded null byte"),
        (["sh", "-c", "kill -9 $$"], "was ended by SIGKILL"),
    ],
)
def test_a_command_that_does_not_run_to_its_end_has_a_failure(words: list[str], failure: str, tmp_path: Path) -> None:
    """The failure is in words; nothing is raised."""
    (tmp_path / "text").write_text("no program")
    assert run(tmp_path, *words).failure.startswith(failure)


def test_a_command_is_ended_at_its_time_limit(tmp_path: Path) -> None:
    """The command's failure names the limit."""
    assert run(tmp_path, "sleep", "600", seconds=0.5) == ProgramOutcome("was ended after 0.5 s, its time limit", "")


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_a_command_is_ended_with_its_children_when_the_run_is_cancelled(trap: str, tmp_path: Path) -> None:
    """Processes that ignore SIGTERM are killed; what was printed before is kept."""
    pids = [tmp_path / name for name in ("parent", "child")]
    script = (
        f"{trap}echo waiting; sh -c '{trap}echo $$ > child; sleep 600; :' & echo $$ > parent; wait; wait; sleep 600"
    )
    ending = sh(tmp_path, script, cancelled=lambda: all(map(is_written, pids)))
    assert ending == ProgramOutcome("was ended because the run was stopped", "waiting\n")
    assert all(is_gone(int(pid.read_text())) for pid in pids)


def is_written(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def test_a_command_is_ended_when_the_caller_is_interrupted(tmp_path: Path) -> None:
    """A KeyboardInterrupt of a program that uses the Python API leaves no process behind."""

    def interrupt() -> bool:
        if is_written(tmp_path / "pid"):
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        sh(tmp_path, "echo $$ > pid; sleep 600", cancelled=interrupt)
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.fixture
def left_behind(tmp_path: Path) -> Any:
    """The path where a command writes the id of a process that it leaves behind."""
    yield tmp_path / "pid"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_process_that_a_command_leaves_behind_is_not_waited_for(left_behind: Path, tmp_path: Path) -> None:
    """A process that keeps the output open runs on after its command."""
    elapsed = timed(lambda: sh(tmp_path, "sleep 600 & echo $! > pid; echo started"))
    assert elapsed[0].output == "started\n"
    assert elapsed[1] < 60
    assert state_of(int(left_behind.read_text())) is not None


def timed(call: Callable[[], ProgramOutcome]) -> tuple[ProgramOutcome, float]:
    started = time.monotonic()
    return call(), time.monotonic() - started


def test_a_line_that_a_process_left_behind_has_not_ended_is_not_kept(left_behind: Path, tmp_path: Path) -> None:
    """The rest of a secret may come later; its first part would not be masked."""
    ending = sh(tmp_path, f"echo whole; printf canary; sleep 600 & echo $! > {left_behind}; exit 0")
    assert ending == ProgramOutcome("", "whole\n")


def test_the_last_line_of_a_command_need_not_end(tmp_path: Path) -> None:
    """Nobody writes to it any more."""
    assert sh(tmp_path, "echo whole; printf last").output == "whole\nlast"


def test_a_command_can_be_started_after_the_others_were_killed(tmp_path: Path) -> None:
    """A process whose end is replaced, as in a test, goes on after the second signal."""
    endings: list[ProgramOutcome] = []
    kill_running()
    started = threading.Thread(target=lambda: endings.append(sh(tmp_path, "echo one")), daemon=True)
    started.start()
    started.join(60)
    assert endings == [ProgramOutcome("", "one\n")]
