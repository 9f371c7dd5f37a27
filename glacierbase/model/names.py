"""Names of tables and other objects: as written in a statement, as recorded in the history, as quoted for an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

# A quoted part of a name.
QUOTED = r"`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\""
_PART = rf"(?:{QUOTED}|[\w$]+)"
# A name as written in a statement.
NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_PARTS = re.compile(_PART)
# Names in older histories have no backticks: all text between two dots is a part.
_RECORDED_PARTS = re.compile(rf"{QUOTED}|[^.]+")
_WORD = re.compile(r"\w+")
_SNOWFLAKE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_SNOWFLAKE_QUOTED = re.compile(r'"(?:[^"]|"")+"')


def recorded_name(name: str) -> str:
    """Return a name that matches `NAME` as recorded in the history: quoted where needed, without blanks around its dots."""
    return ".".join(_bare(part) for part in _PARTS.findall(name))


def name_of(parts: Iterable[str]) -> str:
    """Return the name with these parts as the history records names."""
    return ".".join(part if _WORD.fullmatch(part) else spark_identifier(part) for part in parts)


def name_parts(name: str) -> list[str]:
    """Return the parts of a recorded name, without quotes."""
    return [_unquoted(part.strip()) for part in recorded_parts(name)]


def recorded_parts(name: str) -> list[str]:
    """Return the parts of a recorded name, with their quotes."""
    return _RECORDED_PARTS.findall(name)


def completed_like(name: str, like: Sequence[str]) -> str:
    """Return a recorded name, completed by the first parts of `like` if it has fewer."""
    parts = name_parts(name)
    return name_of((*like[: len(like) - len(parts)], *parts)) if len(parts) < len(like) else name


def matches(table: str, pattern: str) -> bool:
    """Return whether a recorded name matches a pattern, in which `*` is any text; case is ignored."""
    return fnmatchcase(table.casefold(), pattern.casefold())


def spark_identifier(part: str) -> str:
    """Return `part` as an identifier in Spark SQL.

    https://spark.apache.org/docs/latest/sql-ref-identifier.html
    """
    return f"`{part.replace('`', '``')}`"


def snowflake_identifier(part: str) -> str:
    """Return `part` as an identifier in Snowflake SQL: in capitals if Snowflake would fold it to capitals without quotes.

    A part that is quoted already is returned unchanged. https://docs.snowflake.com/en/sql-reference/identifiers-syntax
    """
    if _SNOWFLAKE_QUOTED.fullmatch(part):
        return part
    exact = part.upper() if _SNOWFLAKE_WORD.fullmatch(part) else part.replace('"', '""')
    return f'"{exact}"'


def _bare(part: str) -> str:
    return part[1:-1] if part[0] == "`" and _WORD.fullmatch(part, 1, len(part) - 1) else part


def _unquoted(part: str) -> str:
    quote = part[:1]
    if quote not in ("`", '"') or len(part) < 2 or part[-1] != quote:
        return part
    return part[1:-1].replace(quote * 2, quote)
