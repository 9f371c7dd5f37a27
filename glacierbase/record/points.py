"""Points in a history, as a caller names them: a version, or a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import TypeAlias

from glacierbase.errors import ConfigurationError
from glacierbase.history.records import History
from glacierbase.model.arguments import unknown_version
from glacierbase.model.migration import Event, version_number

# The forms of ISO 8601 that all supported versions of Python read in the same way.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CLOCK = r"\d{2}(?::\d{2}(?::\d{2}(?:\.(?:\d{3}|\d{6}))?)?)?(?:[Zz]|[+-]\d{2}:\d{2})?"
_TIME = re.compile(rf"{_DATE.pattern}[T ]{_CLOCK}")
_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

# The position of an event in its history: fence and sequence.
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Point:
    """The moment after a version ran, or an instant.

    Attributes:
        text: as it was given.
    """

    text: str
    version: int | None = None
    instant: datetime | None = None


def point_given(text: str) -> Point:
    """Return the point that a text names: a version, an ISO 8601 instant (UTC without a zone), or a date: its end, in UTC.

    Raises:
        ConfigurationError: `INVALID_TIME`.
    """
    number = version_number(text)
    if number is not None:
        return Point(text, number)
    return Point(text, instant=_instant(text, time.max, "neither a version nor a time", "2026-11-20T10:30:00Z"))


def since_given(text: str, now: datetime) -> datetime:
    """Return the instant that a text names: ISO 8601, a date (its begin, in UTC), or a time before now: `90m`, `12h`, `7d`, `2w`.

    Raises:
        ConfigurationError: `INVALID_TIME`.
    """
    if match := _AGO.fullmatch(text):
        try:
            return now - int(match[1]) * _UNITS[match[2]]
        except OverflowError:
            return datetime.min.replace(tzinfo=timezone.utc)
    return _instant(text, time.min, "no time", "2026-11-20T10:30:00Z, or 7d")


def reached(point: Point | None, history: History) -> Callable[[Event], bool]:
    """Return a predicate that accepts the events up to a point; the point None is now.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`: the version never ran.
    """
    if point is None:
        return lambda _: True
    if (instant := point.instant) is not None:
        return lambda event: event.recorded_at is not None and event.recorded_at <= instant
    end = _end_of(point, history)
    return lambda event: place_of(event) <= end


def place_of(event: Event) -> Place:
    """Return the place of an event in the order of its history."""
    return event.fence, event.sequence


def _end_of(point: Point, history: History) -> Place:
    """Return the place of the event that ended a version: that of its run, or of a repair that recorded tables."""
    record = history.records.get(point.version or 0)
    if record is None:
        raise unknown_version(f"version {point.text} never ran here")
    repaired = record.repair is not None and place_of(record.repair) in history.mentions
    return place_of(record.last if repaired else record.outcome)


def _instant(text: str, of_day: time, is_not: str, examples: str) -> datetime:
    """Return the instant that a date or a time names.

    Args:
        is_not: describes a text that names none.
        examples: examples of valid texts other than a date.
    """
    try:
        if _DATE.fullmatch(text):
            return datetime.combine(date.fromisoformat(text), of_day, timezone.utc)
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        instant = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1] in ("Z", "z") else text)
    except ValueError as error:
        hint = f"write a date or a time in ISO 8601: 2026-11-20, or {examples}"
        raise ConfigurationError("INVALID_TIME", f"{text} is {is_not}", hint) from error
    return instant if instant.tzinfo else instant.replace(tzinfo=timezone.utc)
