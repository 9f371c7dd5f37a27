"""`import` from another tool: write a migration file for each of its scripts, all of them or none.

The sandbox's worker reads the project, with limits of time and memory: its files are a stranger's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from jinja2 import TemplateError

from glacierbase.capabilities.adopt.alembic import ALEMBIC
from glacierbase.capabilities.adopt.flyway import FLYWAY
from glacierbase.capabilities.adopt.foreign import (
    ForeignFolder,
    ForeignProject,
    ForeignScript,
    NotMapped,
    Tool,
    listing,
    numbered_name,
    parts_of,
)
from glacierbase.capabilities.adopt.liquibase import LIQUIBASE
from glacierbase.capabilities.adopt.results import ImportedFile, ImportResult
from glacierbase.capabilities.adopt.schemachange import SCHEMACHANGE
from glacierbase.catalogs.folder import file_of
from glacierbase.errors import ConfigurationError, raise_all
from glacierbase.migrations.all_or_none import all_or_none
from glacierbase.migrations.folder import as_migration, load_migrations, migration_files
from glacierbase.migrations.headers import AUTHOR, DESCRIPTION, HEADER, PREFIX, comments_above
from glacierbase.migrations.new_files import already_exists, file_words, git_user
from glacierbase.migrations.repeatables import versioned
from glacierbase.migrations.sandbox import called
from glacierbase.migrations.template import jinja
from glacierbase.model.migration import REPEATABLE_FOLDER, Migration
from glacierbase.run.files import one_at_a_time, writing

TOOLS: dict[str, Tool] = {
    "flyway": FLYWAY,
    "schemachange": SCHEMACHANGE,
    "liquibase": LIQUIBASE,
    "alembic-offline-sql": ALEMBIC,
}
# Of a catalog's migrations folder; what is in it runs again when it changes.
# Of digits: of a version that is one number, of each number after the first of another, and of any version, whose file has a name
# of 255 bytes at most. Of numbers in a version: major, minor, patch.
_LEAST_OF_ONE, _LEAST_OF_PART, _MOST_DIGITS, _LEAST_PARTS = 4, 3, 150, 3
_BRACE = re.compile(r"\{(?=[{%#])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A migration file that a script becomes.

    Attributes:
        path: below the catalog's folder.
        version: None for one that runs again when it changes.
        author: empty where the tool does not record one, until the file is completed.
        text: the whole file; its SQL, until the file is completed.
    """

    script: ForeignScript
    path: str
    version: str | None
    description: str
    author: str
    text: str = field(repr=False)

    @property
    def number(self) -> int:
        """The number of the version; -1 for a file that runs again when it changes."""
        return -1 if self.version is None else int(self.version)


@dataclass(frozen=True, slots=True)
class Imported:
    """Another tool's project, the files of it in a catalog, and the result.

    Attributes:
        history_table: as in `ForeignProject`.
    """

    tool: Tool
    history_table: str | None
    files: tuple[MappedFile, ...]
    result: ImportResult


class ImportCheck(Protocol):
    """Checks new migrations, in order, before they are written; the values are those of variables that the catalog file lacks.

    Returns objections that do not matter if the statements have run. Raises MigrationFileError: a file is refused.
    """

    def __call__(self, new: Sequence[Migration], variables: Mapping[str, Any]) -> Sequence[str]: ...


def import_files(
    root: Path, folder: Path, tool: str, path: str | Path, *, author: str | None, dry_run: bool, check: ImportCheck
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
        check: checks the files that do not exist.

    Raises:
        ConfigurationError: `NOTHING_TO_IMPORT`; `DUPLICATE_IMPORT`; `ALREADY_EXISTS`: a version is that of another file; the
            project cannot be read, or the files cannot be written.
        MigrationFileError: `check` refuses a file.
    """
    chosen = TOOLS.get(tool)
    if chosen is None:
        hint = f"allowed: {', '.join(TOOLS)}"
        raise ConfigurationError("INVALID_VALUE", f"projects of {tool} are not read", hint)
    catalog_file = file_of(folder, root)
    dialect = catalog_file.for_environment(catalog_file.environments[0], root, resolve=False).dialect
    read = _read(tool, path, dialect)
    if not all(file.author for file in read.files):
        author = author or git_user()
    files = [_completed(file, author or "", catalog_file.required_headers) for file in read.files]
    with one_at_a_time(root):
        new = _new(files, folder, root)
        objections = check([_migration(file, folder, root) for file in new], _plain(read.variables)) if new else ()
        if not dry_run:
            with all_or_none() as target:
                for file in new:
                    target.create(folder / file.path, root, file.text)
    result = ImportResult(
        catalog_file.name,
        "",
        tool=tool,
        files=tuple(_imported(file, folder.relative_to(root), file in new and not dry_run) for file in files),
        not_mapped=tuple(sorted(read.not_mapped, key=lambda part: (part.path, part.line))),
        variables=dict(read.variables),
        dry_run=dry_run,
        warnings=tuple(objections),
    )
    return Imported(chosen, read.history_table, tuple(files), result)


@dataclass(frozen=True, slots=True)
class _Read:
    """What the worker reads of another tool's project; the attributes are as in `ForeignProject`.

    Attributes:
        scripts: how many.
        files: those that scripts become, not completed.
    """

    scripts: int
    files: Sequence[MappedFile]
    not_mapped: Sequence[NotMapped]
    variables: Mapping[str, Any]
    history_table: str | None


def _read(tool: str, path: str | Path, dialect: str) -> _Read:
    """Return another tool's project, read in the worker.

    Raises:
        ConfigurationError: `NOTHING_TO_IMPORT`.
    """
    arguments = {"tool": tool, "path": str(path), "dialect": dialect}
    answer = called(f"{__name__}:{read_project.__name__}", arguments, f"reading {path}", "import it in parts")
    not_mapped = [NotMapped(**part) for part in answer["not_mapped"]]
    if not answer["scripts"]:
        what = f"{path} holds no script of {TOOLS[tool].name} that becomes a migration"
        reasons = listing([part.text() for part in not_mapped])
        hint = "name the folder of its scripts"
        raise ConfigurationError("NOTHING_TO_IMPORT", (what, *reasons), hint, not_mapped=not_mapped)
    files = [MappedFile(**{**file, "script": _script(file["script"])}) for file in answer["files"]]
    return _Read(**{**answer, "files": files, "not_mapped": not_mapped})


def _script(plain: Mapping[str, Any]) -> ForeignScript:
    """Return a script from JSON, which has lists in place of the tuples of its key."""
    key = tuple(tuple(part) if isinstance(part, list) else part for part in plain["key"])
    return ForeignScript(**{**plain, "key": key})


def read_project(tool: str, path: str, dialect: str) -> dict[str, Any]:
    """Return the fields of a `_Read` in types of JSON. The worker calls it."""
    project = TOOLS[tool].read(ForeignFolder(path), dialect)
    files, invalid = _mapped(project, TOOLS[tool])
    not_mapped = [*project.not_mapped, *invalid]
    return asdict(_Read(len(project.scripts), files, not_mapped, project.variables, project.history_table))


def _completed(file: MappedFile, author: str, headers: Collection[str]) -> MappedFile:
    """Return a file with its headers above its SQL.

    Args:
        author: of scripts whose tool does not record one.
        headers: further ones that the catalog file requires; they are written without a value.
    """
    author = file.author or author
    head = {DESCRIPTION: file.description, AUTHOR: author, **dict.fromkeys(headers, "")}
    above = "".join(f"-- {PREFIX}{name}: {value}".rstrip() + "\n" for name, value in head.items())
    return replace(file, author=author, text=f"{above}\n{file.text}")


def _migration(file: MappedFile, folder: Path, root: Path) -> Migration:
    path = folder / file.path
    return as_migration(file.text.encode(), path, path.relative_to(root).as_posix(), None)


def _plain(variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables with a value that is no reference to another place."""
    return {name: value for name, value in variables.items() if value is not None and "${" not in str(value)}


def _imported(file: MappedFile, folder: Path, is_written: bool) -> ImportedFile:
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
        is_written=is_written,
    )


def _mapped(project: ForeignProject, tool: Tool) -> tuple[list[MappedFile], list[NotMapped]]:
    """Return the files that the scripts of a project become, in order and not completed, and what their texts cannot have.

    Raises:
        ConfigurationError, SeveralErrors: `DUPLICATE_IMPORT`: two scripts have one version.
    """
    versions = iter(_versions([script for script in project.scripts if script.version is not None], tool))
    names: dict[str, int] = {}
    files: list[MappedFile] = []
    not_mapped: list[NotMapped] = []
    for script in project.scripts:
        description, author = _header(script.description) or "no description", _header(script.author or "")
        words = file_words(description) or "migration"
        version = None if script.version is None else next(versions)
        name = words if words[0].isalpha() else f"repeatable_{words}"  # A name without a version begins with a letter.
        path = f"{version}_{words}.sql" if version else f"{REPEATABLE_FOLDER}/{numbered_name(name, names)}.sql"
        sql, line = _without_headers(script.sql)
        if line:
            what = f"a comment that glacierbase would read as a header; {PREFIX} is written as MIGRATION there"
            not_mapped.append(NotMapped(script.path, script.line + line - 1, what))
        if reason := _template_error(script, sql):
            not_mapped.append(reason)
        else:
            kept = replace(script, sql="")  # Its text is that of the file.
            files.append(MappedFile(kept, path, version, description, author, f"{sql.strip(chr(10))}\n"))
    return files, not_mapped


def _versions(scripts: Sequence[ForeignScript], tool: Tool) -> list[str]:
    """Return the digits of each script.

    Raises:
        ConfigurationError, SeveralErrors: `DUPLICATE_IMPORT`; `INVALID_VALUE`: a version is too long.
    """
    parts = [parts_of(script.version or "") for script in scripts] if tool.is_numbered else [None]
    if None in parts:
        return numbered([(number,) for number in range(1, len(scripts) + 1)])
    first: dict[object, ForeignScript] = {}
    pairs = [(script, first.setdefault(part, script)) for part, script in zip(parts, scripts, strict=True)]
    hint = "name the folder that holds one of them"
    errors = [
        ConfigurationError(
            "DUPLICATE_IMPORT", f"{script.path} has the same version as {other.path}: {script.version}", hint
        )
        for script, other in pairs
        if script is not other
    ]
    raise_all([*errors])
    digits = numbered([part for part in parts if part is not None])
    if digits and len(digits[0]) > _MOST_DIGITS:
        longest = max(scripts, key=lambda script: len(script.version or ""))
        what = f"{longest.path}: with its version, all versions have {len(digits[0])} digits"
        raise ConfigurationError("INVALID_VALUE", what, "give it a shorter version")
    return digits


def numbered(versions: Sequence[tuple[int, ...]]) -> list[str]:
    """Return digits for each version, which sort as the versions do.

    Single numbers keep their value. Of other versions each number after the first has three digits, or as many as the longest one,
    and three numbers are written at least: 1.2 becomes 0001002000. Later versions fit between and above them.
    """
    count = max(map(len, versions), default=1)
    count = max(count, _LEAST_PARTS) if count > 1 else 1
    first = max((_LEAST_OF_ONE, *(len(str(parts[0])) for parts in versions)))
    rest = max((_LEAST_OF_PART, *(len(str(number)) for parts in versions for number in parts[1:])))
    return [
        str(parts[0]).zfill(first)
        + "".join(str(number).zfill(rest) for number in (*parts[1:], *[0] * (count - len(parts))))
        for parts in versions
    ]


def _header(text: str) -> str:
    """Return a text as the value of a header: one line, and nothing that a template reads."""
    return _BRACE.sub("{ ", " ".join(_CONTROL.sub(" ", text).split()))


def _without_headers(sql: str) -> tuple[str, int]:
    """Return SQL without comments that are headers, and the line of the first one; 0 where there is none."""
    lines = [number for number, line in comments_above(sql) if HEADER.fullmatch(line)]
    if not lines:
        return sql, 0
    parts = re.split(r"(\r\n|\r|\n)", sql)
    for number in lines:
        parts[2 * (number - 1)] = parts[2 * (number - 1)].replace(PREFIX, "MIGRATION ")
    return "".join(parts), lines[0]


def _template_error(script: ForeignScript, sql: str) -> NotMapped | None:
    """Return why SQL is no valid template; None where it is one."""
    try:
        jinja().compile(sql)
    except TemplateError as error:
        line = script.line + max(0, getattr(error, "lineno", 1) - 1)
        return NotMapped(script.path, line, f"not imported: {error.message}")
    except (RecursionError, MemoryError, SyntaxError):
        return NotMapped(script.path, script.line, "not imported: its template is nested too deeply, or too large")
    return None


def _new(files: Sequence[MappedFile], folder: Path, root: Path) -> list[MappedFile]:
    """Return the files that do not exist.

    Raises:
        ConfigurationError, SeveralErrors: `ALREADY_EXISTS`: a version is that of a file with other SQL. Files that are not valid.
    """
    migrations, errors = load_migrations(folder, root)
    raise_all(errors)
    present = {migration.number: migration for migration in versioned(migrations)}
    return [file for file in files if not _exists(file, folder, root, present)]


def _exists(file: MappedFile, folder: Path, root: Path, present: Mapping[int, Migration]) -> bool:
    """Return whether a file exists, with the same SQL below its headers.

    Raises:
        ConfigurationError: `ALREADY_EXISTS`.
    """
    path = folder / file.path
    if file.version is not None:
        if (migration := present.get(file.number)) is None:
            return False
        text, location = migration.text, migration.location
    elif path.exists():
        with writing(path):
            text, location = migration_files(root).read(path).decode("utf-8", "replace"), str(path)
    else:
        return False
    if text.replace("\r\n", "\n").partition("\n\n")[2] == file.text.partition("\n\n")[2]:
        return True
    state = f" and is not what {file.script.path} becomes; nothing was written"
    hint = "import into a catalog without migrations, or remove that file if nothing has applied it"
    raise already_exists(Path(location), state, hint)
