"""git with a fixed author."""

from __future__ import annotations

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=Alice", "-c", "user.email=alice@example.com")


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints in `folder`."""
    # A commit would start another git, which looks for something to pack.
    settings = ("-c", "protocol.file.allow=always", "-c", "maintenance.auto=false")
    command = ["git", "-C", str(folder), *IDENTITY, *settings, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit_all(folder: Path, message: str = "base") -> str:
    """Commit everything below `folder`, in a new repository if there is none; return the hash."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def set_author(folder: Path) -> None:
    """Write an author into the repository's configuration, for commits of the program; an empty HOME has none."""
    for key, value in (("user.name", "Alice"), ("user.email", "alice@example.com")):
        git(folder, "config", key, value)
