"""Who runs: the run's id, the person, the machine, the CI job and the git commit; and whether another run's process lives."""

from __future__ import annotations

import getpass
import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import glacierbase
from glacierbase.run.git import GitFailed, git
from glacierbase.run.held import HeldLocks
from glacierbase.secrets import masked

# The variable in which a CI service names the page of the running job.
_CI_JOB_URL = ("CI_JOB_URL", "BUILD_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL", "TRAVIS_BUILD_WEB_URL")


@dataclass(frozen=True)
class Run:
    """One run of glacierbase. Every event that it appends carries these values.

    Attributes:
        held: the locks that the run holds now.
    """

    id: str
    os_user: str
    host: str
    ci_url: str | None
    tool_version: str
    project: str
    held: HeldLocks = field(default_factory=HeldLocks, compare=False, repr=False)

    @classmethod
    def here(cls, project: Path, held: HeldLocks | None = None) -> Run:
        """The run of this process on the files of `project`.

        Args:
            held: where the run lists the locks that it holds; default a collection that only this run has.
        """
        return cls(
            id=uuid.uuid4().hex,
            os_user=_os_user(),
            host=socket.gethostname(),
            ci_url=_ci_url(),
            tool_version=glacierbase.__version__,
            project=str(project),
            held=held if held is not None else HeldLocks(),
        )

    @cached_property
    def git_commit(self) -> str | None:
        """The commit that the files come from; asked for when it is first recorded, since git takes its time."""
        return _git_commit(Path(self.project))

    def holder(self, engine: Mapping[str, Any]) -> dict[str, Any]:
        """What the lock row says of its holder: enough to find it, and to see on its own machine that it is gone."""
        told: dict[str, Any] = masked(
            {
                "host": self.host,
                "pid": os.getpid(),
                "pid_started": _pid_started(os.getpid()),
                "boot_id": _boot_id(),
                "pid_namespace": _pid_namespace(),
                "os_user": self.os_user,
                "ci_url": self.ci_url,
                "project": self.project,
                **engine,
            }
        )
        return told


def statement_tag(run_id: str, version: str, index: int) -> str:
    """What the engine's own log calls a statement of a migration, so that it can be found there by what the history says."""
    return f"{run_tag(run_id)};{version};{index}"


def run_tag(run_id: str) -> str:
    """The same for the statements by which a run keeps its history and its lock."""
    return f"glacierbase;{run_id}"


def engine_process(pid: int) -> dict[str, Any]:
    """The values by which `is_gone` knows an engine's process again."""
    return {"engine_pid": pid, "engine_pid_started": _pid_started(pid)}


def is_gone(holder: Mapping[str, Any]) -> bool:
    """Whether this machine proves that the holder's process and its engine have ended; never guessed for another machine."""
    if holder.get("engine_pid") is None:
        # Without a process of its own here, the engine is another machine's and may still be at work; or there is none.
        return not holder.get("application") and _has_ended_here(holder, "pid")
    return _has_ended_here(holder, "pid") and is_engine_gone(holder)


def is_engine_gone(holder: Mapping[str, Any]) -> bool:
    """The same for its engine alone: no statement of its goes on."""
    return _has_ended_here(holder, "engine_pid")


def is_running_here(holder: Mapping[str, Any]) -> bool:
    """Whether its process, or its engine's, is one of this machine's that runs."""
    return any(isinstance(holder.get(key), int) and _is_here(holder) and _lives(holder, key) for key in _PROCESSES)


_PROCESSES = ("pid", "engine_pid")


def is_same_boot(holder: Mapping[str, Any]) -> bool:
    """Whether the holder runs, or ran, on the kernel that this process runs on, and so by the same clock."""
    here = _boot_id()
    return here is not None and holder.get("boot_id") == here


def _has_ended_here(holder: Mapping[str, Any], key: str) -> bool:
    return isinstance(holder.get(key), int) and _is_here(holder) and not _lives(holder, key)


def _is_here(holder: Mapping[str, Any]) -> bool:
    here = (socket.gethostname(), _boot_id(), _pid_namespace())
    return None not in here and (holder.get("host"), holder.get("boot_id"), holder.get("pid_namespace")) == here


def _lives(holder: Mapping[str, Any], key: str) -> bool:
    """Whether the process may live: what is only hidden (proc(5), `hidepid`), or another user's, is not gone."""
    pid = holder[key]
    started = _pid_started(pid)
    if started is None:
        return _exists(pid) and not _is_zombie(pid)
    # A process id is used again some time: the same id with another start is another process.
    return started == holder.get(f"{key}_started")


def _exists(pid: int) -> bool:
    """Whether there is a process of this id (kill(2), signal 0)."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # More than an id can be.
        return False
    except PermissionError:
        return True
    return True


def _os_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A container's user without a name.
        return str(os.getuid())


def _ci_url() -> str | None:
    if os.environ.get("GITHUB_RUN_ID"):
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{os.environ.get('GITHUB_REPOSITORY')}/actions/runs/{os.environ['GITHUB_RUN_ID']}"
    return next((os.environ[name] for name in _CI_JOB_URL if os.environ.get(name)), None)


def _git_commit(project: Path) -> str | None:
    """The commit that the files come from, with `+dirty` where the work tree differs; None outside of git."""
    try:
        commit = git(project, "rev-parse", "--verify", "HEAD").decode().strip()
        # A submodule at another commit is a difference; edits inside it are not, since git would run there to find them.
        # Pairing renamed files would need contents that a partial clone lacks.
        changed = git(project, "status", "--porcelain", "--no-renames", "--ignore-submodules=dirty")
    except (OSError, GitFailed):
        return None
    return commit + ("+dirty" if changed else "")


def _boot_id() -> str | None:
    return _read("/proc/sys/kernel/random/boot_id")


def _pid_namespace() -> str | None:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return None


def _pid_started(pid: int) -> str | None:
    """The process's start in clock ticks since boot (proc(5): field 22 of stat); None where it cannot be seen, or is a zombie."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] != "Z" else None


def _is_zombie(pid: int) -> bool:
    fields = _stat(pid)
    return fields is not None and fields[0] == "Z"


def _stat(pid: int) -> list[str] | None:
    """The fields behind the name of the process: its state first."""
    stat = _read(f"/proc/{pid}/stat")
    return stat.rpartition(")")[2].split() if stat else None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
