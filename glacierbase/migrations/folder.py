"""The migrations folder of a catalog: its files in order, each with its headers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.model.migration import Migration, checksum
from glacierbase.run.files import FileReader, FileRefused, path_inside

DESCRIPTION = "MIGRATION_DESCRIPTION"
AUTHOR = "MIGRATION_AUTHOR"

_FILE_NAME = re.compile(r"(?P<version>[0-9]+)_(?P<name>[a-z0-9]+(?:_[a-z0-9]+)*)\.sql")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_COMMENT = re.compile(r"\s*(?:--.*)?")
_HEADER = re.compile(r"\s*--\s*(MIGRATION_[A-Z_]{1,60})\s*:(.*)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_BYTES, _MOST_BYTES_IN_ALL = 10 * 2**20, 256 * 2**20
# Python 3.11 and earlier walk folders by recursion.
_DEEPEST = 100
# Of one file's headers; more would only lengthen the output.
_MOST_ERRORS = 20


def migration_files(root: Path) -> FileReader:
    """Return the reader of a project's migration files; its limits allow what fits into the memory of a small machine."""
    return FileReader(root, _MOST_BYTES, _MOST_BYTES_IN_ALL)


def load_migrations(
    folder: Path, root: Path, files: FileReader | None = None
) -> tuple[tuple[Migration, ...], list[GlacierbaseError]]:
    """Return a catalog's migrations in ascending order, from sub-folders too, and the errors of files that are not valid.

    Args:
        folder: an absent folder is an empty one.
        root: of the project; `Migration.location` is relative to it.
        files: the `migration_files` of a command that reads several catalogs; their limits are shared.
    """
    read, errors = read_migrations(folder, root, files)
    found: dict[int, Migration] = {}
    for migration in read:
        first = found.setdefault(migration.number, migration)
        if first is not migration:
            errors.append(_duplicate(migration, first))
    return tuple(found[number] for number in sorted(found)), errors


def read_migrations(
    folder: Path, root: Path, files: FileReader | None = None
) -> tuple[list[Migration], list[GlacierbaseError]]:
    """Return a catalog's migrations in the order of their paths, duplicate versions included, and the errors of the others.

    Args:
        folder, root, files: as for `load_migrations`.
    """
    files = files or migration_files(root)
    found: list[Migration] = []
    errors: list[GlacierbaseError] = []
    for path in _sql_files(folder, root, errors):
        with collected(errors):
            found.append(_load(path, path.relative_to(root).as_posix(), files))
    return found, errors


def highest_version(folder: Path, root: Path) -> int:
    """Return the highest version among the names of a catalog's files; 0 where there is none. No file is read."""
    names = (_FILE_NAME.fullmatch(path.name) for path in _sql_files(folder, root, []))
    return max((int(name["version"]) for name in names if name), default=0)


def _duplicate(migration: Migration, first: Migration) -> MigrationFileError:
    return _error(
        migration.location,
        "DUPLICATE_VERSION",
        f"has the same version as {first.location}",
        "rename the newer file to a version above all others; in a git branch, `glacierbase rebase` does that",
    )


def _sql_files(folder: Path, root: Path, errors: list[GlacierbaseError]) -> Iterator[Path]:
    """Yield every path that ends in `.sql`, in sorted order; linked folders are followed, and each folder is read once."""
    seen: set[Path] = set()

    def refuse(error: OSError | FileRefused, path: str) -> None:
        errors.append(_folder_refused(error, Path(path).relative_to(root).as_posix()))

    walk = os.walk(folder, followlinks=True, onerror=lambda error: refuse(error, error.filename))
    for parent, folders, names in walk if folder.exists() else ():
        folders.sort()
        names += [name for name in folders if name.lower().endswith(".sql")]
        place = None
        try:
            place = _place(Path(parent), folder, root)
        except FileRefused as error:
            refuse(error, parent)
        if place is None or place in seen:
            folders.clear()
            continue
        seen.add(place)
        yield from (Path(parent, name) for name in sorted(names) if name.lower().endswith(".sql"))


def _place(path: Path, folder: Path, root: Path) -> Path:
    """Return the path of a folder below `folder`, with links resolved."""
    if len(path.parts) - len(folder.parts) > _DEEPEST:
        what = f"cannot be read: it is more than {_DEEPEST} folders deep"
        raise FileRefused("UNREADABLE_FILE", what, "move the files up")
    return path_inside(path, root)


def _folder_refused(error: OSError | FileRefused, location: str) -> GlacierbaseError:
    if isinstance(error, OSError):
        error = FileRefused(
            "UNREADABLE_FILE", f"cannot be read: {error.strerror}", "restore the permissions of the folder"
        )
    return MigrationFileError(error.code, f"{location}: {error.what}", error.hint, path=location)


def _load(path: Path, location: str, files: FileReader) -> Migration:
    named = _FILE_NAME.fullmatch(path.name)
    if not named:
        raise _error(
            location,
            "MISNAMED_FILE",
            "a migration's file name is digits, an underscore, lower-case words and .sql",
            "rename it as in 0042_add_device.sql; `glacierbase new` writes valid names",
        )
    content = _read(path, location, files)
    text = _decoded(content.removeprefix(_BYTE_ORDER_MARK), location)
    headers = _headers(text, location)
    return Migration(
        version=named["version"],
        name=named["name"],
        description=headers[DESCRIPTION],
        author=headers[AUTHOR],
        path=path,
        location=location,
        text=text,
        checksum=checksum(content),
    )


def _read(path: Path, location: str, files: FileReader) -> bytes:
    try:
        return files.read(path)
    except FileRefused as error:
        raise _error(location, error.code, error.what, error.hint) from error


def _decoded(content: bytes, location: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _error(
            location,
            "NOT_UTF8",
            f"byte {content[error.start]:#04x} is not UTF-8",
            "save the file as UTF-8",
            line,
        ) from error


def _headers(text: str, location: str) -> dict[str, str]:
    """Return the headers among the comments above the SQL."""
    found: dict[str, str] = {}
    errors: list[GlacierbaseError] = []
    for number, line in _comments_above(text):
        header = _HEADER.fullmatch(line)
        if not header:
            continue
        name, value = header[1], header[2].strip()
        with collected(errors):
            _check_header(name, found, location, number)
            found[name] = value
        if len(errors) == _MOST_ERRORS:
            raise_all(errors)
    errors += _missing_headers(found, location)
    raise_all(errors)
    return found


def _missing_headers(found: dict[str, str], location: str) -> Iterator[MigrationFileError]:
    for name, example in ((DESCRIPTION, "why this change is made"), (AUTHOR, "the person or team responsible for it")):
        if not found.get(name):
            what = f"the header {name} is {'empty' if name in found else 'missing'}"
            yield _error(location, "MISSING_HEADER", what, f"write above the SQL: -- {name}: {example}")


def _comments_above(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for number, line in enumerate(_LINE.finditer(text), start=1):
        if at == len(text) or not _COMMENT.fullmatch(line[1]):
            return
        yield number, line[1]
        at = line.end()


def _check_header(name: str, found: dict[str, str], location: str, line: int) -> None:
    if name not in (DESCRIPTION, AUTHOR):
        near = get_close_matches(name, (DESCRIPTION, AUTHOR), n=1, cutoff=0)[0]
        raise _error(location, "UNKNOWN_HEADER", f"unknown header {name}", f"did you mean {near}?", line)
    if name in found:
        raise _error(location, "DUPLICATE_HEADER", f"duplicate header {name}", "keep one of them", line)


def _error(location: str, code: str, what: str, hint: str, line: int = 1) -> MigrationFileError:
    return MigrationFileError(code, f"{location}, line {line}: {what}", hint, path=location, line=line)
