"""Read the project's files from a commit instead of the work tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from shlex import quote

from glacierbase.errors import ConfigurationError
from glacierbase.run.git import GitFailed, git, work_tree


def files_at(root: Path, ref: str) -> dict[str, bytes]:
    """Return the `.yaml` and `.sql` files below `catalogs/` and `migrations/` at a git ref, by their paths relative to `root`.

    Raises:
        ConfigurationError: `BASE_NOT_FOUND`: `root` is not in a git work tree, or the ref or one of its files is not there.
            `GIT_NOT_FOUND`: git is not installed.
    """
    top = work_tree(root)
    if top is None:
        raise ConfigurationError(
            "BASE_NOT_FOUND", f"{root} is not in a git work tree, which --base needs", "clone the project with git"
        )
    branch = quote(ref.removeprefix("origin/"))
    with _git_errors(ref, f"fetch it first: git fetch origin {branch}"):
        commit = git(root, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    with _git_errors(ref, f"fetch all of its files: git fetch --refetch --no-filter origin {branch}"):
        return _read(root, PurePosixPath(root.resolve().relative_to(top)), commit)


@contextmanager
def _git_errors(ref: str, hint: str) -> Iterator[None]:
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
    return {str(path): _next_object(answer) for path in paths}


def _next_object(answer: BytesIO) -> bytes:
    """Return the next object of `cat-file --batch`: ID TYPE SIZE, its bytes, and a line end."""
    head = answer.readline().split()
    if len(head) != 3:
        raise GitFailed(b" ".join(head).decode())  # ID missing
    return answer.read(int(head[2]) + 1)[:-1]
