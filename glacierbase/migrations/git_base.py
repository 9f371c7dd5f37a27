"""Compare the migrations of a branch with those of its base: none edited, none deleted, every new version above the highest.

A catalog is identified by its name, as in the history: its file and folder may be renamed where the key `name` stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import TypeAlias

from glacierbase.errors import GlacierbaseError, HistoryDisagrees, raise_all
from glacierbase.migrations.git_files import files_at
from glacierbase.migrations.headers import missing_headers
from glacierbase.model.migration import Migration, checksum, version_number

# Returns a catalog's name. Arguments: the bytes of its file, the file's stem, and the file's name in messages.
ReadName: TypeAlias = Callable[[bytes, str, str], str]


@dataclass(frozen=True, slots=True)
class _File:
    """A migration file of the base; `path` is relative to the project."""

    number: int
    path: str
    checksum: str


@dataclass(frozen=True, slots=True)
class _Catalog:
    """A catalog that has migrations in the base.

    Attributes:
        name: of its catalog file there.
        doubt: why the name is only assumed; empty where it is not.
        paths: the paths whose checkout restores the catalog.
    """

    name: str
    doubt: tuple[str, ...]
    paths: tuple[str, ...]
    files: tuple[_File, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Base:
    """The project's files at a git ref.

    Attributes:
        content: of the files, by path.
        stems: the stems of today's catalog files, by the catalog's name.
    """

    ref: str
    content: Mapping[str, bytes] = field(repr=False)
    stems: Mapping[str, str]
    read_name: ReadName

    def catalogs(self) -> Iterator[_Catalog]:
        for stem, files in self._migrations().items():
            file = f"catalogs/{stem}.yaml"
            name, doubt = self._name(stem, file)
            paths = (file, f"migrations/{stem}") if file in self.content else (f"migrations/{stem}",)
            yield _Catalog(name, doubt, paths, tuple(files))

    def _migrations(self) -> dict[str, list[_File]]:
        """Return the migration files, by the folder of their catalog."""
        folders: dict[str, list[_File]] = {}
        for path, content in self.content.items():
            top, *inner, name = PurePosixPath(path).parts
            number = version_number(name.partition("_")[0])
            if top == "migrations" and inner and inner[0][0] != "." and name.endswith(".sql") and number is not None:
                folders.setdefault(inner[0], []).append(_File(number, path, checksum(content)))
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
            return self.read_name(content, stem, f"{self.ref}:{file}"), ()
        except GlacierbaseError as error:
            why = error.message.replace("\n", "; ")
            return assumed, (f"{why}; its name is taken to be {assumed}",)


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
    """Compare migrations with those at a git ref, and return warnings by the catalog's name.

    Args:
        stems: the stems of all catalog files in the work tree, by the catalog's name.
        migrations: the migrations of the catalogs to compare, by the catalog's name.
        required_headers: names of the headers that their new files must have, by the catalog's name.
        read_name: reads a catalog's name from its file in the base.
        all_catalogs: whether a catalog that only the base has is an error.

    Raises:
        ConfigurationError: `root` is not in a git work tree, or there is no such ref.
        HistoryDisagrees: every file that was edited or deleted, and every new one whose version is not above the base's.
        MigrationFileError: every new file without a required header.
    """
    errors: list[GlacierbaseError] = []
    content = files_at(root, ref)
    # The project is new, or a branch has moved it and left a link in its place.
    nothing: tuple[str, ...] = () if content else (f"{ref} has no project in the folder {root}: nothing was compared",)
    warnings = dict.fromkeys(migrations, nothing)
    known: dict[str, set[int]] = {}
    for base in _Base(ref, content, stems, read_name).catalogs():
        if base.name in migrations:
            known[base.name] = {file.number for file in base.files}
            warnings[base.name] += base.doubt
            errors += _edited(ref, base.files, migrations[base.name], f"migrations/{stems[base.name]}")
            errors += _too_low(ref, base.files, migrations[base.name])
        elif all_catalogs and base.name not in stems:
            errors.append(_gone(ref, base))
    for name, files in migrations.items():
        new = (migration for migration in files if migration.number not in known.get(name, ()))
        errors += missing_headers(new, required_headers[name])
    raise_all(errors)
    return warnings


def _gone(ref: str, base: _Catalog) -> HistoryDisagrees:
    what = f"catalog {base.name}: {ref} has {len(base.files)} of its migrations, but this branch has no catalog of this name"
    paths = " ".join(map(quote, base.paths))
    return HistoryDisagrees(
        "BASE_FILE_DELETED",
        "; ".join((what, *base.doubt)),
        f"restore it: git checkout {quote(ref)} -- {paths}; a renamed catalog file keeps `name: {base.name}`",
        path=base.paths[0],
        catalog=base.name,
    )


def _edited(
    ref: str, base: Sequence[_File], migrations: Sequence[Migration], folder: str
) -> Iterator[HistoryDisagrees]:
    here = {migration.number: migration for migration in migrations}
    for file in base:
        migration = here.get(file.number)
        if migration is None:
            yield _deleted(ref, file, folder)
        elif migration.checksum != file.checksum:
            yield HistoryDisagrees(
                "BASE_FILE_EDITED",
                f"{migration.location}: differs from {ref}, where other environments may have applied it",
                f"restore it ({_restore(ref, file, migration.location)}), and put the change into a new migration",
                path=migration.location,
            )


def _deleted(ref: str, file: _File, folder: str) -> HistoryDisagrees:
    target = PurePosixPath(folder, *PurePosixPath(file.path).parts[2:])
    return HistoryDisagrees(
        "BASE_FILE_DELETED",
        f"{file.path}: exists in {ref}, but is deleted in this branch",
        f"restore it: {_restore(ref, file, str(target))}",
        path=file.path,
    )


def _restore(ref: str, file: _File, target: str) -> str:
    if target == file.path:
        return f"git checkout {quote(ref)} -- {quote(target)}"
    return f"git show {quote(f'{ref}:./{file.path}')} > {quote(target)}"


def _too_low(ref: str, base: Sequence[_File], migrations: Sequence[Migration]) -> list[HistoryDisagrees]:
    known = {file.number: file.path for file in base}
    highest = max(known)
    newest = max([highest, *(migration.number for migration in migrations)])
    late = [migration for migration in migrations if migration.number not in known and migration.number < highest]
    return [
        HistoryDisagrees(
            "VERSION_BELOW_BASE",
            f"{migration.location}: its version is not above {PurePosixPath(known[highest]).name}, the highest of {ref}",
            f"git mv {quote(migration.location)} {quote(_moved(migration, newest + number))}",
            path=migration.location,
            version=migration.version,
        )
        for number, migration in enumerate(late, start=1)
    ]


def _moved(migration: Migration, number: int) -> str:
    version = str(number).zfill(len(migration.version))
    return str(PurePosixPath(migration.location).with_name(f"{version}_{migration.name}.sql"))
