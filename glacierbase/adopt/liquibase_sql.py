"""Read a formatted SQL changelog of Liquibase: its changesets, each with attributes, SQL, and what has no counterpart.

https://docs.liquibase.com/concepts/changelogs/sql-format.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_FIRST = re.compile(r"\s*--\s*liquibase\s+formatted\b.*", re.IGNORECASE)
_LOGICAL_PATH = re.compile(r"logicalFilePath:(\S+)", re.IGNORECASE)
_CHANGESET = re.compile(r'\s*--\s*changeset\s+("[^"]+"|[^:\s"][^:]*):\s*("[^"]+"|\S+)(.*)', re.IGNORECASE)
_DIRECTIVE = re.compile(r"\s*--\s*(?:changeset|property|includeAll|include|ignoreLines)\b(.*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r'(\w+):\s*("[^"]*"|\S+)')
_PROPERTY = re.compile(r"\s*--\s*property\s+(.*)", re.IGNORECASE)
_INCLUDE = re.compile(r"\s*--\s*(includeAll|include)\s+(.*)", re.IGNORECASE)
_IGNORE = re.compile(r"\s*--\s*ignoreLines:(\w+).*", re.IGNORECASE)
_COMMENT = re.compile(r"\s*--\s*comments?:?\s(.*)", re.IGNORECASE)
_ROLLBACK = re.compile(r"\s*--\s*rollback\s(.*)", re.IGNORECASE)
_ROLLBACK_OPENS = re.compile(r"\s*/\*\s*liquibase\s*rollback\s*", re.IGNORECASE)
_ROLLBACK_CLOSES = re.compile(r".*\*/\s*")
_CONDITION = re.compile(r"\s*--\s*(preconditions?\b.*|validCheckSum\b.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Property:
    """A property, which is a value for placeholders."""

    line: int
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Include:
    """Another changelog, or with `is_folder` all of a folder."""

    line: int
    path: str
    is_relative: bool
    is_folder: bool = False


@dataclass(slots=True)
class Changeset:
    """A changeset.

    Attributes:
        line: of its own comment.
        attributes: by their names in lower case.
        sql: its lines.
        first: the line of the first of them.
        left_out: the lines of comments that have no counterpart, with their texts.
    """

    line: int
    author: str
    id: str
    attributes: Mapping[str, str]
    comment: str = ""
    sql: list[str] = field(default_factory=list)
    first: int = 0
    left_out: list[tuple[int, str]] = field(default_factory=list)

    def is_true(self, name: str) -> bool:
        """Return whether an attribute, in lower case, is `true`."""
        return self.attributes.get(name, "").lower() == "true"


@dataclass(slots=True)
class Changelog:
    """A formatted SQL changelog.

    Attributes:
        logical_path: under which the history table records it; None for its path.
        parts: in order.
        left_out: the lines outside of changesets that have no counterpart, with their texts.
    """

    logical_path: str | None = None
    parts: list[Changeset | Property | Include] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


def is_formatted(text: str) -> bool:
    """Return whether a text is a formatted SQL changelog."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return bool(_FIRST.fullmatch(first))


def parse(text: str) -> Changelog:
    """Return what a formatted SQL changelog holds."""
    changelog = Changelog()
    changeset: Changeset | None = None
    lines = iter(enumerate(text.split("\n"), start=1))
    for number, line in lines:
        if _FIRST.fullmatch(line):
            path = _LOGICAL_PATH.search(line)
            changelog.logical_path = path[1] if path else changelog.logical_path
        elif found := _IGNORE.fullmatch(line):
            changelog.left_out.append((number, line.strip()))
            _skip(lines, found[1])
        elif found := _CHANGESET.fullmatch(line):
            attributes = attributes_of(found[3])
            changeset = Changeset(number, _bare(found[1]), _bare(found[2]), attributes)
            changelog.parts.append(changeset)
        elif part := _other_part(line, number):
            changelog.parts.append(part)
        elif changeset is not None and not _DIRECTIVE.fullmatch(line):
            _add(changeset, line, number, lines)
        elif line.strip():
            changelog.left_out.append((number, line.strip()))
    return changelog


def _other_part(line: str, number: int) -> Property | Include | None:
    if found := _PROPERTY.fullmatch(line):
        return Property(number, attributes_of(found[1]))
    if found := _INCLUDE.fullmatch(line):
        attributes = attributes_of(found[2])
        path = attributes.get("file") or attributes.get("path") or ""
        is_relative = attributes.get("relativetochangelogfile", "").lower() == "true"
        return Include(number, path, is_relative, found[1].lower() == "includeall")
    return None


def _add(changeset: Changeset, line: str, number: int, lines: Iterator[tuple[int, str]]) -> None:
    """Add a line to a changeset."""
    if found := _COMMENT.fullmatch(line):
        changeset.comment = f"{changeset.comment} {found[1].strip()}".strip()
    elif _ROLLBACK_OPENS.fullmatch(line):
        changeset.left_out.append((number, "rollback"))
        for _, below in lines:
            if _ROLLBACK_CLOSES.fullmatch(below):
                break
    elif found := _ROLLBACK.fullmatch(line):
        changeset.left_out.append((number, "rollback"))
    elif found := _CONDITION.fullmatch(line):
        changeset.left_out.append((number, found[1].strip()))
    else:
        changeset.first = changeset.first or number
        changeset.sql.append(line)


def attributes_of(text: str) -> dict[str, str]:
    """Return attributes such as `runOnChange:true`, with names in lower case and values without quotes."""
    return {name.lower(): _bare(value) for name, value in _ATTRIBUTE.findall(text)}


def _bare(text: str) -> str:
    return text.strip().strip('"')


def _skip(lines: Iterator[tuple[int, str]], until: str) -> None:
    """Skip lines: a number of them, or up to `--ignoreLines:end`."""
    for passed, (_, line) in enumerate(lines, start=1):
        end = _IGNORE.fullmatch(line)
        if end[1].lower() == "end" if end else passed == (int(until) if until.isdigit() else 0):
            return
