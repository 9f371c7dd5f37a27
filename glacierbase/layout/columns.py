"""What the name and the type of a column, and a transform, imply about the values in a key."""

from __future__ import annotations

import re

from glacierbase.model.transforms import name_and_width

# Words in the name of a column: it holds a time of the day, ids, reversed ids, hashes (`md` is of md5, `sha` of sha256).
HOURS = frozenset({"hour", "hr", "hh"})
IDS = frozenset({"id", "ids"})
REVERSED = frozenset({"reversed", "reverse", "rev"})
HASHES = frozenset({"hash", "random", "uuid", "md", "sha"})
_NUMBER = re.compile(
    r"(?i)(?:tinyint|smallint|int|integer|bigint|long|short|decimal|dec|numeric|number|float|double|real)\b"
)


def words(name: str | None) -> list[str]:
    """Return the words of a name, without digits: `eventDate` and `event_date2` have two. At least one, which may be empty."""
    return re.findall("[a-z]+", re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name or "").lower()) or [""]


def is_number(type_: str | None) -> bool:
    """Return whether a type, as a statement or a record spells it, is one of numbers."""
    return bool(_NUMBER.match(type_ or ""))


def function_and_width(transform: str | None) -> tuple[str, int]:
    """Return `bucket` and 16 for the transform `bucket[16]`; 0 for one without a width."""
    name, width = name_and_width(transform or "")
    return name, int(width) if re.fullmatch(r"\d{1,12}", width) else 0
