"""Run git so that no file of the branch under review becomes a command.

A branch controls its files, and nothing else: not `.git`, which git refuses to track, and not the configuration in it.

Not trusted:
    A tracked folder that looks like a bare repository. git is started in the folder that holds `.git`, where it does not
    look for another repository; where no folder above does, it is given none. `safe.bareRepository` (git 2.38) repeats it.
    Programs that git runs on its own account, and that the configuration may look for in the work tree: hooks, and the
    file system monitor. Both are switched off.
    Remotes. A clone without all objects would fetch what is missing, by a command of the remote's URL or configuration.
    Every protocol is switched off (`GIT_ALLOW_PROTOCOL`, which overrules `protocol.*` in any configuration), and so is
    the fetch itself where git can (`GIT_NO_LAZY_FETCH`).

Trusted:
    The configuration of the user, the machine and the repository, and the environment. `git status` may run a filter
    driver that they configure (`filter.NAME.clean`, Git LFS for one) on files that `.gitattributes` of the branch chooses.
    The checkout of the branch has handed the same files to the same driver; without it, unchanged files would look edited.

The callers choose commands that apply no external diff, no text conversion and no pager, and that enter no submodule.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_CONFIGURATION = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=",  # Empty is off in every git; before 2.36, `false` is the name of a program.
    f"core.hooksPath={os.devnull}",
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
# What git itself does not hand on to another repository: a hook's environment names the repository that the hook runs for.
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
    """git ended with an error or did not end in time; the text says which, in one line."""


def work_tree(folder: Path) -> Path | None:
    """Return the top of the work tree that holds `folder`, or None outside of git."""
    inside = folder.resolve()
    # Path.exists would raise at a folder above that may not be searched.
    return next((each for each in (inside, *inside.parents) if os.path.exists(each / ".git")), None)  # noqa: PTH110


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
        said = " ".join(error.stderr.decode(errors="replace").split())
        raise GitFailed(said or f"git {arguments[0]} ended with exit code {error.returncode}") from error
    return done.stdout
