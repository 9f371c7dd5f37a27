"""The one place where output is masked and escaped; `model.escape` says what is escaped and why."""

from __future__ import annotations

import re
from collections.abc import Iterable

from glacierbase.model.escape import COMMAND_ANYWHERE, CONTROL, escaped
from glacierbase.model.text import LINE_END, quoted
from glacierbase.secrets import mask


def printable(lines: Iterable[str]) -> str:
    """Return lines of this program as text. The text after a line break inside a line belongs to a value and gets a margin."""
    return "\n".join(escaped(part) for line in lines for part in _parts(mask(line)))


def printable_json(document: str) -> str:
    """Return a JSON document that parses to the same values, with JSON's escapes for all that `printable` escapes.

    The values must be masked before they are serialised.
    """
    return COMMAND_ANYWHERE.sub(r"\\u0023", CONTROL.sub(_json_escape, document))


def _parts(line: str) -> list[str]:
    first, *others = LINE_END.split(line, maxsplit=1)
    return [first, *(part for other in others for part in quoted(other))]


def _json_escape(found: re.Match[str]) -> str:
    return re.sub("(....)", r"\\u\1", found[0].encode("utf-16-be", "surrogatepass").hex())
