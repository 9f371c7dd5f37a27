"""`import --baseline`: record the versions that another tool's history table has as applied, with who applied them and when."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from glacierbase.apply.baseline import Baselined, baseline_opened, files_up_to
from glacierbase.apply.locked import recording
from glacierbase.capabilities.adopt.foreign import HistoryRow, HistoryTable, Key, Tool, exactly, listing
from glacierbase.capabilities.adopt.importing import Imported, MappedFile
from glacierbase.capabilities.adopt.results import ImportedBaseline, ImportedVersion, ImportResult
from glacierbase.errors import ConfigurationError, EngineError, EngineUnavailable, HistoryDisagrees, TableNotFound
from glacierbase.executors import Session
from glacierbase.history.state import read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.command import command
from glacierbase.model.migration import OriginalRun
from glacierbase.model.names import NAME
from glacierbase.stores.sql import SYNTAX
from glacierbase.stores.tables import instant


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


def import_baseline(
    target: CatalogRun,
    result: ImportResult,
    *,
    imported: Imported,
    history_table: str | None,
    reason: str,
    accept: Collection[str],
    lock_timeout: float,
) -> ImportResult:
    """Record the imported files that the other tool's history table has as applied; in a dry run, only return them.

    Args:
        history_table: its name; default that of the other project's configuration, or of the tool.

    Raises:
        HistoryDisagrees: `BASELINE_REFUSED`: that table, or the tables of the catalog, are not as the files have them.
    """
    tool, done, is_dry = imported.tool, Baselined(), imported.result.dry_run
    name = table_name(tool.history, history_table or imported.history_table, target.dialect)
    with recording() as change, target.opened() as opened:
        with closing(opened.engine.start().open_session()) as session:
            rows = _read_rows(session, tool.history, name, target.dialect)
        history = compared(imported.files, rows, tool)
        if history.last is not None and not is_dry:
            candidates = files_up_to(target, history.last.number)
            _check_others(candidates, history, opened)
            originals = {
                number: OriginalRun(tool.name, row.name, row.author, row.at) for number, row in history.rows.items()
            }
            done = baseline_opened(opened, change, candidates, reason, lock_timeout, accept=accept, originals=originals)
    recorded = {compiled.migration.number for compiled in done.files}
    paths = {file.version: file.path for file in imported.result.files}
    baseline = ImportedBaseline(
        history_table=name,
        to=history.last.version if history.last else None,
        versions=tuple(
            ImportedVersion(file.version, paths[file.version], row.author, row.at)
            for file in imported.files
            if file.version and (row := history.rows.get(file.number)) and (is_dry or file.number in recorded)
        ),
        repeatables=history.repeatables,
        unknown=history.unknown,
        differences=done.differences,
        is_recorded=bool(recorded),
    )
    warnings = (*imported.result.warnings, *done.warnings)
    return replace(imported.result, environment=result.environment, warnings=warnings, baseline=baseline)


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


def _read_rows(session: Session, table: HistoryTable, name: str, dialect: str) -> list[HistoryRow]:
    """Return the rows of a history table that are about scripts, in order.

    Raises:
        ConfigurationError: `HISTORY_TABLE_NOT_READ`: there is no such table.
        EngineUnavailable: `HISTORY_TABLE_NOT_READ`: the engine refuses the query.
    """
    syntax = SYNTAX[dialect]

    def quote(name: str) -> str:
        return exactly(name, dialect) if table.is_quoted else name

    columns = [quote(column) for column in table.columns]
    if table.time:
        columns.append(syntax.read_time.format(f"CAST({quote(table.time)} AS {syntax.types['datetime']})"))
    order = f" ORDER BY {quote(table.order)}" if table.order else ""
    hint = f"add --history-table 'CATALOG.NAMESPACE.{table_name(table, None, dialect).rpartition('.')[2]}'"
    try:
        selected = session.query(f"SELECT {', '.join(columns)} FROM {name}{order}")
    except TableNotFound as error:
        what = f"there is no history table {name} here"
        raise ConfigurationError("HISTORY_TABLE_NOT_READ", what, hint) from error
    except EngineError as error:
        what = f"the history table {name} cannot be read: {error.message}"
        raise EngineUnavailable("HISTORY_TABLE_NOT_READ", what, f"{hint}, or correct the rights on it") from error
    rows = (row_of(table, name, values) for values in selected)
    return [row for row in rows if row is not None]


def row_of(table: HistoryTable, name: str, values: Sequence[Any]) -> HistoryRow | None:
    """Return what a row means; None for a row about no script.

    Raises:
        ConfigurationError: `HISTORY_TABLE_NOT_READ`: it has a value that the tool does not write.
    """
    count = len(table.columns)
    try:
        times = [None if time is None else instant(int(time)) for time in values[count:]]
        return table.row(*values[:count], *times)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        what = f"a row of {name} is none of this tool: {', '.join(map(str, values))}"
        hint = "correct the row, or name another table with --history-table"
        raise ConfigurationError("HISTORY_TABLE_NOT_READ", what, hint) from error


def compared(files: Sequence[MappedFile], rows: Sequence[HistoryRow], tool: Tool) -> AppliedHistory:
    """Return which files are applied, and by whom and when.

    Args:
        files: the imported ones, in order.
        rows: of the history table, in order.

    Raises:
        HistoryDisagrees: `BASELINE_REFUSED`: a script failed, was applied out of order, or was edited since.
    """
    versioned = [file for file in files if file.version is not None]
    last: dict[Key, HistoryRow] = {}
    for row in rows:
        last.pop(row.key, None)  # A later row of a script replaces an earlier one, and takes its place in the order.
        last[row.key] = row
    failed = [row for row in last.values() if row.is_failed]
    applied: dict[int, HistoryRow] = {}
    unknown: list[str] = []
    for row in last.values():
        if row.is_failed or not row.is_applied or row.is_repeatable:
            continue
        covered = _files_of(versioned, row, tool)
        for file in covered:
            if not row.covers or file.number not in applied:
                applied[file.number] = row
        if not covered:
            unknown.append(row.name)
    problems = [f"{row.name}: it failed; let {tool.name} apply it, or repair its history" for row in failed]
    problems += _problems(versioned, applied, tool)
    if problems:
        what = f"the history of {tool.name} is not that of the files; nothing was recorded"
        hint = f"settle it with {tool.name}, and run the command again; it keeps the files that it wrote"
        raise HistoryDisagrees("BASELINE_REFUSED", (what, *listing(problems)), hint, problems=problems)
    repeatables = tuple(row.name for row in last.values() if row.is_repeatable and not row.is_failed)
    highest = next((file for file in reversed(versioned) if file.number in applied), None)
    return AppliedHistory(highest, applied, repeatables, tuple(unknown))


def _files_of(files: Sequence[MappedFile], row: HistoryRow, tool: Tool) -> Sequence[MappedFile]:
    """Return the file of a row, or with `covers` all files up to it."""
    if row.covers and tool.is_numbered:
        return [file for file in files if file.script.key <= row.key]
    same = (index for index, file in enumerate(files) if tool.history.is_same(file.script.key, row.key))
    at = next(same, None)
    return () if at is None else files[0 if row.covers else at : at + 1]


def _problems(files: Sequence[MappedFile], applied: Mapping[int, HistoryRow], tool: Tool) -> Iterator[str]:
    """Yield what keeps the applied files from being all files up to the highest one, as they were applied."""
    highest = max(applied, default=-1)
    for file in files:
        row = applied.get(file.number)
        if row is None and file.number < highest:
            yield f"{file.script.path}: it is not applied, and a later one is; let {tool.name} apply it"
        elif row is not None and _is_edited(file, row):
            yield f"{file.script.path}: it was edited after {tool.name} applied it; restore it"


def _is_edited(file: MappedFile, row: HistoryRow) -> bool:
    """Return whether the checksum of a row shows that its script was another one."""
    checksums = (row.checksum, file.script.checksum)
    return not row.covers and None not in checksums and row.checksum != file.script.checksum


def _check_others(candidates: Sequence[Compiled], history: AppliedHistory, opened: OpenCatalog) -> None:
    """Refuse files up to the last applied one that the other tool did not apply: nothing shows that they are.

    Raises:
        HistoryDisagrees: `BASELINE_REFUSED`.
    """
    known = {*history.rows, *read_state(opened).history.records}
    others = [file.migration.location for file in candidates if file.migration.number not in known]
    if others:
        what = f"these files are not of the other tool: {', '.join(others)}; nothing was recorded"
        hint = "give them versions above those that were imported, or record them with `baseline` first"
        raise HistoryDisagrees("BASELINE_REFUSED", what, hint, files=others)
