"""The key scheme of a table: from the template of its keys."""

from __future__ import annotations

from collections.abc import Sequence

from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.partitions import Keys
from glacierbase.capabilities.load.schemes import ALPHANUMERIC, HEX, Ids, Scheme, hashed, keys_of, random_texts
from glacierbase.capabilities.load.traffic import DAY, Array
from glacierbase.layout.columns import HASHES, HOURS, IDS, REVERSED, function_and_width, words
from glacierbase.layout.keys import hash_prefix, reversed_id
from glacierbase.layout.template import VARIABLE, KeyTemplate, Segment, SegmentKind

np = required("numpy")

# The minutes after which a time in a key changes, by its transform or a word of its column's name; others change each day.
_PERIODS = {**dict.fromkeys(HOURS, 60), "month": 30 * DAY, "year": 365 * DAY}
# Hexadecimal digits of a file's name, which is random.
_FILE_DIGITS = 6


def template_scheme(template: KeyTemplate, column: str) -> Scheme:
    """Return the scheme of a table's keys.

    Args:
        column: with the ids, beside those whose names contain `id`, such as `user_id`.
    """

    def keys(ids: Ids, random: Array) -> Keys:
        parts: list[Sequence[str]] = []
        shares, restart = ids.shares, None
        for segment in template.segments:
            if segment.kind is SegmentKind.TIME:
                if parts:  # What follows begins anew with each period.
                    break
                restart = min(restart or _period(segment), _period(segment))
            elif _is_of_file(segment):
                # Each file has another text, so that the shares of ids do not matter.
                shares = shares if parts else np.full(len(shares), 1 / len(shares))
                parts.append(_of_files(segment, len(shares), random))
            elif (texts := _of_ids(segment, ids.values, column)) is not None:
                parts.append(texts)
        rows = ["/".join(row) for row in zip(*parts, strict=True)] or [""] * len(shares)
        return keys_of(rows, shares, restart)

    return keys


def unknown_columns(template: KeyTemplate, column: str) -> list[str]:
    """Return the columns in the keys whose values are not known: they are modelled as one value."""
    others = [segment for segment in template.segments if segment.column and segment.kind is not SegmentKind.TIME]
    return [segment.column or "" for segment in others if _of_ids(segment, (), column) is None]


def _period(segment: Segment) -> int:
    names = {segment.transform} if segment.transform in _PERIODS else set(words(segment.column)) & _PERIODS.keys()
    return min((_PERIODS[name] for name in names if name), default=DAY)


def _is_of_file(segment: Segment) -> bool:
    """Return whether the text is another one for each file: its name, or a hash or random text that a property adds."""
    match = VARIABLE.search(segment.text)
    return match is not None and (match["length"] is not None or match["name"] == "file")


def _of_files(segment: Segment, count: int, random: Array) -> Sequence[str]:
    match = VARIABLE.search(segment.text)
    if match is None or match["length"] is None:
        return random_texts(HEX, _FILE_DIGITS, count, random)
    return random_texts("01" if match["unit"] == "bits" else ALPHANUMERIC, int(match["length"]), count, random)


def _of_ids(segment: Segment, ids: Sequence[str], column: str) -> Sequence[str] | None:
    """Return the text of each id in a segment; None where its column holds neither ids nor what is computed from them."""
    (function, width), in_name = function_and_width(segment.transform), set(words(segment.column))
    if function == "bucket" and width:
        return [_bucket(id, width) for id in ids]
    if segment.column != column and not in_name & (IDS | REVERSED | HASHES):
        return None
    values = hashed(ids) if in_name & HASHES else [reversed_id(id) for id in ids] if in_name & REVERSED else ids
    return [_truncated(value, width) for value in values] if width else values


def _bucket(id: str, count: int) -> str:
    """Return a bucket number: by another hash than Iceberg's, and as evenly."""
    return str(int(hash_prefix(id, 8), 16) % count)


def _truncated(value: str, width: int) -> str:
    """Return a number without its rest of a division by the width, or the first characters of a text."""
    return str(int(value) // width * width) if width > 9 and value.isdecimal() else value[:width]
