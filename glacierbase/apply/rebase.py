"""`rebase`: give the new files of a branch versions above those of the branch that it will be merged into."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from glacierbase.apply.file_results import RebaseResult, RenamedFile
from glacierbase.catalogs.catalogfile import read_name
from glacierbase.errors import GlacierbaseError, raise_all
from glacierbase.migrations.folder import migration_files, read_migrations
from glacierbase.migrations.git_base import Base, read_base
from glacierbase.migrations.git_files import usual_base
from glacierbase.migrations.rebase import Rename, commit_renames, plan_renames, rename_all
from glacierbase.model.command import command, move_command, on_catalog


def rebase(
    root: Path, folders: Mapping[str, Path], catalogs: Collection[str], ref: str | None, *, dry_run: bool, commit: bool
) -> tuple[RebaseResult, ...]:
    """Rename the files that are new against a base branch, and not above it. Contacts nothing.

    Args:
        root: of the project.
        folders: the migrations folders of all catalogs, by name.
        catalogs: whose files are renamed; empty for all.
        ref: the base branch; default the remote's default branch.
        dry_run: only return what would be renamed.
        commit: commit the renames.

    Raises:
        GlacierbaseError: all that is wrong with files or base; nothing was renamed.
    """
    ref = ref or usual_base(root)
    base = read_base(root, ref, {name: folder.name for name, folder in folders.items()}, read_name)
    planned = _planned(root, base, {name: folder for name, folder in folders.items() if name in (catalogs or folders)})
    renames = [rename for found in planned.values() for rename in found]
    done = None
    if not dry_run:
        rename_all(renames, root)
        done = commit_renames(renames, root, ref) if commit else None
    results = []
    for name, found in planned.items():
        with on_catalog(name if catalogs or len(folders) > 1 else None):
            results.append(_result(name, ref, found, dry_run, done))
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
    return {name: plan_renames(base.compared(name, found), root) for name, found in read.items()}


def _result(name: str, ref: str, renames: Collection[Rename], dry_run: bool, commit: str | None) -> RebaseResult:
    renamed = tuple(
        RenamedFile(
            each.migration.version,
            each.version,
            each.migration.location,
            each.path,
            each.tracked,
            move_command(each.migration.location, each.path, tracked=each.tracked),
        )
        for each in renames
    )
    return RebaseResult(
        name,
        "",
        warnings=tuple(map(_where_applied, renamed)),
        base=ref,
        renamed=renamed,
        dry_run=dry_run,
        commit=commit if any(each.tracked for each in renamed) else None,
    )


def _where_applied(file: RenamedFile) -> str:
    reason = f"renamed to {file.version}"
    return (
        f"an environment that has applied {file.old_version} will miss it and run the file again as {file.version}; record there,"
        f" with its --env: {command('repair', file.old_version, '--as', 'removed', '--reason', reason)}"
    )
