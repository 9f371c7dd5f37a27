"""The ranges of keys that `layout ls` lists side by side, and the sets of prefixes that separate them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.layout.murmur import in_directories
from glacierbase.model.command import command

_HEX = "0123456789abcdef"
_NAMES = "hex1 to hex4, base2:1 to base2:16, digits"
# Each prefix costs a request.
_MOST = 65_536


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys after `start`, up to and including `end`; None where there is no limit.

    Attributes:
        prefix: of the first of its keys; None if it begins at no prefix of the set.
    """

    start: str | None
    end: str | None
    prefix: str | None


def ranges(prefix: str, cuts: Iterable[str], after: str | None) -> Sequence[KeyRange]:
    """Return the ranges that together are the keys of one listing, ascending.

    A cut ends one range and starts the next, so that no key is in two of them or in none, whichever prefixes are given.
    Texts in Python are ordered as S3 orders keys: by code point, which is the order of their bytes in UTF-8.

    Args:
        prefix: of all keys.
        cuts: prefixes below that one, in any order.
        after: the key after which the listing starts; None for its start.
    """
    cuts_after = sorted(point for point in {prefix + cut for cut in cuts} if after is None or point > after)
    bounds = [after, *cuts_after, None]
    return [KeyRange(start, end, start if start != after else None) for start, end in pairwise(bounds)]


def prefix_set(name: str) -> Sequence[str]:
    """Return the prefixes of a set: `hex2`, `base2:8`, `digits`, or the lines of a file.

    Raises:
        ConfigurationError: `PREFIXES_INVALID`: there is neither such a set nor such a file.
    """
    if name == "digits":
        return "0123456789"
    if match := re.fullmatch(r"hex([1-4])", name):
        return _words(_HEX, int(match[1]))
    if match := re.fullmatch(r"base2:([1-9]|1[0-6])", name):
        return ["/".join(in_directories(bits)) for bits in _words("01", int(match[1]))]
    return _lines(name)


def _words(alphabet: str, length: int) -> Sequence[str]:
    return ["".join(letters) for letters in product(alphabet, repeat=length)]


def _lines(path: str) -> Sequence[str]:
    hint = command("layout", "ls", "--help")
    try:
        lines = [line for line in Path(path).read_text("utf-8").split("\n") if line]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its text is not UTF-8"
        what = f"--prefixes {path} is none of the sets ({_NAMES}), and cannot be read as a file: {reason}"
        raise ConfigurationError("PREFIXES_INVALID", what, hint) from error
    if not 0 < len(lines) <= _MOST:
        what = f"--prefixes {path} has {len(lines):,} prefixes, a line each; required: 1 to {_MOST:,}"
        raise ConfigurationError("PREFIXES_INVALID", what, hint)
    return lines
