"""The types that the column of a table can get.

https://iceberg.apache.org/spec/#schema-evolution, as far as ALTER COLUMN supports it;
https://docs.delta.io/latest/delta-type-widening.html
"""

from __future__ import annotations

import re

_WIDER = {("int", "bigint"), ("float", "double")}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
# How many digits a decimal has before the point at least, to hold the values of an integer type.
_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def is_widening(before: str, after: str) -> bool:
    """Return whether a column of Iceberg of the type `before` can become one of the type `after`."""
    if (before, after) in _WIDER:
        return True
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    return bool(old and new and old[2] == new[2] and int(old[1]) < int(new[1]))


def is_lengthening(before: str, after: str) -> bool:
    """Return whether Delta changes a type without type widening: a longer string."""
    lengths = [re.fullmatch(r"varchar\((\d+)\)", kind) for kind in (before, after)]
    is_longer = bool(lengths[0] and lengths[1] and int(lengths[0][1]) < int(lengths[1][1]))
    return is_longer or (lengths[0] is not None and after == "string")


def is_widening_of_delta(before: str, after: str) -> bool:
    """Return whether Delta changes a type where type widening is on."""
    if is_lengthening(before, after) or (before, after) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    if old and new:
        scales = int(new[2]) - int(old[2])
        return before != after and 0 <= scales <= int(new[1]) - int(old[1])
    if before not in _INTEGERS:
        return False
    if new:
        return int(new[1]) - int(new[2]) >= _DIGITS[before]
    return after in _INTEGERS[_INTEGERS.index(before) + 1 :] or (after == "double" and before != "bigint")
