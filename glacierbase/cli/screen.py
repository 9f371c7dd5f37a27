"""How results are shown on a stream: as plain text, or fitted to a terminal."""

from __future__ import annotations

import os
from typing import TextIO

from glacierbase.output.printable import Show, printable

_WIDTH = 80


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a standard stream is a terminal. One that was closed before the start is None."""
    return stream is not None and stream.isatty()


def is_dumb() -> bool:
    """Return whether the terminal understands no control sequences: neither colours nor a line that is rewritten."""
    return (os.environ.get("TERM") or "dumb") in ("dumb", "unknown")


def show_on(stream: TextIO | None, colour: str) -> Show:
    """Return how lines are shown on a stream.

    Args:
        colour: `auto`, `always` or `never`, as `--color` has it.
    """
    if stream is None or not (is_terminal(stream) or colour == "always"):
        return printable
    from glacierbase.output.screen import Screen  # Imports rich.

    return Screen(width_of(stream), colour == "always" or (colour == "auto" and _has_colour())).show


def _has_colour() -> bool:
    """Return whether the environment allows colours; https://no-color.org."""
    return not os.environ.get("NO_COLOR") and not is_dumb()


def width_of(stream: TextIO) -> int:
    """Return the value of `COLUMNS` where it is set, else the width of the terminal, else 80."""
    columns = os.environ.get("COLUMNS", "")
    try:
        if columns.isdecimal() and int(columns):
            return int(columns)
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH
