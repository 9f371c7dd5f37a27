"""Types of single values in a catalog file: what their text may be, in words and as a conversion."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glacierbase.model.duration import parse_duration

_NAMESPACE = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"


@dataclass(frozen=True, slots=True)
class ValueType:
    """What the text of a single value may be.

    Attributes:
        expected: in words, for messages and the reference.
        convert: returns the value of a text, and raises ValueError for a text that is not of this type.
    """

    expected: str
    convert: Callable[[str], Any]


def one_of(*allowed: str) -> ValueType:
    """Return the type of a value that is one of these words."""

    def convert(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return ValueType(" or ".join(allowed), convert)


def _matching(pattern: str, expected: str) -> ValueType:
    compiled = re.compile(pattern)

    def convert(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(text)
        return text

    return ValueType(expected, convert)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _duration(shortest: str, longest: str) -> ValueType:
    def convert(text: str) -> float:
        seconds = parse_duration(text)
        if not parse_duration(shortest) <= seconds <= parse_duration(longest):
            raise ValueError(text)
        return seconds

    return ValueType(f"a duration from {shortest} to {longest}", convert)


TEXT = ValueType("text", str)
BOOLEAN = ValueType("true or false", _boolean)
LEASE = _duration("1s", "24h")
HOOK_TIMEOUT = _duration("1s", "1h")
NAMESPACE = _matching(_NAMESPACE, "names joined by dots")
SCHEMA = _matching(r"[A-Za-z_][A-Za-z0-9_]*", "the name of a schema")
STORE_CATALOG = _matching(rf'{_NAMESPACE}|"[^"\x00-\x1f\x7f]+"', "the name of a catalog")
COORDINATE = _matching(r"[^:,/\s]+:[^:,/\s]+:[^:/\s]+", "a Maven coordinate: group:artifact:version")
SHA256 = _matching("[0-9A-Fa-f]{64}", "a SHA-256 of 64 hexadecimal digits")
