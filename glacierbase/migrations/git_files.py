"""The project's files in git: those of a commit, such as where this branch left its base, and which files git tracks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

from glacierbase.errors import ConfigurationError
from glacierbase.model.command import git_command
from glacierbase.run.files import FileRefused, path_inside
from glacierbase.run.git import GitFailed, git, work_tree

# Branches that pull requests usually are merged into, by preference.
_USUAL_BASES = ("remotes/origin/main", "remotes/origin/master", "heads/main", "heads/master")


@dataclass(frozen=True, slots=True)
class Fork:
    """Where the branch of HEAD left a base branch.

    Attributes:
        ref: the base branch as the caller named it.
        tip: the newest commit of the base.
        commit: the newest commit that HEAD and the base have in common.
    """

    ref: str
    tip: str
    commit: str

    @property
    def is_behind(self) -> bool:
        """Whether the base has commits that the branch lacks."""
        return self.commit != self.tip


def find_fork(root: Path, ref: str) -> Fork:
    """Return where HEAD left the base branch `ref`.

    Raises:
        ConfigurationError: `BASE_NOT_FOUND`: `root` is not in a git work tree, there is no such ref, HEAD has no commit, or the
            two have no commit in common, which in a shallow clone may not be fetched. `GIT_NOT_FOUND`: git is not installed.
    """
    _check_work_tree(root)
    with _git_errors(ref, _how_to_get(ref)):
        tip = _commit(root, ref)
    with _git_errors("HEAD", "commit the project first, so that the branch has a commit"):
        head = _commit(root, "HEAD")
    with _git_errors(ref):
        try:
            return Fork(ref, tip, git(root, "merge-base", head, tip).decode().strip())
        except GitFailed as error:
            if error.exit_code != 1:  # 1: no commit in common.
                raise
        raise _no_fork(root, ref)


def usual_base(root: Path) -> str:
    """Return the remote's default branch, else the first that exists of the remote's and the local `main` and `master`.

    Raises:
        ConfigurationError: `BASE_NOT_FOUND`: none of them exists. `GIT_NOT_FOUND`.
    """
    _check_work_tree(root)
    names = [f"refs/{name}" for name in ("remotes/origin/HEAD", *_USUAL_BASES)]
    with _git_errors("origin/HEAD"):
        listed = git(root, "for-each-ref", "--format=%(refname) %(refname:short) %(symref:short)", *names).decode()
    short_names = {name: target or short for name, short, target in (line.split(" ") for line in listed.splitlines())}
    for name in names:
        if name in short_names:
            return short_names[name]
    raise ConfigurationError(
        "BASE_NOT_FOUND",
        "git has none of the usual base branches: the default branch of origin, main and master",
        "name the branch that this one will be merged into: --base REF",
    )


def files_at(root: Path, ref: str, commit: str) -> dict[str, bytes]:
    """Return the `.yaml` and `.sql` files below `catalogs/` and `migrations/` at a commit, by their paths relative to `root`.

    Args:
        ref: the branch that the commit belongs to, for messages.

    Raises:
        ConfigurationError: `BASE_NOT_FOUND`: one of the files was not fetched. `GIT_NOT_FOUND`.
    """
    fetch = git_command("fetch", "--refetch", "--no-filter", "origin", _branch(ref))
    with _git_errors(ref, f"fetch all of its files: {fetch}"):
        return _read(root, inside_work_tree(root), commit)


def inside_work_tree(root: Path) -> PurePosixPath:
    """Return the path of `root` relative to the top of its git work tree."""
    top = work_tree(root)
    assert top is not None
    return PurePosixPath(root.resolve().relative_to(top))


def next_object(answer: BytesIO) -> bytes:
    """Return the next object of `cat-file --batch`: ID TYPE SIZE, its bytes, and a line end.

    Raises:
        GitFailed: the object is missing.
    """
    head = answer.readline().split()
    if len(head) != 3:
        raise GitFailed(b" ".join(head).decode())  # ID missing
    return answer.read(int(head[2]) + 1)[:-1]


def _check_work_tree(root: Path) -> None:
    if work_tree(root) is None:
        raise ConfigurationError(
            "BASE_NOT_FOUND", f"{root} is not in a git work tree, which --base needs", "clone the project with git"
        )


def _how_to_get(ref: str) -> str:
    """Return the hint for a ref that is not in the clone; only a branch of the remote can be fetched under its name."""
    if ref.startswith("origin/"):
        return f"fetch it first: {git_command('fetch', 'origin', _branch(ref))}"
    return (
        f"correct its name: `{git_command('branch', '--all')}` lists the branches, those of the remote as origin/NAME"
    )


def _branch(ref: str) -> str:
    return ref.removeprefix("origin/")


def _commit(root: Path, ref: str) -> str:
    try:
        return git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    except GitFailed as error:
        if error.exit_code == 1:
            raise GitFailed("this clone has no such branch, tag or commit", 1) from error
        raise


def _no_fork(root: Path, ref: str) -> ConfigurationError:
    if git(root, "rev-parse", "--is-shallow-repository").strip() == b"true":
        return ConfigurationError(
            "BASE_NOT_FOUND",
            f"this clone is shallow: it lacks the commit that HEAD and {ref} have in common",
            f"{git_command('fetch', '--unshallow')}; in GitHub Actions, give actions/checkout `fetch-depth: 0`",
        )
    return ConfigurationError(
        "BASE_NOT_FOUND",
        f"HEAD and {ref} have no commit in common: their histories are unrelated",
        "name the branch that this one will be merged into: --base REF",
    )


@contextmanager
def _git_errors(ref: str, hint: str = "run the command again") -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ConfigurationError("GIT_NOT_FOUND", "git is not installed; --base needs it") from error
    except GitFailed as error:
        raise ConfigurationError("BASE_NOT_FOUND", f"{ref!r} cannot be read: {error}", hint) from error


def _read(root: Path, inside: PurePosixPath, commit: str) -> dict[str, bytes]:
    folders = [str(inside / name) for name in ("catalogs", "migrations")]
    listed = git(root, "--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", *folders)
    # MODE TYPE ID, a tab, and the path.
    entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry.endswith((b".sql", b".yaml"))]
    blobs = {path: head.split()[2] for head, _, path in entries if b" blob " in head}
    answer = BytesIO(git(root, "cat-file", "--batch", given=b"".join(blob + b"\n" for blob in blobs.values())))
    paths = (PurePosixPath(path.decode(errors="backslashreplace")).relative_to(inside) for path in blobs)
    return {str(path): next_object(answer) for path in paths}


def tracked(root: Path, paths: Sequence[Path]) -> set[Path]:
    """Return the paths that git tracks.

    Args:
        root: the root of the project, which is in a work tree.

    Raises:
        GitFailed, OSError: git fails, or is not installed.
    """
    names = {path_in_git(path, root): path for path in paths}
    if not names:
        return set()
    listed = git(root, "--literal-pathspecs", "ls-files", "-z", "--", *names)
    return {names[name] for name in map(os.fsdecode, listed.split(b"\0")) if name in names}


def untracked(root: Path, paths: Sequence[Path]) -> set[Path]:
    """Return the paths that git does not track: all of them outside of git, none where git fails."""
    try:
        return set(paths) - tracked(root, paths) if work_tree(root) else set(paths)
    except (OSError, GitFailed, FileRefused):
        return set()


def path_in_git(path: Path, root: Path) -> str:
    """Return the path of a file relative to the top of the work tree; its folders may be links inside the project."""
    top = work_tree(root)
    assert top is not None
    return str((path_inside(path.parent, root) / path.name).relative_to(top))
