"""Check the migrations of a branch against its base: none edited, none deleted, every new version above the base's highest.

What the branch edited or deleted is judged where it left the base, so that it may be behind. The order of versions is judged
at the base's tip, which the branch will be merged into.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from shlex import quote

from glacierbase.errors import GlacierbaseError, HistoryDisagrees, MigrationFileError, raise_all
from glacierbase.migrations.git_base import Base, BaseCatalog, BaseFile, Compared, ReadName, read_base
from glacierbase.migrations.headers import file_error, missing_headers
from glacierbase.model.command import command, from_here, git_command
from glacierbase.model.migration import Migration


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
        errors += missing_headers(compared.new(), required_headers[name])
    if all_catalogs:
        errors += _gone(base, stems)
    raise_all(errors)
    return {name: tuple(_warnings(base, name, root)) for name in migrations}


def _warnings(base: Base, name: str, root: Path) -> Iterator[str]:
    if base.is_empty:
        # The project is new, or a branch has moved it and left a link in its place.
        yield f"{base.ref} has no project in the folder {root}: nothing was compared"
    for catalog in base.at_tip:
        if catalog.name == name:
            yield from catalog.doubt


def _gone(base: Base, stems: Mapping[str, str]) -> Iterator[HistoryDisagrees]:
    """Yield an error for each catalog that this branch lacks, although it had it, and the base still has it."""
    at_tip = {catalog.name for catalog in base.at_tip}
    return (_catalog_gone(base, each) for each in base.at_fork if each.name not in stems and each.name in at_tip)


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
    """Yield what is wrong with the migrations of one catalog, whose folder is `folder`."""
    squashed = {(each.number, each.checksum) for migration in compared.migrations for each in migration.squashes}
    here: dict[int, list[Migration]] = {}
    for migration in compared.migrations:
        here.setdefault(migration.number, []).append(migration)
    for number, files in compared.at_fork.items():
        now = compared.at_tip.get(number) or files
        for file in files if squashed.isdisjoint((number, each.checksum) for each in now) else ():
            yield from _of_file(compared, file, here.get(number, []), folder)
    for migration in compared.new():
        yield from _squash(compared, migration) if migration.squashes else _order(compared, migration)


def _squash(compared: Compared, squash: Migration) -> Iterator[GlacierbaseError]:
    """Yield an error if a squash replaces a file that the base never had: an environment of the base is in the middle of it."""
    highest = compared.highest
    if highest is None or squash.number < highest.number:
        yield from _order(compared, squash)
        return
    what = f"it replaces the files up to version {squash.version}, but {compared.base.ref} ends at {highest.version}"
    hint = f"merge the new files first, or restore them and squash to {highest.version} only"
    yield file_error(squash.location, "INVALID_SQUASH", what, hint)


def _of_file(compared: Compared, file: BaseFile, here: Sequence[Migration], folder: str) -> Iterator[HistoryDisagrees]:
    """Yield an error if this branch edited or deleted the file; not where the base did the same since."""
    at_tip = compared.at_tip.get(file.number, ())
    if not here and at_tip:
        yield _deleted(compared, file, folder)
    for migration in here:
        if migration.checksum not in (file.checksum, *(each.checksum for each in at_tip)):
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
    """Return the command that gives the file a new version; that comes before a merge, which could conflict otherwise.

    It commits: git refuses to merge while a rename is staged.
    """
    commit = ("--commit",) if base.fork.is_behind else ()
    merge = f"; then merge: {git_command('merge', base.ref)}" if base.fork.is_behind else ""
    return f"`{command('rebase', '--base', base.ref, *commit)}` gives it a version above{merge}"
