"""Lines of text."""

from __future__ import annotations

import re

LINE_END = re.compile(r"\r?\n")


def quoted(text: str) -> list[str]:
    """The lines of a value behind the margin."""
    return [f"    | {line}".rstrip(" ") for line in split_lines(text)]


def split_lines(text: str) -> list[str]:
    """The lines of `text`, as `str.splitlines` has them; but only a line feed ends one, with or without a carriage return."""
    lines = LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]
