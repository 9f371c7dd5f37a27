"""Compare the work tree's migrations with those of a base branch: new files, and changes that the branch must not make.

No file of the base may be edited or deleted, and every new version is above the base's highest. What the branch edited or deleted
is judged where it left the base, so that it may be behind; the order of versions at the base's tip, which it will be merged into.
A catalog is identified by its name, as in the history: its file and folder may be renamed where the key `name` stays the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import TypeAlias

from glacierbase.errors import GlacierbaseError, HistoryDisagrees, MigrationFileError, SeveralErrors, raise_all
from glacierbase.migrations.folder import as_migration
from glacierbase.migrations.git_files import Fork, files_at, find_fork
from glacierbase.migrations.headers import file_error, missing_headers
from glacierbase.migrations.repeatables import in_run_order, repeatable_name, repeatables, versioned
from glacierbase.model.command import command, from_here, git_command
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
        name: the name of its catalog file there.
        doubt: why the name is only assumed; empty where it is not.
        paths: the paths whose checkout restores the catalog.
        repeatables: those that are valid, in the order of their names.
    """

    name: str
    doubt: tuple[str, ...]
    paths: tuple[str, ...]
    files: tuple[BaseFile, ...] = field(repr=False)
    repeatables: tuple[Migration, ...] = field(repr=False)


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
        """Return the migrations of the work tree, repeatables included, beside the base's catalog of this name."""
        return Compared(
            self,
            versioned(migrations),
            _files(self.at_fork, name),
            _files(self.at_tip, name),
            repeatables(migrations),
            _repeatables(self.at_fork, name),
            _repeatables(self.at_tip, name),
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """The migrations of a catalog in the work tree, and the base's files of the catalog.

    Attributes:
        migrations, at_fork, at_tip: the files with a version; the others are repeatables.
    """

    base: Base
    migrations: Sequence[Migration]
    at_fork: Mapping[int, Sequence[BaseFile]]
    at_tip: Mapping[int, Sequence[BaseFile]]
    repeatables: Sequence[Migration] = ()
    repeatables_at_fork: Mapping[str, Migration] = field(default_factory=dict)
    repeatables_at_tip: Mapping[str, Migration] = field(default_factory=dict)

    @property
    def highest(self) -> BaseFile | None:
        """The file of the base's tip with the highest version."""
        return self.at_tip[max(self.at_tip)][0] if self.at_tip else None

    def new(self) -> list[Migration]:
        """Return the migrations that the base does not have, in order."""
        count = Counter(migration.number for migration in self.migrations)
        return [
            migration
            for migration in self.migrations
            if not self._is_of_base(migration, is_only=count[migration.number] == 1)
        ]

    def changed_repeatables(self) -> list[Migration]:
        """Return the repeatables that are new here, or were edited."""
        return [file for file in self.repeatables if not self._is_repeatable_of_base(file)]

    def _is_repeatable_of_base(self, file: Migration) -> bool:
        others = (self.repeatables_at_fork.get(file.name), self.repeatables_at_tip.get(file.name))
        return any(other is not None and other.checksum == file.checksum for other in others)

    def repeatables_before(self) -> Sequence[Migration]:
        """Return the repeatables as the base has them, in the order in which they run."""
        unchanged = {file.name: file for file in self.repeatables if self._is_repeatable_of_base(file)}
        before = {**self.repeatables_at_fork, **unchanged}
        return in_run_order(before.values(), before)[0]

    def changed(self) -> list[Migration]:
        """Return the migrations that the base does not have, and the repeatables that are new or were edited."""
        return [*self.new(), *self.changed_repeatables()]

    def deleted_repeatables(self) -> list[Migration]:
        """Return the repeatables that the base has, and had where this branch left it, and the work tree does not have."""
        here = {file.name for file in self.repeatables}
        at_tip = self.repeatables_at_tip
        return [file for name, file in self.repeatables_at_fork.items() if name in at_tip and name not in here]

    def new_squashes(self) -> list[Migration]:
        """Return the squashes that the base does not have. A squash has the version of the last file that it replaces."""
        return [migration for migration in self.migrations if migration.squashes and not self._has(migration)]

    def _has(self, migration: Migration) -> bool:
        """Return whether the base has exactly this file."""
        files = (self.at_fork.get(migration.number, ()), self.at_tip.get(migration.number, ()))
        return any(file.is_identical_to(migration) for file in chain.from_iterable(files))

    def _is_of_base(self, migration: Migration, *, is_only: bool) -> bool:
        """Return whether the file is the base's, even if it was edited or moved.

        Args:
            is_only: whether no other file of the work tree has the version. A merge can add the base's file beside the branch's.
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
        name: the name of the commit, for messages.
        content: the content of the files, by path.
        stems: the stems of the current catalog files, by the catalog's name.
    """

    name: str
    content: Mapping[str, bytes] = field(repr=False)
    stems: Mapping[str, str]
    read_name: ReadName

    def catalogs(self) -> Iterator[BaseCatalog]:
        versions, others = self._migrations(), self._repeatables()
        for stem in dict.fromkeys((*versions, *others)):
            file = f"catalogs/{stem}.yaml"
            name, doubt = self._name(stem, file)
            paths = (file, f"migrations/{stem}") if file in self.content else (f"migrations/{stem}",)
            yield BaseCatalog(name, doubt, paths, tuple(versions.get(stem, ())), tuple(others.get(stem, ())))

    def _repeatables(self) -> dict[str, list[Migration]]:
        """Return the valid repeatables, by the folder of their catalog."""
        folders: dict[str, list[Migration]] = {}
        for path, content in sorted(self.content.items()):
            with suppress(MigrationFileError, SeveralErrors):
                if path.endswith(".sql") and repeatable_name(path):
                    file = as_migration(content, Path(path), path, None)
                    folders.setdefault(PurePosixPath(path).parts[1], []).append(file)
        return folders

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

        Where its file cannot be read, the name is that of the current catalog whose file has the same stem.
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
    by_number: dict[int, list[BaseFile]] = {}
    for catalog in catalogs:
        for file in catalog.files if catalog.name == name else ():
            by_number.setdefault(file.number, []).append(file)
    return by_number


def _repeatables(catalogs: Iterable[BaseCatalog], name: str) -> Mapping[str, Migration]:
    """Return the repeatables of the catalogs of this name, by their names."""
    return {file.name: file for catalog in catalogs if catalog.name == name for file in catalog.repeatables}


def _inner(path: str) -> str:
    """Return a path without `migrations/` and the folder of the catalog."""
    return path.split("/", 2)[2]


def check_against_base(
    root: Path,
    ref: str,
    stems: Mapping[str, str],
    migrations: Mapping[str, Sequence[Migration]],
    required_headers: Mapping[str, Collection[str]],
    read_name: ReadName,
    *,
    all_catalogs: bool,
) -> dict[str, tuple[str, ...]]:
    """Compare migrations with those of a base branch, and return warnings by the catalog's name.

    Args:
        stems: the stems of all catalog files in the work tree, by the catalog's name.
        migrations: the migrations of the catalogs to compare, by the catalog's name.
        required_headers: names of the headers that their new files must have, by the catalog's name.
        read_name: reads a catalog's name from its file in the base.
        all_catalogs: whether a catalog that only the base has is an error.

    Raises:
        ConfigurationError: as `read_base`.
        HistoryDisagrees: every file that was edited or deleted, and every new one whose version is not above the base's.
        MigrationFileError: every new file whose version is also that of another file of the base, or that lacks a header.
    """
    base = read_base(root, ref, stems, read_name)
    errors: list[GlacierbaseError] = []
    for name, files in migrations.items():
        compared = base.compared(name, files)
        errors += _of_catalog(compared, f"migrations/{stems[name]}")
        errors += missing_headers(compared.changed(), required_headers[name])
    if all_catalogs:
        errors += _gone(base, stems)
    raise_all(errors)
    return {name: tuple(_warnings(base, name, root, files)) for name, files in migrations.items()}


def _warnings(base: Base, name: str, root: Path, migrations: Sequence[Migration]) -> Iterator[str]:
    if base.is_empty:
        # The project is new, or a branch has moved it and left a link in its place.
        yield f"{base.ref} has no project in the folder {root}: nothing was compared"
    for catalog in base.at_tip:
        if catalog.name == name:
            yield from catalog.doubt
    for file in base.compared(name, migrations).deleted_repeatables():
        yield (
            f"{file.location} of {base.ref} was deleted: what it made stays until a versioned file drops it; in each environment,"
            f" `repair {file.name} --as removed` accepts that"
        )


def _gone(base: Base, stems: Mapping[str, str]) -> Iterator[HistoryDisagrees]:
    """Yield an error for each catalog that this branch deleted and the base still has."""
    at_tip = {catalog.name for catalog in base.at_tip}
    return (
        _catalog_gone(base, base_catalog)
        for base_catalog in base.at_fork
        if base_catalog.name not in stems and base_catalog.name in at_tip
    )


def _catalog_gone(base: Base, catalog: BaseCatalog) -> HistoryDisagrees:
    has = f"{base.ref} has {len(catalog.files)} of its migrations"
    what = f"catalog {catalog.name}: {has}, but this branch has no catalog of this name"
    restore = git_command("checkout", _fork_name(base), "--", *catalog.paths)
    return HistoryDisagrees(
        "BASE_FILE_DELETED",
        "; ".join((what, *catalog.doubt)),
        f"restore it: {restore}; a renamed catalog file keeps `name: {catalog.name}`",
        path=catalog.paths[0],
        catalog=catalog.name,
    )


def _of_catalog(compared: Compared, folder: str) -> Iterator[GlacierbaseError]:
    """Yield the errors of one catalog's migrations, whose folder is `folder`."""
    squashed = {
        (squashed.number, squashed.checksum) for migration in compared.migrations for squashed in migration.squashes
    }
    here: dict[int, list[Migration]] = {}
    for migration in compared.migrations:
        here.setdefault(migration.number, []).append(migration)
    for number, files in compared.at_fork.items():
        now = compared.at_tip.get(number) or files
        for file in files if squashed.isdisjoint((number, file.checksum) for file in now) else ():
            yield from _of_file(compared, file, here.get(number, []), folder)
    for migration in compared.new():
        yield from _squash(compared, migration) if migration.squashes else _order(compared, migration)


def _squash(compared: Compared, squash: Migration) -> Iterator[GlacierbaseError]:
    """Yield an error if a squash replaces a file that the base never had: an environment of the base has only part of it."""
    highest = compared.highest
    if highest is None or squash.number < highest.number:
        yield from _order(compared, squash)
        return
    what = f"it replaces the files up to version {squash.version}, but {compared.base.ref} ends at {highest.version}"
    hint = f"merge the new files first, or restore them and squash to {highest.version} only"
    yield file_error(squash.location, "INVALID_SQUASH", what, hint)


def _of_file(compared: Compared, file: BaseFile, here: Sequence[Migration], folder: str) -> Iterator[HistoryDisagrees]:
    """Yield an error if this branch edited or deleted the file, unless the base has made the same change since."""
    at_tip = compared.at_tip.get(file.number, ())
    if not here and at_tip:
        yield _deleted(compared, file, folder)
    for migration in here:
        if migration.checksum not in (file.checksum, *(file.checksum for file in at_tip)):
            yield _edited(compared, file, migration)


def _edited(compared: Compared, file: BaseFile, migration: Migration) -> HistoryDisagrees:
    restore = _restore(compared, file, migration.location)
    return HistoryDisagrees(
        "BASE_FILE_EDITED",
        f"{migration.location}: differs from {compared.base.ref}, where other environments may have applied it",
        f"restore it ({restore}), and put the change into a new migration",
        path=migration.location,
    )


def _deleted(compared: Compared, file: BaseFile, folder: str) -> HistoryDisagrees:
    target = PurePosixPath(folder, *PurePosixPath(file.path).parts[2:])
    return HistoryDisagrees(
        "BASE_FILE_DELETED",
        f"{file.path}: exists in {compared.base.ref}, but is deleted in this branch",
        f"restore it: {_restore(compared, file, str(target))}",
        path=file.path,
    )


def _restore(compared: Compared, file: BaseFile, target: str) -> str:
    """Return the command that restores the file as it was where the branch left the base."""
    source = compared.base.ref if file in compared.at_tip.get(file.number, ()) else _fork_name(compared.base)
    if target == file.path:
        return git_command("checkout", source, "--", target)
    return f"{git_command('show', f'{source}:./{file.path}')} > {quote(from_here(target))}"


def _fork_name(base: Base) -> str:
    return base.fork.commit[:12] if base.fork.is_behind else base.ref


def _order(compared: Compared, migration: Migration) -> Iterator[GlacierbaseError]:
    """Yield an error if the version of a new file is not above those of the base's tip."""
    ref, highest = compared.base.ref, compared.highest
    same = compared.at_tip.get(migration.number)
    if same:
        yield MigrationFileError(
            "DUPLICATE_VERSION",
            f"{migration.location}, line 1: has the same version as {same[0].path} of {ref}",
            _rebase(compared.base),
            path=migration.location,
            line=1,
            version=migration.version,
            base_path=same[0].path,
        )
    elif highest and migration.number < highest.number:
        yield HistoryDisagrees(
            "VERSION_BELOW_BASE",
            f"{migration.location}: its version is not above {PurePosixPath(highest.path).name}, the highest of {ref}",
            _rebase(compared.base),
            path=migration.location,
            version=migration.version,
        )


def _rebase(base: Base) -> str:
    """Return the command that gives the file a new version; run before the merge, it avoids a conflict.

    The command commits: git refuses to merge while a rename is staged.
    """
    commit = ("--commit",) if base.fork.is_behind else ()
    merge = f"; then merge: {git_command('merge', base.ref)}" if base.fork.is_behind else ""
    return f"`{command('rebase', '--base', base.ref, *commit)}` gives it a version above{merge}"
