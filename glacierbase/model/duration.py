"""Durations as a catalog file and the command line write them."""

from __future__ import annotations

import re

DURATION = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as `500ms`, `30s`, `5m` or `1h`.

    Raises:
        ValueError: the text is not a duration.
    """
    found = re.fullmatch(DURATION, text.strip())
    if not found:
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m or 1h")
    return float(found[1]) * _SECONDS[found[2]]
