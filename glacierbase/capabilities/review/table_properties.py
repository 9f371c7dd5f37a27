"""The table properties of all formats: their keys, and the valid values.

The keys and types are from the jars that `table_properties.json` names; `tests/support/jar_properties.py` writes that file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from glacierbase.formats import FORMATS
from glacierbase.formats.delta import INTERVAL
from glacierbase.formats.iceberg import LEVEL
from glacierbase.layout.versions import at_least
from glacierbase.model import text

_LIKE = 0.6
# A key without a reserved prefix that is this similar to a known key is taken for a typing error.
_TYPING_ERROR = 0.92
_LONGEST_KEY = 200

_IN_WORDS = {
    INTERVAL: "an interval such as `interval 7 days`", "[1-9][0-9]{0,8}": "a whole number above 0",
    "-1|[0-9]{1,9}": "a whole number", LEVEL: "a whole number",
}  # fmt: skip
# The largest value of an int in Java.
_INT_MAX = 2**31 - 1
# The least value that is plausible, for the keys that end so, and the words for it.
_LEAST = (
    (
        re.compile(r"(?:write|read)\.(?:delete\.)?(?:target-file-size-bytes|split\.target-size)"),
        2**20,
        "a size in bytes",
    ),
    (
        re.compile(r"write\.(?:delete\.)?(?:parquet\.row-group-size-bytes|orc\.stripe-size-bytes)"),
        2**18,
        "a size in bytes",
    ),
    (
        re.compile(r"write\.spark\.advisory-partition-size-bytes|commit\.manifest\.target-size-bytes"),
        2**18,
        "a size in bytes",
    ),
    (re.compile(r"history\.expire\.max-(?:snapshot|ref)-age-ms"), 60 * 60 * 1000, "an age in milliseconds"),
    (re.compile(r"commit\.(?:retry|status-check)\.total-timeout-ms"), 10_000, "a time in milliseconds"),
    (re.compile(r"commit\.(?:retry|status-check)\.max-wait-ms"), 1_000, "a time in milliseconds"),
)
_MOST_BYTES = 2**34
_TYPES = {
    "int": (r"-?[0-9]{1,10}", "a whole number"),
    "long": (r"-?[0-9]{1,19}", "a whole number"),
    "double": (r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?", "a number"),
    "boolean": ("true|false", "true or false"),
}


@cache
def known(table_format: str) -> Mapping[str, str]:
    """Return the type of each property of a table format; a key that ends in a dot is a prefix."""
    keys: dict[str, str] = _content()[table_format]["keys"]
    return keys


def is_later(key: str, table_format: str, version: str) -> bool:
    """Return whether this version of a format is known to lack a property that a later version has."""
    entry = _entry(key, known(table_format))
    lacking = _content()[table_format]["not_in"].items()
    return any(entry in keys and at_least(at, version) for at, keys in lacking)


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("table_properties.json").read_text("utf-8"))
    return content


def nearest(key: str, table_format: str) -> str | None:
    """Return the property that an unknown key may mean, `""` if none is similar; None for a known key, or a key of the user."""
    keys = known(table_format)
    if _entry(key, keys):
        return None
    if same := {_plain(entry): entry for entry in keys}.get(_plain(key)):
        return same
    if whole := next((prefix + key for prefix in FORMATS[table_format].prefixes if _entry(prefix + key, keys)), None):
        return whole
    is_reserved = key.startswith(FORMATS[table_format].prefixes)
    near = text.nearest(key[:_LONGEST_KEY], keys, _LIKE if is_reserved else _TYPING_ERROR)
    return near or ("" if is_reserved else None)


def format_of_key(key: str, table_format: str) -> str | None:
    """Return the other format that reads a property which this format does not read; None if there is none."""
    if _entry(key, known(table_format)):
        return None
    others = (other for other in FORMATS if other != table_format)
    return next((other for other in others if "." in key and _entry(key, known(other))), None)


def expected(key: str, value: str, table_format: str = "iceberg") -> str | None:
    """Return the expected value of a property in words; None if the value is valid, or the key unknown."""
    entry = _entry(key, known(table_format))
    words = FORMATS[table_format].values.get(entry or key)
    if not entry and not words:
        return None
    kind = known(table_format)[entry] if entry else "string"
    pattern, meaning = (words, _in_words(words)) if words else _TYPES.get(kind, ("(?s:.*)", ""))
    if not re.fullmatch(pattern, value.strip().lower()):
        return meaning
    is_beyond = kind == "int" and abs(int(value)) > _INT_MAX
    return f"a number up to {_INT_MAX}" if is_beyond else None


def unit(key: str, value: str) -> str | None:
    """Return the words for the unit of a property of Iceberg whose value is plausible in another unit only."""
    if not re.fullmatch("[0-9]{1,19}", value.strip()):
        return None
    amount = int(value)
    for pattern, least, words in _LEAST:
        if pattern.fullmatch(key) and (amount < least or (words == "a size in bytes" and amount > _MOST_BYTES)):
            return words
    return None


def _plain(key: str) -> str:
    """Return a key without the differences that a typing error makes: capitals, and one mark for another."""
    return re.sub("[_-]", ".", key.lower())


def _in_words(pattern: str) -> str:
    if pattern in _IN_WORDS:
        return _IN_WORDS[pattern]
    options = ["truncate(LENGTH)" if "(" in option else option for option in pattern.split("|")]
    return " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))


def _entry(key: str, keys: Mapping[str, str]) -> str | None:
    """Return the key if it is listed, or the listed prefix that it begins with."""
    if key in keys:
        return key
    return next((prefix for prefix in keys if prefix.endswith(".") and key.startswith(prefix) and key != prefix), None)
