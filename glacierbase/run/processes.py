"""Processes of this machine: the values that identify a process in the lock row, and the proof that it has ended.

A holder is the JSON object of a lock row: `host`, `boot_id`, `pid_namespace`, `pid` and `pid_started`, and for an engine with a
separate process `engine_pid` and `engine_pid_started`.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

# The names of processes in messages, by the keys of their ids.
_PROCESSES = {"pid": "its process", "engine_pid": "its engine"}


def this_process() -> dict[str, Any]:
    """Return the values that identify this process."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "pid_started": _pid_started(os.getpid()),
        "boot_id": _boot_id(),
        "pid_namespace": _pid_namespace(),
    }


def engine_process(pid: int) -> dict[str, Any]:
    """Return the values that identify an engine's process on this machine."""
    return {"engine_pid": pid, "engine_pid_started": _pid_started(pid)}


def is_gone(holder: Mapping[str, Any]) -> bool:
    """Return whether this machine proves that the holder's process and its engine have ended. False for another machine."""
    if holder.get("engine_pid") is None:
        # An application without a process here runs on another machine and may still be running.
        return not holder.get("application") and _has_ended_here(holder, "pid")
    return _has_ended_here(holder, "pid") and is_engine_gone(holder)


def is_running(holder: Mapping[str, Any]) -> bool:
    """Return whether this machine proves that the holder's process runs: the same boot, namespace, process and start."""
    pid, started = holder.get("pid"), holder.get("pid_started")
    return isinstance(pid, int) and bool(started) and _is_here(holder) and _pid_started(pid) == started


def is_engine_gone(holder: Mapping[str, Any]) -> bool:
    """Return whether this machine proves that the holder's engine has ended: none of its statements is running."""
    return _has_ended_here(holder, "engine_pid")


def kill_engine(process: Mapping[str, Any]) -> None:
    """Kill the process of an engine on this machine, unless it has ended.

    Args:
        process: as `engine_process` returned it on this machine.
    """
    pid, started = process.get("engine_pid"), process.get("engine_pid_started")
    if isinstance(pid, int) and started and _pid_started(pid) == started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def running_here(holder: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which of the holder's processes run on this machine: `its engine (pid 812)`."""
    return tuple(
        f"{what} (pid {holder[key]})"
        for key, what in _PROCESSES.items()
        if isinstance(holder.get(key), int) and _is_here(holder) and _is_alive(holder, key)
    )


def is_same_boot(holder: Mapping[str, Any]) -> bool:
    """Return whether the holder runs or ran under the current boot of this kernel, and so by the same clock."""
    boot_id = _boot_id()
    return boot_id is not None and holder.get("boot_id") == boot_id


def _has_ended_here(holder: Mapping[str, Any], key: str) -> bool:
    return isinstance(holder.get(key), int) and _is_here(holder) and not _is_alive(holder, key)


def _is_here(holder: Mapping[str, Any]) -> bool:
    here = (socket.gethostname(), _boot_id(), _pid_namespace())
    return None not in here and (holder.get("host"), holder.get("boot_id"), holder.get("pid_namespace")) == here


def _is_alive(holder: Mapping[str, Any], key: str) -> bool:
    """Return whether the process may be alive. A process that is hidden (proc(5), `hidepid`) or another user's counts as alive."""
    pid, recorded = holder[key], holder.get(f"{key}_started")
    started = _pid_started(pid)
    if started is None:
        return _exists(pid) and not _is_zombie(pid)
    # The kernel reuses process ids: the same id with another start is another process. A start that was not recorded, or that was
    # masked because it equals a secret, proves nothing.
    return started == recorded or not (isinstance(recorded, str) and recorded.isdecimal())


def _exists(pid: int) -> bool:
    """Return whether a process of this id exists (kill(2), signal 0)."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # OverflowError: the number is too large for an id.
        return False
    except PermissionError:
        return True
    return True


def _boot_id() -> str | None:
    return _read("/proc/sys/kernel/random/boot_id")


def _pid_namespace() -> str | None:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return None


def _pid_started(pid: int) -> str | None:
    """Return the start of the process in clock ticks since boot (proc(5): field 22 of stat).

    Return None if the process is a zombie or its stat cannot be read.
    """
    fields = _stat(pid)
    return fields[19] if fields and fields[0] != "Z" else None


def _is_zombie(pid: int) -> bool:
    fields = _stat(pid)
    return fields is not None and fields[0] == "Z"


def _stat(pid: int) -> list[str] | None:
    """Return the fields of stat after the name of the process; the first is its state."""
    stat = _read(f"/proc/{pid}/stat")
    return stat.rpartition(")")[2].split() if stat else None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
