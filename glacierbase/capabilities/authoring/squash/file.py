"""Compose a squash, and replace files by it in one commit of git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from glacierbase.declared.writer import explained
from glacierbase.errors import ConfigurationError
from glacierbase.migrations.git_files import path_in_git
from glacierbase.migrations.headers import AUTHOR, DESCRIPTION, PREFIX, header_lines, squashed_by
from glacierbase.migrations.new_files import already_exists, as_template
from glacierbase.model.command import git_command
from glacierbase.model.escape import on_one_line
from glacierbase.model.migration import Migration
from glacierbase.record.template_names import template_of
from glacierbase.run.files import create_file, writing
from glacierbase.run.git import GitFailed, git, work_tree

_VARIABLE = re.compile(r"\benvironment\b|\bvariables\b((?:\s*\.\s*\w+|\s*\[\s*['\"][^'\"]*['\"]\s*\])*)")
_EXPRESSION = re.compile(r"\{[{%].*?(?:[%}]\}|\Z)", re.DOTALL)
_KEY = re.compile(r"\w+|(?<=['\"])[^'\"]+(?=['\"])")


@dataclass(frozen=True, slots=True)
class SquashFile:
    """A squash that is not written yet."""

    path: Path
    text: str
    replaces: tuple[Migration, ...]


def squash_text(
    files: Sequence[Migration],
    description: str,
    author: str,
    comments: Iterable[str],
    statements: Iterable[str],
    names: Mapping[str, str],
) -> str:
    """Return the text of a squash. Only the names of tables in it are template expressions.

    Args:
        comments: lines of prose below the headers.
        names: of tables, as templates.
    """
    heads = {DESCRIPTION: description, AUTHOR: author}
    head = [f"-- {PREFIX}{name}: {on_one_line(' '.join(value.split()))}" for name, value in heads.items()]
    notes = [f"-- {on_one_line(comment)}".rstrip() for comment in comments]
    above = as_template("\n".join([*head, *header_lines(squashed_by(files)), "--", *notes]))
    return "\n\n".join([above, *(template_of(f"{explained(statement)};", names) for statement in statements)]) + "\n"


def variables_in(texts: Iterable[str]) -> list[str]:
    """Return the names that templates use and that may differ per environment, sorted.

    These are `environment`, the names of variables, and `variables` where the template computes a name.
    """
    names = (
        ".".join(_KEY.findall(variable[1] or "")) or variable[0]
        for text in texts
        for expression in _EXPRESSION.findall(text)
        for variable in _VARIABLE.finditer(expression)
    )
    return sorted(set(names))


def not_committed(files: Iterable[Migration], root: Path) -> list[str]:
    """Return the locations of files that differ from the last commit.

    Raises:
        ConfigurationError: `GIT_FAILED`.
    """
    if work_tree(root) is None:
        raise _failed(
            "the project is in no git repository, so files that are removed would be lost; nothing was written"
        )
    paths = {path_in_git(file.path, root): file.location for file in files}
    status = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored")
    try:
        git(root, "rev-parse", "--verify", "-q", "HEAD")
        listed = git(root, "--literal-pathspecs", *status, "--", *paths)
        marked = git(root, "--literal-pathspecs", "ls-files", "-v", "-z", "--", *paths)
    except (OSError, GitFailed) as error:
        raise _failed(f"git does not show that the files are committed: {error}; nothing was written") from error
    uncommitted = {entry[3:] for entry in _entries(listed)}
    # `status` skips files marked as `assume-unchanged` or `skip-worktree`. https://git-scm.com/docs/git-ls-files
    uncommitted |= {entry[2:] for entry in _entries(marked) if not entry.startswith("H ")}
    return [location for path, location in paths.items() if path in uncommitted]


def _entries(listed: bytes) -> Iterator[str]:
    return map(os.fsdecode, listed.split(b"\0"))


def replace_files(squash: SquashFile, root: Path) -> None:
    """Write the squash and remove the replaced files with `git rm`; neither if git refuses.

    Raises:
        ConfigurationError: `ALREADY_EXISTS`, `GIT_FAILED`, or the file cannot be written.
    """
    try:
        with writing(squash.path):
            create_file(squash.path, root, squash.text)
    except FileExistsError as error:
        raise already_exists(squash.path, "; nothing was written", "rename it: `git mv` it to other words") from error
    try:
        git(root, "--literal-pathspecs", "rm", "-q", "--", *(path_in_git(file.path, root) for file in squash.replaces))
    except BaseException as error:
        squash.path.unlink()
        is_whole = all(os.path.lexists(file.path) for file in squash.replaces)
        if not isinstance(error, (OSError, GitFailed)):
            raise
        # Restores the replaced files, and undoes no other change.
        restoring = git_command("checkout", "HEAD", "--", *(file.location for file in squash.replaces))
        state = "nothing was written" if is_whole else f"some of them are removed; `{restoring}` restores them"
        raise _failed(f"git does not remove the files: {error}; {state}") from error
    _in_index(squash, root, "add")


def commit_squash(squash: SquashFile, root: Path, message: str) -> str:
    """Commit the squash and the removals, and nothing else; return the commit. No hook runs.

    Raises:
        ConfigurationError: `GIT_FAILED`.
    """
    paths = [path_in_git(path, root) for path in (squash.path, *(file.path for file in squash.replaces))]
    _in_index(squash, root, "commit", "-q", "-m", message, paths=paths)
    return git(root, "rev-parse", "HEAD").decode().strip()


def _in_index(squash: SquashFile, root: Path, *arguments: str, paths: Sequence[str] = ()) -> None:
    try:
        git(root, "--literal-pathspecs", *arguments, "--", *(paths or [path_in_git(squash.path, root)]))
    except (OSError, GitFailed) as error:
        what = f"the files are replaced, but git did not commit that: {error}"
        hint = "remove the cause, and commit the files with git"
        raise ConfigurationError("GIT_FAILED", what, hint, state="") from error


def _failed(what: str) -> ConfigurationError:
    return ConfigurationError("GIT_FAILED", what, "remove the cause, and run the command again")
