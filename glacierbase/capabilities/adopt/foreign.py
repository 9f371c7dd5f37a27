"""Another tool's project: its files, the scripts in them, and placeholders as variables of templates."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import eq
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from glacierbase.errors import ConfigurationError
from glacierbase.migrations.new_files import as_template
from glacierbase.model.names import spark_identifier
from glacierbase.model.text import quoted
from glacierbase.run.files import FileReader, is_folder, path_inside, writing

# What identifies a script in its tool's history table.
Key: TypeAlias = tuple[Any, ...]

_MOST_BYTES, _MOST_BYTES_IN_ALL = 10 * 2**20, 256 * 2**20
_MOST_FILES, _DEEPEST, _MOST_SHOWN = 50_000, 100, 20
# Of compiled copies and installed packages.
_SKIPPED = frozenset({"target", "build", "node_modules", "__pycache__"})
# Java's names of encodings, in which the projects name them.
_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16"})
_NUMBERS = re.compile(r"\d{1,255}(?:[._]\d{1,255})*", re.ASCII)
_NO_WORD = re.compile(r"\W+", re.ASCII)
_ENVIRONMENT = re.compile(r"\$\{([A-Za-z_]\w*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NotMapped:
    """A part of the other project that has no counterpart.

    Attributes:
        path: of its file, below the path that was given.
        line: from 1.
        what: the part, and what to do.
    """

    path: str
    line: int
    what: str

    def text(self) -> str:
        """Return it as a line of text."""
        return f"{self.path}, line {self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class ForeignScript:
    """A script that becomes a migration file.

    Attributes:
        path, line: of its first line in the other project.
        version: as the tool names it; None for one that runs again when it changes.
        description: why it was written, as far as the tool says so.
        author: None where the tool does not record one.
        sql: the template of the migration.
        key: identifies it in the tool's history table.
        checksum: as that table records it for the script as it is now; None where it cannot be computed.
    """

    path: str
    line: int
    version: str | None
    description: str
    author: str | None
    sql: str = field(repr=False)
    key: Key
    checksum: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignProject:
    """Another tool's project.

    Attributes:
        scripts: those that run once in their order, then those that run again.
        not_mapped: what has no counterpart.
        variables: the values of placeholders, as a catalog file has them; None for one that is not known.
        history_table: the name of the tool's history table, as SQL; None for the tool's default.
    """

    scripts: tuple[ForeignScript, ...]
    not_mapped: tuple[NotMapped, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    history_table: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A row of a history table.

    Attributes:
        key: of its script; for a row that `covers` the ones below, of the last of these.
        name: of its script, in messages.
        author, at: who ran it and when, as recorded.
        checksum: as recorded; None where there is none.
        is_applied: whether the script was run; False where it was undone, or its row deleted.
        is_failed: whether that failed.
        is_repeatable: whether the script runs again when it changes.
        covers: whether it stands for all versions up to its own.
    """

    key: Key
    name: str
    author: str | None = None
    at: datetime | None = None
    checksum: str | None = None
    is_applied: bool = True
    is_failed: bool = False
    is_repeatable: bool = False
    covers: bool = False


@dataclass(frozen=True, slots=True)
class HistoryTable:
    """A tool's history table.

    Attributes:
        name: its default name.
        columns: that are read.
        row: returns what the values of the columns, and of `time`, mean; None for a row about no script.
        time: the timestamp of a row; None for a table without one.
        order: the column that orders the rows; None for a table without an order.
        is_quoted: whether the tool creates it with quoted names in lower case.
        is_same: returns whether two keys are of one script.
    """

    name: str
    columns: tuple[str, ...]
    row: Callable[..., HistoryRow | None]
    time: str | None = None
    order: str | None = None
    is_quoted: bool = False
    is_same: Callable[[Key, Key], bool] = eq


@dataclass(frozen=True, slots=True)
class Tool:
    """Another tool.

    Attributes:
        name: in messages.
        read: returns the project in a folder, for a catalog with an SQL dialect.
        history: its history table.
        is_numbered: whether the versions are numbers that are kept; otherwise scripts are numbered in their order.
    """

    name: str
    read: Callable[[ForeignFolder, str], ForeignProject]
    history: HistoryTable
    is_numbered: bool = False


class ForeignFolder:
    """The folder of another tool's project. No link leads out of it, and size and number of its files are limited.

    Attributes:
        start: the file that was named, relative to the folder; None where the folder was named.
        not_mapped: what has no counterpart, to which readers add.
    """

    def __init__(self, given: str | Path) -> None:
        """Args:
        given: a folder, or a file in it.

        Raises:
            ConfigurationError: `UNREADABLE_FILE`: there is no such file or folder.
        """
        path = Path(given)
        if not str(given) or not os.path.lexists(path):
            what = f"{given}: there is no such file or folder" if str(given) else "the path of the project is empty"
            raise ConfigurationError("UNREADABLE_FILE", what, "correct the path of the other tool's project")
        self.start = None if is_folder(path) else path.name
        self.not_mapped: list[NotMapped] = []
        self._given = path if self.start is None else path.parent
        self._root = self._given.absolute()
        self._reader = FileReader(self._root, _MOST_BYTES, _MOST_BYTES_IN_ALL)

    def note(self, path: str, line: int, what: str) -> None:
        """Add a part that has no counterpart."""
        self.not_mapped.append(NotMapped(self.shown(path), line, what))

    def check_is_folder(self) -> None:
        """Refuse a file: the configuration of its project would not be read.

        Raises:
            ConfigurationError: `NOTHING_TO_IMPORT`.
        """
        if self.start is not None:
            what = f"{self.shown(self.start)} is a file"
            raise ConfigurationError("NOTHING_TO_IMPORT", what, "name the folder of its project")

    def shown(self, path: str) -> str:
        """Return the path of a file as messages name it."""
        return (self._given / path).as_posix()

    def has(self, path: str) -> bool:
        """Return whether there is a file or folder of this path."""
        return os.path.lexists(self._root / path)

    def is_folder(self, path: str) -> bool:
        return is_folder(self._root / path)

    def resolved(self, path: str, *bases: str) -> str | None:
        """Return a path that the project names, relative to this folder; None where there is nothing, or it leads out.

        Args:
            bases: folders that it may be relative to; default this one.
        """
        for base in bases or ("",):
            place = os.path.normpath(Path(base, path)).replace(os.sep, "/")
            is_inside = not Path(place).is_absolute() and place.split("/")[0] != ".."
            if is_inside and self.has(place):
                return place
        return None

    def on_search_path(self, path: str, base: str = "") -> str | None:
        """Return a path that is relative to this folder, to one above it, or to `base`, as `resolved` does."""
        parts = [part for part in path.split("/") if part not in ("", ".")][-_DEEPEST:]
        places = (self.resolved("/".join(parts[start:]), "", base) for start in range(len(parts)))
        return next(filter(None, places), None)

    def files(self, under: str = ".") -> list[str]:
        """Return the paths of all files below a folder, sorted. Folders that are not read are noted, except hidden ones.

        Raises:
            ConfigurationError: `UNREADABLE_FILE`: there are too many, or a folder cannot be read; `OUTSIDE_PROJECT`.
        """
        with writing(self.shown(under)):
            path_inside(self._root / under, self._root)
        paths: list[str] = []
        for parent, folders, names in os.walk(self._root / under, onerror=self._refuse):
            place = Path(os.path.relpath(parent, self._root))
            paths += (os.path.normpath(place / name).replace(os.sep, "/") for name in names)
            if len(paths) > _MOST_FILES or len(place.parts) > _DEEPEST:
                what = (
                    f"{self.shown(under)} holds more than {_MOST_FILES} files, or is more than {_DEEPEST} folders deep"
                )
                raise ConfigurationError("UNREADABLE_FILE", what, "name the folder that holds the scripts")
            for name in sorted(folders):
                if name in _SKIPPED or (Path(parent) / name).is_symlink():
                    self.note((place / name).as_posix(), 1, "a link or a folder of compiled copies is not read")
            folders[:] = [name for name in folders if name[0] != "." and name not in _SKIPPED]
        return sorted(paths)

    def _refuse(self, error: OSError) -> NoReturn:
        what = f"{error.filename}: cannot be read: {error.strerror}"
        raise ConfigurationError("UNREADABLE_FILE", what, "correct the permissions of the folder") from error

    def text(self, path: str, encoding: str = "utf-8") -> str:
        r"""Return the text of a file, its line ends as `\n` and without a byte order mark.

        Raises:
            ConfigurationError: `OUTSIDE_PROJECT` or `UNREADABLE_FILE`: a link leads out, it is too large, or it is not text.
        """
        shown = self.shown(path)
        with writing(shown):
            content = self._reader.read(self._root / path)
        try:
            if encoding.lower() not in _ENCODINGS:
                raise ValueError(f"the encoding {encoding} is not supported")
            text = content.decode(encoding)
            if "\0" in text:
                raise ValueError("it holds a NUL character")
        except ValueError as error:
            hint = "save the file as UTF-8"
            raise ConfigurationError("UNREADABLE_FILE", f"{shown}: {error}", hint, path=shown) from error
        return text.removeprefix("\ufeff").replace("\r\n", "\n")

    def properties(self, path: str) -> Iterator[tuple[str, str, int]]:
        """Yield key, value and line of each entry in a file of Java properties; nothing where there is no file."""
        lines = iter(enumerate(self.text(path).split("\n") if self.has(path) else (), start=1))
        for number, line in lines:
            parts = [line.strip()]
            while parts[-1].endswith("\\"):
                parts[-1] = parts[-1][:-1]
                parts.append(next(lines, (0, ""))[1].strip())
            key, separator, value = re.sub("[=:]", "=", "".join(parts), count=1).partition("=")
            if separator and not key.startswith(("#", "!")):
                yield key.strip(), value.strip(), number


class Variables:
    """The variables that placeholders become.

    Attributes:
        values: of each variable, by its name; None where it is not known.
    """

    def __init__(self, folder: ForeignFolder, known: Mapping[str, Any], hint: str) -> None:
        """Args:
        folder: which notes the first use of each placeholder without a value.
        known: the values of placeholders, by their names; None for one that must not be shown.
        hint: where the tool gets the value of a placeholder that has none.
        """
        self._folder = folder
        self._hint = hint
        self._names: dict[str, str] = {}  # Of placeholders.
        self._words: dict[str, int] = {}  # How often a variable of these words was requested.
        self.values: dict[str, Any] = {self._name(name): value for name, value in known.items()}

    def expression(self, placeholder: str, path: str, line: int, what: str = "") -> str:
        """Return the expression of a template for a placeholder.

        Args:
            path, line: of this use.
            what: what it is and where its value is, if it is no placeholder of the tool.
        """
        name = self._name(placeholder)
        if name not in self.values:
            self.values[name] = None
            what = what or f"placeholder {placeholder}: {self._hint}"
            self._folder.note(path, line, f"{what}; give variables.{name} a value in the catalog file")
        return f"variables.{name}"

    def with_value(self, placeholder: str, value: str) -> str:
        """Return the expression for a placeholder whose value is known where it is used."""
        self.values[self._name(placeholder)] = value
        return f"variables.{self._name(placeholder)}"

    def _name(self, placeholder: str) -> str:
        """Return the variable of a placeholder: its words; a number distinguishes placeholders with the same words."""
        if placeholder not in self._names:
            words = _NO_WORD.sub("_", placeholder).strip("_") or "placeholder"
            words = f"_{words}" if words[0].isdigit() else words
            self._names[placeholder] = numbered_name(words, self._words)
        return self._names[placeholder]


def numbered_name(words: str, taken: dict[str, int]) -> str:
    """Return a name that is not taken: the words, with a number from the second time on.

    Args:
        taken: how often each name was requested, which this counts.
    """
    name = words
    while name in taken:
        taken[words] += 1
        name = f"{words}_{taken[words]}"
    taken[name] = 1
    return name


def template(text: str, pattern: re.Pattern[str], replaced: Callable[[re.Match[str], int], str | None]) -> str:
    """Return a text as a template in which placeholders are expressions and no other text is read as a template.

    Args:
        pattern: of a placeholder.
        replaced: returns the expression of a placeholder, so many lines below the first; None for one that stays text.
    """
    parts: list[str] = []
    at, kept, lines = 0, 0, 0
    for match in pattern.finditer(text):
        lines += text.count("\n", kept, match.start())
        kept = match.start()
        if (expression := replaced(match, lines)) is not None:
            parts.append(f"{_before_expression(text[at : match.start()])}{{{{ {expression} }}}}")
            at = match.end()
    return "".join(parts) + as_template(text[at:])


def _before_expression(literal: str) -> str:
    """Return a text as a template; a brace at its end would be part of the mark that opens the expression."""
    return f"{as_template(literal[:-1])}{{{{ '{{' }}}}" if literal.endswith("{") else as_template(literal)


def catalog_value(text: str) -> str:
    """Return a value as a catalog file has it: the tool's `${NAME}` is an environment variable."""
    return _ENVIRONMENT.sub(r"${env:\1}", text)


def parts_of(version: str) -> tuple[int, ...] | None:
    """Return the numbers of a version without zeros at its end, by which tools compare it; None for one with other text."""
    if not _NUMBERS.fullmatch(version):
        return None
    numbers = [int(part) for part in re.split("[._]", version)]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def exactly(name: str, dialect: str) -> str:
    """Return a part of a name as SQL, quoted so that its case counts where that of an engine's names does."""
    return '"{}"'.format(name.replace('"', '""')) if dialect == "snowflake" else spark_identifier(name)


def listing(lines: Sequence[str]) -> list[str]:
    """Return the first lines of a list for a message, and the count of the others."""
    more = [f"and {len(lines) - _MOST_SHOWN} more"] if lines[_MOST_SHOWN:] else []
    return quoted("\n".join([*lines[:_MOST_SHOWN], *more]))
