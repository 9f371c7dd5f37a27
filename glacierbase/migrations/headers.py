"""The headers of a migration file: comments `-- MIGRATION_NAME: value` above its SQL.

Every file needs a description and an author. Further headers are those that the catalog file lists. The ones that it requires
are required only of files that were never started: an applied file must not change any more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.model.command import command
from glacierbase.model.migration import Migration, Squashed
from glacierbase.model.text import did_you_mean, nearest

PREFIX = "MIGRATION_"
DESCRIPTION, AUTHOR = "DESCRIPTION", "AUTHOR"
# Written by `squash`, a line for each file that it replaces; `read_squashes` reads them.
SQUASHES = "SQUASHES"
# Of a repeatable: the name of one that runs before it. It may have several.
AFTER = "AFTER"
# The name in place of the statements in a file of `new`: undefined, so that the file is refused until it has statements.
UNWRITTEN = "statements_to_be_written"

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_COMMENT = re.compile(r"\s*(?:--.*)?")
HEADER = re.compile(rf"\s*--\s*{PREFIX}([A-Z_]{{1,60}})\s*:(.*)")
_EXAMPLES = {DESCRIPTION: "why this change is made", AUTHOR: "the person or team responsible for it"}
# For the headers of one file; more would only lengthen the output.
_MOST_ERRORS = 20
_VALUE = re.compile(r"(\d{1,200}) (v1:sha256:[0-9a-f]{64})( squash)?", re.ASCII)


def read_headers(
    text: str, location: str, listed: Collection[str] | None, *, is_repeatable: bool = False
) -> dict[str, str]:
    """Return the headers of a file by name, without the prefix; additional headers only if they have a value.

    Args:
        listed: names of the further headers that are allowed; None allows any.
        is_repeatable: whether `read_after` reads the file's headers `AFTER`; else `read_squashes` reads those of a squash.

    Raises:
        MigrationFileError, SeveralErrors: a header is unknown or duplicate; description or author is missing, and not misspelt.
    """
    values: dict[str, str] = {}
    intended: set[str | None] = set()  # The names that unknown headers are misspellings of.
    errors: list[GlacierbaseError] = []
    for number, line in comments_above(text):
        header = HEADER.fullmatch(line)
        if not header or header[1] == (AFTER if is_repeatable else SQUASHES):
            continue
        name, value = header[1], header[2].strip()
        with collected(errors):
            _check_header(name, values, listed, location, number)
            values[name] = value
        if name not in values and name not in _EXAMPLES:
            intended.add(nearest(name, (*_EXAMPLES, *(listed or ()))))
        if len(errors) == _MOST_ERRORS:
            raise_all(errors)
    errors += (
        _missing(name, "is empty" if name in values else "is missing", location)
        for name in _EXAMPLES
        if not values.get(name) and (name in values or name not in intended)
    )
    raise_all(errors)
    return {name: value for name, value in values.items() if value}


def check_required(migrations: Iterable[Migration], required: Collection[str]) -> None:
    """Check that files which were never started have the headers that the catalog file requires.

    Raises:
        MigrationFileError, SeveralErrors: `MISSING_HEADER`, each of them.
    """
    raise_all(list(missing_headers(migrations, required)))


def missing_headers(migrations: Iterable[Migration], required: Collection[str]) -> Iterator[MigrationFileError]:
    """Yield an error for each required header that a file lacks. A squash is written by a command and needs none."""
    for migration in (migration for migration in migrations if not migration.squashes):
        for name in required:
            if name not in migration.headers:
                yield _missing(name, "is missing or empty; the catalog file requires it", migration.location)


def further_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that the catalog file lists."""
    return {name: value for name, value in headers.items() if name not in _EXAMPLES}


def file_error(location: str, code: str, what: str, hint: str, line: int = 1) -> MigrationFileError:
    """Return the error for a line of a migration file."""
    return MigrationFileError(code, f"{location}, line {line}: {what}", hint, path=location, line=line)


def _missing(name: str, what: str, location: str) -> MigrationFileError:
    line = f"-- {PREFIX}{name}: {_EXAMPLES.get(name, 'VALUE')}"
    return file_error(location, "MISSING_HEADER", f"the header {PREFIX}{name} {what}", f"write above the SQL: {line}")


def comments_above(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line above the SQL: comments and blank lines."""
    at = 0
    for number, line in enumerate(_LINE.finditer(text), start=1):
        if at == len(text) or not _COMMENT.fullmatch(line[1]):
            return
        yield number, line[1]
        at = line.end()


def _check_header(
    name: str, values: Mapping[str, str], listed: Collection[str] | None, location: str, line: int
) -> None:
    if name == AFTER:
        hint = "remove it: versioned files run in the order of their versions"
        raise file_error(location, "UNKNOWN_HEADER", f"only repeatables have the header {PREFIX}{AFTER}", hint, line)
    if listed is not None and name not in _EXAMPLES and name not in listed:
        allow = f"allow it in the catalog file: headers: {{{name}: optional}}"
        hint = did_you_mean(name, (*_EXAMPLES, *listed), allow, f"{PREFIX}{{}}")
        raise file_error(location, "UNKNOWN_HEADER", f"unknown header {PREFIX}{name}", hint, line)
    if name in values:
        raise file_error(location, "DUPLICATE_HEADER", f"duplicate header {PREFIX}{name}", "keep one of them", line)


def read_after(text: str) -> tuple[tuple[str, int], ...]:
    """Return the names in the headers `AFTER` of a repeatable, each with its line."""
    headers = ((HEADER.fullmatch(line), number) for number, line in comments_above(text))
    return tuple((header[2].strip(), number) for header, number in headers if header and header[1] == AFTER)


def read_squashes(text: str, version: str, location: str) -> tuple[Squashed, ...]:
    """Return the files that a migration file replaces; none for a file that is not a squash.

    Raises:
        MigrationFileError: `INVALID_SQUASH`: a line is not as `squash` writes it, or the lines do not match the file's version.
    """
    if f"{PREFIX}{SQUASHES}" not in text:
        return ()
    replaced: list[Squashed] = []
    for number, line in comments_above(text):
        header = HEADER.fullmatch(line)
        if header and header[1] == SQUASHES:
            replaced.append(_squashed(header[2].strip(), location, number))
    if replaced and not _is_list_up_to(int(version), replaced):
        what = f"its headers {PREFIX}{SQUASHES} do not list the files up to its version {version}, in order"
        raise file_error(location, "INVALID_SQUASH", what, _RESTORE)
    return tuple(replaced)


def _is_list_up_to(version: int, replaced: Sequence[Squashed]) -> bool:
    """Return whether a list is in order, ends with a file of the version, and has for each squash a file of the same version.

    Squashes alone would replace nothing that an environment with the files has applied.
    """
    order = [_order(squashed) for squashed in replaced]
    files = {squashed.number for squashed in replaced if not squashed.is_squash}
    squashes = {squashed.number for squashed in replaced if squashed.is_squash}
    return order == sorted(set(order)) and order[-1] == (version, False) and squashes <= files


def header_lines(squashed: Sequence[Squashed]) -> list[str]:
    """Return the headers of a squash that replaces these files."""
    marks = (" squash" if old.is_squash else "" for old in squashed)
    return [
        f"-- {PREFIX}{SQUASHES}: {file.version} {file.checksum}{mark}"
        for file, mark in zip(squashed, marks, strict=True)
    ]


def squashed_by(files: Sequence[Migration]) -> tuple[Squashed, ...]:
    """Return what a squash of these files replaces: the files, and what the squashes among them replaced."""
    direct = (Squashed(file.version, file.checksum, bool(file.squashes)) for file in files)
    return tuple(sorted((*(squashed for file in files for squashed in file.squashes), *direct), key=_order))


def replaces(squash: Migration, file: Migration) -> bool:
    """Return whether the list of a squash has the file."""
    return (file.number, file.checksum) in ((squashed.number, squashed.checksum) for squashed in squash.squashes)


def below_squash(files: Sequence[Migration]) -> Iterator[MigrationFileError]:
    """Yield an error for each file that the newest squash replaces, and for every other file below it."""
    squash = max((file for file in files if file.squashes), key=lambda file: file.number, default=None)
    for file in files:
        if squash is None or file.number > squash.number:
            continue
        if file.number < squash.number or replaces(squash, file):
            yield _below(file, squash)


def _below(file: Migration, squash: Migration) -> MigrationFileError:
    if replaces(squash, file):
        what, hint = f"{squash.location} replaces it", "delete it: the squash creates its tables"
    else:
        what = f"its version is below that of {squash.location}, a squash of all files up to its own"
        hint = f"give it a version above all others; in a git branch, `{command('rebase')}` does that"
    return file_error(file.location, "BELOW_SQUASH", what, hint)


_RESTORE = "restore the file as `squash` wrote it"


def _order(squashed: Squashed) -> tuple[int, bool]:
    return squashed.number, squashed.is_squash


def _squashed(value: str, location: str, line: int) -> Squashed:
    match = _VALUE.fullmatch(value)
    if not match:
        what = f"the header {PREFIX}{SQUASHES} is not a version and a checksum"
        raise file_error(location, "INVALID_SQUASH", what, _RESTORE, line)
    return Squashed(match[1], match[2], bool(match[3]))
