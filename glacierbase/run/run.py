"""The identity of a run: its id, user, host, CI job and git commit, and the tags of its statements."""

from __future__ import annotations

import getpass
import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import glacierbase
from glacierbase.run.git import GitFailed, git, work_tree
from glacierbase.run.held import HeldLocks
from glacierbase.run.processes import this_process
from glacierbase.run.shared import Shared
from glacierbase.secrets import masked

_JOB_URL = ("CI_JOB_URL", "BUILD_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL", "TRAVIS_BUILD_WEB_URL")
_ACTOR = (
    "GITHUB_ACTOR",
    "GITLAB_USER_LOGIN",
    "BUILD_USER_ID",
    "BUILD_REQUESTEDFOREMAIL",
    "BUILDKITE_BUILD_CREATOR",
    "CIRCLE_USERNAME",
)


@dataclass(frozen=True)
class Run:
    """One run of glacierbase on one catalog. Every event that it appends holds these values.

    Attributes:
        ci_actor: who started the CI job.
        held: the locks that the run holds now.
        shared: what it shares with the other runs of its command; None if it shares nothing.
    """

    id: str
    os_user: str
    host: str
    ci_url: str | None
    ci_actor: str | None
    tool_version: str
    project: str
    held: HeldLocks = field(default_factory=HeldLocks, compare=False, repr=False)
    shared: Shared | None = field(default=None, compare=False, repr=False)

    @classmethod
    def here(cls, project: Path, held: HeldLocks | None = None, shared: Shared | None = None) -> Run:
        """Return a new run of this process on the files of `project`.

        Args:
            held: the collection in which the run lists its locks; default a new one.
            shared: as the attribute.
        """
        return cls(
            id=uuid.uuid4().hex,
            os_user=_os_user(),
            host=socket.gethostname(),
            ci_url=ci_url(),
            ci_actor=ci_actor(),
            tool_version=glacierbase.__version__,
            project=str(project),
            held=held if held is not None else HeldLocks(),
            shared=shared,
        )

    @cached_property
    def git_commit(self) -> str | None:
        """The git commit of the project's files; read at first use, once for the runs of a command."""
        if self.shared is None:
            return _git_commit(self.project)
        slot = ("git commit", self.project)
        return self.shared.get(slot, None, partial(_git_commit, self.project), close=lambda _: None)

    def holder(self, engine: Mapping[str, Any]) -> dict[str, Any]:
        """Return the holder of the lock row: the user, and the process and `engine` that `glacierbase.run.processes` checks."""
        values: dict[str, Any] = masked(
            {
                **this_process(),
                "host": self.host,
                "os_user": self.os_user,
                "ci_url": self.ci_url,
                "project": self.project,
                **engine,
            }
        )
        return values


def statement_tag(run_id: str, version: str, index: int) -> str:
    """Return the tag of a migration's statement in the engine's log."""
    return f"{run_tag(run_id)};{version};{index}"


def tag_uuid(tag: str) -> str:
    """Return the UUID in the name of the metadata file that a statement with this tag commits without an engine."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, tag))


def run_tag(run_id: str) -> str:
    """Return the tag of the statements that write the history and the lock of a run."""
    return f"glacierbase;{run_id}"


def _os_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A container's user may have no name.
        return str(os.getuid())


def _git_commit(folder: str) -> str | None:
    """Return the commit of the project's files, with `+dirty` where the work tree differs; None outside of git."""
    project = Path(folder)
    try:
        if work_tree(project) is None:
            return None
        commit = git(project, "rev-parse", "--verify", "HEAD").decode().strip()
        # A submodule at another commit is a difference; edits inside it are not, since git would run there to find them.
        # Pairing renamed files would need contents that a partial clone lacks.
        changed = git(project, "status", "--porcelain", "--no-renames", "--ignore-submodules=dirty")
    except (OSError, GitFailed):
        return None
    return commit + ("+dirty" if changed else "")


def ci_url() -> str | None:
    """Return the address of the CI job, or None outside of CI."""
    if os.environ.get("GITHUB_RUN_ID"):
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{os.environ.get('GITHUB_REPOSITORY')}/actions/runs/{os.environ['GITHUB_RUN_ID']}"
    return _first(_JOB_URL)


def ci_actor() -> str | None:
    """Return the CI service's name for the user who started the job, or None."""
    return _first(_ACTOR)


def _first(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
