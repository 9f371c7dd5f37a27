"""What the text of a single value may be: each parser returns the value, or raises ValueError with what is expected."""

from __future__ import annotations

import re
from collections.abc import Callable

from glacierbase.model.duration import parse_duration

_NAMESPACE = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORTEST_LEASE, _LONGEST_LEASE = 1.0, 86_400.0


def boolean(text: str) -> bool:
    return one_of("true", "false")(text.lower()) == "true"


def one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(" or ".join(allowed))
        return text

    return parse


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(what)
        return text

    return parse


store_catalog = _matching(re.compile(rf'{_NAMESPACE.pattern}|"[^"\x00-\x1f\x7f]+"'), "the name of a catalog")
STORE_NAMESPACES = {
    "spark": _matching(_NAMESPACE, "names joined by dots"),
    "snowflake": _matching(_SCHEMA, "the name of a schema"),
}


def lease(text: str) -> float:
    what = "a duration from 1s to 24h"
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise ValueError(what) from error
    if not _SHORTEST_LEASE <= seconds <= _LONGEST_LEASE:
        raise ValueError(what)
    return seconds
