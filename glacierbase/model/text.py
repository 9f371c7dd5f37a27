"""Lines of text and tables, and values as text: counts, times. `output` decides how to display them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from difflib import get_close_matches
from typing import TypeAlias

LINE_END = re.compile(r"\r?\n")
# The marks of comments that end with their line, in any dialect.
_LINE_COMMENTS = ("--", "//", "#")
# So many letters of a name suggest the name that begins with them.
_LEAST_OF_A_BEGIN = 3


class Mark(str):
    """A word or line that a terminal shows in bold, or a state's word in its colour. Never broken into lines."""

    __slots__ = ()


class Location(str):
    """The path of a file of the project. On a terminal, a column of paths shows their common folder once."""

    __slots__ = ()


class Verbatim(str):
    """A line that a terminal shows unwrapped, such as SQL, so that it can be copied."""

    __slots__ = ()


# A time is shown in UTC; None is empty.
Cell: TypeAlias = str | datetime | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table among the lines of a text. The cells are not escaped."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


# A line break inside a line belongs to a value.
Line: TypeAlias = str | Table


def quoted(text: str) -> list[str]:
    """Return the lines of a value, each with a margin."""
    return [f"    | {line}".rstrip(" ") for line in split_lines(text)]


def split_lines(text: str) -> list[str]:
    r"""Return the lines of `text` as `str.splitlines` does, but split at `\n` and `\r\n` only."""
    lines = LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[Line]:
    """Return a table as the only line, or no line if it has no rows. Without a header, none is shown."""
    body = tuple(map(tuple, rows))
    return [Table(tuple(header), body)] if body else []


def counted(count: int, noun: str) -> str:
    """Return `1 statement` or `2 statements`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return names for a message: all, or `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


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
    """Return `2026-11-20 10:30:00 UTC`, or nothing for None."""
    return f"{instant.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC" if instant else ""


def time_from(instant: datetime, now: datetime) -> str:
    """Return `3 min ago`, or `in 3 min`: the whole minutes, hours or days between two instants."""
    seconds = int((now - instant).total_seconds())
    units = (("day", 86400), ("h", 3600), ("min", 60), ("s", 1))
    unit, length = next((unit for unit in units if abs(seconds) >= unit[1]), units[-1])
    count = abs(seconds) // length
    amount = counted(count, unit) if unit == "day" else f"{count} {unit}"
    return f"in {amount}" if seconds < 0 else f"{amount} ago"


def age_of(instant: datetime, now: datetime) -> str:
    """Return `3d`, `4h`, `5min` or `6s`: the whole days, hours, minutes or seconds since an instant; `0s` for a future one."""
    seconds = max(0, int((now - instant).total_seconds()))
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    unit, length = next((unit for unit in units if seconds >= unit[1]), units[-1])
    return f"{seconds // length}{unit}"


def ended(sql: str) -> str:
    """Return a statement with a semicolon, which is on a line of its own where a comment may end the last one."""
    last = sql.rpartition("\n")[2]
    return f"{sql}\n;" if any(mark in last for mark in _LINE_COMMENTS) else f"{sql};"


def did_you_mean(name: str, known: Iterable[str], otherwise: str, form: str = "{}") -> str:
    """Return `did you mean NEAREST?`, or `otherwise` if no known name is similar.

    Args:
        form: how a name is written, with `{}` in its place.
    """
    near = nearest(name, known)
    return otherwise if near is None else suggestion(form.format(near))


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known name that is most similar to `name`, or begins with it; None if there is none.

    Args:
        likeness: the minimum similarity, from 0 to 1.
    """
    names = list(known)
    longer = (other for other in names if len(name) >= _LEAST_OF_A_BEGIN and other.startswith(name))
    return next(iter(get_close_matches(name, names, 1, likeness)), None) or next(longer, None)


def suggestion(name: str) -> str:
    """Return the hint that proposes a known name."""
    return f"did you mean {name}?"
