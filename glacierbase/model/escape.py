r"""Escaping of values, so that a terminal or a CI service shows them and does not execute them.

Values come from files, catalogs and engines. None of them may move the cursor, reorder the text on a terminal, start a line that
looks like one of this program, or be a command of the service that runs it:

    ::name::            at the start of a line, after any white space: GitHub Actions (runner, ActionCommand.TryParseV2)
    ##[name]            anywhere in a line: GitHub Actions (ActionCommand.TryParse); Azure Pipelines, for formats
    ##vso[area.action]  anywhere in a line: Azure Pipelines
    ##teamcity[name]    anywhere in a line: TeamCity
"""

from __future__ import annotations

import re

from glacierbase.secrets import mask

# C0, DEL and C1; characters that change the direction of text or have no width; line separators; lone surrogates. Callers handle
# line feeds; a tab is harmless.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
_COMMAND_ANYWHERE = re.compile(r"(?<=#)#(?=\w*\[)")
_COMMAND_AT_START = re.compile(r"^(\s*):(?=:)")
# The text that is escaped anywhere in a line.
UNSAFE = re.compile(f"{_CONTROL.pattern}|{_COMMAND_ANYWHERE.pattern}")


def escaped(line: str) -> str:
    """Return a line with its control characters and CI commands escaped. Escaping is idempotent."""
    visible = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], line)
    return _COMMAND_ANYWHERE.sub(r"\\x23", _COMMAND_AT_START.sub(r"\1\\x3a", visible))


def on_one_line(text: str, most: int | None = None) -> str:
    """Return a value for a comment or a table cell, neither of which may contain a line break: masked and escaped.

    Args:
        most: how many of its characters are shown; default all.
    """
    line = escaped(mask(text).replace("\n", r"\n"))
    return line if most is None or len(line) <= most else f"{line[:most]} …"


def printable_json(document: str) -> str:
    """Return a JSON document that parses to the same values, with JSON's escapes for everything that `escaped` escapes.

    The values must be masked before they are serialised.
    """
    return _COMMAND_ANYWHERE.sub(r"\\u0023", _CONTROL.sub(_json_escape, document))


def _json_escape(match: re.Match[str]) -> str:
    return re.sub("(....)", r"\\u\1", match[0].encode("utf-16-be", "surrogatepass").hex())
