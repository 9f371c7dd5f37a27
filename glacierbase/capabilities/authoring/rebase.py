"""`rebase`: give the new files of a branch versions above those of its base branch, and files that a merge added beside older ones.

All renames are planned first; then all or none are made.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from glacierbase.catalogs.catalogfile import read_name
from glacierbase.errors import ConfigurationError, GlacierbaseError, raise_all
from glacierbase.migrations.folder import migration_files, newer_duplicates, read_migrations
from glacierbase.migrations.git_base import Base, Compared, read_base
from glacierbase.migrations.git_files import path_in_git, tracked, usual_base
from glacierbase.migrations.headers import file_error
from glacierbase.migrations.new_files import is_time, time_above
from glacierbase.model.command import command, move_command, on_catalog
from glacierbase.model.migration import Migration
from glacierbase.model.result import Result
from glacierbase.run.git import GitFailed, git


@dataclass(frozen=True, slots=True)
class RenamedFile:
    """A migration that `rebase` gave a new version, with `git mv` where git tracks the file.

    Attributes:
        command: the command that does the same.
    """

    old_version: str
    version: str
    old_path: str
    path: str
    tracked: bool
    command: str


@dataclass(frozen=True, slots=True)
class RebaseResult(Result):
    """The files that `rebase` renamed, in order; with `--dry-run` those that it would rename.

    Attributes:
        base: the git ref that the versions are above now.
        commit: the commit of the renames, or None.
    """

    base: str = ""
    renamed: tuple[RenamedFile, ...] = ()
    dry_run: bool = False
    commit: str | None = None

    def lines(self) -> list[str]:
        if not self.renamed:
            return [f"nothing to do: every new version is above those of {self.base}"]
        renamed = f"committed as {self.commit}" if self.commit else "not committed"
        ended = "nothing was renamed" if self.dry_run else renamed
        return [f"base {self.base}", *(file.command for file in self.renamed), ended]


def rebase(
    root: Path, folders: Mapping[str, Path], catalogs: Collection[str], ref: str | None, *, dry_run: bool, commit: bool
) -> tuple[RebaseResult, ...]:
    """Rename the files that the base branch lacks and whose versions are not above it. Contacts nothing.

    Args:
        root: the root of the project.
        folders: the migrations folders of all catalogs, by name.
        catalogs: those whose files are renamed; empty for all.
        ref: the base branch; default the remote's default branch.
        dry_run: only return what would be renamed.
        commit: commit the renames.

    Raises:
        GlacierbaseError: all that is wrong with files or base; nothing was renamed.
    """
    ref = ref or usual_base(root)
    base = read_base(root, ref, {name: folder.name for name, folder in folders.items()}, read_name)
    planned = _planned(root, base, {name: folder for name, folder in folders.items() if name in (catalogs or folders)})
    renames = [rename for catalog_renames in planned.values() for rename in catalog_renames]
    done = None
    if not dry_run:
        rename_all(renames, root)
        done = commit_renames(renames, root, ref) if commit else None
    results = []
    for name, catalog_renames in planned.items():
        with on_catalog(name if catalogs or len(folders) > 1 else None):
            results.append(_result(name, ref, catalog_renames, dry_run, done))
    return tuple(results)


def _planned(root: Path, base: Base, folders: Mapping[str, Path]) -> dict[str, list[Rename]]:
    """Return the renames of each catalog."""
    files = migration_files(root)
    errors: list[GlacierbaseError] = []
    read = {}
    for name, folder in folders.items():
        read[name], wrong = read_migrations(folder, root, files)
        errors += wrong
    raise_all(errors)
    return {name: plan_renames(base.compared(name, migrations), root) for name, migrations in read.items()}


def _result(name: str, ref: str, renames: Collection[Rename], dry_run: bool, commit: str | None) -> RebaseResult:
    renamed = tuple(
        RenamedFile(
            rename.migration.version,
            rename.version,
            rename.migration.location,
            rename.path,
            rename.tracked,
            move_command(rename.migration.location, rename.path, tracked=rename.tracked),
        )
        for rename in renames
    )
    return RebaseResult(
        name,
        "",
        warnings=tuple(_where_applied(rename, max(rename.version for rename in renames)) for rename in renames),
        base=ref,
        renamed=renamed,
        dry_run=dry_run,
        commit=commit if any(file.tracked for file in renamed) else None,
    )


def _where_applied(rename: Rename, highest: str) -> str:
    """Args:
    highest: the highest version that a file got.
    """
    migration, beside = rename.migration, rename.beside
    if beside:
        free = str(int(highest) + 1).zfill(len(highest))
        moved = move_command(beside.location, _path(beside, free), tracked=rename.tracked)
        return (
            f"an environment that has applied {migration.location} would never run {beside.location}, which has its version;"
            f" if there is one, give that file, too, a version above all others: `{moved}`"
        )
    removed = command("repair", migration.version, "--as", "removed", "--reason", f"renamed to {rename.version}")
    return (
        f"an environment that has applied {migration.version} will miss it and run the file again as {rename.version}; record"
        f" there, with its --env: {removed}"
    )


@dataclass(frozen=True, slots=True)
class Rename:
    """A migration with its new version and path. Paths are relative to the project.

    Attributes:
        tracked: whether git tracks the file.
        beside: another file that keeps the former version, or None.
    """

    migration: Migration
    version: str
    path: str
    tracked: bool
    beside: Migration | None


def plan_renames(compared: Compared, root: Path) -> list[Rename]:
    """Return the renames after which every new file is above the base, in the same order as before, and no version occurs twice.

    Args:
        root: the root of the project.

    Raises:
        ConfigurationError: `GIT_FAILED`.
        MigrationFileError: a squash is not above the base.
    """
    new = compared.new()
    merged = newer_duplicates((migration for migration in compared.migrations if migration not in new), root)
    moved = new_versions(compared, merged=merged)
    raise_all([_squash_renamed(migration) for migration, _ in moved if migration.squashes])
    known = _tracked(root, [migration.path for migration, _ in moved])
    kept = {file.number: file for file in compared.migrations if all(file is not migration for migration, _ in moved)}
    return [
        _rename(migration, version, migration.path in known, kept.get(migration.number)) for migration, version in moved
    ]


def new_versions(
    compared: Compared, now: datetime | None = None, merged: Sequence[Migration] = ()
) -> list[tuple[Migration, str]]:
    """Return the new files that need another version, each with that version, in order.

    Args:
        merged: files of the base that count as new: a merge has added them beside an older file of the same version.
    """
    new = sorted((*compared.new(), *merged), key=lambda migration: (migration.number, migration.location))
    of_base = [migration.number for migration in compared.migrations if migration not in new]
    highest = max([*compared.at_tip, *of_base], default=0)
    digits = len(compared.highest.version) if compared.highest else 0
    numbers = _numbers(new, highest, now)
    return [(migration, str(number).zfill(max(digits, len(migration.version)))) for migration, number in numbers]


def rename_all(renames: Sequence[Rename], root: Path) -> None:
    """Rename all files, or none if one of them cannot be renamed.

    Raises:
        ConfigurationError: `GIT_FAILED`.
    """
    # The last file first: a file may get the former path of another.
    for rename in reversed(renames):
        try:
            _move(rename.migration.path, root / rename.path, root, tracked=rename.tracked)
        except BaseException as error:
            left = [rename.path for rename in renames if not _is_undone(rename, root)]
            if not isinstance(error, (OSError, GitFailed)):
                raise
            state = f"still renamed: {', '.join(left)}" if left else "nothing was renamed"
            what = f"{rename.migration.location} cannot be renamed to {rename.path}: {error}; {state}"
            raise _failed(what, state="" if left else None) from error


def commit_renames(renames: Sequence[Rename], root: Path, ref: str) -> str | None:
    """Commit the renames of tracked files, and nothing else; return the commit, or None if git tracks none of them.

    No hook runs.

    Raises:
        ConfigurationError: `GIT_FAILED`.
    """
    pairs = [(rename.migration.path, root / rename.path) for rename in renames if rename.tracked]
    if not pairs:
        return None
    paths = [path_in_git(path, root) for pair in pairs for path in pair]
    try:
        git(root, "--literal-pathspecs", "commit", "-q", "-m", f"Rebase migrations onto {ref}", "--", *paths)
        return git(root, "rev-parse", "HEAD").decode().strip()
    except (OSError, GitFailed) as error:
        what = f"the files are renamed, but git did not commit that: {error}"
        hint = "remove the cause, and commit the renames with git"
        raise ConfigurationError("GIT_FAILED", what, hint, state="") from error


def _numbers(new: Sequence[Migration], highest: int, now: datetime | None) -> Iterator[tuple[Migration, int]]:
    """Yield the files that need another version, with its number."""
    late = [migration for migration in new if migration.number <= highest]
    above = new[len(late) :]
    previous = _first(late, above, highest, now) - 1 if late else highest
    for migration in new:
        if migration.number > max(previous, highest):
            previous = migration.number
        else:
            previous += 1
            yield migration, previous


def _first(late: Sequence[Migration], above: Sequence[Migration], highest: int, now: datetime | None) -> int:
    """Return the version of the first late file: the UTC time if its version is a time and the files above can keep theirs."""
    first = time_above(highest, now) if is_time(late[0].version) else highest + 1
    return first if not above or first + len(late) <= above[0].number else highest + 1


def _rename(migration: Migration, version: str, tracked: bool, beside: Migration | None) -> Rename:
    return Rename(migration, version, _path(migration, version), tracked, beside)


def _path(migration: Migration, version: str) -> str:
    """Return the path of a file under another version."""
    return str(PurePosixPath(migration.location).with_name(f"{version}_{migration.name}.sql"))


def _move(source: Path, target: Path, root: Path, *, tracked: bool) -> None:
    if tracked:
        git(root, "mv", "--", path_in_git(source, root), path_in_git(target, root))
    elif os.path.lexists(target):  # Created after the files were listed.
        raise FileExistsError(f"{target} exists")
    else:
        source.rename(target)


def _is_undone(rename: Rename, root: Path) -> bool:
    """Undo a rename if it was done; return whether the file is in its place."""
    source, target = rename.migration.path, root / rename.path
    if os.path.lexists(source) or not os.path.lexists(target):
        return True
    try:
        _move(target, source, root, tracked=rename.tracked)
    except GitFailed:  # git was stopped before it wrote its index.
        target.rename(source)
    except OSError:
        return False
    return True


def _tracked(root: Path, paths: Sequence[Path]) -> set[Path]:
    try:
        return tracked(root, paths)
    except (OSError, GitFailed) as error:
        raise _failed(f"git does not list its files: {error}; nothing was renamed") from error


def _squash_renamed(squash: Migration) -> GlacierbaseError:
    return file_error(
        squash.location,
        "INVALID_SQUASH",
        "a squash cannot get another version: it lists the files up to its own; nothing was renamed",
        f"revert the commit that added it, rebase, and run `{command('squash', '--to', 'VERSION')}` again",
    )


def _failed(what: str, state: str | None = None) -> GlacierbaseError:
    return ConfigurationError("GIT_FAILED", what, f"remove the cause, and run `{command('rebase')}` again", state=state)
