"""Versions of other tools as digits in the same order."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBERS = re.compile(r"\d+(?:[._]\d+)*", re.ASCII)
# Of digits: of a version that is one number, and of each number after the first of another.
_LEAST_OF_ONE, _LEAST_OF_PART = 4, 3
# Of numbers in a version: major, minor, patch.
_LEAST_PARTS = 3


def parts_of(version: str) -> tuple[int, ...] | None:
    """Return the numbers of a version without zeros at its end, by which tools compare it; None for one with other text."""
    if not _NUMBERS.fullmatch(version):
        return None
    numbers = [int(part) for part in re.split("[._]", version)]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def numbered(versions: Sequence[str]) -> dict[str, str]:
    """Return digits for each version, which sort as the versions do.

    Single numbers keep their value. Of other versions each number after the first has three digits, or as many as the longest one,
    and three numbers are written at least: 1.2 becomes 0001002000. Later versions fit between and above them.

    Args:
        versions: each of them consists of numbers.
    """
    split = {version: parts_of(version) or () for version in versions}
    count = max(map(len, split.values()), default=1)
    if count == 1:
        width = max(_LEAST_OF_ONE, *(len(str(parts[0])) for parts in split.values()), 0)
        return {version: str(parts[0]).zfill(width) for version, parts in split.items()}
    count = max(count, _LEAST_PARTS)
    first = max(_LEAST_OF_ONE, *(len(str(parts[0])) for parts in split.values()))
    rest = max(_LEAST_OF_PART, *(len(str(number)) for parts in split.values() for number in parts[1:]))
    return {
        version: "".join(
            str(number).zfill(first if index == 0 else rest)
            for index, number in enumerate((*parts, *[0] * (count - len(parts))))
        )
        for version, parts in split.items()
    }


def counted_up(count: int) -> list[str]:
    """Return digits for so many scripts that have an order and no numbers."""
    width = max(_LEAST_OF_ONE, len(str(count)))
    return [str(number).zfill(width) for number in range(1, count + 1)]
