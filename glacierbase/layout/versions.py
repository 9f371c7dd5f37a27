"""Compare versions of table formats."""

from __future__ import annotations

import re


def at_least(version: str, least: str) -> bool:
    """Return whether a version is not older than another one; of `1.7.0-rc1` only the numbers count."""
    return numbers(version) >= numbers(least)


def numbers(version: str) -> tuple[int, ...]:
    """Return the first three numbers of a version."""
    parts = [int(part) for part in re.findall("[0-9]{1,18}", version)[:3]]
    return (*parts, *[0] * (3 - len(parts)))
