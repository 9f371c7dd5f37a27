"""Errors as the program prints them."""

from __future__ import annotations

from glacierbase.errors import GlacierbaseError
from glacierbase.output.documents import text_errors


def text_error(error: GlacierbaseError) -> str:
    """Return the text of an error, without the last line, which names the command that explains its code."""
    return text_errors([error]).rpartition("\n")[0]
