"""The migration files that the scripts of another tool become: their versions, names and headers. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from glacierbase.adopt.foreign import ForeignProject, NotMapped, Script, Tool
from glacierbase.adopt.placeholders import numbered_name
from glacierbase.adopt.versions import counted_up, numbered, parts_of
from glacierbase.errors import ConfigurationError, GlacierbaseError, raise_all
from glacierbase.migrations.headers import AUTHOR, DESCRIPTION, HEADER, PREFIX, comments_above
from glacierbase.migrations.new_files import file_words

# Of a catalog's migrations folder; what is in it runs again when it changes.
REPEATABLE = "repeatable"
_MOST_DIGITS = 150  # Of a version: the name of a file has 255 bytes at most.
_BRACE = re.compile(r"\{(?=[{%#])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A migration file that a script becomes.

    Attributes:
        path: below the catalog's folder.
        version: None for one that runs again when it changes.
        text: the whole file.
    """

    script: Script
    path: str
    version: str | None
    description: str
    author: str
    text: str = field(repr=False)

    @property
    def number(self) -> int:
        """The number of the version; -1 for a file that runs again when it changes."""
        return -1 if self.version is None else int(self.version)

    @property
    def sql(self) -> str:
        """The text below the headers."""
        return below_headers(self.text)


def below_headers(text: str) -> str:
    """Return the text of a migration file below its headers and a blank line."""
    return text.partition("\n\n")[2]


def mapped(
    project: ForeignProject, tool: Tool, author: str, headers: Collection[str]
) -> tuple[list[MappedFile], list[NotMapped]]:
    """Return the files that the scripts of a project become, in order, and what their texts cannot have.

    Args:
        author: of scripts whose tool does not record one.
        headers: further ones that the catalog file requires; they are written without a value.

    Raises:
        ConfigurationError, SeveralErrors: `DUPLICATE_IMPORT`: two scripts have one version.
    """
    versions = _versions([script for script in project.scripts if script.version is not None], tool)
    names: dict[str, int] = {}
    files: list[MappedFile] = []
    not_mapped: list[NotMapped] = []
    for script in project.scripts:
        description = _header(script.description) or "no description"
        words = file_words(description) or "migration"
        version = versions.get(id(script))
        path = f"{version}_{words}.sql" if version else f"{REPEATABLE}/{numbered_name(words, names)}.sql"
        sql, line = _without_headers(script.sql)
        if line:
            what = f"a comment that glacierbase would read as a header; {PREFIX} is written as MIGRATION there"
            not_mapped.append(NotMapped(script.path, script.line + line - 1, what))
        of = _header(script.author or "") or author
        head = {DESCRIPTION: description, AUTHOR: of, **dict.fromkeys(headers, "")}
        above = "".join(f"-- {PREFIX}{name}: {value}".rstrip() + "\n" for name, value in head.items())
        files.append(MappedFile(script, path, version, description, of, f"{above}\n{sql.strip(chr(10))}\n"))
    return files, not_mapped


def _versions(scripts: Sequence[Script], tool: Tool) -> Mapping[int, str]:
    """Return the digits of each script, by its identity."""
    names = [script.version or "" for script in scripts]
    if tool.is_numbered and all(parts_of(name) is not None for name in names):
        raise_all(list(_duplicates(scripts)))
        digits = numbered(names)
        raise_all(list(_too_long(scripts, digits)))
        return {id(script): digits[script.version or ""] for script in scripts}
    return {id(script): version for script, version in zip(scripts, counted_up(len(scripts)), strict=True)}


def _too_long(scripts: Sequence[Script], digits: Mapping[str, str]) -> Iterator[GlacierbaseError]:
    for script in scripts:
        if (length := len(digits[script.version or ""])) > _MOST_DIGITS:
            what = f"{script.path}: its version has {length} digits, as long as the longest one and with as many parts"
            yield ConfigurationError("INVALID_VALUE", what, "give it a shorter version", path=script.path)
            return


def _duplicates(scripts: Sequence[Script]) -> Iterator[GlacierbaseError]:
    first: dict[object, Script] = {}
    for script in scripts:
        other = first.setdefault(parts_of(script.version or ""), script)
        if other is not script:
            what = f"{script.path} has the same version as {other.path}: {script.version}"
            yield ConfigurationError(
                "DUPLICATE_IMPORT", what, "name the folder that holds one of them", path=script.path
            )


def _header(text: str) -> str:
    """Return a text as the value of a header: one line, and nothing that a template reads."""
    return _BRACE.sub("{ ", " ".join(_CONTROL.sub(" ", text).split()))


def _without_headers(sql: str) -> tuple[str, int]:
    """Return SQL without comments that are headers, and the line of the first one; 0 where there is none."""
    lines = [number for number, line in comments_above(sql) if HEADER.fullmatch(line)]
    if not lines:
        return sql, 0
    parts = re.split(r"(\r\n|\r|\n)", sql)
    for number in lines:
        parts[2 * (number - 1)] = parts[2 * (number - 1)].replace(PREFIX, "MIGRATION ")
    return "".join(parts), lines[0]
