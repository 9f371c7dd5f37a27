"""`new`: write the next migration file, with `--reverting VERSION` one that undoes another; or a repeatable."""

from __future__ import annotations

from pathlib import Path

from glacierbase.capabilities.authoring.inverse import inverse
from glacierbase.catalogs.folder import file_of
from glacierbase.errors import ConfigurationError, MigrationFileError, raise_all
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.new_files import FileCheck, git_user, write_migration, write_repeatable
from glacierbase.migrations.repeatables import versioned
from glacierbase.model.arguments import unknown_version, version_given
from glacierbase.model.command import command, on_catalog
from glacierbase.model.result import WrittenResult


def new(
    root: Path,
    folder: Path,
    description: str,
    *,
    catalog: str | None,
    author: str | None,
    reverting: str | None,
    repeatable: str | None = None,
    check: FileCheck,
) -> WrittenResult:
    """Write the next migration file of a catalog, or a repeatable, with its headers.

    Args:
        root: the root of the project.
        folder: the migrations folder of the catalog.
        catalog: the catalog's name, if the caller named it.
        author: default git's `user.name`.
        reverting: write statements that undo this version, as far as possible.
        repeatable: the name of the repeatable to write in place of a versioned file.
        check: checks a file with statements before it is written.

    Raises:
        ConfigurationError: `CONFLICTING_OPTIONS`: a repeatable undoes no version.
    """
    file = file_of(folder, root)
    headers = file.required_headers
    if repeatable is not None:
        if reverting:
            raise ConfigurationError(
                "CONFLICTING_OPTIONS", "--repeatable and --reverting exclude each other", "use one of them"
            )
        path = write_repeatable(folder, root, repeatable, description, author or git_user(), headers, check=check)
        return WrittenResult(catalog or folder.name, "", files=(str(path),))
    with on_catalog(catalog):
        sql = reverting_sql(root, folder, reverting) if reverting else ""
    path = write_migration(
        folder,
        root,
        description,
        author or git_user(),
        sql=sql,
        headers=headers,
        versions=file.versions,
        check=check,
        reason=description,
    )
    return WrittenResult(catalog or folder.name, "", files=(str(path),))


def reverting_sql(root: Path, folder: Path, version: str) -> str:
    """Return the SQL that undoes a migration as far as that is possible. Contacts nothing.

    Args:
        folder: the migrations folder of the catalog.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`, or `NOT_INVERTIBLE`: no statement of it has an inverse.
        MigrationFileError, SeveralErrors: all that is wrong with the files.
    """
    number = version_given(version)
    files, errors = load_migrations(folder, root, headers=None)
    raise_all(errors)
    migrations = versioned(files)
    migration = next((migration for migration in migrations if migration.number == number), None)
    squash = next(
        (migration for migration in migrations if any(number == old.number for old in migration.squashes)), None
    )
    if squash is not None:
        raise unknown_version(f"version {version} is part of {squash.location}, a squash: write its inverse by hand")
    if migration is None:
        raise unknown_version(f"there is no migration with version {version}")
    earlier = [migration.text for migration in migrations if migration.number < number]
    try:
        sql, has_statement = inverse(migration.text, _dialect(root, folder), earlier)
    except MigrationFileError as error:
        what = f"{migration.location}, {error.message}"
        raise MigrationFileError(error.code, what, error.hint, path=migration.location) from error
    if not has_statement:
        raise ConfigurationError(
            "NOT_INVERTIBLE",
            f"{migration.location}: none of its statements has an inverse; nothing was written",
            f"write the change that you want: `{command('new', 'why it is undone')}`",
            path=migration.location,
        )
    return sql


def _dialect(root: Path, folder: Path) -> str:
    """Return the dialect of the catalog in its first environment; all environments share the files."""
    file = file_of(folder, root)
    return file.for_environment(file.environments[0], root, resolve=False).dialect
