"""The migrations folder of a catalog: its files in order, each with its headers, and the errors in them.

Of two files with one version, the error names the newer one as the file to rename, where git shows which one that is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import overload

from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.migrations.git_files import path_in_git, tracked, usual_base
from glacierbase.migrations.headers import (
    AUTHOR,
    DESCRIPTION,
    below_squash,
    file_error,
    further_headers,
    read_after,
    read_headers,
    read_squashes,
    replaces,
)
from glacierbase.migrations.repeatables import in_run_order, repeatable_name, repeatables, versioned
from glacierbase.model.command import command
from glacierbase.model.migration import REPEATABLE_FOLDER, Migration, checksum
from glacierbase.run.files import FileReader, FileRefused, path_inside
from glacierbase.run.git import GitFailed, git, work_tree

FILE_NAME = re.compile(r"(?P<version>[0-9]+)_(?P<name>[a-z0-9]+(?:_[a-z0-9]+)*)\.sql")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_BYTES, _MOST_BYTES_IN_ALL = 10 * 2**20, 256 * 2**20
# Python 3.11 and earlier walk folders by recursion.
_DEEPEST = 100
# Ages of files that the base branch lacks. The files of the base have lower numbers, the oldest one the lowest.
_COMMITTED, _UNTRACKED = 1, 2


def migration_files(root: Path) -> FileReader:
    """Return the reader of a project's migration files; its limits allow what fits into the memory of a small machine."""
    return FileReader(root, _MOST_BYTES, _MOST_BYTES_IN_ALL)


def load_migrations(
    folder: Path, root: Path, files: FileReader | None = None, headers: Collection[str] | None = None
) -> tuple[tuple[Migration, ...], list[GlacierbaseError]]:
    """Return a catalog's migrations in the order in which they run, and the errors of files that are not valid.

    Files with a version come first, in ascending order, from sub-folders too; then the repeatables.

    Args:
        folder: an absent folder is an empty one.
        root: the root of the project; `Migration.location` is relative to it.
        files: the `migration_files` of a command that reads several catalogs; their limits are shared.
        headers: names of the further headers that the catalog file lists; None allows any, for callers that do not check files.
    """
    read, errors = read_migrations(folder, root, files, headers)
    by_number: dict[int, Migration] = {}
    files_with_version = versioned(read)
    for migration in files_with_version:
        by_number.setdefault(migration.number, migration)
    errors += duplicate_versions(_duplicates(files_with_version), root)
    errors += below_squash(files_with_version)
    names = {path.stem for path in (folder / REPEATABLE_FOLDER).glob("*.sql")}
    ordered, wrong = in_run_order(repeatables(read), names)
    return (*(by_number[number] for number in sorted(by_number)), *ordered), [*errors, *wrong]


def read_migrations(
    folder: Path, root: Path, files: FileReader | None = None, headers: Collection[str] | None = None
) -> tuple[list[Migration], list[GlacierbaseError]]:
    """Return a catalog's migrations in the order of their paths, duplicate versions included, and the errors of the others.

    Args:
        folder, root, files, headers: as for `load_migrations`.
    """
    files = files or migration_files(root)
    migrations: list[Migration] = []
    errors: list[GlacierbaseError] = []
    for path in _sql_files(folder, root, errors):
        with collected(errors):
            migrations.append(load_migration(path, path.relative_to(root).as_posix(), files, headers))
    return migrations, errors


def file_versions(folder: Path, root: Path) -> Iterator[str]:
    """Yield the versions in the names of a catalog's files. No file is read."""
    names = (FILE_NAME.fullmatch(path.name) for path in _sql_files(folder, root, []))
    return (name["version"] for name in names if name)


def _sql_files(folder: Path, root: Path, errors: list[GlacierbaseError]) -> Iterator[Path]:
    """Yield every path that ends in `.sql`, in sorted order; linked folders are followed, and each folder is read once."""
    visited: set[Path] = set()

    def refuse(error: OSError | FileRefused, path: str) -> None:
        errors.append(_folder_refused(error, Path(path).relative_to(root).as_posix()))

    walk = os.walk(folder, followlinks=True, onerror=lambda error: refuse(error, error.filename))
    for parent, folders, names in walk if folder.exists() else ():
        folders.sort()
        names += [name for name in folders if name.lower().endswith(".sql")]
        place = None
        try:
            place = _place(Path(parent), folder, root)
        except FileRefused as error:
            refuse(error, parent)
        if place is None or place in visited:
            folders.clear()
            continue
        visited.add(place)
        yield from (Path(parent, name) for name in sorted(names) if name.lower().endswith(".sql"))


def _place(path: Path, folder: Path, root: Path) -> Path:
    """Return the path of a folder below `folder`, with links resolved."""
    if len(path.parts) - len(folder.parts) > _DEEPEST:
        what = f"cannot be read: it is more than {_DEEPEST} folders deep"
        raise FileRefused("UNREADABLE_FILE", what, "move the files up")
    return path_inside(path, root)


def _folder_refused(error: OSError | FileRefused, location: str) -> GlacierbaseError:
    if isinstance(error, OSError):
        error = FileRefused(
            "UNREADABLE_FILE", f"cannot be read: {error.strerror}", "restore the permissions of the folder"
        )
    return MigrationFileError(error.code, f"{location}: {error.what}", error.hint, path=location)


def load_migration(path: Path, location: str, files: FileReader, listed: Collection[str] | None) -> Migration:
    """Return the migration in one file.

    Args:
        location: its path relative to the project, under which it is recorded.
        listed: as `headers` of `load_migrations`.

    Raises:
        MigrationFileError: the file is not valid.
    """
    _version_and_name(location)
    return as_migration(_read(path, location, files), path, location, listed)


def as_migration(content: bytes, path: Path, location: str, listed: Collection[str] | None) -> Migration:
    """Return the migration that a file with this content is.

    Args:
        path, location, listed: as for `load_migration`.

    Raises:
        MigrationFileError, SeveralErrors: it is not valid.
    """
    version, name = _version_and_name(location)
    text = _decoded(content.removeprefix(_BYTE_ORDER_MARK), location)
    headers = read_headers(text, location, listed, is_repeatable=not version)
    return Migration(
        version=version,
        name=name,
        description=headers[DESCRIPTION],
        author=headers[AUTHOR],
        path=path,
        location=location,
        text=text,
        checksum=checksum(content),
        headers=further_headers(headers),
        squashes=read_squashes(text, version, location) if version else (),
        after=() if version else tuple(before for before, _ in read_after(text)),
    )


def _version_and_name(location: str) -> tuple[str, str]:
    """Return the version, empty for a repeatable, and the words of a file name."""
    if name := repeatable_name(location):
        return "", name
    named = FILE_NAME.fullmatch(location.rpartition("/")[2])
    if not named:
        raise file_error(
            location,
            "MISNAMED_FILE",
            "a migration's file name is digits, an underscore, lower-case words and .sql",
            "rename it as in 0042_add_device.sql; the command `new` writes such names",
        )
    return named["version"], named["name"]


def _read(path: Path, location: str, files: FileReader) -> bytes:
    try:
        return files.read(path)
    except FileRefused as error:
        raise file_error(location, error.code, error.what, error.hint) from error


def _decoded(content: bytes, location: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise file_error(
            location,
            "NOT_UTF8",
            f"byte {content[error.start]:#04x} is not UTF-8",
            "save the file as UTF-8",
            line,
        ) from error


def _duplicates(files: Iterable[Migration]) -> list[tuple[Migration, Migration]]:
    """Return the pairs of files with one version: the first one of each version, and each other."""
    first: dict[int, Migration] = {}
    pairs = [(first.setdefault(file.number, file), file) for file in files]
    # A file that a squash replaces is not a new file, and needs no other version.
    return [(a, b) for a, b in pairs if a is not b and not replaces(a, b) and not replaces(b, a)]


def newer_duplicates(files: Iterable[Migration], root: Path) -> list[Migration]:
    """Return the files whose version an older file has, where git shows which one is older.

    Args:
        root: the root of the project.
    """
    pairs = _duplicates(files)
    groups: dict[int, list[Migration]] = {}
    for first, other in pairs:
        groups.setdefault(first.number, [first]).append(other)
    ages = _ages([file.path for group in groups.values() for file in group], root)
    oldest = {number: min(ages.get(file.path, 0) for file in group) for number, group in groups.items()}
    return [file for number, group in groups.items() for file in group if ages.get(file.path, 0) > oldest[number]]


def duplicate_versions(pairs: Sequence[tuple[Migration, Migration]], root: Path) -> list[MigrationFileError]:
    """Return an error for each pair of files with one version.

    Args:
        root: the root of the project.
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
    """Return numbers that order the files by when they were committed; equal or none where that is unknown."""
    with suppress(OSError, GitFailed, FileRefused):
        if paths and work_tree(root):
            known = tracked(root, paths)
            return {**dict.fromkeys(paths, _UNTRACKED), **dict.fromkeys(known, _COMMITTED), **_in_base(known, root)}
    return {}


def _in_base(paths: set[Path], root: Path) -> Mapping[Path, int]:
    """Return an age for each file of the usual base branch: 0 if the last commit that adds one added it, -1 for the one before."""
    try:
        base = usual_base(root)
    except ConfigurationError:
        return {}
    names = {os.fsencode(path_in_git(path, root)): path for path in paths}
    # A merge is compared with its first parent, the base before it.
    options = ("-m", "--first-parent", "--no-renames", "--diff-filter=A", "--name-only", "--format=%x01", "-z")
    listed = git(root, "--literal-pathspecs", "log", *options, base, "--", *map(os.fsdecode, names)) if names else b""
    commits = [set(commit.strip(b"\n\0").split(b"\0")) for commit in listed.split(b"\1")[1:]]
    return {names[name]: -age for age, commit in reversed([*enumerate(commits)]) for name in commit if name in names}


class DeferredMigrations(Sequence[Migration]):
    """Migrations of a catalog that are read at first use.

    Every use raises MigrationFileError or SeveralErrors where the files are not valid.
    """

    def __init__(
        self,
        load: Callable[[], tuple[Sequence[Migration], Sequence[GlacierbaseError]]],
        wanted: Callable[[Sequence[Migration]], Sequence[Migration]],
    ) -> None:
        """Read nothing.

        Args:
            wanted: returns those of the catalog's migrations that this one has.
        """
        self._load = load
        self._wanted = wanted

    @cached_property
    def _read(self) -> Sequence[Migration]:
        migrations, errors = self._load()
        raise_all(errors)
        return self._wanted(migrations)

    @overload
    def __getitem__(self, index: int) -> Migration: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Migration]: ...
    def __getitem__(self, index: int | slice) -> Migration | Sequence[Migration]:
        return self._read[index]

    def __iter__(self) -> Iterator[Migration]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)
