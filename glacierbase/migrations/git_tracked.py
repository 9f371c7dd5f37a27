"""Which migration files git tracks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from glacierbase.run.files import FileRefused, path_inside
from glacierbase.run.git import GitFailed, git, work_tree


def tracked(root: Path, paths: Sequence[Path]) -> set[Path]:
    """Return those of the paths that git tracks.

    Args:
        root: of the project, which is in a work tree.

    Raises:
        GitFailed, OSError: git fails, or is not installed.
    """
    names = {path_in_git(path, root): path for path in paths}
    if not names:
        return set()
    listed = git(root, "--literal-pathspecs", "ls-files", "-z", "--", *names)
    return {names[name] for name in map(os.fsdecode, listed.split(b"\0")) if name in names}


def untracked(root: Path, paths: Sequence[Path]) -> set[Path]:
    """Return those of the paths that git does not track: all of them outside of git, none where git fails."""
    try:
        return set(paths) - tracked(root, paths) if work_tree(root) else set(paths)
    except (OSError, GitFailed, FileRefused):
        return set()


def path_in_git(path: Path, root: Path) -> str:
    """Return the path of a file relative to the top of the work tree; its folders may be links inside the project."""
    top = work_tree(root)
    assert top is not None
    return str((path_inside(path.parent, root) / path.name).relative_to(top))
