"""Find the root of a project, and read its catalog files, with all errors in its folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from glacierbase.catalogs.catalogfile import SHARED
from glacierbase.catalogs.folder import CatalogFile, load_catalog_files
from glacierbase.errors import (
    ConfigurationError,
    GlacierbaseError,
    MigrationFileError,
    SeveralErrors,
    collected,
    joined,
    raise_all,
)
from glacierbase.migrations.folder import load_migrations, migration_files
from glacierbase.model.arguments import given
from glacierbase.model.command import command
from glacierbase.model.result import Results
from glacierbase.run.files import FileRefused, is_folder, path_inside

_NOT_RENDERED = "its files were not rendered, because another catalog file cannot be read"


def find_root(path: str | Path | None = None) -> Path:
    """Return the root of the project at `path`.

    Args:
        path: default `GLACIERBASE_PROJECT`, else the nearest folder that holds `catalogs/` and `migrations/`: the working directory
            or one above it.

    Raises:
        ConfigurationError: `PROJECT_NOT_FOUND`, `EMPTY_VALUE`.
    """
    if named := given("path", path, "GLACIERBASE_PROJECT"):
        return Path(named).resolve()
    begin = Path.cwd().resolve()
    for folder in (begin, *begin.parents):
        if is_folder(folder / "catalogs") and is_folder(folder / "migrations"):
            return folder
    raise ConfigurationError(
        "PROJECT_NOT_FOUND",
        f"{begin} is not inside a project: neither it nor a folder above holds both catalogs/ and migrations/",
        f"`{command('init')}` makes one here; --project or GLACIERBASE_PROJECT names another place",
    )


def load_project(root: Path) -> tuple[CatalogFile, ...]:
    """Return the catalog files. If one is wrong, the migration files are checked as well, so that all errors are reported.

    Raises:
        ConfigurationError, MigrationFileError, SeveralErrors: all that is wrong with folders and catalog files.
    """
    if not is_folder(root / "catalogs"):
        raise ConfigurationError(
            "PROJECT_NOT_FOUND", f"{root} holds no folder catalogs/", f"`{command('init')}` makes one"
        )
    _check_inside(root)
    paths = sorted(path for path in (root / "migrations").glob("*") if not path.name.startswith("."))
    folders = [path for path in paths if is_folder(path)]
    files: tuple[CatalogFile, ...] = ()
    errors: list[GlacierbaseError] = [*_misplaced(root, [path for path in paths if path not in folders])]
    with collected(errors):
        files = load_catalog_files(root / "catalogs", root)
        errors += _without_catalog(folders, files)
    if errors:
        read, headers = migration_files(root), {file.stem: file.headers for file in files}
        for folder in folders:
            errors += load_migrations(folder, root, read, headers.get(folder.name))[1]
    raise_all(errors)
    return files


@contextmanager
def listing_catalogs(path: str | None) -> Iterator[None]:
    """Add a result per catalog file, with its errors, to an error with which the project at `path` cannot be read.

    Args:
        path: as for `Project.load`.
    """
    try:
        yield
    except GlacierbaseError as error:
        from glacierbase.inspect.results import ValidateResult
        from glacierbase.inspect.validate import about

        parts = error.errors if isinstance(error, SeveralErrors) else (error,)
        # The name in a file that cannot be read is not known, nor are its environments.
        errors = {stem: joined(about(parts, stem)) for stem in _stems(path)}
        error.results = Results(
            ValidateResult(stem, "", None if own else _NOT_RENDERED, error=own) for stem, own in errors.items()
        )
        raise


def _check_inside(root: Path) -> None:
    """Refuse links that lead out of the project; not even the names in such a folder are read."""
    for name, kind in (("catalogs", ConfigurationError), ("migrations", MigrationFileError)):
        try:
            path_inside(root / name, root)
        except FileRefused as error:
            raise kind(error.code, f"{name} {error.what}", error.hint, path=name) from error


def _misplaced(root: Path, files: Sequence[Path]) -> Iterator[MigrationFileError]:
    """Yield an error for each file in `migrations/` that should be in a folder, or where a folder should be."""
    catalogs = {path.name for path in (root / "catalogs").iterdir()}
    for path in files:
        if path.suffix == ".sql":
            hint = "move it into the folder of its catalog: migrations/CATALOG/"
            yield _misplaced_file(path.name, "belongs to no catalog", hint)
    for path in files:
        if f"{path.name}.yaml" in catalogs:
            what = f"is not a folder, but the migrations of catalog {path.name} belong into a folder of that name"
            yield _misplaced_file(path.name, what, "move it away, and put the migrations into a folder of that name")


def _misplaced_file(name: str, what: str, hint: str) -> MigrationFileError:
    path = f"migrations/{name}"
    return MigrationFileError("MISPLACED_FILE", f"{path} {what}", hint, path=path)


def _without_catalog(folders: Sequence[Path], files: Sequence[CatalogFile]) -> list[GlacierbaseError]:
    """Return an error for each folder of migrations without a catalog file: they would be ignored silently."""
    stems = {file.stem for file in files}
    return [
        ConfigurationError(
            "FOLDER_WITHOUT_CATALOG",
            f"migrations/{folder.name} has no catalog file catalogs/{folder.name}.yaml",
            "write the catalog file, or rename the folder as its catalog file is named",
            path=f"migrations/{folder.name}",
        )
        for folder in folders
        if folder.name not in stems
    ]


def _stems(path: str | None) -> list[str]:
    """Return the stems of the catalog files; none where there is no project, or a link leads out of it."""
    try:
        root = find_root(path)
        folder = path_inside(root / "catalogs", root)
    except (GlacierbaseError, FileRefused):
        return []
    return sorted(file.stem for file in folder.glob("*.yaml") if file.name != SHARED and file.name[0] != ".")
