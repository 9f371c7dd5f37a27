"""Names of tables and other objects in SQL: how a statement writes them, how the history keeps them, how engines quote them."""

from __future__ import annotations

import re

_QUOTED = r"`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\""
_PART = rf"(?:{_QUOTED}|[\w$]+)"
# A name as a statement writes it.
NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_PARTS = re.compile(_PART)
# Older histories hold names whose backticks were left out: whatever is between two dots is a part.
_KEPT_PARTS = re.compile(rf"{_QUOTED}|[^.]+")
_WORD = re.compile(r"\w+")
_SNOWFLAKES_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_SNOWFLAKES_QUOTED = re.compile(r'"(?:[^"]|"")+"')


def recorded_name(name: str) -> str:
    """Return a name that matches `NAME` as the history keeps it: quoted where it must be, without blanks around its dots."""
    return ".".join(_bare(part) for part in _PARTS.findall(name))


def name_parts(name: str) -> list[str]:
    """Return the parts of a name that the history keeps, without quotes."""
    return [_unquoted(part.strip()) for part in _KEPT_PARTS.findall(name)]


def spark_identifier(part: str) -> str:
    """Return the identifier of Spark that means exactly `part`.

    https://spark.apache.org/docs/latest/sql-ref-identifier.html
    """
    return f"`{part.replace('`', '``')}`"


def snowflake_identifier(part: str) -> str:
    """Return the identifier of Snowflake for `part`: in capitals, where that is what it means without quotes.

    A part that comes in quotes is left alone. https://docs.snowflake.com/en/sql-reference/identifiers-syntax
    """
    if _SNOWFLAKES_QUOTED.fullmatch(part):
        return part
    exact = part.upper() if _SNOWFLAKES_WORD.fullmatch(part) else part.replace('"', '""')
    return f'"{exact}"'


def _bare(part: str) -> str:
    return part[1:-1] if part[0] == "`" and _WORD.fullmatch(part, 1, len(part) - 1) else part


def _unquoted(part: str) -> str:
    quote = part[:1]
    if quote not in ("`", '"') or len(part) < 3 or part[-1] != quote:
        return part
    return part[1:-1].replace(quote * 2, quote)
