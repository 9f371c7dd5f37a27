"""The table properties of Iceberg, Delta and Hudi: their keys, and the valid values.

The keys and types are from the jars that `table_properties.json` names; `tests/support/jar_properties.py` writes that file. The
words that a key allows are from https://iceberg.apache.org/docs/latest/configuration/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from glacierbase.model import text

# Only the format reads keys with these prefixes; all other keys may be the user's.
RESERVED = {
    "iceberg": ("commit.", "write.", "read.", "history.expire.", "gc.", "format-version"),
    "delta": ("delta.",),
    "hudi": ("hoodie.",),
}
_LIKE = 0.6
# A key without a reserved prefix that is this similar to a known key is taken for a typing error.
_TYPING_ERROR = 0.92
_LONGEST_KEY = 200

_MODES = "copy-on-write|merge-on-read"
_DISTRIBUTIONS = "none|hash|range"
_ISOLATION = "serializable|snapshot"
_METRICS = r"none|counts|full|truncate\([1-9][0-9]*\)"
_FILES = "parquet|orc|avro"
_PATTERNS = {
    "write.distribution-mode": _DISTRIBUTIONS,
    "write.delete.distribution-mode": _DISTRIBUTIONS,
    "write.update.distribution-mode": _DISTRIBUTIONS,
    "write.merge.distribution-mode": _DISTRIBUTIONS,
    "write.delete.mode": _MODES,
    "write.update.mode": _MODES,
    "write.merge.mode": _MODES,
    "write.delete.isolation-level": _ISOLATION,
    "write.update.isolation-level": _ISOLATION,
    "write.merge.isolation-level": _ISOLATION,
    "write.delete.granularity": "file|partition",
    "write.format.default": _FILES,
    "write.delete.format.default": _FILES,
    "write.metadata.metrics.default": _METRICS,
    "write.metadata.metrics.column.": _METRICS,
    "format-version": "1|2|3",
}
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
    return any(entry in keys and _number(version) <= _number(at) for at, keys in lacking)


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("table_properties.json").read_text("utf-8"))
    return content


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall("[0-9]+", version)[:3])


def nearest(key: str, table_format: str) -> str | None:
    """Return the property that an unknown key may mean, `""` if none is similar; None for a known key, or a key of the user."""
    keys = known(table_format)
    if _entry(key, keys):
        return None
    is_reserved = key.startswith(RESERVED[table_format])
    near = text.nearest(key[:_LONGEST_KEY], keys, _LIKE if is_reserved else _TYPING_ERROR)
    return near or ("" if is_reserved else None)


def expected(key: str, value: str) -> str | None:
    """Return the expected value of an Iceberg property in words; None if the value is valid, or the key unknown."""
    entry = _entry(key, known("iceberg"))
    if not entry:
        return None
    words = _PATTERNS.get(entry)
    pattern, meaning = (words, _in_words(words)) if words else _TYPES.get(known("iceberg")[entry], ("(?s:.*)", ""))
    return None if re.fullmatch(pattern, value.strip().lower()) else meaning


def _in_words(pattern: str) -> str:
    options = ["truncate(LENGTH)" if "(" in option else option for option in pattern.split("|")]
    return " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))


def _entry(key: str, keys: Mapping[str, str]) -> str | None:
    """Return the key if it is listed, or the listed prefix that it begins with."""
    if key in keys:
        return key
    return next((prefix for prefix in keys if prefix.endswith(".") and key.startswith(prefix) and key != prefix), None)
