"""The migrations folder of a catalog: which files are in it, in which order, and what their headers say."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path

from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.migration import Migration, checksum

DESCRIPTION = "MIGRATION_DESCRIPTION"
AUTHOR = "MIGRATION_AUTHOR"

_FILE_NAME = re.compile(r"(?P<version>[0-9]+)_(?P<name>[a-z0-9]+(?:_[a-z0-9]+)*)\.sql")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_COMMENT = re.compile(r"\s*(?:--.*)?")
_HEADER = re.compile(r"\s*--\s*(MIGRATION_[A-Z_]+)\s*:(.*)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def load_migrations(folder: Path, root: Path) -> tuple[tuple[Migration, ...], list[GlacierbaseError]]:
    """Read a catalog's migrations, sub-folders included: those in order, ascending, and all that is wrong with the others.

    Args:
        folder: may be absent, which is the same as empty.
        root: of the project; `Migration.location` is relative to it.
    """
    found: dict[int, Migration] = {}
    errors: list[GlacierbaseError] = []
    for path in _sql_files(folder, lambda error: errors.append(_unreadable(error, root))):
        with collected(errors):
            migration = _load(path, path.relative_to(root).as_posix())
            first = found.setdefault(migration.number, migration)
            if first is not migration:
                raise _error(
                    migration.location,
                    "DUPLICATE_VERSION",
                    f"has the same version as {first.location}",
                    "give the one that came later a version above all others, with `git mv`",
                )
    return tuple(found[number] for number in sorted(found)), errors


def _unreadable(error: OSError, root: Path) -> GlacierbaseError:
    location = Path(error.filename).relative_to(root).as_posix()
    what, hint = f"cannot be read: {error.strerror}", "restore the folder's permissions"
    return MigrationFileError("UNREADABLE_FILE", f"{location}: {what}", hint, path=location)


def _sql_files(folder: Path, unreadable: Callable[[OSError], None]) -> Iterator[Path]:
    """Everything that looks like SQL, linked folders included, each folder once; sorted, so that errors are too."""
    seen = set()
    # One that is absent is empty.
    for parent, folders, names in os.walk(folder, followlinks=True, onerror=unreadable) if folder.exists() else ():
        folders.sort()
        names += [name for name in folders if name.lower().endswith(".sql")]
        if (place := Path(parent).resolve()) in seen:
            folders.clear()
            continue
        seen.add(place)
        yield from (Path(parent, name) for name in sorted(names) if name.lower().endswith(".sql"))


def _load(path: Path, location: str) -> Migration:
    named = _FILE_NAME.fullmatch(path.name)
    if not named:
        raise _error(
            location,
            "MISNAMED_FILE",
            "a migration's name is digits, an underscore, lower-case words and .sql",
            "rename it as in 0042_add_device.sql; `glacierbase new` makes names that fit",
        )
    content = _read(path, location)
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


def _read(path: Path, location: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _error(
            location,
            "UNREADABLE_FILE",
            f"cannot be read: {error.strerror}",
            "restore the file or its permissions",
        ) from error


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
    """The headers among the comments above the SQL."""
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
    errors += [
        _error(
            location,
            "MISSING_HEADER",
            f"the header {name} is {'empty' if name in found else 'missing'}",
            f"write above the SQL: -- {name}: {example}",
        )
        for name, example in ((DESCRIPTION, "why this change is made"), (AUTHOR, "who answers for it"))
        if not found.get(name)
    ]
    raise_all(errors)
    return found


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
        raise _error(location, "UNKNOWN_HEADER", f"there is no header {name}", f"did you mean {near}?", line)
    if name in found:
        raise _error(location, "DUPLICATE_HEADER", f"{name} stands here again", "keep one of them", line)


def _error(location: str, code: str, what: str, hint: str, line: int = 1) -> MigrationFileError:
    return MigrationFileError(code, f"{location}, line {line}: {what}", hint, path=location, line=line)
