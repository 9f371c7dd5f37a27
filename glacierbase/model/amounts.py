"""Amounts as callers write them, `37.5M`, and as texts show them: `37.5 M`, `16.7 h`, `35 %`, `1.3e-3`."""

from __future__ import annotations

import re

_SUFFIXES = ("", "k", "M", "G", "T")
_AMOUNT = re.compile(r"((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*([kKMGT]?)(i?B)?")
# Below, a number is shown with all its digits.
_EXACT = 1_000_000
_UNITS = (("days", 86400, 2), ("h", 3600, 2), ("min", 60, 2))


def parse_amount(text: str, *, is_bytes: bool = False) -> float:
    """Return a number that may end with k, M, G or T: thousands; for bytes, powers of 1024, and B or iB may follow.

    Raises:
        ValueError: it is no such number.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or (match[3] and not is_bytes):
        example = "128M or 1.5G" if is_bytes else "600M, 37.5M or 150k"
        raise ValueError(f"{text!r} is not a number such as {example}")
    power = _SUFFIXES.index(match[2].replace("K", "k"))
    return float(match[1]) * float((1024 if is_bytes else 1000) ** power)


def amount(value: float) -> str:
    """Return a number for a text: `0.51`, `3,500`, `65,536`, `6.55 M`, `1.31 T`."""
    if value < _EXACT:
        return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    power = min(int(len(str(int(value))) - 1) // 3, len(_SUFFIXES) - 1)
    return f"{significant(value, 3) / 1000**power:,.10g} {_SUFFIXES[power]}"


def bytes_amount(value: float) -> str:
    """Return a number of bytes for a text, whole from 10 on: `1.5 KB`, `128 MB`, `437 GB`. A KB has 1024 bytes."""
    power = 0
    while value >= 1024 and power < len(_SUFFIXES) - 1:
        value, power = value / 1024, power + 1
    number = int(value) if value >= 10 or value == int(value) else round(value, 1)
    return f"{number:,} {_SUFFIXES[power].upper()}B"


def long_time(seconds: float) -> str:
    """Return a time that a person waits: `15 s`, `3.9 min`, `16.7 h`, `2.3 days`."""
    for unit, length, least in _UNITS:
        if seconds >= least * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def significant(value: float, digits: int) -> float:
    """Return a number rounded to so many significant digits."""
    return float(f"{value:.{digits}g}")


def percent(part: float, digits: int = 3) -> str:
    """Return `35 %` or `0.012 %`, with so many significant digits."""
    return f"{significant(part * 100, digits):g} %"


def share_text(share: float) -> str:
    """Return a share for a column of them, `30.1 %`; of one that would be shown as zero, `< 0.1 %`."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{share * 100:.1f} %"


def exponential(number: float) -> str:
    """Return `1.3e-3`."""
    mantissa, _, exponent = f"{number:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def rate_text(rate: float, requests: int) -> str:
    """Return a rate of errors, `1.3e-3`; without errors, what the number of requests proves: `< 2.0e-10`."""
    return f"< {exponential(1 / requests)}" if requests and not rate else exponential(rate)
