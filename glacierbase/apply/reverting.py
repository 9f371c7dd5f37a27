"""The SQL of `new --reverting VERSION`."""

from __future__ import annotations

from pathlib import Path

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError, MigrationFileError, raise_all
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.inverse import inverse
from glacierbase.model.arguments import unknown_version, version_given


def reverting_sql(root: Path, folder: Path, version: str) -> str:
    """Return the SQL that undoes a migration as far as that is possible. Contacts nothing.

    Args:
        folder: the migrations folder of the catalog.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`, or `NOT_INVERTIBLE`: no statement of it has an inverse.
        MigrationFileError, SeveralErrors: all that is wrong with the files.
    """
    number = version_given(version)
    migrations, errors = load_migrations(folder, root)
    raise_all(errors)
    found = next((each for each in migrations if each.number == number), None)
    if found is None:
        raise unknown_version(f"there is no migration with version {version}")
    earlier = [each.text for each in migrations if each.number < number]
    try:
        sql, has_statement = inverse(found.text, _dialect(root, folder), earlier)
    except MigrationFileError as error:
        what = f"{found.location}, {error.message}"
        raise MigrationFileError(error.code, what, error.hint, path=found.location) from error
    if not has_statement:
        raise ConfigurationError(
            "NOT_INVERTIBLE",
            f"{found.location}: none of its statements has an inverse; nothing was written",
            "write the change that you want: glacierbase new 'why'",
            path=found.location,
        )
    return sql


def _dialect(root: Path, folder: Path) -> str:
    """Return the engine of the catalog in its first environment; all environments share the files."""
    [file] = [file for file in load_catalog_files(root / "catalogs", root) if file.stem == folder.name]
    return file.for_environment(file.environments[0], root, resolve=False).executor_type
