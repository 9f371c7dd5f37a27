"""What a reader returns of another tool's project: scripts, what has no counterpart, and the values of placeholders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from glacierbase.adopt.folder import ForeignFolder
from glacierbase.model.names import spark_identifier

# What identifies a script in its tool's history table.
Key: TypeAlias = tuple[Any, ...]


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
class Script:
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

    scripts: tuple[Script, ...]
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
        order: the column that orders its rows; None for a table without an order.
        times: those of the columns that are timestamps.
        row: returns what the values of the columns mean; None for a row about no script.
        is_quoted: whether the tool creates it with quoted names in lower case.
    """

    name: str
    columns: tuple[str, ...]
    order: str | None
    row: Callable[..., HistoryRow | None]
    times: tuple[str, ...] = ()
    is_quoted: bool = False


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


def exactly(name: str, dialect: str) -> str:
    """Return a part of a name as SQL, quoted so that its case counts where that of an engine's names does."""
    return '"{}"'.format(name.replace('"', '""')) if dialect == "snowflake" else spark_identifier(name)


def in_order(scripts: Sequence[Script]) -> tuple[Script, ...]:
    """Return scripts with those that run again last."""
    return tuple(sorted(scripts, key=lambda script: script.version is None))
