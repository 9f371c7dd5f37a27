"""The headers of a squash, a file that replaces all files up to its version: `-- MIGRATION_SQUASHES: VERSION CHECKSUM`.

A file that was a squash itself is marked, `VERSION CHECKSUM squash`, and the files that it replaced are listed beside it: an
environment has applied either that file or those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from glacierbase.errors import MigrationFileError
from glacierbase.migrations.headers import HEADER, PREFIX, SQUASHES, comments_above, file_error
from glacierbase.model.command import command
from glacierbase.model.migration import Migration, Squashed

_VALUE = re.compile(r"(\d{1,200}) (v1:sha256:[0-9a-f]{64})( squash)?", re.ASCII)


def read_squashes(text: str, version: str, location: str) -> tuple[Squashed, ...]:
    """Return the files that a migration file replaces; none for a file that is no squash.

    Raises:
        MigrationFileError: `INVALID_SQUASH`: a line is not as `squash` writes it, or they do not fit the file's version.
    """
    if f"{PREFIX}{SQUASHES}" not in text:
        return ()
    found: list[Squashed] = []
    for number, line in comments_above(text):
        header = HEADER.fullmatch(line)
        if header and header[1] == SQUASHES:
            found.append(_squashed(header[2].strip(), location, number))
    if found and not _is_list_up_to(int(version), found):
        what = f"its headers {PREFIX}{SQUASHES} do not list the files up to its version {version}, in order"
        raise file_error(location, "INVALID_SQUASH", what, _RESTORE)
    return tuple(found)


def _is_list_up_to(version: int, found: Sequence[Squashed]) -> bool:
    """Return whether a list is in order and ends with a file of the version, and has beside each squash what that replaced.

    Where squashes alone were listed, they would replace nothing that an environment with the files has applied.
    """
    order = [_order(each) for each in found]
    files = {each.number for each in found if not each.is_squash}
    squashes = {each.number for each in found if each.is_squash}
    return order == sorted(set(order)) and order[-1] == (version, False) and squashes <= files


def header_lines(squashed: Sequence[Squashed]) -> list[str]:
    """Return the headers of a squash that replaces these files."""
    marks = (" squash" if each.is_squash else "" for each in squashed)
    return [
        f"-- {PREFIX}{SQUASHES}: {each.version} {each.checksum}{mark}"
        for each, mark in zip(squashed, marks, strict=True)
    ]


def squashed_by(files: Sequence[Migration]) -> tuple[Squashed, ...]:
    """Return what a squash of these files replaces: each of them, and the files that a squash among them replaced."""
    own = (Squashed(each.version, each.checksum, bool(each.squashes)) for each in files)
    return tuple(sorted((*(each for file in files for each in file.squashes), *own), key=_order))


def replaces(squash: Migration, file: Migration) -> bool:
    """Return whether the list of a squash has the file."""
    return (file.number, file.checksum) in ((each.number, each.checksum) for each in squash.squashes)


def below_squash(files: Sequence[Migration]) -> Iterator[MigrationFileError]:
    """Yield an error for each file that a squash replaces, and for each other one below it."""
    squash = max((each for each in files if each.squashes), key=lambda each: each.number, default=None)
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


def _order(each: Squashed) -> tuple[int, bool]:
    return each.number, each.is_squash


def _squashed(value: str, location: str, line: int) -> Squashed:
    found = _VALUE.fullmatch(value)
    if not found:
        what = f"the header {PREFIX}{SQUASHES} is not a version and a checksum"
        raise file_error(location, "INVALID_SQUASH", what, _RESTORE, line)
    return Squashed(found[1], found[2], bool(found[3]))
