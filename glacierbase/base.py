"""The migrations of a branch against those of its base: nothing of the base edited or deleted, everything new above it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from glacierbase.errors import ConfigurationError, GlacierbaseError, HistoryDisagrees, raise_all
from glacierbase.migration import Migration, checksum


def check_against_base(root: Path, ref: str, catalogs: Mapping[str, Sequence[Migration]]) -> None:
    """Compare the migrations of each folder with those that the git ref holds.

    Args:
        catalogs: the migrations by the name of their folder below `migrations/`.

    Raises:
        ConfigurationError: `root` is not in a git work tree, or has no such ref.
        HistoryDisagrees: all files that were edited or deleted, and all new ones that do not stand above the base's.
    """
    errors: list[GlacierbaseError] = []
    for folder, migrations in catalogs.items():
        base = _files_of(root, ref, f"migrations/{folder}")
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


def _number(path: str) -> int:
    return int(PurePosixPath(path).name.partition("_")[0])


def _files_of(root: Path, ref: str, folder: str) -> dict[str, bytes]:
    """The migration files of a folder at a git ref, by their paths relative to `root`."""
    names = _git(root, ref, "ls-tree", "-r", "-z", "--name-only", ref, "--", folder).decode().split("\0")
    return {
        name: _git(root, ref, "show", f"{ref}:./{name}")
        for name in names
        if name.endswith(".sql") and PurePosixPath(name).name.partition("_")[0].isdigit()
    }


def _git(root: Path, ref: str, *arguments: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise ConfigurationError("GIT_NOT_FOUND", "git is not installed; --base needs it") from error
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise ConfigurationError(
            "BASE_NOT_FOUND",
            f"{ref} cannot be read: {message[-1]}",
            f"fetch it first: git fetch origin {ref.rpartition('/')[2]}",
        ) from error
