"""The segments of partition fields: how their values vary, and their text in a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote_plus

from glacierbase.layout.columns import HOURS, function_and_width, is_number, words
from glacierbase.layout.template import Segment, SegmentKind, TableFacts
from glacierbase.model.differences import partition_text
from glacierbase.model.shape import PartitionField

# With a larger share of the hottest first character, bucket numbers are not balanced.
_BALANCED = 0.2
_OF_TIME = {"year": "2026", "month": "2026-11", "day": "2026-11-24", "hour": "2026-11-24-13"}
_TIME_TYPES = {
    "date": "2026-11-24",
    "timestamp": "2026-11-24T13:00:00+00:00",
    "timestamp_ntz": "2026-11-24T13:00:00",
    "timestamp_ltz": "2026-11-24T13:00:00+00:00",
}
# The last word of a column's name that contains a time, whatever its type, and a value.
_TIME_WORDS = {
    **dict.fromkeys(("dt", "ds", "date", "day", "ymd", "yyyymmdd", "datestr", "dateint", "time", "ts", "timestamp"), "2026-11-24"),
    **dict.fromkeys(HOURS, "13"), **dict.fromkeys(("month", "mon", "mm"), "11"), "week": "48",
    **dict.fromkeys(("year", "yr", "yyyy"), "2026"),
}  # fmt: skip
# Words that may follow: `date_key`, `event_date_utc`.
_AFTER_TIME = frozenset({"key", "sk", "utc", "str"})
_NUMBER, _TEXT = 30417, "north"
# Characters of Hive's directories that are written as % and two hexadecimal digits.
# https://github.com/apache/spark: ExternalCatalogUtils.escapePathName
_ESCAPED = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d).*")

Escape = Callable[[str], str]


def first_character_shares(count: int) -> Mapping[str, float]:
    """Return the share of each first character among the numbers below `count`, written without leading zeros.

    Keys have the numbers of Iceberg's `bucket[count]` in this form: `first_character_shares(16)["1"]` is 0.4375.
    """
    shares = {"0": 1 / count} if count > 0 else {}
    for digit in range(1, 10):
        power, number = 1, 0
        while digit * power < count:
            number += min((digit + 1) * power, count) - digit * power
            power *= 10
        if number:
            shares[str(digit)] = number / count
    return shares


def iceberg_partitions(facts: TableFacts) -> Iterator[Segment]:
    """Yield the segments of Iceberg's partition path. https://iceberg.apache.org/spec/#partition-transforms"""
    return (_segment(facts, part, _encoded) for part in facts.partitioning)


def folders(facts: TableFacts, *, named: bool = True) -> Iterator[Segment]:
    """Yield the segments of partition folders: `column=value`, or only the value."""
    return (_segment(facts, part, _escaped, named=named) for part in facts.partitioning)


def is_time(name: str, type_: str | None = None) -> bool:
    """Return whether the values of a column are dates or times, by its type, else by its name."""
    return type_ in _TIME_TYPES or (type_ not in ("boolean", "binary") and _last_word(name) in _TIME_WORDS)


def value_of(name: str, type_: str | None = None) -> str:
    """Return an example of a column's value."""
    if type_ in _TIME_TYPES:
        return _TIME_TYPES[type_]
    if type_ == "boolean":
        return "true"
    return _TIME_WORDS.get(_last_word(name)) or (str(_NUMBER) if is_number(type_) else _TEXT)


def skewed_buckets(facts: TableFacts) -> Iterator[str]:
    """Yield a note on each bucket field with numbers of which too many begin with the same digit."""
    return filter(None, map(bucket_skew, facts.partitioning))


def bucket_skew(part: PartitionField) -> str | None:
    """Return by how much the first digits of bucket numbers are skewed: one has more than twice of an even share; else None."""
    function, count = function_and_width(part.transform)
    shares = first_character_shares(count) if function == "bucket" else {}
    digit = max(shares, key=lambda digit: shares[digit], default="")
    if not digit or shares[digit] * len(shares) <= 2:
        return None
    return f"{shares[digit] * 100:.0f} % of the numbers of {partition_text(part)} begin with {digit}"


def _last_word(name: str) -> str:
    """Return the last word of a name that may mean a time: that of `eventDate`, `event_date` and `date_key` is `date`."""
    return next((word for word in reversed(words(name)) if word not in _AFTER_TIME), "")


def _segment(facts: TableFacts, part: PartitionField, escape: Escape, *, named: bool = True) -> Segment:
    kind, value = _varies(part.source, facts.columns.get(part.source), part.transform)
    name = escape(part.name)
    begin = f"{name}=" if named else ""
    text = f"{begin}{{{re.sub('[{}]', '_', name)}}}" if kind is not SegmentKind.CONSTANT else f"{begin}{value}"
    return Segment(
        kind,
        text,
        begin + escape(value),
        f"partition field {partition_text(part)}",
        column=part.source,
        transform=part.transform,
    )


def _varies(column: str, type_: str | None, transform: str) -> tuple[SegmentKind, str]:
    """Return how the values of a partition field vary, and an example of them."""
    function, width = function_and_width(transform)
    if function in _OF_TIME:
        return SegmentKind.TIME, _OF_TIME[function]
    if function == "void":
        return SegmentKind.CONSTANT, "null"
    if function == "bucket":
        hottest = max(first_character_shares(width).values(), default=1.0)
        return SegmentKind.BALANCED if hottest <= _BALANCED else SegmentKind.LOW_ENTROPY, str(min(7, max(width - 1, 0)))
    value = value_of(column, type_)
    if function == "truncate" and width:
        value = str(int(value) // width * width) if value == str(_NUMBER) else value[:width]
    return SegmentKind.TIME if is_time(column, type_) else SegmentKind.LOW_ENTROPY, value


def _encoded(text: str) -> str:
    """Return a name or a value as Iceberg writes it into a key. https://docs.oracle.com/javase/17/docs/api: URLEncoder"""
    return quote_plus(text, safe="*").replace("~", "%7E")


def _escaped(text: str) -> str:
    """Return a name or a value as Hive writes it into a key; a timestamp as Spark's text."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", _TIMESTAMP.sub(r"\1 \2", text))
