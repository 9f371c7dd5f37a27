"""What may reach a terminal or a CI service's log: the one place where output is masked and escaped.

Values come from files, catalogs and engines. None of them may move the cursor, reorder what a person reads, begin a line that
looks like one of this program, or be read as a command by the service that runs it:

    ::name::            at the beginning of a line, after any white space: GitHub Actions (runner, ActionCommand.TryParseV2)
    ##[name]            anywhere in a line: GitHub Actions (ActionCommand.TryParse); Azure Pipelines, for formats
    ##vso[area.action]  anywhere in a line: Azure Pipelines
    ##teamcity[name]    anywhere in a line: TeamCity
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from glacierbase.model.text import LINE_END, quoted
from glacierbase.secrets import mask

# C0, DEL and C1; what changes the direction of text, or shows as nothing; the line separators; halves of characters. A line feed
# is left to the caller, a tab is harmless.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
_COMMAND_AT_START = re.compile(r"^(\s*):(?=:)")
_COMMAND_ANYWHERE = re.compile(r"(?<=#)#(?=\w*\[)")


def printable(lines: Iterable[str]) -> str:
    """`lines` of this program as text. A line break inside one of them is a value's: what follows it goes behind a margin."""
    return "\n".join(_escaped(part) for line in lines for part in _parts(mask(line)))


def on_one_line(text: str) -> str:
    """Return a value for a comment or a table cell, which a line break would end."""
    return _escaped(mask(text).replace("\n", r"\n"))


def printable_json(document: str) -> str:
    """A JSON document that parses to the same values, with escapes of JSON for what `printable` escapes.

    Its values were masked before they became a document.
    """
    return _COMMAND_ANYWHERE.sub(r"\\u0023", _CONTROL.sub(_json_escape, document))


def _parts(line: str) -> list[str]:
    first, *others = LINE_END.split(line, maxsplit=1)
    return [first, *(part for other in others for part in quoted(other))]


def _escaped(line: str) -> str:
    visible = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], line)
    return _COMMAND_ANYWHERE.sub(r"\\x23", _COMMAND_AT_START.sub(r"\1\\x3a", visible))


def _json_escape(found: re.Match[str]) -> str:
    return re.sub("(....)", r"\\u\1", found[0].encode("utf-16-be", "surrogatepass").hex())
