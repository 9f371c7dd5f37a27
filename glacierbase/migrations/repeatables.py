"""Repeatables: files without a version, which run after the versioned ones whenever what they render changed; their order."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from glacierbase.errors import GlacierbaseError, MigrationFileError
from glacierbase.migrations.headers import AFTER, PREFIX, file_error, read_after
from glacierbase.model.command import command
from glacierbase.model.migration import REPEATABLE_FOLDER, REPEATABLE_NAME, Migration
from glacierbase.model.text import did_you_mean

_LOCATION = re.compile(rf"migrations/[^/]+/{REPEATABLE_FOLDER}/(?P<inner>.*)", re.DOTALL)


def repeatable_name(location: str) -> str | None:
    """Return the name of a repeatable; None for a file in another folder.

    Args:
        location: its path relative to the project.

    Raises:
        MigrationFileError: `MISNAMED_FILE`.
    """
    match = _LOCATION.fullmatch(location)
    if not match:
        return None
    name = match["inner"].removesuffix(".sql")
    if not match["inner"].endswith(".sql") or not REPEATABLE_NAME.fullmatch(name):
        raise file_error(
            location,
            "MISNAMED_FILE",
            f"a repeatable's file name is lower-case words that begin with a letter, and .sql, directly in {REPEATABLE_FOLDER}/",
            f"rename it as in {REPEATABLE_FOLDER}/daily_orders.sql; a file with a version belongs outside of {REPEATABLE_FOLDER}/",
        )
    return name


def versioned(files: Iterable[Migration]) -> tuple[Migration, ...]:
    """Return the files that have a version, in the same order."""
    return tuple(file for file in files if not file.is_repeatable)


def repeatables(files: Iterable[Migration]) -> tuple[Migration, ...]:
    """Return the repeatables, in the same order."""
    return tuple(file for file in files if file.is_repeatable)


def in_run_order(
    files: Iterable[Migration], known: Collection[str]
) -> tuple[Sequence[Migration], list[GlacierbaseError]]:
    """Return repeatables in the order in which they run, and what is wrong with the headers that decide it.

    A file comes after those that its headers name; of files that may be next, the first by name.

    Args:
        known: the names of all repeatables, also of those that are not valid.
    """
    by_name = {file.name: file for file in files}
    errors: list[GlacierbaseError] = list(_unknown(by_name.values(), known))
    waiting = {name: {other for other in file.after if other in by_name} for name, file in by_name.items()}
    ready = [name for name, others in waiting.items() if not others]
    heapq.heapify(ready)
    ordered: list[Migration] = []
    while ready:
        name = heapq.heappop(ready)
        ordered.append(by_name[name])
        for other, before in waiting.items():
            if name in before:
                before.remove(name)
                if not before:
                    heapq.heappush(ready, other)
    left = {name: before for name, before in waiting.items() if before}
    if left:
        errors.append(_cycle(by_name, left))
    return ordered, errors


def _unknown(files: Iterable[Migration], known: Collection[str]) -> Iterator[MigrationFileError]:
    for file in files:
        for name, line in read_after(file.text):
            if name not in known:
                write = f"write the name of a file in {REPEATABLE_FOLDER}/ without .sql, or remove the line"
                hint = did_you_mean(name, known, write)
                what = f"{PREFIX}{AFTER} names {name!r}, and there is no such repeatable"
                yield file_error(file.location, "UNKNOWN_AFTER", what, hint, line)


def _cycle(files: Mapping[str, Migration], left: Mapping[str, Collection[str]]) -> MigrationFileError:
    """Return the error for files that come after each other.

    Args:
        left: of each file that never comes first, those that it waits for.
    """
    path = [min(left)]
    while path[-1] not in path[:-1]:
        path.append(min(left[path[-1]]))
    ring = path[path.index(path[-1]) :]
    file = files[ring[0]]
    line = next(number for name, number in read_after(file.text) if name == ring[1])
    what = f"{PREFIX}{AFTER} leads back to this file: {' after '.join(ring)}"
    hint = f"remove one of these lines; `{command('validate')}` shows whether an order is left"
    return file_error(file.location, "AFTER_CYCLE", what, hint, line)
