"""Two files of one version: the error names the newer one as the file to rename, where git shows which one that is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.migrations.git_files import usual_base
from glacierbase.migrations.git_tracked import path_in_git, tracked
from glacierbase.migrations.headers import file_error
from glacierbase.model.command import command
from glacierbase.model.migration import Migration
from glacierbase.run.files import FileRefused
from glacierbase.run.git import GitFailed, git, work_tree

# Of files that the base branch does not have; those that it has are below, the oldest one lowest.
_COMMITTED, _UNTRACKED = 1, 2


def duplicate_versions(pairs: Sequence[tuple[Migration, Migration]], root: Path) -> list[MigrationFileError]:
    """Return an error for each pair of files with one version.

    Args:
        root: of the project.
    """
    ages = _ages([file.path for pair in pairs for file in pair], root)
    ordered = (sorted(pair, key=lambda file: ages.get(file.path, 0)) for pair in pairs)
    return [_duplicate(older, newer, ages) for older, newer in ordered]


def _duplicate(older: Migration, newer: Migration, ages: Mapping[Path, int]) -> MigrationFileError:
    is_known = ages.get(older.path) != ages.get(newer.path)
    which = newer.location if is_known else "the one of the two that no environment has applied"
    return file_error(
        newer.location,
        "DUPLICATE_VERSION",
        f"has the same version as {older.location}",
        f"rename {which} to a version above all others; in a git branch, `{command('rebase')}` does that",
    )


def _ages(paths: Sequence[Path], root: Path) -> Mapping[Path, int]:
    """Return numbers that order the files by the time when git got them; equal or none where that is not known."""
    with suppress(OSError, GitFailed, FileRefused):
        if paths and work_tree(root):
            known = tracked(root, paths)
            return {**dict.fromkeys(paths, _UNTRACKED), **dict.fromkeys(known, _COMMITTED), **_in_base(known, root)}
    return {}


def _in_base(paths: set[Path], root: Path) -> Mapping[Path, int]:
    """Return a number for each file that came into the usual base branch: 0 for the last commit that brought one, -1 before."""
    try:
        base = usual_base(root)
    except ConfigurationError:
        return {}
    names = {os.fsencode(path_in_git(path, root)): path for path in paths}
    # A merge is compared with the base as it was before.
    options = ("-m", "--first-parent", "--no-renames", "--diff-filter=A", "--name-only", "--format=%x01", "-z")
    listed = git(root, "--literal-pathspecs", "log", *options, base, "--", *map(os.fsdecode, names)) if names else b""
    commits = [set(commit.strip(b"\n\0").split(b"\0")) for commit in listed.split(b"\1")[1:]]
    return {names[name]: -age for age, commit in reversed([*enumerate(commits)]) for name in commit if name in names}
