"""Lines of text, and values as text: tables, counts, times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from glacierbase.model.escape import on_one_line

LINE_END = re.compile(r"\r?\n")


def quoted(text: str) -> list[str]:
    """Return the lines of a value, each with a margin."""
    return [f"    | {line}".rstrip(" ") for line in split_lines(text)]


def split_lines(text: str) -> list[str]:
    r"""Return the lines of `text` as `str.splitlines` does, but split at `\n` and `\r\n` only."""
    lines = LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, or none if it has no rows.

    The cells are escaped here, since an escape is wider than the character, and the width of a column depends on it.
    """
    if not rows:
        return []
    cells = [[on_one_line(" ".join(cell.split())) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def counted(count: int, noun: str) -> str:
    """Return `1 statement` or `2 statements`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def numbered(noun: str, first: int, last: int) -> str:
    """Return `statement 2` or `statements 2 to 5`."""
    return f"{noun} {first}" if first == last else f"{noun}s {first} to {last}"


def in_seconds(milliseconds: int) -> str:
    """Return `1.5 s`."""
    return f"{milliseconds / 1000:.1f} s"


def as_clock(seconds: float) -> str:
    """Return `00:41`, or `1:02:03` from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def time_of(instant: datetime | None) -> str:
    """Return `2026-11-20 10:30:00`, or nothing for None."""
    return f"{instant:%Y-%m-%d %H:%M:%S}" if instant else ""
