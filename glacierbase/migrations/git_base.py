"""The migrations of a base branch, beside those of the work tree: which files are new here, and which belong to the base.

A catalog is identified by its name, as in the history: its file and folder may be renamed where the key `name` stays the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from glacierbase.errors import GlacierbaseError
from glacierbase.migrations.git_files import Fork, files_at, find_fork
from glacierbase.model.migration import Migration, checksum, version_number

# Returns a catalog's name. Arguments: the bytes of its file, the file's stem, and the file's name in messages.
ReadName: TypeAlias = Callable[[bytes, str, str], str]


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A migration file at a commit; `path` is relative to the project."""

    version: str
    number: int
    path: str
    checksum: str

    def is_at_path_of(self, migration: Migration) -> bool:
        """Return whether the migration has the same path inside the folder of its catalog, which may be renamed."""
        return _inner(self.path) == _inner(migration.location)

    def is_identical_to(self, migration: Migration) -> bool:
        return self.is_at_path_of(migration) and self.checksum == migration.checksum


@dataclass(frozen=True, slots=True)
class BaseCatalog:
    """A catalog that has migrations at a commit.

    Attributes:
        name: of its catalog file there.
        doubt: why the name is only assumed; empty where it is not.
        paths: the paths whose checkout restores the catalog.
    """

    name: str
    doubt: tuple[str, ...]
    paths: tuple[str, ...]
    files: tuple[BaseFile, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Base:
    """The catalogs of a base branch.

    Attributes:
        at_fork: as they were where this branch left the base.
        at_tip: as they are now.
        is_empty: whether the tip has neither catalog files nor migrations.
    """

    fork: Fork
    at_fork: tuple[BaseCatalog, ...]
    at_tip: tuple[BaseCatalog, ...]
    is_empty: bool

    @property
    def ref(self) -> str:
        return self.fork.ref

    def compared(self, name: str, migrations: Sequence[Migration]) -> Compared:
        """Return the migrations of the work tree beside the base's catalog of this name."""
        return Compared(self, migrations, _files(self.at_fork, name), _files(self.at_tip, name))


@dataclass(frozen=True, slots=True)
class Compared:
    """The migrations of a catalog in the work tree, and the base's files of the catalog."""

    base: Base
    migrations: Sequence[Migration]
    at_fork: Mapping[int, Sequence[BaseFile]]
    at_tip: Mapping[int, Sequence[BaseFile]]

    @property
    def highest(self) -> BaseFile | None:
        """The file of the base's tip with the highest version."""
        return self.at_tip[max(self.at_tip)][0] if self.at_tip else None

    def new(self) -> list[Migration]:
        """Return the migrations that the base does not have, in order."""
        count = Counter(migration.number for migration in self.migrations)
        return [each for each in self.migrations if not self._is_of_base(each, is_only=count[each.number] == 1)]

    def new_squashes(self) -> list[Migration]:
        """Return the squashes that the base does not have. One has the version of the last file that it replaces."""
        return [each for each in self.migrations if each.squashes and not self._has(each)]

    def _has(self, migration: Migration) -> bool:
        """Return whether the base has exactly this file."""
        files = (self.at_fork.get(migration.number, ()), self.at_tip.get(migration.number, ()))
        return any(file.is_identical_to(migration) for file in chain.from_iterable(files))

    def _is_of_base(self, migration: Migration, *, is_only: bool) -> bool:
        """Return whether the file is the base's, edited or moved perhaps.

        Args:
            is_only: whether no other file of the work tree has the version. A merge can bring the base's beside that of the branch.
        """
        known = self.at_fork.get(migration.number)
        if known:
            return is_only or any(f.is_at_path_of(migration) or f.checksum == migration.checksum for f in known)
        return any(file.is_identical_to(migration) for file in self.at_tip.get(migration.number, ()))


def read_base(root: Path, ref: str, stems: Mapping[str, str], read_name: ReadName) -> Base:
    """Read a base branch at its tip, and where the branch of HEAD left it.

    Args:
        stems: the stems of all catalog files in the work tree, by the catalog's name.
        read_name: reads a catalog's name from its file in the base.

    Raises:
        ConfigurationError: as `find_fork` and `files_at`.
    """
    fork = find_fork(root, ref)
    content = files_at(root, ref, fork.tip)
    at_fork = at_tip = tuple(_Commit(ref, content, stems, read_name).catalogs())
    if fork.is_behind:
        before = files_at(root, ref, fork.commit)
        at_fork = tuple(_Commit(fork.commit[:12], before, stems, read_name).catalogs())
    return Base(fork, at_fork, at_tip, is_empty=not content)


@dataclass(frozen=True, slots=True)
class _Commit:
    """The project's files at a commit.

    Attributes:
        name: of the commit, for messages.
        content: of the files, by path.
        stems: the stems of today's catalog files, by the catalog's name.
    """

    name: str
    content: Mapping[str, bytes] = field(repr=False)
    stems: Mapping[str, str]
    read_name: ReadName

    def catalogs(self) -> Iterator[BaseCatalog]:
        for stem, files in self._migrations().items():
            file = f"catalogs/{stem}.yaml"
            name, doubt = self._name(stem, file)
            paths = (file, f"migrations/{stem}") if file in self.content else (f"migrations/{stem}",)
            yield BaseCatalog(name, doubt, paths, tuple(files))

    def _migrations(self) -> dict[str, list[BaseFile]]:
        """Return the migration files, by the folder of their catalog."""
        folders: dict[str, list[BaseFile]] = {}
        for path, content in self.content.items():
            top, *inner, name = PurePosixPath(path).parts
            version = name.partition("_")[0]
            number = version_number(version)
            if top == "migrations" and inner and inner[0][0] != "." and name.endswith(".sql") and number is not None:
                folders.setdefault(inner[0], []).append(BaseFile(version, number, path, checksum(content)))
        return folders

    def _name(self, stem: str, file: str) -> tuple[str, tuple[str, ...]]:
        """Return the name of the base's catalog, and why it is only assumed.

        Where its file cannot be read, the name is that of today's catalog whose file has the same stem.
        """
        assumed = next((name for name, here in self.stems.items() if here == stem), stem)
        content = self.content.get(file)
        if content is None:
            return assumed, ()
        try:
            return self.read_name(content, stem, f"{self.name}:{file}"), ()
        except GlacierbaseError as error:
            why = error.message.replace("\n", "; ")
            return assumed, (f"{why}; its name is taken to be {assumed}",)


def _files(catalogs: Iterable[BaseCatalog], name: str) -> Mapping[int, Sequence[BaseFile]]:
    """Return the files of the catalogs of this name, by the number of their version."""
    found: dict[int, list[BaseFile]] = {}
    for catalog in catalogs:
        for file in catalog.files if catalog.name == name else ():
            found.setdefault(file.number, []).append(file)
    return found


def _inner(path: str) -> str:
    """Return a path without `migrations/` and the folder of the catalog."""
    return path.split("/", 2)[2]
