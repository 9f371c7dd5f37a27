"""`import` from another tool: write a migration file for each of its scripts, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import TemplateError

from glacierbase.adopt.alembic import ALEMBIC
from glacierbase.adopt.flyway import FLYWAY
from glacierbase.adopt.folder import ForeignFolder
from glacierbase.adopt.foreign import ForeignProject, NotMapped, Tool
from glacierbase.adopt.liquibase import LIQUIBASE
from glacierbase.adopt.mapping import MappedFile, below_headers, mapped
from glacierbase.adopt.results import ImportedFile, ImportResult
from glacierbase.adopt.schemachange import SCHEMACHANGE
from glacierbase.catalogs.folder import file_of
from glacierbase.errors import ConfigurationError, raise_all
from glacierbase.migrations.all_or_none import all_or_none
from glacierbase.migrations.folder import load_migrations, migration_files
from glacierbase.migrations.new_files import already_exists, git_user
from glacierbase.migrations.template import jinja
from glacierbase.model.migration import Migration
from glacierbase.model.text import quoted
from glacierbase.run.files import one_at_a_time, writing

TOOLS: dict[str, Tool] = {
    "flyway": FLYWAY,
    "schemachange": SCHEMACHANGE,
    "liquibase": LIQUIBASE,
    "alembic-offline-sql": ALEMBIC,
}
# Of what has no counterpart, in a message.
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Imported:
    """Another tool's project, the files of it in a catalog, and the result."""

    tool: Tool
    project: ForeignProject
    files: tuple[MappedFile, ...]
    result: ImportResult


def import_files(
    root: Path, folder: Path, tool: str, path: str | Path, *, author: str | None, dry_run: bool
) -> Imported:
    """Write the scripts of another tool's project as migrations of a catalog. Contacts nothing and runs nothing of it.

    A file that exists and holds the same SQL stays, so that the command can run again.

    Args:
        root: of the project.
        folder: the migrations folder of the catalog.
        tool: one of `TOOLS`.
        path: of the other tool's project.
        author: of scripts whose tool does not record one; default git's `user.name`.
        dry_run: write nothing.

    Raises:
        ConfigurationError: `NOTHING_TO_IMPORT`; `DUPLICATE_IMPORT`; `ALREADY_EXISTS`: a version is that of another file; the
            project cannot be read, or the files cannot be written.
    """
    chosen = TOOLS.get(tool)
    if chosen is None:
        hint = f"allowed: {', '.join(TOOLS)}"
        raise ConfigurationError("INVALID_VALUE", f"projects of {tool} are not read", hint)
    catalog_file = file_of(folder, root)
    dialect = catalog_file.for_environment(catalog_file.environments[0], root, resolve=False).dialect
    project = chosen.read(ForeignFolder(path), dialect)
    if not project.scripts:
        what = f"{path} holds no script of {chosen.name} that becomes a migration"
        listed = quoted("\n".join(part.text() for part in project.not_mapped[:_MOST_SHOWN]))
        hint = "name the folder of its scripts"
        raise ConfigurationError("NOTHING_TO_IMPORT", (what, *listed), hint, not_mapped=list(project.not_mapped))
    needs_author = any(script.author is None for script in project.scripts)
    files, more = mapped(project, chosen, author or (git_user() if needs_author else ""), catalog_file.required_headers)
    valid, invalid = _checked(files)
    with one_at_a_time(root):
        new = _new(valid, folder, root)
        if not dry_run:
            with all_or_none() as target:
                for file in new:
                    target.create(folder / file.path, root, file.text)
    written = () if dry_run else tuple(file.path for file in new)
    result = ImportResult(
        catalog_file.name,
        "",
        tool=tool,
        files=tuple(_imported(file, folder.relative_to(root), written) for file in valid),
        not_mapped=tuple(sorted((*project.not_mapped, *more, *invalid), key=lambda part: (part.path, part.line))),
        variables=dict(project.variables),
        dry_run=dry_run,
    )
    return Imported(chosen, project, tuple(valid), result)


def _imported(file: MappedFile, folder: Path, written: Sequence[str]) -> ImportedFile:
    script = file.script
    return ImportedFile(
        path=(folder / file.path).as_posix(),
        version=file.version,
        name=None if file.version else Path(file.path).stem,
        description=file.description,
        author=file.author,
        from_=script.path,
        line=script.line,
        from_version=script.version,
        is_written=file.path in written,
    )


def _checked(files: Sequence[MappedFile]) -> tuple[list[MappedFile], list[NotMapped]]:
    """Return the files whose templates are valid, and the others as parts that are not mapped."""
    valid, invalid = [], []
    for file in files:
        try:
            jinja().compile(file.text)
        except TemplateError as error:
            line = file.script.line + max(0, getattr(error, "lineno", 1) - file.text.count("\n", 0, -len(file.sql)) - 1)
            invalid.append(NotMapped(file.script.path, line, f"not imported: {error.message}"))
        except (RecursionError, MemoryError, SyntaxError):
            invalid.append(
                NotMapped(file.script.path, file.script.line, "not imported: its template is nested too deeply")
            )
        else:
            valid.append(file)
    return valid, invalid


def _new(files: Sequence[MappedFile], folder: Path, root: Path) -> list[MappedFile]:
    """Return the files that do not exist.

    Raises:
        ConfigurationError, SeveralErrors: `ALREADY_EXISTS`: a version is that of a file with other SQL. Files that are not valid.
    """
    migrations, errors = load_migrations(folder, root)
    raise_all(errors)
    present = {migration.number: migration for migration in migrations}
    return [file for file in files if not _exists(file, folder, root, present)]


def _exists(file: MappedFile, folder: Path, root: Path, present: dict[int, Migration]) -> bool:
    """Return whether a file exists, with the same SQL.

    Raises:
        ConfigurationError: `ALREADY_EXISTS`.
    """
    if file.version is None:
        path = folder / file.path
        if not path.exists():
            return False
        with writing(path):
            text, where = migration_files(root).read(path).decode("utf-8", "replace"), str(path)
    else:
        found = present.get(int(file.version))
        if found is None:
            return False
        text, where = found.text.replace("\r\n", "\n"), found.location
    if below_headers(text) == file.sql:
        return True
    state = f" and is not what {file.script.path} becomes; nothing was written"
    raise already_exists(
        Path(where), state, "import into a catalog without migrations, or remove that file if nothing has applied it"
    )
