"""Run git so that no file of the branch under review becomes a command.

A branch controls only its files: git refuses to track `.git` and the configuration in it.

Not trusted:
    A tracked folder that looks like a bare repository. git is started in the folder that contains `.git`, where it does
    not search for another repository; without such a folder, GIT_DIR is /dev/null. `safe.bareRepository` (git 2.38) adds to that.
    Programs that git runs by itself, and that the configuration may place in the work tree: hooks, and the file system
    monitor. Both are switched off.
    Remotes. A partial clone would fetch missing objects, with a command from the remote's URL or configuration. Every
    protocol is switched off (`GIT_ALLOW_PROTOCOL`, which overrides `protocol.*` in any configuration), and so is the
    fetch itself in versions of git that support that (`GIT_NO_LAZY_FETCH`).

Trusted:
    The configuration of the user, the machine and the repository, and the environment. `git status` may run a filter
    driver that they configure (`filter.NAME.clean`, Git LFS for one) on files that `.gitattributes` of the branch chooses.
    The checkout of the branch has run the same driver on the same files; without it, unchanged files would appear edited.

Callers use only commands that apply no external diff, no text conversion and no pager, and that enter no submodule.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_CONFIGURATION = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=",  # Empty means off in every version; before 2.36, `false` is the name of a program.
    f"core.hooksPath={os.devnull}",
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
# Set in a hook's environment, for the hook's repository; git does not pass them on to another repository either.
_OF_ANOTHER_REPOSITORY = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
}
_TIMEOUT = 20.0


class GitFailed(Exception):
    """git failed or timed out; the message is one line.

    Attributes:
        exit_code: of git; None after a time-out.
    """

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def work_tree(folder: Path) -> Path | None:
    """Return the top of the work tree that holds `folder`, or None outside of git."""
    inside = folder.resolve()
    # Path.exists raises if a parent folder may not be searched.
    return next((parent for parent in (inside, *inside.parents) if os.path.exists(parent / ".git")), None)  # noqa: PTH110


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run git at the top of the work tree that holds `folder`, and return what it prints.

    Args:
        arguments: the command and its arguments. Paths are relative to the top of the work tree.
        given: the command's standard input.

    Raises:
        GitFailed: the command failed, or took longer than 20 seconds.
        OSError: git is not installed (FileNotFoundError), or cannot be started.
    """
    top = work_tree(folder)
    options = [word for setting in _CONFIGURATION for word in ("-c", setting)]
    environment = {key: value for key, value in os.environ.items() if key not in _OF_ANOTHER_REPOSITORY}
    environment |= _ENVIRONMENT if top else {**_ENVIRONMENT, "GIT_DIR": os.devnull}
    command = ["git", "-C", str(top or folder), *options, *arguments]
    try:
        done = subprocess.run(command, env=environment, input=given, capture_output=True, check=True, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git {arguments[0]} did not end within {_TIMEOUT:g} seconds") from error
    except subprocess.CalledProcessError as error:
        printed = " ".join(error.stderr.decode(errors="replace").split())
        what = printed or f"git {arguments[0]} ended with exit code {error.returncode}"
        raise GitFailed(what, error.returncode) from error
    return done.stdout
