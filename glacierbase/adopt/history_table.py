"""Read another tool's history table through the catalog's engine, and compare it with the scripts that were imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from glacierbase.adopt.foreign import HistoryRow, HistoryTable, Key, Tool, exactly
from glacierbase.adopt.mapping import MappedFile
from glacierbase.errors import ConfigurationError, EngineError, EngineUnavailable, HistoryDisagrees, TableNotFound
from glacierbase.executors import Session
from glacierbase.model.command import command
from glacierbase.model.names import NAME
from glacierbase.model.text import quoted
from glacierbase.stores.sql import SYNTAX
from glacierbase.stores.tables import instant

_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class AppliedHistory:
    """What a history table says of the imported files.

    Attributes:
        last: the highest file that is applied; None where none is.
        rows: of each applied file, by its version's number.
        repeatables: names of scripts that run again when they change.
        unknown: names of applied scripts of which there is no file.
    """

    last: MappedFile | None = None
    rows: Mapping[int, HistoryRow] = field(default_factory=dict)
    repeatables: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def table_name(table: HistoryTable, given: str | None, dialect: str) -> str:
    """Return the name of a history table as SQL.

    Args:
        given: by the caller or by the other project's configuration; None for the tool's default.

    Raises:
        ConfigurationError: `INVALID_VALUE`: it is no name; `UNKNOWN_DIALECT`: history tables of this engine are not read.
    """
    if dialect not in SYNTAX:
        hint = f"record the versions: `{command('baseline', '--to', 'VERSION', reason=True)}`"
        raise ConfigurationError("UNKNOWN_DIALECT", f"history tables of other tools are not read on {dialect}", hint)
    if given is None:
        return exactly(table.name, dialect) if table.is_quoted else table.name
    if not re.fullmatch(NAME, given):
        raise ConfigurationError("INVALID_VALUE", f"{given} is not the name of a table", "add --history-table NAME")
    return given


def read_rows(session: Session, table: HistoryTable, name: str, dialect: str) -> list[HistoryRow]:
    """Return the rows of a history table that are about scripts, in order.

    Raises:
        ConfigurationError: `HISTORY_TABLE_NOT_READ`: there is no such table.
        EngineUnavailable: `HISTORY_TABLE_NOT_READ`: the engine refuses the query.
    """
    syntax = SYNTAX[dialect]

    def quote(name: str) -> str:
        return exactly(name, dialect) if table.is_quoted else name

    columns = [
        syntax.read_time.format(f"CAST({quote(column)} AS {syntax.types['datetime']})")
        if column in table.times
        else quote(column)
        for column in table.columns
    ]
    order = f" ORDER BY {quote(table.order)}" if table.order else ""
    try:
        found = session.query(f"SELECT {', '.join(columns)} FROM {name}{order}")
    except TableNotFound as error:
        what = f"there is no history table {name} here"
        hint = "add --history-table CATALOG.NAMESPACE.TABLE"
        raise ConfigurationError("HISTORY_TABLE_NOT_READ", what, hint) from error
    except EngineError as error:
        what = f"the history table {name} cannot be read: {error.message}"
        hint = "check that it is the table of this tool, and the rights on it"
        raise EngineUnavailable("HISTORY_TABLE_NOT_READ", what, hint) from error
    rows = (table.row(*_values(table, row)) for row in found)
    return [row for row in rows if row is not None]


def _values(table: HistoryTable, row: Sequence[Any]) -> Iterator[Any]:
    for column, value in zip(table.columns, row, strict=True):
        yield instant(int(value)) if column in table.times and value is not None else value


def compared(
    files: Sequence[MappedFile],
    rows: Sequence[HistoryRow],
    tool: Tool,
    is_same: Callable[[Key, Key], bool],
) -> AppliedHistory:
    """Return which files are applied, and by whom and when.

    Args:
        files: the imported ones, in order.
        rows: of the history table, in order.
        is_same: returns whether two keys are of one script.

    Raises:
        HistoryDisagrees: `BASELINE_REFUSED`: a script failed, was applied out of order, or was edited since.
    """
    versioned = [file for file in files if file.version is not None]
    last_rows: dict[Key, HistoryRow] = {}
    for row in rows:
        last_rows.pop(
            row.key, None
        )  # A later row of a script replaces an earlier one, and takes its place in the order.
        last_rows[row.key] = row
    found: dict[int, HistoryRow] = {}
    unknown: list[str] = []
    failed = [row for row in last_rows.values() if row.is_failed]
    for row in last_rows.values():
        if row.is_failed or not row.is_applied or row.is_repeatable:
            continue
        covered = _files_of(versioned, row, tool, is_same)
        found = {**{file.number: row for file in covered}, **found} if row.covers else found
        if not row.covers and covered:
            found[covered[0].number] = row
        if not covered:
            unknown.append(row.name)
    problems = [*_failures(failed, tool), *_problems(versioned, found, tool)]
    if problems:
        shown = [
            *problems[:_MOST_SHOWN],
            *([f"and {len(problems) - _MOST_SHOWN} more"] if problems[_MOST_SHOWN:] else []),
        ]
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            (f"the history of {tool.name} is not that of the files; nothing was recorded", *quoted("\n".join(shown))),
            f"settle it with {tool.name}, and run the command again; it keeps the files that it wrote",
            problems=problems,
        )
    applied = [file for file in versioned if file.number in found]
    repeatables = tuple(row.name for row in last_rows.values() if row.is_repeatable and not row.is_failed)
    return AppliedHistory(applied[-1] if applied else None, found, repeatables, tuple(unknown))


def _files_of(
    files: Sequence[MappedFile], row: HistoryRow, tool: Tool, is_same: Callable[[Key, Key], bool]
) -> Sequence[MappedFile]:
    """Return the file of a row, or with `covers` all files up to it."""
    if row.covers and tool.is_numbered:
        return [file for file in files if file.script.key <= row.key]
    at = next((number for number, file in enumerate(files) if is_same(file.script.key, row.key)), None)
    if at is None:
        return ()
    return files[: at + 1] if row.covers else [files[at]]


def _failures(failed: Sequence[HistoryRow], tool: Tool) -> Iterator[str]:
    for row in failed:
        yield f"{row.name}: it failed; let {tool.name} apply it, or repair its history"


def _problems(files: Sequence[MappedFile], found: Mapping[int, HistoryRow], tool: Tool) -> Iterator[str]:
    """Yield what keeps the applied files from being all files up to the highest one, as they were applied."""
    highest = max((file.number for file in files if file.number in found), default=-1)
    for file in files:
        row = found.get(file.number)
        if row is None and file.number < highest:
            yield f"{file.script.path}: it is not applied, and a later one is; let {tool.name} apply it"
        elif row is not None and _is_edited(row, file):
            yield f"{file.script.path}: it was edited after {tool.name} applied it; restore it"


def _is_edited(row: HistoryRow, file: MappedFile) -> bool:
    """Return whether the checksum of a row shows that its script was another one."""
    recorded, now = row.checksum, file.script.checksum
    return not row.covers and recorded is not None and now is not None and recorded != now
