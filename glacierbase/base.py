"""The migrations of a branch against those of its base: nothing of the base edited or deleted, everything new above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from shlex import quote

from glacierbase.errors import ConfigurationError, GlacierbaseError, HistoryDisagrees, raise_all
from glacierbase.git import GitFailed, git, work_tree
from glacierbase.migration import Migration, checksum, version_number


def check_against_base(root: Path, ref: str, catalogs: Mapping[str, Sequence[Migration]]) -> None:
    """Compare the migrations of each folder with those that the git ref holds.

    Args:
        catalogs: the migrations by the name of their folder below `migrations/`.

    Raises:
        ConfigurationError: `root` is not in a git work tree, or has no such ref.
        HistoryDisagrees: all files that were edited or deleted, and all new ones that do not stand above the base's.
    """
    errors: list[GlacierbaseError] = []
    content = _files(root, ref)
    for folder, migrations in catalogs.items():
        base = {path: content[path] for path in content if _is_migration(path, folder)}
        errors += _edited(ref, base, migrations)
        errors += _too_low(ref, base, migrations)
    raise_all(errors)


def _edited(ref: str, base: Mapping[str, bytes], migrations: Sequence[Migration]) -> list[GlacierbaseError]:
    here = {migration.number: migration for migration in migrations}
    errors: list[GlacierbaseError] = []
    for path, content in base.items():
        migration = here.get(_number(path))
        if migration is None:
            errors.append(
                HistoryDisagrees(
                    "BASE_FILE_DELETED",
                    f"{path}: stands in {ref}, and is deleted here",
                    f"restore it: git checkout {ref} -- {path}",
                    path=path,
                )
            )
        elif migration.checksum != checksum(content):
            errors.append(
                HistoryDisagrees(
                    "BASE_FILE_EDITED",
                    f"{migration.location}: differs from {ref}, where other environments may have applied it",
                    f"restore it (git checkout {ref} -- {path}), and put the change into a new migration",
                    path=migration.location,
                )
            )
    return errors


def _too_low(ref: str, base: Mapping[str, bytes], migrations: Sequence[Migration]) -> list[GlacierbaseError]:
    known = {_number(path): path for path in base}
    highest = max(known, default=0)
    newest = max([highest, *(migration.number for migration in migrations)])
    late = [migration for migration in migrations if migration.number not in known and migration.number < highest]
    return [
        HistoryDisagrees(
            "VERSION_BELOW_BASE",
            f"{migration.location}: its version is not above {PurePosixPath(known[highest]).name}, the highest of {ref}",
            f"git mv {migration.location} {_moved(migration, newest + number)}",
            path=migration.location,
            version=migration.version,
        )
        for number, migration in enumerate(late, start=1)
    ]


def _moved(migration: Migration, number: int) -> str:
    version = str(number).zfill(len(migration.version))
    return str(PurePosixPath(migration.location).with_name(f"{version}_{migration.name}.sql"))


def _is_migration(path: str, folder: str) -> bool:
    version = PurePosixPath(path).name.partition("_")[0]
    return path.startswith(f"migrations/{folder}/") and path.endswith(".sql") and version_number(version) is not None


def _number(path: str) -> int:
    return int(PurePosixPath(path).name.partition("_")[0])


def _files(root: Path, ref: str) -> dict[str, bytes]:
    """The files below `catalogs/` and `migrations/` at a git ref, by their paths relative to `root`."""
    top = work_tree(root)
    if top is None:
        raise ConfigurationError(
            "BASE_NOT_FOUND", f"{root} is not in a git work tree, which --base needs", "clone the project with git"
        )
    branch = quote(ref.removeprefix("origin/"))
    with _needed(ref, f"fetch it first: git fetch origin {branch}"):
        commit = git(root, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    with _needed(ref, f"fetch all of its files: git fetch --refetch --no-filter origin {branch}"):
        return _read(root, PurePosixPath(root.resolve().relative_to(top)), commit)


@contextmanager
def _needed(ref: str, hint: str) -> Iterator[None]:
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
    return {str(path): _content(answer) for path in paths}


def _content(answer: BytesIO) -> bytes:
    """The next object of `cat-file --batch`: ID TYPE SIZE, its bytes, and a line end."""
    head = answer.readline().split()
    if len(head) != 3:
        raise GitFailed(b" ".join(head).decode())  # ID missing
    return answer.read(int(head[2]) + 1)[:-1]
