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

from glacierbase.layout.versions import at_least
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
# The codecs that the writers of the formats accept; the compression levels of gzip and zstd.
_PARQUET_CODECS = "zstd|gzip|snappy|lz4|lz4_raw|brotli|uncompressed"
_AVRO_CODECS = "gzip|zstd|snappy|uncompressed"
_ORC_CODECS = "zstd|zlib|snappy|lz4|lzo|none"
_LEVEL = r"-?[0-9]{1,2}"
_STRATEGY = "speed|compression"
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
    "write.metadata.compression-codec": "none|gzip",
    "write.manifest.compression-codec": _AVRO_CODECS,
    **{
        f"{kind}.{key}": pattern
        for kind in ("write", "write.delete")
        for key, pattern in {
            "parquet.compression-codec": _PARQUET_CODECS, "avro.compression-codec": _AVRO_CODECS,
            "orc.compression-codec": _ORC_CODECS, "parquet.compression-level": _LEVEL, "avro.compression-level": _LEVEL,
            "orc.compression-strategy": _STRATEGY,
        }.items()
    },
}  # fmt: skip
_BOOLEAN = "true|false"
_UNITS = "weeks?|days?|hours?|minutes?|seconds?|milliseconds?|microseconds?"
_INTERVAL = rf"(interval\s+)?(-?[0-9]+\s*(?:{_UNITS})|'[^']*'\s*({_UNITS})?)(\s+-?[0-9]+\s+\w+)*"
_TABLE_TYPES = "cow|mor|copy_on_write|merge_on_read"
# The values of properties whose jar declares no types.
_OTHER_PATTERNS = {
    "delta": {
        **dict.fromkeys(
            (
                "delta.appendOnly", "delta.autoOptimize.optimizeWrite", "delta.checkpoint.writeStatsAsJson",
                "delta.checkpoint.writeStatsAsStruct", "delta.enableChangeDataFeed", "delta.enableDeletionVectors",
                "delta.enableExpiredLogCleanup", "delta.enableIcebergCompatV2", "delta.enableInCommitTimestamps",
                "delta.enableRowTracking", "delta.enableTypeWidening", "delta.randomizeFilePrefixes",
            ),
            _BOOLEAN,
        ),
        # `DL107` reads the other intervals.
        "delta.setTransactionRetentionDuration": _INTERVAL,
        "delta.columnMapping.mode": "none|id|name",
        "delta.isolationLevel": "serializable|writeserializable|snapshotisolation",
        "delta.checkpointPolicy": "classic|v2",
        "delta.checkpointInterval": "[1-9][0-9]{0,8}",
        "delta.dataSkippingNumIndexedCols": "-1|[0-9]{1,9}",
    },
    "hudi": {
        "type": _TABLE_TYPES, "hoodie.table.type": _TABLE_TYPES, "hoodie.datasource.write.table.type": _TABLE_TYPES,
        "hoodie.datasource.write.hive_style_partitioning": _BOOLEAN, "hoodie.metadata.enable": _BOOLEAN,
    },
}  # fmt: skip
_IN_WORDS = {
    _INTERVAL: "an interval such as `interval 7 days`", "[1-9][0-9]{0,8}": "a whole number above 0",
    "-1|[0-9]{1,9}": "a whole number", _LEVEL: "a whole number",
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
    if whole := next((prefix + key for prefix in RESERVED[table_format] if _entry(prefix + key, keys)), None):
        return whole
    is_reserved = key.startswith(RESERVED[table_format])
    near = text.nearest(key[:_LONGEST_KEY], keys, _LIKE if is_reserved else _TYPING_ERROR)
    return near or ("" if is_reserved else None)


def format_of_key(key: str, table_format: str) -> str | None:
    """Return the other format that reads a property which this format does not read; None if there is none."""
    if _entry(key, known(table_format)):
        return None
    others = (other for other in RESERVED if other != table_format)
    return next((other for other in others if "." in key and _entry(key, known(other))), None)


def expected(key: str, value: str, table_format: str = "iceberg") -> str | None:
    """Return the expected value of a property in words; None if the value is valid, or the key unknown."""
    entry = _entry(key, known(table_format))
    patterns = _PATTERNS if table_format == "iceberg" else _OTHER_PATTERNS[table_format]
    words = patterns.get(entry or key)
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
